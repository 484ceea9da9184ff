"""Contexts: predictions that an architecture cannot tell apart, and what to do if labels differ.

A context is the ordered sequence (positions), the multiset of tokens with the last one, or the
multiset alone. Where every token has a label, it is the place in the sequence (positions) or the
multiset with the token. Sequences are grouped by a 64-bit sum of random numbers and every member is
then
compared with its representative, so the grouping is exact whatever the random numbers are.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..errors import AssumptionError, ByheartError
from .arrays import blocks, number, offsets, places, take
from .dataset import Dataset, Ints

Hashes = NDArray[np.uint64]
SHOWN = 8


@dataclass(frozen=True, eq=False)
class Contexts:
    """Which predictions (sequences, or tokens where every token has a label) are one context.

    group      context number of each prediction, counted in the order of first appearance.
    first      the first prediction of each context: its representative.
    positions  whether order counts.
    last       whether the last token counts apart from the multiset (positions imply it).
    """

    group: Ints  # [predictions]
    first: Ints  # [contexts]
    positions: bool
    last: bool

    def __len__(self) -> int:
        return len(self.first)

    def conflicts(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Which contexts have two labels: some member's is not the representative's."""
        unlike = dataset.labels != dataset.labels[self.first[self.group]]
        result = np.zeros(len(self), bool)
        result[self.group[unlike]] = True
        return result

    def majority(self, dataset: Dataset) -> Ints:
        """The label number each context has most often; of several, the smallest."""
        table = tally(dataset, self)
        order = np.lexsort((table.label, -table.count, table.context))
        return table.label[order[offsets(np.bincount(table.context))[:-1]]]


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each context was seen with each of its labels, by context and then by label."""

    context: Ints
    label: Ints
    count: Ints


def tally(dataset: Dataset, contexts: Contexts) -> Tally:
    """The pairs of a context and a label that occur, with their counts."""
    labels = len(dataset.label_names)
    pairs, places = number(contexts.group * labels + dataset.labels)
    counts = np.zeros(len(pairs), np.int64)
    np.add.at(counts, places, dataset.counts[dataset.owner])
    return Tally(pairs // labels, pairs % labels, counts)


def contexts(dataset: Dataset, positions: bool, last: bool = True) -> Contexts:
    """The contexts of a dataset: ordered, multiset plus last token, or (last=False) multiset.

    Where every token has a label, its own token counts as the last.
    """
    group, first = _sequences(dataset, positions, last and not dataset.every)
    if dataset.every:
        owner = dataset.owner
        own = np.arange(len(owner)) - dataset.starts[owner] if positions else dataset.ids
        group, first = _group(group[owner] * (int(own.max()) + 1) + own)
    return Contexts(group, first, positions, positions or last)


def _sequences(dataset: Dataset, positions: bool, last: bool) -> tuple[Ints, Ints]:
    """The group of each sequence, and each group's first sequence."""
    for seed in count():
        group, first = _group(_hashes(dataset, positions, last, seed))
        if _exact(dataset, group, first, positions, last):
            return group, first
    raise AssertionError


def _group(keys: NDArray) -> tuple[Ints, Ints]:
    """Equal keys as groups, numbered by their first member."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[group], first[order]


def _hashes(dataset: Dataset, positions: bool, last: bool, seed: int) -> Hashes:
    """Equal for equal contexts; different, but for a chance of about 2^-64, for different ones."""
    random = np.random.default_rng(seed)
    word = random.integers(0, 2**64, len(dataset.tokens), np.uint64)
    final = random.integers(0, 2**64, max(1, len(dataset.tokens)), np.uint64)
    place = random.integers(0, 2**63, dataset.length, np.uint64) * np.uint64(2) + np.uint64(1)
    starts, result = dataset.starts, dataset.lengths.astype(np.uint64) * final[0]
    for a, b in blocks(starts):
        values = word[dataset.ids[starts[a] : starts[b]]]
        if positions:
            values *= place[places(np.zeros(b - a, np.int64), dataset.lengths[a:b])]
        filled = a + np.flatnonzero(dataset.lengths[a:b])  # reduceat knows no empty sums
        if len(filled):
            result[filled] += np.add.reduceat(values, starts[filled] - starts[a])
    if last and not positions:
        filled = np.flatnonzero(dataset.lengths)
        result[filled] += final[dataset.ids[starts[filled + 1] - 1]]
    return result


def _exact(dataset: Dataset, group: Ints, first: Ints, positions: bool, last: bool) -> bool:
    """Whether every sequence really is the same context as its representative."""
    others = np.flatnonzero(first[group] != np.arange(len(group)))
    same = first[group[others]]
    lengths, starts = dataset.lengths, dataset.starts
    if (lengths[others] != lengths[same]).any():
        return False
    if last and not positions:
        filled = lengths[others] > 0
        own, other = starts[others + 1][filled] - 1, starts[same + 1][filled] - 1
        if (dataset.ids[own] != dataset.ids[other]).any():
            return False
    for a, b in blocks(offsets(lengths[others])):
        size = lengths[others[a:b]]
        one = take(dataset.ids, starts[others[a:b]], size)
        other = take(dataset.ids, starts[same[a:b]], size)
        if not positions:
            one, other = _sort_each(one, size), _sort_each(other, size)
        if (one != other).any():
            return False
    return True


def _sort_each(ids: NDArray, lengths: Ints) -> NDArray:
    """The pieces, each sorted: a piece's number is the leading digit, so no token leaves it."""
    base = int(ids.max(initial=0)) + 1
    return np.sort(np.repeat(np.arange(len(lengths)) * base, lengths) + ids)


def resolve(dataset: Dataset, contexts: Contexts, on_conflict: str = "refuse") -> Dataset:
    """The dataset with one label a context.

    "refuse" raises if there is a conflict, "majority" gives every sequence the label its context
    has most often, "drop" leaves out the contexts in conflict.
    """
    if on_conflict not in RESOLUTIONS:
        raise ByheartError(
            f"--on-conflict is one of {', '.join(RESOLUTIONS)}, not {on_conflict!r}."
        )
    conflicts = contexts.conflicts(dataset)
    return RESOLUTIONS[on_conflict](dataset, contexts, conflicts) if conflicts.any() else dataset


def _refuse(dataset: Dataset, contexts: Contexts, conflicts: NDArray[np.bool_]) -> Dataset:
    predictions = int(conflicts[contexts.group].sum())
    what = "token" if dataset.every else "sequence"
    number = int(np.flatnonzero(conflicts)[0])
    labels = np.unique(dataset.labels[contexts.group == number])
    names = [repr(dataset.label_names[i]) for i in labels[:SHOWN]]
    raise AssumptionError(
        f"A1 fails: {_plural(int(conflicts.sum()), 'context')} ({_plural(predictions, what)}) "
        f"with two labels or more, for example {_show(dataset, contexts, number)} with the labels "
        f"{' and '.join(names)}{' ...' if len(labels) > SHOWN else ''}; "
        f"{_advice(dataset, contexts)}."
    )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def _show(dataset: Dataset, contexts: Contexts, number: int) -> str:
    first = int(contexts.first[number])
    tokens = dataset.sequence(int(dataset.owner[first]))
    shown = ", ".join(repr(token) for token in tokens[-SHOWN:])
    shown = f"({'..., ' if len(tokens) > SHOWN else ''}{shown})"
    own = f"the token {dataset.token(dataset.ids[first])!r} of " if dataset.every else ""
    return own + shown


def _advice(dataset: Dataset, own: Contexts) -> str:
    if not own.positions and not contexts(dataset, positions=True).conflicts(dataset).any():
        method = "" if own.last else "another method with "
        return f"order tells all of them apart, so use {method}--positions"
    if dataset.every:
        return "use --on-conflict majority"
    other = ", or --method one-layer, which stores distributions" if _countable(dataset) else ""
    return f"use --on-conflict majority or drop{other}"


def _countable(dataset: Dataset) -> bool:
    """Whether tokens are words or integers, as methods that store distributions want them."""
    return dataset.kind == "string" or (
        dataset.kind == "number" and bool((dataset.vectors == np.floor(dataset.vectors)).all())
    )


def _majority(dataset: Dataset, contexts: Contexts, conflicts: NDArray[np.bool_]) -> Dataset:
    labels = contexts.majority(dataset)[contexts.group].astype(np.int32)
    return occurring(replace(dataset, labels=labels))


def _drop(dataset: Dataset, contexts: Contexts, conflicts: NDArray[np.bool_]) -> Dataset:
    if dataset.every:
        raise AssumptionError(
            "A1 fails, and --on-conflict drop cannot leave out single tokens of a sequence; "
            "use --on-conflict majority."
        )
    kept = np.flatnonzero(~conflicts[contexts.group])
    if not dataset.lengths[kept].any():
        raise AssumptionError(
            "A1 fails: every context with a token has two labels or more, so --on-conflict drop "
            "leaves nothing; use --on-conflict majority, or --method one-layer, which stores "
            "distributions."
        )
    return occurring(subset(dataset, kept))


def subset(dataset: Dataset, kept: Ints) -> Dataset:
    """Some of the sequences; tokens and labels keep their numbers."""
    lengths = dataset.lengths[kept]
    starts = dataset.starts[kept]
    labels = dataset.labels
    return replace(
        dataset,
        ids=take(dataset.ids, starts, lengths),
        starts=offsets(lengths),
        labels=take(labels, starts, lengths) if dataset.every else labels[kept],
        counts=dataset.counts[kept],
    )


def occurring(dataset: Dataset) -> Dataset:
    """The dataset with only the tokens and labels that occur, numbered in the same order."""
    tokens, ids = number(dataset.ids)
    names, labels = number(dataset.labels)
    return replace(
        dataset,
        tokens=tuple(dataset.tokens[i] for i in tokens)
        if dataset.kind == "string"
        else np.asarray(dataset.tokens)[tokens],
        ids=ids.astype(np.int32),
        labels=labels.astype(np.int32),
        label_names=tuple(dataset.label_names[i] for i in names),
    )


Resolution = Callable[[Dataset, Contexts, NDArray[np.bool_]], Dataset]
RESOLUTIONS: dict[str, Resolution] = {"refuse": _refuse, "majority": _majority, "drop": _drop}
