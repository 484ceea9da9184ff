"""A decoder that reads a weighted sum of its tokens in place of attention.

Paper        madden2024, Theorem 7; Theorem 6 for the injection, Lemma 2 for the loss.
Statement    Embedded tokens, summed with a weight for each position, then m neurons with an
             analytic activation that is not a polynomial and an output matrix, can give any m
             different contexts any distributions of the next token.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  Minimal gap: the sums are numbers that doubles distinguish (the best of 8 draws;
                 two contexts at least 1000 roundings apart).
             A3  z, u > 0: token values and position weights are positive.
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats), over the real numbers.
             G2  As many neurons as contexts: m = n.
             G3  omega m + m (d + 1) + omega d + T parameters.
Departures   D1  Slopes and biases are free, as in one-layer: the proof's own choice has numerical
                 rank below 20.
             D2  What the paper calls an average is a weighted sum: nothing divides it.
             D3  Empirical distributions have zeros: the gap bounds the divergence (logits.py).
Notation     n contexts, omega vocabulary, T length, d dimension, m neurons.
"""

from dataclasses import dataclass

from ..softmax.decoder import TOKEN_SUM
from .base import fixed
from .one_layer import OneLayer


@dataclass(frozen=True)
class TokenAveraging(OneLayer):
    name = "token-averaging"
    mixing = TOKEN_SUM
    stages = {**OneLayer.stages, "embed": "Z gives each token its vector."}
    heads: int | None = fixed(None)
    head_dimension: int | None = fixed(None)
    skip: bool = fixed(False)
    positions: bool = fixed(True)
