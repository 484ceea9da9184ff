"""How large the paper's own constructions are, counted layer by layer.

Paper        kajitsuka2025, Theorems 4.1 (B.1), D.1, E.1 and F.1; Lemmas C.1, F.1 and G.3 to G.6
             for the feed-forward parts.
Statement    N sequences with labels are memorised by a token-wise feed-forward part, one uniform
             attention layer and a second feed-forward part; each part stores keys and labels in
             long numbers and reads them bit by bit.
Assumptions  A1  Tokens lie in a ball of the given radius and are `separation` apart.
             A2  The first part marks `marked` tokens (Lemma B.1: no more than sequences).
Guarantee    G1  The nonzero weights and biases, depth, width and dense size of the layers as built
                 by bit-extraction, without fusing any: exact for the repaired construction, not an
                 upper bound with hidden constants.
Departures   D1  Labels 1..C take C.bit_length() bits and keys as many as floor(R); the paper says
                 log C and log R. Groups without a member are dropped.
             D2  Layers are blocks of eq. (3), with skip connections, which the proofs leave out:
                 two per bit, three per comparison (bit_extraction, D13).
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
        parameters, dense = self.parameters + other.parameters, self.dense + other.dense
        return Size(parameters, dense, self.depth + other.depth, max(self.width, other.width))

    def times(self, count: int) -> "Size":
        """The same part `count` times, one after the other."""
        many = self.parameters * count, self.dense * count, self.depth * count
        return Size(*many, self.width if count else 0)


LANES = 12  # of all blocks: the key, the two tables' answers, the sum, and eight of a table


def block(parameters: int, units: int) -> Size:
    """One block of eq. (3): W_1, W_2 and both biases."""
    return Size(parameters, 2 * LANES * units + units + LANES, 1, LANES)


ATTENTION = Size(2, 2 * LANES, 1, LANES)


def project(weights: int) -> Size:
    return block(weights + 1 + 1 + 2, units=2)


def bit_extraction_parameters(
    sequences: int, length: int, dimension: int, labels: int, radius: float
) -> int:
    """The nonzero parameters of Theorem 4.1 as its proof constructs the network.

    The first part gives each marked token an integer up to 4 N^3 sqrt(pi) (Lemma B.2); the second
    gives each context its label.

    >>> bit_extraction_parameters(100, 4, 2, 2, radius=2 * 200**0.5)
    7760
    """
    size = bit_extraction_size(sequences, length, dimension, labels, radius)
    return size.parameters - ATTENTION.parameters - project(3).parameters


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
    Size(parameters=7769, dense=84486, depth=802, width=12)
    """
    N, n, d, r = sequences, length, dimension, radius
    tokens = N if marked is None else marked
    sums = largest_value(N, N).bit_length()
    first = lookup_size(tokens, token_key_bits(n * N, d, r, separation), sums)
    key_bits = context_key_bits(N, n, d, r, separation)
    return first + ATTENTION + project(3) + lookup_size(N, key_bits, labels.bit_length())


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
    phi = lookup_size(tokens, token_key_bits(N * M, d, r, separation), sums)
    rho = lookup_size(N, sum_key_bits(N, M), labels.bit_length())
    return phi + Size(0, 0, 1, LANES) + project(1) + rho  # the sum, and its projection


def embedding_size(sequences: int, length: int, vocabulary: int, labels: int) -> Size:
    """The size of Theorem E.1 without the embedding matrix."""
    key_bits = embedded_key_bits(sequences, length, vocabulary)
    return ATTENTION + project(3) + lookup_size(sequences, key_bits, labels.bit_length())


def limited_bits_size(
    bits: int, tokens: tuple[int, int, int], contexts: tuple[int, int, int], projected: int = 7
) -> Size:
    """The size of Theorem F.1, parameters of at most `bits` bits.

    tokens, contexts  the number stored, bits per key, bits per value or label
    projected         nonzeros of the projection of contexts: three weights and a bias, if none is
                      0, what they write, and two that erase the key before
    """
    first, second = (split_lookup_size(*table, bits) for table in (tokens, contexts))
    return first + ATTENTION + block(projected, units=2) + second


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


def lookup_size(items: int, key_bits: int, label_bits: int) -> Size:
    """Lemma C.1 from its scalar on: select a group's two numbers, search them."""
    return _part_size(items, group_size(items), key_bits, label_bits)


def split_lookup_size(items: int, key_bits: int, label_bits: int, bits: int) -> Size:
    """Lemma F.1: the lookup in parts, as large as parameters of `bits` bits allow."""
    longest = max(key_bits, label_bits)
    size = min((bits - 2) // longest, group_size(items))
    whole, rest = divmod(items - 1, size**2 * longest)  # the last part has rest + 1 of them
    last = _part_size(rest + 1, size, key_bits, label_bits)
    return _part_size(size**2 * longest, size, key_bits, label_bits).times(whole) + last


def group_size(items: int) -> int:
    """Items of a group: N items in about sqrt(N log N) groups (D1)."""
    return -(-items // max(1, round(math.sqrt(items * math.log2(max(items, 2))))))


def _part_size(items: int, size: int, key_bits: int, label_bits: int) -> Size:
    """Select one of the groups (Lemmas G.2 and G.3), and search its `size` keys (Lemma G.6)."""
    select = block(6, units=2) + block(14, units=4)
    both, longer = sorted((key_bits, label_bits))
    tents = block(20, units=8).times(both) + block(10, units=4).times(longer - both)
    # bits: one unit for the first of a number, and one more for its sum afterwards
    bits = block(6, units=2) + block(10, units=4).times(both - 1)
    if longer > both:
        bits += block(5, units=2).times(longer - both)
    compare = block(7, units=2) + block(10, units=4) + block(10, units=4)
    begin, end = block(10, units=2), block(8, units=4)
    return select.times(-(-items // size)) + begin + (tents + bits + compare).times(size) + end
