"""docs/float32.md: the rules for norms, softmax and rotary angles follow from those for operations.

Algorithms are written once, with a rounding after every operation, and run in three ways: in
doubles, to see in which direction each rounding moves the result; in fractions, with every rounding
as large as it may be in that direction; and in fractions without any. The difference of the last
two is what rules 1 and 2 allow (to first order the most), and must be within the lemma's bound.
"""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import enclose as checker
from byheart.stock.arithmetic import Normed, Stream

u = Fraction(1, 2**24)
mpmath.mp.prec = 200


def gamma(k):
    return k * u / (1 - k * u)


class Rounding:
    """Multiplies the results of operations by 1 + d; `units` of u are the most that d may be."""

    def __init__(self, errors=None):
        self.errors, self.units = errors, []

    def __call__(self, value, units=1):
        self.units.append(units)
        return value if self.errors is None else value * (1 + self.errors[len(self.units) - 1])


def worst(algorithm, inputs):
    """By how much the result is off, upwards, if every rounding is as bad as it may be."""
    free = Rounding()
    exact = algorithm(inputs, free)
    floats, units = [float(x) for x in inputs], free.units
    step, base, errors = 2.0**-20, algorithm(floats, Rounding()), []
    for i, most in enumerate(units):
        moved = algorithm(floats, Rounding([step * (i == j) for j in range(len(units))]))
        errors.append(most * u * (1 if moved > base else -1))
    return algorithm(inputs, Rounding(errors)) - exact


def total(values, r):
    result = values[0]
    for x in values[1:]:
        result = r(result + x)
    return result


def mean(values, r):
    """The sum times the inverse of the size, which is within 2 u."""
    return r(total(values, r) * r(Fraction(1, len(values)), 2))


def two_passes(x, r):
    m = mean(x, r)
    return mean([r(d * d) for d in (r(y - m) for y in x)], r)


def one_pass(x, r):
    m = mean(x, r)
    return r(mean([r(y * y) for y in x], r) - r(m * m))


def squares(x, r):
    return mean([r(y * y) for y in x], r)


def updated(x, r):
    """The mean and the sum of squared deviations, by Welford's updates."""
    m, s = x[0], 0
    for k, y in enumerate(x[1:], 2):
        d = r(y - m)
        m = r(m + r(d * r(Fraction(1, k))))
        s = r(s + r(d * r(y - m)))
    return len(x), m, s


def merged(a, b, r):
    """Chan's update of one group by another one."""
    (n, m, s), (k, q, t) = a, b
    d, c = r(q - m), r(Fraction(k, n + k))
    return n + k, r(m + r(c * d)), r(s + r(t + r(r(r(d * d) * c) * n)))


def by_lanes(x, vector, r):
    """As torch does it: one chain of updates in each lane of a vector, then all lanes together."""
    parts = [updated(x[i::vector], r) for i in range(vector)]
    result = parts[0]
    for part in parts[1:]:
        result = merged(result, part, r)
    return result


def streams(size):
    """Lanes that are hard: all the weight in front, signs that alternate, a mean far from 0."""
    random = np.random.default_rng(size)
    tiny = Fraction(1, 2**40)
    front = size // 4 + 1
    yield [Fraction(1)] + [tiny] * (size - 1)
    yield [Fraction(1)] * front + [tiny] * (size - front)
    yield [Fraction((-1) ** i) for i in range(size)]
    for shift in (0, 3):
        yield [Fraction(int(x), 2**10) for x in 2**10 * (random.standard_normal(size) + shift)]


def numbers(x):
    """|mean|, the mean of the absolute values, that of the squares, and the variance."""
    m, n = sum(x) / len(x), len(x)
    return abs(m), sum(map(abs, x)) / n, sum(y * y for y in x) / n, sum((y - m) ** 2 for y in x) / n


@pytest.mark.parametrize("size", [2, 5, 16, 40])
def test_the_mean_and_the_squares_of_a_norm(size):
    """Within gamma(D + 2) and gamma(D + 3), and no smaller constants will do."""
    used = [], []
    for x in streams(size):
        _, a, q, _ = numbers(x)
        used[0].append(worst(mean, x) / (gamma(size + 2) * a))
        used[1].append(worst(squares, x) / (gamma(size + 3) * q))
    for shares, terms in zip(used, (size + 2, size + 3), strict=True):
        assert gamma(terms - 1) / gamma(terms) < max(shares) <= 1


@pytest.mark.parametrize("algorithm", [two_passes, one_pass])
@pytest.mark.parametrize("size", [2, 5, 16, 40])
def test_the_variance_of_a_norm(size, algorithm):
    """The worst execution uses nine tenths of the bound."""
    used = []
    for x in streams(size):
        m, a, q, _ = numbers(x)
        m += gamma(size + 2) * a
        bound = gamma(size + 5) * (q + 2 * m * a) + (gamma(size + 2) * a) ** 2
        used.append(worst(algorithm, x) / bound)
        used.append(-worst(lambda x, r: -algorithm(x, r), x) / bound)
        assert bound <= gamma(size + 16) * (q + 2 * m * a) + (gamma(size + 48) * a) ** 2
    assert max(map(abs, used)) <= 1 and (size < 40 or max(used) > 0.9)


def depth(rows, vector):
    """The longest way of a lane to the root, in merges."""
    return rows - 1 + vector - 1


def mean_units(rows, vector):
    """Lemma 4 (d): a merge costs a lane 1 + 3 n_b / n_a if it is in a, and 4 if it is in b."""
    return sum(1 + 3 / (k - 1) for k in range(2, rows + 1)) + sum(
        1 + 3 / k for k in range(1, vector)
    )


def variance_units(rows, vector):
    h = depth(rows, vector)
    return 3 * h - 1 + 6 * math.sqrt(max(0, h - 1)) + 12 + math.sqrt(2 * math.log(max(1, rows)))


@pytest.mark.parametrize(("rows", "vector"), [(1, 2), (12, 1), (3, 4), (2, 8), (4, 8)])
def test_running_moments_of_a_norm(rows, vector):
    """The bound of the mean is attained; the variance is far from its own, and both are within the
    rule even where that is not proved."""
    size, used = rows * vector, []
    for x in streams(size):
        m, a, q, _ = numbers(x)
        found = worst(lambda x, r: by_lanes(x, vector, r)[1], x)
        used.append(found / (gamma(Fraction(mean_units(rows, vector))) * a))
        assert found <= gamma(size + 48) * a
        found = worst(lambda x, r: r(by_lanes(x, vector, r)[2] * r(Fraction(1, len(x)), 2)), x)
        assert found <= math.ceil(variance_units(rows, vector)) * u * q
        assert found <= gamma(size + 16) * (q + 2 * m * a)
    assert 0.999 < max(used) <= 1


def test_for_which_widths_running_moments_are_proved():
    """Multiples of the lanes of AVX2 and AVX-512, with a chain of 16 at most, as in torch."""
    for vector, least in ((8, 64), (16, 80)):
        for rows in range(1, 17):
            size = rows * vector
            assert (variance_units(rows, vector) < size + 16) == (size >= least)
    for exponent in range(20):
        assert mean_units(2**exponent, 1) < 2**exponent + 48


def test_the_scale_of_a_norm():
    """Epsilon and the sum are rounded: u for the root of both, and 8 u for 1 / sqrt."""
    found = (1 + 8 * u) / (1 - u) - 1  # the root of (1 - u) (1 - u), from epsilon and the sum
    assert 9 * u < found < 10 * u


def plain(v, r):
    x, m, s, g, b = v
    return r(r(r(r(x - m) * s) * g) + b)


def divided(v, r):
    x, m, s, g, b = v
    root = 1 / s
    return r(r(r(r(x - m) * r(1 / root, 2)) * g) + b)


def apart(v, r):
    x, m, s, g, b = v
    return r(r(r(r(x * s) - r(m * s)) * g) + b)


def folded(v, r):
    x, m, s, g, b = v
    scale = r(s * g)
    return r(r(x * scale) + r(b - r(m * scale)))


@pytest.mark.parametrize("formula", [plain, divided, apart, folded])
def test_the_lanes_of_a_norm(formula):
    used, single = [], []
    for x, m, g, b in ((3, 1, 2, 1), (-3, 5, 2, 0), (2, 2, 1, 7), (5, -5, -1, -3), (0, 0, 1, 9)):
        values = [Fraction(x), Fraction(m), Fraction(3, 7), Fraction(g), Fraction(b)]
        size = (abs(values[0]) + abs(values[1])) * values[2] * abs(g)
        result = abs(formula(values, Rounding()))
        found = worst(formula, values)
        used.append(found / (6 * u * size + gamma(2) * result))
        single.append(found / (6 * u * size + gamma(1) * result))
    assert max(used) <= 1
    assert (max(single) > 1) == (formula is folded)  # which is why the rule has 2 u


def test_the_bounds_of_both_provers_have_the_square_of_the_mean():
    """It counts for widths above 13,000: two passes around a mean that is off."""
    size = 2**15
    x = np.resize([1.0, -1.0], size)
    off = gamma(size + 2) ** 2
    least = gamma(size + 5) * (1 + off) + off
    assert least > gamma(size + 16)  # of a mean square of 1
    at = Stream(x[None], np.zeros((1, size)), np.zeros((1, size)))
    normed = Normed(at, np.ones(size), np.zeros(size), 1e-12, False)
    assert normed.off[0, 0] >= least
    one = checker.ONE
    norm = checker.Norm([one] * size, [0] * size, Fraction(1, 10**12))
    stream = checker.Stream([int(y) * one for y in x], [], [], [0] * size)
    assert norm.of(stream).rounding.variance >= least * one * one


# --- softmax


def exact(value):
    """An mpmath number as a fraction."""
    sign, man, exp, _ = value._mpf_
    return (-1) ** sign * Fraction(man) * Fraction(2) ** exp


def exponential(x, r):
    if isinstance(x, Fraction):
        return r(exact(mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)), 8)
    return r(math.exp(x), 8)


def softmax(values, r):
    """The maximum is known; values of all places and the scores."""
    count = len(values) // 2
    scores, lanes = values[:count], values[count:]
    top = max(scores)
    shares = [exponential(r(s - top), r) for s in scores]
    weighted = total([r(e * v) for e, v in zip(shares, lanes, strict=True)], r)
    return r(weighted * r(1 / total(shares, r), 2))


def running(values, r):
    """The maximum so far; sums are multiplied by the same factor when it changes."""
    count = len(values) // 2
    scores, lanes = values[:count], values[count:]
    top, share, weighted = scores[0], 1, lanes[0]
    for s, v in zip(scores[1:], lanes[1:], strict=True):
        if s > top:
            factor, top = exponential(r(top - s), r), s
            share, weighted = r(share * factor), r(weighted * factor)
        e = exponential(r(s - top), r)
        share, weighted = r(share + e), r(weighted + r(e * v))
    return r(weighted * r(1 / share, 2))


def attention_cases(places, rising):
    """Scores and one lane of the values: of a place that loses by far, or all of them."""
    tiny = Fraction(1, 2**300)
    for low in (87, 8, 1):
        scores = [Fraction(0)] * places
        scores[0] = Fraction(-low)
        yield scores, [Fraction(1)] + [tiny] * (places - 1)
        yield scores, [Fraction((-1) ** t) for t in range(places)]
    scores = [Fraction(t * rising, 8) for t in range(places)]
    yield scores, [Fraction(1)] + [tiny] * (places - 1)
    yield scores, [Fraction(1, t + 1) for t in range(places)]


def bound_share(algorithm, scores, lanes, units):
    weights = [exact(mpmath.exp(mpmath.mpf(s.numerator) / s.denominator)) for s in scores]
    size = sum(w * abs(v) for w, v in zip(weights, lanes, strict=True)) / sum(weights)
    found = worst(algorithm, [*scores, *lanes])
    return found / (gamma(units) * size)


@pytest.mark.parametrize("places", [2, 5, 12])
def test_softmax_with_a_known_maximum(places):
    p = places - 1
    used = [
        bound_share(softmax, scores, lanes, 2 * p + 122)
        for scores, lanes in attention_cases(places, 0)
    ]
    assert 0.85 < max(used) <= 1  # one more place costs two more roundings, and 14 are ln(2^20)
    assert 2 * p + 122 <= 3 * p + 128


@pytest.mark.parametrize(("places", "changes"), [(2, 1), (5, 4), (12, 11)])
def test_softmax_with_a_running_maximum(places, changes):
    """Every change costs 10 roundings more at most."""
    p, used = places - 1, []
    for scores, lanes in attention_cases(places, 1):
        times = sum(b > max(scores[: i + 1]) for i, (_, b) in enumerate(pairwise(scores)))
        assert times in (0, 1, changes)
        used.append(bound_share(running, scores, lanes, 2 * p + 122 + 10 * times))
        if times <= p / 10:
            assert 2 * p + 122 + 10 * times <= 3 * p + 128
    assert max(used) <= 1


# --- rotary positions


def exponent_errors(theta):
    """How far theta^(-2 f / s) is off because 2 f / s is a float32, in u, for all even s."""
    sizes = [s for s in range(2, 258, 2)]
    found = []
    for s in sizes:
        for f in range(s // 2):
            rounded = Fraction(float(np.float32(2 * f) / np.float32(s)))
            wrong = abs(rounded - Fraction(2 * f, s))
            assert wrong <= u / 2
            found.append(math.expm1(float(wrong) * math.log(theta)) / float(u))
    return max(found)


@pytest.mark.parametrize(("theta", "pow_units"), [(1e4, 8), (5e5, 8), (1e6, 8), (1e9, 4)])
def test_rotary_frequencies(theta, pow_units):
    """Half of ln(theta) for the exponent, the error of pow, and one rounding for the inverse."""
    units = math.log(theta) / 2 + pow_units + 1
    assert units < 16
    assert units - 1 < exponent_errors(theta) + pow_units + 1 <= units  # the half is used


def test_a_large_theta_needs_a_better_power():
    assert exponent_errors(1e9) + 8 + 1 > 16


def test_sizes_that_are_powers_of_two_lose_nothing():
    for s in (2, 4, 8, 16, 32, 64, 128, 256):
        for f in range(s // 2):
            assert Fraction(float(np.float32(2 * f) / np.float32(s))) == Fraction(2 * f, s)
