"""Bounds for decoders whose GELU neurons are almost ramps: gelu(a) is almost max(0, a).

gelu(a) = a F(a), F the normal distribution function. With t = |a|, it differs from max(0, a) by
t F(-t): for a > 0, a - a F(a) = a F(-a). With the density f, F(-t) is the integral of f(x) from t,
at most that of (x / t) f(x), which is f(t) / t. So gelu(a) is within f(a) < 0.4 e^(-a^2 / 2) of
max(0, a). As that falls with |a|, a neuron with the margin A > 0 (switches.py) is within
0.4 e^(-A^2 / 2) of its ramp at every context.

So the logit of token j at s is s S + B up to the tails, S = sum V_jk w_k and B = sum V_jk b_k over
the neurons that are on. These cancel: S is about 10^10 and the logit about 30. So s, S and B are
each kept as an unevaluated sum of two doubles and a bound of what that lacks (a compensated dot
product): products and sums are split exactly, and only their small parts are rounded.
"""

from collections.abc import Callable

import numpy as np
from flint import arb, ctx

from ...data.targets import Divergences, Floats, Targets
from ...machine.kernels import njit
from ..decoder import Decoder
from ..error_free import two_product, two_sum
from .scalar import TINY, UNIT, enclosures
from .sweep import sweep, tail_sums
from .switches import BITS, from_balls, neurons
from .thermometer import exponentials


def applies(decoder: Decoder) -> bool:
    """Whether it is a scalar decoder with GELU and increasing neurons."""
    return decoder.shape.activation == "gelu" and neurons(decoder) is not None


def seconds(decoder: Decoder, targets: Targets) -> float:
    """About twice what `enclose` takes."""
    shape = decoder.shape
    entries = shape.vocabulary * (len(targets) + shape.neurons)
    return 2 + 3e-8 * entries + 6e-6 * len(targets.tokens) + 2e-5 * (len(targets) + shape.neurons)


def enclose(
    decoder: Decoder, targets: Targets, gap: float, progress: Callable[[int], None] | None = None
) -> Divergences | None:
    """Bounds of every context's divergence from above; infinite where there is none."""
    scalar = neurons(decoder)
    if decoder.shape.activation != "gelu" or scalar is None:
        return None
    balls = enclosures(scalar.scalars, targets, BITS)
    switches = from_balls(scalar, balls)
    scalars = np.empty((len(balls), 3))  # two doubles, and how far their sum is at most from s
    with ctx.workprec(BITS):
        for place, context in enumerate(switches.contexts.tolist()):
            high = float(balls[context])
            rest = balls[context] - arb(high)
            low = float(rest)
            lacks = float(abs(rest - arb(low)).upper()) * (1 + 2.0**-50) + TINY
            scalars[place] = high, low, lacks
    output, state = decoder["output"], np.zeros((decoder.shape.vocabulary, 6))
    tail = tail_sums(output, _tails(switches.margins))

    def advance(start: int, end: int, logits: Floats, radii: Floats) -> None:
        first, here = switches.first[start : end + 1], scalars[start:end]
        lines = output, scalar.slopes, scalar.biases
        _advance(*lines, switches.neurons, first, here, state, tail, logits, radii)

    return sweep(decoder, targets, switches, advance, "ramps", progress)


def _tails(margins: Floats) -> Floats:
    """How far each neuron can be from its ramp: any distance where it has no margin."""
    positive = np.maximum(margins, 0)
    tails = 0.4 * exponentials(-positive * positive * (0.5 - 2.0**-50)) * (1 + 2.0**-50)
    return np.where(margins > 0, tails, np.inf)


@njit(inline="always")
def _add(high, low, lack, a, b):
    """Add the product a b to a sum of two doubles that lacks `lack` at most."""
    product, more = two_product(a, b)
    high, rounded = two_sum(high, product)
    small = more + rounded
    low = low + small
    return high, low, lack + UNIT * (abs(small) + abs(low)) + TINY


@njit(inline="always")
def _line(s, line):
    """s S + B of three parts each, and how far that is wrong at most.

    With S = h + l + e, B = h' + l' + e' and s = x + y + z, the exact parts of x h + h' and the
    terms x l, y h, l' are added up: five terms that are rounded five times at most. Left out are
    y l, z (h + l), s e and e'.
    """
    product, more = two_product(s[0], line[0])
    total, rounded = two_sum(product, line[3])
    cross, rest = s[0] * line[1], s[1] * line[0]
    small = (more + rounded) + (cross + rest) + line[4]
    value = total + small
    size = abs(more) + abs(rounded) + abs(cross) + abs(rest) + abs(line[4])
    wrong = UNIT * abs(value) + 8 * UNIT * size + abs(s[1] * line[1])
    wrong += s[2] * (abs(line[0]) + abs(line[1])) + line[5] + TINY
    wrong += (abs(s[0]) + abs(s[1]) + s[2]) * line[2]
    return value, wrong


@njit
def _advance(output, slopes, biases, neurons, first, scalars, state, tail, logits, radii):
    """Write the logits of the contexts that the neurons of `first` switch before."""
    more = 1 + (8 * len(neurons) + 64) * 2.0**-52  # the bounds themselves are rounded
    for j in range(output.shape[0]):
        line = state[j]
        for i in range(len(first) - 1):
            for place in range(first[i], first[i + 1]):
                k = neurons[place]
                weight = output[j, k]
                if weight != 0:
                    line[0], line[1], line[2] = _add(line[0], line[1], line[2], weight, slopes[k])
                    line[3], line[4], line[5] = _add(line[3], line[4], line[5], weight, biases[k])
            logits[i, j], wrong = _line(scalars[i], line)
            radius = (wrong + tail[j]) * more
            radii[i] = max(radii[i], radius if radius < np.inf else np.inf)
