"""Contexts: predictions that an architecture cannot distinguish, and how to resolve conflicts.

A context is the ordered sequence (positions), the multiset of tokens with the last one, or the
multiset alone. Where every token has a label, it is the place in the sequence (positions) or the
multiset with the token. Sequences are grouped by a 64-bit sum of random numbers, and every member
is then compared with its representative, so the grouping is exact whatever the random numbers are.
"""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..errors import AssumptionError, one_of
from ..machine.tables import plural
from .arrays import Ints, blocks, offsets, places, take, totals
from .dataset import Dataset
from .documents import Documents

Hashes = NDArray[np.uint64]
LARGE = 500_000  # predictions of a text
SHOWN = 8
RESOLUTIONS = ("refuse", "majority", "drop")


@dataclass(frozen=True, eq=False)
class Contexts:
    """Which predictions (sequences, or tokens where every token has a label) share a context."""

    group: Ints  # the context of each prediction, numbered in the order of first appearance
    first: Ints  # the first prediction of each context: its representative, [contexts]
    positions: bool  # whether order counts
    last: bool  # whether the last token counts apart from the multiset (positions imply it)

    def __len__(self) -> int:
        return len(self.first)

    def conflicts(self, dataset: Dataset) -> NDArray[np.bool_]:
        """Which contexts have two labels: some member's is not the representative's."""
        unlike = dataset.labels != dataset.labels[self.first[self.group]]
        return np.bincount(self.group[unlike], minlength=len(self)) > 0

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
    columns = contexts.group, dataset.labels, dataset.counts[dataset.owner]
    return Tally(*totals(np.column_stack(columns)).T)


def order_counts(data: Dataset | Documents) -> bool:
    """Whether order counts if nobody says so: for words, ids of a corpus and columns of numbers.

    Other numbers, and vectors, are a multiset, as in the papers.
    """
    if isinstance(data, Documents):
        return True
    text = bool({"documents", "separator", "dtype"} & set(data.loading))
    columns = data.loading.get("numeric") == "tokens"  # a number is that of its column
    return data.kind == "string" or text or columns


def contexts(dataset: Dataset, positions: bool, last: bool = True) -> Contexts:
    """The contexts of a dataset: ordered, multiset plus last token, or (last=False) multiset.

    Where every token has a label, its own token counts as the last.
    """
    final = last and not dataset.every
    for seed in count():
        group, first = _group(_hashes(dataset, positions, final, seed))
        if _exact(dataset, group, first, positions, final):
            break
    if dataset.every:
        owner = dataset.owner
        own = (
            np.arange(len(owner)) - dataset.starts[owner] if positions else np.asarray(dataset.ids)
        )
        group, first = _group(group[owner] * (int(own.max()) + 1) + own)
    return Contexts(group, first, positions, positions or last)


def _group(keys: NDArray) -> tuple[Ints, Ints]:
    """Equal keys as groups, numbered by their first member."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[group], first[order]


def _hashes(dataset: Dataset, positions: bool, last: bool, seed: int) -> Hashes:
    """Equal for equal contexts; for different ones different, except with probability 2^-64."""
    random = np.random.default_rng(seed)
    word = random.integers(0, 2**64, len(dataset.tokens), np.uint64)
    final = random.integers(0, 2**64, max(1, len(dataset.tokens)), np.uint64)
    place = random.integers(0, 2**63, dataset.length, np.uint64) * np.uint64(2) + np.uint64(1)
    starts, result = dataset.starts, dataset.lengths.astype(np.uint64) * final[0]
    for a, b in blocks(starts):
        values = word[dataset.ids[starts[a] : starts[b]]]
        if positions:
            values *= place[places(np.zeros(b - a, np.int64), dataset.lengths[a:b])]
        filled = a + np.flatnonzero(dataset.lengths[a:b])  # reduceat has no empty sums
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

    def sort_each(ids: NDArray, lengths: Ints) -> NDArray:
        """The pieces, each sorted: a piece's number is the leading digit, so no token leaves it."""
        base = int(ids.max(initial=0)) + 1
        return np.sort(np.repeat(np.arange(len(lengths)) * base, lengths) + ids)

    for a, b in blocks(offsets(lengths[others])):
        size = lengths[others[a:b]]
        one = take(dataset.ids, starts[others[a:b]], size)
        other = take(dataset.ids, starts[same[a:b]], size)
        if not positions:
            one, other = sort_each(one, size), sort_each(other, size)
        if (one != other).any():
            return False
    return True


def resolve(
    dataset: Dataset, contexts: Contexts, on_conflict: str = "refuse", advice: str | None = None
) -> Dataset:
    """The dataset with one label per context.

    "refuse" raises if there is a conflict, "majority" gives every sequence the label its context
    has most often, "drop" leaves out the contexts in conflict.

    advice  what to do about a conflict, if not what the data suggests
    """
    one_of(RESOLUTIONS, on_conflict=on_conflict)
    conflicts = contexts.conflicts(dataset)
    if not conflicts.any():
        return dataset
    if on_conflict == "refuse":
        raise AssumptionError(_refusal(dataset, contexts, conflicts, advice))
    if on_conflict == "majority":
        labels = contexts.majority(dataset)[contexts.group].astype(np.int32)
        return replace(dataset, labels=labels).occurring()
    if dataset.every:
        raise AssumptionError(
            "A1 fails, and `on_conflict='drop'` cannot leave out single tokens of a sequence; "
            "use `on_conflict='majority'`."
        )
    kept = np.flatnonzero(~conflicts[contexts.group])
    if not dataset.lengths[kept].any():
        raise AssumptionError(
            "A1 fails: every context with a token has two labels or more, so `on_conflict='drop'` "
            "leaves nothing; use `on_conflict='majority'`, or `method='one-layer'`, which stores "
            "distributions."
        )
    return dataset.subset(kept).occurring()


def settled(given: Dataset, dataset: Dataset) -> dict[str, int]:
    """The number of labels that `on_conflict` changed, and of sequences that it left out."""
    if len(given) != len(dataset):
        return {"relabelled": 0, "dropped": len(given) - len(dataset)}
    before, after = np.array(given.label_names), np.array(dataset.label_names)
    changed = before[given.labels] != after[dataset.labels]
    return {"relabelled": int(changed.sum()), "dropped": 0}


def _refusal(
    dataset: Dataset, own: Contexts, conflicts: NDArray[np.bool_], advice: str | None
) -> str:
    """How many conflicts there are, an example, and what to do about them."""
    where = plural(int(conflicts.sum()), "context")
    predictions = int(conflicts[own.group].sum())
    number = int(np.flatnonzero(conflicts)[0])
    labels = np.unique(dataset.labels[own.group == number])
    names = " and ".join(repr(dataset.label_names[i]) for i in labels[:SHOWN])
    first = int(own.first[number])
    tokens = dataset.sequence(int(dataset.owner[first]))
    shown = ", ".join(repr(token) for token in tokens[-SHOWN:])
    shown = f"({'..., ' if len(tokens) > SHOWN else ''}{shown})"
    if dataset.every:
        shown = f"the token {dataset.token(dataset.ids[first])!r} of {shown}"
    if advice is not None:
        pass
    elif not own.positions and not contexts(dataset, positions=True).conflicts(dataset).any():
        method = "" if own.last else "another method with "
        advice = f"order distinguishes all of them, so use {method}`positions=True`"
    elif dataset.every:
        advice = "use `on_conflict='majority'`"
    else:
        choices = ["`on_conflict='majority'` or `on_conflict='drop'`"]
        if dataset.has_vocabulary:
            choices.append("`method='one-layer'`, which stores distributions")
        loading = dataset.loading
        whole = loading.get("documents") == "whole" and "window" not in loading
        if "documents" in loading and "length" not in loading and not whole:
            # a single document has no two equal prefixes, so some window is always long enough
            one_text = "`documents='whole'` `window='auto'`, which reads a file as one text"
            if len(dataset) > LARGE:  # whose window may be too large for all of its places
                one_text = one_text.replace(",", " with `on_conflict='drop'`,")
                one_text += " and leaves out places with several continuations, if any are left"
            choices.insert(0, one_text)
        advice = f"use {', or '.join(choices)}"
    return (
        f"A1 fails: {where} ({plural(predictions, 'token' if dataset.every else 'sequence')}) "
        f"with two labels or more, for example {shown} with the labels {names}"
        f"{' ...' if len(labels) > SHOWN else ''}; {advice}."
    )
