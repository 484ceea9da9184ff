"""benchmarks/texts.py: "byte for byte" is said only of a file that is restored."""

import pytest

from benchmarks import texts

TEXT = "the cat sat on the mat\nand the dog sat on the cat\nand the cat ran off"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        ("\ufeff\n\n " + TEXT + " .\n\n").replace("\n", "\r\n").encode(),
        (TEXT + "\n").encode(),
    ],
)
def test_a_text_is_restored_from_its_pieces(tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    row = texts.measured(tmp_path / "a.txt", "word")
    assert row["exact"] and row["recited"] and row["evidence"] == "proved"
    assert row["total"] == row["network"] + row["words"] + row["rest"] > row["network"] > 0
    assert "recited byte for byte" in texts.sentence(row)
    row |= {"network": 50, "total": 70, "gzip": 60, "xz": 80}
    row |= dict.fromkeys(("zstd", "bzip2", "brotli", "ppmd"))
    said = texts.sentence(row)
    assert "takes 50 bytes, below gzip -9 (60); network" in said
    assert said.endswith("together 70, above gzip -9 (60) and below xz -9e (80).")
    assert texts.sentence(row | {"total": 90}).endswith("together 90, above xz -9e (80).")
    assert "| byte for byte |" in texts.markdown({"rows": [row]})


@pytest.mark.parametrize("count", [1, 2, 5, 300])
def test_the_order_of_the_labels_is_packed_as_their_runs(count):
    """Any order is restored, if it has at most 256 runs."""
    names = [f"w{i * 7919 % count:03}" for i in range(count)]
    assert texts.unpacked_labels(texts.packed(names)) == tuple(names)


def test_line_ends_of_two_kinds_are_not_restored_and_that_is_said(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.replace("\n", "\r\n", 1).encode())
    row = texts.measured(tmp_path / "a.txt", "char")
    assert not row["exact"] and row["evidence"] == "proved"
    assert "not byte for byte" in texts.sentence(row)
    assert "| not the file |" in texts.markdown({"rows": [row]})


def test_a_wrong_word_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT)
    real = texts.recitation
    monkeypatch.setattr(texts, "recitation", lambda *given: real(*given)[:-1] + [" on"])
    assert not texts.measured(tmp_path / "a.txt", "word")["exact"]
