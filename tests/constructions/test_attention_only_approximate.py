"""Theorem 1 with epsilon > 0: the likeliest contexts decide how many heads there are."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.constructions.attention_only.plan import one_length
from byheart.constructions.attention_only_approximate import fewest_contexts, product_norm
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.encoders import best
from byheart.errors import AssumptionError
from byheart.gadgets.heads import draw, features, last, rows
from byheart.softmax.doubles import divergence
from byheart.theory.dana2024.capacity import parameters

METHOD = "attention-only-approximate"
NUMBER = r"([0-9.e+-]+)"


def compiled(data, **options):
    return byheart.compile(from_rows(data), method=METHOD, **options)


def zipf(count=40, seed=0):
    """Triples of 4 tokens; the k-th is seen about 200 / k times, with labels of its own.

    N - 1 = 3 dimensions are lossless.
    """
    random = np.random.default_rng(seed)
    data = []
    for k, place in enumerate(random.permutation(64)[:count].tolist()):
        shares = random.dirichlet(np.full(4, 0.5))
        for label, times in enumerate(random.multinomial(max(1, 200 // (k + 1)), shares)):
            data += [([place // 16, place // 4 % 4, place % 4], label)] * int(times)
    return data


def numbers(model):
    """What the notes say: mean divergence, that of least squares, of the encoder; the bound."""
    note, bound = model.record.notes[:2]
    found = re.search(
        f"reached: {NUMBER} nats; by least squares: {NUMBER}; of the encoder .*: {NUMBER}", note
    )
    above = re.search(f"bound on the mean divergence: {NUMBER} nats", bound)
    return (*map(float, found.groups()), float(above.group(1)) if above else None)


def test_by_hand():
    """One context in ten is left out: with d_h = 1, one head for the other."""
    data = [(["a", "b"], "a")] * 9 + [(["b", "b"], "b")]
    model = compiled(data, dimension=2, head_dimension=1)
    assert model.network.shape.heads == 1
    assert "T_epsilon = 1 of 2 contexts, epsilon = 0.1;" in model.record.notes[0]
    assert model.recall(["a", "b"]) == "a"
    verified = model.record.verification
    assert verified.evidence == "proved" and verified.fit.max <= model.claim.gap


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1, 0.5])
def test_between_the_encoder_and_the_bound(epsilon):
    """G1, G2, and eq. (4): the mean reached is below the theorem's bound."""
    data = zipf()
    model = compiled(data, dimension=3, epsilon=epsilon)
    verified, shape = model.record.verification, model.network.shape
    assert verified.evidence == "proved" and verified.fit.max <= model.claim.gap
    mean, rough, encoder, bound = numbers(model)
    assert verified.fit.mean == pytest.approx(mean, rel=1e-2)
    assert mean <= rough * 1.01 and mean <= bound * 1.01
    if epsilon == 0:
        assert mean <= encoder * 1.01
    sizes = shape.vocabulary, shape.length, shape.dimension, shape.value_dimension, shape.heads
    assert shape.parameters == parameters(*sizes)


def test_fewer_heads_for_a_larger_epsilon():
    data = zipf(12)
    heads = [
        compiled(data, dimension=3, epsilon=epsilon).network.shape.heads for epsilon in (0.02, 0.3)
    ]
    assert heads[0] > heads[1] >= 1


@settings(max_examples=30, deadline=None)
@given(
    weights=st.lists(st.integers(1, 50), min_size=1, max_size=20),
    epsilon=st.floats(0, 0.99),
)
def test_the_contexts_that_are_kept(weights, epsilon):
    """T_epsilon is the least number with 1 - epsilon of the probability, by counting."""
    shares = np.sort(np.array(weights))[::-1] / sum(weights)
    kept = fewest_contexts(shares, epsilon)
    assert 1 <= kept <= len(weights)
    assert math.fsum(shares[:kept]) >= 1 - epsilon - 1e-12
    assert math.fsum(shares[: kept - 1]) < 1 - epsilon + 1e-12
    if epsilon == 0:
        assert kept == len(weights)


def literal(data, dimension, kept, seed=0):
    """Mean divergences of the proof's W_O, which interpolates the first contexts, and E's own."""
    dataset = from_rows(data)
    found = one_length(targets(dataset, contexts(dataset, positions=True)))
    found = found.subset(np.argsort(-found.weight, kind="stable"))
    shares = found.weight / found.weight.sum()
    encoder = best(found, dimension, 1e-9, seed)
    model = compiled(data, dimension=dimension, heads=-(-kept // dimension), seed=seed)
    heads = draw(model.network.shape, np.random.default_rng(seed), (4.0,))
    tokens = rows(found)
    joined = np.hstack([features(heads, tokens), last(heads, tokens)])
    out = np.linalg.lstsq(joined[:kept], encoder.embeddings[:kept], rcond=None)[0]
    logits = joined @ out @ encoder.unembedding.T
    assert abs(logits[:kept] - encoder.embeddings[:kept] @ encoder.unembedding.T).max() < 1e-6
    return float(shares @ divergence(logits, found)), model


def test_the_literal_matrix_is_harmful():
    """D1: interpolating the likeliest half makes the mean ten times as large, and more."""
    worse, model = literal(zipf(), 3, kept=20)
    assert worse > 10 * model.record.verification.fit.mean


def test_heads_that_are_named():
    data = zipf()
    model = compiled(data, dimension=3, heads=4)
    assert model.network.shape.heads == 4 and "T_epsilon = 12 of 40" in model.record.notes[0]
    with pytest.raises(AssumptionError, match="A3 fails: 4 heads .* use heads="):
        compiled(data, dimension=3, heads=4, epsilon=0.01)
    assert compiled(data, dimension=3, heads=9, epsilon=0.3).network.shape.heads == 9


def test_a_gap_that_is_not_reached_is_refused():
    with pytest.raises(AssumptionError, match="A4 fails: the largest divergence .*more heads="):
        compiled(zipf(), dimension=3, gap=0.01)


def test_other_refusals():
    with pytest.raises(AssumptionError, match="A1 fails"):
        compiled([(["a", "a"], "a")])
    with pytest.raises(AssumptionError, match="A2 fails"):
        compiled(zipf(), dimension=2, head_dimension=3)


def test_different_lengths_and_the_seed():
    data = [*zipf(10), ([1], 2), ([1, 2], 3), ([1, 2], 2)]
    model = compiled(data, dimension=4, seed=1)
    assert model.tokens[-1] == "<pad>" and model.record.verification.evidence == "proved"
    assert model.network == compiled(data, dimension=4, seed=1).network
    assert model.network != compiled(data, dimension=4, seed=2).network
    assert "observed in float32" in model.record.notes[-1]


def test_no_bound_for_dependent_features():
    """All contexts end in the same token, and the heads have more rank than they can."""
    data = [([a, 0], a % 2) for a in range(6)] * 2
    model = compiled(data, dimension=2, head_dimension=1, epsilon=0)
    assert model.record.verification.evidence == "proved"
    assert len(model.record.notes) == 3


def test_the_norm_of_a_product():
    random = np.random.default_rng(0)
    left, right = random.standard_normal((7, 3)), random.standard_normal((9, 3))
    assert product_norm(left, right) == pytest.approx(np.linalg.norm(left @ right.T, 2))
