"""The exponential function in doubles, with a proved error: only + - * and two tables.

No library proves an error of its exp, and a proof must not rest on what was only tested. With
u = 2^-53 and round to nearest, `exp(x)` is e^x (1 + t) with |t| <= ERROR = 8u for |x| <= LIMIT:

1. k is an integer near 64 x / ln 2: adding and subtracting 1.5 * 2^52 rounds to an integer, so
   |x - k ln2 / 64| <= 0.0055, and |k| < 2^16.
2. ln2 / 64 = HIGH + LOW + e. HIGH has 36 bits, so k HIGH has 52 and is exact. LOW < 2^-45 is
   rounded, so k LOW and k e are wrong by u 2^-28 at most. Each of the two subtractions of
   (x - k HIGH) - k LOW is wrong by u * 0.0055 at most. So r is wrong by 0.0112u at most.
3. p = r + r^2 (1/2 + r/6 + ... + r^4/720) lacks less than |r|^7 / 5039 < 0.0003u of e^r - 1. Its
   last addition is wrong by 0.0056u at most, and everything before that, which is multiplied by
   r^2 < 0.00004, by 0.001u at most.
4. The table has 2^(j/64), j = 0 ... 63, rounded to nearest (found with integers): wrong by a factor
   within 1 +- u. table + table * p adds 0.0056u for the product and u for the sum.
5. The factor 2^(k // 64) is exact, as the result is a normal number: e^-700 > 2^-1011.

Together less than 2.1u. A processor that fuses a product and a sum only leaves out a rounding.
"""

import math
from math import isqrt

import numpy as np

from ...machine.kernels import njit

LIMIT = 700.0
ERROR = 2.0**-50
SMALLEST = 2.0**-1009  # above e^-LIMIT (1 + ERROR)

_STEPS = 64.0 / math.log(2.0)  # need not be exact: it only chooses k
_HIGH = float.fromhex("0x1.62e42fefap-7")
_LOW = float.fromhex("0x1.cf79abc9e3b3ap-46")
_ROUND = 1.5 * 2.0**52
_LOWEST = -1012  # the least power of two in the table


def _root(j: int) -> float:
    """2^(j/64), rounded to nearest: six integer square roots of 2^(j + 64 * 52)."""
    root = 1 << (j + 64 * 52)
    for _ in range(6):
        root = isqrt(root)  # the floor of a floor's root is the floor of the root
    above = (2 * root + 1) ** 64 < 1 << (j + 64 * 53)
    return math.ldexp(root + above, -52)


_ROOTS = np.array([_root(j) for j in range(64)])
_POWERS = np.array([math.ldexp(1.0, e) for e in range(_LOWEST, 1013)])


@njit(inline="always")
def exp(x):
    """e^x within a factor of 1 +- ERROR, for |x| <= LIMIT."""
    k = (x * _STEPS + _ROUND) - _ROUND
    r = (x - k * _HIGH) - k * _LOW
    tail = 0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720))))
    p = r + r * r * tail
    step = np.int64(k)
    root = _ROOTS[step & 63]
    return (root + root * p) * _POWERS[(step >> 6) - _LOWEST]


@njit(inline="always")
def above(x):
    """A bound of e^x from above, for any x; infinite above LIMIT and for nan."""
    if x < -LIMIT:
        return SMALLEST
    if x <= LIMIT:
        return exp(x) * (1.0 + 2.0 * ERROR)
    return np.inf
