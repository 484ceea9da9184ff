"""Compressed files: read to their last byte or refused, and bounded."""

import bz2
import gzip
import io
import lzma
import shutil
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from byheart import ByheartError, compile, load, verify
from byheart.data.readers import npz, raw
from byheart.machine import memory

GOOD = b'{"input": ["a", "b"], "label": "x"}\n{"input": ["b", "c"], "label": "y"}\n'
WRONG = b'{"input": ["c", "c"], "label": "WRONG"}\n'
PACKED = {".bz2": bz2.compress, ".xz": lzma.compress, ".gz": gzip.compress}
STREAMS = (".bz2", ".xz")


def flipped(content, place, bits=0x55):
    changed = bytearray(content)
    changed[place] ^= bits
    return bytes(changed)


def many():
    """Rows that contradict the model, enough for many blocks of a second stream."""
    return b"".join(b'{"input": ["a", "b"], "label": "%d"}\n' % i for i in range(40_000))


BEHIND = {  # what follows the first stream
    "zeros, then a stream": lambda pack: b"\0" * 7 + pack(WRONG),
    "rows as they are": lambda pack: WRONG,
    "a damaged header": lambda pack: flipped(pack(WRONG), 3),
    "a damaged middle": lambda pack: flipped(pack(WRONG), len(pack(WRONG)) // 2),
    "a truncated stream": lambda pack: pack(WRONG)[:-6],
    "one byte": lambda pack: b"B",
    "a bit that flipped early": lambda pack: flipped(pack(many()), 12, 1),
    "a bit that flipped late": lambda pack: flipped(pack(many()), -40, 1),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("compression", STREAMS)
def test_what_follows_a_stream_and_is_none_is_damage(tmp_path, compression, behind):
    path, pack = tmp_path / f"t.jsonl{compression}", PACKED[compression]
    path.write_bytes(pack(GOOD) + BEHIND[behind](pack))
    (tmp_path / "plain.jsonl").write_bytes(GOOD)
    model = compile(tmp_path / "plain.jsonl")
    for verb in (lambda: compile(path), lambda: verify(model, path)):
        with pytest.raises(ByheartError, match=r"cannot be decompressed \(.*damaged, truncated"):
            verb()


@pytest.mark.parametrize("compression", PACKED)
def test_streams_one_after_another_are_one_file(tmp_path, compression):
    path, pack = tmp_path / f"t.jsonl{compression}", PACKED[compression]
    path.write_bytes(pack(GOOD) + pack(b"") + pack(WRONG))
    assert [label for _, label in load(path)] == ["x", "y", "WRONG"]


def test_streams_of_xz_may_be_padded_with_zeros_in_fours(tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl.xz"
    path.write_bytes(lzma.compress(GOOD) + b"\0" * 8 + lzma.compress(WRONG) + b"\0" * 12)
    for chunk in (raw.CHUNK, 5, 1):
        monkeypatch.setattr(raw, "CHUNK", chunk)
        assert len(load(path)) == 3
    path.write_bytes(lzma.compress(GOOD) + b"\0" * 6)
    with pytest.raises(ByheartError, match="zeros that are not padding follow a stream"):
        load(path)


# ---------------------------------------------------------------- bombs


@pytest.mark.parametrize("compression", PACKED)
def test_a_file_that_unpacks_to_very_much_is_refused_early(tmp_path, monkeypatch, compression):
    path = tmp_path / f"bomb.txt{compression}"
    path.write_bytes(PACKED[compression](b"a b\n" * (1 << 20)))
    monkeypatch.setattr(raw, "ALWAYS", 1 << 20)
    monkeypatch.setattr(raw, "RATIO", 100)
    written = []
    monkeypatch.setattr(raw.tempfile, "TemporaryFile", lambda: recording(written))
    with pytest.raises(ByheartError, match="unpacks to more than 1,048,576 bytes, over .* times"):
        load(path)
    assert sum(written) <= 1 << 20


def test_a_file_of_a_high_ratio_is_read_up_to_a_size(tmp_path):
    """A log that repeats itself: 1,000 times smaller, and no bomb."""
    path = tmp_path / "log.txt.xz"
    line = b"2026-11-18 12:00:00 INFO request served in 12 ms\n"
    path.write_bytes(lzma.compress(line * 20_000))
    assert 20_000 * len(line) > 1000 * path.stat().st_size
    with raw.opened(path, ".txt") as file:
        assert file.size() == 20_000 * len(line)
    assert raw.ALWAYS >= 1 << 30 and raw.RATIO > 1032  # which is the most that gzip can do


@pytest.mark.parametrize("name", ["bomb.txt.gz", "-"])
def test_the_temporary_folder_is_never_filled(tmp_path, monkeypatch, name):
    content = b"a b\n" * 5000
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(content))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10_000))
    path = name if name == "-" else tmp_path / name
    with pytest.raises(ByheartError, match="holds more than the 9,000 bytes that temporary files"):
        load(path, format="txt")


def deflated(path, size, shape=None):
    """An archive whose inputs are that many zeros, and what its header says of them."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": shape or (size, 1)}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("inputs.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for start in range(0, size, 1 << 20):
                member.write(bytes(min(1 << 20, size - start)))
        labels = io.BytesIO()
        np.lib.format.write_array(labels, np.zeros(3, np.int8))
        archive.writestr("labels.npy", labels.getvalue())
    return path


def test_an_archive_that_unpacks_to_very_much_is_refused_before(tmp_path, monkeypatch):
    path = deflated(tmp_path / "bomb.npz", 1 << 22)
    monkeypatch.setattr(raw, "ALWAYS", 1 << 20)
    monkeypatch.setattr(raw, "RATIO", 100)
    monkeypatch.setattr(npz, "_array", None)  # nothing is unpacked
    with pytest.raises(ByheartError, match="unpacks to more than 1,048,576 bytes, over .* times"):
        load(path)


def test_an_archive_that_the_memory_does_not_hold_is_refused_before(tmp_path, monkeypatch):
    path = deflated(tmp_path / "bomb.npz", 1 << 22)
    monkeypatch.setattr(memory, "available", lambda: 34 << 22)
    with pytest.raises(ByheartError, match="has the shape"):  # it fits, and is looked at
        load(path)
    monkeypatch.setattr(memory, "available", lambda: 33 << 22)
    monkeypatch.setattr(npz, "_array", None)
    with pytest.raises(ByheartError, match="its content needs .* bytes of memory"):
        load(path)


@pytest.mark.parametrize("shape", [(1 << 50, 1), (1 << 20, 1 << 20), (-2, -5), (0, 1 << 62)])
def test_a_shape_that_the_archive_does_not_hold_is_refused_before(tmp_path, monkeypatch, shape):
    path = deflated(tmp_path / "shape.npz", 10, shape)
    monkeypatch.setattr(npz, "_array", None)
    with pytest.raises(
        ByheartError, match='cannot be read \\("inputs" is not as long as its shape'
    ):
        load(path)


class recording(io.BytesIO):  # noqa: N801
    """A file that notes how much is written to it."""

    def __init__(self, written):
        super().__init__()
        self.written = written

    def write(self, content):
        self.written.append(len(content))
        return super().write(content)
