"""kajitsuka2025: where its statements fail, with counterexamples that are computed and not quoted.

Numbers are integers, fractions or balls. Most of these are slips in proofs; what is built here
repairs them. Each docstring has a title, its kind, and the parts of that kind.
"""

import math
import random
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.errors import AssumptionError
from byheart.theory.kajitsuka2025.sizes import deep_sets_size, split_lookup_size

some = settings(max_examples=40, deadline=None)


def bits(number, first, last, length):
    """BIN_first:last of a number of `length` bits, the most significant bit being number 1."""
    return int(format(number, f"0{length}b")[first - 1 : last] or "0", 2)


def packed(values, width):
    """The values side by side, `width` bits each; those that do not fit lose their first bits."""
    return int("".join(format(v % (1 << width), f"0{width}b") for v in values), 2)


def relu(x):
    return max(x, Fraction(0))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


# --- Section B: sums that identify multisets


def test_lemma_b2_for_multisets_of_different_sizes():
    """The proof of Lemma B.2 for multisets of different sizes

    Kind: proof needs repair
    Statement: with h from a direction v that fulfils (20), f = h + floor(2 N^2 |S| sqrt(pi)) gives
    multisets sums that are sqrt(|S|) apart.
    Counterexample: N = 3, the multisets {a}, {b, b}, {c} and v along (0.6277, -0.6887, 0.3630),
    which fulfils (20): h = (31, -32, 18), f = (126, 63, 113), and the sums are 126, 126 and 113.
    The shift is added once an element. Lemma B.3 needs the lemma for restrictions to A, whose sizes
    differ even if all sequences have one length.
    Repair: f random, uniform in the same range. A pair of multisets is closer than sqrt(|S|) with
    probability at most (2 sqrt(|S|) + 1) / (4 N^2 |S| sqrt(pi)); the sum over all pairs is below 1.
    Still holds: the lemma as stated, by that choice; and the proof for multisets of one size.
    Later version: not seen.
    """
    N = S = 3
    m = [(1, 0, 0), (0, 2, 0), (0, 0, 1)]
    v = (6277, -6887, 3630)
    norm = arb(dot(v, v)).sqrt()
    for one, other in combinations(m, 2):
        step = [x - y for x, y in zip(one, other, strict=True)]
        length, along = arb(dot(step, step)).sqrt(), abs(arb(dot(v, step))) / norm
        assert length / N**2 * (8 / (arb.pi() * S)).sqrt() < along < length  # eq. (20)
    scale = N**2 * S * arb.pi().sqrt()
    h = [int((scale * x / norm).ceil().unique_fmpz()) for x in v]
    f = [x + int((2 * scale).floor().unique_fmpz()) for x in h]
    assert (h, f) == ([31, -32, 18], [126, 63, 113])
    assert [dot(x, h) for x in m] == [31, -64, 18]  # apart by sqrt(3) and more, eq. (25)
    assert [dot(x, f) for x in m] == [126, 126, 113]
    for size in range(1, 50):  # the repair, for any N
        root = arb(size).sqrt()
        assert (2 * root + 1) / (8 * size * arb.pi().sqrt()) < 1


@some
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_sums_over_supports(a, b):
    """Eq. (47): sums over supports

    Kind: proof needs repair
    Statement: the sums of phi over the supports of two different multisets differ, and are the sums
    over all n tokens.
    Counterexample: {a, a, b} and {a, b, b} have one support, and so one sum for every phi.
    Repair: count each element as often as it occurs, as Lemma B.3, from which (47) follows, and
    (118) do.
    Still holds: the right-hand side of (47), which is what the attention layer computes.
    Later version: not seen.
    """
    phi = {"a": a, "b": b}
    one, other = ("a", "a", "b"), ("a", "b", "b")
    assert sum(phi[x] for x in set(one)) == sum(phi[x] for x in set(other))
    assert sum(phi[x] for x in one) != sum(phi[x] for x in other) or a == b
    assert sum(phi[x] for x in one) != sum(phi[x] for x in set(one))


def test_phi_that_is_zero():
    """Before eq. (47): phi is never 0

    Kind: proof needs repair
    Statement: Lemma B.3 gives phi(x) in {1, ..., ceil(4 N^3 sqrt(pi))} for all tokens.
    Counterexample: the multisets {a, c} and {b, c}. They differ on A = {a}, and by (32) phi is 0 on
    b and c. Lemma B.3 itself says {0, 1, ...}.
    Repair: phi(x) in {0, ..., ceil(4 N^3 sqrt(pi))}.
    Still holds: (47) and what follows, where only the upper bound of phi is used.
    Later version: not seen.
    """
    one, other, A = ("a", "c"), ("b", "c"), {"a"}
    assert [x for x in one if x in A] != [x for x in other if x in A]
    phi = {x: 7 if x in A else 0 for x in {*one, *other}}
    assert phi["b"] == phi["c"] == 0
    assert sum(phi[x] for x in one) != sum(phi[x] for x in other)


def test_lemma_b3_with_equality():
    """Lemma B.3: r > 1 and delta < 1

    Kind: remark
    Statement: Lemma B.3 is about multisets that are (r, delta)-separated for some r > 1 and
    delta < 1. Theorem B.1 applies it for r >= 1 and delta <= 1.
    Remark: tokens 0 and 1 are separated with r = delta = 1, which the lemma leaves out. They are
    with r = 2 and delta = 1/2 as well, and R is four times as large then, two bits more. The proof
    needs r >= 1 and delta <= 1 only, as Lemma C.1 has them.
    Here: r and delta are those of the data, 1 included.
    Later version: not seen.
    """

    def separated(points, r, delta):
        apart = [abs(x - y) for x, y in combinations(points, 2)]
        return max(map(abs, points)) <= r and min(apart) >= delta

    assert separated([0, 1], 1, 1) and separated([0, 1], 2, Fraction(1, 2))
    assert not separated([0, 1], Fraction(9, 10), 1) and not separated([0, 1], 1, 2)
    assert math.log2(2 / Fraction(1, 2)) == 2


def test_identity_weights_in_theorem_b2():
    """Theorem B.2: a feed-forward network with equal or fewer parameters

    Kind: remark
    Statement: on inputs whose tokens are equal, attention is the linear map I + sum W_O W_V, so
    that a feed-forward network with equal or fewer parameters does what the transformer does.
    Remark: as one matrix the map may have more: m = 14 and s = H = 1 give 196 entries, where the
    attention layer has 4 m s H = 56 parameters. It is right for two linear layers whose zeros do
    not count, W_V and W_O with m weights 1 beside each that carry the lanes: 2 m s H + 2 m.
    Here: no such network is needed. The outputs are polynomials in the parameters of the
    transformer as they are, piece by piece, and Lemma B.4 counts their signs.
    Later version: not seen.
    """
    m, draw = 14, random.Random(0)
    out, value = ([draw.choice((-3, -2, 2, 3)) for _ in range(m)] for _ in range(2))
    linear = [[(i == j) + out[i] * value[j] for j in range(m)] for i in range(m)]
    assert sum(x != 0 for row in linear for x in row) == m * m == 196 > 4 * m * 1 * 1 == 56
    h = [draw.randint(-9, 9) for _ in range(m)]
    carried = [*h, dot(value, h)]  # the first layer: m weights 1, and W_V
    assert [h[i] + out[i] * carried[m] for i in range(m)] == [dot(row, h) for row in linear]
    for s, H in product(range(1, 5), repeat=2):
        assert 2 * m * s * H + 2 * m <= 4 * m * s * H


def test_the_mean_over_three_tokens():
    """Eq. (53): the mean, and its binary digits

    Kind: remark
    Statement: the outputs of the attention layer are (phi, F, mean of phi), and what follows has
    parameters of finitely many bits.
    Remark: this is true over the real numbers. But 1/n has no finite binary expansion unless n is a
    power of two: with n = 3 the mean of (1, 0, 0) is 1/3, so that a machine with binary numbers
    does not compute the network exactly, whatever its parameters are.
    Here: W_O W_V = n, so that the third lane is the sum; R_2 stays as it is, as (55) is then 1 and
    not 1/n.
    Later version: not seen.
    """

    def dyadic(x):
        return x.denominator & (x.denominator - 1) == 0

    phi = (1, 0, 0)
    assert not dyadic(sum(Fraction(x, 3) for x in phi))
    assert dyadic(3 * sum(Fraction(x, 3) for x in phi))
    assert [n for n in range(1, 17) if dyadic(Fraction(1, n))] == [1, 2, 4, 8, 16]


# --- Section B: the lower bound


def test_lemma_b4_without_its_hypothesis():
    """Eq. (79), (84) and (89): Lemma B.4 where W > M

    Kind: proof needs repair
    Statement: Lemma B.4 needs W <= M, and is applied to the M = n^3 H N, n q N and n N polynomials
    of Theorem B.3 with the W parameters so far, without checking that.
    Counterexample: W = 30, M = 1, D = 1, the polynomial a_1: it has three signs, and
    (8 e M D / W)^W is below 1.
    Repair: if W > M for one of them, the transformer has more than n N parameters, which is more
    than is to be shown. Otherwise the lemma may be used.
    Still holds: Theorem 4.3 (B.3), and eq. (90) for parameters up to the smallest M.
    Later version: not seen.
    """
    W, M, D = 30, 1, 1
    assert len({(x > 0) - (x < 0) for x in (-1, 0, 1)}) == 3
    assert (8 * arb(1).exp() * M * D / W) ** W < 1
    assert (8 * arb(1).exp() * M * D / M) ** M > 3  # within the hypothesis
    for n, N, H, q in ((1, 5, 1, 1), (3, 100, 2, 7), (16, 2, 4, 1)):
        assert min(n**3 * H * N, n * q * N, n * N) == n * N


@some
@given(*(st.integers(1, 40) for _ in range(6)))
def test_the_number_of_parameters_in_eq_92(m, q, s, H, d, L):
    """Eq. (92): the number of parameters

    Kind: proof needs repair
    Statement: a block has 4 m s H + 2 (m + 1) q parameters, and W = W_L + m d with E_out.
    Counterexample: m = 2, q = 1: the biases of the feed-forward layer are q and m numbers and not
    2 q, so that it has 2 m q + q + m = 7 parameters and not 6. E_out maps m numbers to one: m
    parameters and not m d, which for d = 1 is the same.
    Repair: W_l = m d + l (4 m s H + 2 m q + q + m) and W = W_L + m.
    Still holds: W_l >= 4 l H + 2 l q, which is all that (93) uses, and with it the theorem.
    Later version: not seen.
    """
    block = 4 * m * s * H + 2 * m * q + q + m
    paper = 4 * m * s * H + 2 * (m + 1) * q
    assert block - paper == m - q
    assert m * d + L * block >= 4 * L * H + 2 * L * q
    layer = [(q, m), (q, 1), (m, q), (m, 1)]  # W1, b1, W2, b2
    assert sum(a * b for a, b in layer) == block - 4 * m * s * H


# --- Section C and G: bit extraction


def test_labels_of_log_c_bits():
    """Lemma C.1: labels 1, ..., C in log C bits

    Kind: proof needs repair
    Statement: (99) stores each label in log C bits of a long number.
    Counterexample: C = 2: one bit does not distinguish the labels 1 and 2 from 1 and 0, and 0
    means "not stored".
    Repair: C.bit_length() bits, here two; and as many bits for a key as floor(R) has.
    Still holds: the lemma, up to constants.
    Later version: not seen.
    """
    labels = [1, 2, 2, 1]
    for width, right in ((1, False), (2, True)):
        held = packed(labels, width)
        read = [bits(held, width * j + 1, width * (j + 1), 4 * width) for j in range(4)]
        assert (read == labels) is right
    assert [C.bit_length() for C in (1, 2, 3, 4)] == [1, 2, 2, 3]


def test_groups_without_a_member():
    """Lemmas C.1 and G.3: groups without a member, and N = 1

    Kind: proof needs repair
    Statement: N items fall into m = sqrt(N log N) groups of k = ceil(N / m); where j k is above N,
    N takes its place.
    Counterexample: N = 5, m = 3 rounded, k = 2: fine. N = 6, m = 4, k = 2: the fourth group would
    start with item 7. And N = 1 divides by log 1 = 0.
    Repair: k first, then m = ceil(N / k); N = 1 is one group.
    Still holds: both lemmas, with at most m groups.
    Later version: not seen.
    """
    sizes = {N: round(math.sqrt(N * math.log2(N))) for N in range(2, 60)}
    starts = {N: (m - 1) * -(-N // m) + 1 for N, m in sizes.items()}
    assert sizes[5] == 3 and starts[5] <= 5
    assert sizes[6] == 4 and starts[6] == 7
    assert math.log2(1) == 0
    for N, m in sizes.items():
        k = -(-N // m)
        assert (-(-N // k) - 1) * k + 1 <= N


def test_lemma_g6_mixes_keys_and_labels_up():
    """Eq. (153): rho in the place of c

    Kind: false as stated
    Statement: if floor(x) is key j of u, F gives bits rho j + 1 to rho (j + 1) of w. Lemma C.1
    takes rho = log C and c = log R.
    Counterexample: keys 2, 9, 30 of rho = 5 bits and labels 3, 1, 2 of c = 2 bits: w has six bits,
    and (153) reads the bits 1-5, 6-10 and 11-15 of it: 27, 0, 0. With rho and c exchanged keys are
    cut to two bits.
    Repair: BIN_{c j + 1 : c (j + 1)}(w), and rho = log R, c = log C.
    Still holds: the network, which is that of (155), (156) and (162).
    Later version: not seen.
    """
    keys, labels, rho, c = [2, 9, 30], [3, 1, 2], 5, 2
    u, w = packed(keys, rho), packed(labels, c)
    assert [bits(w, rho * j + 1, rho * (j + 1), 6) for j in range(3)] == [27, 0, 0]
    assert [bits(w, c * j + 1, c * (j + 1), 6) for j in range(3)] == labels
    assert [bits(u, rho * j + 1, rho * (j + 1), 15) for j in range(3)] == keys
    assert [bits(u, c * j + 1, c * (j + 1), 15) for j in range(3)] != keys


def test_empty_places_of_a_group():
    """Lemma G.6: keys of empty places

    Kind: proof needs repair
    Statement: the keys that u holds are 2 apart. Lemma C.1 applies it to the u of every group.
    Counterexample: N = 10 in groups of 4: the third group has two members, and the bits of its two
    other places are 0. Both are the key 0.
    Repair: none is needed but a sentence: Lemma C.1 has x >= 2 for all its points, and the key 0 is
    found for 0 <= x < 1 only, with the label 0. No two keys of members are equal.
    Still holds: Lemma C.1.
    Later version: not seen.
    """
    N, k, rho, c = 10, 4, 6, 2
    keys = [2 + 5 * i for i in range(N)]
    labels = [1 + i % 3 for i in range(N)]
    groups = [range(j, min(j + k, N)) for j in range(0, N, k)]
    u = packed([*(keys[i] for i in groups[-1]), 0, 0], rho)
    w = packed([*(labels[i] for i in groups[-1]), 0, 0], c)
    places = [bits(u, rho * j + 1, rho * (j + 1), rho * k) for j in range(k)]
    assert places == [42, 47, 0, 0] and min(abs(a - b) for a, b in combinations(places, 2)) == 0

    def found(x):  # the network adds the label of every key that is met
        met = [j for j in range(k) if places[j] == math.floor(x)]
        return sum(bits(w, c * j + 1, c * (j + 1), c * k) for j in met)

    assert [found(keys[i]) for i in groups[-1]] == [labels[i] for i in groups[-1]]
    assert all(found(Fraction(x, 4)) == 0 for x in range(8, 160))


def tent(z):
    return relu(2 * z) - relu(4 * z - 2)


def after(z, steps):
    for _ in range(steps):
        z = tent(z)
    return z


def read(u, length, first, last):
    """The last three outputs of Lemma G.4: both fractions, and BIN_first:last(u)."""
    one, other = (Fraction(u, 1 << length) + Fraction(1, 1 << (length + e)) for e in (1, 2))
    value = 0
    for t in range(first, last + 1):
        value = 2 * value + (1 << (length + 2 - t)) * relu(after(other, t) - after(one, t))
    return after(one, last), after(other, last), value


def test_the_answer_needs_a_sixth_lane():
    """Eq. (161): five lanes

    Kind: proof needs repair
    Statement: the state of Lemma G.6 is x and two fractions of u and of w, five lanes, and G gives
    the fifth one.
    Counterexample: u = 2, 9 and w = 1, 2 at n = 2: x enters no other lane, so the fifth one is the
    same for x = 2 and x = 9, where the answers are 1 and 2.
    Repair: a sixth lane, to which each F_i adds what it finds; G gives that one.
    Still holds: the width: with it, a layer of F_i has 12 lanes.
    Later version: not seen.
    """
    keys, labels, rho, c = [2, 9], [1, 2], 4, 2
    u, w = packed(keys, rho), packed(labels, c)

    def state(x):
        fifth = read(w, 2 * c, 1, 2 * c)[1]  # psi of w / 2^(n c) + 2^-(n c + 2)
        found = 0
        for j in range(2):
            key = read(u, 2 * rho, rho * j + 1, rho * (j + 1))[2]
            label = read(w, 2 * c, c * j + 1, c * (j + 1))[2]
            inside = int(key <= x <= key + 1)
            found += relu(Fraction(inside * 2 ** (c + 1) - 2 ** (c + 1) + label))  # eq. (158)
        return fifth, found

    assert state(2)[0] == state(9)[0]
    assert [state(x)[1] for x in (2, 9, 5)] == [1, 2, 0]


@some
@given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 30))
def test_the_depth_of_lemma_g6(n, rho, c):
    """Lemma G.6: its depth

    Kind: proof needs repair
    Statement: the network of the proof has depth 3 n max(rho, c) + 2 n + 2.
    Counterexample: n = 1, rho = c = 1: H, three layers of Lemma G.4, two of Lemma G.5, one of
    (158), which needs what Lemma G.5 gives, and G: 8 and not 7.
    Repair: 3 n max(rho, c) + 3 n + 2.
    Still holds: the order of the depth. That no other network is shallower is not claimed.
    Later version: not seen.
    """
    item = 3 * max(rho, c) + 2 + 1
    depth = 1 + n * item + 1
    assert depth - (3 * n * max(rho, c) + 2 * n + 2) == n
    if (n, rho, c) == (1, 1, 1):
        assert depth == 8


@some
@given(st.data(), st.integers(1, 9))
def test_lemma_g4_for_one_bit(data, n):
    """Lemma G.4 for i = j

    Kind: proof needs repair
    Statement: for i < j <= n a network with parameters of n + 2 bits reads the bits i to j.
    Counterexample: Lemma G.6 needs i = j where keys or labels have one bit (C = 1), which is left
    out. And if bits are added as 2^(j - t) bit_t, with bit_t = 2^(n + 2 - t) relu(...), a weight is
    2^(n + 2 - t) 2^(j - t): for n = j = 3 and t = 1 it is 2^6, of seven bits and not five.
    Repair: i <= j, and A <- 2 A + bit, whose weights are at most 2^(n + 1).
    Still holds: the lemma, for i <= j.
    Later version: not seen.
    """
    x = data.draw(st.integers(0, 2**n - 1))
    i = data.draw(st.integers(1, n))
    j = data.draw(st.integers(i, n))
    assert read(x, n, i, j)[2] == bits(x, i, j, n)
    assert read(x, n, i, i)[2] == bits(x, i, i, n)
    assert (2 ** (3 + 2 - 1) * 2 ** (3 - 1)).bit_length() == 7 > 3 + 2
    assert max((2 ** (n + 2 - t)).bit_length() for t in range(1, n + 1)) <= n + 2


# --- Theorems D.1 and F.1


def test_labels_of_sums_are_not_injective():
    """Theorem D.1: "the correspondence of sums to labels is injective"

    Kind: proof needs repair
    Statement: before (119), sums of phi correspond to labels injectively.
    Counterexample: N = 3 multisets and C = 2 labels: no map of three sums to two labels is
    injective.
    Repair: the sums of different multisets differ; labels may repeat.
    Still holds: the theorem, and its size.
    Later version: not seen.
    """
    sums, labels = [5, 8, 13], [1, 2, 1]
    assert len(set(sums)) == 3 > len(set(labels))
    assert len(dict(zip(sums, labels, strict=True))) == 3  # still a function
    assert deep_sets_size(3, 2, 1, 2, radius=4) == deep_sets_size(3, 2, 1, 3, radius=4)


def test_lemma_f1_and_its_last_network():
    """Lemma F.1: the last sub-network

    Kind: proof needs repair
    Statement: (140) defines F_2, ..., F_{N / B^2}, and every x_i has its index j in
    {2, ..., N / B^2}. The network itself is composed up to F_{N / B^2 + 1}.
    Counterexample: N = 8, B = 2: two subsets of four points need F_2 and F_3, and N / B^2 = 2
    leaves F_3 undefined: without it the points 5 to 8 give 0. N = 9, B = 2: 9 / 4 is not an
    integer.
    Repair: i = 2, ..., ceil(N / B^2) + 1, the last subset smaller.
    Still holds: the lemma, up to constants; the composition has the right last index.
    Later version: not seen.
    """

    def answers(N, B, last):
        labels = [1 + i % 3 for i in range(N)]
        parts = {i: range((i - 2) * B**2, min(N, (i - 1) * B**2)) for i in range(2, last + 1)}
        found = [sum(labels[x] for part in parts.values() if x in part) for x in range(N)]
        return found, labels

    found, labels = answers(8, 2, last=8 // 4)
    assert found[:4] == labels[:4] and found[4:] == [0] * 4
    assert 9 % 4
    for N in (8, 9, 11, 12):
        found, labels = answers(N, 2, last=-(-N // 4) + 1)
        assert found == labels
    one, six, seven = (split_lookup_size(N, 6, 2, bits=8).depth for N in (1, 6, 7))
    assert seven == six + one  # six points a part here


def test_r_and_delta_of_ids():
    """Theorem E.1: r and delta

    Kind: proof needs repair
    Statement: R = 200 sqrt(3) n^2 r N^5 delta^-1 omega pi.
    Counterexample: r and delta are the norm and the separation of tokens in R^d; here tokens are
    numbers in {1, ..., omega}, and the theorem introduces neither.
    Repair: r = delta = 1. The vectors (phi, x, mean of phi) of different contexts are 1/n apart and
    of norm 10 n N^3 omega sqrt(pi) at most, and with these Lemma C.1 has this R.
    Still holds: the theorem, with r = delta = 1.
    Later version: not seen.
    """
    root = math.sqrt(math.pi)
    for N, omega, n in product(range(1, 40), range(1, 40), (1, 2, 5)):
        phi = math.ceil(4 * N**2 * root * min(omega, N))
        norm = math.sqrt(2 * phi**2 + omega**2)
        allowed = 10 * n * N**3 * omega * root
        assert norm <= allowed, (N, omega, n)
        R = 200 * math.sqrt(3) * n**2 * N**5 * omega * math.pi
        assert 20 * allowed * N**2 * n * math.sqrt(3 * math.pi) == pytest.approx(R)


def test_limited_bits_for_b_of_1():
    """Lemma F.1 and Theorem F.1 for B = 1

    Kind: remark
    Statement: for every B in {1, ..., sqrt(N)} depth and bits are at most (136), (137), (144) and
    (145), up to constants; and networks of O~(N^(1 - epsilon)) parameters of O~(N^epsilon) bits
    exist for epsilon in [0, 1/2].
    Remark: epsilon = 0 is B = 1, where the bounds divide by sqrt(log 1) = 0 and say nothing. With
    log(B + 1) in the place of log B they do; B = 2 also gives epsilon = 0, as constants are hidden.
    Here: parts of B^2 = 1 item have one group of one key; the number of blocks is linear in N.
    Later version: not seen.
    """
    with pytest.raises(ZeroDivisionError):
        1 / math.sqrt(math.log2(1))
    longest = 6
    few = [split_lookup_size(N, longest, 2, bits=longest + 2).depth for N in (60, 120, 240)]
    assert [deeper - depth for depth, deeper in pairwise(few)] == [few[0], few[1]]  # linear in N


def test_fresh_values_in_the_repaired_lemma_b2():
    """Random integers of the lemma's range do identify multisets, most of the time at once."""
    draw, N = random.Random(1), 12
    multisets = {tuple(sorted(draw.choices(range(6), k=draw.randint(1, 4)))) for _ in range(N)}
    S = sorted({x for m in multisets for x in m})
    largest = int((4 * N**2 * len(S) * arb.pi().sqrt()).floor().unique_fmpz())
    f = {x: draw.randint(1, largest) for x in S}
    sums = sorted(sum(f[x] for x in m) for m in multisets)
    gaps = [b - a for a, b in zip(sums, sums[1:], strict=False)]
    assert min(gaps) ** 2 >= len(S)


# --- related work as it is cited


def test_baum_without_general_position():
    """Section 2: threshold units for any set of points

    Kind: false as stated
    Statement: ceil(N / d) neurons are sufficient for one hidden layer of threshold units to
    memorise any set of N input-label pairs of dimension d (Baum 1988).
    Counterexample: six points (i, i) of the plane with alternating labels and three units. On a
    line each unit changes once, so that the three have at most four patterns, one after another;
    neighbours have different labels and need different patterns, six of them.
    Repair: points in general position, as Baum has them.
    Still holds: for points in general position; the method baum1988 builds it.
    Later version: not seen.
    """
    points, units = 6, -(-6 // 2)
    cuts = [[i >= cut for i in range(points)] for cut in range(points + 1)]
    for chosen in product(cuts, repeat=units):  # the other direction only renames the pattern
        patterns = list(zip(*chosen, strict=True))
        assert any(a == b for a, b in pairwise(patterns))
    five = product(cuts, repeat=points - 1)
    assert any(all(a != b for a, b in pairwise(zip(*chosen, strict=True))) for chosen in five)


def test_kim_needs_different_tokens():
    """Table 1: what Kim et al. assume

    Kind: remark
    Statement: Kim et al. 2023 memorise with O~(n + sqrt(n N)) parameters; the assumption named is
    separation.
    Remark: tokens are taken out of a sequence by their size, the largest first, and equal ones
    leave together: (3, 3, 1) and (3, 1, 1) become the same. The tokens of a sequence must differ.
    Here: kim2023 refuses such data (A3); with positions, tokens always differ.
    Later version: not seen.
    """

    def taken_out(row):
        found, left = [], list(row)
        for _ in row:
            found.append(max(left))
            left = [0 if x == found[-1] else x for x in left]
        return found

    assert taken_out((3, 3, 1)) == taken_out((3, 1, 1)) == [3, 1, 0]
    assert taken_out((3, 2, 1)) != taken_out((3, 1, 0))
    rows = [([3, 3, 1], "x"), ([3, 1, 1], "y")]
    with pytest.raises(AssumptionError, match="A3 fails"):
        compile(from_rows(rows), "kim2023", positions=False)
    assert compile(from_rows(rows), "kim2023", positions=True).recall([3, 3, 1]) == "x"


def test_zhang_counts_a_shared_vector_once():
    """Section 2, Zhang et al.: 2 n + d weights

    Kind: remark
    Statement: Zhang et al. extend one hidden layer of about N units to other activations; their
    own count is 2 n + d weights for n points of dimension d.
    Remark: the n units relu(a x - b_j) share the vector a, which is counted once. As a layer its
    matrix has n d entries; with the projection a x as a layer of its own, d, the layer after it
    has n weights that are 1, n biases and n output weights: 3 n + d.
    Here: staircase is counted as layers.
    Later version: not seen.
    """
    rows = [([[i, i * i % 13, 5]], i % 2) for i in range(12)]
    model = compile(from_rows(rows), "staircase")
    first, hidden, last = model.network.layers
    units, d = hidden.weight.rows, 3
    assert len(hidden.weight.entries) == units == len(last.weight.entries)
    assert len(first.weight.entries) <= d
    biases = len(first.bias.entries) + len(hidden.bias.entries) + len(last.bias.entries)
    assert model.parameters.nonzero == 2 * units + len(first.weight.entries) + biases
    assert model.parameters.nonzero > 2 * units + d
