"""Lower bounds of kajitsuka2025: the steps of the proof as inequalities, and counted patterns."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from byheart.architectures import decoder, kajitsuka2025
from byheart.errors import AssumptionError
from byheart.theory.kajitsuka2025.sign_patterns import (
    Blocks,
    eq_90,
    goldberg_jerrum,
    theorem_4_2,
    theorem_4_2_points,
    theorem_4_3,
    theorem_4_3_tokens,
    uniform_attention,
)

small = st.integers(1, 6)
blocks = st.builds(Blocks, small, st.integers(0, 4), small, small, st.integers(1, 12), small)
points = st.integers(1, 10**11)


def limit(W, n, N):
    """The displayed end of the proof of theorem_4_3, written anew."""
    one, three = math.log2(16 * math.e * n * N), math.log2(16 * math.e * n**3 * N)
    return W * (one - 1) + (W - 1) ** 2 / 16 * (three + one) + W / 6 * one


@settings(max_examples=400)
@given(blocks, st.integers(1, 10**6), st.integers(1, 40))
def test_no_architecture_has_more_patterns(sizes, N, n):
    W = sizes.parameters
    assume(n * N >= W)
    assert eq_90(sizes, N, n) <= limit(W, n, N) * (1 + 1e-12)


@given(st.integers(1, 10**9), st.integers(1, 100), st.integers(1, 10**9))
def test_theorem_4_3_is_the_least_that_is_not_excluded(N, n, labels):
    labels = min(labels, n * N)
    for wanted, W in ((labels, theorem_4_3(N, n, labels)), (n * N, theorem_4_3(N, n))):
        assert limit(W, n, N) >= wanted * (1 - 1e-9)
        assert W == 1 or limit(W - 1, n, N) < wanted


@given(blocks, st.integers(1, 10**6), st.integers(1, 40))
def test_the_steps_from_eq_90_to_96(sizes, N, n):
    """With the counts of eq. (3): the last line of (90), (91), (93) to (96) hold as displayed."""
    m, H, s, q, L, d = sizes
    W, layers = sizes.parameters, range(1, sizes.layers + 1)
    assume(n * N >= W)
    before = {layer: m * d + (layer - 1) * sizes.block for layer in layers}
    total = W + sum(2 * before[x] + 4 * m * s * H + (m + 1) * q for x in layers)  # eq. (91)
    terms = sum(n**3 * H * N * (8 * x - 4) + n * q * N * 4 * x for x in layers)
    numerator = 8 * math.e * (n * N * (4 * L + 2) + terms)
    product_of_means = total * math.log2(numerator / total)
    if H:
        assert eq_90(sizes, N, n) <= product_of_means * (1 + 1e-12)
    assert numerator <= 48 * math.e * n**3 * N * total  # eq. (93)
    assert math.log2(48 * math.e * n**3 * N) <= 3 * math.log2(48 * math.e * n * N)  # eq. (95)
    assert total <= W + 2 * L * W <= 3 * W**2  # eq. (96)


@given(st.integers(1, 10**6), st.integers(1, 40))
def test_theorem_4_3_is_sharper_than_its_final_form(N, n):
    """nN <= 9 W^2 log2(48 e n N)."""
    loose = math.sqrt(n * N / (9 * math.log2(48 * math.e * n * N)))
    found = theorem_4_3(N, n)
    assert found >= math.floor(loose) and 1 <= found <= n * N + 1
    assert theorem_4_3(N, n, labels=1) <= found


@settings(max_examples=30, deadline=None)
@given(blocks, st.integers(1, 30))
def test_tokens_of_given_blocks(sizes, n):
    """The last N that eq. (90) allows; and no blocks of so few parameters allow as many."""
    found = theorem_4_3_tokens(sizes, n)
    N = found // n
    assert eq_90(sizes, max(N, 1), n) >= found and eq_90(sizes, N + 1, n) < found + n
    assert theorem_4_3(max(N, 1), n) <= sizes.parameters


@given(points)
def test_two_ways_to_count(N):
    """Each alone allows W, and one parameter less is not allowed by one of them."""
    for own, W in ((1, goldberg_jerrum(N)), (2, theorem_4_2(N))):
        assert min(counted(W, own, N)) >= N * (1 - 1e-9)
        assert W == 1 or min(counted(W - 1, own, N)) < N
    assert goldberg_jerrum(N) <= theorem_4_2(N) <= 2 * math.sqrt(N)


def counted(W, own, N):
    """log2 of both limits of patterns; the variables of all units are added up one by one."""
    log, U = math.log2(8 * math.e * N), (W - 1) // own
    units = np.arange(1, U + 1, dtype=float)
    return W * (U + 1 + log), (W + (W - 1 - own * (U - units)).sum()) * log


@given(st.integers(1, 10**9))
def test_points_and_parameters(W):
    N = theorem_4_2_points(W)
    assert theorem_4_2(N) <= W < theorem_4_2(N + 1)
    assert theorem_4_2_points(W, units=10**12) == N
    few = theorem_4_2_points(W, units=3)
    log = math.log2(8 * math.e * (few + 1))
    assert few <= N and (W < 7 or few + 1 > min(W * (4 + log), (W + 3 * (W - 1) - 6) * log))


@given(points, st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_tokens_ask_for_less(N, omega, more):
    assert uniform_attention(N, omega + more) <= uniform_attention(N, omega) <= 2 * math.sqrt(N) + 1


@pytest.mark.parametrize("N", range(2, 8))
def test_what_a_network_does_is_not_denied(N):
    """c + sum of a_u relu(x - u) gives the points 0, ..., N - 1 any signs: 3 N - 2 parameters."""
    x = np.arange(N)
    units = np.maximum(x[:, None] - np.arange(N - 1), 0)
    for signs in product((-1, 1), repeat=N):
        values = np.array(signs)
        slopes = np.diff(values)
        a = np.concatenate((slopes[:1], np.diff(slopes)))
        assert (np.sign(values[0] + units @ a) == values).all()
    assert goldberg_jerrum(N) <= theorem_4_2(N) <= 3 * N - 2


def test_counts_are_those_of_tensors():
    """E_in of one-hot tokens and positions, blocks of eq. (3) with attention, E_out a row."""
    sizes = Blocks(dimension=6, heads=2, head_dimension=3, width=8, layers=3, inputs=10 + 4)
    model = decoder(10, 4, 6, heads=2, head_dimension=3, layers=3, width=8)
    assert model.parameters == sizes.parameters + 6 * (10 - 1)  # one output for each token
    assert Blocks(2, 1, 2, 8, 1, 5).block == 4 * 4 + 42
    assert kajitsuka2025(7, 8, layers=10).parameters == 7 * 2 + 20 * 42 + 2 * 4 + 2


@pytest.mark.parametrize(
    "refused",
    [
        lambda: theorem_4_2(0),
        lambda: uniform_attention(5, 0),
        lambda: theorem_4_3(0, 1),
        lambda: eq_90(Blocks(0, 1, 1, 1, 1, 1), 5, 5),
        lambda: eq_90(Blocks(1, 1, 1, 1, 0, 1), 5, 5),
    ],
)
def test_bad_sizes_name_the_assumption(refused):
    with pytest.raises(AssumptionError, match="A1 fails"):
        refused()
