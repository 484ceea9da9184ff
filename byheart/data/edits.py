"""Items of a dataset changed, added or removed.

An item is what a model distinguishes: a context with all of its rows, a whole sequence where every
token has a label, or a whole document of a text. Changed items keep their place, removed ones leave
no trace, added ones follow at the end.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ByheartError
from .arrays import Ints, beyond_float, number_rows, offsets
from .dataset import Dataset
from .layout import changed
from .records import pack

BEGINNINGS = 10_000  # as many as readers/corpus.py lists


@dataclass(frozen=True)
class Items:
    """The items of a dataset, and how to find one."""

    dataset: Dataset  # what they are items of
    positions: bool  # whether order counts
    last: bool  # whether the last token counts apart from the multiset

    @property
    def texts(self) -> bool:
        """Whether items are documents."""
        return bool({"documents", "dtype"} & set(self.dataset.loading))

    def rows(self) -> Mapping[Hashable, list[int]]:
        result: dict[Hashable, list[int]] = {}
        if self.texts:
            for tokens, rows in self._documents():
                result.setdefault(tokens, []).extend(rows)
            return result
        ids, starts = np.asarray(self.dataset.ids).tolist(), self.dataset.starts.tolist()
        for row, (start, end) in enumerate(pairwise(starts)):
            result.setdefault(self._key(ids[start:end]), []).append(row)
        return result

    def key(self, tokens: Sequence) -> Hashable | None:
        """What `rows` calls the item with these tokens; None if a token is not in the data."""
        data = self.dataset
        if self.texts:
            return tuple(tokens)
        if data.kind == "string":
            numbers: dict = {word: i for i, word in enumerate(data.tokens)}
        else:
            numbers = {tuple(token): i for i, token in enumerate(data.vectors.tolist())}
            tokens = [tuple(x) if isinstance(x, list | tuple) else (x,) for x in tokens]
        ids = [numbers.get(token) for token in tokens]
        return None if None in ids else self._key(ids)

    def tokens(self, key: Hashable) -> list:
        assert isinstance(key, tuple)
        if self.texts:
            return list(key)
        if self.positions:
            return [self.dataset.token(i) for i in key]
        multiset, last = key
        ids = list(multiset)
        if last is not None:
            ids.remove(last)
            ids.append(last)
        return [self.dataset.token(i) for i in ids]

    def _key(self, ids: list) -> Hashable:
        if self.positions:
            return tuple(ids)
        alone = self.last and not self.dataset.every and ids
        return tuple(sorted(ids)), (ids[-1] if alone else None)

    def documents(self) -> list[list]:
        return [list(tokens) for tokens, _ in self._documents()]

    def _documents(self) -> Iterator[tuple[tuple, range]]:
        """The tokens of each document and its rows; its first context is one token.

        With a window of one token, every context is.
        """
        data = self.dataset
        if data.loading.get("window") == 1:
            raise ByheartError(
                "with `window=1` a text is not kept apart by documents, so none can be edited; "
                "compile it with a longer `window=...`."
            )
        first = np.flatnonzero(data.lengths == 1).tolist()
        for rows in map(range, first, [*first[1:], len(data)]):
            yield (data.sequence(rows[0])[0], *map(data.label, rows)), rows


def relabelled(items: Items, changes: Sequence[tuple[list[int], Sequence, Any]]) -> Dataset:
    """The dataset with other labels: for each change its rows, its tokens and its label.

    Where every token has a label, the label is a list of one for each of the tokens.
    """
    data = items.dataset
    if items.texts and changes:
        raise ByheartError(
            "in a text the labels are the words themselves; remove the document and add another."
        )
    names, (old, _) = _united(data.label_names, _labels(data, changes))
    place = {name: i for i, name in enumerate(names)}
    labels = old[data.labels]
    for rows, tokens, label in changes:
        for row in rows:
            if data.every:
                own = _aligned(items, row, tokens, label)
                labels[data.starts[row] : data.starts[row + 1]] = [place[name] for name in own]
            else:
                labels[row] = place[label]
    return replace(data, labels=labels.astype(np.int32), label_names=names).occurring()


def _united(one: Iterable, other: Iterable) -> tuple[tuple, list[Ints]]:
    """The names of both, sorted, and the places in them of the one's and of the other's."""
    names = sorted({*one, *other})
    place = {name: i for i, name in enumerate(names)}
    return tuple(names), [np.array([place[x] for x in own], np.int64) for own in (one, other)]


def _labels(data: Dataset, changes: Sequence[tuple[list[int], Sequence, Any]]) -> set:
    names, wanted = dict[Any, None](), type(data.label_names[0])
    for _, tokens, label in changes:
        if data.every and (not isinstance(label, list) or len(label) != len(tokens)):
            raise ByheartError(
                f"every token of this data has a label: give {len(tokens)} for {tokens!r}."
            )
        for name in label if data.every else [label]:
            if type(name) is not wanted:
                raise ByheartError(
                    f"the labels of this data are of type {wanted.__name__}, not {name!r}."
                )
            names[name] = None
    rows = ((i, ([""], name, 1)) for i, name in enumerate(names, 1))
    return {*pack(rows, "what is changed", "label")["label_names"]}


def _aligned(items: Items, row: int, tokens: Sequence, labels: list) -> list:
    """The labels for the tokens of a row, which may stand in another order."""
    own = items.dataset.sequence(row)
    if items.positions:
        return labels
    pairs: dict = {}
    for token, label in zip(tokens, labels, strict=True):
        key = tuple(token) if isinstance(token, list | tuple) else token
        if pairs.setdefault(key, label) != label:
            raise ByheartError(
                f"the token {token!r} is given two labels, and order does not count here."
            )
    return [pairs[tuple(token) if isinstance(token, list) else token] for token in own]


def without(dataset: Dataset, rows: Sequence[int]) -> Dataset:
    """The dataset without these rows; ByheartError if nothing would be left."""
    kept = np.delete(np.arange(len(dataset)), rows)
    if not len(kept):
        raise ByheartError("nothing would be left of the data; delete the model instead.")
    return _begun(dataset.subset(kept).occurring())


def joined(one: Dataset, other: Dataset) -> Dataset:
    if one.kind != other.kind or one.vectors.shape[1] != other.vectors.shape[1]:
        raise ByheartError(
            f"the data has tokens of kind {one.kind}, what is added {other.kind}; or they have "
            "other dimensions."
        )
    if one.every != other.every:
        raise ByheartError(
            "the data and what is added differ: only one of them has a label for every token."
        )
    if type(one.label_names[0]) is not type(other.label_names[0]):
        raise ByheartError(
            "the data and what is added differ: only one of them has integers as labels."
        )
    if sum([*one.counts.tolist(), *other.counts.tolist()]) >= 2**63:
        raise ByheartError("the counts would add up to 2^63 or more; divide them.")
    tokens: Any
    if one.kind == "string":
        tokens, numbers = _united(one.tokens, other.tokens)
    else:
        pair = [np.asarray(d.tokens) for d in (one, other)]
        if pair[0].dtype != pair[1].dtype and any(
            x.dtype.kind == "i" and beyond_float(x) for x in pair
        ):
            raise ByheartError("an integer of the data is beyond what a double can hold.")
        tokens, same = number_rows(np.concatenate(pair))
        numbers = np.split(same, [len(pair[0])])
    names, places = _united(one.label_names, other.label_names)
    ids = [number[d.ids] for number, d in zip(numbers, (one, other), strict=True)]
    labels = [place[d.labels] for place, d in zip(places, (one, other), strict=True)]
    return _begun(
        replace(
            one,
            tokens=tokens,
            ids=np.concatenate(ids).astype(np.int32),
            starts=offsets(np.concatenate([one.lengths, other.lengths])),
            labels=np.concatenate(labels).astype(np.int32),
            label_names=names,
            counts=np.concatenate([one.counts, other.counts]),
            texts=None,
        )
    )


def _begun(data: Dataset) -> Dataset:
    """The dataset with the beginnings and the layout of its documents as they are now."""
    if data.beginnings is not None:
        first: Ints = np.unique(data.ids[data.starts[:-1][data.lengths == 1]])
        tokens = tuple(data.token(i) for i in first.tolist())
        listed = tokens if len(tokens) <= BEGINNINGS else None
        data = replace(data, beginnings=listed)  # type: ignore[arg-type]
    items = Items(data, positions=True, last=True)
    if not items.texts or data.loading.get("window") == 1:
        return replace(data, layout=None)
    return replace(data, layout=changed(items.documents(), str(data.loading.get("documents"))))
