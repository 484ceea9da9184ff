"""Bounds for any decoder: every neuron, every logit and every divergence of every context.

Doubles first, if the weights are doubles (balls); contexts whose bound is above the gap are then
enclosed with more digits (arb), and more, until the enclosure is narrow.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from ...data.targets import Divergences, Floats, Targets
from .. import arb
from ..decoder import Decoder
from . import balls

Progress = Callable[[int], None]
BITS = 128  # the fewest in the second pass
ROUNDS = 3  # each with twice the digits
NEAR = 5e-7  # a bound is, to what doubles say
NARROW = 1e-8  # an enclosure is: so far apart, relative to its upper end
NEGLIGIBLE = 1e-6  # of the gap
BLOCK = 1 << 22  # numbers computed at once in doubles
CONTEXTS = 256  # enclosed at once with more digits; fewer make slower products
FEW = 15.0  # seconds for contexts that turn out to need more digits
ROUGH = 1e-4  # a radius of logits that calls for more digits


def applies(decoder: Decoder) -> bool:
    """Always: it encloses what any decoder computes."""
    return True


def seconds(decoder: Decoder, targets: Targets) -> float:
    """An estimate from above of the time that `enclose` takes."""
    exact = _digit_seconds(decoder, targets)
    if not balls.applies(decoder):
        return exact
    return _ball_seconds(decoder, targets) + (exact if _rough(decoder) else min(exact, FEW))


def enclose(
    decoder: Decoder, targets: Targets, gap: float, progress: Progress | None = None
) -> Divergences:
    """Bounds of every context's divergence from above.

    A context that is above the gap anyway stays as doubles bound it, however roughly.
    """
    count = len(targets)
    state = State(np.full(count, math.inf), np.zeros(count, np.int64), progress)
    pending = np.arange(count)
    if balls.applies(decoder):
        rough, room = _rough(decoder), _few(decoder, targets)
        needed, loose = _doubles(decoder, targets, gap, state)
        pending = np.concatenate([needed, loose])[: None if rough else room]
        state.done(len(needed) + len(loose) - len(pending))
    for bits in (_bits(decoder) << i for i in range(ROUNDS)):
        if len(pending):
            with ctx.workprec(bits):
                pending = _digits(decoder, targets, pending, gap, state)
    state.done(len(pending))
    return Divergences(state.above, state.likeliest, rigorous=True, engine="dense")


@dataclass(frozen=True, eq=False)
class State:
    """What is known so far: bounds and likeliest tokens; arrays that are filled in."""

    above: Floats
    likeliest: NDArray[np.int64]
    progress: Progress | None

    def put(self, contexts: NDArray[np.int64], above: Floats, likeliest: NDArray) -> None:
        self.above[contexts] = np.minimum(self.above[contexts], above)
        self.likeliest[contexts] = likeliest

    def done(self, contexts: int) -> None:
        if self.progress is not None:
            self.progress(contexts)


def _doubles(
    decoder: Decoder, targets: Targets, gap: float, state: State
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The contexts that need more digits, and those that are within the gap but bounded roughly."""
    reader, needed, loose = balls.Reader(decoder), [], []
    shape = decoder.shape
    size = max(1, BLOCK // max(shape.neurons, shape.vocabulary, shape.length * shape.dimension))
    for part in _parts(np.arange(len(targets)), size):
        found = reader(targets.subset(part))
        state.put(part, found.above, found.likeliest)
        within = found.above <= gap
        needs = ~within & ~(found.below > gap * (1 + NARROW))
        rough = within & (found.above > (1 + NEAR) * found.about + NEGLIGIBLE * gap)
        needed.append(part[needs])
        loose.append(part[rough])
        state.done(int((~needs & ~rough).sum()))
    return np.concatenate(needed), np.concatenate(loose)


def _digits(
    decoder: Decoder, targets: Targets, pending: NDArray[np.int64], gap: float, state: State
) -> NDArray[np.int64]:
    """The contexts that need yet more digits than the present precision."""
    reader, wide = arb.Reader(decoder), []
    for part in _parts(pending, CONTEXTS):
        chosen = targets.subset(part)
        logits = reader(arb.contexts_of(chosen))
        for i, row, follows in zip(part, logits, arb.followers(chosen), strict=True):
            low, high = _enclosed(row, *follows)
            state.put(np.array([i]), np.array([high]), _likeliest(row))
            narrow = high - low <= NARROW * high or high <= NEGLIGIBLE * gap or low > gap
            state.done(int(narrow))
            if not narrow:
                wide.append(i)
    return np.array(wide, np.int64)


def _enclosed(row: arb.Row, following: list[int], counts: list[int]) -> tuple[float, float]:
    """A divergence from below and above."""
    inside = set(following)
    others = [logit for j, logit in enumerate(row) if j not in inside]
    found = arb.divergence([row[j] for j in following], counts, others)
    if not found.is_finite():
        return 0.0, math.inf
    low, high = float(found.lower()), float(found.upper())
    return math.nextafter(low, -math.inf), math.nextafter(max(high, 0.0), math.inf)


def _likeliest(row: arb.Row) -> NDArray[np.int64]:
    return np.array([np.nan_to_num([float(logit) for logit in row], nan=-math.inf).argmax()])


def _parts(contexts: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    return (contexts[first : first + size] for first in range(0, len(contexts), size))


# --- how long it takes


def _bits(decoder: Decoder) -> int:
    """Digits to begin with: the more, the larger the weights that a logit adds up."""
    return max(BITS, BITS // 2 + sum(_magnitude(tensor) for tensor in decoder.tensors.values()))


def _magnitude(tensor: NDArray) -> int:
    """Binary digits before the point, of the largest entry."""
    if tensor.dtype != object:
        return max(0, math.frexp(float(np.abs(tensor).max()))[1])
    return max(0, *(abs(x.mantissa).bit_length() + x.exponent for x in tensor.ravel().tolist()))


def _rough(decoder: Decoder) -> bool:
    """Whether the logits' radii in doubles may be too large: neurons are off by about 1e-13."""
    total = np.abs(decoder["output"]).sum(axis=1).max()
    steep = np.abs(decoder["hidden"]).sum(axis=1).max() if decoder.shape.neurons else 0
    return not float(total) * (1e-13 + 1e-15 * float(steep)) < ROUGH


def _ball_seconds(decoder: Decoder, targets: Targets) -> float:
    shape, count = decoder.shape, len(targets)
    products = 1e-9 * shape.neurons * (shape.vocabulary + shape.dimension)
    each = 1e-7 * shape.neurons + 2e-7 * shape.vocabulary + products
    inside = 5e-6 * float(targets.support[targets.support > 1].sum())
    return 1 + inside + count * (each + _mixing_seconds(decoder, targets))


def _digit_seconds(decoder: Decoder, targets: Targets) -> float:
    shape = decoder.shape
    scale = (_bits(decoder) / BITS) ** 1.6
    products = 2e-8 * shape.neurons * (shape.vocabulary + shape.dimension)
    each = 1e-5 * shape.neurons + 3e-6 * shape.vocabulary + products
    prepare = 1e-6 * shape.parameters
    return 1 + scale * (prepare + len(targets) * (each + _mixing_seconds(decoder, targets)))


def _mixing_seconds(decoder: Decoder, targets: Targets) -> float:
    shape = decoder.shape
    tokens = len(targets.tokens) / len(targets)
    return (1 + shape.heads) * (2e-4 + 1e-6 * (tokens + shape.dimension / 8) * shape.dimension)


def _few(decoder: Decoder, targets: Targets) -> int:
    """Contexts that fit into FEW seconds."""
    return int(len(targets) * FEW / _digit_seconds(decoder, targets))
