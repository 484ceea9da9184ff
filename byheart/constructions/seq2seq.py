"""A transformer with one uniform attention layer that returns a label for every token.

Paper        kajitsuka2025, Corollary 4.1 (from Theorem B.1).
Statement    N sequences of n tokens, each token with a label, can be memorised by the architecture
             of Theorem 4.1 with about sqrt(n N) parameters up to logarithms: a token's context is
             as if it stood at the end of its sequence.
Assumptions  A1  Equal contexts carry equal labels; a context is the multiset of tokens and the
                 token itself (with positions: the sequence and the place in it).
             A2  Sequences are no longer than the network's length; shorter ones are padded at the
                 front, and the padding has no label.
Guarantee    G1  The output of every token's column is the number of its label, exactly (checked,
                 not only argued).
             G2  Small form: the counts of hash-fold-retrieve for as many contexts; faithful form:
                 those of bit-extraction for as many contexts.
Departures   D1  The corollary counts n N predictions. Tokens that occur twice in a sequence, and
                 equal multisets, share a context: only distinct contexts are stored.
             D2  The small form is not the paper's proof: see hash-fold-retrieve. The faithful form
                 is that of bit-extraction, with its departures.
Notation     N sequences, n length.
"""

from dataclasses import dataclass

from .bit_extraction import Extraction
from .retrieval import Retrieval


@dataclass(frozen=True)
class SmallSeq2Seq(Retrieval):
    name = "seq2seq"
    form = "small"
    every = True


@dataclass(frozen=True)
class FaithfulSeq2Seq(Extraction):
    name = "seq2seq"
    form = "faithful"
    every = True
