"""Attention of many heads in double arithmetic, with a proved error of every coordinate.

Only the vectors x of a token at a place that occur matter, and with them are tabled, for each head,
what a last token asks, a = key^T query x, and what a token says, f = out value x. With u = 2^-53
and hats for what is computed:

1. x^ = z + u_t is wrong by u |x^|. A product of matrices with k terms, in any order of summation,
   fused or not, is wrong by k u / (1 - k u) of the sum of the magnitudes, and by what the radius of
   its factor adds: a second product bounds both (balls.product). So a and f have radii.
2. A score c = a . x_t has d terms. It is wrong by
   sum_i (1.001 (d + 2) u |a^_i| + radius a_i) |x^_i| =: r_t.
3. The largest score is subtracted, which changes no share and is rounded by u |c^_t - top|, and
   exponential.exp is wrong by a factor 1 +- ERROR. So the true weight is e_t (1 + t_t) with
   |t_t| <= l_t = 1.02 (r_t + u |c^_t - top| + ERROR) if that is below 0.01; else nothing is known.
   Below -LIMIT the weight is taken to be e^-LIMIT or so, and the true one is smaller: l_t = 1.
4. With p_t = e_t / sum e and y = sum p_t f_t, the true mean of the f^ is wrong by
   |sum e_t t_t (f_t - y)| / sum e_t (1 + t_t) <= 1.03 sum p_t l_t |f_t - y|: the weight of the top
   is 1 and known up to 1 %, those with l_t = 1 are nothing beside it.
5. Rounded sums of k terms one after another, their quotient and the |f_t - y| (wrong by the errors
   that are added here, times l_t): 1.1 (2k + 6) u sum p_t |f^_t|. The radii of the f add their
   mean. 1.1 times all of it covers the shares, which are true up to 3 %, and TINY the numbers that
   are too small for a double.
6. The heads are added up with what each addition lacks (two_sum): h additions of what is lacking
   are wrong by 1.001 h u of its magnitude, and the sum of both is rounded once.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...data.targets import Targets
from ..decoder import Decoder
from ..error_free import two_sum
from .balls import TINY, UP, Balls, Matrix, U, product
from .exponential import ERROR, LIMIT, exp

Ints = NDArray[np.int64]
BLOCK = 1 << 18  # numbers in the tables of some heads: they stay in the cache
KNOWN = 0.01  # the relative error of a weight above which it is not known


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors that contexts are made of.

    values   [vectors, d], doubles: the true ones are within u of each coordinate
    places   of each token of the contexts, in `values`
    starts   the vectors of context i are values[places[starts[i] : starts[i + 1]]]
    lasts    those that end a context, increasing
    asking   the place in `lasts` of each context's last vector
    """

    values: Matrix
    places: Ints
    starts: Ints
    lasts: Ints
    asking: Ints


def vectors(decoder: Decoder, targets: Targets) -> Vectors:
    """The vectors of these contexts, each once."""
    lengths = np.diff(targets.starts)
    position = np.arange(len(targets.tokens)) - np.repeat(targets.starts[:-1], lengths)
    named = targets.tokens.astype(np.int64) * decoder.shape.length + position
    known, places = np.unique(named, return_inverse=True)
    tokens, positions = np.divmod(known, decoder.shape.length)
    values = decoder["embedding"][tokens] + decoder["positions"][positions]
    lasts, asking = np.unique(places[targets.starts[1:] - 1], return_inverse=True)
    return Vectors(values, places, targets.starts, lasts, asking)


def mixed(decoder: Decoder, targets: Targets) -> Balls:
    """Enclosures of g of each context, [contexts, d]: the heads, and the last vector if skipped."""
    found, shape = vectors(decoder, targets), decoder.shape
    sums = np.zeros((3, len(targets), shape.dimension))  # the sums, what they lack, its magnitude
    radius = np.zeros(sums.shape[1:])
    size = max(1, BLOCK // (4 * found.values.size))
    for first in range(0, shape.heads, size):
        asked, wide, said, rounded = _tables(decoder, found, slice(first, first + size))
        _heard(
            found.values, found.places, found.starts, found.asking,
            asked, wide, said, rounded, sums, radius,
        )  # fmt: skip
    if shape.skip:
        _skip(found.values[found.lasts[found.asking]], sums, radius)
    middle = sums[0] + sums[1]
    radius += 1.001 * (shape.heads + 1) * U * sums[2] + U * np.abs(middle)
    return Balls(middle, radius * UP + TINY)


def _tables(decoder: Decoder, found: Vectors, heads: slice) -> tuple[Matrix, ...]:
    """Of some heads: a and its share of r; f and its share of a mean's error."""
    values = found.values
    every = Balls(values, U * np.abs(values) + TINY)
    last = Balls(values[found.lasts], every.radius[found.lasts])
    query, key, value = (_matrices(decoder, name, heads) for name in ("query", "key", "value"))
    out = decoder["attention.out"].reshape(len(values[0]), decoder.shape.heads, -1)
    out = np.ascontiguousarray(out[:, heads].transpose(1, 2, 0))  # [heads, d0, d]
    asked = product(product(last, query.transpose(0, 2, 1)), key)
    said = product(product(every, value.transpose(0, 2, 1)), out)
    longest = int(np.diff(found.starts).max())
    wide = 1.001 * (values.shape[1] + 2) * U * np.abs(asked.middle) + asked.radius
    rounded = 1.1 * (2 * longest + 6) * U * np.abs(said.middle) + said.radius
    return tuple(
        np.ascontiguousarray(table.transpose(1, 0, 2))
        for table in (asked.middle, wide * UP, said.middle, rounded * UP)
    )


def _matrices(decoder: Decoder, name: str, heads: slice) -> Matrix:
    tensor = decoder[f"attention.{name}"]
    return tensor.reshape(decoder.shape.heads, -1, tensor.shape[1])[heads]


@njit(cache=True, nogil=True, error_model="numpy")
def _skip(last, sums, radius):
    """Add the last vector of each context."""
    for i in range(last.shape[0]):
        for j in range(last.shape[1]):
            sums[0, i, j], lacks = two_sum(sums[0, i, j], last[i, j])
            sums[1, i, j] += lacks
            sums[2, i, j] += abs(lacks)
            radius[i, j] += U * abs(last[i, j])


@njit(cache=True, nogil=True, error_model="numpy")
def _heard(x, places, starts, asking, asked, wide, said, rounded, sums, radius):
    """Add what some heads hear in each context, and how wrong that can be."""
    longest = np.diff(starts).max()
    share, error = np.empty(longest), np.empty(longest)
    mean, wrong = np.empty(x.shape[1]), np.empty(x.shape[1])
    for i in range(len(asking)):
        here = places[starts[i] : starts[i + 1]]
        for r in range(asked.shape[1]):
            known = _shares(x, here, asked[asking[i], r], wide[asking[i], r], share, error)
            mean[:] = 0.0
            for t in range(len(here)):
                for j in range(len(mean)):
                    mean[j] += share[t] * said[here[t], r, j]
            wrong[:] = 0.0 if known else np.inf
            for t in range(len(here)):
                for j in range(len(mean)):
                    apart = abs(said[here[t], r, j] - mean[j])
                    wrong[j] += share[t] * (rounded[here[t], r, j] + error[t] * apart)
            for j in range(len(mean)):
                sums[0, i, j], lacks = two_sum(sums[0, i, j], mean[j])
                sums[1, i, j] += lacks
                sums[2, i, j] += abs(lacks)
                radius[i, j] += 1.1 * wrong[j] + TINY


@njit(cache=True, nogil=True, error_model="numpy")
def _shares(x, here, asked, wide, share, error):
    """Write p_t and l_t of one head; whether all weights are known."""
    top, total, known = -np.inf, 0.0, True
    for t in range(len(here)):
        score, spread = 0.0, 0.0
        for j in range(len(asked)):
            score += asked[j] * x[here[t], j]
            spread += wide[j] * abs(x[here[t], j])
        share[t], error[t] = score, spread
        top = max(top, score)
    for t in range(len(here)):
        shifted = share[t] - top
        known = known and shifted <= 0.0
        wrong = 1.02 * (error[t] + U * abs(shifted) + ERROR) + TINY
        near = shifted >= -LIMIT
        known = known and wrong < KNOWN
        error[t] = wrong if near else 1.0
        share[t] = exp(shifted if near else -LIMIT)
        total += share[t]
    for t in range(len(here)):
        share[t] /= total
    return known
