"""A decoder of one layer for next-token distributions with fewer neurons than contexts.

Paper        madden2024, beyond Theorem 5: it is not in the paper.
Statement    Theorem 5 needs m = n neurons for arbitrary distributions. Where most contexts are
             followed by few tokens, fewer can do: for neurons that are fixed the divergences are
             convex in the output matrix V, and V is found by optimisation.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  Dimension: d is at least 16, and so is m_0 d_0 where there is no skip connection.
             A3  At most as many neurons as contexts.
             A4  The optimisation reaches the gap at every context, with the neurons that are named
                 or at least with m = n, in 300 steps.
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats; 1e-3 if none is named), over the real numbers.
             G2  m neurons, as many as named; otherwise the fewest that 8 steps of bisection find,
                 which is an upper bound on the neurons that are needed.
             G3  omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d parameters.
Departures   D1  Nothing here is claimed by the paper. That the upper bound for arbitrary targets is
                 about m = n says nothing about the targets of a text.
             D2  The mean divergence is not what counts: its power 3/2 is minimised, which is
                 convex as well and weighs the contexts that are worst, until all are within the
                 gap.
Notation     n contexts, omega vocabulary, T length, d dimension, m_0 heads, d_0 and d_1 their
             dimensions, m neurons, V output matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..data.targets import Targets
from ..errors import AssumptionError
from ..machine.memory import SMALLER, require
from ..machine.tables import plural
from ..machine.watch import Watch
from ..softmax.decoder import Decoder, Shape
from ..softmax.doubles import activation, divergences
from .base import Built, within
from .families import NeuronDecoder, gap, size
from .one_layer import check_vocabulary
from .one_layer_smooth import DIMENSION, Matrix, check_dimension, neurons, points

GAP = 1e-3
SOLVES, STEPS = 8, 300
POWER = 1.5  # of a divergence, in what is minimised
SHARE = 0.99  # of the gap that the optimisation aims at
MEMORY = 10  # earlier steps that the optimisation remembers


@dataclass(frozen=True)
class OneLayerNarrow(NeuronDecoder):
    name = "one-layer-narrow"
    gap: float | None = gap("1e-3")
    neurons: int | None = size("Number of neurons [as few as a search finds].", "M")

    def shape(self, targets: Targets) -> Shape | None:
        shape = self._largest(targets)
        return None if self.neurons is None else shape

    def _largest(self, targets: Targets) -> Shape:
        check_vocabulary(self.name, targets)
        contexts = len(targets)
        shape = self.sizes(targets, DIMENSION, self.neurons or contexts, "tanh", share=True)
        check_dimension(shape)
        if shape.neurons > contexts:  # A3
            raise AssumptionError(
                f"A3 fails: {plural(shape.neurons, 'neuron')} for {plural(contexts, 'context')}; "
                "one-layer-narrow needs no more neurons than contexts, and "
                "`method='one-layer-smooth'` takes more."
            )
        # activations, logits, and the output matrices that the optimisation keeps
        matrices = 3 * contexts * shape.neurons + 6 * contexts * shape.vocabulary
        kept = (2 * MEMORY + 10) * shape.neurons * shape.vocabulary
        what = f"fitting {contexts:,} contexts with up to {shape.neurons:,} neurons"
        require(8 * (matrices + kept + 3 * shape.parameters), self.name, what, SMALLER)
        return shape

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        shape = self._largest(targets)
        gap = self.gap or GAP
        fit = fits(targets, shape, gap, np.random.default_rng(self.seed))
        low, high, best, solves = 0, shape.neurons, None, 0
        # bisection: `low` neurons were too few, `high` were enough (or are all there are)
        while self.neurons is None and high - low > 1 and solves < SOLVES:
            middle, solves = (low + high) // 2, solves + 1
            decoder, worst = fit(middle)
            enough = worst <= gap
            watch.note(
                f"{middle} neurons are {'enough' if enough else 'too few'}: the largest divergence "
                f"is {worst:.2g} nats"
            )
            low, high, best = (low, middle, decoder) if enough else (middle, high, best)
        if best is None:
            best, worst = fit(high)
            if not worst <= gap:  # A4
                raise AssumptionError(
                    f"A4 fails: with {high} neurons the largest divergence reached is {worst:.2g} "
                    f"nats, above the gap of {gap:g}; use more `neurons=...`, a larger "
                    "`gap=...` or `method='one-layer-smooth'`."
                )
        note = f"largest divergence reached: {worst:.2g} nats"
        if self.neurons is None:
            note = (
                f"smallest m found: {high} for {plural(len(targets), 'context')}, an upper bound "
                f"on the neurons needed ({low} were too few for this draw in {STEPS} steps)"
            )
        return within(gap, best, targets, max(1, solves), (note,))


def fits(
    targets: Targets, shape: Shape, gap: float, random: np.random.Generator
) -> Callable[[int], tuple[Decoder, float]]:
    """Decoders that use the first neurons of one draw, by the number of neurons."""
    drawn = points(shape, targets, random)
    weight, bias = neurons(drawn, random.permutation(len(targets))[: shape.neurons], random)
    all_active = activation(shape.activation)(drawn.mixed @ weight.T + bias)

    def fit(count: int) -> tuple[Decoder, float]:
        """The decoder with the first neurons, and its largest divergence in a run in doubles."""
        from scipy import linalg, optimize  # slow to import

        active = all_active[:, :count]
        features, triangle = linalg.qr(active, mode="economic")
        features *= len(active) ** 0.5
        target = Objective(features, targets)

        def reached(_: Matrix) -> None:
            if target.worst <= SHARE * gap:
                raise StopIteration

        start, method = np.zeros(count * len(targets.vocabulary)), "L-BFGS-B"
        options = {"maxiter": STEPS, "maxcor": MEMORY, "ftol": 0, "gtol": 0, "maxfun": 2 * STEPS}
        optimize.minimize(target, start, jac=True, method=method, callback=reached, options=options)
        best = target.best.reshape(count, -1) * len(active) ** 0.5
        tensors = {
            **drawn.tensors,
            "hidden.weight": weight[:count].copy(),
            "hidden.bias": bias[:count].copy(),
            "output.weight": linalg.solve_triangular(triangle, best).T + 0.0,  # no -0.0
        }
        decoder = Decoder(shape._replace(neurons=count), tensors)
        return decoder, float(divergences(decoder, targets).values.max())

    return fit


class Objective:
    """The mean power of the divergences and its gradient; keeps the best point so far."""

    def __init__(self, features: Matrix, targets: Targets) -> None:
        self.features, self.targets = features, targets
        self.places = np.repeat(np.arange(len(targets)), targets.support), targets.following
        p = targets.probabilities
        self.entropies = -np.add.reduceat(p * np.log(p), targets.ends[:-1])
        self.best, self.worst = np.zeros(0), np.inf

    def __call__(self, point: Matrix) -> tuple[float, Matrix]:
        logits = self.features @ point.reshape(self.features.shape[1], -1)
        logits -= logits.max(axis=1, keepdims=True)
        terms = self.targets.probabilities * logits[self.places]
        crossed = np.add.reduceat(terms, self.targets.ends[:-1])
        powers = np.exp(logits, out=logits)
        totals = powers.sum(axis=1)
        divergence = np.maximum(0, np.log(totals) - crossed - self.entropies)
        if divergence.max() < self.worst:
            self.best, self.worst = point.copy(), float(divergence.max())
        weights = POWER * divergence ** (POWER - 1) / len(divergence)
        powers /= totals[:, None]
        powers[self.places] -= self.targets.probabilities
        powers *= weights[:, None]
        return float((divergence**POWER).mean()), (self.features.T @ powers).ravel()
