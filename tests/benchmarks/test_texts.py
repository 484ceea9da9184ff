"""benchmarks/texts.py: "byte for byte" is said only of a file that is restored."""

import pytest

from benchmarks import texts
from benchmarks.report import ROOT, recorded

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
def test_the_order_of_the_labels_is_packed(count):
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


def test_the_page_says_how_the_totals_compare():
    """The paragraph above the table has the ranges of the record."""
    page = " ".join((ROOT / "docs" / "texts.md").read_text().split())
    rows = {x["text"]: x for x in recorded("texts")["rows"] if x["unit"] == "word"}

    def shares(names, compressors, beside="total"):
        """Ours over theirs, or theirs saved of ours, in per cent: the least and the most."""
        pairs = [(rows[name], compressor) for name in names for compressor in compressors]
        found = [100 * row["total"] / row[compressor] for row, compressor in pairs]
        if beside == "saved":
            found = [100 - 10_000 / x for x in found]
        return round(min(found)), round(max(found))

    longer = ("plrabn12.txt", "pride-and-prejudice.txt", "tinyshakespeare.txt", "moby.txt")
    shorter, code = ("asyoulik.txt", "alice29.txt"), ("_pydecimal.py", "HDFS_2k.log")
    low, high = shares(longer, ("zstd", "brotli", "xz"))
    assert f"{low / 100:.2f} to {high / 100:.2f} of what zstd, brotli and xz take" in page
    assert min(shares(rows, ("bzip2", "ppmd"))) > 100
    low, high = shares(longer, ("gzip",))
    assert f"and {low / 100:.2f} to {high / 100:.2f} of gzip" in page
    finders, predictors = ("zstd", "brotli", "xz"), ("bzip2", "ppmd")
    others = (*finders, *predictors)
    most, least = (100 - x for x in shares(shorter, ("gzip",)))
    low, high = shares(shorter, finders)
    assert f"take {least} to {most} % less than gzip, {low / 100:.2f} to {high / 100:.2f}" in page
    low, high = shares(shorter, predictors)
    assert f"and {low - 100} to {high - 100} % more than bzip2 and PPMd" in page
    low, high = shares(("book.txt",), ("gzip", *others))
    assert f"{low - 100} to {high - 100} % more than any." in page
    low, high = shares(code, ("gzip",), "saved")
    assert f"gzip by {low} to {high} %" in page
    low, high = shares(code, others, "saved")
    assert f"the others by {low} to {high} %" in page
    low, high = shares(("tinystories.txt",), others, "saved")
    assert f"all but gzip are smaller, by {low} to {high} %" in page
