"""Solved numbers, ready to be placed: which of the numbers with the same lower bits, and scales.

Only the K + 1 lowest bits of a stored number matter, so multiples of 2**(K + 1) may be added to it.
They are chosen so that the sums of all contexts are short: every bit of their length is a strip.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ....machine.kernels import njit
from ...retrieval.gf2 import ONE
from ...retrieval.solve import Terms
from .layout import ReaderLayout, ReaderPlan, rows_of
from .survey import Draw

MANY = 30_000_000  # terms beyond which numbers are only centred
MARGIN = 1e-9  # of the bounds, for sums in doubles


@dataclass(frozen=True, eq=False)
class Solution:
    """Everything that the weights need.

    numbers  one per unit of the layout
    window   bits of the longest word
    guard    sums of numbers are below 2**guard in units of 2**(K + 1)
    scale    the hash is multiplied by 3 * 2**scale
    """

    layout: ReaderLayout
    draw: Draw
    numbers: Sequence[int]
    window: int
    guard: int
    scale: int

    @property
    def positions(self) -> int:
        return self.layout.plan.columns + self.window - 1

    @property
    def digits(self) -> int:
        """After zigzag and shifts |v| < 2**digits; with column gates 0 < v < 2**(digits + 1)."""
        return self.layout.plan.columns + self.guard + self.positions

    @property
    def lift(self) -> int:
        """Added after the zigzag, so that gates shift positive numbers."""
        plan = self.layout.plan
        return 1 << lift_of(plan, self.guard) + self.positions + 1 if plan.gates else 0


def store(
    layout: ReaderLayout,
    draw: Draw,
    terms: Terms,
    numbers: Sequence[int],
    window: int,
    steps: float,
) -> Solution:
    """The numbers with the shortest sums that are found, and the scale of the hash above them."""
    plan, modulus = layout.plan, 1 << (layout.plan.columns + window)
    values = np.array([number / modulus for number in numbers])
    values[values >= 0.5] -= 1
    shift = layout.column_of(draw.fired, np.zeros_like(draw.cell))
    sums = _sums(terms.starts, terms.units, values)
    guard = -1
    while not _within(sums, *_bounds(plan, draw.cell, shift, guard)):
        guard += 1
    if len(terms.units) <= MANY:
        passes = max(5, int(steps / len(terms.units)))
        readers = _readers(terms.starts, terms.units, len(values))
        while guard > -1:
            shorter, low_high = values.copy(), _bounds(plan, draw.cell, shift, guard - 1)
            if not _shorten(*readers, sums.copy(), shorter, *low_high, passes):
                break
            guard, values = guard - 1, shorter
            sums = _sums(terms.starts, terms.units, values)
    whole = [round(v - n / modulus) for v, n in zip(values.tolist(), numbers, strict=True)]
    placed = [n + w * modulus for n, w in zip(numbers, whole, strict=True)]
    reach = _reach(draw.fired, *layout.arrays, values)
    scale = plan.columns + window + max(0, math.ceil(math.log2(reach * (1 + MARGIN))))
    return Solution(layout, draw, placed, window, guard, scale)


def _bounds(
    plan: ReaderPlan, cell: NDArray, shift: NDArray, guard: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the sum P of each context must lie, in units of 2**(K + 1).

    With E = columns - 1 + guard, Y = (-2)**cell P is the zigzag's value: |Y| < 2**E, or with column
    gates, where `lift` is added and the result shifted, 0 < Y + lift < 2**(E + 1 - shift).
    """
    edge = plan.columns - 1 + guard
    sign = np.where(cell % 2, -1.0, 1.0)
    if plan.gates:
        lift = 2.0 ** lift_of(plan, guard)
        least, most = -lift, np.exp2(np.minimum(edge + 1 - shift, 900)) - lift
    else:
        least, most = -(2.0**edge), np.full(len(cell), 2.0**edge)
    scale = sign * np.exp2(-cell) * (1 - MARGIN)
    return np.minimum(least * scale, most * scale), np.maximum(least * scale, most * scale)


def lift_of(plan: ReaderPlan, guard: int) -> int:
    """log2, in units of 2**(K + 1): the middle of the room of sums with the largest shift."""
    return plan.cells - 1 + guard


@njit
def _sums(starts, units, values):
    sums = np.zeros(starts.shape[0] - 1)
    for i in range(sums.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            sums[i] += values[units[e]] if units[e] >= 0 else -values[~units[e]]
    return sums


@njit
def _within(sums, low, high):
    for i in range(sums.shape[0]):
        if not low[i] < sums[i] < high[i]:
            return False
    return True


@njit
def _readers(starts, units, unknowns):
    """The contexts that read each number: ~i if they subtract it."""
    first = np.zeros(unknowns + 1, np.int64)
    for e in range(units.shape[0]):
        first[(units[e] if units[e] >= 0 else ~units[e]) + 1] += 1
    first = np.cumsum(first)
    place, contexts = first.copy(), np.zeros(units.shape[0], np.int32)
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            u = units[e] if units[e] >= 0 else ~units[e]
            contexts[place[u]] = i if units[e] >= 0 else ~i
            place[u] += 1
    return first, contexts


@njit
def _shorten(first, contexts, sums, values, low, high, passes):
    """Add whole numbers to values until all sums are within their bounds; False if that fails.

    Greedy: a change is made if it lessens the weighted violations. Where none does, the weights of
    the violated bounds grow (the breakout method).
    """
    weights = np.ones(sums.shape[0])
    for _ in range(passes):
        changed = False
        for u in range(values.shape[0]):
            gain_up = gain_down = 0.0
            for e in range(first[u], first[u + 1]):
                i, sign = contexts[e], 1.0
                if i < 0:
                    i, sign = ~i, -1.0
                x, a, b = sums[i], low[i], high[i]
                now = max(0.0, x - b, a - x)
                up, down = x + sign, x - sign
                gain_up += weights[i] * (max(0.0, up - b, a - up) - now)
                gain_down += weights[i] * (max(0.0, down - b, a - down) - now)
            if min(gain_up, gain_down) > -1e-9:
                continue
            step = 1.0 if gain_up <= gain_down else -1.0
            values[u] += step
            for e in range(first[u], first[u + 1]):
                i = contexts[e]
                if i >= 0:
                    sums[i] += step
                else:
                    sums[~i] -= step
            changed = True
        if not changed:
            done = True
            for i in range(sums.shape[0]):
                if not low[i] < sums[i] < high[i]:
                    weights[i] += 1.0
                    done = False
            if done:
                return True
    return _within(sums, low, high)


@njit
def _reach(fired, stored, first, lanes, numbers, table, weight, lane, begins, cells, values):
    """The largest distance of a payload from what a fold stores, halved, and of the final sums."""
    tables, place, reach = begins.shape[0], -1, 0.0
    for t in range(table.shape[0]):
        if table[t] >= 0:
            place = t
    rows = np.zeros(tables, np.int64)
    for i in range(fired.shape[0]):
        rows_of(fired[i], table, weight, rows)
        payload = 0.0
        for t in range(stored.shape[0]):
            number = 0.0
            if stored[t] >= 0:
                number = values[stored[t]]
                for e in range(first[t], first[t + 1]):
                    if (fired[i] >> uint64(lanes[e])) & ONE:
                        number += values[numbers[e]]
                if lane[t] >= 0:
                    for r in range(tables):
                        unit = begins[r] + lane[t] * cells[0] + rows[r] - 1
                        if rows[r] and unit < cells[1]:
                            number += values[unit]
            reach = max(reach, abs(payload - number / 2))
            if (fired[i] >> uint64(t)) & ONE:
                payload = number - payload
            if t == place:
                for r in range(tables):
                    unit = begins[r] + rows[r] - 1
                    if rows[r] and unit < cells[1]:
                        payload += values[unit]
        reach = max(reach, abs(payload + values[0]))
    return reach
