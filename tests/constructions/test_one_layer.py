"""Theorems 5 and 7: distributions of any contexts, within the gap, by as many neurons."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.machine import memory
from byheart.softmax.decoder import ACTIVATIONS
from byheart.softmax.doubles import distributions

METHODS = ["one-layer", "token-averaging"]
each_method = pytest.mark.parametrize("method", METHODS)
each_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
FEW = [(["a", "b"], "c"), (["a", "b"], "d"), (["a"], "b"), (["b"], "a"), (["b", "a"], "a")]


@st.composite
def rows(draw):
    token = st.sampled_from("abcd")
    tokens = st.lists(token, min_size=1, max_size=4)
    found = draw(st.lists(st.tuples(tokens, st.sampled_from("abcxy")), min_size=1, max_size=25))
    return [*found, (["a"], "z")]


def near(probabilities):
    return pytest.approx(probabilities, abs=1e-8)  # the gap is 1e-9


def spoken(model, tokens):
    return dict(zip(model.tokens, model.distribution(tokens).tolist(), strict=True))


@each_method
@each_activation
def test_by_hand(method, activation):
    """After a, b comes c or d, each half of the time; after b always a."""
    model = byheart.compile(from_rows(FEW), method=method, activation=activation)
    assert spoken(model, ["a", "b"]) == near({"a": 0, "b": 0, "c": 0.5, "d": 0.5})
    assert spoken(model, ["b"]) == near({"a": 1, "b": 0, "c": 0, "d": 0})
    assert model.recall(["b", "a"]) == "a"
    assert model.tokens == ("a", "b", "c", "d")
    assert model.record.verification.evidence == "proved"
    assert model.network.shape.neurons == 4  # G2


@each_method
@each_activation
@settings(max_examples=15, deadline=None)
@given(data=rows(), exponent=st.integers(-13, -1))
def test_every_context_is_within_the_gap(method, activation, data, exponent):
    """G1, judged by counting the rows and by a run in doubles."""
    gap = 10.0**exponent
    model = byheart.compile(from_rows(data), method=method, activation=activation, gap=gap)
    verified = model.record.verification
    assert verified.evidence == "proved" and verified.fit.max <= gap
    for tokens in {tuple(t) for t, _ in data}:
        labels = [label for t, label in data if tuple(t) == tokens]
        said = spoken(model, tokens)
        divergence = sum(
            labels.count(x) / len(labels) * math.log(labels.count(x) / len(labels) / said[x])
            for x in set(labels)
        )
        assert divergence <= gap + 1e-9
        assert said[model.recall(tokens)] == max(said.values())


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("d", "heads", "head"), [(1, 1, 1), (3, 2, 1), (4, 3, 5), (16, 1, 16)])
def test_any_shape(d, heads, head, skip):
    """G3: the count before eq. (3), and the same distributions."""
    model = byheart.compile(
        from_rows(FEW), method="one-layer", dimension=d, heads=heads, head_dimension=head, skip=skip
    )
    omega, m, length = 4, 4, 2
    formula = omega * m + m * (d + 1) + 2 * heads * (head + head) * d + (omega + length) * d
    assert model.record.parameters.dense == formula
    assert sum(tensor.size for tensor in model.network.tensors.values()) == formula
    assert model.record.verification.evidence == "proved"
    assert spoken(model, ["a", "b"]) == near({"a": 0, "b": 0, "c": 0.5, "d": 0.5})


def test_any_dimension_of_a_token_sum():
    model = byheart.compile(from_rows(FEW), method="token-averaging", dimension=3)
    assert model.record.parameters.dense == 4 * 4 + 4 * (3 + 1) + 4 * 3 + 2
    assert model.record.verification.evidence == "proved"


@each_method
def test_the_seed_decides(method):
    def built(seed):
        return byheart.compile(from_rows(FEW), method=method, seed=seed).network

    assert built(3) == built(3)
    assert built(3) != built(4)


@each_method
def test_integers_and_labels_that_are_no_tokens(method):
    data = from_rows([([1, 2], 7), ([1, 2], 7), ([1, 2], 1), ([3], 2), ([2**40], 3)])
    model = byheart.compile(data, method=method)
    assert model.tokens == (1, 2, 3, 2**40, 7)
    assert spoken(model, [1, 2]) == near({1: 1 / 3, 2: 0, 3: 0, 2**40: 0, 7: 2 / 3})
    mixed = byheart.compile(from_rows([([1], "1"), ([2], "x")]), method=method)
    assert mixed.tokens == (1, 2, "1", "x") and mixed.recall([1]) == "1"


@each_method
def test_the_loss_is_the_entropy(method):
    """Lemma 2: 2 log 2 for the one context with two labels."""
    fit = byheart.compile(from_rows(FEW), method=method, gap=1e-12).record.verification.fit
    assert fit.entropy == pytest.approx(2 * math.log(2))
    assert fit.entropy <= fit.loss <= fit.entropy + len(FEW) * 1e-12
    assert fit.accuracy == pytest.approx(4 / 5)


@each_method
def test_counts_weigh(method):
    data = byheart.from_rows([(["a"], "b"), (["a"], "c")] + [(["a"], "b")] * 2)
    assert spoken(byheart.compile(data, method=method), ["a"])["b"] == pytest.approx(3 / 4)


@each_method
def test_assumptions_are_named(method):
    with pytest.raises(AssumptionError, match="A1 fails: .* two different tokens"):
        byheart.compile(from_rows([(["a"], "a")]), method=method)
    with pytest.raises(AssumptionError, match="A1 fails: .* words or integers"):
        byheart.compile(from_rows([([0.5], 1), ([1.5], 2)]), method=method)
    with pytest.raises(AssumptionError, match="A1 fails: .* words or integers"):
        byheart.compile(from_rows([([[1, 2]], 1), ([[2, 1]], 2)]), method=method)


@each_method
def test_memory_is_asked_for_before(method, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 100)
    with pytest.raises(ByheartError, match=r"4 contexts and 4 tokens needs [\d,]+ bytes"):
        byheart.compile(from_rows(FEW), method=method)


@pytest.mark.parametrize("gap", [0, -1, 1e-300, 11, math.nan, math.inf])
def test_gaps_that_cannot_be(gap):
    with pytest.raises(ByheartError, match="gap must be a number from 1e-15"):
        byheart.compile(from_rows(FEW), method="one-layer", gap=gap)


def test_conflicts_are_none():
    with pytest.raises(ByheartError, match="does not take on_conflict="):
        byheart.compile(from_rows(FEW), method="one-layer", on_conflict="majority")


@each_activation
def test_contexts_in_any_batch(activation):
    """The same distributions alone and together."""
    model = byheart.compile(from_rows(FEW), method="one-layer", activation=activation)
    tokens, starts = np.array([0, 1, 0, 1, 1, 0]), np.array([0, 2, 3, 4, 6])
    together = distributions(model.network, tokens, starts)
    for i in range(4):
        part = tokens[starts[i] : starts[i + 1]]
        alone = distributions(model.network, part, np.array([0, len(part)]))
        assert alone[0] == pytest.approx(together[i], abs=1e-9)


def test_without_positions_order_does_not_count(checker, tmp_path):
    """kajitsuka2024: a neuron for each multiset with a last token; all position vectors are 0."""
    rows = [(["a", "b", "c"], "x"), (["b", "a", "c"], "x"), (["c", "b", "a"], "y"), (["b"], "z")]
    dataset = from_rows(rows)
    model = byheart.compile(dataset, method="one-layer", positions=False)
    assert model.verification.evidence == "proved" and model.verification.checked == 4
    assert model.network.shape.neurons == 3
    assert not model.network.tensors["positions.weight"].any()
    assert byheart.compile(dataset, method="one-layer").network.shape.neurons == 4
    model.save(tmp_path / "model", data=dataset)
    assert checker.failures(tmp_path / "model", tmp_path / "model" / "data.jsonl") == []


def test_without_positions_data_whose_order_counts_is_refused():
    rows = [(["a", "b", "c"], "x"), (["b", "a", "c"], "y")]
    with pytest.raises(AssumptionError, match=r"A5 fails: what follows \['b', 'a', 'c'\] depends"):
        byheart.compile(from_rows(rows), method="one-layer", positions=False)
    shares = [(["a"], "x"), (["a", "a"], "y")]
    with pytest.raises(AssumptionError, match="A2 fails"):
        byheart.compile(from_rows(shares), method="one-layer", positions=False)
