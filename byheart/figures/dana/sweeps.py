"""The sweeps behind the figures of dana2024.

Change a constant here to make the figures finer, or cheaper.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...lab.protocol import protocol
from ...lab.sweeps.axes import values
from ...lab.sweeps.sweep import Sweep
from ...lab.trial import Criterion
from ..data import bigrams
from ..figure import Part, Settings, make_part
from ..published import column
from .accuracies import PROGRAM, Points, exact, published

ARCHITECTURE = "dana2024-program"  # of the published numbers
TABLE = 0  # the seed of the random tables
SEEDS = 3  # of every size, except in Figure 1a
QUICK_STEPS = 800  # of the one attempt of a quick version
NAMES = {  # of sizes: the paper's letter, and words
    "heads": ("H", "heads"),
    "head_dimension": ("d_h", "head dimension"),
    "dimension": ("d", "embedding dimension"),
}


_TABLE = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("ascii"))


def table(kind: str) -> dict[str, dict[str, Any]]:
    """The rows of sizes.toml of this kind, by name, with ranges of sizes as numbers."""
    ranges = ("values", "quick", "program")
    return {
        name: row | {key: values(row[key]) for key in ranges if key in row}
        for name, row in _TABLE[kind].items()
    }


def heads(figure: str) -> dict[int, tuple[int, ...]]:
    """The numbers of heads of a figure, by d = d_h."""
    return {int(d): values(text) for d, text in _TABLE["heads"][figure].items()}


def part(
    settings: Settings,
    label: str,
    vocabulary: int,
    sizes: Mapping[str, int],
    axis: tuple[str, Sequence[int]],
    name: str = "fast",
    seeds: int = SEEDS,
    architecture: str = "dana2024",
    batch: int | None = None,
) -> Part:
    """All values of one size, trained by the protocol of this name, with its batches or others."""
    how, axes = protocol(architecture, name), ((axis[0], tuple(axis[1])),)
    how = how if batch is None else replace(how, batch=batch)
    if settings.quick:
        how = replace(how, attempts=(replace(how.attempts[0], steps=QUICK_STEPS),))
    criterion, seeds = Criterion("accuracy", 1.0), settings.repeats(1 if settings.quick else seeds)
    sweep = Sweep(architecture, dict(sizes), axes, {}, how, criterion, seeds)
    return make_part(label, bigrams(vocabulary, TABLE), sweep)


def program(
    settings: Settings, vocabulary: int, sizes: Mapping[str, int], axis: tuple[str, Sequence[int]]
) -> list[Part]:
    """The same sizes with the architecture of the program; a quick version does without."""
    if settings.quick or not axis[1]:
        return []
    return [part(settings, PROGRAM, vocabulary, sizes, axis, architecture=ARCHITECTURE)]


@dataclass(frozen=True)
class Growth:
    """Accuracy as one size of the model grows."""

    name: str
    axis: str  # the size that grows
    values: tuple[int, ...]  # the sizes that are trained
    sizes: dict[str, int]  # the other sizes of the model
    quick: tuple[int, ...] = ()  # a few of the values
    experiment: str | None = None  # of the published numbers, None if there are none of these sizes
    vocabulary: int = 50

    @property
    def letter(self) -> str:
        return NAMES[self.axis][0]

    @property
    def axis_label(self) -> str:
        letter, words = NAMES[self.axis]
        return f"{words} {letter}"

    @cached_property
    def theirs(self) -> Points:
        if self.experiment is None:
            return {}
        table = published(self.experiment, vocabulary=self.vocabulary, **self.sizes)
        return exact(column(table, self.axis), column(table, "accuracy"))
