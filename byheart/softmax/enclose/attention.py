"""Attention of many heads in double arithmetic, with a proved error of every coordinate.

Only the vectors x of a token at a place that occur matter. Two tables hold, for each of them and
each head, its query a = key^T query x (of last tokens) and its value f = out value x. With
u = 2^-53 and hats for computed numbers:

1. x^ = z + u_t is wrong by u |x^|. A product of matrices with k terms, in any order of summation,
   fused or not, is wrong by k u / (1 - k u) of the sum of the magnitudes, and by what the radius of
   its factor adds: a second product bounds both (balls.product). This gives a and f their radii.
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
from numpy.typing import NDArray

from ...data.targets import Targets
from ...machine.kernels import njit
from ..decoder import Decoder
from ..error_free import two_sum
from .balls import TINY, UP, Balls, Matrix, U, product
from .exponential import ERROR, LIMIT, exp

Ints = NDArray[np.int64]
BLOCK = 1 << 18  # numbers in the tables of some heads: they stay in the cache
KNOWN = 0.01  # the relative error of a weight above which it is not known


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors that contexts are made of."""

    values: Matrix  # [vectors, d], doubles: the true ones are within u of each coordinate
    places: Ints  # of each token of the contexts, in `values`
    starts: Ints  # the vectors of context i are values[places[starts[i] : starts[i + 1]]]
    lasts: Ints  # those that end a context, increasing
    queries: Ints  # the place in `lasts` of each context's last vector


def vectors(decoder: Decoder, targets: Targets) -> Vectors:
    """The vectors of these contexts, each once."""
    lengths = np.diff(targets.starts)
    position = np.arange(len(targets.tokens)) - np.repeat(targets.starts[:-1], lengths)
    named = targets.tokens.astype(np.int64) * decoder.shape.length + position
    known, places = np.unique(named, return_inverse=True)
    tokens, positions = np.divmod(known, decoder.shape.length)
    values = decoder["embedding"][tokens] + decoder["positions"][positions]
    lasts, queries = np.unique(places[targets.starts[1:] - 1], return_inverse=True)
    return Vectors(values, places, targets.starts, lasts, queries)


def mixed(decoder: Decoder, targets: Targets) -> Balls:
    """Enclosures of g of each context, [contexts, d]: the heads, and the last vector if skipped."""
    read, shape, d = vectors(decoder, targets), decoder.shape, decoder.shape.dimension
    values, last = read.values, read.values[read.lasts]
    longest = int(np.diff(read.starts).max())
    every = Balls(values, U * np.abs(values) + TINY)
    ends = Balls(last, every.radius[read.lasts])
    query, key, value = (
        decoder[f"attention.{name}"].reshape(shape.heads, -1, d)
        for name in ("query", "key", "value")
    )
    out = decoder["attention.out"].reshape(d, shape.heads, -1)
    sums = np.zeros((3, len(targets), d))  # the sums, what they lack, its magnitude
    radius = np.zeros(sums.shape[1:])
    size = max(1, BLOCK // (4 * values.size))
    for heads in (slice(i, i + size) for i in range(0, shape.heads, size)):
        outs = np.ascontiguousarray(out[:, heads].transpose(1, 2, 0))  # [heads, d0, d]
        a = product(product(ends, query[heads].transpose(0, 2, 1)), key[heads])
        f = product(product(every, value[heads].transpose(0, 2, 1)), outs)
        wide = 1.001 * (d + 2) * U * np.abs(a.middle) + a.radius  # its share of r
        rounded = 1.1 * (2 * longest + 6) * U * np.abs(f.middle) + f.radius  # of a mean's error
        query_table, wide, value_table, rounded = (
            np.ascontiguousarray(table.transpose(1, 0, 2))
            for table in (a.middle, wide * UP, f.middle, rounded * UP)
        )
        inputs = values, read.places, read.starts, read.queries
        _attend(*inputs, query_table, wide, value_table, rounded, sums, radius)
    if shape.skip:
        skipped = last[read.queries]
        sums[0], lacks = two_sum(sums[0], skipped)
        sums[1] += lacks
        sums[2] += np.abs(lacks)
        radius += U * np.abs(skipped)
    middle = sums[0] + sums[1]
    radius += 1.001 * (shape.heads + 1) * U * sums[2] + U * np.abs(middle)
    return Balls(middle, radius * UP + TINY)


@njit(error_model="numpy")
def _attend(x, places, starts, queries, query, wide, value, rounded, sums, radius):
    """Add the mean value of some heads in each context, and how wrong it can be."""
    longest = np.diff(starts).max()
    share, error = np.empty(longest), np.empty(longest)
    mean, wrong = np.empty(x.shape[1]), np.empty(x.shape[1])
    for i in range(len(queries)):
        here = places[starts[i] : starts[i + 1]]
        for r in range(query.shape[1]):
            known = _shares(x, here, query[queries[i], r], wide[queries[i], r], share, error)
            mean[:] = 0.0
            for t in range(len(here)):
                for j in range(len(mean)):
                    mean[j] += share[t] * value[here[t], r, j]
            wrong[:] = 0.0 if known else np.inf
            for t in range(len(here)):
                for j in range(len(mean)):
                    apart = abs(value[here[t], r, j] - mean[j])
                    wrong[j] += share[t] * (rounded[here[t], r, j] + error[t] * apart)
            for j in range(len(mean)):
                sums[0, i, j], lacks = two_sum(sums[0, i, j], mean[j])
                sums[1, i, j] += lacks
                sums[2, i, j] += abs(lacks)
                radius[i, j] += 1.1 * wrong[j] + TINY


@njit(error_model="numpy")
def _shares(x, here, query, wide, share, error):
    """Write p_t and l_t of one head; whether all weights are known."""
    top, total, known = -np.inf, 0.0, True
    for t in range(len(here)):
        score, spread = 0.0, 0.0
        for j in range(len(query)):
            score += query[j] * x[here[t], j]
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
