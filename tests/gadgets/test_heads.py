"""Random heads: what they compute, which are picked, and how much rank they have."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.heads import (
    Heads,
    decoder,
    draw,
    drawn,
    features,
    folded,
    last,
    picked,
    solve,
    spread,
)
from byheart.softmax.decoder import ATTENTION, Shape
from byheart.softmax.doubles import logits, mixed
from byheart.theory.dana2024.ranks import rank_limit


def shape_of(vocabulary, length, dimension, heads, size=None):
    size = size or dimension
    return Shape(vocabulary, length, dimension, ATTENTION, heads, size, size, True, 0, "none", None)


def contexts_of(count, vocabulary, length, seed=0):
    """Different contexts, drawn."""
    random = np.random.default_rng(seed)
    drawn = random.permutation(vocabulary**length)[:count]
    return np.array(np.unravel_index(drawn, (vocabulary,) * length)).T


def rank(matrix):
    """Numerical rank; numbers drawn at random leave a wide gap."""
    return int(np.linalg.matrix_rank(matrix, rtol=1e-11))


def test_by_hand():
    """Tokens 1 and 3, positions 0 and 1: x = 1, 3 + 1; the score of s is 2 x_2 x_s / 8."""
    one = np.ones((1, 1, 1))
    heads = Heads(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]]), one / 4, one, 5 * one)
    low, high = math.exp(4 * 1 / 4), math.exp(4 * 4 / 4)
    tokens = np.array([[0, 1]])
    mean = (low * 1 + high * 4) / (low + high)
    assert features(heads, tokens) == pytest.approx(np.array([[5 * mean]]), rel=1e-14)
    assert last(heads, tokens).tolist() == [[4.0]]


@settings(max_examples=25, deadline=None)
@given(
    vocabulary=st.integers(2, 5),
    length=st.integers(1, 4),
    dimension=st.integers(1, 4),
    heads=st.integers(1, 5),
    size=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_features_are_what_the_decoder_hears(vocabulary, length, dimension, heads, size, seed):
    """Two implementations: by blocks of matrix products, and the evaluator."""
    random = np.random.default_rng(seed)
    shape = shape_of(vocabulary, length, dimension, heads, min(size, dimension))
    found = draw(shape, random, (1.0, 3.0))
    tokens = random.integers(0, vocabulary, (7, length))
    out = random.standard_normal((dimension, heads * shape.value_dimension))
    unembedding = random.standard_normal((vocabulary, dimension))
    network = decoder(shape, found, out, unembedding)
    starts = np.arange(8) * length
    expected = features(found, tokens) @ out.T + last(found, tokens)
    np.testing.assert_allclose(
        mixed(shape, network.tensors, tokens.ravel(), starts), expected, rtol=1e-10, atol=1e-12
    )
    said = logits(network, tokens.ravel(), starts)
    np.testing.assert_allclose(said, expected @ unembedding.T, rtol=1e-9, atol=1e-11)


def test_scores_have_the_scale():
    """The deviation over 50 heads each is within 10 % of what is asked."""
    heads = draw(shape_of(20, 3, 16, 100), np.random.default_rng(0), (1.0, 4.0))
    vectors = (heads.embedding[:, None] + heads.positions).reshape(-1, 16)
    assert vectors.std() == pytest.approx(1, rel=0.1)
    scores = vectors @ np.swapaxes(heads.query, 1, 2) @ heads.key @ vectors.T
    assert scores[::2].std() == pytest.approx(1, rel=0.1)
    assert scores[1::2].std() == pytest.approx(4, rel=0.1)


def test_blocks_do_not_matter(monkeypatch):
    from byheart.gadgets import heads as gadget

    heads = draw(shape_of(5, 3, 4, 6), np.random.default_rng(1))
    tokens = contexts_of(60, 5, 3)
    whole = features(heads, tokens)
    monkeypatch.setattr(gadget, "BLOCK", 300)
    np.testing.assert_allclose(features(heads, tokens), whole, rtol=1e-12, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), dimension=st.integers(1, 4))
def test_folding_changes_the_skip_connection_only(seed, dimension):
    random = np.random.default_rng(seed)
    heads = draw(shape_of(4, 3, dimension, 3), random)
    matrix = random.standard_normal((dimension, dimension)) + 3 * np.eye(dimension)
    tokens = contexts_of(30, 4, 3, seed)
    other = folded(heads, matrix)
    np.testing.assert_allclose(features(other, tokens), features(heads, tokens), atol=1e-8)
    np.testing.assert_allclose(last(other, tokens), last(heads, tokens) @ matrix.T, atol=1e-12)


# --- selection


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999))
def test_with_heads_of_one_feature_it_is_a_pivoted_qr(seed):
    from scipy.linalg import qr

    found = np.random.default_rng(seed).standard_normal((12, 30))
    pivots = qr(found, mode="r", pivoting=True)[1]
    assert spread(found, 1, 8).tolist() == sorted(pivots[:8].tolist())


def test_heads_that_repeat_others_are_not_picked():
    """Of 4 heads with 2 features each, 1 repeats 0, and 3 has one feature twice."""
    random = np.random.default_rng(0)
    first, third = random.standard_normal((2, 9, 2))
    found = np.hstack([first, first @ [[1, 2], [0, 1]], third, 5 * third[:, :1], 5 * third[:, :1]])
    assert 2 in spread(found, 2, 2) and 3 not in spread(found, 2, 2)
    assert rank(found.reshape(9, 4, 2)[:, spread(found, 2, 2)].reshape(9, 4)) == 4


def test_more_features_than_contexts():
    """The last head can add only one new direction to 5 contexts."""
    random = np.random.default_rng(0)
    assert len(set(spread(random.standard_normal((5, 16)), 2, 3).tolist())) == 3
    with np.errstate(all="raise"):  # fewer contexts than one head has features
        few = random.standard_normal((2, 16))
        assert spread(few, 4, 1).tolist() == [_most_independent(few.reshape(2, 4, 4))]


def _most_independent(heads):
    """The head with the largest second singular value; [contexts, heads, features]."""
    return int(np.linalg.svd(heads.swapaxes(0, 1), compute_uv=False)[:, 1].argmax())


def test_selection_makes_two_dimensions_well_conditioned():
    """D7 of attention-only: by a factor of 100 at least, for each of 3 seeds."""
    shape, tokens = shape_of(20, 2, 2, 60), contexts_of(120, 20, 2)
    for seed in range(3):
        plain = draw(shape, np.random.default_rng(seed), (1.0,))
        chosen = drawn(shape, tokens, np.random.default_rng(seed))
        conditions = [
            solve(features(heads, tokens), np.ones((120, 1))).condition for heads in (plain, chosen)
        ]
        assert conditions[1] < 1e9 and conditions[1] < conditions[0] / 100


def test_picked():
    heads = draw(shape_of(3, 2, 2, 5), np.random.default_rng(0))
    tokens = contexts_of(9, 3, 2)
    some = picked(heads, np.array([1, 4]))
    whole = features(heads, tokens).reshape(9, 5, 2)
    np.testing.assert_allclose(
        features(some, tokens).reshape(9, 2, 2), whole[:, [1, 4]], rtol=1e-12, atol=1e-14
    )


# --- ranks, where the paper's lemmas fail


def ranks(tokens, vocabulary, dimension, heads):
    """Measured without and with the skip connection, then their limits."""
    shape = shape_of(vocabulary, tokens.shape[1], dimension, heads)
    found = draw(shape, np.random.default_rng(7), (2.0, 4.0))
    F = features(found, tokens)
    sizes = tokens.tolist(), heads, shape.value_dimension, dimension
    measured = rank(F), rank(np.hstack([F, last(found, tokens)]))
    return measured, (rank_limit(*sizes, skip=False), rank_limit(*sizes, skip=True))


def test_lemma_2_fails_for_one_token():
    """S = 1: all heads hear the same, and 4 heads of dimension 5 have rank 5, not 20."""
    found, limits = ranks(contexts_of(30, 30, 1), 30, 5, 4)
    assert found == limits == (5, 5)


def test_lemma_2_fails_in_many_dimensions():
    """d = 8 > N + S - 2 = 5: 6 heads have rank 31, not 48."""
    found, limits = ranks(contexts_of(60, 4, 3), 4, 8, 6)
    assert found == limits == (31, 34)


def test_lemma_2_holds_up_to_its_limit():
    """d = 5 = N + S - 2."""
    found, limits = ranks(contexts_of(60, 4, 3), 4, 5, 6)
    assert found == limits == (30, 34)


def test_theorem_1_fails_with_one_last_token():
    """The skip connection adds 1, not d."""
    tokens = contexts_of(64, 4, 3)
    tokens = tokens[tokens[:, -1] == 0]
    (without, with_skip), limits = ranks(tokens, 4, 3, 2)
    assert (without, with_skip) == (6, 7) and limits[1] >= 7


def test_heads_of_more_dimensions_than_the_embedding_add_nothing():
    """Appendix B has d = 2, d_h = 5, H = 20 memorise all of 100 contexts; the rank is 42."""
    tokens = contexts_of(100, 10, 2)
    random = np.random.default_rng(3)
    heads = draw(shape_of(10, 2, 2, 20, 5), random, (8.0, 16.0, 32.0))
    joined = np.hstack([features(heads, tokens), last(heads, tokens)])
    assert joined.shape == (100, 102) and rank(joined) == 42
