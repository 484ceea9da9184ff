"""Frequent pairs of words become one token, chosen by the bits that they save.

Labels that occur c_1, c_2, ... times, N in all, take N log N - sum of c log c bits. A pair of
tokens that becomes one changes that, and its rule has a price: the bits that name its two parts.
Pairs are joined as long as one of them saves more than that, at most 3 % of the rules in a round.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BATCH, FEWEST = 0.03, 10  # pairs that are joined in a round: a share of the rules so far, at least
MOST = 150  # and at most
NEAR = 0.6  # of the best gain: worse ones wait for the next round
OVERHEAD, CHEAPEST = 5.0, 8.0  # bits of a rule beyond its parts, and of any rule


def joined(texts: Iterable[Sequence[str]], most: int | None = None) -> dict[str, int]:
    """The words of these texts and at most so many phrases, and how often each is a token."""
    words: dict[str, int] = {}
    parts: list[int] = []
    for text in texts:
        parts += [words.setdefault(word, len(words)) for word in text]
        parts.append(-1)  # no phrase goes on in the next text
    ids, names = np.array(parts, np.int64), list(words)
    rules = 0
    while most is None or rules < most:
        pairs = _best(ids, len(names), rules)[: None if most is None else most - rules]
        if not pairs:
            break
        ids = _join(ids, pairs, len(names))
        names += [names[a] + names[b] for a, b in pairs]
        rules += len(pairs)
    counts = np.bincount(ids[ids >= 0], minlength=len(names))
    found: dict[str, int] = {}
    for i, (name, count) in enumerate(zip(names, counts.tolist(), strict=True)):
        if count or i < len(words):
            found[name] = found.get(name, 0) + count
    return found


def _best(ids: Ints, size: int, rules: int) -> list[tuple[int, int]]:
    """Pairs that save the most; none begins with what another one ends with."""
    counts = np.bincount(ids[ids >= 0], minlength=size).astype(float)
    inside = (ids[:-1] >= 0) & (ids[1:] >= 0) & (ids[:-1] != ids[1:])
    keys, often = np.unique(ids[:-1][inside] * size + ids[1:][inside], return_counts=True)
    keys, times = keys[often > 1], often[often > 1].astype(float)
    a, b, total = keys // size, keys % size, counts.sum()
    before = _bits(total) - _bits(counts[a]) - _bits(counts[b])
    after = _bits(total - times) - _bits(counts[a] - times) - _bits(counts[b] - times)
    price = np.log2(total / counts[a]) + np.log2(total / counts[b]) + OVERHEAD
    cheapest = np.maximum(price - np.log2((rules + 1) / np.e + 1), CHEAPEST)
    gain = before - (after - _bits(times)) - cheapest
    limit = max(FEWEST, min(MOST, int(rules * BATCH) + 5))
    chosen: list[tuple[int, int]] = []
    first: set[int] = set()
    last: set[int] = set()
    order = np.argsort(-gain, kind="stable")[:4000]
    for i in order[gain[order] > 0]:
        if gain[i] < NEAR * gain[order[0]] and len(chosen) >= 5 or len(chosen) == limit:
            break
        x, y = int(a[i]), int(b[i])
        if not {x, y} & (first | last):
            first.add(x)
            last.add(y)
            chosen.append((x, y))
    return chosen


def _bits(count: NDArray[np.float64]) -> NDArray[np.float64]:
    return count * np.log2(np.maximum(count, 1))


def _join(ids: Ints, pairs: Sequence[tuple[int, int]], size: int) -> Ints:
    """The tokens with every one of the pairs as one token."""
    keys = np.array([a * size + b for a, b in pairs])
    order = np.argsort(keys)
    here = np.where((ids[:-1] >= 0) & (ids[1:] >= 0), ids[:-1] * size + ids[1:], -1)
    place = np.minimum(np.searchsorted(keys[order], here), len(keys) - 1)
    hits = np.flatnonzero(keys[order][place] == here)
    new, kept = ids.copy(), np.ones(len(ids), np.bool_)
    new[hits], kept[hits + 1] = size + order[place[hits]], False
    return new[kept]
