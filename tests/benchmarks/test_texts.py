"""benchmarks/texts.py: "byte for byte" is said only of a file that is restored."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = "the cat sat on the mat\nand the dog sat on the cat\nand the cat ran off"


@pytest.fixture(scope="module")
def texts():
    place = importlib.util.spec_from_file_location("texts", ROOT / "benchmarks/texts.py")
    program = importlib.util.module_from_spec(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", ["", *sys.path])  # the program replaces the first
        place.loader.exec_module(program)
    return program


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        ("\ufeff\n\n " + TEXT + " .\n\n").replace("\n", "\r\n").encode(),
        (TEXT + "\n").encode(),
    ],
)
def test_a_text_is_restored_from_its_pieces(texts, tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    row = texts.measured(tmp_path / "a.txt", "word")
    assert row["exact"] and row["recited"] and row["evidence"] == "proved"
    assert row["total"] == row["network"] + row["words"] + row["rest"] > row["network"] > 0
    assert "recited byte for byte" in texts.sentence(row)
    row |= {"network": 50, "total": 70, "gzip": 60, "xz": 80, "zstd": None}
    said = texts.sentence(row)
    assert "takes 50 bytes, below gzip -9 (60) and xz -9e (80); network" in said
    assert said.endswith("together 70, below xz -9e (80).")
    assert texts.sentence(row | {"total": 90}).endswith("together 90, above xz -9e.")
    assert "| byte for byte |" in texts.markdown([row])


def test_the_headline_says_what_is_true(texts):
    """Of texts that were restored; with the vocabulary if that is below xz, else without it."""
    row = {
        "text": "plrabn12.txt", "bytes": 900, "parameters": 40, "network": 50, "total": 70,
        "xz": 80, "exact": True, "recited": True,
    }  # fmt: skip
    assert "first word take 70 bytes together, where `xz -9e` takes 80" in texts.headline([row])
    assert "*Paradise Lost* (900 bytes)" in texts.headline([row])
    larger = row | {"text": "b.txt", "bytes": 2000, "total": 90}
    assert "80 ([docs/texts.md](docs/texts.md); 1 of 2 texts are above xz with" in texts.headline(
        [row, larger]
    )
    said = texts.headline([larger])
    assert "network takes 50 bytes" in said and "does not hold, it is 90" in said
    for wrong in ({"exact": False}, {"recited": False}, {"network": 81, "total": 99}):
        assert texts.headline([row | wrong]) == ""


@pytest.mark.parametrize("count", [1, 2, 5, 300])
def test_the_order_of_the_labels_is_packed_as_their_runs(texts, count):
    """Any order is restored, if it has at most 256 runs."""
    names = [f"w{i * 7919 % count:03}" for i in range(count)]
    assert texts.unpacked_labels(texts.packed(names)) == tuple(names)


def test_line_ends_of_two_kinds_are_not_restored_and_that_is_said(texts, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.replace("\n", "\r\n", 1).encode())
    row = texts.measured(tmp_path / "a.txt", "char")
    assert not row["exact"] and row["evidence"] == "proved"
    assert "not byte for byte" in texts.sentence(row)
    assert "| not the file |" in texts.markdown([row])


def test_a_wrong_word_is_noticed(texts, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT)
    real = texts.recitation
    monkeypatch.setattr(texts, "recitation", lambda *given: real(*given)[:-1] + [" on"])
    assert not texts.measured(tmp_path / "a.txt", "word")["exact"]
