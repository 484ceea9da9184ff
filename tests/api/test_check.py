"""Checks of statements: what they prove, what they refute, what they refuse."""

import random
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from flint import fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart import Dataset, check
from byheart.api.checks import CHECKS
from byheart.data import generate
from byheart.data.statistics.separation import exact_separation
from byheart.errors import AssumptionError, ByheartError
from byheart.theory.dana2024.features import reached_rank
from byheart.theory.dana2024.ranks import rank_limit
from byheart.theory.madden2024.kruskal import SUBSETS, smallest_relation

some = settings(max_examples=40, deadline=None)
PAIRS = Dataset.from_rows([(["a", "b"], "a"), (["b", "b"], "b"), (["b", "a"], "a")])


# --- Theorems 2 and 3: relations between columns


@some
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4))
def test_the_smallest_relation_is_one_and_nothing_smaller_is(seed, columns, rows):
    draw = random.Random(seed)
    table = [[draw.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]
    found = smallest_relation(fmpq_mat(table), columns)

    def rank(chosen):
        return np.linalg.matrix_rank(np.array([[row[j] for j in chosen] for row in table]))

    dependent = [
        size
        for size in range(1, columns + 1)
        if any(rank(x) < size for x in combinations(range(columns), size))
    ]
    assert (found is None) == (not dependent)
    if found is not None:
        assert len(found.columns) == min(dependent) and all(found.factors)
        for row in table:
            assert not sum(c * row[j] for j, c in zip(found.columns, found.factors, strict=True))


def test_a_relation_among_too_many_columns_to_try_all_sets():
    rows = [[j**k for j in range(1, 41)] for k in range(4)]  # any 4 columns are independent
    assert SUBSETS < 40 * 39 * 38 * 37 // 24
    found = smallest_relation(fmpq_mat(rows), 5)
    assert found.columns == (0, 1, 2, 3, 4) and smallest_relation(fmpq_mat(rows), 4) is None
    for row in rows:
        assert not sum(c * row[j] for j, c in zip(found.columns, found.factors, strict=True))


def test_a_polynomial_is_refuted_by_inputs_of_both_signs():
    found = check("madden-theorem-2", coefficients=[1, 0, 1], inputs=[3, 1, 2, -1])
    assert found.evidence == "refuted" and found.holds is False
    assert found.counterexample["inputs"] == [1, -1]  # the smallest, of four inputs
    assert found.counterexample["factors"] == [1, -1]
    held = check("madden-theorem-2", coefficients=[1, 0, 1], inputs=[3, 1, 2])
    assert (held.evidence, held.counterexample, held.facts["rank"]) == ("proved", None, 2)


def test_weights_that_are_not_generic_are_said_to_be_so():
    found = check("madden-theorem-2", coefficients=[1, 1], inputs=[1, 2], weights=[1, 1])
    assert found.evidence == "refuted" and "not generic" in found.detail
    assert found.counterexample["says"].endswith("for each of these weights w")


def test_a_dependence_that_may_be_due_to_the_draw_is_not_called_refuted(monkeypatch):
    from byheart.api.checks import madden2024

    drawn = [Fraction(1), Fraction(1)]
    monkeypatch.setattr(madden2024, "generic", lambda count, seed: drawn)
    found = check("madden-theorem-2", coefficients=[1, 1], inputs=[1, 2])
    assert (found.evidence, found.holds, found.counterexample) == (None, None, None)


@pytest.mark.parametrize("activation", ["tanh", "arctan", "erf", "cos", "logistic", "gelu"])
def test_the_relation_of_an_activation_is_one(activation):
    from flint import arb, ctx

    from byheart.theory.madden2024.balls import FUNCTIONS, ball

    inputs = [Fraction(1, 2), 3, Fraction(-1, 2), -3]
    found = check("madden-theorem-3", activation=activation, inputs=inputs)
    assert found.evidence == "refuted"
    pairs = list(zip(found.counterexample["inputs"], found.counterexample["factors"], strict=True))
    with ctx.workprec(200):
        for w in (Fraction(1, 3), 1, -2):
            total = sum((ball(c) * FUNCTIONS[activation](ball(x * w)) for x, c in pairs), arb(0))
            assert 0 in total and total.rad() < 1e-40
    assert check("madden-theorem-3", activation=activation, inputs=[1, 2, 3]).holds


# --- Theorems 4 and 6


def test_contexts_of_data_and_of_sizes():
    found = check("madden-theorem-4", data=PAIRS)
    assert found.evidence == "proved" and found.facts["contexts"] == 3
    for name in ("madden-theorem-4", "madden-theorem-6"):
        assert check(name, vocabulary=2, length=3).facts["contexts"] == 2 + 4 + 8


def test_the_shortest_pair_is_the_counterexample():
    """1 2 and 2 1 already collide if positions do not count; so do many longer ones."""
    found = check("madden-theorem-6", token_values=[1, 2, 5], position_values=[1, 1, 1, 1])
    values = [1, 2, 5]

    def total(context):
        return sum(values[g] for g in context)

    one, other = found.counterexample["contexts"]
    assert total(one) == total(other) and one != other and len(other) == 2
    everything = [c for t in (1,) for c in product(range(3), repeat=t)]
    assert len({total(c) for c in everything}) == len(everything)  # no pair of length 1


def test_words_of_the_data_are_in_the_counterexample():
    found = check("madden-theorem-6", data=PAIRS, token_values=[1, 2], position_values=[1, 1])
    assert found.counterexample == {"contexts": [["a", "b"], ["b", "a"]]}


# --- dana2024


def test_assumptions_1_and_2_are_opposites():
    torn = Dataset.from_rows([(["a", "b"], "a"), (["a", "b"], "b"), (["b"], "a"), (["b"], "b")])
    found = check("dana-assumption-1", data=torn)
    assert found.evidence == "refuted" and found.facts["conflicts"] == 2
    assert found.counterexample == {"context": ["b"], "next_tokens": ["a", "b"]}  # the shortest
    assert check("dana-assumption-2", data=torn).evidence == "proved"
    assert check("dana-assumption-1", data=PAIRS).evidence == "proved"
    found = check("dana-assumption-2", data=PAIRS)
    assert found.evidence == "refuted" and found.counterexample["never_follows"] == "b"
    assert found.counterexample["context"] == ["a", "b"]


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=8),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_rank_that_is_reached_is_within_the_limit(contexts, heads, dimension, skip):
    rows = sorted(contexts)
    reached = reached_rank(rows, heads, dimension, dimension, skip)
    assert reached <= rank_limit(rows, heads, dimension, dimension, skip)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("heads", "dimension"), [(1, 1), (1, 2), (2, 2), (3, 1), (2, 3)])
def test_a_rank_is_that_of_a_softmax_in_floats(heads, dimension, skip):
    """Of generic weights: an attention layer written again, in numpy."""
    draw = np.random.default_rng(7)
    rows = sorted(product(range(3), repeat=2))
    e, pos = draw.normal(size=(3, dimension)), draw.normal(size=(2, dimension))
    x = [e[list(row)] + pos for row in rows]
    columns = [np.array([v[-1] for v in x])] if skip else []
    for _ in range(heads):
        match = draw.normal(size=(dimension, dimension))
        weights = [np.exp(v @ match @ v[-1]) for v in x]
        columns.append(np.array([w @ v / w.sum() for w, v in zip(weights, x, strict=True)]))
    expected = np.linalg.matrix_rank(np.hstack(columns), tol=1e-9)
    reached = max(reached_rank(rows, heads, dimension, dimension, skip, seed) for seed in range(3))
    assert reached == expected


def test_features_by_hand():
    """One head of dimension 1 on contexts of one token: A = e + pos, and the rank is 1."""
    assert reached_rank([(0,), (1,), (2,)], 1, 1, 1, skip=False) == 1
    assert reached_rank([(0,), (1,), (2,)], 2, 2, 2, skip=True) == 2


def test_lemma_2_where_it_holds_and_where_it_does_not():
    sizes = {"vocabulary": 10, "length": 3, "dimension": 12}
    found = check("dana-lemma-2", contexts=1000, heads=10, **sizes)
    assert found.evidence == "refuted" and found.facts["limit"] == 111
    assert found.counterexample == {"heads": 2, "limit": 23, "wanted": 24}
    for heads in (1, 2):  # the counterexample is the smallest
        found = check("dana-lemma-2", contexts=1000, heads=heads, **sizes)
        assert found.evidence == ("sampled" if heads == 1 else "refuted")
    assert check("dana-lemma-2", data=PAIRS, dimension=2, heads=2).evidence == "proved"


@some
@given(
    st.sets(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=9),
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
)
def test_the_counterexample_has_the_fewest_heads(contexts, heads, dimension, skip):
    data = Dataset.from_rows([(list(context), 0) for context in contexts])
    name = "dana-theorem-1" if skip else "dana-lemma-2"

    def refuted(heads):
        found = check(name, data=data, dimension=dimension, heads=heads)
        return found if found.evidence == "refuted" else None

    found = refuted(heads)
    if found is not None:
        fewest = next(h for h in range(1, heads + 1) if refuted(h))
        assert found.counterexample["heads"] == fewest


@pytest.mark.parametrize("sizes", [{"length": 10**6}, {"contexts": 10**9}, {"heads": 10**9}])
def test_absurd_sizes_are_answered_or_refused_at_once(sizes):
    given = {"contexts": 9, "vocabulary": 10**6, "length": 2, "dimension": 3, "heads": 2, **sizes}
    try:
        assert check("dana-lemma-2", **given).evidence in ("refuted", None)
    except ByheartError as error:
        assert "too many features" in str(error)


def test_theorem_1_needs_several_last_tokens():
    alike = Dataset.from_rows([(["a", "c"], "x"), (["b", "c"], "y"), (["c", "c"], "x")])
    found = check("dana-theorem-1", data=alike, dimension=2, heads=1, head_dimension=1)
    assert found.evidence == "refuted" and found.facts["limit"] == 2 < found.facts["wanted"] == 3
    apart = Dataset.from_rows([(["a", "c"], "x"), (["b", "a"], "y"), (["c", "b"], "x")])
    assert check("dana-theorem-1", data=apart, dimension=2, heads=1, head_dimension=1).holds


@pytest.mark.parametrize("delta", [0.5, Fraction(1, 10), 1e-3, 1e-5])
def test_lemma_4_is_refuted_at_every_delta(delta):
    found = check("dana-lemma-4", delta=delta)
    assert found.evidence == "refuted"
    assert all(0.3 <= ratio <= 1 for ratio in found.facts["ratios"])
    if delta == Fraction(1, 10):
        assert float(found.facts["range"]) == pytest.approx(np.exp(10), rel=1e-4)


# --- kajitsuka2025


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda d: st.lists(
            st.tuples(*[st.integers(-9, 9)] * d), min_size=1, max_size=12, unique=True
        )
    ),
    st.sampled_from(["floats", "near ties", "integers", "far", "huge"]),
    st.sampled_from([1, 10**7]),
)
def test_separation_is_that_of_all_pairs(points, kind, block):
    """Of tenths, which are no tenths in floats; and of points whose distances nearly agree."""
    from byheart.data.statistics import separation

    integers = np.array(sorted(points), np.int64)
    far = {"far": 2**52, "huge": 2**60}.get(kind, 0)
    vectors = integers / 10 if kind == "floats" else integers + far
    if kind == "near ties":
        vectors = integers + np.linspace(0, 1e-15, len(integers))[:, None] * 2.0 ** np.arange(
            integers.shape[1]
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separation, "BLOCK", block)
        found = exact_separation(vectors)
    if kind == "huge" and vectors.shape[1] > 1:
        assert found is None  # floats do not hold them
        return
    rows = [[Fraction(x) for x in row] for row in vectors.tolist()]
    assert found.radius == max(sum(x * x for x in row) for row in rows)
    apart = [
        sum((x - y) ** 2 for x, y in zip(one, other, strict=True))
        for one, other in combinations(rows, 2)
    ]
    assert found.distance == min(apart, default=None)


def test_separation_refuses_what_is_too_near_or_too_far():
    data = Dataset.from_rows([([[0.0, 3.0], [4.0, 0.0]], 1), ([[0.0, 3.5]], 0)])
    found = check("separation", data=data)
    assert (found.evidence, found.facts["radius"], found.facts["distance"]) == (
        "proved",
        "4",
        "0.5",
    )
    assert check("separation", data=data, radius=4, distance=Fraction(1, 2)).holds
    found = check("separation", data=data, radius=3.9)
    assert found.counterexample == {"token": [4.0, 0.0], "norm": "4"}
    found = check("separation", data=data, distance=0.6)
    assert found.counterexample == {"tokens": [[0.0, 3.0], [0.0, 3.5]], "distance": "0.5"}


def test_too_many_pairs_are_only_observed(monkeypatch):
    from byheart.data.statistics import separation

    monkeypatch.setattr(separation, "COMPARED", 3)
    data = generate.random(60, length=3, seed=1)
    assert check("separation", data=data).evidence == "observed"
    assert check("separation", data=data, radius=1).evidence is None


def test_a_contextual_mapping_and_one_that_is_none():
    data = generate.random(60, length=3, seed=1)
    model = byheart.compile(data, method="bit-extraction")
    found = check("contextual-mapping", model=model, data=data)
    assert found.evidence == "proved"
    r, delta = found.facts["radius"], found.facts["distance"]
    assert (r, delta) == byheart.contextual_mapping(model, data)
    assert check("contextual-mapping", model=model, data=data, radius=r, distance=delta).holds
    found = check("contextual-mapping", model=model, data=data, distance=delta + 1)
    one, other = found.counterexample["contexts"]
    assert one["sequence"] != other["sequence"]
    smaller = check("contextual-mapping", model=model, data=data, radius=r - 1)
    assert smaller.evidence == "refuted" and len(smaller.counterexample["contexts"]) == 1


def test_contexts_with_one_id_are_the_counterexample():
    """Where all labels are equal our method tells nothing apart: it promises labels only."""
    data = Dataset.from_rows([(["a", "b"], "x"), (["b", "c"], "x")])
    found = check("contextual-mapping", model=byheart.compile(data), data=data)
    assert found.evidence == "refuted" and found.facts["distance"] == 0
    assert [x["sequence"] for x in found.counterexample["contexts"]] == [["a", "b"], ["b", "c"]]


# --- what is refused


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("magic", {}, "there is no check 'magic'; there are: madden-theorem-2"),
        ("madden-theorem-2", {"heads": 2}, "takes no heads"),
        ("madden-theorem-2", {"inputs": [1]}, "needs coefficients"),
        ("madden-theorem-2", {"inputs": [1, 1], "coefficients": [1]}, "A1 fails"),
        ("madden-theorem-2", {"inputs": [1], "coefficients": [0]}, "polynomial that is not zero"),
        ("madden-theorem-2", {"inputs": [1], "coefficients": [1], "neurons": 0}, "neurons must be"),
        ("madden-theorem-3", {"inputs": [1], "activation": "relu"}, "activation must be one of"),
        (
            "madden-theorem-3",
            {"inputs": [1], "activation": "tanh", "weights": [1, 2], "neurons": 3},
            "neurons must be the number of weights",
        ),
        ("madden-theorem-3", {"inputs": [float("nan")], "activation": "tanh"}, "finite numbers"),
        ("madden-theorem-4", {"vocabulary": 2}, "give position_values"),
        ("madden-theorem-4", {"vocabulary": 2, "length": 40}, "more than 100,000 contexts"),
        ("madden-theorem-4", {"data": PAIRS, "vocabulary": 2}, "must be left out"),
        ("madden-theorem-4", {"data": PAIRS, "token_values": [1]}, "must be 2 numbers, not 1"),
        ("dana-lemma-2", {"dimension": 2, "heads": 1}, "give data, or all of"),
        (
            "dana-lemma-2",
            {"dimension": 2, "heads": 1, "contexts": 9, "vocabulary": 2, "length": 3},
            "only 8 contexts",
        ),
        (
            "dana-lemma-2",
            {"dimension": 2, "heads": 1, "data": PAIRS, "head_dimension": 3},
            "A2 fails",
        ),
        ("dana-lemma-2", {"dimension": 2, "heads": 1, "data": PAIRS, "contexts": 3}, "left out"),
        ("dana-lemma-4", {"delta": 1}, "above 0 and below 1"),
        ("separation", {}, "needs data"),
        ("separation", {"data": "capitals.jsonl"}, "capitals.jsonl does not exist"),
        ("separation", {"data": PAIRS, "radius": -1}, "radius must be above 0"),
        ("contextual-mapping", {"data": PAIRS, "model": 5}, "check takes a Model"),
    ],
)
def test_bad_input_is_one_sentence(name, given, says):
    with pytest.raises(ByheartError, match=says) as refusal:
        check(name, **given)
    assert str(refusal.value).endswith(".")


def test_contexts_of_different_lengths_are_refused_for_ranks():
    data = Dataset.from_rows([(["a"], "x"), (["a", "b"], "y")])
    with pytest.raises(AssumptionError, match="one length"):
        check("dana-lemma-2", data=data, dimension=2, heads=1)


def test_what_a_check_says_is_complete():
    for name, found in CHECKS.items():
        assert found.name == name and found.says.endswith(".") and found.needs and found.example
        assert found.paper in ("madden2024", "dana2024", "kajitsuka2025")
