"""Answer: what a model answers to one input."""

from collections.abc import Sequence
from dataclasses import dataclass

from .result import Result

Token = str | int | float | Sequence[float]
Question = str | Sequence[Token]
Label = str | int | None


@dataclass(frozen=True)
class Answer(Result):
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
