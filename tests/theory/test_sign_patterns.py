"""Lower bounds of kajitsuka2025: the steps of the proof as inequalities, and counted patterns."""

import math
from fractions import Fraction
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from byheart.architectures import decoder, kajitsuka2025
from byheart.errors import AssumptionError
from byheart.theory.information import label_entropy
from byheart.theory.kajitsuka2025.items import frequencies
from byheart.theory.kajitsuka2025.sign_patterns import (
    Blocks,
    eq_90,
    goldberg_jerrum,
    labellings,
    structures,
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


def displayed(W, d, see):
    """The right-hand side of the theorem, with the largest number of integers U."""
    U = np.arange(W, dtype=float)
    free = W * math.log2(4 * math.e * (d + W)) + 3 * math.log2(W)
    return ((W - U) * (U + see) + U).max() + free


@given(st.integers(1, 10**6), st.integers(1, 10**9), st.integers(1, 10**6), st.integers(0, 200))
def test_the_least_that_the_theorem_does_not_exclude(N, omega, d, t):
    one, token = math.log2(8 * math.e * N), math.log2(8 * math.e * omega)
    found = (
        (goldberg_jerrum(N, d, t), 1 + one),
        (uniform_attention(N, omega, d, t), 1 + one + token),
    )
    for W, see in found:
        assert displayed(W, d, see) >= (N - t) * (1 - 1e-6) - 1
        assert W == 1 or displayed(W - 1, d, see) < N - t
    assert uniform_attention(N, omega) == uniform_attention(N, omega, omega)
    assert uniform_attention(N, N) <= theorem_4_2(N) <= goldberg_jerrum(N) <= 2 * math.sqrt(N)


@given(st.integers(1, 10**9))
def test_points_and_parameters(W):
    N = theorem_4_2_points(W)
    assert theorem_4_2(N) <= W + 1
    assert theorem_4_2_points(W, units=10**12) == N
    few = theorem_4_2_points(W, units=3)
    U, see = min(3, (W - 1) // 2), math.log2(16 * math.e * (few + 1))
    assert few <= N
    assert few + 1 > max((W + 1 - u) * (u + see) + u for u in range(U + 1)) * (1 - 1e-9)


@given(points, st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_tokens_and_inputs_ask_for_less(N, omega, more):
    fewer = uniform_attention(N, omega + more, omega), uniform_attention(N, omega, omega + more)
    assert max(fewer) <= uniform_attention(N, omega)


class Drawn:
    """A random network of eq. (3) around one uniform attention layer, with free zeros."""

    def __init__(self, random, m=3, d=2):
        def some(*shape):
            values = [0, 0, *(Fraction(x, 4) for x in (-7, -4, -3, 1, 2, 6))]
            return np.array(random.choices(values, k=math.prod(shape)), object).reshape(shape)

        self.E_in, self.b_in, self.out = some(m, d), some(m, 1), some(1, m)
        self.V, self.O = some(2, m), some(m, 2)
        self.blocks = [
            [some(q, m), some(q, 1), some(m, q), some(m, 1)]
            for q in (random.randint(1, 3) for _ in range(4))
        ]

    def __call__(self, tokens):
        Z = self.E_in @ tokens + self.b_in
        for number, (W1, b1, W2, b2) in enumerate(self.blocks):
            if number == 2:
                mean = Z.sum(axis=1, keepdims=True) / Fraction(Z.shape[1])
                Z = Z + self.O @ (self.V @ mean)
            Z = Z + W2 @ np.maximum(W1 @ Z + b1, 0) + b2
        return (self.out @ Z)[0]

    def nonzero(self):
        every = [self.E_in, self.b_in, self.out, self.V, self.O, *sum(self.blocks, [])]
        return sum(int(np.count_nonzero(x)) for x in every)


@pytest.mark.parametrize("seed", range(20))
def test_lemma_scale(seed):
    """As many parameters become 1 or -1 as there are units; no output and no zero changes."""
    random = Random(seed)
    net = Drawn(random)
    tokens = np.array([Fraction(random.randint(-9, 9), 2) for _ in range(8)], object).reshape(2, 4)
    before, count = net(tokens), net.nonzero()
    for W1, b1, W2, _ in net.blocks:
        for unit in range(len(W1)):
            first = next((x for x in [*W1[unit], b1[unit, 0]] if x), None)
            if first is not None:
                W1[unit], b1[unit] = W1[unit] / abs(first), b1[unit] / abs(first)
                W2[:, unit] = W2[:, unit] * abs(first)
                assert next(x for x in [*W1[unit], b1[unit, 0]] if x) in (-1, 1)
    assert (net(tokens) == before).all() and net.nonzero() == count


def shattered(stored, folds):
    """Labels of all points (j, i) by stored numbers and folds: v - 2 relu(v - 2**t), 2 v > 1."""
    found = set()
    for numbers in product(range(2 << folds), repeat=stored):  # in units of 2**-(folds + 1)
        labels = []
        for number, place in product(numbers, range(folds)):
            value = number << place
            for t in reversed(range(folds + 1)):
                value -= 2 * max(0, value - (1 << t + folds + 1))
            labels.append(2 * value > 1 << folds + 1)
        found.add(tuple(labels))
    return len(found)


def test_lemma_fixed_zeros_is_sharp():
    """V numbers and U folds of fixed weights shatter V (U - 1) points: all but lower terms."""
    for stored, folds in ((1, 1), (1, 4), (2, 3), (3, 2)):
        N = stored * folds
        assert shattered(stored, folds) == 2**N
        assert N <= labellings(stored + folds + 1, folds + 1, math.log2(16 * math.e * N))
    V, U = 10**5, 10**5
    see = math.log2(16 * math.e * V * (U - 1))
    assert V * (U - 1) <= labellings(V + U, U, see) <= 1.001 * V * (U - 1)


def places(m, U, s, d, plain):
    """Where a parameter may be: pairs of what is written and what is read, at some layer."""
    lanes, units, rows = range(m), range(U), range(s)
    own = U if plain else 0  # the last lanes are those of the units
    found = {("E_in", lane, i) for lane in lanes[: m - own] for i in (*range(d), "1")}
    found |= {("W_1", unit, lane) for unit in units for lane in (*lanes, "1")}
    found |= {("W_V", row, lane) for row in rows for lane in lanes}
    found |= {("W_O", lane, row) for row in rows for lane in lanes}
    if not plain:
        found |= {("W_2", lane, unit) for unit in units for lane in lanes}
        found |= {("b_2", lane, after) for after in range(U + s) for lane in lanes}
    return found | {("E_out", lane) for lane in (*lanes, "1")}


@pytest.mark.parametrize("W", range(1, 9))
def test_lemma_free_zeros(W):
    """All places, by sizes; the limit of places is reached where there are no inputs."""
    most = 0
    for d, plain in product((0, 1, 2, 5), (False, True)):
        for m, U, s in product(range(W), repeat=3):
            if m + U + s > W - 1:
                continue
            K = len(places(m + U if plain else m, U, s, d, plain))
            assert K <= W * (d + W) and math.comb(K, W) <= (math.e * (d + W)) ** W
            most = max(most, K - W * d)
    assert most == W * W


@pytest.mark.parametrize("W", range(1, 5))
def test_no_more_structures_than_the_limit(W):
    """All of them: sizes, order of units and rows, and W places of which each node has one."""
    d, count = 1, 0
    for m, U, s in product(range(W), repeat=3):
        if m + U + s > W - 1:
            continue
        orders = math.comb(U + s, s) * 2 ** max(0, U + s - 1)
        nodes = {("lane", i) for i in range(m)} | {("unit", i) for i in range(U)}
        nodes |= {("row", i) for i in range(s)} | {("out",)}
        kinds = {"W_1": "unit", "W_V": "row"}
        written = {
            place: ("out",) if place[0] == "E_out" else (kinds.get(place[0], "lane"), place[1])
            for place in places(m, U, s, d, plain=False)
        }
        chosen = combinations(sorted(written, key=str), W)
        count += orders * sum({written[place] for place in some} == nodes for some in chosen)
    assert 0 < count <= 2 ** structures(W, d)


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


# --- labels of given frequencies


@given(st.integers(1, 400), st.integers(0, 400))
def test_labels_of_these_frequencies_are_so_many(N, k):
    """binom(N, k) >= 2^(N h) / (N + 1): the corollary's count, in whole numbers."""
    k = min(k, N)
    assert math.comb(N, k) >= 2 ** math.floor(label_entropy([N - k, k]) - math.log2(N + 1))


def test_frequent_labels_need_a_smaller_network():
    """2 sqrt(N H) beside 2 sqrt(N), but for logarithms; the fair coin's is that of any labels."""
    N = 10**6
    found = {
        k: frequencies(N, N, 2, label_entropy([N - k, k]), 1000, 1, positions=False)
        for k in (N // 2, N // 10, N // 100)
    }
    assert found[N // 2] in (uniform_attention(N, 1000), uniform_attention(N, 1000, failure=20))
    for k, least in found.items():
        wanted = label_entropy([N - k, k])
        assert 0.8 * math.sqrt(wanted) < least < 2 * math.sqrt(wanted)
    with pytest.raises(AssumptionError, match="two labels"):
        frequencies(N, N, 3, 1000.0, 1000, 1)
    with pytest.raises(AssumptionError, match="each context once"):
        frequencies(N + 1, N, 2, 1000.0, 1000, 1)
    with pytest.raises(AssumptionError, match="no information"):
        frequencies(100, 100, 2, 0.0, 10, 1)
