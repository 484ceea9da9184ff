"""Of vectors, only as many coordinates are read as keep all tokens apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.constructions.retrieval.coordinates import separating
from byheart.data.load import from_rows


def read(model):
    """The coordinates with a weight."""
    return sorted(column for _, column, _ in model.network.layers[0].weight.entries)


def test_by_hand():
    # the second and the third coordinate together; a coordinate with four values suffices alone
    assert separating(np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]])) == (1, 2)
    assert separating(np.array([[0, 0, 7], [0, 1, 8], [1, 0, 9], [1, 1, 6]])) == (2,)
    assert separating(np.array([[0.5, 0.1], [0.25, 0.2]])) == (0,)  # the shorter numbers
    assert separating(np.array([[3.0, 4.0]])) in {(0,), (1,)}


@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([2, 3, 100]))
def test_no_coordinate_could_be_left_out(seed, width, values):
    random = np.random.default_rng(seed)
    rows = np.unique(random.integers(0, values, (30, width)) / 4, axis=0)
    chosen = list(separating(rows))
    assert len(np.unique(rows[:, chosen], axis=0)) == len(rows)
    for left_out in chosen if len(chosen) > 1 else ():
        fewer = [i for i in chosen if i != left_out]
        assert len(np.unique(rows[:, fewer], axis=0)) < len(rows)


def vectors(count, width, **more):
    random = np.random.default_rng(5)
    points = random.integers(-99, 99, (count, width)) / 8
    return [([row.tolist()], int(random.integers(2))) for row in points]


@pytest.mark.parametrize("options", [{}, {"minimise": "bits"}, {"editable": True}])
def test_wide_vectors(options):
    data = from_rows(vectors(200, 64))
    model = byheart.compile(data, **options)
    narrow = from_rows([([[row[0][i] for i in read(model)]], y) for row, y in vectors(200, 64)])
    assert model.verification.evidence == "proved"
    assert len(read(model)) <= 3
    # as many parameters as for the coordinates that are read
    assert model.parameters.nonzero <= byheart.compile(narrow, **options).parameters.nonzero + 6


@pytest.mark.parametrize("method", ["limited-bits", "float64", "sparse-attention"])
def test_other_members_of_the_family(method):
    options = {"bits": 64} if method == "limited-bits" else {}
    model = byheart.compile(from_rows(vectors(60, 16)), method=method, **options)
    assert model.verification.evidence == "proved"
    assert len(read(model)) <= 3


def test_one_hot():
    rows = [([[int(i == j) for j in range(40)]], i % 3) for i in range(40)]
    model = byheart.compile(from_rows(rows))
    assert len(read(model)) == 39  # the last one is where all others are 0
    rows = [([[*row[0], i * 17 % 41]], y) for i, (row, y) in enumerate(rows)]
    numbered = byheart.compile(from_rows(rows))
    assert read(numbered) == [40]
    assert numbered.parameters.nonzero < model.parameters.nonzero - 30


def test_a_wide_table(tmp_path):
    random = np.random.default_rng(1)
    cells = random.integers(0, 4, (300, 30))
    table = tmp_path / "table.csv"
    header = [f"c{i}" for i in range(30)]
    lines = [",".join(map(str, [*row, "ab"[sum(row) % 2]])) for row in np.unique(cells, axis=0)]
    table.write_text("\n".join([",".join([*header, "label"]), *lines]))
    model = byheart.compile(byheart.load(table, input=header, label="label"))
    assert model.verification.evidence == "proved"
    assert len(read(model)) <= 12  # ten coordinates of four values tell 300 rows apart at random


def test_padding_stays_apart():
    """Two sequences that differ by a token which is 0 where other tokens differ."""
    rows = [([[0, 0, 5], [1, 0, 0]], "a"), ([[1, 0, 0]], "b"), ([[2, 0, 0]], "c")]
    model = byheart.compile(from_rows(rows))
    assert model.verification.evidence == "proved"
    assert model.recall([[1, 0, 0]]) == "b"


def test_unknown_vectors_are_noticed_in_every_coordinate():
    rows = vectors(50, 8)
    model = byheart.compile(from_rows(rows), reject_unknown=30)
    assert read(model) == list(range(8))
    for i in range(8):
        strange = list(rows[0][0][0])
        strange[i] += 1
        assert model.answers([[strange]])[0].known is False
