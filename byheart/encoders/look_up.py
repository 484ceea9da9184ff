"""The encoder of look-up tables with noise: each context points to its likeliest token.

Paper        dana2024, Theorem 2.
Statement    With g(t) the likeliest token and unit vectors W of small coherence, E(t) = lambda W_g
             has a divergence that vanishes with the noise 1 - pi(g(t) | t).
Assumptions  A1  d >= 2 (or d >= 1 with two tokens): tokens have different unit vectors.
Guarantee    G1  With lambda of eq. (6) and a target of entropy h > 0, its divergence is the mean of
                 f_g - f_j over its next tokens j.
             G2  `look_up` takes the lambda that minimises the divergence, so it is at most that of
                 eq. (6) in every context.
Departures   D1  The sign of H: the text has H = sum p log p <= 0, the appendix H in [0, log N].
                 Here h >= 0 is Shannon's; eq. (6) is h = log sum_j exp(lambda (W_j - W_g) . W_g).
                 In appendix A.3, d_KL = -h + cross-entropy (printed with +H, and an exp missing).
             D2  h = 0 asks for an infinite lambda; the gap takes the place of an h below it.
             D3  The theorem's W (random, C = sqrt(32 log(N + 1) / d)) has a finite bound only for
                 C < 1/2, which it does not say: for d > 128 log(N + 1), 504 with N = 50, where
                 d = 49 is already exact. Here W is moved apart and needs W_j . W_g < 1 only.
             D4  Misprints: W is N x d, and ||W W^T - I_d|| should have I_N; in A.3 "f_j <= C" is
                 |f_j| <= lambda C, "+ 1 / (N - 1) sum" is minus the sum over t != g, and d_TV must
                 be the whole L1 norm (with half of it, write 2 C d_TV).
             D5  The "simpler bound" does not follow: -log(e^h - 1) is convex, so Jensen's
                 inequality points the other way (N = 1000, two contexts with noise 1/2 and
                 h = 0.693, 4.147: 2.42 > 2.29).
Notation     N vocabulary, d dimension, W unembedding, E embeddings, g likeliest token, f logits.
"""

from collections.abc import Callable

import numpy as np

from ..data.dataset import Ints
from ..data.targets import Floats, Targets
from .circle import aim
from .encoder import Encoder, blocks, check, measured, merged
from .scales import by_entropy, falls_of, nearest
from .unit_vectors import unit_vectors

# of falls, likeliest tokens and targets: the lengths of the embeddings
Scales = Callable[[Floats, Ints, Targets], Floats]


def look_up_encoder(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Encoder:
    """The encoder with the best length of every embedding."""

    def scales(falls: Floats, own: Ints, part: Targets) -> Floats:
        """The best length; where longer is always better, the one that keeps the gap."""
        rows = np.repeat(np.arange(len(own)), part.support)
        seen = part.probabilities * falls[rows, part.following]
        mean = np.add.reduceat(seen, part.ends[:-1])
        noisy = mean > 0
        result = by_entropy(falls, own, np.full(len(own), aim(gap)))
        result[noisy] = nearest(falls[noisy], own[noisy], mean[noisy])
        return result

    return _pointing("look-up", scales, targets, dimension, seed)


def equation_6(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Encoder:
    """The encoder with the theorem's own lengths."""

    def scales(falls: Floats, own: Ints, part: Targets) -> Floats:
        most = np.log(len(part.vocabulary))  # which rounding may pass
        return by_entropy(falls, own, np.clip(entropies(part), aim(gap), most))

    return _pointing("look-up, eq. (6)", scales, targets, dimension, seed)


def entropies(targets: Targets) -> Floats:
    p = targets.probabilities
    return np.add.reduceat(-p * np.log(p), targets.ends[:-1]) + 0.0


def _pointing(name: str, scales: Scales, targets: Targets, dimension: int, seed: int) -> Encoder:
    check("look-up", targets, dimension)
    rows = merged(targets)
    unembedding = unit_vectors(len(targets.vocabulary), dimension, seed)  # A1
    own = rows.likeliest
    parts = [
        scales(falls_of(unembedding, own[a:b]), own[a:b], rows.targets.subset(np.arange(a, b)))
        for a, b in blocks(rows.targets)
    ]
    embeddings = np.concatenate(parts)[:, None] * unembedding[own]
    return measured(name, unembedding, embeddings, rows, False)
