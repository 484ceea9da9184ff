"""The architectures that the lab trains, and everything about them that training must know."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..errors import ByheartError
from ..theory.madden2024.capacity import lemma_1_parameters


class TrainingBounds(NamedTuple):
    """Neurons that are enough for any distributions, and parameters that some of them need."""

    enough_neurons: int
    needed_parameters: int


@dataclass(frozen=True)
class Trainable:
    """How the experiments of a paper train one of its architectures.

    criterion   kind and value: when data counts as memorised, unless the user decides
    sizes       the paper's value of a size that nobody gives
    optional    sizes that may be left out
    equal       sizes that equal another one if nobody gives them
    problem     the problem that data poses, a function of byheart.lab.problem
    from_data   sizes that the data decides, with the attribute of the problem that has them
    always      arguments as the authors' program has them
    decoder     whether it is one layer of softmax attention, which byheart certifies as a Decoder
    skip        whether attention adds to the vector of the last token
    scaled      whether scores are divided by the square root of the dimension that attention reads
    shared      whether all heads share one map to their dimension and one back
    embeddings  the distribution of the initial embeddings
    squared     whether it can be trained with the squared loss
    theory      bounds from numbers of contexts and outputs, by theorems about this architecture
    capacity    whether the bits that it memorises are measured, instead of its smallest size
    """

    criterion: tuple[str, float]
    sizes: Mapping[str, int]
    optional: tuple[str, ...] = ()
    equal: Mapping[str, str] = field(default_factory=dict)
    problem: Literal["next_token", "labelled", "prefixes"] = "next_token"
    from_data: Mapping[str, str] = field(
        default_factory=lambda: {"vocabulary": "vocabulary", "length": "length"}
    )
    always: Mapping[str, int] = field(default_factory=dict)
    decoder: bool = True
    skip: bool = True
    scaled: bool = False
    shared: bool = False
    embeddings: Literal["normal", "uniform"] = "uniform"
    squared: bool = False
    theory: Callable[[int, int], TrainingBounds] | None = None
    capacity: bool = False

    def complete(self, sizes: Mapping[str, int], varies: Collection[str] = ()) -> dict[str, int]:
        """The sizes with those that nobody gave; those that follow one that varies are left out."""
        found = {**self.sizes, **sizes}
        for name, other in self.equal.items():
            if other not in varies:
                found.setdefault(name, found[other])
        return found


def _madden2024(contexts: int, outputs: int) -> TrainingBounds:
    """Theorem 5: as many neurons as contexts are enough for any distributions.

    Lemma 1: some distributions take n (omega - 1) parameters; those of the data may take fewer.
    """
    needed = lemma_1_parameters(contexts, outputs)
    return TrainingBounds(contexts, needed)


TRAINABLE: dict[str, Trainable] = {
    "madden2024": Trainable(
        criterion=("gap", 0.01),
        sizes={"dimension": 16},
        always={"attention_biases": True},
        skip=False,
        scaled=True,
        embeddings="normal",
        theory=_madden2024,
    ),
    "dana2024": Trainable(
        criterion=("accuracy", 1.0), sizes={"dimension": 10}, equal={"head_dimension": "dimension"}
    ),
    "dana2024-program": Trainable(
        criterion=("accuracy", 1.0),
        sizes={"dimension": 10},
        equal={"head_dimension": "dimension"},
        scaled=True,
        shared=True,
    ),
    "dana2024-mlp": Trainable(criterion=("accuracy", 1.0), sizes={"dimension": 10}),
    "kajitsuka2025": Trainable(
        criterion=("loss", 0.01),
        sizes={"dimension": 2},
        optional=("coordinates",),
        problem="labelled",
        from_data={"vocabulary": "vocabulary", "length": "length", "labels": "outputs"},
        decoder=False,
        squared=True,
    ),
    "gpt2": Trainable(
        criterion=("plateau", 0.02),
        sizes={"layers": 2, "dimension": 16, "heads": 4},
        problem="prefixes",
        decoder=False,
        capacity=True,
    ),
}


def trainable(name: str) -> Trainable:
    """The record of an architecture; ByheartError if it cannot be trained here."""
    if name not in TRAINABLE:
        names = ", ".join(TRAINABLE)
        raise ByheartError(f"{name!r} cannot be trained here; there are: {names}.")
    return TRAINABLE[name]
