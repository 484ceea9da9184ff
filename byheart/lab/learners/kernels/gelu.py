"""The kernel of GELU with its derivative: one pass over memory."""

import math

from .jit import compiled
from .lanes import LANES, constant, exponential, load, madd, magnitude, signed, store

# Abramowitz & Stegun 7.1.26: 1 - erf(y) = (a1 t + ... + a5 t^5) exp(-y^2), t = 1 / (1 + p y),
# within 1.5e-7 for y >= 0; torch's own erf uses it too.
_P = 0.3275911
_A1, _A2, _A3, _A4, _A5 = 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429


@compiled
def gelu(before, after, slope):
    """x Phi(x) and its slope Phi(x) + x phi(x), x in `before`: multiples of eight numbers."""
    for at in range(0, before.size, LANES):
        x = load(before, at)
        bell = exponential(x * x * constant(-0.5))
        y = magnitude(x) * constant(math.sqrt(0.5))
        t = constant(1.0) / madd(y, constant(_P), constant(1.0))
        tail = madd(t, constant(_A5), constant(_A4))
        tail = madd(t, tail, constant(_A3))
        tail = madd(t, tail, constant(_A2))
        tail = madd(t, tail, constant(_A1))
        tail = t * tail * bell
        half = (constant(1.0) - tail) * constant(0.5)  # Phi(|x|) - 1/2
        below = constant(0.5) + signed(half, x)
        store(after, at, x * below)
        density = bell * constant(1 / math.sqrt(2 * math.pi))
        store(slope, at, madd(x, density, below))
