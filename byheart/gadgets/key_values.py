"""A table from keys to labels as blocks: kajitsuka2025, Lemmas C.1 (II, III), F.1, G.2, G.3.

A key is a number x >= 2; any two known ones are at least 2 apart. The table holds floor(x) and a
label from 1 on for some of them; for the others the answer is 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..theory.kajitsuka2025.sizes import group_size as group_size
from .bit_reading import Tape, rewound, search, sides
from .blocks import Block

TABLE = ("keys", "keys y", "keys sum", "labels", "labels y", "labels sum", "below", "above")


@dataclass(frozen=True)
class Table:
    """Keys (floors, increasing) with their labels, and the bits that each of them takes."""

    keys: tuple[int, ...]
    labels: tuple[int, ...]
    key_bits: int
    label_bits: int

    def __post_init__(self) -> None:
        assert 2 <= min(self.keys) and max(self.keys) < 1 << self.key_bits
        assert 1 <= min(self.labels) and max(self.labels) < 1 << self.label_bits

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, stop: int) -> "Table":
        keys, labels = self.keys[start:stop], self.labels[start:stop]
        return Table(keys, labels, self.key_bits, self.label_bits)


def table(keys: Sequence[int], labels: Sequence[int], key_bits: int, label_bits: int) -> Table:
    """The table of these keys, sorted."""
    keys, labels = zip(*sorted(zip(keys, labels, strict=True)), strict=True)
    return Table(keys, labels, key_bits, label_bits)


def lookup(lane: str, table: Table, output: str) -> Iterator[Block]:
    """output += the label of the key in `lane`, 0 for every other known key (eq. (104), (105)).

    Groups of k = group_size keys that follow each other are packed into two numbers, of keys and of
    labels, eq. (99), (100). `select` puts a group's numbers into the stream if x is between its
    ends (another known key there finds no equal one later), `search` compares x with the group's
    keys. Free places of the last group hold key 0 and label 0: every x is above 0 + 3/2.
    Without a group both numbers are 0, which is a group of free places.
    The lanes of TABLE are 0 before and afterwards.
    """
    yield from split_lookup(lane, table, output, group_size(len(table)), len(table))


def split_lookup(lane: str, table: Table, output: str, size: int, points: int) -> Iterator[Block]:
    """Lemma F.1: `lookup` in parts of `points` keys, eq. (140); known keys elsewhere give 0."""
    keys, labels = Tape("keys", size, table.key_bits), Tape("labels", size, table.label_bits)
    for start in range(0, len(table), points):
        part = table.part(start, start + points)
        for first in range(0, len(part), size):
            group = part.part(first, first + size)
            numbers = {
                "labels": _packed(group.labels, size, table.label_bits),  # eq. (99)
                "keys": _packed(group.keys, size, table.key_bits),  # eq. (100)
            }
            yield from select(lane, group.keys[0], group.keys[-1], numbers)
        yield from search(lane, keys, labels, output)
        yield rewound(keys, labels)


def _packed(values: Sequence[int], places: int, bits: int) -> int:
    """The values as digits of `bits` bits, the first one leading; missing ones are 0."""
    return sum(value << bits * (places - i) for i, value in enumerate(values, 1))


def select(lane: str, first: int, last: int, numbers: Mapping[str, int]) -> tuple[Block, Block]:
    """Each lane of `numbers` += its number, if the lane x is in [first, last + 1]; two blocks.

    Lemma G.2 with a = first and b = last + 1: the indicator is
        relu(1 - relu(2a - 2x)) + relu(1 - relu(2x - 2b)) - 1.
    In [a, b] both inner terms are 0, so it is 1 + 1 - 1 = 1. Below a - 1/2 the first inner term is
    above 1, so it is 0 + 1 - 1 = 0; above b + 1/2 likewise. In the two gaps of length 1/2 it is
    neither; floors of keys that are 2 apart keep every other key out of them:
    x <= key - 2 < floor(key) - 1 and x >= key + 2 >= floor(key) + 2.
    Lemma G.3 adds number * indicator to a lane, eq. (152).
    """
    a, b = first, last + 1
    edges = Block(
        "select", [({lane: -2}, 2 * a), ({lane: 2}, -2 * b)], [("below", 0, 1), ("above", 1, 1)]
    )
    added = sides("select", dict(numbers))
    constants = {name: -number for name, number in numbers.items()}
    return edges, Block("select", added.units, added.writes, constants)
