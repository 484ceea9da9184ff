"""The trainings of morris-capacity: sizes, numbers of sequences and steps."""

from dataclasses import replace
from typing import NamedTuple

from ...data.generate import uniform
from ...lab.protocol import Protocol, protocol
from ...lab.sweeps.sweep import SEQUENCES, Sweep
from ...lab.trial import Criterion
from ..figure import Part, Settings

LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
DOUBLINGS = 2  # of the steps, as long as they change the bits by more
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int = 8000
    seeds: int = 3


SETUPS = {  # those that train in the least time first, and one number of sequences of every size
    "d8-n56": Setup(8, 56),
    "d12-n112": Setup(12, 112),
    "d16-n168": Setup(16, 168),
    "d8-n72": Setup(8, 72),
    "d12-n144": Setup(12, 144),
    "d16-n216": Setup(16, 216),
    "d32-n560": Setup(32, 560),
    "d32-n648": Setup(32, 648),
}
QUICK = {"d8-n56": Setup(8, 56, 250, 1), "d8-n72": Setup(8, 72, 250, 1)}


def parts(settings: Settings) -> list[Part]:
    """A training for each seed of every set-up."""
    dataset = uniform(MOST_SEQUENCES, LENGTH, VOCABULARY)
    return [
        Part(
            label,
            Sweep(
                "gpt2",
                {"layers": LAYERS, "dimension": one.dimension, "heads": HEADS},
                ((SEQUENCES, (one.sequences,)),),
                {"sha256": dataset.sha256()},
                paced(one),
                Criterion("plateau", ENOUGH),
                settings.repeats(one.seeds),
            ),
            dataset,
        )
        for label, one in (QUICK if settings.quick else SETUPS).items()
    ]


def paced(setup: Setup) -> Protocol:
    """The protocol fast, with up to DOUBLINGS more attempts that have twice the steps of the last.

    The rate falls as 1 / dimension.
    """
    found, rate = protocol("gpt2", "fast"), RATE / setup.dimension
    steps = [setup.steps << doubling for doubling in range(DOUBLINGS + 1)]
    attempts = tuple(replace(found.attempts[0], rate=rate, steps=x) for x in steps)
    return replace(found, attempts=attempts)
