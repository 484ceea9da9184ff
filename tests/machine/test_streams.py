"""Streams: whatever is written is read, whatever else is refused before it takes memory."""

import bz2
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.machine import streams
from byheart.machine.streams import Source, number, numbers, stream

ALIKE, MIXED = b"a" * 5000, b"the cat and the dog " * 9


@given(st.binary(max_size=300), st.lists(st.integers(0, (1 << 32) - 1)), st.integers(0, 1 << 50))
def test_what_is_written_is_read(data, values, value):
    source = Source(stream(data) + numbers(values) + number(value), "it")
    assert source.stream() == data
    assert source.numbers(len(values)) == values
    assert source.number() == value
    source.end()


@pytest.mark.parametrize("data", [b"", b"a", ALIKE, MIXED])
@pytest.mark.parametrize("form", [0, 1, 3, 5, 7])
def test_every_way_of_packing_is_read(data, form):
    packed = data
    if form == 7:
        packed = bz2.compress(data)
    elif form:
        packed = lzma.compress(data, lzma.FORMAT_RAW, filters=streams.filters(form - 1))
    written = number(len(data)) + number(1 + len(packed)) + bytes([form]) + packed
    assert Source(written, "it").stream() == data


def bomb(stated: int) -> bytes:
    packed = bz2.compress(bytes(1 << 22))
    return number(stated) + number(1 + len(packed)) + b"\7" + packed


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (stream(ALIKE)[:-1], "cut off"),
        (number(1 << 28) + b"\1\0", "above the limit"),
        (number(4) + b"\3\0ab", "another length than it says"),
        (bomb(100), "another length than it says"),
        (number(4) + b"\3\7ab", "cannot be unpacked"),
        (number(4) + b"\3\1\3\3", "cannot be unpacked"),
        (number(4) + b"\3\2ab", "in no known way"),
        (number(0) + b"\0", "in no known way"),
        (b"\xff" * 12, "absurdly large"),
    ],
)
def test_what_is_no_stream_is_refused(data, reason):
    with pytest.raises(ByheartError, match=reason):
        Source(data, "the file").stream()


def test_numbers_of_another_count_and_bytes_at_the_end_are_refused():
    with pytest.raises(ByheartError, match="a stream has 2 bytes, not 3"):
        Source(numbers([1, 2]), "it").numbers(3)
    with pytest.raises(ByheartError, match="more than 32 bits"):
        Source(numbers([1 << 40]), "it").numbers(1)
    with pytest.raises(ByheartError, match="1 bytes follow its end"):
        Source(b"a", "it").end()
