"""A transformer whose two attention layers have 2n connections, by way of one extra token.

Paper        kajitsuka2025, Remark 4.5.
Statement    One more token in front gathers what all others hold and hands it back to each: two
             sparse attention layers do what one full one does, with O(n) connections instead of
             n^2 and the same number of parameters up to a constant.
Assumptions  A1  Equal contexts carry equal labels; a context is the multiset of tokens and the last
                 token or, where every token has a label, the token itself (with positions: the
                 sequence and the place).
             A2  PADDED
Guarantee    G1  Exactly the label of every sequence, or of every token (checked, not only argued).
             G2  n connections in the first attention layer, n in the second; two parameters more
                 than hash-fold-retrieve.
Departures   D1  The remark gives no construction. The first layer connects the extra token to all
                 others, the second all others to the extra token; a token does not look at itself,
                 the skip connection keeps it.
             D2  The extra token's vector is that of the padding: what it holds by itself is never
                 read.
             D3  The rest is hash-fold-retrieve, not the paper's proof.
Notation     n length.
"""

from dataclasses import dataclass

from .base import fixed
from .retrieval import Retrieval


@dataclass(frozen=True)
class SparseAttention(Retrieval):
    name = "sparse-attention"
    every = None
    attention: str = fixed("sparse")
