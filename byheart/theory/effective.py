"""How many parameters of a small decoder count: the rank of its Jacobian.

Paper        madden2024, Lemma 1 and Theorem 1, made sharper: it is not in the paper.
Statement    If the map from k parameters to the distributions of some contexts has rank r, its
             image has dimension r. More than r / (omega - 1) of these contexts cannot be given all
             distributions (Sard): the memory capacity is at most that.
Assumptions  A1  A decoder of one layer (decoder.Shape) with at most 2,000 parameters.
Guarantee    G1  The rank is that of the exact derivatives at 3 random points, as singular values
                 show it: observed, not proved. A random point has the largest rank with
                 probability 1.
             G2  There are floor(k / (omega - 1)) + 1 contexts, or all there are if these are fewer.
Departures   D1  Outputs are differences of logits from that of the last token, which the logarithm
                 of the softmax is a smooth and invertible function of.
             D2  Columns are scaled to length 1, which leaves the rank and makes it easier to see.
                 A singular value counts if it is above 1e-10 of the largest. Where the smallest
                 that counts is not 1,000 times the largest that does not, nothing is said of the
                 capacity: the rank may be larger than doubles can show.
Notation     k parameters, omega vocabulary.
"""

import math
import random
from itertools import product
from typing import NamedTuple

import numpy as np

from ..errors import AssumptionError
from ..softmax.decoder import Shape
from .jacobian import Array, jacobian
from .sizes import check

MOST = 2000  # parameters
POINTS = 3
TOLERANCE = 1e-10
CLEAR = 1000  # times the largest singular value that does not count


class Rank(NamedTuple):
    """What was found.

    parameters  k
    rank        the largest of POINTS random points
    contexts    whose distributions are the outputs
    tolerance   the share of the largest singular value from which on one counts
    capacity    floor(rank / (omega - 1)), at least the memory capacity; None if it is not clear
    kept        the smallest singular value that counts, as a share of the largest
    dropped     the largest one that does not; 0 if there is none
    """

    parameters: int
    rank: int
    contexts: int
    tolerance: float
    capacity: int | None
    kept: float
    dropped: float


def effective_rank(shape: Shape, seed: int = 0) -> Rank:
    """The generic rank of the map from parameters to distributions, observed."""
    check(vocabulary=(shape.vocabulary, 2), length=(shape.length, 1))
    check(dimension=(shape.dimension, 1), neurons=(shape.neurons, 0))
    k, free = shape.parameters, shape.vocabulary - 1
    if k > MOST:
        raise AssumptionError(
            f"A1 fails: the effective rank is measured for at most {MOST:,} parameters, and this "
            f"architecture has {k:,}."
        )
    contexts = drawn(shape, k // free + 1, random.Random(seed))
    generator = np.random.default_rng(seed)
    points = (_values(jacobian(shape, _point(shape, generator), contexts)) for _ in range(POINTS))
    rank, kept, values = max(((*_cut(found), found) for found in points), key=lambda x: x[:2])
    dropped = float(values[rank]) if rank < len(values) else 0.0
    capacity = rank // free if kept > CLEAR * dropped else None
    return Rank(k, rank, len(contexts), TOLERANCE, capacity, kept, dropped)


def _cut(values: Array) -> tuple[int, float]:
    """How many count, and the smallest of them."""
    rank = int((values > TOLERANCE).sum())
    return rank, float(values[rank - 1])


def drawn(shape: Shape, count: int, draw: random.Random) -> list[tuple[int, ...]]:
    """So many distinct contexts, long ones first, or all if there are fewer."""
    omega = shape.vocabulary
    found: list[tuple[int, ...]] = []
    for length in range(shape.length, 0, -1):
        missing = count - len(found)
        if omega**length <= 2 * missing:
            every = list(product(range(omega), repeat=length))
            found += draw.sample(every, min(missing, len(every)))
            continue
        some: dict[tuple[int, ...], None] = {}
        while len(some) < missing:
            some[tuple(draw.randrange(omega) for _ in range(length))] = None
        return found + list(some)
    return found


def _point(shape: Shape, generator: np.random.Generator) -> dict[str, Array]:
    """Random tensors; sums of inputs get a variance of about 1."""
    return {
        name: generator.normal(size=sizes) / math.sqrt(sizes[-1] if len(sizes) == 2 else 1)
        for name, sizes in shape.tensors.items()
    }


def _values(matrix: Array) -> Array:
    """Singular values, the largest first, as shares of it; columns have length 1 (D2)."""
    lengths = np.linalg.norm(matrix, axis=0)
    scaled = matrix[:, lengths > 0] / lengths[lengths > 0]
    values = np.linalg.svd(scaled, compute_uv=False)
    return values / values[0]
