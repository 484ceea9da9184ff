"""A decoder of one layer as the proof of the theorem builds it, in numbers of any length.

Paper        madden2024, Theorem 5 (from Theorems 3 and 4).
Statement    A transformer of one layer with m neurons, whose activation psi is analytic at some eta
             and not a polynomial there, can give any m contexts any distributions of the next
             token. The proof sets d = 1 and all biases to eta, draws token values z, positions u
             and slopes w, and solves a linear system for the output matrix V.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  At most 100 contexts: each makes the numbers 7 to 9 bits longer. More: one-layer.
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats), over the real numbers.
             G2  As many neurons as contexts: m = n.
             G3  omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d parameters.
Departures   D1  1 / sqrt(d) is irrational, so the constant matrices hold powers of two. Scores are
                 then kappa x_t x_k and the output is nu f, with rational kappa and nu from 1 to 2
                 (both are 1 if d = m_0 = d_0 = d_1 = 1). kappa only scales z and u, nu only scales
                 w: the theorem stays as it is.
             D2  Theorem 3 is false for points of both signs (tanh(a b) with b = (1, -1) has rank
                 1). z, u > 0 repairs it: attention is a mean of positive numbers then, and as this
                 is an open set, generic (z, u) are still there to choose from.
             D3  The algorithm after the theorem scales W by epsilon in step (2) and forgets it in
                 (3). Here w is drawn so small at once that |w_k f| is within the radius of
                 convergence at eta = 1. That is not needed, as these activations are analytic on
                 the whole line, and it costs digits; but it is what is proved.
             D4  With the skip connection the number of a context is nu f + d x_k. The proof of
                 Theorem 4 survives if it compares the last tokens first: its coefficients are then
                 (nu + d) times a difference of lengths or of last tokens, and for the other tokens,
                 the last ones being equal, what they were.
             D5  Empirical distributions have zeros, which no softmax has: the gap bounds it.
             D6  V is rounded to multiples of 2^-48. Logits are then off by less than 2^-38, and
                 divergences by less than 2^-76 and 2^-36 of the gap.
Notation     n contexts, omega vocabulary, T length, d dimension, m_0 heads, d_0 and d_1 their
             dimensions, m neurons, V output matrix, f the attention of Theorem 4.
"""

from dataclasses import dataclass

from ...data.targets import Targets
from ...errors import AssumptionError
from ...machine.watch import Watch
from ...softmax.decoder import Shape
from ..base import Built
from ..families import NeuronDecoder
from ..one_layer import GAP, check_memory, check_vocabulary

LIMIT = 100


@dataclass(frozen=True)
class OneLayerLiteral(NeuronDecoder):
    name = "one-layer-literal"

    def shape(self, targets: Targets) -> Shape:
        if len(targets) > LIMIT:  # A2
            raise AssumptionError(
                f"A2 fails: one-layer-literal stores at most {LIMIT} contexts, and the data has "
                f"{len(targets):,}; use `method='one-layer'`, which has no such limit."
            )
        check_vocabulary(self.name, targets)
        shape = self.sizes(targets, 1, len(targets), "logistic")
        check_memory(self.name, shape)
        return shape

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        shape = self.shape(targets)
        from .build import build  # flint is slow to import

        return build(shape, targets, self.gap or GAP, self.seed, watch)
