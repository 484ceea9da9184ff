"""A bound of the Kullback-Leibler divergence from above, without a logarithm.

The target has the counts c_j on its support T, the decoder the logits L_j. With d_j = L_j - log c_j
and E the mean under the target p,

    KL(p || softmax L) = log E e^d - E d + log(1 + R),    R = sum_{off T} e^L / sum_T e^L,

for log sum_all e^L = log sum_T c_j e^(d_j) + log(1 + R), and a constant added to all d drops out.
Hoeffding's lemma bounds the first two terms by osc(d)^2 / 8, osc = max - min. With
rho_j = e^(L_j) / c_j, osc(d) = log(max rho / min rho) <= max rho / min rho - 1. And
log(1 + R) <= min(R, R - R^2/2 + R^3/3): both increase with R.

If a logit is within `radius` of L_j, osc grows by 2 radius at most and R by a factor e^(2 radius).
So the radius enters squared in the support and only relative to R off it.
"""

import numpy as np

from ...machine.kernels import njit
from .exponential import ERROR, LIMIT, above, exp

UNIT = 2.0**-53
SHIFT = 2.0**-43  # above LIMIT times UNIT: what subtracting the largest logit rounds


@njit(error_model="numpy")
def divergence(logits, radius, following, counts):
    """A bound of the divergence of one context from above, and the likeliest token.

    logits     [vocabulary] doubles, each within `radius` of the true logit
    following  the tokens of the target's support, increasing; counts: integers below 2^53

    The bound is infinite where a logit is nan, or rho or R is too large for a double. Of equal
    logits the first is the likeliest.
    """
    top = -np.inf
    for j in following:
        top = max(top, logits[j])
    inside, low, high = 0.0, np.inf, 0.0
    for i in range(len(following)):
        shifted = logits[following[i]] - top
        weight = exp(shifted) if shifted >= -LIMIT else np.nan
        ratio = weight / counts[i]
        inside += weight
        low, high = min(low, ratio), max(high, ratio)
    outside, likeliest, place = 0.0, 0, 0  # the sum of exp(logit - top) off the support
    for j in range(len(logits)):
        if logits[j] > logits[likeliest]:
            likeliest = j
        if place < len(following) and following[place] == j:
            place += 1
        else:
            outside += above(logits[j] - top)
    if not (inside > 0 and low > 0 and radius < LIMIT / 4):
        return np.inf, likeliest
    sums = 1.0 + (len(logits) + 8) * 2 * UNIT + 4 * ERROR
    rest = outside / inside * sums * above(2 * (radius + SHIFT))
    spread = high / low * (1.0 + 4 * ERROR) - 1.0 + 2 * (radius + SHIFT)
    series = rest * (1.0 - rest * (0.5 - rest / 3.0)) if rest < 1.0 else rest
    bound = (spread * spread / 8.0 + series) * (1.0 + 32 * UNIT)  # rounded upwards
    return (bound if bound < np.inf else np.inf), likeliest


@njit(error_model="numpy")
def divergences(logits, radii, contexts, following, ends, counts, values, likeliest):
    """Write bound and likeliest token of contexts[i], whose logits are those of row i."""
    for i in range(len(contexts)):
        c = contexts[i]
        first, end = ends[c], ends[c + 1]
        values[c], likeliest[c] = divergence(
            logits[i], radii[i], following[first:end], counts[first:end]
        )
