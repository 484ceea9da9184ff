"""Sums and products of two doubles, and exactly what their rounding lacks."""

from ..machine.kernels import njit

SPLIT = 134217729.0  # 2^27 + 1


@njit(inline="always")
def two_sum(a, b):
    """a + b rounded, and exactly what that lacks (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@njit(inline="always")
def two_product(a, b):
    """a b rounded, and exactly what that lacks (Dekker), unless too small for a double."""
    product = a * b
    left, right = SPLIT * a, SPLIT * b
    high_a, high_b = left - (left - a), right - (right - b)
    low_a, low_b = a - high_a, b - high_b
    lacks = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, lacks
