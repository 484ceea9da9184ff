"""deep-sets: multisets of any size, order for nothing, and the counts that were promised."""

import random
from itertools import combinations_with_replacement, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.generate import multisets
from byheart.data.generate import random as sequences
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.exact.network import Sum


def multiset(tokens):
    return tuple(sorted(map(str, tokens)))


def labelled(found, labels, seed=0):
    """Rows with a random label for each multiset."""
    pick, table = random.Random(seed), {}
    return [
        (list(tokens), table.setdefault(multiset(tokens), pick.randrange(labels)))
        for tokens in found
    ]


def one_substitution():
    base = [random.Random(4).randrange(9) for _ in range(7)]
    return [[*base[:i], v, *base[i + 1 :]] for i in range(7) for v in range(12)]


def all_sizes(tokens, largest):
    return [c for size in range(largest + 1) for c in combinations_with_replacement(tokens, size)]


NASTY = {
    "cardinalities 0, 1 and 7": labelled([[], *([i] for i in range(9)), *one_substitution()], 3),
    "all multisets of three": labelled(all_sizes("abc", 7), 2),
    "zero and nothing": labelled([[], [0], [0, 0], [0, 0, 0], [0, 1], [1]], 6),
    "the smallest token counts": labelled(all_sizes([-2, -1, 5], 4), 3),
    "zero vectors": labelled([[[0, 0]] * k for k in range(8)], 4),
    "equal sums": labelled([[k, 60 - k] for k in range(31)] + [[20, 20, 20], [60], []], 3),
    "all words": labelled(product("abc", repeat=4), 3),
    "one substitution": labelled(one_substitution(), 2),
    "long, four tokens": labelled(
        ([random.Random(i).choice("abcd") for _ in range(i * 9 % 150)] for i in range(60)), 2
    ),
    "length 1": labelled(([i] for i in range(40)), 4),
    "one multiset": [([3, 4], "x")],
    "one multiset and nothing": [([3, 4], "x"), ([], "y")],
    "one label": [([i] * i, 7) for i in range(9)],
    "extremes": labelled([[], [1e300], [1e300, -1e300], [1e-300], [1e-300, 1e300], [-1e-300]], 3),
    "fractions": labelled(([-i / 8, j / 10] for i in range(5) for j in range(5)), 3),
    "duplicates": labelled([[], [1], [], [1], [2, 1], [1, 2], [1, 2]], 2),
}


@pytest.mark.parametrize("name", NASTY)
def test_nasty_multisets(name, memorised):
    memorised(NASTY[name], method="deep-sets")


@pytest.mark.parametrize("minimise", ["dense", "bits"])
@pytest.mark.parametrize("name", ["cardinalities 0, 1 and 7", "the smallest token counts"])
def test_nasty_multisets_for_other_objectives(name, minimise, memorised):
    memorised(NASTY[name], method="deep-sets", minimise=minimise)


@pytest.mark.parametrize("name", ["zero and nothing", "extremes", "one label", "duplicates"])
def test_the_checker_agrees(name, memorised, failures):
    assert failures(memorised(NASTY[name], method="deep-sets"), NASTY[name]) == []


tokens = st.one_of(
    st.sampled_from(
        [st.sampled_from("abc"), st.integers(-3, 3), st.integers(-9, 9).map(lambda n: n / 4)]
    )
)


@settings(max_examples=25)
@given(st.data())
def test_every_multiset_has_its_label(data):
    token = data.draw(tokens)
    found = data.draw(st.lists(st.lists(token, max_size=5), min_size=1, max_size=10).filter(any))
    rows = labelled(found, data.draw(st.sampled_from([1, 2, 5])), data.draw(st.integers(0, 9)))
    reject = data.draw(st.sampled_from([0, 0, 9]))
    model = compile(from_rows(rows), method="deep-sets", reject_unknown=reject)
    for bag, label in rows:
        assert model.recall(bag) == label == model.recall(bag[::-1])


def test_by_hand():
    rows = [([], "none"), (["a"], "one"), (["a", "a"], "two"), (["b", "a"], "both")]
    with pytest.raises(AssumptionError, match="sequence 1 is empty.*method='deep-sets'"):
        compile(from_rows(rows))  # an empty sequence by mistake must not make order count nothing
    model = compile(from_rows(rows), method="deep-sets")
    assert [model.recall(x) for x, _ in rows] == ["none", "one", "two", "both"]
    assert model.recall(["a", "b"]) == "both"
    (place,) = model.network.attentions
    assert isinstance(model.network.layers[place], Sum)
    assert model.network.input.padding is None
    with pytest.raises(ByheartError, match="0 to 2 tokens"):
        model.recall(["a"] * 3)


def test_order_counts_for_nothing(memorised):
    rows = labelled(([i, j, k] for i in range(5) for j in range(i, 5) for k in range(j, 5)), 4)
    model = memorised(rows, method="deep-sets")
    for bag, label in rows:
        assert {model.recall(list(order)) for order in permutations(bag)} == {label}


def test_equal_multisets_with_two_labels_are_refused():
    rows = [(["a", "b"], 1), (["b", "a"], 2), ([], 1)]
    with pytest.raises(AssumptionError, match="A1 fails"):
        compile(from_rows(rows), method="deep-sets")
    rows += [(["b", "a"], 2)]
    majority = compile(from_rows(rows), method="deep-sets", on_conflict="majority")
    assert majority.recall(["a", "b"]) == 2


SIZES = {
    "mixed": NASTY["all multisets of three"],
    "level": labelled(combinations_with_replacement(range(8), 3), 5),
    "signs": labelled(
        ([[x / 4, -y] for x, y in zip(a, a[1:], strict=False)] for a in one_substitution()), 3
    ),
}


@pytest.mark.parametrize(
    ("name", "minimise", "reject"),
    [*product(SIZES, ["nonzero"], [0, 7]), *product(["signs"], ["dense", "bits"], [0, 7])],
)
def test_predicted_counts_are_the_built_ones(name, minimise, reject, memorised, predicted):  # G2
    options = {"minimise": minimise, "reject_unknown": reject}
    predicted(memorised(SIZES[name], method="deep-sets", **options))


def test_no_larger_than_hash_fold_retrieve():  # G2
    found = compile(multisets(1000), method="deep-sets")
    contexts = found.record.data.contexts
    plain = compile(sequences(int(contexts * 1.18), seed=1))
    assert abs(plain.record.data.contexts - contexts) < 0.05 * contexts
    ratio = found.record.parameters.nonzero / plain.record.parameters.nonzero
    assert ratio < 1.1, (contexts, plain.record.data.contexts, ratio)


@pytest.mark.parametrize("sizes", [(0, 7), (4, 4)])
def test_strangers_are_rejected(sizes, memorised):
    pick = random.Random(10)
    bags = [[pick.randrange(20) for _ in range(pick.randint(*sizes))] for _ in range(150)]
    rows = labelled([[0, 0, 0, 1], *bags], 3)
    model = memorised(rows, method="deep-sets", reject_unknown=10)
    seen = {multiset(bag) for bag, _ in rows}
    drawn = [[pick.randrange(20) for _ in range(pick.randint(0, model.network.input.length))]
             for _ in range(2000)]  # fmt: skip
    near = [bag[:-1] for bag, _ in rows if bag] + [[0, *bag[1:]] for bag, _ in rows if bag]
    strangers = [bag for bag in drawn + near if multiset(bag) not in seen]
    known = [answer.known for answer in model.answers(strangers)]
    assert known.count(True) <= 12, known.count(True)  # 2 are expected
    assert all(answer.known for answer in model.answers([bag for bag, _ in rows]))
