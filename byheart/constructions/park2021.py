"""A network of about N^(2/3) parameters: keys are packed, then labels are read by tent maps.

Paper        park2021, after its result that N^(2/3) parameters memorise N separated points.
Statement    Points become whole numbers below K, about N^2. These are packed into fewer places,
             then few wide words hold the labels, which a deep narrow part reads: about N^(2/3)
             parameters for each of the three.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly (checked, not only
                 argued).
             G2  At most 6 T + (6 + 2 c) W + (7 c + 3) L + c + 3 parameters beside the reader: T
                 pieces, W words of L places, T W L about 2 K, c bits per label.
Departures   D1  The paper's text was not at hand: the proof is ours. The keys are cut into T pieces
                 of at most half the places; each piece is shifted, greedily and at random, so that
                 all keys fall on different places (two keys forbid one shift, so N^(4/3) places
                 are enough for pieces of N^(1/3) keys). Place p is bit p mod L of word p / L.
             D2  A word is the number whose orbit under the tent map shows the labels' bits: with
                 w -> w - 4 relu(w - 2^(L - 1)) + w, doubling below the middle and reflecting above
                 it, o of them bring bit o to the front. A lane "late", which grows by 1 for every
                 step after the o-th, switches further ones off.
             D3  Layers are wide; the paper has width 3.
             D4  Contexts become whole numbers by the reader of hash-fold-retrieve, single tokens by
                 a projection: the paper has separated points.
Notation     N points, K keys, T pieces, W words, L places of a word, c bits per label.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..exact.network import Layer, Linear, Number, matrix, vector
from ..gadgets.blocks import Block, feed_forward
from .base import STAGES
from .keyed import Hashed

SHIFTS = 400  # that are tried for a piece before it is cut into two
HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Packed:
    """Pieces, and the words of each bit of the labels."""

    starts: tuple[int, ...]  # the first key of each piece, increasing
    shifts: tuple[int, ...]  # what is added to the keys of each piece
    words: tuple[tuple[int, ...], ...]  # [bits, W] the number of each word
    places: int  # L

    def blocks(self) -> Iterator[Block]:
        L, planes = self.places, range(len(self.words))
        moves = [{"x": b - a} for a, b in zip(self.shifts, self.shifts[1:], strict=False)]
        if moves:
            yield _from_cuts("shift", self.starts[1:], moves, {"x": self.shifts[0]})
        changes: list[dict[str, Number]] = [
            {"x": -L, **{f"word {p}": self.words[p][j] - self.words[p][j - 1] for p in planes}}
            for j in range(1, len(self.words[0]))
        ]
        if changes:
            yield _from_cuts("word", [j * L for j in range(1, len(changes) + 1)], changes, {})
        first = {f"word {p}": self.words[p][0] + HALF for p in planes}
        yield Block("read", [({"x": -1}, 1)], [("late", 0, 1)], first)
        middle, far = 1 << L - 1, -(1 << L + 1)
        for step in range(1, L):
            units: list[tuple[Mapping[str, Number], Number]] = []
            writes: list[tuple[str, int, Number]] = []
            for p in planes:
                lane = f"word {p}"
                units += [({lane: 1, "late": far}, 0), ({lane: 1, "late": far}, -middle)]
                writes += [(lane, 2 * p, 1), (lane, 2 * p + 1, -4)]
            if step < L - 1:
                units.append(({"x": -1}, step + 1))
                writes.append(("late", len(units) - 1, 1))
            yield Block("read", units, writes)
        edges = [({f"word {p}": 2}, -2 * middle - e) for p in planes for e in (0, 1)]
        bits = [("label", 2 * p + e, (1 << p) * (1 - 2 * e)) for p in planes for e in (0, 1)]
        yield Block("read", edges, bits)

    def layers(self) -> Iterator[Layer]:
        names = ["x", "late", "label", *(f"word {p}" for p in range(len(self.words)))]
        lanes = {name: i for i, name in enumerate(names)}
        yield from (feed_forward(block, lanes) for block in self.blocks())
        yield Linear(matrix(1, len(lanes), {(0, lanes["label"]): 1}), vector({}, 1), "output")


def _from_cuts(
    stage: str,
    cuts: Sequence[int],
    changes: Sequence[Mapping[str, Number]],
    constants: Mapping[str, Number],
) -> Block:
    """Each lane += its change from the cut on: relu(x - cut + 1) - relu(x - cut) is 0 or 1."""
    units = [({"x": 1}, e - cut) for cut in cuts for e in (1, 0)]
    writes = [
        (lane, 2 * i + e, value * (1 - 2 * e))
        for i, change in enumerate(changes)
        for lane, value in change.items()
        if value
        for e in (0, 1)
    ]
    return Block(stage, units, writes, constants)


def orbit(bits: Sequence[int]) -> int:
    """The number below 2^len(bits) of which tent maps show these bits in front, one by one."""
    flip = number = 0
    for bit in bits:
        number = 2 * number + (bit ^ flip)
        flip ^= bit
    return number


def pieces(keys: NDArray[np.int64], room: int, longest: int) -> list[tuple[int, int]] | None:
    """(first key, shift) of each piece, so that all keys fall on different places below `room`."""
    random, taken = np.random.default_rng(0), np.zeros(room, bool)
    found, start = [], 0
    while start < len(keys):
        end = int(np.searchsorted(keys, keys[start] + longest))
        while True:
            part = keys[start:end] - keys[start]
            free = room - int(part[-1])
            tried = random.integers(0, free, SHIFTS) if free > SHIFTS else random.permutation(free)
            shift = next((int(s) for s in tried if not taken[part + s].any()), None)
            if shift is not None:
                break
            if end - start == 1:
                return None
            end = start + (end - start + 1) // 2
        taken[part + shift] = True
        found.append((int(keys[start]), shift - int(keys[start])))
        start = end
    return found


def packed(keys: list[int], labels: list[int], classes: int) -> Packed:
    """T, W and L so that 6 T = (6 + 2 c) W = (7 c + 3) L, as far as they are free."""
    planes = max(1, (classes - 1).bit_length())
    largest, line = max(keys) + 1, np.sort(np.array(keys, np.int64))
    costs = 6, 6 + 2 * planes, 7 * planes + 3
    each = (2 * min(largest, len(keys) ** 2) * costs[0] * costs[1] * costs[2]) ** (1 / 3)
    places, words = max(2, round(each / costs[2])), max(1, round(each / costs[1]))
    found: list[tuple[int, int]] | None
    while True:
        room = words * places
        found = [(0, 0)] if largest <= room else pieces(line, room, max(1, room // 2))
        if found is not None and (len(found) > 1 or largest <= room):
            break
        words += 1 + words // 8
    starts, shifts = zip(*found, strict=True)
    table = [0] * room
    for key, label in zip(keys, labels, strict=True):
        table[key + shifts[bisect_right(starts, key) - 1 if len(starts) > 1 else 0]] = label
    parts = [table[j * places : (j + 1) * places] for j in range(words)]
    numbers = (tuple(orbit([x >> p & 1 for x in part]) for part in parts) for p in range(planes))
    return Packed(starts, shifts, tuple(numbers), places)


@dataclass(frozen=True)
class Park(Hashed):
    name = "park2021"
    stages = {**Hashed.stages, **STAGES["Park"]}

    def plan(self, keys: list[int], labels: list[int], classes: int) -> Iterator[Layer]:
        return packed(keys, labels, classes).layers()
