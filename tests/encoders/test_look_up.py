"""dana2024, Theorem 2: eq. (6), its identity, and the better lengths."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.encoders import circle_encoder, equation_6, look_up_encoder, optimal_encoder
from byheart.encoders.encoder import divergences, merged
from byheart.encoders.look_up import entropies
from byheart.encoders.optimal import Objective

GAP = 1e-9
quick = settings(max_examples=50, deadline=None)
counts = st.integers(3, 7).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any), min_size=1, max_size=6
    ).map(np.array)
)


def probabilities(values):
    return values / values.sum(axis=1, keepdims=True)


def near_look_up(contexts, tokens, seed=0):
    """Nine parts of ten one token, the rest uniformly from the simplex."""
    random = np.random.default_rng(seed)
    own = np.eye(tokens)[random.integers(0, tokens, contexts)]
    mixed = 0.9 * own + 0.1 * random.dirichlet(np.ones(tokens), contexts)
    return np.maximum(1, np.round(1e9 * mixed)).astype(int)


def test_by_hand(table):
    # N = 4 on the circle, p = (a, b, 0, b): falls 0, 1, 2, 1; x = exp(-l): sum = (1 + x)^2 = e^h
    values = np.array([[8, 1, 0, 1]])
    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.1))
    assert entropies(table(values)).tolist() == pytest.approx([entropy])
    length = -math.log(math.expm1(entropy / 2))
    encoder = equation_6(table(values), 2, GAP)
    assert np.linalg.norm(encoder.embeddings) == pytest.approx(length)
    assert encoder.divergence == pytest.approx(0.2 * length)  # E[f_g - f_j]
    # the best: 0.2 = 2 x / (1 + x) is the softmax's mean fall, so x = 1/9
    better = look_up_encoder(table(values), 2, GAP)
    assert np.linalg.norm(better.embeddings) == pytest.approx(math.log(9))
    at_best = 2 * math.log(10 / 9) + 0.2 * math.log(9) - entropy
    assert better.divergence == pytest.approx(at_best)
    assert not better.exact and (better.name, encoder.name) == ("look-up", "look-up, eq. (6)")


@quick
@given(counts, st.integers(2, 4))
def test_the_identity(table, values, dimension):  # G1
    """KL = E[f_g - f_next] where h > 0; a certain target has the gap instead."""
    targets = table(values)
    encoder = equation_6(targets, dimension, GAP)
    logits = encoder.embeddings @ encoder.unembedding.T
    p = probabilities(values)
    own = values.argmax(axis=1)
    mean = logits[np.arange(len(p)), own] - (p * logits).sum(axis=1)
    found = divergences(encoder.unembedding, encoder.embeddings, targets)
    uncertain = np.count_nonzero(values, axis=1) > 1
    assert found[uncertain].tolist() == pytest.approx(mean[uncertain].tolist(), abs=1e-9)
    assert (found[~uncertain] <= GAP).all()


@quick
@given(counts, st.integers(2, 4))
def test_eq_6_is_solved(table, values, dimension):
    targets = table(values)
    encoder = equation_6(targets, dimension, GAP)
    own = values.argmax(axis=1)
    logits = encoder.embeddings @ encoder.unembedding.T
    below = logits - logits[np.arange(len(own)), own][:, None]
    found = np.log(np.exp(below).sum(axis=1))
    wanted = np.maximum(entropies(targets), GAP)
    assert found.tolist() == pytest.approx(wanted.tolist(), rel=2e-3)
    uncertain = entropies(targets) > 0
    assert found[uncertain].tolist() == pytest.approx(wanted[uncertain].tolist(), rel=1e-10)


@quick
@given(counts, st.integers(2, 4))
def test_the_best_length_is_best(table, values, dimension):  # G2
    targets = table(values)
    better = look_up_encoder(targets, dimension, GAP)
    now = divergences(better.unembedding, better.embeddings, targets)
    theirs = equation_6(targets, dimension, GAP)
    assert (now <= divergences(theirs.unembedding, theirs.embeddings, targets) + 1e-12).all()
    uncertain = np.count_nonzero(values, axis=1) > 1
    for factor in (0.9, 0.999, 1.001, 1.1):
        other = divergences(better.unembedding, factor * better.embeddings, targets)
        assert (now[uncertain] <= other[uncertain] + 1e-12).all()
    assert (now[~uncertain] <= GAP).all()


def test_uniform_targets_have_length_0(table):
    for part in (equation_6, look_up_encoder):
        encoder = part(table([[1, 1, 1, 1, 1], [7, 7, 7, 7, 7]]), 2, GAP)
        assert np.allclose(encoder.embeddings, 0, atol=1e-7) and encoder.largest < 1e-12


def test_associations_are_those_of_the_circle(table):
    targets = table(np.eye(7, dtype=int))
    for dimension in (2, 3):
        one, other = (
            look_up_encoder(targets, dimension, GAP),
            circle_encoder(targets, dimension, GAP),
        )
        assert np.allclose(one.embeddings, other.embeddings, rtol=1e-9)
        assert one.largest <= GAP and other.exact and not one.exact


def test_the_bound_of_the_proof_holds(table):
    """With C < 1/2, unit vectors and L1 distances: the divergence is at most the theorem's."""
    values = near_look_up(60, 12)
    encoder = equation_6(table(values), 11, GAP)  # a simplex: the proof bounds |W_i . W_j|
    grams = encoder.unembedding @ encoder.unembedding.T - np.eye(12)
    c = np.abs(grams).max()
    assert c == pytest.approx(1 / 11)
    p = probabilities(values)
    q = 1 - p.max(axis=1)
    rest = np.where(p == p.max(axis=1, keepdims=True), 0, p) / q[:, None]
    uniform = np.where(rest > 0, 1 / 11, 0)
    distance = np.abs(rest - uniform).sum(axis=1)
    h = entropies(table(values))
    bound = q * np.log(11 / np.expm1(h)) * (1 + 2 * c + c * distance) / (1 - 2 * c)
    found = divergences(encoder.unembedding, encoder.embeddings, table(values))
    assert (found <= bound).all()


# --- the optimiser


def test_slopes_are_those_of_differences(table):
    random = np.random.default_rng(2)
    rows = merged(table(random.integers(0, 5, (6, 5)) + np.eye(6, 5, dtype=int)))
    objective = Objective(rows)
    w, e = random.normal(size=(5, 2)), random.normal(size=(len(rows.targets), 2))
    value, by_w, by_e = objective(w, e)
    assert value == pytest.approx(rows.share @ divergences(w, e, rows.targets), abs=1e-14)
    for array, slopes in ((w, by_w), (e, by_e)):
        for place in np.ndindex(array.shape):
            array[place] += 1e-6
            above = objective(w, e)[0]
            array[place] -= 2e-6
            below = objective(w, e)[0]
            array[place] += 1e-6
            assert (above - below) / 2e-6 == pytest.approx(slopes[place], abs=1e-8)


def test_it_finds_what_there_is(table):
    """Targets made by an encoder of dimension 2 are found again, up to their rounding."""
    random = np.random.default_rng(4)
    logits = random.normal(size=(40, 2)) @ random.normal(size=(2, 9))
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = optimal_encoder(table(np.round(1e9 * softmax).astype(int)), 2, GAP)
    assert found.divergence < 1e-6 and not found.exact


def test_tokens_that_could_be_exchanged_do_not_stay_together(table):
    """Six rare tokens are one in the leading singular vectors, and would stay so for ever.

    Without noise their contexts keep a divergence of log 6.
    """
    values = np.zeros((10, 10), int)
    values[:4, :4] = 900 * np.eye(4, dtype=int) + 100
    values[np.arange(4, 10), np.arange(4, 10)] = 1
    assert optimal_encoder(table(values), 4, GAP, restarts=0).largest < 1e-3


@settings(max_examples=8, deadline=None)
@given(counts, st.integers(1, 3))
def test_it_is_better_than_no_encoder(table, values, dimension):
    entropy = (entropies(table(values)) * values.sum(axis=1)).sum() / values.sum()
    found = optimal_encoder(table(values), dimension, GAP)
    assert found.divergence <= math.log(values.shape[1]) - entropy + 1e-12


def test_the_order_of_the_three(table):
    """On a near look-up table: eq. (6), then the best lengths, then the optimiser."""
    targets = table(near_look_up(300, 20))
    values = [
        part(targets, 5, GAP).divergence for part in (equation_6, look_up_encoder, optimal_encoder)
    ]
    assert values[0] > 1.2 * values[1] > 1.2 * values[2]
