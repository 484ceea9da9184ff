"""Claim: what a model promises about its data, and everything that depends on it.

A new kind of claim is one class in claims/ and one line in `claims.CLAIMS`. Only what is about one
claim alone (probabilities, drawing, traces, context ids) asks which claim a model has.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..constructions.base import Built
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from .folder.names import FILES, as_json
from .verification import SAMPLED, Judging, Verification

if TYPE_CHECKING:
    from .folder.plain import Piece
    from .folder.strict import Object
    from .model import Model

Token = str | int | float | Sequence[float]
Question = str | Sequence[Token]
Label = str | int | None


class Words(NamedTuple):
    """What a network reads.

    kind    of the tokens: "string", "number" or "vector"
    tokens  the vocabulary in the order of its numbers; None for numbers and vectors
    """

    kind: str
    tokens: tuple[str | int, ...] | None


@dataclass(frozen=True)
class Answer:
    """The answer of a model to one input.

    label          a label; a list of them where the model answers every token
    known          whether it knows the input; None if it cannot tell
    probabilities  of the likeliest tokens, where the model stores distributions
    note           what the question lacks, a sentence without a full stop; None if nothing
    """

    input: Sequence[Token]
    label: Label | list[Label]
    known: bool | None
    probabilities: list[tuple[str | int, float]] | None = None
    note: str | None = None

    def json(self) -> dict:
        return {
            "input": self.input,
            "label": self.label,
            "known": self.known,
            "probabilities": self.probabilities and [list(pair) for pair in self.probabilities],
            "note": self.note,
        }


class Claim(ABC):
    """What is promised, and how it is kept, answered, described and stored.

    name       in certificate.json, and `stores` of the constructions that make such models
    noun       what is verified, one by one: the data has as many as `whole` says
    counted    the key of config.json's data that a complete certificate covers
    conflicts  whether two labels of one context are a conflict
    complete   the evidence that a claim about all of the data may rest on
    files      that the certificate speaks of; it is not one of them itself
    sentence   for a table
    labels     the labels, where they are not the words that the network reads
    unknown    the output that means that the input was never seen
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    counted: ClassVar[str]
    conflicts: ClassVar[bool]
    complete: ClassVar[tuple[str, ...]]
    files: ClassVar[tuple[str, ...]] = FILES

    labels: tuple[str | int, ...] | None
    unknown: int | None

    @property
    @abstractmethod
    def sentence(self) -> str: ...

    @property
    def weights_file(self) -> str:
        """The one of `files` that holds the weights."""
        return next(name for name in self.files if name.endswith(".safetensors"))

    @classmethod
    @abstractmethod
    def of(cls, dataset: Dataset, built: Built) -> tuple[Words, "Claim"]:
        """The words and the claim of a network that a construction built for a dataset."""

    def reads(self, model: "Model", dataset: Dataset) -> Dataset:
        """The data of a file as the network is asked about it: its predictions, one by one."""
        return dataset

    @abstractmethod
    def number(self, network: Any) -> str:
        """The arithmetic of the weights: "dyadic" or "float64", or the type of a checkpoint."""

    @abstractmethod
    def numbers(self, model: "Model", tokens: Sequence[Token]) -> list | None:
        """A sequence as the network reads it; None if a word is outside the vocabulary."""

    @abstractmethod
    def answers(self, model: "Model", sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        """The answers to many questions. A word outside the vocabulary gives known = False."""

    def answering(self, model: "Model") -> Callable[[Sequence[Token]], Answer]:
        """The answer to one question after another; what this prepares pays after some hundred."""
        return lambda tokens: self.answers(model, [tokens])[0]

    @abstractmethod
    def verify(self, model: "Model", dataset: Dataset, how: Judging) -> Verification:
        """Whether the claim holds for all of a dataset, or for a sample of it."""

    def recorded(self, model: "Model", dataset: Dataset, found: Verification) -> "Claim":
        """The claim with what verifying it on all of its data has found out, if it says so."""
        return self

    @abstractmethod
    def unfitting(self, model: "Model", dataset: Dataset) -> str | None:
        """Why the network cannot even read this data; None if it can."""

    @abstractmethod
    def contexts(self, model: "Model", dataset: Dataset) -> Contexts:
        """Which predictions of the data the network cannot distinguish."""

    @abstractmethod
    def whole(self, dataset: Dataset) -> int:
        """How many items of the data a certificate that covers all of it counts."""

    def covers(self, found: Verification, count: int, every: bool) -> bool:
        """Whether a verification covers `count` items, or is a sample of them that says so.

        Where every token has a label, their number is known from the data only.
        """
        if not 1 <= found.checked == found.correct:
            return False
        if found.evidence == SAMPLED:
            return found.checked < count or every
        return found.evidence in self.complete and (found.checked == count or every)

    @abstractmethod
    def continues(self, model: "Model", label: str | int) -> bool:
        """Whether a label is a token of the model, so that it can continue from there."""

    @abstractmethod
    def trace(self, model: "Model", tokens: Sequence[Token]) -> Any:
        """How one input is answered: an object with .json() and .lines()."""

    def facts(self, found: Verification | None) -> dict[str, Any]:
        """What answers in JSON hold beyond the keys that all models share."""
        return {}

    # --- the model folder

    @classmethod
    @abstractmethod
    def stored_in(cls, config: "Object") -> bool:
        """Whether a config.json describes a network of this claim."""

    @classmethod
    @abstractmethod
    def read(cls, path: Path, text: dict[str, bytes], certificate: "Object") -> tuple["Model", str]:
        """The model of a folder, and the SHA-256 of its weights."""

    @abstractmethod
    def config(self, model: "Model") -> dict[str, Any]:
        """The part of config.json that describes the network."""

    @abstractmethod
    def weights(self, model: "Model") -> list["Piece"]:
        """The content of weights.safetensors, in pieces."""

    def contents(self, model: "Model", config: dict[str, Any]) -> dict[str, list["Piece"]]:
        """The content of each of `files`, in pieces: weights may fill half the memory.

        config  everything that is recorded of the model, with the part of this claim
        """
        words = {"tokens": model.tokens, "labels": self.labels}
        return {
            "config.json": [as_json(config)],
            "weights.safetensors": self.weights(model),
            "vocabulary.json": [as_json(words)],
        }

    @abstractmethod
    def certificate(self) -> dict[str, Any]:
        """What certificate.json claims."""

    @abstractmethod
    def card(self, model: "Model", found: Verification, with_data: bool) -> str:
        """The text of README.md."""
