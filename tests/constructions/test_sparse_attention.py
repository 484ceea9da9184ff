"""sparse-attention: n + n connections do what n^2 do, also for sequences of ten thousand tokens."""

import random
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.generate import random as sequences
from byheart.data.load import from_rows
from byheart.errors import AssumptionError
from byheart.exact.network import SparseAttention

OBJECTIVES = ("nonzero", "dense", "bits")


def labelled(found, labels, seed=0, positions=False, every=False):
    """Rows with a random label for each context, a sequence's or a token's."""
    pick, table = random.Random(seed), {}

    def label(words):
        plain = tuple(map(str, words))
        whole = hash(plain if positions else tuple(sorted(plain)))
        tags = [
            table.setdefault((whole, k if positions else token), pick.randrange(labels))
            for k, token in enumerate(plain)
        ]
        return tags if every else tags[-1]

    return [(words, label(words)) for words in map(list, found)]


def one_substitution():
    base = [random.Random(4).randrange(9) for _ in range(6)]
    return [[*base[:i], v, *base[i + 1 :]] for i in range(6) for v in range(9)]


def long_sequences():
    pick = random.Random(5)
    return [[pick.choice("abcd") for _ in range(pick.randint(1, 60))] for _ in range(40)]


NASTY = {
    "all words": (lambda: product("abc", repeat=4), 3),
    "equal sums": (lambda: ([k, 60 - k] for k in range(31)), 3),
    "one substitution": (one_substitution, 2),
    "long, four tokens": (long_sequences, 2),
    "length 1": (lambda: ([i] for i in range(40)), 4),
    "one sequence": (lambda: [["a", "b", "a"]], 3),
    "one label": (lambda: ([i, i + 1] for i in range(9)), 1),
    "ragged, with zero": (lambda: ([0] * k + [1] for k in range(12)), 2),
    "extremes": (lambda: [[1e300, 1e-300], [-1e300], [1e-300, 1e300, 0.5]], 3),
    "fractions": (lambda: ([-i / 8, j / 10] for i in range(4) for j in range(4)), 3),
    "duplicates": (lambda: [["a", "b"], ["a", "b"], ["b", "a"], ["a"]] * 3, 3),
}


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_nasty_data(name, positions, every, memorised):
    found, labels = NASTY[name]
    rows = labelled(found(), labels, positions=positions, every=every)
    model = memorised(rows, method="sparse-attention", positions=positions)
    connected(model)


def connected(model):
    """G2: n connections to the extra column, n from it."""
    n = model.network.input.length
    gather, spread = (model.network.layers[i] for i in model.network.attentions)
    assert isinstance(gather, SparseAttention) and isinstance(spread, SparseAttention)
    assert gather.connections == tuple((0, k) for k in range(1, n + 1))
    assert spread.connections == tuple((k, 0) for k in range(1, n + 1))


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", ["one sequence", "ragged, with zero", "one label", "extremes"])
def test_the_checker_agrees(name, every, memorised, failures):
    found, labels = NASTY[name]
    rows = labelled(found(), labels, positions=True, every=every)
    assert failures(memorised(rows, method="sparse-attention", positions=True), rows) == []


@settings(max_examples=20)
@given(st.data())
def test_every_label_is_returned(data):
    positions, every = data.draw(st.booleans()), data.draw(st.booleans())
    token = st.sampled_from("abc") if data.draw(st.booleans()) else st.integers(-3, 3)
    found = data.draw(st.lists(st.lists(token, min_size=1, max_size=4), min_size=1, max_size=8))
    labels = data.draw(st.sampled_from([1, 2, 5]))
    rows = labelled(found, labels, data.draw(st.integers(0, 9)), positions, every)
    reject = data.draw(st.sampled_from([0, 0, 9]))
    options = {"method": "sparse-attention", "positions": positions, "reject_unknown": reject}
    model = compile(from_rows(rows), **options)
    assert [model.recall(words) for words, _ in rows] == [label for _, label in rows]


def test_it_says_what_full_attention_says():
    rows = labelled(product("abc", repeat=3), 9)
    full, sparse = (
        compile(from_rows(rows), method=m) for m in ("hash-fold-retrieve", "sparse-attention")
    )
    for words in product("abc", repeat=3):
        for other in (words, words[1::-1] + words[2:]):
            assert full.recall(list(other)) == sparse.recall(list(other))
    # the last token matters
    assert any(sparse.recall(words[::-1]) != label for words, label in rows)


def test_two_parameters_more_than_full_attention():  # G2, for as many contexts
    counts = [
        compile(sequences(1000), method=method).record.parameters.nonzero
        for method in ("hash-fold-retrieve", "sparse-attention")
    ]
    assert abs(counts[1] - counts[0] - 2) <= 0.02 * counts[0], counts


def test_other_data_is_refused():
    with pytest.raises(AssumptionError, match="sequence 2 is empty"):
        compile(from_rows([(["a"], 1), ([], 2)]), method="sparse-attention")


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("reject", [0, 7])
@pytest.mark.parametrize("minimise", OBJECTIVES)
def test_predicted_counts_are_the_built_ones(minimise, reject, every, memorised, predicted):  # G2
    rows = labelled(one_substitution(), 3, every=every)
    options = {"minimise": minimise, "reject_unknown": reject}
    predicted(memorised(rows, method="sparse-attention", **options))


@pytest.mark.parametrize("every", [False, True])
def test_strangers_are_rejected(every, memorised):
    pick = random.Random(10)
    rows = labelled(([pick.randrange(20) for _ in range(4)] for _ in range(60)), 3, every=every)
    model = memorised(rows, method="sparse-attention", reject_unknown=10)
    seen = {tuple(sorted(words)) for words, _ in rows}
    drawn = ([pick.randrange(20) for _ in range(pick.randint(1, 4))] for _ in range(800))
    strangers = [words for words in drawn if tuple(sorted(words)) not in seen]
    known = [answer.known for answer in model.answers(strangers)]
    assert known.count(True) <= 8


@pytest.mark.parametrize("every", [False, True])
def test_ten_thousand_tokens(every, memorised):
    pick = random.Random(3)
    found = [[pick.choice("abcd") for _ in range(10_000)] for _ in range(2)]
    rows = labelled(found, 2, every=every)
    connected(memorised(rows, method="sparse-attention"))


def test_the_work_grows_with_the_length_only():
    """Twice the tokens, about twice the time: nothing is quadratic in the length."""

    def seconds(length):
        rows = [([k] * length + [j], [k] * length + [j]) for k in range(2) for j in range(2)]
        started = time.process_time()
        compile(from_rows(rows), method="sparse-attention")
        return time.process_time() - started

    seconds(10)
    assert seconds(40_000) < 6 * seconds(20_000)
