"""The architectures that the lab trains, and everything about them that training must know."""

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import ByheartError
from ..theory.madden2024.capacity import lemma_1_parameters


class TrainingBounds(NamedTuple):
    """Neurons that are enough for any distributions, and parameters that some of them need."""

    enough_neurons: int
    needed_parameters: int


@dataclass(frozen=True)
class Trainable:
    """How the experiments of a paper train one of its architectures."""

    criterion: tuple[str, float]  # kind and value: when data counts as memorised, by default
    sizes: Mapping[str, int]  # the paper's value of a size that nobody gives
    optional: tuple[str, ...] = ()  # sizes that may be left out
    equal: Mapping[str, str] = field(default_factory=dict)  # by default as large as another
    problem: Literal["next_token", "labelled", "prefixes"] = "next_token"  # that data poses
    # sizes that the data decides, with the attribute of the problem that has them
    from_data: Mapping[str, str] = field(
        default_factory=lambda: {"vocabulary": "vocabulary", "length": "length"}
    )
    always: Mapping[str, int] = field(default_factory=dict)  # as the authors' program has it
    decoder: bool = True  # one layer of softmax attention, which is certified as a Decoder
    skip: bool = True  # whether attention adds to the vector of the last token
    scaled: bool = False  # whether scores are divided by the root of the dimension attended to
    shared: bool = False  # whether all heads share one map to their dimension and one back
    embeddings: Literal["normal", "uniform"] = "uniform"  # distribution of initial embeddings
    squared: bool = False  # whether it can be trained with the squared loss
    theory: Callable[[int, int], TrainingBounds] | None = None  # of contexts and outputs
    capacity: bool = False  # whether memorised bits are measured, instead of the smallest size

    def complete(self, sizes: Mapping[str, int], varies: Collection[str] = ()) -> dict[str, int]:
        """The sizes with those that nobody gave; those that follow one that varies are left out."""
        complete = {**self.sizes, **sizes}
        for name, other in self.equal.items():
            if other not in varies:
                complete.setdefault(name, complete[other])
        return complete


def _madden2024(contexts: int, outputs: int) -> TrainingBounds:
    """Theorem 5: m = n is enough for any distributions. Lemma 1: some take n (omega - 1)."""
    return TrainingBounds(contexts, lemma_1_parameters(contexts, outputs))


_TABLE = tomllib.loads(Path(__file__).with_name("trainable.toml").read_text("ascii"))
TRAINABLE = {
    name: Trainable(**row | {x: tuple(row[x]) for x in ("criterion", "optional") if x in row})
    for name, row in _TABLE.items()
}
TRAINABLE["madden2024"] = replace(TRAINABLE["madden2024"], theory=_madden2024)


def trainable(name: str) -> Trainable:
    """The record of an architecture; ByheartError if it cannot be trained here."""
    if name not in TRAINABLE:
        names = ", ".join(TRAINABLE)
        raise ByheartError(f"{name!r} cannot be trained here; there are: {names}.")
    return TRAINABLE[name]
