"""Hyperplanes through groups of points and through no other point, in whole numbers.

d points of R^d are on a plane U x = D; with whole points U and D are whole (a kernel of a matrix of
whole numbers), and any other whole point is at least 1 away: |U x - D| >= 1. A plane through a
group is kept if the points on it are as wanted. Groups are drawn at random: in a sorted file
neighbours share their first coordinate, and x_0 = v holds them all. Points in special position (on
a line, say) have no plane of their own through d of them; then groups become smaller, and the plane
goes through random whole points as well. A single point always has one.
"""

import math
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PRIME = (1 << 31) - 1
WIDEST = 64  # coordinates that a plane looks at: its numbers have as many times log d bits
PATIENCE = 8  # draws before groups become smaller


class Plane(NamedTuple):
    """weights . x = value."""

    weights: tuple[int, ...]
    value: int

    def at(self, point: Sequence[int]) -> int:
        """How far a point is off, times the length of the weights."""
        return sum(w * int(x) for w, x in zip(self.weights, point, strict=True)) - self.value


def through(points: Sequence[Sequence[int]]) -> Plane | None:
    """The plane through d points of R^d, without common factor; None if there are several."""
    from flint import fmpz_mat

    kernel, rank = fmpz_mat([[*map(int, point), -1] for point in points]).nullspace()
    if rank != 1:
        return None
    found = [int(kernel[i, 0]) for i in range(kernel.nrows())]
    divisor = math.gcd(*found)
    weights = [x // divisor for x in found]
    return Plane(tuple(weights[:-1]), weights[-1]) if any(weights[:-1]) else None


def planes(
    points: NDArray, members: Sequence[int], shared: bool, seed: int
) -> Iterator[tuple[Plane, list[int]]]:
    """Planes that hold every member once and no other point; `shared` ones take further members."""
    pick, alive, left = random.Random(seed), set(members), list(members)
    residues = (points % PRIME).astype(np.int64)
    d = points.shape[1]
    if d == 1:  # different points are planes of their own
        yield from ((Plane((1,), int(points[i, 0])), [i]) for i in left)
        return
    most = min(d, WIDEST)
    size, failures, spread = most, 0, 9
    pick.shuffle(left)
    while alive:
        chosen: list[int] = []
        while len(chosen) < size and left:
            if left[-1] in alive:
                chosen.append(left[-1])
            left.pop()
        seen = sorted(pick.sample(range(d), most))
        near = [int(points[chosen[0], c]) for c in seen]
        more = [[x + pick.randint(-spread, spread) for x in near] for _ in range(len(chosen), most)]
        narrow = through([[int(points[i, c]) for c in seen] for i in chosen] + more)
        if narrow is not None:
            weights = dict(zip(seen, narrow.weights, strict=True))
            plane = Plane(tuple(weights.get(c, 0) for c in range(d)), narrow.value)
            rest = np.full(len(points), -plane.value % PRIME, np.int64)
            for weight, column in zip(plane.weights, residues.T, strict=True):
                if weight:
                    rest = (rest + column * (weight % PRIME)) % PRIME
            hit = [i for i in np.flatnonzero(rest == 0).tolist() if plane.at(points[i]) == 0]
            if alive.issuperset(hit) if shared else sorted(chosen) == sorted(hit):
                yield plane, hit
                alive.difference_update(hit)
                size, failures = min(most, size + 1), 0
                continue
        failures += 1
        if failures % PATIENCE == 0:
            spread += spread // 2 if size == 1 else 0
            size = max(1, min(size, len(chosen)) - 1)
        for i in chosen:  # back, each at a random place
            left.append(i)
            place = pick.randrange(len(left))
            left[place], left[-1] = left[-1], left[place]
