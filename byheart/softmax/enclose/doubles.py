"""The scalar of a decoder's contexts in double arithmetic, with a proved error.

With u = 2^-53 and hats for what is computed, of one context of T tokens and one head:

1. x^ = z + u_t is wrong by u |x^|. The score c^ = kappa^ x^_t x^_k has five factors 1 +- u (kappa,
   both x, both products): wrong by 6u |c^|. The largest score is subtracted, which changes no
   weight and rounds by u |c^ - top|.
2. exponential.exp is wrong by a factor 1 +- ERROR. So a weight is wrong by a factor 1 +- lambda,
   lambda = 1.01 (7u max |c^| + u max |c^ - top| + ERROR), if that is below 0.01. This moves the
   mean by lambda / (1 - lambda) times the range of x at most: sum p_t t_t (x_t - mean), |t| <=
   lambda, is divided by 1 + sum p_t t_t. A weight below e^-700 is put to 0: TINY times the range.
3. The sums of weights and weighted x are wrong by factors 1 +- 1.01 (T + 1) u of the sums of
   absolute values, and the quotient is rounded: (2T + 4) u max |x^| covers these and the u |x^|
   of the x in the mean.
4. nu^ and its product are wrong by u each, as is each addition to the sum over heads and the last
   d x_k. The radius is a sum of fewer than 2^10 positive terms, and LARGER covers their rounding.
"""

import numpy as np
from numba import njit

from .exponential import ERROR, LIMIT, exp

UNIT = 2.0**-53
TINY = 2.0**-1000  # far above what a number that is too small for a double loses
LARGER = 1.0 + 2.0**-40


@njit(cache=True, nogil=True)
def average(tokens, starts, z, u, kappa, nu, skip, scale, middle, radius):
    """Write the midpoint and the radius of s of each context."""
    x = np.empty(len(u))
    for i in range(len(starts) - 1):
        size = starts[i + 1] - starts[i]
        if scale > 0:
            middle[i], radius[i] = _token_sum(tokens[starts[i] : starts[i + 1]], z, u, scale)
        else:
            for t in range(size):
                x[t] = z[tokens[starts[i] + t]] + u[t]
            middle[i], radius[i] = _attention(x[:size], kappa, nu, skip)
        if not (abs(middle[i]) < np.inf and radius[i] < np.inf):
            middle[i], radius[i] = 0.0, np.inf


@njit(cache=True, nogil=True)
def _token_sum(tokens, z, u, scale):
    """Products are wrong by u, each of the T additions by u: (T + 2) u of the absolute values."""
    total, absolute = 0.0, 0.0
    for t in range(len(tokens)):
        term = z[tokens[t]] * u[t]
        total += term
        absolute += abs(term)
    error = ((len(tokens) + 4) * UNIT * absolute + (len(tokens) + 1) * TINY) * scale
    return total * scale, error * LARGER


@njit(cache=True, nogil=True)
def _attention(x, kappa, nu, skip):
    largest, low, high = 0.0, np.inf, -np.inf
    for value in x:
        largest, low, high = max(largest, abs(value)), min(low, value), max(high, value)
    spread = (high - low) + 2 * UNIT * largest
    total, absolute = skip * x[-1], abs(skip * x[-1])
    error = 2 * UNIT * absolute
    for r in range(len(kappa)):
        mean, wrong = _mean(x, kappa[r], largest, spread)
        total += nu[r] * mean
        absolute += abs(nu[r] * mean)
        error += abs(nu[r]) * (1 + 2 * UNIT) * wrong + 3 * UNIT * abs(nu[r] * mean)
        error += TINY * (1 + abs(mean))
    return total, (error + (len(kappa) + 1) * UNIT * absolute) * LARGER


@njit(cache=True, nogil=True)
def _mean(x, kappa, largest, spread):
    """The mean of x under the softmax of kappa x_t x_k, and how far it can be wrong."""
    top, highest, lowest = -np.inf, 0.0, np.inf
    for value in x:
        score = kappa * value * x[-1]
        if not abs(score) < np.inf:
            return 0.0, np.inf
        top, highest = max(top, score), max(highest, abs(score))
        lowest = min(lowest, score)
    weights, weighted = 0.0, 0.0
    for value in x:
        shifted = kappa * value * x[-1] - top
        if shifted >= -LIMIT:
            weight = exp(shifted)
            weights += weight
            weighted += weight * value
    factor = 1.01 * (7 * UNIT * highest + UNIT * (top - lowest) + ERROR) + TINY
    if not factor < 0.01:
        return 0.0, np.inf
    error = factor / (1 - factor) * spread * LARGER + (2 * len(x) + 4) * UNIT * largest
    return weighted / weights, error + len(x) * TINY * (1 + spread)
