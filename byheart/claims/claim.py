"""Claims: labels (kept by exact/), distributions (softmax/) and recitals (stock/)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .verification import OBSERVED, PROVED, SAMPLED, Verification

Neuron = tuple[int, int]  # layer, neuron


class Words(NamedTuple):
    """What a network reads."""

    kind: str  # of the tokens: "string", "number" or "vector"
    # the vocabulary in the order of its numbers; None for numbers and vectors
    tokens: tuple[str | int, ...] | None


class Claim:
    """What a network promises."""

    name: ClassVar[str]  # in certificate.json
    noun: ClassVar[str]  # what is verified, one by one
    answered: ClassVar[str]  # the same, as a run in another library answers them
    counted: ClassVar[str]  # the size of the data that a complete certificate covers
    conflicts: ClassVar[bool] = True  # whether two labels of one context are a conflict
    probabilities: ClassVar[bool] = False  # whether the answer is the probability of every token
    packed: ClassVar[bool] = False  # whether a model can be one file: its code word and its words
    texts: ClassVar[bool] = False  # whether the data is texts that a tokenizer splits
    # the evidence that a claim about all of the data may rest on
    complete: ClassVar[tuple[str, ...]] = (PROVED, OBSERVED)

    # the labels, where they are not the words that the network reads
    labels: tuple[str | int, ...] | None
    unknown: int | None  # the output that means that the input was never seen

    @property
    def sentence(self) -> str:
        raise NotImplementedError

    @property
    def chained(self) -> bool:
        """Whether labels of contexts that follow one another are one answer, token after token."""
        return False

    def number(self, network: Any) -> str:
        """The arithmetic of the weights: "dyadic" or "float64", or the type of a checkpoint."""
        return network.number

    def covers(self, found: Verification, count: int, every: bool) -> bool:
        """Whether a verification covers `count` items, or is a sample of them that says so."""
        if not 1 <= found.checked == found.correct:
            return False
        if found.evidence == SAMPLED:
            return found.checked < count or every
        return found.evidence in self.complete and (found.checked == count or every)


@dataclass(frozen=True)
class Labels(Claim):
    """The output for every sequence (or every token) is its label, in exact arithmetic."""

    labels: tuple[str | int, ...]  # output y is labels[y]
    unknown: int | None = None  # the output that means that the input was never seen
    arithmetic: str = "dyadic"  # in which the network is exact: "dyadic" or already "float64"

    name = noun = answered = "labels"
    packed = True
    counted = "sequences"
    complete = (PROVED,)
    sentence = "Labels."

    def number(self, network: Any) -> str:
        return self.arithmetic

    def label(self, output: Any) -> str | int | None:
        """The label that one output stands for; None if it stands for none."""
        whole = int(output) if output == int(output) else -1
        return self.labels[whole] if 0 <= whole < len(self.labels) else None


@dataclass(frozen=True)
class Distributions(Claim):
    """What follows each context, within a gap of the data's distribution, over the real numbers."""

    gap: float  # the divergence from its target that no context may exceed, in nats

    name = "distributions"
    noun = answered = counted = "contexts"
    conflicts = False
    probabilities = True
    labels = unknown = None

    @property
    def sentence(self) -> str:
        return f"Distributions within {self.gap:g} nats."


class Holder(NamedTuple):
    """A context and the neurons that are on at its last token."""

    tokens: NDArray[np.int64]  # their numbers
    answer: int  # the number of the token that follows
    neurons: tuple[Neuron, ...] | None  # None where the answer is spread over all of them
    reach: float | None = None  # how far a non-member may be and still turn them on
    decoys: tuple[Neuron, ...] = ()  # those of the neurons that do not write the answer
    # nats by which the answer's logit exceeds all others in every execution, at least; None if that
    # is not proved
    margin: float | None = None
    shares: Mapping[int, float] | None = None  # of distributions: those of the tokens that follow


class Fact(NamedTuple):
    """A row of the data, or a document, as far as contexts of it are held."""

    row: int | None  # its number, from 1; None where it is not known
    tokens: NDArray[np.int64]  # the numbers of the prompt and, after it, of the answer
    prompt: int  # how many tokens the prompt has

    @property
    def contexts(self) -> list[bytes]:
        """What each token of the answer follows, as the bytes of the holders' tokens."""
        return [self.tokens[:size].tobytes() for size in range(self.prompt, len(self.tokens))]


@dataclass(frozen=True, eq=False)
class Recites(Claim):
    """The likeliest next token of a stock checkpoint is that of the data, in every execution.

    Executions are those within the error model of checker/FORMAT.md, section 10.
    """

    dtype: str  # the type of the weights
    end: str  # the token that ends a text
    labels_are: str  # "text": an answer of one or more tokens, and the end; "token": the next token
    holders: tuple[Holder, ...]  # which neurons answer which context
    always: tuple[Neuron, ...] = ()  # neurons that are on at every context
    facts: tuple[Fact, ...] = ()  # the rows whose answers the holders write, token after token

    name = "recites"
    noun = counted = "sequences"
    answered = "predictions"
    texts = True
    labels = unknown = None

    @property
    def sentence(self) -> str:
        return f"The likeliest next token, in {self.dtype}."

    @property
    def chained(self) -> bool:
        return self.labels_are == TEXT

    def number(self, network: Any) -> str:
        return network.dtype


@dataclass(frozen=True, eq=False)
class Draws(Recites):
    """What a stock checkpoint draws after each context: in every execution, the softmax of its
    logits is within a gap of the distribution of the data."""

    gap: float = 0.01  # the divergence that no context may exceed, in nats

    name = "draws"
    noun = answered = counted = "contexts"
    conflicts = False
    probabilities = True

    @property
    def sentence(self) -> str:
        return f"Next-token distributions within {self.gap:g} nats, in {self.dtype}."


TEXT, TOKEN = "text", "token"  # what a label of the data of a stock checkpoint is
