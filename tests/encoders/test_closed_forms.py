"""dana2024, Propositions 2 and 3: cases done by hand, and the gap for any targets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.encoders import circle_encoder, exact_encoder, optimal_encoder
from byheart.encoders.encoder import merged
from byheart.encoders.exact import simplex
from byheart.encoders.polytope import vanishing
from byheart.encoders.unit_vectors import unit_vectors
from byheart.errors import AssumptionError

GAP = 1e-9
quick = settings(max_examples=50, deadline=None)
GAPS = st.sampled_from([1e-12, 1e-9, 1e-3, 1.0])


def counts(tokens, most=9):
    row = st.lists(st.integers(0, most), min_size=tokens, max_size=tokens).filter(any)
    return st.lists(row, min_size=1, max_size=8).map(np.array)


# --- Proposition 2


def test_two_tokens_in_one_dimension(table):
    # centred logits (a, -a) with 2 a = log(3 / 1): W = (1, -1) / sqrt 2, E = sqrt 2 a
    encoder = exact_encoder(table([[3, 1], [1, 1]]), 1, GAP)
    root = math.sqrt(2)
    assert encoder.unembedding.tolist() == pytest.approx(np.array([[1 / root], [-1 / root]]))
    assert encoder.embeddings[0, 0] == pytest.approx(math.log(3) / root)
    assert encoder.embeddings[1, 0] == 0
    assert encoder.exact and encoder.name == "exact" and encoder.largest < 1e-15


def test_a_zero_costs_the_gap(table):
    # one of two tokens: logits (L, 0), log(1 + exp(-L)) = gap
    encoder = exact_encoder(table([[4, 0]]), 1, 0.01)
    length = math.sqrt(2) * abs(encoder.embeddings[0, 0])
    assert math.log1p(math.exp(-length)) == pytest.approx(0.01, rel=1e-5)
    assert 0.0099 < encoder.largest <= 0.01


@quick
@given(st.integers(2, 7).flatmap(counts), st.integers(0, 3), GAPS)
def test_any_distributions_from_dimension_n_minus_1_on(table, kullback, values, more, gap):  # G1
    dimension = values.shape[1] - 1 + more
    encoder = exact_encoder(table(values), dimension, gap)
    assert encoder.unembedding.shape == (values.shape[1], dimension)
    assert encoder.embeddings.shape == (len(values), dimension)
    assert encoder.exact and encoder.largest <= gap
    assert encoder.divergence <= encoder.largest * (1 + 1e-12)
    assert kullback(values, encoder).max() <= gap + 1e-13


@quick
@given(st.integers(2, 7).flatmap(lambda n: counts(n).map(lambda x: x + 1)))
def test_without_zeros_nothing_is_lost(table, values):  # G2
    assert exact_encoder(table(values), values.shape[1] - 1, 1.0).largest < 1e-14


@quick
@given(st.integers(9, 12).flatmap(counts), GAPS)
def test_few_distributions_need_few_dimensions(table, values, gap):  # D2
    targets = table(values)
    distinct = len(merged(targets).targets)
    assert exact_encoder(targets, distinct, gap).largest <= gap
    if distinct > 1:
        with pytest.raises(AssumptionError, match="A1 fails.* from dimension"):
            exact_encoder(targets, min(distinct, values.shape[1] - 1) - 1, gap)


def test_below_n_minus_1_something_may_be_lost(table):
    """The converse: for N = 3, d = 1 the log-odds of three targets are on no line through 0."""
    targets = table([[8, 1, 1], [1, 8, 1], [1, 1, 8]])
    assert optimal_encoder(targets, 1, GAP, restarts=5).divergence > 0.1
    assert exact_encoder(targets, 2, GAP).divergence < 1e-14


@pytest.mark.parametrize("count", [2, 3, 4, 17])
def test_the_basis_of_the_vectors_with_sum_0(count):
    basis = simplex(count)
    assert np.allclose(basis.T @ basis, np.eye(count - 1), atol=1e-14)
    assert np.allclose(basis.sum(axis=0), 0, atol=1e-13)
    assert np.allclose(basis @ basis.T, np.eye(count) - 1 / count, atol=1e-14)


# --- Proposition 3


def test_three_tokens_on_the_circle(table):
    # 1 - cos(2 pi / 3) = 3/2: two others, log(1 + 2 exp(-1.5 l)) = gap
    encoder = circle_encoder(table(np.eye(3, dtype=int)), 2, 0.01)
    length = np.linalg.norm(encoder.embeddings, axis=1)
    assert length.tolist() == pytest.approx([math.log(2 / math.expm1(0.01)) / 1.5] * 3, rel=1e-3)
    assert encoder.unembedding[1].tolist() == pytest.approx([-1 / 2, math.sqrt(3) / 2])
    assert np.allclose(encoder.embeddings / length[:, None], encoder.unembedding)
    assert encoder.name == "circle" and encoder.exact and 0.0099 < encoder.largest <= 0.01


def test_four_tokens_on_the_circle(table):
    # with x = exp(-l): 2 x + x^2 = e^gap - 1, so x = e^(gap / 2) - 1
    encoder = circle_encoder(table(np.eye(4, dtype=int)), 2, 0.01)
    length = np.linalg.norm(encoder.embeddings, axis=1)
    assert length.tolist() == pytest.approx([-math.log(math.expm1(0.005))] * 4, rel=1e-3)
    assert encoder.unembedding.tolist() == pytest.approx(
        np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]), abs=1e-15
    )


@quick
@given(
    st.integers(2, 40).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), min_size=1, max_size=9))
    ),
    st.integers(2, 5),
    GAPS,
)
def test_any_associations_from_dimension_2_on(table, kullback, labelled, dimension, gap):  # G1, G2
    tokens, labels = labelled
    values = np.eye(tokens, dtype=int)[labels]
    encoder = circle_encoder(table(values), dimension, gap)
    assert encoder.unembedding.shape == (tokens, dimension)
    assert encoder.name == ("circle" if dimension == 2 else "sphere")
    assert (
        encoder.exact and encoder.largest <= gap and kullback(values, encoder).max() < gap + 1e-13
    )
    logits = encoder.embeddings @ encoder.unembedding.T
    own = logits[values > 0]
    assert (own > np.where(values > 0, -np.inf, logits).max(axis=1)).all()


def test_large_vocabularies_keep_the_gap_in_doubles(table):
    for tokens, dimension in ((10_000, 2), (3_000, 3)):
        values = np.eye(5, tokens, dtype=int)
        assert 0.99e-9 < circle_encoder(table(values), dimension, 1e-9).largest <= 1e-9


def test_the_optimiser_is_stuck_where_the_circle_is_exact(table):
    """Why closed forms come first: the order of 50 labels on the circle is combinatorial."""
    targets = table(np.eye(50, dtype=int))
    stuck = optimal_encoder(targets, 2, GAP, restarts=1)
    assert stuck.divergence > 0.1 and not stuck.exact
    assert circle_encoder(targets, 2, GAP).largest <= GAP


def test_circle_refuses(table):
    with pytest.raises(AssumptionError, match="A1 fails.*context 1 has 2"):
        circle_encoder(table([[1, 0, 0], [1, 1, 0]]), 2, GAP)
    with pytest.raises(AssumptionError, match="use dimension 2"):
        circle_encoder(table(np.eye(3, dtype=int)), 1, GAP)
    assert circle_encoder(table(np.eye(2, dtype=int)), 1, GAP).largest <= GAP


# --- unit vectors


def coherence(vectors):
    """The largest inner product of two of them."""
    products = vectors @ vectors.T
    np.fill_diagonal(products, -np.inf)
    return float(products.max())


@pytest.mark.parametrize(
    ("count", "dimension", "least"), [(6, 3, 0.0), (12, 3, 5**-0.5), (8, 4, 0)]
)
def test_known_best_coherences(count, dimension, least):
    """The octahedron, the icosahedron and the cross-polytope."""
    vectors = unit_vectors(count, dimension, 0)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert least - 1e-9 <= coherence(vectors) < least + 0.02


def test_vectors_are_moved_apart():
    still = np.random.default_rng(0).standard_normal((50, 10))
    still /= np.linalg.norm(still, axis=1, keepdims=True)
    assert coherence(unit_vectors(50, 10, 0)) < 0.25 < 0.6 < coherence(still)


# --- beyond the propositions


@pytest.mark.parametrize(("tokens", "size"), [(8, 2), (12, 2), (9, 3)])
def test_few_following_tokens_need_twice_as_many_dimensions(table, tokens, size):
    """The proof of polytope.py, done: the divergence goes to 0 as the length grows."""
    random = np.random.default_rng(tokens)
    angles = 2 * np.pi * np.arange(tokens) / tokens
    powers = np.arange(1, size + 1)
    curve = np.hstack([np.cos(np.outer(angles, powers)), np.sin(np.outer(angles, powers))])
    for _ in range(10):
        support = random.choice(tokens, size, replace=False)
        chances = random.dirichlet(np.ones(size))
        product = np.prod([1 - np.cos(angles - angles[i]) for i in support], axis=0)
        affine = np.hstack([np.ones((tokens, 1)), -curve])
        face, *_ = np.linalg.lstsq(affine, product, rcond=None)
        assert np.allclose(affine @ face, product, atol=1e-12)
        shift, *_ = np.linalg.lstsq(affine[support], np.log(chances), rcond=None)
        assert np.allclose(affine[support] @ shift, np.log(chances))
        least = np.delete(product, support).min()
        logits = -(affine @ face) * 200 / least + affine @ shift
        softmax = np.exp(logits) / np.exp(logits).sum()
        assert np.abs(softmax[support] - chances).max() < 1e-6


def test_where_the_infimum_is_0(table):
    assert vanishing(merged(table(np.eye(9, dtype=int)))) == 2
    assert vanishing(merged(table([[1] * 2 + [0] * 10, [0] * 11 + [1]] * 3))) == 2
    pairs = np.eye(12, dtype=int) + np.roll(np.eye(12, dtype=int), 1, axis=1)
    assert vanishing(merged(table(pairs))) == 4
    assert vanishing(merged(table(np.eye(12, dtype=int) + 1))) == 11
