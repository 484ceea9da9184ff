"""What a check is, and what it finds."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from inspect import signature
from typing import Any

from ...claims.result import picked
from ...data.dataset import Dataset
from ...theory.madden2024.balls import Real

Numbers = Sequence[Real]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check."""

    # proved: by exact arithmetic or rigorous bounds; sampled: proved for a random sample of what
    # the statement is about; observed: in floats; refuted: it is false, exactly; None: not decided
    evidence: str | None
    detail: str  # one sentence
    # what refutes it: the smallest, or else a minimal one; None if nothing does
    counterexample: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # numbers that were computed on the way


@dataclass(frozen=True)
class Check:
    """A statement of a paper that can be checked for given numbers, data or a model."""

    name: str
    paper: str
    item: str
    run: Callable[..., Outcome]  # its parameters are what a user gives
    says: str  # the statement, in one sentence
    needs: str  # what a user gives, in a few words
    # arguments of `byheart check NAME` that run as they are; DATA is a data file, DIR a model
    # folder
    example: str

    @property
    def takes(self) -> tuple[str, ...]:
        return tuple(signature(self.run).parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Those that it cannot do without."""
        parameters = signature(self.run).parameters.values()
        return tuple(x.name for x in parameters if x.default is x.empty)

    def json(self) -> dict:
        example = f"byheart check {self.name} {self.example}"
        return {**picked(self, "check=name paper item says needs"), "example": example}


def generic(count: int, seed: int, least: int = -3, largest: int = 3) -> list[Fraction]:
    """Random numbers between these, each a multiple of 2^-32: generic, almost surely."""
    draw = random.Random(seed)
    return [Fraction(draw.randrange(least << 32, largest << 32) | 1, 1 << 32) for _ in range(count)]


def distinct_sequences(data: Dataset) -> list[tuple[int, ...]]:
    """The token numbers of each different sequence."""
    rows = (data.ids[a:b] for a, b in zip(data.starts, data.starts[1:], strict=False))
    return sorted({tuple(row.tolist()) for row in rows})
