"""A decoder of one layer whose next-token distributions are those of a text.

Paper        madden2024, Theorem 5; Theorem 4 for the injection, Lemma 2 for the loss.
Statement    A transformer of one layer (embedding, positions, softmax attention, m neurons with an
             analytic activation that is not a polynomial, output matrix) can give any m contexts
             any distributions of the next token. Its loss on a text with m contexts can be as close
             to the entropy of the text as one likes.
Assumptions  A1  Tokens are words or integers, at least two different ones.
             A2  Minimal gap: attention takes contexts to numbers that doubles distinguish (the best
                 of 8 draws; two contexts at least 1000 roundings apart).
             A3  z, u > 0: token and position values are positive (drawn from 0.2 to 2).
             A4  Attention scale: two scores differ by less than 16, so that softmax does not
                 saturate (which would bring contexts together; it follows from the draw).
             A5  Without positions (after kajitsuka2024): a context is the multiset of tokens and
                 the last one; all its orders have one distribution, and no two contexts have the
                 last token and the shares of tokens in common, as a, a and a, a, a do.
Guarantee    G1  For every context, the divergence of the decoder's distribution from the empirical
                 one is at most the gap (nats), over the real numbers.
             G2  As many neurons as contexts: m = n. Without positions all position vectors are 0.
             G3  omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d parameters.
             G4  Editable as it is: another label of a context changes the output weights of the
                 neurons on either side of it (with the same vocabulary and the same draw).
Departures   D1  The proof sets all biases to one eta and draws the slopes, which gives matrices of
                 numerical rank below 20, whatever n is. Here slopes and biases are free: neuron k
                 switches between the contexts k - 1 and k in the order of f. The matrix of
                 activations is then all but triangular and V has a closed form, in O(n log n + n
                 omega). arctan and GELU need corrections (staircase.py, ramps.py).
             D2  Theorem 3 is false for points of both signs (tanh(a b) with b = (1, -1) has rank
                 1); with z, u > 0 attention gives positive numbers and the theorem stands.
             D3  Empirical distributions have zeros, so the infimum of Lemma 2 is not attained: the
                 gap bounds the divergence (logits.py).
             D4  1 / sqrt(d) is rounded, the same in every coordinate: all vectors stay multiples of
                 the vector of ones, exactly.
             D5  Without positions the number of a context is that of kajitsuka2024: one head of
                 softmax attention of rank 1, the Boltzmann operator. Token values are drawn; the
                 values of the proof, 2 log n + 3 apart, would need thousands of bits.
Notation     n contexts, omega vocabulary, T length, d dimension, m_0 heads, d_0 and d_1 their
             dimensions, m neurons, V output matrix.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ..data.targets import Targets
from ..errors import AssumptionError
from ..gadgets.line import Line, draw
from ..gadgets.logits import Logits, reordered, wanted
from ..gadgets.staircase import STEPS, Neurons, corrected, staircase
from ..machine.memory import SMALLER, require
from ..machine.watch import Watch
from ..softmax.decoder import Decoder, Shape
from .base import Built, option, within
from .families import NeuronDecoder

GAP = 1e-9
CORRECTIONS = 2  # of arctan
DIGITS = 160  # binary, of the contexts' numbers that GELU needs


@dataclass(frozen=True)
class OneLayer(NeuronDecoder):
    name = "one-layer"
    on_a_line = True

    positions: bool = option(True, "Distinguish sequences by the order of their tokens.")

    @property
    def edits(self) -> bool:
        """A context has neurons of its own, whatever the others are."""
        return True

    def shape(self, targets: Targets) -> Shape:
        check_vocabulary(self.name, targets)
        contexts = len(targets if self.positions else unordered(targets))
        shape = self.sizes(targets, 1, contexts, "logistic")
        check_memory(self.name, shape)
        return shape

    def interpolate(self, targets: Targets, watch: Watch) -> Built:
        shape = self.shape(targets)
        if not self.positions:
            targets = unordered(targets)
        line = draw(shape, targets, np.random.default_rng(self.seed), self.positions)
        watch.note(f"contexts are {line.distance:.1e} apart in the best of {line.tries} draws")
        gap = self.gap or GAP
        order = np.argsort(line.x, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        neurons = _neurons(shape, line, order, reordered(wanted(targets, gap), rank), targets)
        tensors = {
            **line.tensors,
            "hidden.weight": np.repeat(neurons.slope[:, None], shape.dimension, axis=1),
            "hidden.bias": neurons.bias,
            "output.weight": neurons.output,
        }
        notes = (f"distance of the two nearest contexts, relative: {line.distance:.3g}",)
        return within(gap, Decoder(shape, tensors), targets, line.tries, notes)


def unordered(targets: Targets) -> Targets:
    """One context for each multiset of tokens with a last one; refused if order counts (A5)."""
    first: dict[tuple, int] = {}
    for i, (start, end) in enumerate(pairwise(targets.starts.tolist())):
        *others, last = targets.tokens[start:end].tolist()
        own = first.setdefault((tuple(sorted(others)), last), i)
        if own != i and _distribution(targets, own) != _distribution(targets, i):
            words = [targets.vocabulary[token] for token in targets.tokens[start:end].tolist()]
            raise AssumptionError(
                f"A5 fails: what follows {words!r} depends on the order of these tokens; "
                "use `positions=True`."
            )
    return targets.subset(np.array(list(first.values()), np.int64))


def _distribution(targets: Targets, context: int) -> dict[int, Fraction]:
    place = slice(targets.ends[context], targets.ends[context + 1])
    pairs = zip(targets.following[place].tolist(), targets.counts[place].tolist(), strict=True)
    whole = int(targets.counts[place].sum())
    return {token: Fraction(count, whole) for token, count in pairs}


def check_vocabulary(name: str, targets: Targets) -> None:
    """Refuse a vocabulary that has nothing to choose from (A1)."""
    if len(targets.vocabulary) < 2:
        raise AssumptionError(
            f"A1 fails: {name} needs two different tokens, and this data has one; "
            "its next token is always the same."
        )


def check_memory(name: str, shape: Shape) -> None:
    """Refuse before starting what does not fit: the tensors twice, and their code."""
    what = f"a decoder for {shape.neurons:,} contexts and {shape.vocabulary:,} tokens"
    require(8 * 3 * shape.parameters, name, what, SMALLER)


def _neurons(
    shape: Shape, line: Line, order: np.ndarray, logits: Logits, targets: Targets
) -> Neurons:
    """Neurons that give the contexts, in the order of their numbers, these logits."""
    if shape.activation == "gelu":
        from ..gadgets.ramps import ramps
        from ..softmax.enclose.scalar import (  # numba and flint are slow to import
            enclosures,
            reduce,
        )

        scalars = reduce(shape, line.tensors)
        assert scalars is not None, "the vectors are not on a line"
        balls = enclosures(scalars, targets, DIGITS)
        x = np.array([float(ball) for ball in balls])
        rest = [float(ball - value) for ball, value in zip(balls, x.tolist(), strict=True)]
        return ramps(x[order], np.array(rest)[order], logits, shape.vocabulary)
    x = line.x[order]
    neurons = staircase(x, logits, shape.vocabulary, shape.activation)

    def missing(now: Neurons) -> np.ndarray:
        result = np.empty((len(x), len(now.output)))
        size = max(1, (1 << 24) // len(x))
        for a in range(0, len(x), size):
            active = np.arctan(np.outer(x[a : a + size], now.slope) + now.bias)
            result[a : a + size] = -(active @ now.output.T)
        result[logits.row, logits.token] += logits.value
        return result

    if shape.activation == "arctan":
        return corrected(neurons, STEPS["arctan"], missing, CORRECTIONS)
    return neurons
