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

from ..data.targets import Targets
from ..errors import AssumptionError
from .encoder import Encoder, blocks, check, measured, merged
from .scales import by_entropy, falls_of
from .unit_vectors import unit_vectors

AIM = 1 - 2.0**-10  # of the gap: the rest is for the rounding of the logits
LIKELY = 0.5  # nats: below log 2 the label has more than half of the probability (G2)


def circle_encoder(targets: Targets, dimension: int, gap: float, seed: int = 0) -> Encoder:
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
    own = rows.likeliest
    # lambda of each label: on the circle one for all, as all labels see the same
    parts = [own[a:b] for a, b in ([(0, 1)] if dimension == 2 else blocks(rows.targets))]
    lengths = np.concatenate(
        [by_entropy(falls_of(unembedding, p), p, np.full(len(p), aim(gap))) for p in parts]
    )
    name = "circle" if dimension == 2 else "sphere"
    return measured(name, unembedding, lengths[:, None] * unembedding[own], rows, True)


def certain(targets: Targets) -> bool:
    """Whether every context has one label: Assumption 1."""
    return bool((targets.support == 1).all())


def aim(gap: float) -> float:
    """The divergence that a context with one label is given."""
    return AIM * min(gap, LIKELY)
