"""ModelData: a network, the words that it reads, what it claims, and how it was made."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from ..data.dataset import Dataset
from ..machine.tables import plural
from .claim import Claim, Words
from .record import Record

N = TypeVar("N")
C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, eq=False, repr=False)
class ModelData(Generic[N, C]):
    """A model as plain data; `Model` asks it."""

    network: N  # a Network (exact/), a Decoder (softmax/) or a Checkpoint (stock/)
    words: Words  # the tokens that it reads: their kind and, of words, the vocabulary
    claim: C  # what it promises: Labels, Distributions or Recites
    # how it was made, how large it is, and the evidence for it
    record: Record = field(default_factory=Record)

    @property
    def kind(self) -> str:
        """Of its tokens: "string", "number" or "vector"."""
        return self.words.kind

    @property
    def tokens(self) -> tuple[str | int, ...] | None:
        """The words that it reads, in the order of their numbers; None if tokens are vectors."""
        return self.words.tokens

    @property
    def labels(self) -> tuple[str | int, ...]:
        return self.claim.labels or self.words.tokens or ()

    @property
    def length(self) -> int:
        return self.network.length  # type: ignore[attr-defined]

    @property
    def every(self) -> bool:
        return self.network.every  # type: ignore[attr-defined]

    @property
    def number(self) -> str:
        return self.claim.number(self.network)

    @cached_property
    def places(self) -> dict[str | int, int]:
        """The number of each word of the vocabulary."""
        return {word: i for i, word in enumerate(self.words.tokens or ())}


def cannot_read(model: ModelData, dataset: Dataset, dimension: int, fewest: int) -> str | None:
    """Why a network that reads tokens of this dimension cannot read the data."""
    has = dataset.vectors.shape[1]
    if (dataset.kind, has) != (model.kind, dimension):
        return (
            f"the model reads {model.kind} tokens with {plural(dimension, 'coordinate')}, "
            f"the data holds {dataset.kind} tokens with {has}"
        )
    if dataset.every != model.every:
        each, other = ("every token", "the sequence")[:: 1 if model.every else -1]
        return f"the model gives a label for {each}, and the data has one for {other}"
    if fewest and not dataset.lengths.all():
        return "the model reads at least 1 token, and the data has a sequence without any"
    if dataset.length > model.length:
        return (
            f"the model reads at most {plural(model.length, 'token')}, and the data has a sequence "
            f"with {dataset.length}"
        )
    return None
