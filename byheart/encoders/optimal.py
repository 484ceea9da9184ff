"""The best encoder that an optimiser finds.

Paper        dana2024, Definition 1 and Lemma 1: d_KL(pi, L(N, S, d)) is an infimum over W and E.
Statement    Minimise the mean divergence over W and E, from several starting points.
Assumptions  A1  At least two tokens, d >= 1.
Guarantee    G1  The divergence is one that an encoder has: a bound on the infimum from above.
Departures   D1  The problem is not convex and nothing is proved about the minimum. Associations at
                 d = 2 are the warning: their order on the circle is combinatorial, and the
                 optimiser stays at 0.2 nats (50 labels) where Proposition 3 has 0.
             D2  Without zeros among the targets the minimum is attained (Lemma 1 under Assumption
                 2); with zeros, W and E grow for as long as the iterations last.
Notation     N vocabulary, d dimension, W unembedding, E embeddings, M distinct distributions.
"""

import numpy as np

from ..data.targets import Floats, Targets
from ..machine.memory import require
from .encoder import Encoder, Merged, check, measured, merged
from .exact import centred

Start = tuple[Floats, Floats]
MOST, LEAST, WORK = 500, 30, 4e8  # iterations, and logits computed in all of them
NOISE = 0.03  # relative
EXTRA, ROUNDS = 10, 4  # of the randomised singular value decomposition
MEMORY = 20  # steps that L-BFGS remembers
NEAR, FLAT = 1e-12, 1e-10  # relative progress and slope at which it stops


def optimal_encoder(
    targets: Targets,
    dimension: int,
    gap: float,
    seed: int = 0,
    restarts: int = 2,
    iterations: int | None = None,
) -> Encoder:
    """The best of L-BFGS from the singular vectors of the logits and from random starts."""
    check("optimal", targets, dimension)
    rows = merged(targets)
    size = len(rows.targets) * len(targets.vocabulary)
    require(8 * 4 * size, "optimal", f"{len(rows.targets):,} distributions")
    steps = iterations or int(min(MOST, max(LEAST, WORK / size)))
    random = np.random.default_rng(seed)
    starts = [spectral(rows, dimension, gap, random)]
    small = dimension**-0.25  # such that all tokens are about equally likely
    for _ in range(restarts):
        unembedding = small * random.standard_normal((len(targets.vocabulary), dimension))
        embeddings = small * random.standard_normal((len(rows.targets), dimension))
        starts.append((unembedding, embeddings))
    objective = Objective(rows)
    encoders = [measured("optimal", *objective.minimised(*s, steps), rows, False) for s in starts]
    return min(encoders, key=lambda encoder: encoder.divergence)


def spectral(rows: Merged, dimension: int, gap: float, random: np.random.Generator) -> Start:
    """W the leading directions of the centred logits, E the logits' coordinates in them.

    Directions are those of the logits weighted with the contexts' shares, by a randomised singular
    value decomposition (Halko, Martinsson and Tropp 2011, Algorithm 4.4): accurate enough to start.
    The lengths of W and E are balanced.
    """
    logits = centred(rows, gap)
    weighted = np.sqrt(len(logits) * rows.share)[:, None] * logits
    sketch = random.standard_normal((len(logits), min(dimension + EXTRA, *logits.shape)))
    basis = np.linalg.qr(weighted.T @ sketch)[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(weighted.T @ (weighted @ basis))[0]
    _, sizes, turn = np.linalg.svd(weighted @ basis, full_matrices=False)
    directions = basis @ turn[:dimension].T
    lengths = np.sqrt(np.maximum(sizes[:dimension], np.finfo(float).tiny))
    return _shaken(directions * lengths, random), _shaken(logits @ directions / lengths, random)


def _shaken(values: Floats, random: np.random.Generator) -> Floats:
    """The values with some noise: tokens that are equal would stay so forever."""
    size = NOISE * np.sqrt(np.mean(values**2))
    return values + size * random.standard_normal(values.shape)


class Objective:
    """sum_i share_i KL(target_i || softmax(W E_i)) over the distinct distributions.

    The slope in E_i is proportional to share_i, so rare contexts would hardly move. The variables
    are W and F_i = sqrt(M share_i) E_i instead: then the curvatures are alike.
    """

    def __init__(self, rows: Merged) -> None:
        targets = rows.targets
        self.share = rows.share
        self.stretch = np.sqrt(len(targets) * rows.share)[:, None]
        self.places = np.repeat(np.arange(len(targets)), targets.support), targets.following
        self.wanted = targets.counts / targets.counts.sum()  # share times probability
        self.entropy = float(-(self.wanted * np.log(targets.probabilities)).sum())

    def __call__(self, unembedding: Floats, embeddings: Floats) -> tuple[float, Floats, Floats]:
        """The divergence and its slopes in W and E."""
        logits = embeddings @ unembedding.T
        mean = float(self.wanted @ logits[self.places])
        most = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - most, out=logits)
        total = weights.sum(axis=1)
        value = float(self.share @ (np.log(total) + most[:, 0])) - mean - self.entropy
        weights *= (self.share / total)[:, None]
        weights[self.places] -= self.wanted
        return value, weights.T @ embeddings, weights @ unembedding

    def minimised(
        self, unembedding: Floats, embeddings: Floats, iterations: int
    ) -> tuple[Floats, Floats]:
        from scipy.optimize import minimize  # slow to import

        cut, shape = unembedding.size, embeddings.shape

        def function(flat: Floats) -> tuple[float, Floats]:
            w, e = flat[:cut].reshape(-1, shape[1]), flat[cut:].reshape(shape) / self.stretch
            value, slope, other = self(w, e)
            return value, np.concatenate([slope.ravel(), (other / self.stretch).ravel()])

        start = np.concatenate([unembedding.ravel(), (embeddings * self.stretch).ravel()])
        limits = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": MEMORY}
        options = {**limits, "ftol": NEAR, "gtol": FLAT}
        found = minimize(function, start, jac=True, method="L-BFGS-B", options=options).x
        return found[:cut].reshape(-1, shape[1]), found[cut:].reshape(shape) / self.stretch
