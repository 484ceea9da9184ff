"""The closed forms of dana2024: displayed equations as oracles, monotonicity, and bad input."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from byheart.errors import AssumptionError
from byheart.softmax.decoder import ATTENTION, Shape
from byheart.theory.dana2024.associations import (
    Task,
    mahdavi_heads,
    mahdavi_memory,
    rows,
)
from byheart.theory.dana2024.capacity import (
    accuracy,
    corollary_2,
    heads_needed,
    interpolation_constant,
    parameters,
    proposition_2,
    proposition_3,
    theorem_1,
    theorem_1_approximate,
    theorem_2,
)
from byheart.theory.dana2024.near_tables import NearLookUp, theorem_2_constant
from byheart.theory.dana2024.ranks import (
    Tokens,
    rank_limit,
    tokens,
    tokens_limit,
)
from tests.theory.near_look_up import coherence, look_up_bound, near_look_up

sizes = st.integers(1, 60)
seeds = st.integers(0, 10**9)
some = settings(max_examples=50, deadline=None)


# --- Theorem 1 and its corollaries


@given(sizes, sizes, st.integers(1, 10**4))
def test_heads_needed_is_the_least(d_h, more, contexts):
    d = d_h + more - 1
    heads = heads_needed(contexts, d_h, d)
    assert theorem_1(heads, d_h, d) >= contexts
    assert heads == 0 or theorem_1(heads - 1, d_h, d) < contexts
    assert heads == max(0, math.ceil((contexts - d) / d_h))


@given(sizes, sizes, sizes, sizes, st.integers(2, 60))
def test_the_count_is_that_of_the_tensors(d, d_h, H, S, N):
    """Embeddings, positions, unembedding, and W_Q, W_K, W_V, W_O of each head."""
    assume(d_h <= d)
    head = 3 * d_h * d + d * d_h
    assert parameters(N, S, d, d_h, H) == N * d + S * d + N * d + H * head
    shape = Shape(N, S, d, ATTENTION, H, d_h, d_h, True, 0, "none")
    assert parameters(N, S, d, d_h, H) == shape.parameters
    divisible = H * d_h + d  # Remarks 1: d (S + 2 N + 4 (T_0 - d))
    assert parameters(N, S, d, d_h, H) == d * (S + 2 * N + 4 * (divisible - d))


@given(sizes, st.integers(1, 2), sizes, st.integers(2, 60))
def test_corollary_1_is_theorem_1_in_two_dimensions(H, d_h, S, N):
    T = theorem_1(H, d_h, 2)
    assert T == H * d_h + 2 and heads_needed(T, d_h, 2) == H
    assert parameters(N, S, 2, d_h, H) == 2 * (S + 2 * N + 4 * (T - 2))


@given(st.integers(0, 500), st.integers(1, 500), st.integers(2, 50))
def test_accuracy(known, contexts, N):
    found = accuracy(known, contexts, N)
    share = min(known, contexts) / contexts
    assert found.average == pytest.approx(share + (1 - share) / N)
    assert 1 / N <= found.proved + 1e-12 and share <= found.proved <= 1
    assert accuracy(known + 1, contexts, N).average >= found.average
    assert accuracy(contexts, contexts, N) == pytest.approx((1, 1))


def test_corollary_2_as_in_the_figures():
    """N = 50, S = 2, d = 10: the line of figure 1."""
    found = corollary_2(heads=20, head_dimension=10, dimension=10, contexts=2500, vocabulary=50)
    assert found == pytest.approx((210 / 2500, 1 / 50 + 49 / 50 * 210 / 2500))


@some
@given(seeds, st.integers(1, 5), st.integers(0, 6))
def test_the_constant_of_interpolation(seed, kept, others):
    """||V11^-1|| of the paper's V, and between 1 and the paper's C."""
    F = np.random.default_rng(seed).normal(size=(kept, kept + others))
    V = np.linalg.svd(F, full_matrices=False)[2]
    inverse = np.linalg.norm(np.linalg.inv(V[:, :kept]), 2)
    found = interpolation_constant(F, kept)
    assert found == pytest.approx(inverse, rel=1e-6) and found >= 1
    assert found <= math.sqrt(1 + inverse**2) * (1 + 1e-9)


@some
@given(seeds, st.integers(2, 4), st.floats(0.1, 5))
def test_the_bound_of_theorem_1_holds(seed, N, large):
    """Targets that an encoder has exactly, half of the contexts kept."""
    draw = np.random.default_rng(seed)
    F, E = draw.normal(size=(3, 6)), large * draw.normal(size=(N, 6))
    prior = np.sort(draw.dirichlet(np.ones(6)))[::-1]
    logits = E[:, :3] @ np.linalg.inv(F[:, :3]) @ F
    p, q = (x - np.log(np.exp(x - x.max(0)).sum(0)) - x.max(0) for x in (E, logits))
    found = float(prior @ (np.exp(p) * (p - q)).sum(0))
    bound = theorem_1_approximate(F, 3, prior[3:].sum(), np.linalg.norm(E, 2))
    assert 0 <= found + 1e-12 and found <= bound * (1 + 1e-9) + 1e-9


# --- encoders


@given(st.integers(2, 40), st.floats(0, 1e4))
def test_proposition_3_is_the_displayed_sum(N, scale):
    found = math.log(sum(math.exp(scale * math.cos(2 * math.pi * j / N) - scale) for j in range(N)))
    assert proposition_3(N, scale) == pytest.approx(found, abs=1e-12)
    assert proposition_3(N, scale + 1) <= proposition_3(N, scale)


def test_proposition_2():
    assert proposition_2(50) == 49


@some
@given(seeds, st.integers(2, 30))
def test_theorem_2_bounds_its_own_encoder(seed, N):
    """Eq. (6) by bisection, for random unit vectors in many dimensions: D_KL = E[f_g - f_t]."""
    draw = np.random.default_rng(seed)
    p = draw.dirichlet(np.full(N, 0.3))
    assume(p.max() < 1 - 1e-6)
    W = draw.normal(size=(N, 400))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    g, G = int(p.argmax()), W @ W.T
    context = near_look_up(p.tolist(), g)
    found = _encoder_divergence(p, G[g] - 1, context.entropy)
    within = float(np.abs(G - np.eye(N)).max())
    assert found <= look_up_bound(N, 400, [context], within) * (1 + 1e-6) + 1e-9
    assert within <= theorem_2_constant(N, 400)


@some
@given(seeds, st.integers(2, 30), st.floats(0, 0.9))
def test_theorem_2_is_the_displayed_bound(seed, N, within):
    """With d_TV the sum of |pi / q - 1 / (N - 1)|, and H the negative of our h."""
    draw = np.random.default_rng(seed)
    targets, weights = draw.dirichlet(np.ones(N), size=3), draw.dirichlet(np.ones(3))
    contexts = [near_look_up(p.tolist(), 0, w) for p, w in zip(targets, weights, strict=True)]
    C, bound, sharp = math.sqrt(32 * math.log(N + 1) / 1000), 0.0, 0.0
    for p, weight in zip(targets, weights, strict=True):
        q, H = 1 - p[0], p @ np.log(p)
        term = weight * q * math.log((N - 1) / (math.exp(-H) - 1))
        distance = np.abs(p[1:] / q - 1 / (N - 1)).sum()
        bound += term * (1 + 2 * C + C * distance) / (1 - 2 * C)
        sharp += term * (1 + within) / (1 - within)
    assert theorem_2(N, 1000, contexts) == pytest.approx(bound, rel=1e-9, abs=1e-12)
    assert look_up_bound(N, 1000, contexts, within) == pytest.approx(sharp, rel=1e-9, abs=1e-12)


def test_the_factor_of_unit_vectors_is_needed():
    """g has 1/2 towards three others, all of the error is on one that has -1/2 towards it."""
    p, steps = np.array([0.7, 0.3, 0, 0, 0]), np.array([0, -1.5, -0.5, -0.5, -0.5])
    context = near_look_up(p.tolist(), 0)
    found = _encoder_divergence(p, steps, context.entropy)
    assert look_up_bound(5, 9, [context], 0.0) * 1.5 < found <= look_up_bound(5, 9, [context], 0.5)


def _encoder_divergence(p, steps, h):
    low, high = 0.0, 1e6  # of lambda: the entropy decreases
    for _ in range(200):
        middle = (low + high) / 2
        larger = math.log(np.exp(middle * steps).sum()) > h
        low, high = (middle, high) if larger else (low, middle)
    logits = low * steps
    logits -= math.log(np.exp(logits).sum())
    inside = p > 0
    return float(p[inside] @ (np.log(p[inside]) - logits[inside]))


@given(st.integers(2, 2000), st.integers(1, 5000))
def test_what_is_finite_and_what_is_smaller(N, d):
    context = [NearLookUp(1.0, 0.2, 0.5, 1.0)]
    assert (theorem_2(N, d, context) < math.inf) == (d > 128 * math.log(N + 1))
    assert (look_up_bound(N, d, context) < math.inf) == (coherence(N, d) < 1)
    if theorem_2(N, d, context) < math.inf:
        assert look_up_bound(N, d, context) <= theorem_2(N, d, context)
        assert theorem_2(N, d + 1, context) <= theorem_2(N, d, context)


def test_look_up_tables_and_uniform_distributions_cost_nothing():
    table = near_look_up([1.0, 0, 0], 0)
    assert table == NearLookUp(1.0, 0, 0) and theorem_2(3, 1000, [table]) == 0
    uniform = near_look_up([1 / 3] * 3, 0)
    assert theorem_2(3, 1000, [uniform]) == pytest.approx(0)
    wrong = near_look_up([0, 1.0, 0], 0)  # certain of another token
    assert theorem_2(3, 1000, [wrong]) == math.inf


def test_unit_vectors_of_that_coherence_exist():
    """Far within what is proved: random ones are already."""
    W = np.random.default_rng(0).normal(size=(50, 300))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    assert np.abs(W @ W.T - np.eye(50)).max() <= coherence(50, 300) < theorem_2_constant(50, 300)


# --- ranks


def softmax_features(contexts, d, H, d_h, seed, skip):
    draw = np.random.default_rng(seed)
    N, S = 1 + max(map(max, contexts)), len(contexts[0])
    e, pos = draw.normal(size=(N, d)), draw.normal(size=(S, d))
    x = e[np.array(contexts)] + pos
    parts = [x[:, -1]] if skip else []
    for _ in range(H):
        scores = np.einsum("ti,ij,tsj->ts", x[:, -1], draw.normal(size=(d, d)) / d, x)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        parts.append(np.einsum("ts,tsd->td", weights, x) @ draw.normal(size=(d, d_h)))
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(contexts), 1))


@settings(max_examples=150, deadline=None)
@given(
    seeds,
    st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=3),
    st.integers(1, 6),
    st.integers(0, 3),
    st.booleans(),
)
def test_no_features_have_more_rank_than_the_limit(seed, sets, d, H, skip):
    contexts = list(product(*map(sorted, sets)))
    d_h = 1 + seed % d
    found = np.linalg.matrix_rank(softmax_features(contexts, d, H, d_h, seed, skip), tol=1e-9)
    assert found <= rank_limit(contexts, H, d_h, d, skip)


@pytest.mark.parametrize(
    "d,plain,skip", [(10, 100, 110), (11, 110, 120), (12, 111, 120), (20, 111, 120)]
)
def test_the_measured_limits(d, plain, skip):
    """N = 10, S = 3, H = 10."""
    numbers = Tokens(1000, 3, 10, 10)
    assert tokens_limit(numbers, 10, d, d, skip=False) == plain
    assert tokens_limit(numbers, 10, d, d) == skip


def test_the_other_measured_limits():
    assert tokens_limit(Tokens(20, 1, 20, 20), 5, 4, 4, skip=False) == 4  # S = 1: 4 of 20
    assert tokens_limit(Tokens(40, 2, 41, 1), 3, 10, 10) == 31  # one last token: not 40


def test_tokens():
    assert tokens([(0, 1), (1, 2), (0, 1)]) == Tokens(2, 2, 3, 2, 1)
    assert tokens(product((0, 1), (2, 3), (3, 4))) == Tokens(8, 3, 5, 2, 2)
    assert tokens([(7,)]) == Tokens(1, 1, 1, 1, 1)


# --- the rows of section 6


@given(st.integers(1, 5000), st.integers(2, 60), st.integers(1, 20), sizes, sizes)
def test_rows(T, N, S, d_h, more):
    task = Task(T, N, S, d_h + more - 1, d_h)
    found = rows(task)
    assert [row.name for row in found] == [row.name for row in rows(task._replace(contexts=1))]
    assert all(row.reference and row.formula and row.assumptions for row in found)
    own, patterns = found[:2]
    assert own.parameters == parameters(N, S, task.dimension, d_h, own.heads)
    if min(S, d_h) >= 2:  # "a strict improvement"
        assert own.parameters <= patterns.parameters and own.heads <= patterns.heads
        assert mahdavi_memory(patterns.heads, d_h, S, task.dimension) >= T
        fewer = patterns.heads - 1
        assert fewer < 0 or mahdavi_memory(fewer, d_h, S, task.dimension) < T
    else:
        assert patterns.parameters is None
        assert ("d_h >= 2" in patterns.fails, "S >= 2" in patterns.fails) == (d_h < 2, S < 2)


@given(sizes, sizes, sizes)
def test_our_memory_is_larger_than_the_previous_one(H, d, S):
    assert theorem_1(H, d, d) > mahdavi_memory(H, d, S, d)


def test_the_previous_memory_depends_on_the_length():
    """H + 1 for bigrams, where dana2024 cites H (d_h - 1) + 1 = 181 (docs/errata.md)."""
    assert mahdavi_memory(20, 10, length=2, dimension=10) == 21
    assert mahdavi_memory(20, 10, length=10, dimension=10) == 181
    assert mahdavi_memory(20, 10, length=50, dimension=50) == 181
    assert mahdavi_memory(0, 10, length=2, dimension=10) == 1


def test_rows_as_the_paper_has_them():
    task = Task(contexts=1000, vocabulary=50, length=8, dimension=10, head_dimension=10)
    own, patterns, deep, neurons, linear = rows(task)
    assert own.heads == 99 and mahdavi_heads(1000, 10, length=10) == 111
    assert mahdavi_heads(1000, 10, length=8) == patterns.heads == 143 and patterns.fails == ()
    assert rows(task._replace(length=2))[1].heads == 999
    assert rows(task._replace(length=11))[1].fails == ("S <= d",)
    assert linear.parameters == 10**6 and linear.fails == ("S = 1",)
    assert deep.parameters == 8 + 50 + math.ceil(math.sqrt(1000 * math.log(1000)))
    assert neurons.parameters == 18 * (8 + 50 + 1000) and not neurons.exact and own.exact
    pair = Task(1002, 50, 8, 2, 2)  # Corollary 1: 2 S + 4 N + 8 (T_0 - 2)
    assert rows(pair)[0].parameters == 2 * 8 + 4 * 50 + 8 * 1000


# --- bad input


@pytest.mark.parametrize(
    "call",
    [
        lambda: theorem_1(1, 5, 2),
        lambda: heads_needed(100, 5, 2),
        lambda: parameters(50, 2, 2, 5, 20),
        lambda: tokens_limit(Tokens(4, 2, 2, 2), 1, 3, 2),
        lambda: rows(Task(10, 5, 2, 2, 3)),
        lambda: mahdavi_memory(20, 5, 2, 2),
    ],
)
def test_heads_that_are_larger_than_the_embedding(call):
    with pytest.raises(AssumptionError, match="A2 fails: heads have dimension"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: theorem_1(-1, 1, 1),
        lambda: theorem_1(1, 0, 1),
        lambda: heads_needed(0, 1, 1),
        lambda: heads_needed(5, 0, 4),
        lambda: parameters(1, 2, 2, 2, 2),
        lambda: parameters(5, 0, 2, 2, 2),
        lambda: accuracy(1, 0, 5),
        lambda: accuracy(1, 5, 1),
        lambda: proposition_2(1),
        lambda: proposition_3(1, 1.0),
        lambda: theorem_2(1, 10, []),
        lambda: theorem_2(10, 0, []),
        lambda: coherence(1, 1),
        lambda: look_up_bound(5, 0, []),
        lambda: mahdavi_heads(10, 1, 5),
        lambda: mahdavi_heads(10, 5, 1),
        lambda: mahdavi_memory(1, 1, 0, 1),
        lambda: tokens([]),
        lambda: tokens([(1,), (1, 2)]),
        lambda: tokens([()]),
        lambda: tokens_limit(Tokens(0, 1, 1, 1), 1, 1, 1),
        lambda: tokens_limit(Tokens(4, 2, 2, 3), 1, 1, 1),
        lambda: rows(Task(0, 5, 2, 2, 2)),
    ],
)
def test_sizes_that_no_architecture_has(call):
    with pytest.raises(AssumptionError, match="A1 fails: "):
        call()


def test_features_that_cannot_be_interpolated():
    with pytest.raises(AssumptionError, match="A5 fails"):
        interpolation_constant([[1, 2], [2, 4]], kept=2)
    for kept in (0, 3):
        with pytest.raises(AssumptionError, match="kept"):
            interpolation_constant([[1, 2]], kept)
    with pytest.raises(AssumptionError, match="probability"):
        theorem_1_approximate([[1, 2]], 1, epsilon=2, norm=1)
    with pytest.raises(AssumptionError, match="D5"):
        theorem_2(3, 1000, [NearLookUp(1, 0.5, -0.1)])
