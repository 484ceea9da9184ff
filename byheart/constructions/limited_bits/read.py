"""From the context's word to the label's number."""

from collections.abc import Iterator
from fractions import Fraction

from ...gadgets.blocks import Block, Unit, Write
from ...gadgets.prefix_code import PrefixCode
from .storage import Storage


def read(lane: str, storage: Storage, code: PrefixCode) -> Iterator[Block]:
    """The label's number, from the top bits of the lane, which is below 2**(K - 1) now.

    Decode, then read binary digits from the highest down.
    """
    top = storage.positions - 1
    first = code.kinks[0][1].bit_length() - 1  # shortest word
    yield from _decode(lane, storage, code, top, first)
    for i in reversed(range((len(code.lengths) - 1).bit_length())):
        yield from _digit(lane, storage, i, Fraction(2) ** (top - first + i))


def _decode(lane: str, storage: Storage, code: PrefixCode, top: int, first: int) -> Iterator[Block]:
    """The code's convex map, divided by 2**first."""
    kinks = code.kinks[1:]
    if kinks:
        units: list[Unit] = [({lane: 1}, -x * (1 << top) * storage.unit) for x, _ in kinks]
        yield Block("decode", units, [(lane, i, c >> first) for i, (_, c) in enumerate(kinks)])


def _digit(lane: str, storage: Storage, digit: int, threshold: Fraction) -> Iterator[Block]:
    """Add 2**digit to the output and take the threshold off the lane, if the lane is above it.

    relu(4x) - relu(4x - 1) is 1 if x > 0, for x = lane - threshold a multiple of 1/4. It is written
    to a lane of its own first, so that no product is longer than the lane.
    """
    four = 4 / storage.unit
    output = f"b{digit}" if digit else "O"
    units: list[Unit] = [({lane: four}, -4 * threshold), ({lane: four}, -4 * threshold - 1)]
    yield Block("read", units, [(output, 0, 1), (output, 1, -1)])
    if digit:
        writes: list[Write] = [(lane, 0, -threshold * storage.unit), ("O", 0, 1 << digit)]
        yield Block("read", [({output: 1}, 0)], writes)
