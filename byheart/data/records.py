"""Rows (input, label, count) to the fields of a Dataset.

Rows are packed in blocks: a block is checked as a whole, at the speed of C. Only when a block is
refused are its rows packed one by one, by the same code, to name the row at fault.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from . import values
from .arrays import Ints, beyond_float, number_rows, offsets
from .values import Fault

Row = tuple  # (input, label, count) as JSON would give them
Placed = tuple[int, Row]  # the line or row number a user would look for, and the row

ROWS = 1 << 10  # more rows at once make the garbage collector slow


@dataclass(frozen=True)
class Block:
    """Some rows in packed form: one kind of token, one kind of label (None if there are none)."""

    kind: str | None
    values: NDArray  # strings: provisional numbers [M]; numbers and vectors: [M, d]
    lengths: Ints
    label_kind: type | None
    labels: Ints  # provisional numbers
    every: bool
    counts: Ints
    places: Ints


@dataclass(frozen=True)
class Names:
    """Where rows come from, for error messages, and the names behind provisional numbers."""

    source: str
    unit: str
    tokens: defaultdict
    labels: defaultdict

    def error(self, place: int, what: object) -> ByheartError:
        return ByheartError(f"{self.source}, {self.unit} {place}: {what}.")


def plain(value: Any) -> Any:
    """A numpy value or a tuple as JSON would give it."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return list(value) if isinstance(value, tuple) else value


def plain_rows(rows: Iterable, source: str) -> Iterator[Placed]:
    """Rows from Python, counted from 1, with numpy values and tuples as JSON would give them."""
    for place, row in enumerate(rows, 1):
        if not isinstance(row, (tuple, list)) or len(row) not in (2, 3):
            raise ByheartError(
                f"{source}, row {place}: give (input, label) or (input, label, count)."
            )
        tokens, label, count = (*map(plain, row), 1)[:3]
        tokens = list(map(plain, tokens)) if isinstance(tokens, list) else tokens
        yield place, (tokens, label, count)


def pack(rows: Iterable[Placed], source: str, unit: str = "line") -> dict[str, Any]:
    """The fields of the Dataset of some rows; `source` and `unit` name a row at fault.

    Tokens and labels are numbered in sorted order.
    """
    names = Names(source, unit, values.numberer(), values.numberer())
    packed: list[Block] = []
    rows = iter(rows)
    while part := list(islice(rows, ROWS)):
        packed += _pack(part, names, packed)
    if not packed:
        raise ByheartError(f"{source} holds no sequences; give at least one.")
    if not any(block.kind for block in packed):
        raise ByheartError(f"{source} holds no token; give at least one.")
    lengths = np.concatenate([block.lengths for block in packed])
    places = np.concatenate([block.places for block in packed])
    counts = np.concatenate([block.counts for block in packed])
    if sum(counts.tolist()) >= 2**63:
        raise names.error(places[counts.argmax()], "the counts add up to 2^63 or more; divide them")
    filled = [block for block in packed if block.kind]
    kind, every, owners = filled[0].kind, packed[0].every, np.repeat(places, lengths)
    tokens: tuple | NDArray
    if kind == "string":
        numbers = np.concatenate([block.values for block in filled])
        tokens, ids = _sort(list(names.tokens), numbers, names, owners)
    else:
        tokens, ids = number_rows(_common_values(filled, names))
    numbers = np.concatenate([block.labels for block in packed])
    label_names, labels = _sort(list(names.labels), numbers, names, owners if every else places)
    return {
        "kind": kind,
        "tokens": tokens,
        "ids": ids.astype(np.int32),
        "starts": offsets(lengths),
        "labels": labels.astype(np.int32),
        "label_names": label_names,
        "counts": counts,
        "every": every,
    }


def _pack(part: list[Placed], names: Names, before: list[Block]) -> list[Block]:
    """The part as one block, or one block per row where the rows are refused only together."""
    try:
        return [_block(part, names, before)]
    except Fault as fault:
        if len(part) == 1:
            raise names.error(part[0][0], fault) from None
    result: list[Block] = []
    for row in part:
        result += _pack([row], names, [*before, *result])
    return result


def _block(part: list[Placed], names: Names, before: list[Block]) -> Block:
    """The part as one block; Fault if a row is wrong or unlike those before."""
    places, rows = zip(*part, strict=True)
    inputs, labels, counts = map(list, zip(*rows, strict=True))
    if set(map(type, inputs)) != {list}:
        raise Fault("the input is not a list; write it as a list of tokens")
    lengths = np.array(list(map(len, inputs)), np.int64)
    every, labels = values.labels(labels, lengths)
    label_kind = values.label_kind(labels)
    repeats = values.counts(counts)
    flat = list(chain.from_iterable(inputs))
    kind, tokens = values.tokens(flat, names.tokens) if flat else (None, np.zeros((0, 1)))
    numbers = np.array([names.labels[label] for label in labels], np.int64)
    if before and every != before[0].every:
        raise Fault(values.MIXED_LABELS)
    other = next((other for other in before if other.kind), None)
    if kind and other:
        if kind != other.kind:
            raise Fault(
                f"tokens of different kinds are mixed ({kind}s here and {other.kind}s before); "
                "use one kind per file"
            )
        if tokens.shape[1:] != other.values.shape[1:]:
            raise Fault(values.unlike_dimensions(tokens.shape[1], other.values.shape[1]))
    if label_kind and {other.label_kind for other in before} - {None, label_kind}:
        raise Fault(values.MIXED_KINDS)
    where = np.array(places, np.int64)
    return Block(kind, tokens, lengths, label_kind, numbers, every, repeats, where)


def _sort(found: list, numbers: Ints, names: Names, places: Ints) -> tuple[tuple, Ints]:
    """The names in sorted order (strings by code point), and the numbers to match."""
    for number, name in enumerate(found):
        try:
            str(name).encode()
        except UnicodeEncodeError:
            place = places[(numbers == number).argmax()]
            what = f"{name!a} holds half a surrogate pair; repair the character"
            raise names.error(place, what) from None
    order = sorted(range(len(found)), key=found.__getitem__)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return tuple(found[i] for i in order), rank[numbers]


def _common_values(packed: list[Block], names: Names) -> NDArray:
    """All values in one number type that holds them exactly."""
    floats = [block.values for block in packed if block.values.dtype == np.float64]
    integers = [block for block in packed if block.values.dtype == np.int64]
    if not floats or not integers:
        return np.concatenate([block.values for block in packed])
    try:
        dtype = values.common_type(
            np.concatenate([block.values for block in integers]), np.concatenate(floats)
        )
    except Fault as fault:
        block = next(block for block in integers if beyond_float(block.values))
        rows = np.split(block.values, offsets(block.lengths)[1:-1])
        large = next(i for i, row in enumerate(rows) if beyond_float(row))
        raise names.error(block.places[large], fault) from None
    return np.concatenate([block.values.astype(dtype) for block in packed])
