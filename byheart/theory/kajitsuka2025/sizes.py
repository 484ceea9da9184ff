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
             D2  Depth and numbers follow the repaired Lemma G.6: three layers a bit, three a
                 comparison.
             D3  bit_extraction_parameters leaves the projections (E_in, Lemma C.2), attention and
                 E_out out: O(d) of them. The sizes have all but E_in and E_out (Remark 4.3); in the
                 dense size and in depth the paper's E_in and E_out are left out as well.
Notation     N sequences, n length, d dimension, C labels, r radius, delta separation; R the largest
             key, m groups of k items, rho bits a key, c bits a label; M cardinality, omega
             vocabulary.
"""

import math
from fractions import Fraction

from .lemma_sizes import Size as Size
from .lemma_sizes import lookup_size as lookup_size
from .lemma_sizes import split_lookup_size

Real = int | float | Fraction


def bit_extraction_parameters(
    sequences: int,
    length: int,
    dimension: int,
    labels: int,
    radius: float,
    separation: float = 1.0,
    marked: int | None = None,
) -> int:
    """The nonzero parameters of Theorem 4.1 as its proof constructs the network.

    The first part gives each marked token an integer up to 4 N^3 sqrt(pi) (Lemma B.2) and carries
    one lane along; the second gives each context its label.

    >>> bit_extraction_parameters(100, 4, 2, 2, radius=2 * 200**0.5)
    13834
    """
    size = bit_extraction_size(sequences, length, dimension, labels, radius, separation, marked)
    return size.parameters - 2 - 4


def bit_extraction_size(
    sequences: int,
    length: int,
    dimension: int,
    labels: int,
    radius: Real,
    separation: Real = 1,
    marked: int | None = None,
) -> Size:
    """The size of Theorem 4.1: what it takes between E_in and E_out.

    Corollary 4.1 is the same with a sequence for each token that has a label of its own.

    >>> bit_extraction_size(100, 4, 2, 2, radius=2 * 200**0.5)
    Size(parameters=13840, dense=109665, depth=1190, width=13)
    """
    N, n, d, r = sequences, length, dimension, radius
    tokens = N if marked is None else marked
    sums = largest_value(N, N).bit_length()
    first = lookup_size(tokens, token_key_bits(n * N, d, r, separation), sums, 1, 1, carried=1)
    attention = Size(2, 6, 1, 3)
    project = Size(4, 4, 1, 1)
    key_bits = context_key_bits(N, n, d, r, separation)
    second = lookup_size(N, key_bits, labels.bit_length(), before=1)
    return first + attention + project + second


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
    addition = Size(0, 0, 1, 1)
    project = Size(2, 2, 1, 1)
    rho = lookup_size(N, sum_key_bits(N, M), labels.bit_length(), before=1)
    return phi + addition + project + rho


def embedding_size(sequences: int, length: int, vocabulary: int, labels: int) -> Size:
    """The size of Theorem E.1 without the embedding matrix."""
    attention = Size(2, 6, 1, 3)
    project = Size(4, 4, 1, 1)
    key_bits = embedded_key_bits(sequences, length, vocabulary)
    return attention + project + lookup_size(sequences, key_bits, labels.bit_length(), before=1)


def limited_bits_size(
    bits: int,
    tokens: tuple[int, int, int],
    contexts: tuple[int, int, int],
    projected: int = 4,
) -> Size:
    """The size of Theorem F.1, parameters of at most so many bits.

    tokens, contexts  how many are stored, bits of a key, bits of a value or label
    projected         nonzeros of the projection of contexts: three weights and a bias, if none is 0
    """
    first, second = (split_lookup_size(*table, bits) for table in (tokens, contexts))
    lanes = Size(2, 9, 1, 3)  # eq. (50)
    attention = Size(2, 6, 1, 3)
    project = Size(projected, 4, 1, 1)
    return first + lanes + attention + project + second


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
