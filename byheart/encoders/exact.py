"""The encoder of a dimension so high that nothing is lost.

Paper        dana2024, Proposition 2.
Statement    If d >= N - 1, some encoder has no divergence, whatever the distributions are.
Assumptions  A1  d >= N - 1, or d is at least the number of distinct distributions.
Guarantee    G1  Every context's divergence is at most the gap.
             G2  Without zeros among the targets it is 0 up to rounding.
Departures   D1  Data has zeros and log 0 is not a logit: tokens that never follow get the floor of
                 gadgets/logits.py. So "d_KL = 0" is an infimum; the gap bounds the distance.
             D2  The proposition is about all distributions. M given ones need only d >= M: W has
                 their logits as columns, and E picks one. The paper says in passing that d
                 distributions are the most that can be had exactly; they can be had.
             D3  W is N x d; the paper prints d x N (Definition 1).
Notation     N vocabulary, d dimension, W unembedding, E embeddings, M distinct distributions.
"""

import numpy as np

from ..data.targets import Floats, Targets
from ..errors import AssumptionError
from ..gadgets.logits import wanted
from ..machine.memory import require
from .encoder import Encoder, Merged, check, measured, merged


def exact_encoder(targets: Targets, dimension: int, gap: float) -> Encoder:
    """An encoder within the gap of every target."""
    check("exact", targets, dimension)
    rows = merged(targets)
    vocabulary, distinct = len(targets.vocabulary), len(rows.targets)
    if dimension < lossless(rows):
        raise AssumptionError(
            f"A1 fails: {distinct} distributions over {vocabulary} tokens are exact from dimension "
            f"{lossless(rows)} on, not in dimension {dimension}."
        )
    size = vocabulary * (dimension + distinct) + (distinct + len(targets)) * dimension
    require(16 * size, "exact", f"an encoder of dimension {dimension:,}")
    logits = centred(rows, gap)
    if vocabulary - 1 <= dimension:
        unembedding = simplex(vocabulary)
        embeddings = logits @ unembedding
    else:
        unembedding, embeddings = logits.T.copy(), np.eye(distinct)
    pads = ((0, 0), (0, dimension - unembedding.shape[1]))
    return measured("exact", np.pad(unembedding, pads), np.pad(embeddings, pads), rows, True)


def lossless(rows: Merged) -> int:
    """The dimension from which on `exact` is possible."""
    return min(len(rows.targets.vocabulary) - 1, len(rows.targets))


def centred(rows: Merged, gap: float) -> Floats:
    """The wanted logits of the distinct distributions, those of a context with sum 0, [M, N]."""
    entries = wanted(rows.targets, gap)
    logits = np.zeros((len(rows.targets), len(rows.targets.vocabulary)))
    logits[entries.row, entries.token] = entries.value
    return logits - logits.mean(axis=1, keepdims=True)


def simplex(count: int) -> Floats:
    """An orthonormal basis of the vectors with sum 0, as columns (Helmert's), [N, N - 1].

    Column k is (1, ..., 1, -k, 0, ..., 0) / sqrt(k (k + 1)) with k ones. Its rows are the corners
    of a regular simplex: B B^T = I - 1 / N.
    """
    k = np.arange(1, count)
    basis = (np.arange(count)[:, None] < k).astype(float)
    basis[k, k - 1] = -k
    return basis / np.sqrt(k * (k + 1.0))
