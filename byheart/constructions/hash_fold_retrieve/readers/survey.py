"""Many hashes of the contexts, and how many stored numbers each of them needs.

A token's number is projected (with an embedding: drawn) and folded as in retrieval/hashing.py. The
sums need not begin at 0, since the folds can begin anywhere: the *offset*. For each hash some
places of the column gates are tried. What a hash needs is known from its loads alone, without
solving anything: with U numbers, a position of n equations leaves run = max(0, run + n - U)
equations to luck, and the solver tries about 2**run right-hand sides there.
"""

from dataclasses import dataclass

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ....machine.kernels import njit
from ...retrieval.gf2 import ONE
from ...retrieval.hashing import SAFE, Hash
from ...retrieval.problem import Inputs
from .layout import ReaderPlan, unfold
from .solve import next_random

KEPT = 12  # the best hashes of a survey
LONGEST = 1 << 36  # coordinates beyond this leave no room for sums in 64 bits


@dataclass(frozen=True, eq=False)
class Contexts:
    """The contexts as the kernels read them.

    columns, low, extent   [columns, coordinates] integers; their least values and ranges
    ids, place             with an embedding: the token ids, and the index of each column's id
    members, which, own    as in retrieval.hashing.Sums; the index after the last column counts 0
    above                  the share of the range that no token may fall below (sums that do not
                           all have one number of tokens)
    """

    columns: NDArray[np.int64]
    low: NDArray[np.int64]
    extent: NDArray[np.int64]
    ids: NDArray[np.int64]
    place: NDArray[np.int64]
    members: NDArray[np.int32]
    which: NDArray[np.int64]
    own: NDArray[np.int64]
    total: int
    above: float

    def __len__(self) -> int:
        return len(self.which)


def contexts_of(problem: Inputs) -> Contexts | None:
    """None if the coordinates are too long."""
    columns, sums = problem.columns, problem.sums
    if max(abs(int(columns.min())), abs(int(columns.max()))) >= LONGEST:
        return None
    whole = columns.astype(np.int64)
    ids = place = np.zeros(0, np.int64)
    if problem.draw:
        ids, place = np.unique(whole[:, 0], return_inverse=True)
        whole = np.ascontiguousarray(whole[:, 1:])
    low = np.minimum(whole.min(axis=0), 0)
    return Contexts(
        columns=whole,
        low=low,
        extent=np.maximum(whole.max(axis=0) - low, 1),
        ids=ids,
        place=place.astype(np.int64),
        members=sums.indices,
        which=sums.which.astype(np.int64),
        own=np.zeros(0, np.int64) if sums.own is None else sums.own.astype(np.int64),
        total=sums.total,
        above=0.0 if sums.level or problem.draw else 0.2,
    )


@dataclass(frozen=True, eq=False)
class Draw:
    """A hash that a survey found.

    unknowns    stored numbers that it needs
    trials      right-hand sides that the solver is expected to try
    gates       folds that are column gates
    offset      where the range of H begins that the folds bring to a cell
    fired       [contexts] bit t: fold t fires
    cell        [contexts] what is left then
    """

    unknowns: int
    trials: float
    gates: tuple[int, ...]
    offset: int
    hashed: Hash
    fired: NDArray[np.uint64]
    cell: NDArray[np.int64]


def survey(
    contexts: Contexts,
    plan: ReaderPlan,
    lengths: NDArray[np.int64],
    window: int,
    luck: float,
    draws: int,
    orders: int,
    seed: int,
    labels: NDArray[np.int64] | None = None,
) -> list[Draw]:
    """The hashes of some draws that need the fewest numbers, best first.

    luck    log2 of the trials that the solver may make
    orders  places of the column gates tried with each hash
    labels  of the contexts: hashes that are equal where labels differ are dropped
    """
    d = contexts.columns.shape[1]
    reach = _reach(plan.top_value * 2 // contexts.total + 1, plan.token_folds)
    if 3 * reach >= SAFE:
        return []
    found = np.zeros((KEPT, 3 + d + plan.gates), np.int64)
    scores, states = np.full(KEPT, np.inf), np.zeros(KEPT, np.uint64)
    _survey(
        *_arrays(contexts), plan.token_folds, plan.cells, plan.folds, plan.gates, lengths, window,
        luck, draws, orders, np.array([seed], np.uint64), found, scores, states,
        np.zeros(0, np.int64) if labels is None else labels.astype(np.int64),
    )  # fmt: skip
    best = [i for i in np.argsort(scores, kind="stable") if scores[i] < np.inf]
    return [_again(contexts, plan, found[i], scores[i], states[i]) for i in best]


def _arrays(contexts: Contexts) -> tuple:
    return tuple(getattr(contexts, name) for name in Contexts.__dataclass_fields__ if name != "ids")


def _again(
    contexts: Contexts, plan: ReaderPlan, row: NDArray, score: float, state: np.uint64
) -> Draw:
    """The hash that the survey recorded in a row."""
    d = contexts.columns.shape[1]
    unknowns, largest, offset = (int(x) for x in row[:3])
    weights, gates = row[3 : 3 + d].copy(), row[3 + d :]
    numbers = np.zeros(len(contexts.ids), np.int64)
    phi, hashes = (np.zeros(n, np.int64) for n in (len(contexts.columns) + 1, len(contexts)))
    random = np.array([state], np.uint64)
    above = _hash(
        *_arrays(contexts), weights, largest, plan.token_folds, random, numbers, phi, hashes
    )
    fired, cell = np.zeros(len(hashes), np.uint64), np.zeros(len(hashes), np.int64)
    unfold(hashes - offset, plan.cells, plan.folds, fired, cell)
    drawn = (
        dict(zip(contexts.ids.tolist(), numbers.tolist(), strict=True)) if len(numbers) else None
    )
    folds, reach = [], largest
    for _ in range(plan.token_folds):
        folds.append(reach)
        reach = reach * 3 // 2
    hashed = Hash(
        weights=tuple(weights.tolist()),
        bias=0 if drawn else above - int(weights @ contexts.low),
        drawn=drawn,
        token_thresholds=tuple(folds[::-1]),
        offset=0,
        mix_thresholds=(),
        tokens=phi[:-1],
        contexts=hashes,
    )
    trials = 2 ** (64 * (float(score) - unknowns))
    return Draw(unknowns, trials, tuple(gates.tolist()), offset, hashed, fired, cell)


@njit
def _reach(largest, folds):
    for _ in range(folds):
        largest = largest * 3 // 2
    return largest


@njit
def _uniform(state):
    return (next_random(state) >> uint64(11)) * 2.0**-53


@njit
def _hash(
    columns, low, extent, place, members, which, own, total, above_share,
    weights, largest, folds, state, numbers, phi, hashes,
):  # fmt: skip
    """Fill phi and hashes for given weights; returns the least number of a token."""
    reach = _reach(largest, folds)
    above = np.int64(above_share * reach)
    room = reach // 2 if columns.shape[1] else reach
    for i in range(numbers.shape[0]):
        numbers[i] = 1 + np.int64(_uniform(state) * (room - 1))
    for i in range(columns.shape[0]):
        value = above
        for j in range(columns.shape[1]):
            value += weights[j] * (columns[i, j] - low[j])
        if place.shape[0]:
            value += numbers[place[i]]
        threshold = reach
        for t in range(folds):
            threshold = _reach(largest, folds - 1 - t)
            if value > threshold:
                value -= 3 * (value - threshold)
        phi[i] = value
    sums = np.zeros(members.shape[0], np.int64)
    for s in range(members.shape[0]):
        for j in range(members.shape[1]):
            sums[s] += phi[members[s, j]]
    for i in range(which.shape[0]):
        hashes[i] = 2 * sums[which[i]] + phi[own[i]] if own.shape[0] else sums[which[i]]
    return above


@njit
def required(loads, luck):
    """The fewest numbers with which the expected trials are at most 2**luck."""
    positions, equations = loads.shape[0], 0
    for p in range(positions):
        equations += loads[p]
    unknowns = max(1, (equations - np.int64(luck)) // positions)
    while True:
        run, trials = 0, 0.0
        for p in range(positions):
            run = max(0, run + loads[p] - unknowns)
            if run > luck:
                trials = np.inf
                break
            trials += 2.0**run - 1
        if trials <= 2.0**luck:
            return unknowns, trials
        unknowns += 1


@njit
def _meet(hashes, labels):
    """Whether contexts with different labels have one hash."""
    order = np.argsort(hashes)
    for i in range(1, order.shape[0]):
        a, b = order[i - 1], order[i]
        if hashes[a] == hashes[b] and labels[a] != labels[b]:
            return True
    return False


@njit
def _survey(
    columns, low, extent, place, members, which, own, total, above_share,
    folds, cells, chain, gate_count, lengths, window, luck, draws, orders,
    state, found, scores, states, labels,
):  # fmt: skip
    d, count, top = columns.shape[1], which.shape[0], cells << chain
    ids = 0
    for i in range(place.shape[0]):
        ids = max(ids, place[i] + 1)
    phi, hashes = np.zeros(columns.shape[0] + 1, np.int64), np.zeros(count, np.int64)
    numbers, weights, shares = np.zeros(ids, np.int64), np.zeros(d, np.int64), np.zeros(d)
    fired, cell = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    column_count = cells << gate_count
    positions = column_count + window - 1
    table, loads = np.zeros((column_count, window), np.int64), np.zeros(positions, np.int64)
    gates, usable = np.zeros(gate_count, np.int64), chain - 3
    stretch = 1.0  # sums use a part of their range only
    done = tried = 0
    while done < draws and tried < 2 * draws + 40:
        tried += 1
        largest = np.int64((top - 1) / total * stretch * (0.85 + 0.15 * _uniform(state)))
        reach = _reach(largest, folds)
        span, all_shares, usable_weights = reach - above_share * reach, 0.0, largest > 0
        if place.shape[0]:
            span -= reach // 2
        for j in range(d):
            shares[j] = 0.03 + 0.97 * _uniform(state)
            all_shares += shares[j]
        for j in range(d):
            weights[j] = np.int64(shares[j] / all_shares * span / extent[j])
            usable_weights = usable_weights and weights[j] > 0
        if not usable_weights:
            continue
        drawn_from = state[0]
        _hash(
            columns, low, extent, place, members, which, own, total, above_share,
            weights, largest, folds, state, numbers, phi, hashes,
        )  # fmt: skip
        least = most = hashes[0]
        for i in range(count):
            least, most = min(least, hashes[i]), max(most, hashes[i])
        spread = most - least
        if spread >= top or spread < 0.7 * top and tried < draws:
            wider = 0.95 * top / max(1, spread)
            stretch = min(1.9, stretch * (wider if spread >= top else min(wider, 1.1)))
            continue
        done += 1
        offset = least - np.int64(_uniform(state) * (top - spread))
        for i in range(count):
            hashes[i] -= offset
        unfold(hashes, cells, chain, fired, cell)
        for _ in range(orders if gate_count else 1):
            for j in range(gate_count):  # different ones, not the first three
                again = True
                while again:
                    gates[j] = min(chain - 1, 3 + np.int64(_uniform(state) * usable))
                    again = False
                    for b in range(j):
                        again = again or gates[b] == gates[j]
            table[:] = 0
            for i in range(count):
                column = cell[i]
                for j in range(gate_count):
                    if not (fired[i] >> uint64(gates[j])) & ONE:
                        column += cells << j
                table[column, lengths[i] - 1] += 1
            loads[:] = 0
            for column in range(column_count):
                longer = 0
                for digit in range(window - 1, -1, -1):
                    longer += table[column, digit]
                    loads[positions - 1 - column - digit] += longer
            unknowns, trials = required(loads, luck)
            score = unknowns + min(0.99, np.log2(1.0 + trials) / 64)
            worst = 0
            for s in range(scores.shape[0]):
                if scores[s] > scores[worst]:
                    worst = s
            if score < scores[worst]:
                if labels.shape[0] and _meet(hashes, labels):
                    break
                scores[worst], states[worst] = score, drawn_from
                found[worst, 0], found[worst, 1], found[worst, 2] = unknowns, largest, offset
                found[worst, 3 : 3 + d] = weights
                found[worst, 3 + d :] = gates
