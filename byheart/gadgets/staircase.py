"""Neurons that are switched on one after the other along a line: a thermometer.

Sorted points x_0 < x_1 < ... get a neuron each. Neuron k switches half way between x_(k-1) and x_k,
neuron 0 below x_0, so steeply that at the points it is on or off up to a tail e^-40. A neuron that
goes from 0 to 1 then adds its output weight to all points from x_k on, and

    V_0 = Y_0,  V_k = Y_k - Y_(k-1)

gives the outputs Y. One that goes from -a to a gives them with V_k = (Y_k - Y_(k-1)) / (2 a) and
V_0 = (Y_first + Y_last) / (2 a): a neuron that is not yet on counts with a minus.

arctan is never fully on: its tail at A is 1 / A. Its neurons are made steeper and V is corrected by
what it misses, a few times; the error shrinks by the size of the tails each time.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Floats
from .logits import Logits

Matrix = NDArray[np.float64]


class Step(NamedTuple):
    """How an activation switches: from low to high, nearly complete at +- margin."""

    low: float
    high: float
    margin: float


STEPS = {
    "logistic": Step(0, 1, 40),
    "tanh": Step(-1, 1, 24),  # 1 - tanh(24) is 2 e^-48
    "erf": Step(-1, 1, 8),  # 1 - erf(8) is below e^-64
    "arctan": Step(-np.pi / 2, np.pi / 2, 4e4),
}


class Neurons(NamedTuple):
    """Slopes and biases on the line, and the output weights [vocabulary, neurons]."""

    slope: Floats
    bias: Floats
    output: Matrix


def gaps(x: Floats) -> Floats:
    """The distance of each point from the one before it; the first has as much room as most."""
    distances = np.diff(x)
    return np.concatenate([[np.median(distances) if len(distances) else 1.0], distances])


def staircase(x: Floats, wanted: Logits, vocabulary: int, activation: str) -> Neurons:
    """The neurons for sorted points x and the logits of each; exact while they are on the grid."""
    step, room = STEPS[activation], gaps(x)
    slope = 2 * step.margin / room
    output = np.zeros((vocabulary, len(x)))
    value = wanted.value / (step.high - step.low)
    output[wanted.token, wanted.row] += value
    inside = wanted.row < len(x) - 1
    output[wanted.token[inside], wanted.row[inside] + 1] -= value[inside]
    if step.low:
        output[wanted.token[~inside], 0] += value[~inside]  # Y_last, in V_0
    return Neurons(slope, -slope * (x - room / 2), output)


def corrected(
    neurons: Neurons, step: Step, missing: Callable[[Neurons], Matrix], times: int
) -> Neurons:
    """The neurons with what they miss, [points, vocabulary], added as further steps."""
    for _ in range(times):
        residual = missing(neurons)
        change = np.diff(residual, axis=0, prepend=-residual[-1:]).T / (step.high - step.low)
        neurons = neurons._replace(output=neurons.output + change)
    return neurons
