"""The sweeps behind the figures of dana2024.

Change a constant here to make the figures finer, or cheaper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from ...data.dataset import Dataset
from ...lab.protocol import protocol
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
    table = _table(vocabulary)
    return make_part(label, table, architecture, dict(sizes), axes, how, criterion, seeds)


def program(
    settings: Settings, vocabulary: int, sizes: Mapping[str, int], axis: tuple[str, Sequence[int]]
) -> list[Part]:
    """The same sizes with the architecture of the program; a quick version does without."""
    if settings.quick or not axis[1]:
        return []
    return [part(settings, PROGRAM, vocabulary, sizes, axis, architecture=ARCHITECTURE)]


@cache
def _table(vocabulary: int) -> Dataset:
    """The random bigram table over this many tokens, the same in every figure."""
    return bigrams(vocabulary, TABLE)


@dataclass(frozen=True)
class Growth:
    """Accuracy as one size of the model grows."""

    name: str
    axis: str  # the size that grows
    values: tuple[int, ...]  # the sizes that are trained, and quick a few of them
    quick: tuple[int, ...]
    sizes: dict[str, int]  # the other sizes of the model
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
