"""How many parameters the paper's own construction takes, counted layer by layer.

Paper        kajitsuka2025, Theorem 4.1 (B.1); Lemmas C.1 and G.3 to G.6 for the feed-forward parts.
Statement    N sequences with labels are memorised by a token-wise feed-forward part, one uniform
             attention layer and a second feed-forward part; each part stores keys and labels in
             long numbers and reads them bit by bit.
Assumptions  A1  Tokens lie in a ball of the given radius and are `separation` apart.
             A2  The first part marks `marked` tokens (Lemma B.1: no more than sequences).
Guarantee    G1  The nonzero weights and biases of the layers as built in the proofs, without fusing
                 any: exact for the repaired construction, not an upper bound with hidden constants.
Departures   D1  Labels 1..C take C.bit_length() bits and keys ceil(log2(R + 1)); the paper says
                 log C and log R. Groups without a member are dropped.
             D2  Depth and numbers follow the repaired Lemma G.6: three layers a bit, three a
                 comparison.
             D3  The projections (E_in, Lemma C.2), attention and E_out are left out: O(d) of
                 them.
Notation     N sequences, n length, d dimension, C labels, r radius, delta separation; R the largest
             key, m groups of k items, rho bits a key, c bits a label.
"""

import math


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
    N, n, d, C, r = sequences, length, dimension, labels, radius
    keys = 20 * r * (n * N) ** 2 * math.sqrt(math.pi * d) / separation  # Lemma C.2 on n N tokens
    sums = math.ceil(4 * N**3 * math.sqrt(math.pi))  # Lemma B.2
    contexts = 400 * math.sqrt(3 * d) * n**3 * r * N**5 * math.pi / separation
    tokens = N if marked is None else marked
    return _lookup(tokens, keys, sums, carried=1) + _lookup(N, contexts, C, carried=0)


def _lookup(items: int, largest_key: float, labels: int, carried: int) -> int:
    """Nonzeros of Lemma C.1 from its scalar on: select a group's two numbers, search them."""
    groups = max(1, round(math.sqrt(items * math.log2(max(items, 2)))))
    size = -(-items // groups)
    groups = -(-items // size)  # D1
    key_bits, label_bits = math.ceil(math.log2(largest_key + 1)), labels.bit_length()
    start = carried + 1
    group = 3 * carried + 23  # Lemma G.3, for keys and labels side by side: 7 + 7 + 9
    begin = carried + 9  # Lemma G.6: four fractions of the two numbers
    sums = size - 1  # each item but the first adds what the last one found
    end = carried + 2
    return start + groups * group + begin + size * _item(key_bits, label_bits, carried) + sums + end


def _item(key_bits: int, label_bits: int, carried: int) -> int:
    """Nonzeros that read one key and one label and compare the key with the input."""
    steps = max(key_bits, label_bits)
    bits = sum(
        3 * carried
        + (2 + _reading(t, key_bits, 6) + _reading(t, label_bits, 6))  # tent maps: kinks
        + (4 + _reading(t, key_bits, 4) + _reading(t, label_bits, 4))  # tent maps: sums
        + (8 + 2 * (t < key_bits) + 2 * (t < label_bits))  # Lemma G.4: the bit
        + _gathered(t, key_bits)
        + _gathered(t, label_bits)
        for t in range(steps)
    )
    key, label = _gathered(steps, key_bits), _gathered(steps, label_bits)
    compare = 3 * carried + (9 + label + 2 * key) + 11 + 10  # Lemma G.5, then the gate
    return bits + compare


def _reading(step: int, width: int, active: int) -> int:
    """Two lanes in use cost `active`; once all bits are read they are only carried."""
    return active if step < width else 2


def _gathered(step: int, width: int) -> int:
    """Terms of the accumulator after `step` bits: A <- 2 A + 2^(..) bit."""
    if step > width:
        return 1
    return min(step, 2)
