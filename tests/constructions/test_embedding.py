"""embedding: ids through a matrix, what is no id refused, and the counts beside the matrix."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.errors import AssumptionError
from byheart.exact.network import Embedding
from byheart.models.verification import verify

OBJECTIVES = ("nonzero", "dense", "bits")


def labelled(found, labels, seed=0, positions=False):
    """Rows with a random label for each context."""
    pick, table = random.Random(seed), {}

    def context(words):
        return tuple(words) if positions else (tuple(sorted(words)), words[-1])

    return [
        (words, table.setdefault(context(words), pick.randrange(labels)))
        for words in map(list, found)
    ]


def one_substitution():
    base = [random.Random(4).randrange(9) for _ in range(7)]
    return [[*base[:i], v, *base[i + 1 :]] for i in range(7) for v in range(12)]


def long_sequences():
    pick = random.Random(5)
    return [[pick.choice("abcd") for _ in range(pick.randint(1, 150))] for _ in range(60)]


NASTY = {
    "all words": lambda **how: labelled(product("abc", repeat=4), 3, **how),
    "equal sums": lambda **how: labelled(([k, 60 - k] for k in range(61)), 3, **how),
    "one substitution": lambda **how: labelled(one_substitution(), 2, **how),
    "long, four tokens": lambda **how: labelled(long_sequences(), 2, **how),
    "length 1": lambda **how: labelled(([i] for i in range(40)), 4, **how),
    "one sequence": lambda **how: [(["a", "b"], "x")],
    "one label": lambda **how: [([i, i + 1], 7) for i in range(9)],
    "zero, ragged": lambda **how: labelled(([0] * k + [1] for k in range(12)), 2, **how),
    "the largest id": lambda **how: labelled([[2**20 - 2], [0, 2**20 - 2], [0]], 3, **how),
    "whole floats": lambda **how: labelled([[2.0, 3.0], [3.0, 2.0], [2.0]], 3, **how),
    "duplicates": lambda **how: labelled([["a", "b"], ["a", "b"], ["b", "a"], ["a"]], 3, **how),
}


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_nasty_data(name, positions, memorised):
    memorised(NASTY[name](positions=positions), method="embedding", positions=positions)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", ["one sequence", "zero, ragged", "one label", "whole floats"])
def test_the_checker_agrees(name, positions, memorised, failures):
    rows = NASTY[name](positions=positions)
    assert failures(memorised(rows, method="embedding", positions=positions), rows) == []


@settings(max_examples=20)
@given(st.data())
def test_every_label_is_returned(data):
    positions = data.draw(st.booleans())
    token = st.sampled_from("abc") if data.draw(st.booleans()) else st.integers(0, 9)
    found = data.draw(st.lists(st.lists(token, min_size=1, max_size=4), min_size=1, max_size=10))
    labels = data.draw(st.sampled_from([1, 2, 5]))
    rows = labelled(found, labels, data.draw(st.integers(0, 9)), positions)
    reject = data.draw(st.sampled_from([0, 0, 9]))
    options = {"method": "embedding", "positions": positions, "reject_unknown": reject}
    model = compile(from_rows(rows), **options)
    assert [model.recall(words) for words, _ in rows] == [label for _, label in rows]


def test_by_hand():
    rows = [([0, 5], "x"), ([5, 0], "y"), ([5], "z")]
    model = compile(from_rows(rows), method="embedding")
    assert [model.recall(words) for words, _ in rows] == ["x", "y", "z"]
    first = model.network.layers[0]
    assert isinstance(first, Embedding)
    assert first.weight.columns == 7  # ids 0 to 5 and the padding, which is 6
    assert {column for _, column, _ in first.weight.entries} <= {0, 5, 6}
    assert model.network.layers[1].stage != "token hash"  # no network before the attention
    for stranger in ([7], [0, 7], [0.5], [-1]):
        (answer,) = model.answers([stranger])
        assert (answer.label, answer.known) == (None, False)
    found = verify(model, from_rows([*rows[:2], ([99], "z")]))
    assert (found.evidence, found.correct) == ("refuted", 2)


@pytest.mark.parametrize(
    "row",
    [[[1, 2]], [0.5], [-1], [2**20 - 1], [1e300]],
    ids=["vector", "half", "-1", "2^20", "big"],
)
def test_what_is_no_id_is_refused(row):  # A2
    with pytest.raises(AssumptionError, match="A2 fails"):
        compile(from_rows([(row, 1), (row * 2, 2)]), method="embedding")


def test_other_data_is_refused():
    with pytest.raises(AssumptionError, match="every token has a label"):
        compile(from_rows([(["a"], ["x"])]), method="embedding")
    with pytest.raises(AssumptionError, match="sequence 1 is empty"):
        compile(from_rows([([], "x"), (["a"], "x")]), method="embedding")


def test_the_last_token_matters(memorised):
    rows = labelled(([i, j, k] for i in range(3) for j in range(3) for k in range(3)), 9)
    model = memorised(rows, method="embedding")
    for (i, j, k), label in rows:
        assert model.recall([j, i, k]) == label
    assert any(model.recall([k, j, i]) != label for (i, j, k), label in rows)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("reject", [0, 7])
@pytest.mark.parametrize("minimise", OBJECTIVES)
def test_predicted_counts_are_the_built_ones(minimise, reject, positions, memorised, predicted):
    rows = NASTY["one substitution"](positions=positions)  # G2
    options = {"minimise": minimise, "reject_unknown": reject, "positions": positions}
    predicted(memorised(rows, method="embedding", **options))


def test_beside_the_matrix_no_larger_than_hash_fold_retrieve():  # G2
    pick = random.Random(8)
    rows = labelled(([pick.randrange(1000) for _ in range(4)] for _ in range(1000)), 2)
    counts = [
        compile(from_rows(rows), method=method).record.parameters.counted
        for method in ("embedding", "hash-fold-retrieve")
    ]
    assert counts[0] < 1.1 * counts[1], counts


def test_strangers_are_rejected(memorised):
    pick = random.Random(10)
    rows = labelled(([pick.randrange(20) for _ in range(4)] for _ in range(150)), 3)
    model = memorised(rows, method="embedding", reject_unknown=10)
    seen = {(tuple(sorted(words)), words[-1]) for words, _ in rows}
    drawn = ([pick.randrange(20) for _ in range(pick.randint(1, 4))] for _ in range(2000))
    strangers = [words for words in drawn if (tuple(sorted(words)), words[-1]) not in seen]
    known = [answer.known for answer in model.answers(strangers)]
    assert known.count(True) <= 12  # 2 are expected
