"""One layer of attention and nothing else, whose next-token distributions are those of the data.

Paper        dana2024, Theorem 1 (epsilon = 0), Corollary 1; Propositions 2 and 3 for the encoder.
Statement    A transformer of one layer of softmax attention with a skip connection and no neurons
             comes as near to T_0 distributions as any function of its dimension d can, if
             H d_h + d >= T_0. It memorises T_0 associations with d = 2.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  d_h <= d.
             A3  Heads: H d_h >= T_0, with tight=True H d_h + d >= T_0. More are needed where the
                 data keeps the rank of the features below that: d_h > N + S - 1 - c, or contexts
                 with one last token (theory/dana2024/ranks.py).
             A4  The gap that is named can be reached by a sequence encoder of dimension d:
                 d >= N - 1, or d at least the number of distinct distributions, or associations
                 and d >= 2. If no gap is named, it is what the encoder reaches.
             A5  tight=True: at least d distinct last tokens, and sequence embeddings E of rank d
                 (those of associations are, after a small move at random).
             A6  Conditioning: the features have full rank, as measured, with a condition number
                 below 1e13, and a run in doubles keeps the gap (4 draws at most).
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats; 1e-9 if none is named and A4 allows it), over the
                 real numbers. For associations: every label is the likeliest.
             G2  H heads, as many as named; otherwise as few as A3 asks (more if A6 asks for them).
             G3  d (S + 2 N + 4 d_h H) parameters, N with the reserved token if there is one.
Departures   D1  Without tight=True the skip connection adds what it adds, and W_O gives the rest,
                 with d / d_h heads more than T_0 = H d_h + d asks for.
             D2  The proof makes the skip connection a head with lambda -> infinity, which attends
                 to itself only if x_S . x_S is above all x_S . x_s, and whose W_O blows up. With
                 tight=True, M x_S is folded into embeddings and heads: exact, without gamma, and
                 in coordinates in which M is diagonal, so that no rounding is amplified.
             D3  Theorem 1 and Corollary 1 are false with fewer than d distinct last tokens: A5.
             D4  Lemma 2 is false at S = 1, and for d > N + S - 2. Contexts of one token, or of
                 different lengths, are filled up at the front with a reserved token, which is part
                 of the vocabulary and never follows. In place of d, d_h is kept at N + S - 1 - c.
             D5  H = |(T_0 - d) / d_h| must be rounded up, and W_O is then that of least norm.
             D6  Assumption 2 (no zeros) is not needed: zeros get the floor of gadgets/logits.py.
                 With one label per context, W_U is twice as long as its margin asks for the gap.
             D7  Below d = 8 random heads are nearly dependent: scales are mixed, and of six times
                 as many heads the most different are kept.
Notation     N vocabulary, S length, d dimension, d_h head dimension, H heads, T_0 contexts, W_U
             unembedding, E sequence embeddings, W_O output matrix, x_S last token's vector, c
             components of theory/dana2024/ranks.py.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...data.targets import Targets
from ...errors import AssumptionError
from ...gadgets.heads import drawn, rows, tight, unfolded
from ...machine.watch import Watch
from ...softmax.decoder import Decoder, Shape
from ..base import Built, within
from ..families import AttentionDecoder
from ..one_layer import check_vocabulary
from ..one_layer_smooth import observed_in_float32
from .goal import Goal, choose_goal, encoder_note, reached
from .plan import Plan, check_heads, check_memory, make_plan

MORE_HEADS = 1.0, 1.0, 1.25, 2.0  # of each draw, where the number is ours to choose
LARGEST_CONDITION = 1e13
LEAST_SINGULAR = 1e-8  # of the sequence embeddings, relative, if they span all dimensions


@dataclass(frozen=True)
class AttentionOnly(AttentionDecoder):
    name = "attention-only"

    def shape(self, targets: Targets) -> Shape:
        return self._plan(targets).shape

    def _plan(self, targets: Targets) -> Plan:
        check_vocabulary(self.name, targets)
        found = make_plan(self.name, targets, self, skip=self.tight)
        check_heads(self.name, found, self.tight)
        return found

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        found = self._plan(targets)
        aim = choose_goal(found.targets, found.shape.dimension, self)
        if self.tight:
            _check_tight(found, aim)
        for draw, more in enumerate(MORE_HEADS, 1):
            attempt = _attempt(found, aim, self, draw, more)
            if isinstance(attempt, tuple):
                network, note = attempt
                notes = encoder_note(aim, self), note, observed_in_float32(network, found.targets)
                return within(aim.gap, network, found.targets, draw, notes)
            watch.note(f"draw {draw} of {len(MORE_HEADS)}: {attempt}")
        leave = ", or leave out `tight=True`" if self.tight else ""
        raise AssumptionError(
            f"A6 fails: {attempt}, in {len(MORE_HEADS)} draws; use a larger `dimension=...`, "
            f"more `heads=...` or a larger `gap=...`{leave}."
        )


def _check_tight(found: Plan, aim: Goal) -> None:
    """A5."""
    d = found.shape.dimension
    many = len(np.unique(rows(found.targets)[:, -1]))
    if many < d:
        smaller = f", or use `dimension={many}`" if many > 1 else ""
        raise AssumptionError(
            f"A5 fails: the contexts have {many} different last tokens, and the dimension is {d}; "
            f"leave out `tight=True`{smaller}."
        )
    rank = int(np.linalg.matrix_rank(aim.embeddings, rtol=LEAST_SINGULAR))
    if rank < d:
        raise AssumptionError(
            f"A5 fails: the sequence embeddings of the encoder {aim.encoder.name} have rank "
            f"{rank}, and the dimension is {d}; leave out `tight=True`, or use `dimension={rank}`."
        )


def _attempt(
    found: Plan, aim: Goal, options: AttentionOnly, draw: int, more: float
) -> tuple[Decoder, str] | str:
    """A decoder that keeps the gap with a note about it, or why there is none (A6)."""
    shape, tokens = found.shape, rows(found.targets)
    if options.heads is None:
        shape = shape._replace(heads=math.ceil(more * shape.heads))
        check_memory(AttentionOnly.name, shape, len(tokens))
    heads = drawn(shape, tokens, np.random.default_rng([options.seed, draw]))
    solve = tight if options.tight else unfolded
    network, condition, folding = solve(shape, heads, tokens, aim.embeddings, aim.unembedding)
    if not condition < LARGEST_CONDITION:
        return f"the condition number is about {condition:.1e}"
    if not np.isfinite(folding):
        return "the matrix of the skip connection cannot be inverted"
    worst = reached(network, found.targets)
    if not worst <= aim.gap:
        return f"the largest divergence is {worst:.1e} nats"
    note = f"condition number about {condition:.2g}"
    if options.tight:
        note += f", that of the folded matrix {folding:.2g}"
    return network, note
