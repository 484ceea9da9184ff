"""The encoder of associations: tokens on a circle, or on a sphere.

Paper        dana2024, Proposition 3.
Statement    If every context has one next token, encoders of dimension d >= 2 come as near to no
             divergence as one likes.
Assumptions  A1  Every context has one label.
             A2  d >= 2 (or d >= 1 with two tokens).
Guarantee    G1  Every context's divergence is at most the gap.
             G2  The label's logit is the largest, strictly.
Departures   D1  The proof lets lambda grow; here it is the solution of eq. (6) with the gap for the
                 entropy, that is, as large as the gap asks. It grows as N^2 on the circle: N = 50
                 tokens need 2,700 for a gap of 1e-9, and 10,000 tokens about 1e8.
             D2  d > 2: unit vectors that are moved apart on the sphere, not the circle and zeros.
                 The margin is then a fair part of lambda, and E has rank d.
             D3  Misprints: "W^t_{1:S}" is W_i; W is N x d, not d x N (Definition 1).
Notation     N vocabulary, d dimension, W unembedding, E embeddings, lambda their length.
"""

import numpy as np

from ..data.targets import Floats, Targets
from ..errors import AssumptionError
from .encoder import Encoder, Merged, blocks, check, measured, merged
from .scales import by_entropy
from .unit_vectors import unit_vectors

AIM = 1 - 2.0**-10  # of the gap: the rest is for the rounding of the logits
LIKELY = 0.5  # nats: below log 2 the label has more than half of the probability (G2)


def circle(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Encoder:
    """An encoder of associations within the gap of every target."""
    check("circle", targets, dimension)
    if not certain(targets):
        first = int(np.argmax(targets.support > 1))
        raise AssumptionError(
            f"A1 fails: circle needs one label per context, and context {first} has "
            f"{int(targets.support[first])}; use look-up or optimal."
        )
    rows = merged(targets)
    unembedding = unit_vectors(len(targets.vocabulary), dimension, seed)  # A2
    embeddings = lengths(unembedding, rows, gap)[:, None] * unembedding[rows.likeliest]
    name = "circle" if dimension == 2 else "sphere"
    return measured(name, unembedding, embeddings, rows, True)


def certain(targets: Targets) -> bool:
    """Whether every context has one label: Assumption 1."""
    return bool((targets.support == 1).all())


def lengths(unembedding: Floats, rows: Merged, gap: float) -> Floats:
    """lambda of each label: the same for all on the circle, where all labels see the same."""
    own = rows.likeliest
    if unembedding.shape[1] == 2:
        return np.repeat(_lengths(unembedding, own[:1], gap), len(own))
    parts = [_lengths(unembedding, own[a:b], gap) for a, b in blocks(rows.targets)]
    return np.concatenate(parts)


def _lengths(unembedding: Floats, own: np.ndarray, gap: float) -> Floats:
    falls = 1 - unembedding[own] @ unembedding.T
    falls[np.arange(len(own)), own] = 0
    return by_entropy(falls, own, np.full(len(own), aim(gap)))


def aim(gap: float) -> float:
    """The divergence that a context with one label is given."""
    return AIM * min(gap, LIKELY)
