"""Known architectures, tensor by tensor, with exact parameter counts.

An Architecture is a description, not a network: the names and shapes of its learnt tensors, in the
layout of PyTorch ([outputs, inputs]), so that a count can be compared with any checkpoint.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping

from ..errors import ByheartError
from .description import Architecture
from .papers import dana2024, dana2024_mlp, decoder, kajitsuka2025, madden2024
from .public import GPT2, PYTHIA, gpt2, pythia

__all__ = [
    "NAMES",
    "ARCHITECTURES",
    "Architecture",
    "dana2024",
    "dana2024_mlp",
    "decoder",
    "gpt2",
    "kajitsuka2025",
    "madden2024",
    "architecture",
    "pythia",
]

ARCHITECTURES: dict[str, Callable[..., Architecture]] = {
    "dana2024": dana2024,
    "dana2024-mlp": dana2024_mlp,
    "madden2024": madden2024,
    "kajitsuka2025": kajitsuka2025,
    "decoder": decoder,
}
NAMES = (*ARCHITECTURES, *GPT2, *PYTHIA)
LAYERS = 100_000  # at most
SIZES = {"width": "neurons"}  # the paper's word where it is another one


def architecture(name: str, sizes: Mapping[str, int | str]) -> Architecture:
    """The architecture of this name and these sizes; ByheartError if one is missing or unknown."""
    if name in GPT2 or name in PYTHIA:
        _refuse(name, sizes)
        return gpt2(name) if name in GPT2 else pythia(name)
    if name not in ARCHITECTURES:
        raise ByheartError(f"there is no architecture {name!r}; there are: {', '.join(NAMES)}.")
    takes = inspect.signature(ARCHITECTURES[name]).parameters
    given = {_word(size, takes): value for size, value in sizes.items()}
    _refuse(name, {size: value for size, value in given.items() if size not in takes})
    lacks = [x.name for x in takes.values() if x.default is x.empty and x.name not in given]
    if lacks:
        raise ByheartError(f"{name} needs {_options(lacks)} as well.")
    _check_layers(name, given)
    return ARCHITECTURES[name](**given)


def _check_layers(name: str, given: Mapping[str, object]) -> None:
    """Every layer has its own tensors, which are listed."""
    layers = given.get("layers", 0)
    if isinstance(layers, int) and layers > LAYERS:
        raise ByheartError(f"{name}: {LAYERS:,} layers are the most, not {layers:,}.")


def _word(size: str, takes: Mapping[str, object]) -> str:
    return SIZES.get(size, size) if size not in takes else size


def _refuse(name: str, sizes: Iterable[str]) -> None:
    if sizes:
        raise ByheartError(f"{name} takes no {_options(sizes)}: it has its own.")


def _options(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
