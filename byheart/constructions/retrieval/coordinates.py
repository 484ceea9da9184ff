"""Few coordinates of vectors that keep all of them apart: the others need no weight."""

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...exact.batch import exact_integers

SAMPLE = 1 << 10  # vectors whose values tell which coordinates differ most


def separating(vectors: NDArray) -> tuple[int, ...]:
    """Coordinates in which all rows differ, no one of which could be left out.

    Rows are compared by a sum of 64-bit hashes of their coordinates. Rows of different sums differ,
    so that coordinates which give as many sums as there are rows keep them apart. Coordinates with
    many values and short numbers come first; each that tells further rows apart is taken, and then
    those that others have made superfluous are left out. If that does not suffice, all are read.
    """
    sample = vectors[:SAMPLE]
    values = np.array([len(np.unique(column)) for column in sample.T])
    whole = np.abs(exact_integers(sample, [])[0])
    digits = np.bitwise_or.reduce(whole)  # all that a coordinate has
    longest = whole.max(axis=0) // np.maximum(digits & -digits, 1)
    drawn = np.random.default_rng(0).integers(1 << 62, 1 << 63, len(values), np.uint64) | uint64(1)

    def hashed(i: int) -> NDArray[np.uint64]:
        bits = np.ascontiguousarray(vectors[:, i]).view(np.uint64) + drawn[i]
        for down in (uint64(32), uint64(29)):
            bits = (bits ^ bits >> down) * drawn[i]
        return bits ^ bits >> uint64(32)

    sums, apart, taken = np.zeros(len(vectors), np.uint64), 0, list[int]()
    for i in np.lexsort((longest, -values)).tolist():
        more = sums + hashed(i)
        count = len(np.unique(more))
        if count > apart:
            sums, apart = more, count
            taken.append(i)
        if apart == len(vectors):
            break
    else:
        return tuple(range(len(values)))
    for i in taken[:-1]:
        fewer = sums - hashed(i)
        if len(np.unique(fewer)) == len(vectors):
            sums = fewer
            taken.remove(i)
    return tuple(sorted(taken))
