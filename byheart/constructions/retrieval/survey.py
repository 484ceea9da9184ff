"""Many hashes of the contexts, and how many stored numbers each of them needs.

A token's number is projected (with an embedding: drawn) and folded as in retrieval/hashing.py. The
sums need not begin at 0, since the folds can begin anywhere: the *offset*. For each hash some
places of the column gates are tried. What a hash needs is known from its loads alone, without
solving anything: with U numbers, a position of n equations leaves run = max(0, run + n - U)
equations to luck, and the solver tries about 2**run right-hand sides there.
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from ...machine.kernels import njit
from .gf2 import ONE
from .hashing import SAFE, Hash, fold_thresholds
from .plan import ints, read_bits, unfold
from .problem import Inputs
from .readers import Draw, ReaderPlan

KEPT = 12  # the best hashes of a survey
SAMPLED = 1000  # contexts with intervals that a survey looks at
LONGEST = 1 << 36  # coordinates beyond this leave no room for sums in 64 bits


class Contexts(NamedTuple):
    """The contexts as the kernels read them.

    columns, low, extent   [columns, coordinates] integers; their least values and ranges
    ids, place             with an embedding: the token ids, and the index of each column's id
    members, which, own    as in retrieval.hashing.Sums; the index after the last column counts 0
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
    # the share of the range that no token may fall below (sums that do not all have one number of
    # tokens)
    above: float


class Best(NamedTuple):
    """The best hashes so far, in any order."""

    # [hashes, 3 + coordinates + gates] numbers needed, largest token, offset, weights, gates
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]  # [hashes] less is better
    states: NDArray[np.uint64]  # [hashes] of the random numbers before the hash was drawn


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
    extent, place = np.maximum(whole.max(axis=0) - low, 1), place.astype(np.int64)
    own = np.zeros(0, np.int64) if sums.own is None else sums.own.astype(np.int64)
    read = sums.members, sums.which.astype(np.int64), own
    above = 0.0 if sums.level or problem.draw else 0.2
    return Contexts(whole, low, extent, ids, place, *read, sums.total, above)


def survey(
    contexts: Contexts,
    plan: ReaderPlan,
    lengths: NDArray[np.int64],
    window: int,
    share: float,
    luck: float,
    draws: int,
    orders: int,
    seed: int,
    labels: NDArray[np.int64] | None = None,
) -> list[Draw]:
    """The hashes of some draws that need the fewest numbers, best first.

    share   of the contexts whose words are intervals, those with an equation
    labels  of the contexts: hashes that are equal where labels differ are dropped
    """
    d, everything = contexts.columns.shape[1], contexts
    if share:  # a sample of the intervals is enough to compare hashes
        intervals = np.flatnonzero(lengths == 0)
        share *= max(1.0, len(intervals) / SAMPLED)
        seen = np.append(np.flatnonzero(lengths), intervals[:SAMPLED])
        contexts = contexts._replace(
            members=contexts.members[contexts.which[seen]],
            which=np.arange(len(seen)),
            own=contexts.own[seen] if len(contexts.own) else contexts.own,
        )
        lengths, labels = lengths[seen], None if labels is None else labels[seen]
    reach = _reach(plan.top_value * 2 // contexts.total + 1, plan.token_folds)
    if 3 * reach >= SAFE:
        return []
    rows = np.zeros((KEPT, 3 + d + plan.gates), np.int64)
    best = Best(rows, np.full(KEPT, np.inf), np.zeros(KEPT, np.uint64))
    numbers = np.zeros(0, np.int64) if labels is None else labels.astype(np.int64)
    state = np.array([seed], np.uint64)
    chain = plan.token_folds, plan.gates, ints(plan.limits[::-1])
    words = lengths, window, share
    _survey.compiled(contexts, chain, words, numbers, luck, draws, orders, state, best)
    order = np.argsort(best.scores, kind="stable")
    found = [i for i in order if best.scores[i] < np.inf]
    again = (_again(everything, plan, best.rows[i], best.states[i]) for i in found)
    return [draw for draw in again if draw is not None]


def _again(contexts: Contexts, plan: ReaderPlan, row: NDArray, state: np.uint64) -> Draw | None:
    """The hash that the survey recorded in a row; None if a context that it left out is beyond."""
    d = contexts.columns.shape[1]
    unknowns, largest, offset = (int(x) for x in row[:3])
    weights, gates = row[3 : 3 + d].copy(), row[3 + d :]
    numbers = np.zeros(len(contexts.ids), np.int64)
    phi, hashes = (np.zeros(n, np.int64) for n in (len(contexts.columns) + 1, len(contexts.which)))
    random = np.array([state], np.uint64)
    above = _hash(contexts, weights, largest, plan.token_folds, random, numbers, phi, hashes)
    if hashes.min() < offset or hashes.max() >= offset + plan.top_value:
        return None
    fired, cell = read_bits(hashes - offset, plan.limits)
    drawn = dict(zip(contexts.ids.tolist(), numbers.tolist(), strict=True)) or None
    bias = 0 if drawn else above - int(weights @ contexts.low)
    thresholds, chosen = fold_thresholds(largest, plan.token_folds), tuple(weights.tolist())
    hashed = Hash(chosen, bias, drawn, thresholds, 0, (), phi[:-1], hashes)
    return Draw(unknowns, tuple(gates.tolist()), offset, hashed, fired, cell)


@njit
def _reach(largest, folds):
    for _ in range(folds):
        largest = largest * 3 // 2
    return largest


@njit
def next_random(state):
    """splitmix64: advances state[0] and returns 64 random bits."""
    state[0] += uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@njit
def _uniform(state):
    return (next_random(state) >> uint64(11)) * 2.0**-53


@njit
def _hash(contexts, weights, largest, folds, state, numbers, phi, hashes):
    """Fill phi and hashes for given weights; returns the least number of a token."""
    columns, low, place = contexts.columns, contexts.low, contexts.place
    members, which, own = contexts.members, contexts.which, contexts.own
    reach = _reach(largest, folds)
    above = np.int64(contexts.above * reach)
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
    positions = loads.shape[0]
    unknowns = np.int64(max(1.0, (loads.sum() - np.int64(luck)) // positions))
    while True:
        run, trials = 0.0, 0.0
        for p in range(positions):
            run = max(0.0, run + loads[p] - unknowns)
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
def _survey(contexts, chain, words, labels, luck, draws, orders, state, best):
    """Fill in the best hashes of some draws."""
    token_folds, gate_count, limits = chain
    lengths, window, share = words
    columns, extent, place = contexts.columns, contexts.extent, contexts.place
    cells, last = limits[0], limits.shape[0] - 1
    d, count, top = columns.shape[1], contexts.which.shape[0], 2 * limits[last]
    ids = place.max() + 1 if place.shape[0] else 0
    phi, hashes = np.zeros(columns.shape[0] + 1, np.int64), np.zeros(count, np.int64)
    numbers, weights, shares = np.zeros(ids, np.int64), np.zeros(d, np.int64), np.zeros(d)
    fired, cell = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    column_count = cells << gate_count
    positions = column_count + window - 1
    table, loads = np.zeros((column_count, window + 1), np.int64), np.zeros(positions)
    gates, usable = np.zeros(gate_count, np.int64), last - 2
    stretch = 1.0  # sums use a part of their range only
    done = tried = 0
    while done < draws and tried < 2 * draws + 40:
        tried += 1
        largest = np.int64((top - 1) / contexts.total * stretch * (0.85 + 0.15 * _uniform(state)))
        reach = _reach(largest, token_folds)
        span, all_shares, usable_weights = reach - contexts.above * reach, 0.0, largest > 0
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
        _hash(contexts, weights, largest, token_folds, state, numbers, phi, hashes)
        least = hashes.min()
        spread = hashes.max() - least
        if spread >= top or spread < 0.7 * top and tried < draws:
            wider = 0.95 * top / max(1, spread)
            stretch = min(1.9, stretch * (wider if spread >= top else min(wider, 1.1)))
            continue
        done += 1
        offset = least - np.int64(_uniform(state) * (top - spread))
        hashes -= offset
        unfold(hashes, limits, fired, cell)
        for _ in range(orders if gate_count else 1):
            for j in range(gate_count):  # different ones, not the first three
                again = True
                while again:
                    gates[j] = min(last, 3 + np.int64(_uniform(state) * usable))
                    again = False
                    for b in range(j):
                        again = again or gates[b] == gates[j]
            table[:] = 0
            for i in range(count):
                column = cell[i]
                for j in range(gate_count):
                    if not (fired[i] >> uint64(last - gates[j])) & ONE:
                        column += cells << j
                table[column, lengths[i]] += 1
            loads[:] = 0
            for column in range(column_count):
                loads[positions - 1 - column] += share * table[column, 0]
                longer = 0
                for digit in range(window - 1, -1, -1):
                    longer += table[column, digit + 1]
                    loads[positions - 1 - column - digit] += longer
            unknowns, trials = required(loads, luck)
            score = unknowns + min(0.99, np.log2(1.0 + trials) / 64)
            worst = np.argmax(best.scores)
            if score < best.scores[worst]:
                if labels.shape[0] and _meet(hashes, labels):
                    break
                best.scores[worst], best.states[worst] = score, drawn_from
                row = best.rows[worst]
                row[0], row[1], row[2] = unknowns, largest, offset
                row[3 : 3 + d] = weights
                row[3 + d :] = gates
