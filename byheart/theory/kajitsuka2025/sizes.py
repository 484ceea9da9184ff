"""How large the paper's own constructions are, counted layer by layer.

Paper        kajitsuka2025, Theorems 4.1 (B.1), D.1, E.1 and F.1; Lemmas C.1, F.1 and G.3 to G.6
             for the feed-forward parts.
Statement    N sequences with labels are memorised by a token-wise feed-forward part, one uniform
             attention layer and a second feed-forward part; each part stores keys and labels in
             long numbers and reads them bit by bit.
Assumptions  A1  Tokens lie in a ball of the given radius and are `separation` apart.
             A2  The first part marks `marked` tokens (Lemma B.1: no more than sequences).
Guarantee    G1  The nonzero weights and biases, depth, width and dense size of the layers as built
                 in the proofs, without fusing any: exact for the repaired construction, not an
                 upper bound with hidden constants.
Departures   D1  Labels 1..C take C.bit_length() bits and keys as many as floor(R); the paper says
                 log C and log R. Groups without a member are dropped.
             D2  Depth and numbers follow the repaired Lemma G.6: three layers per bit, three per
                 comparison.
             D3  bit_extraction_parameters leaves the projections (E_in, Lemma C.2), attention and
                 E_out out: O(d) of them. The sizes have all but E_in and E_out (Remark 4.3); in the
                 dense size and in depth the paper's E_in and E_out are left out as well.
Notation     N sequences, n length, d dimension, C labels, r radius, delta separation; R the largest
             key, m groups of k items, rho bits per key, c bits per label; M cardinality, omega
             vocabulary.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

Real = int | float | Fraction


@dataclass(frozen=True)
class Size:
    """Nonzero parameters, parameters of full matrices, layers, and lanes where they are most."""

    parameters: int
    dense: int
    depth: int
    width: int

    def __add__(self, other: "Size") -> "Size":
        """Two parts, one after the other."""
        return Size(
            self.parameters + other.parameters,
            self.dense + other.dense,
            self.depth + other.depth,
            max(self.width, other.width),
        )

    def times(self, count: int) -> "Size":
        """The same part `count` times, one after the other."""
        many = self.parameters * count, self.dense * count, self.depth * count
        return Size(*many, self.width if count else 0)


ATTENTION = Size(2, 6, 1, 3)
PROJECT = Size(4, 4, 1, 1)  # of contexts: three weights and a bias


def bit_extraction_parameters(
    sequences: int, length: int, dimension: int, labels: int, radius: float
) -> int:
    """The nonzero parameters of Theorem 4.1 as its proof constructs the network.

    The first part gives each marked token an integer up to 4 N^3 sqrt(pi) (Lemma B.2) and carries
    one lane along; the second gives each context its label.

    >>> bit_extraction_parameters(100, 4, 2, 2, radius=2 * 200**0.5)
    13834
    """
    size = bit_extraction_size(sequences, length, dimension, labels, radius)
    return size.parameters - ATTENTION.parameters - PROJECT.parameters


def bit_extraction_size(
    sequences: int,
    length: int,
    dimension: int,
    labels: int,
    radius: Real,
    separation: Real = 1,
    marked: int | None = None,
) -> Size:
    """The size of Theorem 4.1, between E_in and E_out.

    Corollary 4.1 is the same with a sequence for each token that has a label of its own.

    >>> bit_extraction_size(100, 4, 2, 2, radius=2 * 200**0.5)
    Size(parameters=13840, dense=109665, depth=1190, width=13)
    """
    N, n, d, r = sequences, length, dimension, radius
    tokens = N if marked is None else marked
    sums = largest_value(N, N).bit_length()
    first = lookup_size(tokens, token_key_bits(n * N, d, r, separation), sums, 1, 1, carried=1)
    key_bits = context_key_bits(N, n, d, r, separation)
    second = lookup_size(N, key_bits, labels.bit_length(), before=1)
    return first + ATTENTION + PROJECT + second


def deep_sets_size(
    sequences: int,
    cardinality: int,
    dimension: int,
    labels: int,
    radius: Real,
    separation: Real = 1,
    marked: int | None = None,
) -> Size:
    """The size of Theorem D.1: phi after the projection of its tokens, and rho."""
    N, M, d, r = sequences, cardinality, dimension, radius
    tokens = N if marked is None else marked
    sums = largest_value(N, N).bit_length()
    phi = lookup_size(tokens, token_key_bits(N * M, d, r, separation), sums, before=1)
    rho = lookup_size(N, sum_key_bits(N, M), labels.bit_length(), before=1)
    return phi + Size(0, 0, 1, 1) + Size(2, 2, 1, 1) + rho  # the sum, and its projection


def embedding_size(sequences: int, length: int, vocabulary: int, labels: int) -> Size:
    """The size of Theorem E.1 without the embedding matrix."""
    key_bits = embedded_key_bits(sequences, length, vocabulary)
    return ATTENTION + PROJECT + lookup_size(sequences, key_bits, labels.bit_length(), before=1)


def limited_bits_size(
    bits: int, tokens: tuple[int, int, int], contexts: tuple[int, int, int], projected: int = 4
) -> Size:
    """The size of Theorem F.1, parameters of at most `bits` bits.

    tokens, contexts  the number stored, bits per key, bits per value or label
    projected         nonzeros of the projection of contexts: three weights and a bias, if none is 0
    """
    first, second = (split_lookup_size(*table, bits) for table in (tokens, contexts))
    lanes = Size(2, 9, 1, 3)  # eq. (50)
    return first + lanes + ATTENTION + Size(projected, 4, 1, 1) + second


def largest_value(sequences: int, marked: int) -> int:
    """Lemma B.2: values of tokens go up to 4 N^2 |A| sqrt(pi)."""
    return math.ceil(4 * sequences**2 * marked * math.sqrt(math.pi))


def token_key_bits(tokens: int, dimension: int, radius: Real, separation: Real) -> int:
    """Bits of the keys of nN tokens: R_1 = 20 r (nN)^2 sqrt(pi d) / delta, eq. (34)."""
    root = math.sqrt(math.pi * dimension)
    return _bits(20 * root, tokens**2, radius, 1 / Fraction(separation))


def context_key_bits(
    sequences: int, length: int, dimension: int, radius: Real, separation: Real
) -> int:
    """Bits of the keys of contexts: R_2 = 400 sqrt(3 d) n^3 r N^5 pi / delta, after eq. (57)."""
    root = 400 * math.pi * math.sqrt(3 * dimension)
    return _bits(root, length**3, sequences**5, radius, 1 / Fraction(separation))


def sum_key_bits(sequences: int, cardinality: int) -> int:
    """Bits of the keys of sums: R_rho = 80 M N^5 pi, eq. (120)."""
    return _bits(80 * math.pi, max(1, cardinality), sequences**5)


def embedded_key_bits(sequences: int, length: int, vocabulary: int) -> int:
    """Bits of the keys of contexts of ids: R = 200 sqrt(3) n^2 N^5 omega pi.

    Theorem E.1 has r / delta as well, which do not exist for ids: both are 1.
    """
    return _bits(200 * math.pi * math.sqrt(3), length**2, sequences**5, vocabulary)


def _bits(*factors: Real) -> int:
    """Binary digits of the integer part of a product, which may be beyond the floats."""
    exact = [Fraction(x) for x in factors]
    logs = (math.log2(x.numerator) - math.log2(x.denominator) for x in exact)
    return math.floor(math.fsum(logs)) + 1


def lookup_size(
    items: int, key_bits: int, label_bits: int, before: int, zeros: int = 0, carried: int = 0
) -> Size:
    """Lemma C.1 from its scalar on: select a group's two numbers, search them.

    before   lanes of the layer before
    zeros    lanes that are added at the end and are 0
    carried  lanes that are kept
    """
    size = _group_size(items)
    end = carried + 2, carried + 1 + zeros
    return _body_size(items, size, key_bits, label_bits, before, carried, end)


def split_lookup_size(items: int, key_bits: int, label_bits: int, bits: int) -> Size:
    """Lemma F.1: the lookup in parts, as large as parameters of `bits` bits allow; x is kept.

    The first part reads x, the others x and the result of those before them.
    """
    longest = max(key_bits, label_bits)
    size = min((bits - 2) // longest, _group_size(items))
    points = size**2 * longest
    whole, rest = divmod(items - 1, points)  # the last part has rest + 1 of them

    def part(count: int, found: int) -> Size:
        end = 3 + found, 2
        return _body_size(count, size, key_bits, label_bits, 1 + found, found, end)

    if not whole:
        return part(items, 0)
    return part(points, 0) + part(points, 1).times(whole - 1) + part(rest + 1, 1)


def _group_size(items: int) -> int:
    """Items of a group: N items in about sqrt(N log N) groups (D1)."""
    return -(-items // max(1, round(math.sqrt(items * math.log2(max(items, 2))))))


def _body_size(
    items: int,
    size: int,
    key_bits: int,
    label_bits: int,
    before: int,
    carried: int,
    end: tuple[int, int],
) -> Size:
    """Select a group and search it; `end` has the nonzeros and lanes of the last layer."""
    groups, q, steps = -(-items // size), carried, max(key_bits, label_bits)
    select = 3 * q + 23  # Lemma G.3, for keys and labels side by side: 7 + 7 + 9
    begin = q + 9  # Lemma G.6: four fractions of the two numbers
    sums = size - 1  # each item except the first adds the result of the one before
    item, lanes = 0, []  # nonzeros, and lanes of layers, that read one key and label and compare
    for t in range(steps):
        key, label = t < key_bits, t < label_bits
        item += 3 * q
        item += 2 + (6 if key else 2) + (6 if label else 2)  # tent maps: kinks
        item += 4 + (4 if key else 2) + (4 if label else 2)  # tent maps: sums
        item += 8 + 2 * key + 2 * label  # Lemma G.4: the bit
        item += _gathered(t, key_bits) + _gathered(t, label_bits)
        lanes += [q + 8 + 2 * (key + label), q + 8, q + 8 + key + label]
    read = _gathered(steps, label_bits) + 2 * _gathered(steps, key_bits)
    item += 3 * q + (9 + read) + 11 + 10  # Lemma G.5, then the gate
    lanes += [q + 9, q + 9, q + 7]
    widths = Widths(before).then([q + 3]).then([q + 5, q + 5, q + 3], groups).then([q + 6])
    widths = widths.then(lanes, size).then([end[1]])
    nonzero = (q + 1) + groups * select + begin + size * item + sums + end[0]
    return Size(nonzero, widths.dense, widths.depth, widths.most)


class Widths(NamedTuple):
    """Layers one after another, of which only sums are kept: there may be millions."""

    last: int  # lanes after the last layer
    dense: int = 0  # full matrices and biases
    depth: int = 0  # layers
    most: int = 0  # lanes where they are most

    def then(self, lanes: list[int], times: int = 1) -> "Widths":
        """With layers of these lanes behind, all of them `times` times."""
        inside = sum(b * (a + 1) for a, b in pairwise(lanes))
        again = lanes[0] * (lanes[-1] + 1)
        dense = lanes[0] * (self.last + 1) + inside * times + again * (times - 1)
        depth = self.depth + len(lanes) * times
        return Widths(lanes[-1], self.dense + dense, depth, max(self.most, *lanes))


def _gathered(step: int, width: int) -> int:
    """Terms of the accumulator after `step` bits: A <- 2 A + 2^(..) bit."""
    return 1 if step > width else min(step, 2)
