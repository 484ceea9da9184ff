"""The distinct columns of a dataset, the contexts made of them, their radius and separation."""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import number, offsets, take
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...exact.batch import Batch, columns, exact_integers
from ...exact.network import Input, dyadic
from ...gadgets.multisets import NOTHING, distinct, marked

DIGITS = 30  # of radius and separation, after the point
SAFE = 1 << 500  # squares of smaller numbers are floats


@dataclass(frozen=True, eq=False)
class Known:
    """The distinct columns (points) and the contexts made of them."""

    points: NDArray  # [V, coordinates] integers; a coordinate is points * 2**exponent
    exponent: int
    rows: NDArray  # [sequences, n] the points of each sequence; NOTHING where there is none
    owner: NDArray  # [contexts] the sequence of each context
    own: NDArray  # [contexts] the point of each context's own token
    labels: list[int]  # [contexts] from 1 on: 0 means that a key is not in a table
    radius: Fraction  # no point is longer; at least 1
    separation: Fraction  # no two points are closer; at most 1

    @property
    def marked(self) -> list[int]:
        """The tokens that the constructions mark (Lemma B.1), whatever the seed."""
        return marked(distinct(self.rows)[0])


def known_columns(dataset: Dataset, contexts: Contexts, spec: Input, asked: float | None) -> Known:
    """The columns of padded sequences, of one sequence for each context.

    asked  the separation that a user asks for
    Two columns differ in their vectors or by 1 in their positions, and the separation is at most 1,
    so it is that of the vectors.
    """
    sequences, owner = number(dataset.owner[contexts.first])
    lengths = dataset.lengths[sequences]
    ids = take(dataset.ids, dataset.starts[sequences], lengths)
    seen = columns(spec, Batch(dataset.vectors, ids, offsets(lengths)))
    every = np.concatenate([index for _, index in seen.indices(1 << 16)])
    used, places = number(every.ravel())
    points, exponent, rows = seen.vectors[used], seen.exponent, places.reshape(every.shape)
    back = dataset.starts[sequences + 1][owner] - dataset.own[contexts.first]
    own = rows[owner, spec.length - back]
    assert spec.padding is not None
    vectors, grain = exact_integers(dataset.vectors, [spec.padding])
    filled = lengths.min() < spec.length
    delta = separation(vectors if filled else vectors[:-1], grain, asked, dataset)
    labels = (dataset.labels[contexts.first] + 1).tolist()
    return Known(points, exponent, rows, owner, own, labels, radius(points, exponent), delta)


def known_multisets(dataset: Dataset, contexts: Contexts, asked: float | None) -> Known:
    """The tokens of multisets, of any sizes; without any token, one is made up."""
    vectors, exponent = exact_integers(dataset.vectors, [(dyadic(0),) * dataset.vectors.shape[1]])
    vectors = vectors[:-1] if len(dataset.tokens) else vectors
    owner = dataset.owner[contexts.first]
    lengths = dataset.lengths[owner]
    rows = np.full((len(owner), max(1, int(lengths.max()))), NOTHING, np.int64)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = take(
        dataset.ids, dataset.starts[owner], lengths
    )
    labels = (dataset.labels[contexts.first] + 1).tolist()
    each, none = np.arange(len(owner)), np.full(len(owner), NOTHING)
    delta = separation(vectors, exponent, asked, dataset)
    return Known(vectors, exponent, rows, each, none, labels, radius(vectors, exponent), delta)


def radius(points: NDArray, exponent: int) -> Fraction:
    """The longest point's length, rounded up; at least 1."""
    longest = max(abs(int(points.min())), abs(int(points.max()))).bit_length()
    if 2 * longest + points.shape[1].bit_length() >= 62:  # sums of squares are beyond 64 bits
        points = points.astype(object)
    root = math.isqrt(int((points**2).sum(axis=1).max()) << 2 * DIGITS) + 1
    return max(Fraction(1), Fraction(root, 1 << DIGITS - exponent))


def separation(vectors: NDArray, exponent: int, asked: float | None, dataset: Dataset) -> Fraction:
    """The smallest distance of two vectors, rounded down, at most 1; or the one asked for."""
    if exponent == 0 and (asked or 1) <= 1:
        return Fraction(asked or 1)  # different integer vectors
    one, other, square = closest(vectors)
    distance = Fraction(math.isqrt(square << 2 * DIGITS), 1 << DIGITS - exponent)
    if asked is None:
        return min(Fraction(1), distance) if square else Fraction(1)
    if square and Fraction(square) * Fraction(4) ** exponent < Fraction(asked) ** 2:
        count, padding = len(dataset.tokens), "the vector that fills up sequences"
        names = [repr(dataset.token(i)) if i < count else padding for i in (one, other)]
        raise AssumptionError(
            f"A2 fails: the tokens {names[0]} and {names[1]} are {float(distance):.6g} apart, "
            f"closer than the separation {asked!r}; ask for less, or for none to have it measured."
        )
    return min(Fraction(1), Fraction(asked))


def closest(vectors: NDArray) -> tuple[int, int, int]:
    """Two different vectors with the smallest distance, and its square; 0 if there is one only.

    Vectors are different integer points. Neighbours are found in float64 if every coordinate is one
    and its square too: then distances are correct except for their last digits, and Lemma C.2 has
    room for that. Otherwise a sweep compares integers.
    """
    if len(vectors) < 2:
        return 0, 0, 0
    if max(abs(int(vectors.min())), abs(int(vectors.max()))) >= SAFE or vectors.shape[1] == 1:
        return _swept(vectors)
    floats = vectors.astype(np.float64)
    if not all(map(operator.eq, map(int, floats.ravel().tolist()), vectors.ravel().tolist())):
        return _swept(vectors)
    from scipy.spatial import cKDTree

    distances, neighbours = cKDTree(floats).query(floats, k=2)
    near = np.flatnonzero(distances[:, 1] <= distances[:, 1].min() * (1 + 1e-12))[:64]
    return min((_pair(vectors, int(i), int(neighbours[i, 1])) for i in near), key=lambda x: x[2])


def _swept(vectors: NDArray) -> tuple[int, int, int]:
    """`closest` along the coordinate with the most values, in exact integers."""
    along = max(range(vectors.shape[1]), key=lambda i: len(set(vectors[:, i].tolist())))
    order = sorted(range(len(vectors)), key=lambda i: vectors[i, along])
    line = [int(vectors[i, along]) for i in order]
    best = _pair(vectors, order[0], order[1])
    for i, place in enumerate(line):
        for j in range(i + 1, len(line)):
            if (line[j] - place) ** 2 >= best[2]:
                break
            best = min(best, _pair(vectors, order[i], order[j]), key=lambda x: x[2])
    return best


def _pair(vectors: NDArray, one: int, other: int) -> tuple[int, int, int]:
    difference = vectors[one].astype(object) - vectors[other].astype(object)
    return one, other, int((difference**2).sum())
