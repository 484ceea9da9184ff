"""seq2seq: a label for every token, as if each stood at the end, and the promised counts."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.generate import random as sequences
from byheart.data.generate import tokens
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError


def tagged(found, labels, seed=0, positions=False):
    """Rows with a random label for each token of each multiset (or place of each sequence)."""
    pick, table = random.Random(seed), {}

    def context(words, place):
        plain = tuple(map(str, words))
        return (plain, place) if positions else (tuple(sorted(plain)), plain[place])

    return [
        (
            list(words),
            [
                table.setdefault(context(words, k), pick.randrange(labels))
                for k in range(len(words))
            ],
        )
        for words in map(list, found)
    ]


def one_substitution():
    base = [random.Random(4).randrange(9) for _ in range(6)]
    return [[*base[:i], v, *base[i + 1 :]] for i in range(6) for v in range(9)]


def long_sequences():
    pick = random.Random(5)
    return [[pick.choice("abcd") for _ in range(pick.randint(1, 60))] for _ in range(40)]


NASTY = {
    "all words": lambda **how: tagged(product("abc", repeat=4), 3, **how),
    "equal sums": lambda **how: tagged(([k, 60 - k] for k in range(31)), 3, **how),
    "one substitution": lambda **how: tagged(one_substitution(), 2, **how),
    "long, four tokens": lambda **how: tagged(long_sequences(), 2, **how),
    "length 1": lambda **how: tagged(([i] for i in range(40)), 4, **how),
    "one sequence": lambda **how: tagged([["a", "b", "a"]], 3, **how),
    "one token": lambda **how: [(["a"], ["x"])],
    "one label": lambda **how: tagged([[i, i + 1] for i in range(9)], 1, **how),
    "ragged, with zero": lambda **how: tagged(([0] * k + [1] for k in range(12)), 2, **how),
    "extremes": lambda **how: tagged([[1e300, 1e-300], [-1e300], [1e-300, 1e300, 0.5]], 3, **how),
    "fractions": lambda **how: tagged(([-i / 8, j / 10] for i in range(4) for j in range(4)), 3),
    "vectors": lambda **how: tagged(([[i, -1], [0.5, j]] for i in range(4) for j in range(4)), 3),
    "duplicates": lambda **how: tagged([["a", "b"], ["a", "b"], ["b", "a"], ["a"]] * 3, 3, **how),
}


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_nasty_data(name, positions, memorised):
    memorised(NASTY[name](positions=positions), method="seq2seq", positions=positions)


@pytest.mark.parametrize("name", ["one sequence", "extremes", "ragged, with zero", "one label"])
def test_the_checker_agrees(name, memorised, failures):
    rows = NASTY[name](positions=True)
    assert failures(memorised(rows, positions=True), rows) == []


@settings(max_examples=20)
@given(st.data())
def test_every_token_has_its_label(data):
    positions = data.draw(st.booleans())
    token = st.sampled_from("abc") if data.draw(st.booleans()) else st.integers(-3, 3)
    found = data.draw(st.lists(st.lists(token, min_size=1, max_size=4), min_size=1, max_size=8))
    labels = data.draw(st.sampled_from([1, 2, 5]))
    rows = tagged(found, labels, data.draw(st.integers(0, 9)), positions)
    reject = data.draw(st.sampled_from([0, 0, 9]))
    model = compile(from_rows(rows), positions=positions, reject_unknown=reject)
    assert [model.recall(words) for words, _ in rows] == [label for _, label in rows]


def test_by_hand():
    rows = [(["the", "duck"], ["DET", "NOUN"]), (["they", "duck"], ["PRON", "VERB"])]
    model = compile(from_rows(rows), positions=False)  # the default method for such labels
    assert (model.record.method, model.network.every) == ("seq2seq", True)
    assert model.recall(["they", "duck"]) == ["PRON", "VERB"]
    assert model.recall(["duck", "they"]) == ["VERB", "PRON"]  # without positions, order is free
    answer = model.answers([["they", "duck"], ["they", "swim"]])
    assert [a.label for a in answer] == [["PRON", "VERB"], None]
    assert [a.known for a in answer] == [None, False]


def test_the_token_itself_matters(memorised):
    rows = [(["a", "b", "c"], ["x", "y", "z"]), (["b"], ["x"])]
    model = memorised(rows, method="seq2seq", positions=False)
    assert model.recall(["c", "b", "a"]) == ["z", "y", "x"]


def test_other_data_is_refused():
    with pytest.raises(AssumptionError, match="a sequence has one label"):
        compile(from_rows([(["a"], "x")]), method="seq2seq")
    with pytest.raises(AssumptionError, match="every token has a label; use seq2seq"):
        compile(from_rows([(["a"], ["x"])]), method="hash-fold-retrieve")
    with pytest.raises(AssumptionError, match="sequence 2 is empty"):
        compile(from_rows([(["a"], ["x"]), ([], [])]))
    with pytest.raises(AssumptionError, match="A1 fails: .* token 'a'"):
        compile(from_rows([(["a", "a"], ["x", "y"])]), positions=False)
    with pytest.raises(ByheartError, match="reads 1 token, not 0"):
        compile(from_rows([(["a"], ["x"])])).recall([])


@pytest.mark.parametrize("attention", ["uniform", "hard"])
@pytest.mark.parametrize("reject", [0, 7])
@pytest.mark.parametrize("name", ["all words", "one substitution"])
def test_predicted_counts_are_the_built_ones(name, reject, attention, memorised, predicted):  # G2
    options = {"reject_unknown": reject, "attention": attention}
    predicted(memorised(NASTY[name](), method="seq2seq", **options))


def test_no_larger_than_hash_fold_retrieve():  # G2, for as many contexts
    found = compile(tokens(1000 // 4 + 60))
    contexts = found.record.data.contexts
    plain = compile(sequences(int(contexts * 1.21), seed=1))
    assert abs(plain.record.data.contexts - contexts) < 0.05 * contexts
    ratio = found.record.parameters.nonzero / plain.record.parameters.nonzero
    assert ratio < 1.1, (contexts, plain.record.data.contexts, ratio)


def test_strangers_are_rejected(memorised):
    pick = random.Random(10)
    rows = tagged(([pick.randrange(20) for _ in range(4)] for _ in range(60)), 3)
    model = memorised(rows, reject_unknown=10)
    seen = {tuple(sorted(words)) for words, _ in rows}
    drawn = ([pick.randrange(20) for _ in range(pick.randint(1, 4))] for _ in range(800))
    strangers = [words for words in drawn if tuple(sorted(words)) not in seen]
    labels = [label for answer in model.answers(strangers) for label in answer.label]
    assert sum(label is not None for label in labels) <= 12  # 2 are expected
    assert not any(answer.known for answer in model.answers(strangers[:300]))
