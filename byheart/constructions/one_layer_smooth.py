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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Targets
from ..encoders import certain
from ..errors import AssumptionError
from ..gadgets.logits import wanted
from ..machine.memory import SMALLER, require
from ..machine.tables import plural
from ..machine.watch import Watch
from ..softmax.decoder import Decoder, Shape
from ..softmax.doubles import activation, divergence, divergences, mixed_all
from .base import Built, within
from .families import NeuronDecoder, size
from .one_layer import check_vocabulary

Matrix = NDArray[np.float64]
GAP = 1e-9
WIDTH = 1.25  # neurons per context
DRAWS = 4
LEAST_DISTANCE, LARGEST_CONDITION = 1e-6, 1e11
DIMENSION, LEAST_DIMENSION = 64, 16
SLOPE = 4.0  # arguments of a neuron at other contexts have about this standard deviation
KINK = 0.5  # the argument of a neuron at its own context
REFINEMENTS = 2
BLOCK = 1 << 24  # distances, activations or logits computed at once


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
            network, reason = _drawn(shape, targets, gap, np.random.default_rng([self.seed, draw]))
            if network is not None:
                notes = (reason, observed_in_float32(network, targets))
                return within(gap, network, targets, draw + 1, notes)
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
    output, condition = solve_outputs(active, logits)
    tensors = {**found.tensors, "hidden.weight": weight, "hidden.bias": bias}
    network = Decoder(shape, {**tensors, "output.weight": output})
    if not condition < LARGEST_CONDITION:
        return None, f"A5 fails: the condition number is about {condition:.1e}"
    worst = float(divergences(network, targets).values.max())
    if not worst <= gap:
        return None, f"A5 fails: the largest divergence is {worst:.1e} nats"
    return network, (
        f"condition number about {condition:.2g}; the two nearest contexts are "
        f"{found.distance:.2g} apart, relative"
    )


class Points(NamedTuple):
    """The contexts as attention gives them."""

    tensors: dict[str, Matrix]  # of embedding and attention
    mixed: Matrix  # h_2 of each context, [n, d]
    scale: float  # root of the mean square of two contexts' distance
    distance: float  # of the two nearest contexts, relative to `scale`


def check_dimension(shape: Shape) -> None:
    """A2."""
    attended = shape.heads * shape.value_dimension
    if shape.dimension < LEAST_DIMENSION:
        raise AssumptionError(
            f"A2 fails: the dimension is {shape.dimension}; moderate weights need at least "
            f"{LEAST_DIMENSION}, and `method='one-layer'` works with any."
        )
    if attended < LEAST_DIMENSION and not shape.skip:
        raise AssumptionError(
            f"A2 fails: the heads have {attended} dimensions together, and need at least "
            f"{LEAST_DIMENSION}; use more `heads=...`, a larger `head_dimension=...` or "
            "`skip=True`."
        )


def points(shape: Shape, targets: Targets, random: np.random.Generator) -> Points:
    """Random embeddings and attention, whose scores have a standard deviation of about 1."""
    d = shape.dimension
    deviation = {
        "embedding.weight": 0.5**0.5,
        "positions.weight": 0.5**0.5,
        "attention.query.weight": d**-0.5 * shape.key_dimension**-0.25,
        "attention.key.weight": d**-0.5 * shape.key_dimension**-0.25,
        "attention.value.weight": d**-0.5,
        "attention.out.weight": (shape.heads * shape.value_dimension) ** -0.5,
    }
    tensors = {
        name: random.normal(size=sizes) * deviation[name]
        for name, sizes in shape.tensors.items()
        if not name.startswith(("hidden", "output"))
    }
    mixed = mixed_all(shape, tensors, targets)
    centred = mixed - mixed.mean(axis=0)
    scale = float(np.sqrt(2 * (centred**2).sum(axis=1).mean())) or 1.0
    return Points(tensors, mixed, scale, nearest(mixed) / scale)


def nearest(rows: Matrix) -> float:
    """The distance of the two nearest rows: matrix products find the row, up to roundings."""
    squares, result = (rows**2).sum(axis=1), np.inf
    size = max(1, BLOCK // len(rows))
    for first in range(0, len(rows) if len(rows) > 1 else 0, size):
        part = rows[first : first + size]
        apart = squares[None] - 2 * part @ rows.T
        apart[np.arange(len(part)), np.arange(first, first + len(part))] = np.inf
        result = min(result, np.linalg.norm(part - rows[apart.argmin(axis=1)], axis=1).min())
    return float(result)


def neurons(
    found: Points, through: NDArray[np.int64], random: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Weights [m, d] and biases: random directions, neuron k with its kink near through[k]."""
    weight = random.normal(size=(len(through), found.mixed.shape[1])) * (SLOPE / found.scale)
    return weight, KINK - (weight * found.mixed[through]).sum(axis=1)


def solve_outputs(active: Matrix, wanted: Matrix) -> tuple[Matrix, float]:
    """The output of least norm with active @ output^T = wanted, and the condition number."""
    from scipy import linalg  # slow to import

    if len(active) == active.shape[1]:
        factors = linalg.lu_factor(active, check_finite=False)
        reciprocal, _ = linalg.lapack.dgecon(factors[0], np.abs(active).sum(axis=0).max())
        condition = 1 / reciprocal if reciprocal > 0 else np.inf
    else:
        square = active @ active.T
        size = np.abs(square).sum(axis=0).max()
        try:
            factors = linalg.cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
            reciprocal, _ = linalg.lapack.dpocon(factors[0], size, uplo="L")
        except linalg.LinAlgError:  # not positive, as computed
            reciprocal = 0.0
        condition = (1 / reciprocal if reciprocal > 0 else np.inf) ** 0.5
    output = np.zeros((active.shape[1], wanted.shape[1]))
    for _ in range(1 + REFINEMENTS if np.isfinite(condition) else 0):
        missing = wanted - active @ output
        if len(active) == active.shape[1]:
            output += linalg.lu_solve(factors, missing)
        else:
            output += active.T @ linalg.cho_solve(factors, missing)
    return output.T + 0.0, condition  # no -0.0


def observed_in_float32(decoder: Decoder, targets: Targets) -> str:
    """The divergences that remain if all weights are rounded to float32 and run in it, in words."""
    shape = decoder.shape
    with np.errstate(over="ignore"):  # a weight beyond float32 is infinite, and nothing is right
        tensors = {name: tensor.astype(np.float32) for name, tensor in decoder.tensors.items()}
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        return "observed in float32: weights are beyond it"
    values, likeliest = np.empty(len(targets)), 0
    size = max(1, BLOCK // max(shape.neurons, shape.vocabulary))
    for first in range(0, len(targets), size):
        part = targets.subset(np.arange(first, min(first + size, len(targets))))
        mixed = mixed_all(shape, tensors, part)
        if shape.neurons:
            arguments = mixed @ tensors["hidden.weight"].T + tensors["hidden.bias"]
            mixed = activation(shape.activation)(arguments)
        logits = mixed @ tensors["output.weight"].T
        assert logits.dtype == np.float32
        values[first : first + len(part)] = divergence(logits.astype(float), part)
        likeliest += int((logits.argmax(axis=1) == part.following[part.ends[:-1]]).sum())
    mean = float((values * targets.weight).sum() / targets.weight.sum())
    sentence = f"observed in float32: divergence mean {mean:.2g}, max {values.max():.2g} nats"
    if shape.neurons or not certain(targets):
        return sentence
    if likeliest == len(targets):
        return f"{sentence}, all labels right"
    return f"{sentence}, {likeliest:,} of {len(targets):,} labels"
