"""The sweeps behind the figures of dana2024.

Change a constant here to make the figures finer, or cheaper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...data.dataset import Dataset
from ...lab.protocol import protocol
from ...lab.sweeps.sweep import Sweep
from ...lab.trial import Criterion
from ..data import bigrams
from ..figure import Part, Settings
from .accuracies import PROGRAM

ARCHITECTURE = "dana2024-program"  # of the published numbers
TABLE = 0  # the seed of the random tables
SEEDS = 3  # of every size, except in Figure 1a
QUICK_STEPS = 800  # of the one attempt of a quick version


def part(
    settings: Settings,
    label: str,
    dataset: Dataset,
    sizes: Mapping[str, int],
    axis: tuple[str, Sequence[int]],
    name: str = "fast",
    seeds: int = SEEDS,
    architecture: str = "dana2024",
) -> Part:
    """All values of one size, trained by the protocol of this name."""
    how = protocol(architecture, name)
    if settings.quick:
        how = replace(how, attempts=(replace(how.attempts[0], steps=QUICK_STEPS),))
    sweep = Sweep(
        architecture=architecture,
        sizes=dict(sizes),
        axes=((axis[0], tuple(axis[1])),),
        data={"sha256": dataset.sha256()},
        protocol=how,
        criterion=Criterion("accuracy", 1.0),
        seeds=settings.repeats(1 if settings.quick else seeds),
    )
    return Part(label, sweep, dataset)


def program(
    settings: Settings, dataset: Dataset, sizes: Mapping[str, int], axis: tuple[str, Sequence[int]]
) -> list[Part]:
    """The same sizes with the architecture of the program; a quick version does without."""
    if settings.quick or not axis[1]:
        return []
    return [part(settings, PROGRAM, dataset, sizes, axis, architecture=ARCHITECTURE)]


def table(vocabulary: int) -> Dataset:
    """The random bigram table over this many tokens, the same in every figure."""
    return bigrams(vocabulary, TABLE)
