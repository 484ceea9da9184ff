"""The mean divergence as a function of W and E, with its gradient, and its minimisation."""

import numpy as np

from ..data.targets import Floats
from .encoder import Merged

MEMORY = 20  # steps that L-BFGS remembers
NEAR, FLAT = 1e-12, 1e-10  # relative progress and slope at which it stops


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
        p = targets.probabilities
        self.entropy = float(-(self.wanted * np.log(p)).sum())

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
        """W and E after L-BFGS from these."""
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
