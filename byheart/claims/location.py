"""Where an answer is held, and what differs between two networks: parameters by their places."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .answer import Answer
from .result import Result, picked


class Place(NamedTuple):
    """One parameter: of a decoder, the layer is the number of its stage."""

    layer: int
    tensor: str
    row: int
    column: int

    def json(self) -> list:
        return list(self)


class StageDifference(NamedTuple):
    """A stage: how many of its parameters there are, and how many of them and their bits differ."""

    name: str
    parameters: int
    changed: int
    bits: int


class OtherAnswer(NamedTuple):
    """An input that two models answer differently."""

    input: list
    before: Any
    after: Any


@dataclass(frozen=True)
class Difference:
    """Two networks compared."""

    places: tuple[Place, ...] = field(repr=False)  # the parameters that differ
    stages: tuple[StageDifference, ...]  # all of them, in the order in which they begin
    answers: tuple[OtherAnswer, ...] | None = None  # those that differ; None if no data was asked
    asked: int = 0  # how many sequences were

    @property
    def parameters(self) -> int:
        return len(self.places)

    @property
    def bits(self) -> int:
        return sum(stage.bits for stage in self.stages)

    @property
    def of(self) -> int:
        """Parameters that are nonzero in either network; of a decoder or a checkpoint, all."""
        return sum(stage.parameters for stage in self.stages)

    def json(self) -> dict:
        return picked(self, "parameters bits of stages places asked answers")


@dataclass(frozen=True)
class Line(Result):
    """A row or column of a matrix, or an entry of a vector: what a neuron has in each tensor."""

    tensor: str
    axis: str
    index: int
    numbers: int  # how many of its entries are not 0


class WrittenToken(NamedTuple):
    """A token of an answer, and the neurons that write it."""

    token: str  # as a part of the text
    number: int  # in the vocabulary
    neurons: tuple[Any, ...]  # as (block, neuron)
    lines: tuple[Line, ...]  # of the tensors that these neurons are


@dataclass(frozen=True)
class Held:
    """What an answer reads."""

    read: tuple[Place, ...]  # the parameters that hold it
    # places of the label's bits in the sum of the stored numbers, where there is one
    bits: tuple[int, ...]
    # of a decoder, those that hold this context; of a stock checkpoint, (block, neuron)
    neurons: tuple[Any, ...]
    note: str  # how the method holds its answers, a sentence
    # of a stock checkpoint, the answer token by token
    tokens: tuple[WrittenToken, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Changed(Result):
    """Parameters whose change alone gives another answer: "proved" exactly, or "observed"."""

    places: tuple[Place, ...]
    label: Any
    evidence: str


@dataclass(frozen=True)
class Location(Held):
    """Where an answer is held."""

    answer: Answer  # what the model answers
    of: int  # nonzero parameters of the network (of a decoder or a stock checkpoint: all)
    changes: tuple[Changed, ...]  # changes that alter the answer, found by trying

    def json(self) -> dict:
        held = picked(self, "read bits neurons tokens of changes")
        return {**self.answer.json(), **held, "holds": self.note}
