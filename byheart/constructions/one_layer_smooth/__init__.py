"""A decoder of one layer for next-token distributions, with weights of moderate size.

Paper        madden2024, Theorem 5 and the algorithm after it.
Statement    A transformer of one layer with m neurons can give any m contexts any distributions:
             draw all weights but the output matrix V, and solve for V.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  Dimension: d is at least 16, and so is m_0 d_0 where there is no skip connection.
             A3  At least as many neurons as contexts.
             A4  Minimal distance and attention scale: no two contexts are nearer than 1e-6 of what
                 is usual (4 draws at most; attention scores are drawn with a standard deviation
                 of 1, as larger ones bring contexts together).
             A5  Conditioning: the matrix of activations has a condition number below 1e11, as
                 estimated, and a run in doubles keeps the gap (the same draws).
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats; 1e-9 if none is named), over the real numbers.
             G2  m neurons, as many as named; otherwise 1.25 n, rounded up.
             G3  omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d parameters.
Departures   D1  The bias is not one number: neuron k has a random direction and passes through
                 context k with the argument 1/2. This is what makes the matrix well conditioned.
             D2  Step (2) of the algorithm shrinks W by an epsilon, which its step (3) leaves out
                 again. It only makes the condition number larger, and is not needed: the
                 activations here are analytic everywhere.
             D3  m = 1.25 n and the solution of least norm, instead of m = n: the condition number
                 falls by a factor of 10 to 1000, and the weights survive rounding to float32. What
                 a run in float32 then gives is observed, and written into the notes.
             D4  Empirical distributions have zeros: half of the gap goes to the floor under the
                 logits of tokens that do not follow.
Notation     n contexts, omega vocabulary, T length, d dimension, m_0 heads, d_0 and d_1 their
             dimensions, m neurons, V output matrix.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...data.targets import Targets
from ...errors import AssumptionError
from ...gadgets.logits import wanted
from ...machine.memory import SMALLER, require
from ...machine.tables import plural
from ...machine.watch import Watch
from ...softmax.decoder import Decoder, Shape
from ...softmax.doubles import activation, divergences
from ..base import Built, within
from ..families import NeuronDecoder, size
from ..one_layer import check_vocabulary
from .draw import DIMENSION, check_dimension, neurons, points
from .solve import observed_in_float32, solve_outputs

GAP = 1e-9
WIDTH = 1.25  # neurons per context
DRAWS = 4
LEAST_DISTANCE, LARGEST_CONDITION = 1e-6, 1e11


@dataclass(frozen=True)
class OneLayerSmooth(NeuronDecoder):
    name = "one-layer-smooth"
    neurons: int | None = size(f"Number of neurons [{WIDTH} per context].", "M")

    def shape(self, targets: Targets) -> Shape:
        check_vocabulary(self.name, targets)
        contexts = len(targets)
        neurons = self.neurons or math.ceil(WIDTH * contexts)
        shape = self.sizes(targets, DIMENSION, neurons, "tanh", share=True)
        check_dimension(shape)
        if neurons < contexts:  # A3
            raise AssumptionError(
                f"A3 fails: {plural(neurons, 'neuron')} for {plural(contexts, 'context')}; "
                "one-layer-smooth needs one per context, and `method='one-layer-narrow'` tries "
                "with fewer."
            )
        # activations and their square, each twice, logits and weights, with room for copies
        matrices = 2 * contexts * (neurons + contexts) + 3 * contexts * shape.vocabulary
        what = f"solving for {contexts:,} contexts and {neurons:,} neurons"
        require(8 * (matrices + 4 * shape.parameters), self.name, what, SMALLER)
        return shape

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        shape = self.shape(targets)
        gap, reason = self.gap or GAP, ""
        for draw in range(DRAWS):
            found, reason = _drawn(shape, targets, gap, np.random.default_rng([self.seed, draw]))
            if found is not None:
                notes = (reason, observed_in_float32(found, targets))
                return within(gap, found, targets.kind, targets.vocabulary, draw + 1, notes)
            watch.note(f"draw {draw + 1} of {DRAWS}: {reason}")
        raise AssumptionError(
            f"{reason}, in {DRAWS} draws; use a larger `dimension=...` or `gap=...`, or "
            "more `neurons=...`."
        )


def _drawn(
    shape: Shape, targets: Targets, gap: float, random: np.random.Generator
) -> tuple[Decoder | None, str]:
    """A decoder within the gap and a note about it, or None and what went wrong."""
    found = points(shape, targets, random)
    if found.distance < LEAST_DISTANCE:
        return None, f"A4 fails: two contexts are {found.distance:.1e} apart, relative"
    weight, bias = neurons(found, np.arange(shape.neurons) % len(targets), random)
    active = activation(shape.activation)(found.mixed @ weight.T + bias)
    entries = wanted(targets, gap / 2)  # half of the gap is left for roundings
    logits = np.zeros((len(targets), shape.vocabulary))
    logits[entries.row, entries.token] = entries.value
    solution = solve_outputs(active, logits)
    tensors = {**found.tensors, "hidden.weight": weight, "hidden.bias": bias}
    network = Decoder(shape, {**tensors, "output.weight": solution.output})
    if not solution.condition < LARGEST_CONDITION:
        return None, f"A5 fails: the condition number is about {solution.condition:.1e}"
    worst = float(divergences(network, targets).values.max())
    if not worst <= gap:
        return None, f"A5 fails: the largest divergence is {worst:.1e} nats"
    return network, (
        f"condition number about {solution.condition:.2g}; the two nearest contexts are "
        f"{found.distance:.2g} apart, relative"
    )
