"""Generated corpora: as promised, and the same again from the same seed."""

import numpy as np
import pytest

from byheart.api.generate import generate
from byheart.data.corpora import CORPORA, prefix_tree, save, zipf
from byheart.data.load import read
from byheart.data.statistics import count
from byheart.errors import ByheartError


def rows(documents, length=10):
    ids = documents.ids.reshape(-1, length + 1)
    assert (ids[:, -1] == documents.separator).all()
    return ids[:, :-1]


@pytest.mark.parametrize("make", CORPORA.values())
def test_same_seed_same_corpus(make):
    one, again, other = make(500, seed=3), make(500, seed=3), make(500, seed=4)
    assert (one.ids == again.ids).all() and (one.ids != other.ids).any()
    assert rows(one).shape == (500, 10) and rows(one).max() < 50_000 == one.separator


@pytest.mark.parametrize("make", CORPORA.values())
def test_blocks_do_not_matter(make, monkeypatch):
    whole = make(500, seed=3)
    monkeypatch.setattr("byheart.data.corpora.BLOCK", 7)
    assert (make(500, seed=3).ids == whole.ids).all()


def test_zipf_has_its_chances():
    tokens = rows(zipf(20_000, vocabulary=4, exponent=1))
    share = np.bincount(tokens.ravel()) / tokens.size
    assert share.tolist() == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25], abs=0.01)
    assert np.bincount(rows(zipf(20_000, vocabulary=4, exponent=0)).ravel()).std() < 500


def test_a_beginning_has_few_tokens_that_follow():
    tokens = rows(prefix_tree(20_000, branching=3))
    assert len(np.unique(tokens[:, 0])) <= 3
    assert len(np.unique(tokens[:, :3], axis=0)) <= 27


def test_most_predictions_are_of_contexts_seen_before():
    tree, plain = (count(make(100_000)).json() for make in (prefix_tree, zipf))
    assert tree["contexts"] < 0.2 * tree["sequences"]
    assert plain["contexts"] > 0.8 * plain["sequences"]


def test_ids_are_as_wide_as_the_vocabulary_asks():
    assert zipf(5, vocabulary=65_535).ids.dtype == np.uint16
    assert zipf(5, vocabulary=65_536).ids.dtype == np.uint32


@pytest.mark.parametrize("kind", CORPORA)
@pytest.mark.parametrize("vocabulary", [50, 70_000])
def test_written_and_counted(tmp_path, kind, vocabulary):
    made = CORPORA[kind](300, vocabulary=vocabulary)
    wanted = count(made).json()
    for name in ("d.bin", "d.txt"):
        path = tmp_path / name
        about = generate(kind, path, sequences=300, vocabulary=vocabulary)
        found = count(read(path, **about.loading)).json()
        assert (about.sequences, about.length, about.options["seed"]) == (300, 10, 0)
        assert (about.vocabulary, about.labels) == (found["vocabulary"], found["labels"])
        for key in wanted.keys() - {"separation"}:  # a word is its number
            assert found[key] == wanted[key], key


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sequences": 0}, "sequences must be an integer of 1 or more, not 0"),
        ({"length": 1}, "length must be an integer of 2 or more, not 1"),
        ({"vocabulary": 1}, "vocabulary must be an integer of 2 or more, not 1"),
        ({"exponent": -1.0}, "exponent must be a number of 0 or more, not -1.0"),
        ({"exponent": float("nan")}, "exponent must be a number of 0 or more, not nan"),
        ({"branching": 0}, "branching must be an integer of 1 or more, not 0"),
        ({"seed": -1}, "seed must be an integer of 0 or more"),
    ],
)
def test_bad_options(options, reason):
    with pytest.raises(ByheartError, match=reason):
        prefix_tree(**{"sequences": 5, **options})


@pytest.mark.parametrize(
    ("kind", "name", "options", "reason"),
    [
        ("zipf", "d.jsonl", {}, "the name must end in one of .bin .txt"),
        ("random", "d.bin", {}, "the name must end in one of .jsonl .npz"),
        ("zipf", "d.bin", {"labels": 3}, "zipf takes no labels; it takes sequences"),
        ("zipf", "d.bin", {"branching": 3}, "zipf takes no branching"),
        ("random", "d.npz", {"exponent": 1.0}, "random takes no exponent"),
    ],
)
def test_generate_refuses_and_writes_nothing(tmp_path, kind, name, options, reason):
    with pytest.raises(ByheartError, match=reason):
        generate(kind, tmp_path / name, sequences=5, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(ByheartError, match="cannot be written"):
        save(zipf(5), tmp_path / "missing" / "d.bin")
    assert list(tmp_path.iterdir()) == []
