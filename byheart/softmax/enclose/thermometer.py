"""Bounds for decoders whose neurons are almost on or off: logistic, tanh and erf.

A neuron with the margin A > 0 (switches.py) is within its tail of a step function at every context:

    logistic  1 / (1 + e^-a)  step 0 or 1    1 / (1 + e^A) <= e^-A
    tanh                      step -1 or 1   1 - tanh A = 2 / (e^(2A) + 1) <= 2 e^(-2A)
    erf                       step -1 or 1   1 - erf A <= e^(-A^2)

and without a margin within the height of the step. So the logits of the sorted contexts are running
sums of the columns of output.weight, up to the tails times the absolute weights. The running sums
are doubles, and exactly what each addition lacks is added to the radius.
"""

from collections.abc import Callable

import numpy as np

from ...data.targets import Divergences, Floats, Targets
from ...machine.kernels import njit
from ..decoder import Decoder
from ..error_free import two_sum
from .exponential import above
from .scalar import enclosures
from .sweep import BLOCK, sweep, tail_sums
from .switches import BITS, from_balls, from_doubles, neurons

HEIGHTS = {"logistic": 1.0, "tanh": 2.0, "erf": 2.0}
NARROW = 1e-12  # a tail above this is worth enclosures of more digits


def applies(decoder: Decoder) -> bool:
    """Whether it is a scalar decoder with such an activation and increasing neurons."""
    return decoder.shape.activation in HEIGHTS and neurons(decoder) is not None


def seconds(decoder: Decoder, targets: Targets) -> float:
    """About twice what `enclose` takes if doubles do not separate the contexts, else much more."""
    shape = decoder.shape
    entries = shape.vocabulary * (len(targets) + shape.neurons)
    return 1 + 1.5e-8 * entries + 6e-6 * len(targets.tokens) + 1e-5 * (len(targets) + shape.neurons)


def enclose(
    decoder: Decoder, targets: Targets, gap: float, progress: Callable[[int], None] | None = None
) -> Divergences | None:
    """Bounds of every context's divergence from above; infinite where there is none."""
    scalar = neurons(decoder)
    if decoder.shape.activation not in HEIGHTS or scalar is None:
        return None
    activation, height = decoder.shape.activation, HEIGHTS[decoder.shape.activation]
    switches = from_doubles(scalar, targets)
    tails = _tails(activation, switches.margins)
    if tails.max() > NARROW:  # doubles do not separate the contexts well enough
        switches = from_balls(scalar, enclosures(scalar.scalars, targets, BITS))
        tails = _tails(activation, switches.margins)
    output = decoder["output"]
    running, lacking = _base(output, height)
    tail = tail_sums(output, tails)

    def advance(start: int, end: int, logits: Floats, radii: Floats) -> None:
        first = switches.first[start : end + 1]
        _advance(output, height, switches.neurons, first, running, lacking, tail, logits, radii)

    return sweep(decoder, targets, switches, advance, "thermometer", progress)


@njit
def exponentials(arguments):
    """e^x or more of each x."""
    result = np.empty(len(arguments))
    for i in range(len(arguments)):
        result[i] = above(arguments[i])
    return result


def _tails(activation: str, margins: Floats) -> Floats:
    """How far each neuron can be from its step."""
    positive = np.maximum(margins, 0)
    if activation == "logistic":
        tails = exponentials(-positive)
    elif activation == "tanh":
        tails = 2 * exponentials(-2 * positive)
    else:
        tails = exponentials(-positive * positive * (1 - 2.0**-50))
    height = HEIGHTS[activation]
    return np.where(margins > 0, np.minimum(tails, height), height)


@njit
def _base(output, height):
    """The logits where no neuron is on, and how much these lack at most."""
    vocabulary, neurons = output.shape
    running, lacking = np.zeros(vocabulary), np.zeros(vocabulary)
    if height == 1.0:
        return running, lacking
    for start in range(0, neurons, BLOCK):
        for j in range(vocabulary):
            for k in range(start, min(start + BLOCK, neurons)):
                if output[j, k] != 0:
                    running[j], lacks = two_sum(running[j], -output[j, k])
                    lacking[j] += abs(lacks)
    return running, lacking


@njit
def _advance(output, height, neurons, first, running, lacking, tail, logits, radii):
    """Write the logits of the contexts that the neurons of `first` switch before."""
    more = 1 + (2 * len(neurons) + 8) * 2.0**-52  # `lacking` itself is rounded
    for j in range(output.shape[0]):
        value, lack = running[j], lacking[j]
        for i in range(len(first) - 1):
            for place in range(first[i], first[i + 1]):
                weight = output[j, neurons[place]]
                if weight != 0:
                    value, lacks = two_sum(value, height * weight)
                    lack += abs(lacks)
            logits[i, j] = value
            radius = (lack + tail[j]) * more
            radii[i] = max(radii[i], radius if radius < np.inf else np.inf)
        running[j], lacking[j] = value, lack
