"""Known architectures, tensor by tensor, with exact parameter counts.

An Architecture is a description, not a network: the names and shapes of its learnt tensors, in the
layout of PyTorch ([outputs, inputs]), so that a count can be compared with any checkpoint.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping

from ..errors import ByheartError
from .config import KINDS, LAYERS, is_config, read_config
from .description import Architecture
from .papers import dana2024, dana2024_mlp, dana2024_program, decoder, kajitsuka2025, madden2024
from .public import PUBLIC, lora_gpt2, public_architecture, small_gpt2

ADAPTED = "gpt2-lora"  # what `measure` trains for `adapter="lora"`
ARCHITECTURES: dict[str, Callable[..., Architecture]] = {
    "dana2024": dana2024,
    "dana2024-program": dana2024_program,
    "dana2024-mlp": dana2024_mlp,
    "madden2024": madden2024,
    "kajitsuka2025": kajitsuka2025,
    "decoder": decoder,
    "gpt2": small_gpt2,  # of given sizes; without sizes it is the public one
    ADAPTED: lora_gpt2,
}
NAMES = tuple(x for x in dict.fromkeys((*ARCHITECTURES, *PUBLIC)) if x != ADAPTED)
SIZES = {"width": "neurons"}  # the paper's word where it is another one


def architecture(name: str, sizes: Mapping[str, int | str]) -> Architecture:
    """The architecture of this name and sizes, or of a Hugging Face config.json or its folder."""
    if name not in (*NAMES, ADAPTED) and not is_config(name):
        raise ByheartError(
            f"there is no architecture {name!r}; there are: {', '.join(NAMES)}, and the "
            f"config.json of a model of another size ({', '.join(KINDS)})."
        )
    build = None if name in PUBLIC and not sizes else ARCHITECTURES.get(name)
    takes = {} if build is None else inspect.signature(build).parameters
    given = {
        SIZES[size] if size not in takes and SIZES.get(size) in takes else size: value
        for size, value in sizes.items()
    }
    unknown = [size for size in given if size not in takes]
    if unknown:
        raise ByheartError(f"{name} takes no {_options(unknown)}: it has its own.")
    if build is None:
        return public_architecture(name) if name in NAMES else read_config(name)
    missing = [x.name for x in takes.values() if x.default is x.empty and x.name not in given]
    if missing:
        raise ByheartError(f"{name} needs {_options(missing)} as well.")
    layers = given.get("layers", 0)
    if isinstance(layers, int) and layers > LAYERS:
        raise ByheartError(f"{name} has at most {LAYERS:,} layers, not {layers:,}.")
    return build(**given)


def _options(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}=...`" for name in names)
