"""A transformer with one uniform attention layer that returns the label of every sequence, for much
data in close to the fewest bits possible.

Paper        kajitsuka2025, Theorem 4.1 (B.1): the same statement, but for the width (D6), and the
             same layers, eq. (3), (39), (43); another construction.
Statement    N labelled sequences can be memorised by E_in, a token-wise feed-forward part, one
             uniform attention layer, a second feed-forward part and E_out, with about sqrt(N)
             parameters up to logarithms.
Assumptions  A1  CONSISTENT
             A2  PADDED
Guarantee    G1  The output is the number of the sequence's label, exactly, for every sequence
                 (checked, not only argued).
             G2  The counts of retrieval/tables.py: nonzero parameters with the leading term
                 3.46 sqrt(I), I = contexts x log2(labels), and for much data a code word of little
                 more than I bits (docs/sizes.md).
             G3  With reject_unknown = b, an input whose context was never seen gives "unknown",
                 except with probability about 2**-b.
             G4  With editable, the structure is a function of the inputs, the seed and the bits of
                 a label, and takes any labels; the weights are one of structure and labels.
Departures   D1  Not the paper's proof. Its keys, selectors and bit extraction (Lemmas C.1, G.1-G.6)
                 are replaced by hashing with folds, linear systems over GF(2) and one fold per
                 stored bit, with fewer parameters (docs/sizes.md has both).
             D2  The hash is found by a bounded search over seeds; there is no worst-case theorem
                 for it. A network is only returned when it is complete, and the caller verifies it
                 on every sequence.
             D3  1/n is not dyadic: W_O is 2n, so that W_O W_V mean = 2 sum exactly.
             D4  Labels are numbered by the lengths of their words in the prefix code and by their
                 names, in a Gray order; the order is part of the output vocabulary and holds no
                 more than those lengths.
             D5  Two forms, tables and readers; the smaller one is built. Editable networks, those
                 with a fingerprint and very large ones have tables; where it is smaller, and in
                 networks that are not editable, gates read the lanes of the tables.
             D6  The paper's width does not depend on N. Ours grows with N: 32 lanes for 10^5 random
                 sequences. With minimise = "dense" there are two to six lanes, and the hidden
                 units of four or five tables, which grow, can be cut into blocks with as many
                 units as lanes (docs/sizes.md).
Notation     N sequences, n length, C labels, I information, H the context's number, K bit
             positions.
"""

from dataclasses import dataclass

from .retrieval import Retrieval


@dataclass(frozen=True)
class HashFoldRetrieve(Retrieval):
    name = "hash-fold-retrieve"
