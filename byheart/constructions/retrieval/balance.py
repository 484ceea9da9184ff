"""Which folds choose the column: those that leave every bit position about equally full.

The columns' folds change places with others by hill climbing. One pass over the contexts counts,
for every column without one of its folds, how often each of the other folds fires: that is enough
to judge all places to which the fold could move. At last the folds exchange their weights, which
moves columns as a whole and decides what stands below a full position (`required`).

The last folds of H are less random than the others. A row's digit or a gate there can make many
equations dependent, so of a large problem several orders of the other folds are tried.
"""

import math
import random
from collections.abc import Sequence

import numpy as np
from numpy import uint32
from numpy.typing import NDArray

from ...machine.kernels import njit
from .folds import FoldLayout, FoldPlan
from .plan import DRAWN, REACH, equations, required
from .solve import Words, dependent

PLACES = 32  # where a column's fold may stand, counted from the last: one machine word
ARRANGEMENTS = 3  # orders of the weights for each pass
LARGE = 40_000  # contexts from which on trying orders is cheap beside solving in vain
ORDERS, PROBED = 8, 3  # orders of the other folds, and full columns in which they are compared

Uses = Sequence[tuple[int, int]]  # place and weight of each fold that chooses the column


def climb(
    plan: FoldPlan, hashes: NDArray[np.uint64], words: Words, passes: int, rng: random.Random
) -> tuple[FoldLayout, int]:
    """The best layout that is found within some passes, and the numbers that it needs."""
    head, rest = plan.parts
    order, weights = list(rest), [fold.weight for fold in rest if fold.role == "column"]
    room, count = min(PLACES, len(rest)), len(weights)
    places_of = list(enumerate(head[::-1], len(rest)))
    fixed = [(t, f.weight) for t, f in places_of if f.role == "column"]
    contexts = Counts(plan.columns, hashes, words, fixed)
    arrangements = ARRANGEMENTS * passes
    best: tuple[float, list[int]] = math.inf, []
    while passes > 0 < count:
        places, score, turn, stale = rng.sample(range(room), count), math.inf, 0, 0
        while passes > 0 and stale < count:
            uses = list(zip(places, weights, strict=True))
            _, weight = uses.pop(turn)
            scores = contexts.moved(uses, weight)
            scores[[place for place, _ in uses]] = math.inf
            found = int(np.argmin(scores[:room]))
            if scores[found] < score:
                score, places[turn], stale = scores[found], found, 0
            passes, stale, turn = passes - 1, stale + 1, (turn + 1) % count
        best = min(best, (score, places))
    places, numbers = _arranged(contexts, best[1], weights, arrangements, rng)
    by_place = dict(zip(places, (f for f in order if f.role == "column"), strict=True))
    others = [fold for fold in order if fold.role != "column"]

    def filled() -> FoldLayout:
        """The other folds in the places that are left, in a random order."""
        rng.shuffle(others)
        rest = iter(others)
        return plan.layout([by_place.get(p) or next(rest) for p in reversed(range(len(order)))])

    layouts = [filled() for _ in range(ORDERS if len(hashes) >= LARGE else 1)]
    lengths, _, share = words
    if share:
        hashes = hashes[(lengths > 0) | (np.arange(len(hashes)) % round(1 / share) == 0)]
    return _most_independent(layouts, hashes), numbers


def _most_independent(layouts: Sequence[FoldLayout], hashes: NDArray[np.uint64]) -> FoldLayout:
    """The layout in whose fullest columns the fewest equations depend on others."""
    if len(layouts) == 1:
        return layouts[0]
    column = layouts[0].column_of(hashes)
    fullest = np.argsort(np.bincount(column), kind="stable")[-PROBED:]
    samples = [hashes[column == c] for c in fullest]

    def dependents(layout: FoldLayout) -> int:
        order = layout.elimination
        return sum(dependent(layout.terms(x), layout.unknowns, order) for x in samples)

    return min(layouts, key=dependents)


def _arranged(
    contexts: "Counts", places: list[int], weights: list[int], arrangements: int, rng: random.Random
) -> tuple[list[int], int]:
    """The places in the order of the weights for which the fewest numbers are needed."""
    table = contexts.table(list(zip(places, weights, strict=True)))
    fired = np.arange(len(table))
    # weights are 1, 2, 4, ... and below the ternary digit, which stays
    bits = [fired // weight % 2 for weight in weights]
    kept = fired - fired % (1 << len(weights))
    best, current = list(range(len(weights))), list(range(len(weights)))
    fewest = numbers = contexts.required(table)
    for attempt in range(arrangements if len(weights) > 1 else 0):
        order = current[:]
        if attempt % max(1, arrangements // 3) == 0:
            rng.shuffle(order)
            numbers = 1 << 62
        else:
            i, j = rng.sample(range(len(weights)), 2)
            order[i], order[j] = order[j], order[i]
        moved = kept + sum(weights[j] * bits[i] for i, j in enumerate(order))
        changed = np.empty_like(table)
        changed[moved] = table
        found = contexts.required(changed)
        if found <= numbers:
            numbers, current = found, order
        if found < fewest:
            fewest, best = found, order
    return [places[best.index(i)] for i in range(len(weights))], fewest


class Counts:
    """Contexts by the weights that fire (and by the length of their words).

    bits   [contexts] the last 32 folds
    extra  [contexts] fixed weights and length of the word, as one number
    """

    def __init__(self, columns: int, hashes: NDArray[np.uint64], words: Words, fixed: Uses) -> None:
        lengths, window, share = words
        # words that are intervals come before those of one bit
        self.columns, self.window, self.share = columns, window + (share > 0), share
        self.bits = (hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self.extra = (lengths - (share == 0)).astype(np.int32)
        for place, weight in fixed:
            fired = (hashes >> np.uint64(place)).astype(np.int32) & 1
            self.extra += np.int32(weight * self.window) * fired

    def _counted(self, uses: Uses, firing: NDArray[np.int32]) -> NDArray[np.int32]:
        tables = np.zeros((4, 256), np.int32)
        for place, weight in uses:
            tables[place >> 3] += np.where(np.arange(256) >> (place & 7) & 1, weight, 0) * np.int32(
                self.window
            )
        totals = np.zeros(self.columns * self.window, np.int32)
        _count(self.bits, self.extra, tables, totals, firing)
        return totals

    def table(self, uses: Uses) -> NDArray[np.int64]:
        """[columns, window] contexts by the weights that fire."""
        totals = self._counted(uses, np.zeros((0, PLACES), np.int32))
        return totals.reshape(-1, self.window).astype(np.int64)

    def required(self, table: NDArray[np.int64]) -> int:
        """Stored numbers with which the positions are expected to be solvable."""
        return required(equations(table[::-1], self.share), DRAWN if self.share else REACH)

    def moved(self, uses: Uses, weight: int) -> NDArray[np.float64]:
        """How uneven the positions are with one more weight, for each place of its fold."""
        shape = self.columns, self.window, PLACES
        firing = np.zeros((shape[0] * self.window, PLACES), np.int32)
        totals = self._counted(uses, firing).reshape(shape[:2])
        firing = firing.reshape(shape)
        without = np.flatnonzero(np.arange(shape[0]) & weight == 0)
        table = np.empty(shape, np.int32)
        table[without] = totals[without, :, None] - firing[without]
        table[without + weight] = firing[without]
        counts = equations(table[::-1], self.share)
        mean = counts[:, 0].mean()
        steepness = 0.3 * math.sqrt(mean) if mean else 1.0
        return np.exp(np.minimum((counts - mean) / steepness, 600)).sum(axis=0)


@njit
def _count(bits, extra, tables, totals, firing):
    """Contexts by the weights that fire, and how often each fold fires among them."""
    every = firing.shape[0] > 0
    byte = uint32(255)
    for i in range(bits.shape[0]):
        x = bits[i]
        key = tables[0, x & byte] + tables[1, (x >> uint32(8)) & byte]
        key += tables[2, (x >> uint32(16)) & byte] + tables[3, x >> uint32(24)] + extra[i]
        totals[key] += 1
        if every:
            for j in range(PLACES):
                firing[key, j] += np.int32((x >> uint32(j)) & uint32(1))
