"""What an .arrow file holds by its metadata alone: whether every byte is read, and its true size.

A stream is messages one after another: a schema, then batches of rows, or of values that rows refer
to. A file is such a stream between two magic words, and a footer that says where its batches are: a
reader takes the batches of the footer and passes over all others. Metadata are FlatBuffers tables.
"""

import struct
from collections.abc import Iterator
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError

MAGIC = b"ARROW1"
SCHEMA, VALUES, ROWS = 1, 2, 3  # kinds of messages
CONTINUED = 0xFFFFFFFF  # stands before the length of a message since version 0.15
BLOCK = np.dtype([("begin", "<i8"), ("metadata", "<i8"), ("body", "<i8")])
BUFFER = np.dtype([("begin", "<i8"), ("size", "<i8")])


class Fields:
    """A table of FlatBuffers: at `place` in `content`, with its fields by their numbers."""

    def __init__(self, content: bytes, place: int = 0) -> None:
        self.content, self.place = content, place + self._read("<I", content, place)

    @staticmethod
    def _read(form: str, content: bytes, place: int) -> int:
        return struct.unpack_from(form, content, place)[0]

    def at(self, field: int) -> int | None:
        """Where a field is; None if it is left out."""
        table = self.place - self._read("<i", self.content, self.place)
        if 4 + 2 * field >= self._read("<H", self.content, table):
            return None
        place = self._read("<H", self.content, table + 4 + 2 * field)
        return self.place + place if place else None

    def number(self, field: int, form: str) -> int:
        place = self.at(field)
        return 0 if place is None else self._read(form, self.content, place)

    def table(self, field: int) -> "Fields":
        place = self.at(field)
        if place is None:
            raise ValueError("a part of its metadata is missing")
        return Fields(self.content, place)

    def list(self, field: int, form: np.dtype) -> NDArray:
        place = self.at(field)
        if place is None:
            return np.zeros(0, form)
        place += self._read("<I", self.content, place)
        return np.frombuffer(self.content, form, self._read("<I", self.content, place), place + 4)


def true_size(content: mmap, name: str) -> int:
    """How many bytes all batches have when they are unpacked.

    ByheartError if bytes belong to no batch, or the footer does not name all of them.
    """
    begin, end, footer = 0, len(content), None
    if content[: len(MAGIC)] == MAGIC:
        begin, end = 8, end - len(MAGIC) - 4
        size = struct.unpack_from("<I", content, end)[0] if end > begin else 0
        if content[end + 4 :] != MAGIC or size > end - begin:
            raise ValueError("its end is missing")
        footer, end = Fields(content[end - size : end]), end - size
    total, places = 0, dict[int, list[int]]({VALUES: [], ROWS: []})
    for place, message, body in _messages(content, begin, end, name):
        kind = message.number(1, "<B")
        if kind == SCHEMA and place == begin:
            continue
        places[kind].append(place)
        batch = message.table(2) if kind == ROWS else message.table(2).table(1)
        compressed = batch.at(3) is not None
        for start, size in batch.list(2, BUFFER).tolist():
            if compressed and size >= 8:  # its size comes first; -1 if it is not compressed
                unpacked = struct.unpack_from("<q", content, body + start)[0]
                size = size if unpacked == -1 else unpacked
            total += max(0, size)
    for kind, field in ((VALUES, 2), (ROWS, 3)):
        if footer is not None and footer.list(field, BLOCK)["begin"].tolist() != places[kind]:
            raise ByheartError(
                f"{name}: its footer does not name every batch of it once and in order; write it "
                "again."
            )
    return total


def _messages(content: mmap, place: int, end: int, name: str) -> Iterator[tuple[int, Fields, int]]:
    """Where each message begins, its metadata, and where its body begins."""
    begin, size = place, 1
    while place < end and size:
        size, head = struct.unpack_from("<I", content, place)[0], 4
        if size == CONTINUED:
            size, head = struct.unpack_from("<I", content, place + 4)[0], 8
        body = place + head + size
        if size:
            message = Fields(content[place + head : body])
            yield place, message, body
            body += message.number(3, "<q")
        if body <= place or body > end or (not size and place == begin):
            raise ValueError("a batch is cut")
        place = body
    if place < end:
        raise ByheartError(
            f"{name}: the stream ends after {place - begin:,} of {end - begin:,} bytes; write all "
            "rows as one stream, or as a file."
        )
