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
Departures   D1  Outputs are differences of logits from that of the last token, of which the
                 logarithm of the softmax is a smooth and invertible function.
             D2  Columns are scaled to length 1, which leaves the rank and makes it easier to see.
                 A singular value counts if it is above 1e-10 of the largest. Where the smallest
                 that counts is not 1,000 times the largest that does not, the capacity is left
                 open: the rank may be larger than doubles can show.
Notation     k parameters, omega vocabulary.
"""

import math
import random
from itertools import product
from typing import NamedTuple

import numpy as np

from ..errors import AssumptionError, ByheartError
from ..softmax.decoder import ACTIVATIONS, ATTENTION, Shape
from .assumptions import check
from .jacobian import jacobian
from .question import ArchitectureFacts

MOST = 2000  # parameters
POINTS = 3
TOLERANCE = 1e-10
CLEAR = 1000  # times the largest singular value that does not count
MODELS = {
    "madden2024": "madden2024, eq. (2), with learnt positions and no bias at the output",
    "dana2024": "dana2024, eq. (2)",
}


class Rank(NamedTuple):
    """An observed rank."""

    parameters: int  # k
    rank: int  # the largest of POINTS random points
    contexts: int  # whose distributions are the outputs
    tolerance: float  # the share of the largest singular value above which one counts
    capacity: int | None  # floor(rank / (omega - 1)), not below the true one; None if unclear
    kept: float  # the smallest singular value that counts, as a share of the largest
    dropped: float  # the largest one that does not; 0 if there is none


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
    cuts = []
    for _ in range(POINTS):
        # random tensors: sums of inputs have a variance of about 1
        tensors = {
            name: generator.normal(size=sizes) / math.sqrt(sizes[-1] if len(sizes) == 2 else 1)
            for name, sizes in shape.tensors.items()
        }
        matrix = jacobian(shape, tensors, contexts)
        lengths = np.linalg.norm(matrix, axis=0)
        scaled = matrix[:, lengths > 0] / lengths[lengths > 0]  # D2
        values = np.linalg.svd(scaled, compute_uv=False)
        values = values / values[0]
        rank = int((values > TOLERANCE).sum())
        cuts.append((rank, float(values[rank - 1]), values))
    rank, kept, values = max(cuts, key=lambda cut: cut[:2])
    dropped = float(values[rank]) if rank < len(values) else 0.0
    capacity = rank // free if kept > CLEAR * dropped else None
    return Rank(k, rank, len(contexts), TOLERANCE, capacity, kept, dropped)


def decoder_shape(model: ArchitectureFacts) -> Shape:
    """The sizes of a decoder of one layer; AssumptionError if the architecture is another one."""
    if model.family not in MODELS:
        raise AssumptionError(
            "A1 fails: `effective=True` is for decoders of one layer: "
            "`architecture='madden2024'` or `architecture='dana2024'`, or sizes with `layers=1` "
            "and `width=0`."
        )
    fixed = (model.vocabulary, model.length, model.dimension)
    heads = (model.heads, model.head_dimension, model.head_dimension)
    if None in (*fixed, *heads):
        raise ByheartError(
            "`effective=True` needs the sizes of the architecture, not only a number of parameters."
        )
    alone = model.family == "dana2024"
    activation = "none" if alone else str(model.activation)
    if activation not in ("none", *ACTIVATIONS):
        raise AssumptionError(f"A1 fails: the activation is {activation}, which is not analytic.")
    width = 0 if alone else model.width
    return Shape(*fixed, ATTENTION, *heads, alone, width, activation)  # type: ignore[arg-type]


def drawn(shape: Shape, count: int, draw: random.Random) -> list[tuple[int, ...]]:
    """`count` distinct contexts, long ones first, or all if there are fewer."""
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
