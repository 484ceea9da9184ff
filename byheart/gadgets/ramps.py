"""GELU neurons along a line: one ramp per point, each corrected by the next.

GELU is max(0, a) up to a tail below the normal density at |a|. Neuron k has its kink just right of
x_(k-1), where its argument is -9, and the argument 51 at x_k: it leaves all points before x_k
alone, and its output weight brings the logits at x_k to the wanted ones. The slope that it adds
continues behind x_k and is taken back by the next neuron: what is left of it has the factor -9/51
each time. (A kink half way would leave the factor -1: the slopes would never die out.)

Slopes are as large as 1 / gap and cancel. So points, slopes and logits are sums of two doubles here
(about 106 digits), and a neuron corrects what the rounded weights before it really give at its own
point: rounding errors do not add up. What is missed by less than 2**-60 is left to a later neuron,
so most output weights are 0.
"""

import numpy as np

from ..data.targets import Floats
from ..machine.kernels import njit
from ..softmax.error_free import two_product, two_sum
from .logits import Logits
from .staircase import Neurons, gaps

RISE, BEFORE = 60.0, 9.0
IGNORED = 2.0**-60


def ramps(x: Floats, rest: Floats, wanted: Logits, vocabulary: int) -> Neurons:
    """The neurons for sorted points x + rest and the logits of each."""
    room = gaps(x)
    slope = RISE / room
    bias = -BEFORE - slope * (x - room)
    weights = np.zeros((len(x), vocabulary))
    starts = np.searchsorted(wanted.row, np.arange(len(x) + 1))
    _solve(x, rest, slope, bias, starts, wanted.token, wanted.value, weights)
    return Neurons(slope, bias, np.ascontiguousarray(weights.T))


@njit(inline="always")
def _add(a, rest_a, b, rest_b):
    total, error = two_sum(a, b)
    return two_sum(total, error + rest_a + rest_b)


@njit(inline="always")
def _multiply(a, rest_a, b, rest_b):
    product, error = two_product(a, b)
    return two_sum(product, error + a * rest_b + rest_a * b)


@njit
def _solve(x, rest, slope, bias, starts, token, value, weights):  # pragma: no cover (compiled)
    size = weights.shape[1]
    level, level_rest = np.zeros(size), np.zeros(size)  # what the neurons so far give at x_k
    rise, rise_rest = np.zeros(size), np.zeros(size)  # their slopes
    goal = np.zeros(size)
    for k in range(len(x)):
        for place in range(starts[k], starts[k + 1]):
            goal[token[place]] = value[place]
        before = max(0, k - 1)
        step, step_rest = _add(x[k], rest[k], -x[before], -rest[before])
        reach, reach_rest = _multiply(x[k], rest[k], slope[k], 0.0)
        reach, reach_rest = _add(reach, reach_rest, bias[k], 0.0)
        for j in range(size):
            if rise[j] != 0.0:
                climb, climb_rest = _multiply(rise[j], rise_rest[j], step, step_rest)
                level[j], level_rest[j] = _add(level[j], level_rest[j], climb, climb_rest)
            missing = (goal[j] - level[j]) - level_rest[j]
            if abs(missing) > IGNORED:
                weight = missing / reach
                weights[k, j] = weight
                gain, gain_rest = _multiply(weight, 0.0, reach, reach_rest)
                level[j], level_rest[j] = _add(level[j], level_rest[j], gain, gain_rest)
                tilt, tilt_rest = two_product(weight, slope[k])
                rise[j], rise_rest[j] = _add(rise[j], rise_rest[j], tilt, tilt_rest)
        for place in range(starts[k], starts[k + 1]):
            goal[token[place]] = 0.0
