"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on two numbers of sequences, whose information is more than it
can hold: if it memorises as many bits of both, and twice the steps change them by no more than
2 %, that is its capacity.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..data.generate import uniform
from ..lab.protocol import Protocol, protocol
from ..lab.sweeps.sweep import SEQUENCES, Sweep
from ..lab.trial import Criterion
from .figure import Figure, Part, Settings

if TYPE_CHECKING:
    pass

LENGTH, VOCABULARY, LAYERS, HEADS = 32, 64, 2, 4
ENOUGH = 0.02  # twice the steps change a plateau by no more than this share
RATE = 0.5  # over the dimension: the rate of a training
LONG = "long"
MOST_SEQUENCES = 1024  # of the dataset, whose first sequences every part takes


class Setup(NamedTuple):
    """A dimension, a number of sequences, the steps of the first attempt, and seeds."""

    dimension: int
    sequences: int
    steps: int
    seeds: int = 3


SETUPS = {  # those that train in the least time first, and one number of sequences of every size
    "d8-n64": Setup(8, 64, 2000),
    "d16-n256": Setup(16, 256, 2000),
    "d32-n768": Setup(32, 768, 2000),
    "d8-n128": Setup(8, 128, 2000),
    "d16-n384": Setup(16, 384, 2000),
    "d32-n1024": Setup(32, 1024, 2000),
    f"d8-n64-{LONG}": Setup(8, 64, 16_000, 1),
}
QUICK = {"d8-n64": Setup(8, 64, 500, 1), "d8-n128": Setup(8, 128, 500, 1)}


def parts(settings: Settings) -> list[Part]:
    """A training for each seed of every set-up, the cheapest first."""
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
    """The protocol fast, with a rate that falls as 1 / dimension."""
    found, rate = protocol("gpt2", "fast", setup.steps), RATE / setup.dimension
    return replace(found, attempts=tuple(replace(x, rate=rate) for x in found.attempts))


MORRIS_CAPACITY = Figure(
    name="morris-capacity",
    title="Bits that small GPT-2 models memorise of random tokens, beside compiled models",
    paper="morris2025, the experiment on uniform random tokens",
    data=None,
    parts=parts,
    draw=lambda rows, picture: None,
    caption=lambda rows: "",
    labels=tuple(SETUPS),
)
