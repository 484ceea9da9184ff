"""Rows (input, label, count) to a Dataset.

Rows are packed in blocks: a block is checked as a whole, at the speed of C. Only when a block is
refused are its rows packed one by one, by the same code, to name the row at fault.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from . import values
from .arrays import number_rows, offsets
from .dataset import Dataset, Ints, beyond_float
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


def from_rows(rows: Iterable[tuple]) -> Dataset:
    """The dataset of (input, label) or (input, label, count) rows, in their order."""
    placed = ((place, _plain_row(place, row)) for place, row in enumerate(rows, 1))
    return pack(placed, "rows", "row")


def _plain_row(place: int, row: tuple) -> Row:
    """The row with numpy values and tuples turned into what JSON would give."""
    if not isinstance(row, (tuple, list)) or len(row) not in (2, 3):
        raise ByheartError(f"rows, row {place}: give (input, label) or (input, label, count).")
    tokens, label, count = (*map(_plain, row), 1)[:3]
    return [_plain(token) for token in tokens] if isinstance(tokens, list) else tokens, label, count


def _plain(value):
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return list(value) if isinstance(value, tuple) else value


def pack(rows: Iterable[Placed], source: str, unit: str = "line") -> Dataset:
    """The dataset of rows that come with their places; `source` and `unit` name them in errors."""
    names = Names(source, unit, values.numberer(), values.numberer())
    packed: list[Block] = []
    for part in _parts(rows):
        packed += _pack(part, names, packed)
    if not packed:
        raise ByheartError(f"{source} holds no sequences; give at least one.")
    if not any(block.kind for block in packed):
        raise ByheartError(f"{source} holds no token; give at least one.")
    return _join(packed, names)


def _parts(rows: Iterable[Placed]) -> Iterator[list[Placed]]:
    rows = iter(rows)
    while part := list(islice(rows, ROWS)):
        yield part


def _pack(part: list[Placed], names: Names, before: list[Block]) -> list[Block]:
    """The part as one block, or a block a row where only together the rows are refused."""
    try:
        block = _block(part, names)
        _agree(block, before)
        return [block]
    except Fault as fault:
        if len(part) == 1:
            raise names.error(part[0][0], fault) from None
    result: list[Block] = []
    for row in part:
        result += _pack([row], names, [*before, *result])
    return result


def _block(part: list[Placed], names: Names) -> Block:
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
    where = np.array(places, np.int64)
    return Block(kind, tokens, lengths, label_kind, numbers, every, repeats, where)


def _agree(block: Block, before: list[Block]) -> None:
    """Refuse a block that is unlike those before it."""
    if before and block.every != before[0].every:
        raise Fault("some labels are lists and some are not; give one a sequence or one a token")
    other = next((other for other in before if other.kind), None)
    if block.kind and other:
        if block.kind != other.kind:
            raise Fault(
                f"tokens of different kinds are mixed ({block.kind}s here and {other.kind}s "
                "before); use one kind a file"
            )
        if block.values.shape[1:] != other.values.shape[1:]:
            raise Fault(values.unlike_dimensions(block.values.shape[1], other.values.shape[1]))
    kinds = {other.label_kind for other in before if other.label_kind}
    if block.label_kind and kinds - {block.label_kind}:
        raise Fault("string and integer labels are mixed; use one kind a file")


def _join(packed: list[Block], names: Names) -> Dataset:
    """One dataset of all blocks, tokens and labels numbered in sorted order."""
    starts = offsets(np.concatenate([block.lengths for block in packed]))
    places = np.concatenate([block.places for block in packed])
    counts = np.concatenate([block.counts for block in packed])
    if sum(counts.tolist()) >= 2**63:
        raise names.error(places[counts.argmax()], "the counts add up to 2^63 or more; divide them")
    tokens, ids = _tokens(packed, names, np.repeat(places, np.diff(starts)))
    every = packed[0].every
    label_numbers = np.concatenate([block.labels for block in packed])
    whose = np.repeat(places, np.diff(starts)) if every else places
    label_names, labels = _sort(list(names.labels), label_numbers, names, whose)
    kind = next(block.kind for block in packed if block.kind)
    return Dataset(
        kind=kind,
        tokens=tokens,
        ids=ids.astype(np.int32),
        starts=starts,
        labels=labels.astype(np.int32),
        label_names=label_names,
        counts=counts,
        every=every,
    )


def _tokens(packed: list[Block], names: Names, places: Ints) -> tuple[tuple | NDArray, Ints]:
    packed = [block for block in packed if block.kind]
    if packed[0].kind == "string":
        numbers = np.concatenate([block.values for block in packed])
        return _sort(list(names.tokens), numbers, names, places)
    return number_rows(_common_values(packed, names))


def _sort(found: list, numbers: Ints, names: Names, places: Ints) -> tuple[tuple, Ints]:
    """The names in sorted order (strings by code point), and the numbers to match."""
    for number, name in enumerate(found):
        if isinstance(name, str) and not _is_text(name):
            place = places[(numbers == number).argmax()]
            raise names.error(place, f"{name!a} holds half a surrogate pair; repair the character")
    order = sorted(range(len(found)), key=found.__getitem__)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return tuple(found[i] for i in order), rank[numbers]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        raise names.error(_first_beyond_float(integers), fault) from None
    return np.concatenate([block.values.astype(dtype) for block in packed])


def _first_beyond_float(blocks: list[Block]) -> int:
    block = next(block for block in blocks if beyond_float(block.values))
    rows = np.split(block.values, offsets(block.lengths)[1:-1])
    return next(place for place, row in zip(block.places, rows, strict=True) if beyond_float(row))
