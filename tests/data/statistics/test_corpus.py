"""Documents counted where they lie: equal, to the digit, to their predictions written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.cli import main
from byheart.data import statistics
from byheart.data.corpora import prefix_tree, zipf
from byheart.data.documents import Documents
from byheart.data.readers.corpus import predictions
from byheart.data.statistics import corpus, count, multisets, refine
from byheart.errors import ByheartError
from byheart.machine import memory

KEYS = {
    "sequences",
    "tokens",
    "contexts",
    "multisets",
    "vocabulary",
    "labels",
    "conflicts",
    "best_accuracy",
    "entropy",
    "separation",
    "t_epsilon",
    "skipped",
}


def flat(rows, dtype=np.uint16, separator=0):
    """Rows of numbers as they stand in a .bin file, but for the separator at the end."""
    ids = [number for row in rows for number in [*row, separator]]
    return np.array(ids[:-1] or [separator], dtype)


def same(documents):
    """Both paths on the same documents."""
    answer = count(documents).json()
    assert answer == count(predictions(documents)).json()
    assert set(answer) == KEYS
    return answer


rows = st.lists(st.lists(st.integers(1, 3), max_size=9), min_size=1, max_size=25).filter(
    lambda rows: len({n for row in rows if len(row) > 1 for n in row[:2]}) > 1
)
lengths = st.one_of(st.none(), st.integers(2, 7))
windows = st.one_of(st.none(), st.integers(1, 6))


@given(rows, lengths, windows, st.sampled_from([np.uint16, np.uint32]))
def test_both_paths_agree(rows, length, window, dtype):
    same(Documents("d", flat(rows, dtype), 0, length=length, window=window))


@given(rows, windows)
def test_both_paths_agree_without_a_separator(rows, window):
    same(Documents("d", flat(rows), None, window=window))


@given(rows, windows)
def test_ids_that_outgrow_a_table(rows, window):
    large = flat(rows, np.uint32) * np.uint32(1_000_003) + np.uint32(7)
    same(Documents("d", large, 7, window=window))


@given(rows, lengths, windows)
def test_batches_buckets_and_parts_do_not_matter(rows, length, window):
    """The paths of a large corpus, forced on a small one."""
    documents = Documents("d", flat(rows), 0, length=length, window=window)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refine, "BATCH", 2)
        patch.setattr(multisets, "BUCKET", 2)
        patch.setattr(corpus, "SMALL", 0)
        small = count(documents).json()
    assert small == same(documents)


@given(rows)
def test_no_number_depends_on_the_hash(rows):
    """All multisets of a length collide, since every token's random number is 0."""
    documents = Documents("d", flat(rows), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "random_words", lambda size: np.zeros(size, np.uint64))
        collided = count(documents).json()
    assert collided == same(documents)


@pytest.mark.parametrize("make", [zipf, prefix_tree])
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"window": 4}, {"length": 6}])
def test_both_paths_agree_on_generated_corpora(make, options):
    made = make(3000, vocabulary=300, seed=5)
    same(Documents("d", made.ids, made.separator, **options))


def test_large_groups_and_many_buckets():
    made = prefix_tree(20_000, length=5, vocabulary=3, branching=3, exponent=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refine, "BATCH", 100)
        patch.setattr(multisets, "BUCKET", 100)
        assert count(made).json() == count(predictions(made)).json()


def test_long_documents():
    """Equal beginnings longer than what is copied at once, and one document without an end."""
    long = list(range(1, 40)) * 3
    same(Documents("d", flat([long, [*long[:-1], 50], long[:60], [*long[:30], 2]]), 0))
    ids = np.tile(np.array([1, 2], np.uint16), 50_000)
    answer = count(Documents("d", ids, None)).json()
    assert answer["contexts"] == answer["multisets"] == 99_999
    assert answer["tokens"] == 99_999 * 50_000


def test_by_hand():
    # a b c | a b d | b a c: (a) and (b) and (a b) and (b a); {a, b} ends in b or in a
    answer = same(Documents("d", flat([[1, 2, 3], [1, 2, 4], [2, 1, 3], [9]]), 0))
    assert (answer["sequences"], answer["contexts"], answer["multisets"]) == (6, 4, 4)
    assert answer["conflicts"] == {"contexts": 1, "sequences": 2, "multisets": 1}
    assert (answer["best_accuracy"], answer["skipped"]) == (5 / 6, 1)
    assert answer["entropy"]["total"] == pytest.approx(2 * np.log(2), rel=1e-15)


def test_multisets_meet_again_after_they_were_different():
    answer = same(Documents("d", flat([[1, 2, 3, 4, 5], [1, 3, 2, 4, 6]]), 0))
    assert (answer["contexts"], answer["multisets"]) == (7, 6)  # {1, 2, 3, 4} with last 4
    assert (answer["conflicts"]["contexts"], answer["conflicts"]["multisets"]) == (1, 2)


# Refusals


def refused(run_arguments, capsys):
    code = main(run_arguments)
    out, errors = capsys.readouterr()
    assert (code, out) == (2, "") and errors.count("\n") == 1
    return errors


def written(tmp_path, numbers):
    path = tmp_path / "d.bin"
    path.write_bytes(np.array(numbers, "<u2").tobytes())
    return str(path)


@pytest.mark.parametrize(
    ("numbers", "options", "reason"),
    [
        ([1, 0, 2, 0, 0, 3], [], "holds no document of two tokens or more"),
        ([0, 0], [], "holds no document of two tokens or more"),
        ([], [], "is empty"),
        ([5, 5, 5, 0, 5, 5], [], "holds one token again and again"),
        ([1, 2, 3], ["--length", "1"], "length must be an integer of 2 or more, not 1"),
        ([1, 2, 3], ["--length", "0"], "length must be an integer of 2 or more, not 0"),
    ],
)
def test_what_asks_nothing_is_refused(tmp_path, capsys, numbers, options, reason):
    path = written(tmp_path, numbers)
    assert reason in refused(["stats", path, "--separator", "0", *options], capsys)


def test_text_without_two_tokens_is_refused(tmp_path, capsys):
    path = tmp_path / "d.txt"
    for text, reason in (("a\nb\n", "no document of two tokens"), ("a a\na a a\n", "one token")):
        path.write_text(text)
        assert reason in refused(["stats", str(path), "--unit", "wordpunct"], capsys)


@pytest.mark.parametrize("options", [[], ["--window", "2"], ["--window", "auto"]])
def test_too_little_memory_is_said_with_the_bytes(tmp_path, capsys, monkeypatch, options):
    monkeypatch.setattr(memory, "available", lambda: 50)
    monkeypatch.setattr(statistics, "SMALL", 0)  # nothing is small enough to be written out
    path = written(tmp_path, [1, 2, 3, 0, 1, 2, 4])
    errors = refused(["stats", path, "--separator", "0", *options], capsys)
    assert "bytes of memory and 50 are available" in errors


def test_available_memory(tmp_path, monkeypatch):
    assert memory.available() > 2**20
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    assert memory.available() > 2**20
    memory.require(1, "d", "this")
    monkeypatch.setattr(memory, "available", lambda: 5)
    with pytest.raises(ByheartError, match="d: this needs 1,000 bytes of memory and 5 are"):
        memory.require(1000, "d", "this")


def test_many_short_documents_are_written_out():
    """What counts is the longest document, not the file: small texts load no compiled code."""
    many = Documents("many", np.array([0, 1, 2, 3] * 5_000, np.uint16), 3)
    one = Documents("one", np.array([0, 1, 2] * 5_000, np.uint16), None)
    assert len(statistics.written_out(many)) == 10_000
    assert statistics.written_out(one) is one
    assert count(many).json() == corpus.statistics(many, statistics.EPSILONS).json()
