"""Which neurons of a scalar decoder are on at which context, and how clearly.

Neuron k has the argument w_k s + b_k with w_k > 0, which increases with s. Sort the contexts by s.
If the argument is at most -A at the first i of them and at least A at all others, the neuron
switches before sorted context i with the margin A. Two enclosures of its argument suffice, at the
greatest s of the first part and at the least of the second: 2m arguments are enclosed, not n m. The
order and the places are only guesses, and a wrong guess makes a margin negative.
"""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from ...data.targets import Floats, Targets
from ..decoder import Decoder
from .scalar import TINY, UNIT, Scalars, constant, finite, intervals, reduce

Ints = NDArray[np.int64]
BITS = 192  # of the balls: a slope of 10^13 costs 43 of them


@dataclass(frozen=True, eq=False)
class Neurons:
    """A scalar decoder's scalars, and each neuron's slope w > 0 and bias b."""

    scalars: Scalars
    slopes: Floats
    biases: Floats


@dataclass(frozen=True, eq=False)
class Switches:
    """Where neurons switch."""

    contexts: Ints  # sorted by s
    neurons: Ints  # sorted by where they switch
    # neurons[first[i] : first[i + 1]] switch before sorted context i; i = n: none switch
    first: Ints  # [n + 2]
    margins: Floats  # of each neuron, in the order of the decoder; negative where nothing is known


def neurons(decoder: Decoder) -> Neurons | None:
    """The scalar decoder that this one is; None if it is not one or a slope is not positive."""
    hidden, bias = decoder["hidden"], decoder["hidden.bias"]
    if decoder.number != "float64" or not constant(hidden) or not finite(bias):
        return None
    scalars = reduce(decoder.shape, decoder.tensors)
    if scalars is None or not (hidden[:, 0] > 0).all():
        return None
    return Neurons(scalars, np.ascontiguousarray(hidden[:, 0]), bias)


def from_doubles(neurons: Neurons, targets: Targets) -> Switches:
    """The switches, from intervals of double arithmetic."""
    middle, radius = intervals(neurons.scalars, targets)
    order = np.argsort(middle, kind="stable")
    middle, radius = middle[order], radius[order]
    wide = radius * (1 + 2.0**-50) + 4 * UNIT * np.abs(middle)  # the ends are rounded, too
    greatest = np.append(-np.inf, np.maximum.accumulate(middle + wide))
    least = np.append(np.inf, np.minimum.accumulate((middle - wide)[::-1]))[::-1]
    w, b = neurons.slopes, neurons.biases
    places = np.searchsorted(middle, -b / w)
    below, above = _argument(w, -greatest[places], -b), _argument(w, least[places], b)
    return _sorted(order, places, np.minimum(below, above))


def _argument(w: Floats, s: Floats, b: Floats) -> Floats:
    """w s + b or less; infinite where s is, which stands for no context at all."""
    with np.errstate(invalid="ignore", over="ignore"):  # nan is not a margin either
        product = w * s
        rounded = 3 * UNIT * (np.abs(product) + np.abs(b)) + TINY
        return np.where(s == np.inf, np.inf, product + b - rounded)


def from_balls(neurons: Neurons, balls: list[arb]) -> Switches:
    """The same, from balls that hold each s."""
    order = sorted(range(len(balls)), key=lambda i: balls[i].mid())
    slopes, biases = neurons.slopes.tolist(), neurons.biases.tolist()
    if not all(ball.is_finite() for ball in balls):
        nothing = np.full(len(slopes), -np.inf)
        return _sorted(np.array(order), np.zeros(len(slopes), np.int64), nothing)
    with ctx.workprec(BITS):
        middles = [balls[i].mid() for i in order]
        greatest = list(accumulate((balls[i].upper() for i in order), max))
        least = list(accumulate((balls[i].lower() for i in reversed(order)), min))[::-1]
        lines = [(arb(w), arb(b)) for w, b in zip(slopes, biases, strict=True)]
        places = [bisect_left(middles, -b / w) for w, b in lines]
        margins = [
            min(
                _lower(-w * greatest[place - 1] - b) if place else np.inf,
                _lower(w * least[place] + b) if place < len(order) else np.inf,
            )
            for (w, b), place in zip(lines, places, strict=True)
        ]
    return _sorted(np.array(order), np.array(places), np.array(margins))


def _lower(ball: arb) -> float:
    """A double below the ball: the conversion rounds to nearest."""
    value = float(ball.lower())
    return value - abs(value) * 2.0**-50 - TINY


def _sorted(contexts: Ints, places: Ints, margins: Floats) -> Switches:
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], np.arange(len(contexts) + 2))
    return Switches(contexts, order, first, margins)
