"""One layer of attention and nothing else that memorises labels, with few heads.

Paper        dana2024, beyond Corollary 1: it is not in the paper.
Statement    Corollary 1 gives every context one vector, by T_0 features. A label only asks for the
             largest logit: for fixed heads that is a convex problem in W_O, with solutions for far
             fewer heads.
Assumptions  A1  Tokens are words or integers, at least two different ones, and every context has
                 one label.
             A2  d_h <= d, and d >= 2 if there are more than two tokens.
             A3  The optimisation finds W_O with the heads that are named, or at least with as many
                 as attention-only needs, in 300 steps.
Guarantee    G1  Every label is the likeliest, and the divergence of every context is at most the
                 gap (nats; 1e-9 if none is named), over the real numbers.
             G2  H heads, as many as named; otherwise the fewest that 8 steps of bisection find, an
                 upper bound on the heads that are needed.
             G3  d (S + 2 N + 4 d_h H) parameters, N with the reserved token if there is one.
Departures   D1  Nothing here is claimed by the paper. Least squares memorises few labels if there
                 are fewer features than contexts; multinomial logistic regression many more.
             D2  The mean divergence is not what counts: its power 3/2 is minimised, which weighs
                 the worst contexts, until every label has most of the probability. Then W_U is
                 made twice as long as the gap asks.
             D3  Contexts of one token or of different lengths are padded, as for attention-only.
Notation     N vocabulary, S length, d dimension, d_h head dimension, H heads, T_0 contexts, W_U
             unembedding, W_O output matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import encoders
from ..data.targets import Targets
from ..errors import AssumptionError
from ..gadgets import heads as gadgets
from ..gadgets.regression import Task, fit
from ..machine.tables import plural
from ..machine.watch import Watch
from ..softmax.decoder import Decoder, Shape
from .attention_only.goal import GAP, margins, reached, stretch
from .attention_only.plan import Plan, make_plan
from .base import Built, fixed, within
from .families import AttentionDecoder
from .one_layer import check_vocabulary
from .one_layer_smooth import observed_in_float32

SOLVES = 8
POWER = 1.5  # of a divergence, in what is minimised
AIM = 0.5  # nats of every context at which the fit stops: the label has 0.6 of the probability
START = 0.01  # the gap of the encoder that the fit starts from


@dataclass(frozen=True)
class AttentionOnlyArgmax(AttentionDecoder):
    name = "attention-only-argmax"
    tight: bool = fixed(False)
    encoder: str | None = fixed(None)

    def shape(self, targets: Targets) -> Shape | None:
        found = self._plan(targets)
        return None if self.heads is None else found.shape

    def _plan(self, targets: Targets) -> Plan:
        """The sizes with as many heads as may be tried."""
        check_vocabulary(self.name, targets)
        if not encoders.certain(targets):  # A1
            many = int((targets.support > 1).sum())
            raise AssumptionError(
                f"A1 fails: contexts with several labels: {many:,}; attention-only-argmax stores "
                "one per context; use `method='attention-only'` or "
                "`method='attention-only-approximate'`, which store distributions."
            )
        return make_plan(self.name, targets, self)

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        plan, gap = self._plan(targets), self.gap or GAP
        attempt, targets = fits(plan, gap, self.seed), plan.targets
        low, high, best, solves = 0, plan.shape.heads, None, 0
        # bisection: `low` heads were too few, `high` were enough (or are all there are)
        while self.heads is None and high - low > 1 and solves < SOLVES:
            middle, solves = (low + high) // 2, solves + 1
            network, likeliest = attempt(middle)
            watch.note(
                f"{middle} heads are {'too few' if network is None else 'enough'}: "
                f"{likeliest:,} of {len(targets):,} labels are the likeliest"
            )
            enough = network is not None
            low, high, best = (low, middle, network) if enough else (middle, high, best)
        if best is None:
            best, likeliest = attempt(high)
            solves += 1
        if best is None:  # A3
            raise AssumptionError(
                f"A3 fails: with {high} heads of dimension {plan.shape.value_dimension}, "
                f"{likeliest:,} of {len(targets):,} labels are the likeliest; use more "
                "`heads=...`, or `method='attention-only'`."
            )
        note = f"attention-only needs {plan.needed} heads for as many contexts"
        if self.heads is None:
            note = (
                f"smallest H found: {high} for {plural(len(targets), 'context')} "
                f"(attention-only: {plan.shape.heads}), an upper bound on the heads needed"
            )
        return within(gap, best, targets, solves, (note, observed_in_float32(best, targets)))


def fits(plan: Plan, gap: float, seed: int) -> Callable[[int], tuple[Decoder | None, int]]:
    """Decoders that use the first heads of one draw, by the number of heads."""
    targets, shape, tokens = plan.targets, plan.shape, gadgets.rows(plan.targets)
    scales = gadgets.SCALE if shape.dimension >= gadgets.FEW_DIMENSIONS else gadgets.SCALES
    heads = gadgets.draw(shape, np.random.default_rng(seed), scales)
    columns, offset = gadgets.features(heads, tokens), gadgets.last(heads, tokens)
    encoder = encoders.circle_encoder(targets, shape.dimension, START, seed)
    unembedding, shares = encoder.unembedding, np.full(len(targets), 1 / len(targets))

    def attempt(count: int) -> tuple[Decoder | None, int]:
        """A decoder with the first heads, None unless it holds, and its correct labels."""
        part = columns[:, : count * shape.value_dimension]
        task = Task(part, offset, unembedding, targets, shares)
        matrix = fit(task, encoder.embeddings, POWER, AIM).matrix
        margin = margins(unembedding, offset + part @ matrix, targets)
        likeliest = int((margin > 0).sum())
        if likeliest < len(margin):
            return None, likeliest
        longer = unembedding * stretch(float(margin.min()), shape.vocabulary, gap)
        sizes, first = shape._replace(heads=count), gadgets.picked(heads, np.arange(count))
        network = gadgets.decoder(sizes, first, matrix.T, longer)
        return network if reached(network, targets) <= gap else None, likeliest

    return attempt
