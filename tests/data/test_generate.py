"""Generated datasets: consistent, trapped as promised, and the same again from the same seed."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data.contexts import contexts
from byheart.data.generate import KINDS, TRAPS, multisets, random, save, tokens
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError

RANDOM = [kind for kind in KINDS if kind != "adversarial"]  # which has a file of its own


@given(
    sequences=st.integers(1, 60),
    length=st.integers(1, 5),
    dimension=st.integers(1, 3),
    labels=st.integers(1, 4),
    seed=st.integers(0, 2**32),
    skew=st.sampled_from(["uniform", "zipf", "geometric"]),
)
def test_multiset_and_last_token_decide_the_label(sequences, length, dimension, labels, seed, skew):
    data = random(sequences, length, dimension, labels, seed, skew=skew)
    assert (len(data), data.length, data.tokens.shape[1]) == (sequences, length, dimension)
    assert not contexts(data, positions=False).conflicts(data).any()
    assert set(data.label_names) <= set(range(labels))
    rows = [(data.sequence(i), data.label(i)) for i in range(sequences)]
    assert from_rows(rows).sha256() == data.sha256()  # numbered as any other dataset


sizes = given(
    sequences=st.integers(1, 60),
    length=st.integers(1, 5),
    labels=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)


@sizes
def test_multiset_and_token_decide_the_label_of_a_token(sequences, length, labels, seed):
    data = tokens(sequences, length, 2, labels, seed)
    assert data.every and (len(data), len(data.labels)) == (sequences, sequences * length)
    assert not contexts(data, positions=False).conflicts(data).any()
    names = [data.label(k) for k in range(len(data.labels))]
    rows = [(data.sequence(i), names[i * length : (i + 1) * length]) for i in range(sequences)]
    assert from_rows(rows).sha256() == data.sha256()


@sizes
def test_the_multiset_alone_decides_the_label(sequences, length, labels, seed):
    data = multisets(sequences, length, 2, labels, seed)
    assert (len(data), data.length, data.every) == (sequences, length, False)
    assert not contexts(data, positions=False, last=False).conflicts(data).any()
    rows = [(data.sequence(i), data.label(i)) for i in range(sequences)]
    assert from_rows(rows).sha256() == data.sha256()


def test_multisets_have_all_sizes():
    assert set(multisets(200).lengths.tolist()) == set(range(8))


def test_same_seed_same_data():
    assert random(500, seed=3).sha256() == random(500, seed=3).sha256()
    assert random(500, seed=3).sha256() != random(500, seed=4).sha256()


def test_traps_are_there():
    data = random(20_000, labels=2)
    rows = data.ids.reshape(-1, 4)
    ordered, seen, plain = (
        len(contexts(data, *view)) for view in ((True, True), (False, True), (False, False))
    )
    repeated = float((rows == rows[:, :1]).all(axis=1).mean())
    copied = TRAPS["permuted"] + TRAPS["swapped"] + TRAPS["duplicate"]
    assert repeated == pytest.approx(TRAPS["repeated"] / (1 - copied), abs=0.01)
    assert plain < seen - 500 < ordered - 1000 < len(data) - 2000


def test_vocabulary_and_skew():
    data = random(5000, vocabulary=3, dimension=2)
    assert len(data.tokens) <= 3
    shares = [
        np.bincount(random(20_000, labels=4, skew=s).labels) / 20_000
        for s in ("uniform", "zipf", "geometric")
    ]
    expected = ([1 / 4] * 4, [12 / 25, 6 / 25, 4 / 25, 3 / 25], [8 / 15, 4 / 15, 2 / 15, 1 / 15])
    for share, chances in zip(shares, expected, strict=True):
        assert share.tolist() == pytest.approx(chances, abs=0.03)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sequences": 0}, "sequences must be an integer of 1 or more, not 0"),
        ({"sequences": 5, "length": 0}, "length must be an integer of 1 or more"),
        ({"sequences": 5, "dimension": 1.5}, "dimension must be an integer of 1 or more"),
        ({"sequences": 5, "labels": True}, "labels must be an integer of 1 or more"),
        ({"sequences": 5, "vocabulary": -1}, "vocabulary must be an integer of 1 or more"),
        ({"sequences": 5, "seed": -1}, "seed must be an integer of 0 or more"),
        ({"sequences": 5, "skew": "flat"}, "skew must be one of uniform, zipf, geometric"),
    ],
)
def test_bad_sizes(options, reason):
    with pytest.raises(ByheartError, match=reason):
        random(**options)


@pytest.mark.parametrize(
    ("kind", "extension"),
    [(k, e) for k in RANDOM for e in (".npz", ".jsonl") if (k, e) != ("multisets", ".npz")],
)
def test_saved_and_loaded(tmp_path, kind, extension):
    data = KINDS[kind](200, **({} if kind == "uniform" else {"labels": 5}))
    save(data, tmp_path / f"d{extension}")
    assert load(tmp_path / f"d{extension}").sha256() == data.sha256()
    assert os.listdir(tmp_path) == [f"d{extension}"]


def test_numbers_saved_as_npz(tmp_path):
    for labels in ((3, -4), ([3, 5], [-4, 3])):
        data = from_rows([([1.5, 2.0], labels[0]), ([2.0, 2.0], labels[1])])
        save(data, tmp_path / "d.npz")
        assert load(tmp_path / "d.npz").sha256() == data.sha256()


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(["a"], 1)], "string tokens"),
        ([([1], "a")], "string labels"),
        ([([1], 1), ([1, 2], 1)], "sequences of different lengths"),
        ([([], 1), ([1, 2], 1)], "sequences of different lengths"),
        ([([1], 1, 2)], "counts"),
    ],
)
def test_what_npz_cannot_hold(tmp_path, rows, reason):
    with pytest.raises(ByheartError, match=f"an .npz file cannot hold {reason}; use .jsonl"):
        save(from_rows(rows), tmp_path / "d.npz")


def test_failed_writes_leave_nothing(tmp_path):
    data = random(5)
    with pytest.raises(ByheartError, match="the name must end in one of .jsonl .npz"):
        save(data, tmp_path / "d.csv")
    with pytest.raises(ByheartError, match="cannot be written: No such file or directory"):
        save(data, tmp_path / "missing" / "d.npz")
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(ByheartError, match="d.jsonl cannot be written"):
        save(data, tmp_path / "d.jsonl")
    assert os.listdir(tmp_path) == ["d.jsonl"]
