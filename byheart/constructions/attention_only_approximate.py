"""One layer of attention and nothing else, for distributions with fewer heads than they need.

Paper        dana2024, Theorem 1 (epsilon > 0).
Statement    If H d_h + d >= T_epsilon, the fewest contexts that have a probability of 1 - epsilon
             together, a transformer of one layer of attention comes within C epsilon ||W E||_2 of
             the best mean divergence that its dimension allows.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  d_h <= d.
             A3  Heads: H d_h >= T_epsilon, if heads and epsilon are both named.
             A4  The gap that is named is reached. If none is named, the gap is what is reached.
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats), over the real numbers.
             G2  The mean divergence is at most that of the least-squares fit to a sequence encoder,
                 both with contexts weighted by their probabilities.
             G3  H heads, as many as named; otherwise the fewest of A3, with epsilon 0.1 if none is
                 named; d (S + 2 N + 4 d_h H) parameters, N with the reserved token if there is one.
Departures   D1  The proof interpolates T_epsilon contexts and ignores the others, where
                 divergences of thousands of nats are found. Here W_O minimises the mean divergence
                 of all contexts, a convex problem, from the weighted least-squares fit.
             D2  The bound is reported with the constant of theory/dana2024/capacity.py, which is
                 smaller, up to 1,000 contexts that are kept. It is about the literal W_O, and far
                 above what is reached.
             D3  The skip connection counts among the features of the bound, but is not folded, as
                 for attention-only without tight=True: H d_h, not H d_h + d, is at least
                 T_epsilon.
             D4  Zeros, padding and heads in few dimensions: as for attention-only.
Notation     N vocabulary, S length, d dimension, d_h head dimension, H heads, T_epsilon contexts
             kept, W unembedding, E sequence embeddings, W_O output matrix.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..data.targets import Floats, Targets
from ..encoders.encoder import Encoder
from ..errors import AssumptionError
from ..gadgets.heads import decoder, drawn, features, last, rows
from ..gadgets.regression import Task, fit
from ..machine.watch import Watch
from ..softmax.decoder import Shape
from ..theory.dana2024.capacity import theorem_1_approximate
from .attention_only.goal import GAP, SHARE, allowed, encoder_of, reached
from .attention_only.plan import Plan, make_plan
from .base import Built, fixed, option, within
from .families import AttentionDecoder
from .one_layer import check_vocabulary
from .one_layer_smooth import observed_in_float32

EPSILON = 0.1
MORE = "more `heads=...`, a smaller `epsilon=...`, "
BOUNDED = 1000  # contexts kept for which the theorem's bound is computed


@dataclass(frozen=True)
class AttentionOnlyApproximate(AttentionDecoder):
    name = "attention-only-approximate"
    tight: bool = fixed(False)
    epsilon: float | None = option(
        None,
        "Share of the least likely contexts to leave out.",
        metavar="SHARE",
        least=0.0,
        most=math.nextafter(1, 0),
    )

    def shape(self, targets: Targets) -> Shape:
        return self._plan(targets)[0].shape

    def _plan(self, targets: Targets) -> tuple[Plan, Floats, int]:
        """The plan with the likeliest contexts first, their shares, and how many are kept (A3)."""
        check_vocabulary(self.name, targets)
        likeliest = targets.subset(np.argsort(-targets.weight, kind="stable"))
        shares = likeliest.weight / likeliest.weight.sum()
        wanted = fewest_contexts(shares, self.epsilon)
        found = make_plan(self.name, likeliest, self, wanted)
        shape = found.shape
        if self.heads is not None and self.epsilon is None:
            return found, shares, min(len(shares), shape.heads * shape.value_dimension)
        if shape.heads < found.needed:
            raise AssumptionError(
                f"A3 fails: {shape.heads} heads are too few for the {wanted:,} contexts that have "
                f"1 - epsilon of the probability; use `heads={found.needed}`, a larger "
                "`epsilon=...`, or name only one of the two."
            )
        return found, shares, wanted

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        found, shares, kept = self._plan(targets)
        watch.note(f"{kept:,} of {len(targets):,} contexts have {shares[:kept].sum():.3g} of all")
        shape, targets, tokens = found.shape, found.targets, rows(found.targets)
        gap = self.gap or GAP
        encoder = encoder_of(targets, shape.dimension, self, gap)
        length = float(np.linalg.norm(encoder.unembedding, axis=1).max())
        unembedding, embeddings = encoder.unembedding / length, encoder.embeddings * length
        heads = drawn(shape, tokens[:kept], np.random.default_rng(self.seed))
        task = Task(features(heads, tokens), last(heads, tokens), unembedding, targets, shares)
        fitted = fit(task, embeddings, aim=SHARE * gap)
        network = decoder(shape, heads, fitted.matrix.T, unembedding)
        bound = "" if encoder.exact else " (an upper bound of d_KL(pi, L(N, S, d)))"
        left = float(shares[kept:].sum())
        notes = (
            f"T_epsilon = {kept:,} of {len(shares):,} contexts, epsilon = {left:.3g}; mean "
            f"divergence reached: {fitted.mean:.3g} nats; by least squares: {fitted.start:.3g}; "
            f"of the encoder {encoder.name}: {encoder.divergence:.3g}{bound}",
            bound_note(task, encoder, kept, left),
            observed_in_float32(network, targets),
        )
        largest = reached(network, targets)
        gap = gap if largest <= gap else allowed(largest, targets, self, MORE)
        return within(gap, network, targets, 1, notes)


def fewest_contexts(shares: Floats, epsilon: float | None) -> int:
    """T_epsilon: the fewest contexts, shares decreasing, that hold 1 - epsilon up to rounding."""
    share = EPSILON if epsilon is None else epsilon
    least = (1 - share) * (1 - len(shares) * np.finfo(float).eps)
    return int(np.searchsorted(np.cumsum(shares), least) + 1) if share else len(shares)


def bound_note(task: Task, encoder: Encoder, kept: int, left: float) -> str:
    """The right-hand side of eq. (4) for these heads, with the skip connection among them."""
    if kept > BOUNDED:
        return f"Theorem 1's bound: not computed for more than {BOUNDED:,} contexts kept"
    joined = np.hstack([task.features, task.offset]).T
    norm = product_norm(encoder.unembedding, encoder.embeddings)
    try:
        more = theorem_1_approximate(joined, kept, left, norm)
    except AssumptionError:
        return "Theorem 1's bound: none, the features of the contexts kept are dependent"
    return f"Theorem 1's bound on the mean divergence: {encoder.divergence + more:.3g} nats"


def product_norm(unembedding: Floats, embeddings: Floats) -> float:
    """||W E||_2; orthonormal factors do not change it."""
    left: Floats = np.linalg.qr(unembedding)[1]
    right: Floats = np.linalg.qr(embeddings)[1]
    return float(np.linalg.norm(left @ right.T, 2))
