"""Bounds for any decoder: every neuron, every logit and every divergence of every context.

Doubles first, if the weights are doubles (balls); contexts whose bound is above the gap are then
enclosed with more digits (arb), and more, until the enclosure is narrow.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from ...data.targets import Divergences, Targets
from .. import arb
from ..decoder import Decoder
from . import balls

Progress = Callable[[int], None]
BITS = 128  # the fewest in the second pass
ROUNDS = 3  # each with twice the digits
NEAR = 5e-7  # a bound is, relative to the value in doubles
NARROW = 1e-8  # an enclosure is: its width, relative to its upper end
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
    shape, exact = decoder.shape, _digit_seconds(decoder, targets)
    if not balls.applies(decoder):
        return exact
    products = 1e-9 * shape.neurons * (shape.vocabulary + shape.dimension)
    each = 1e-7 * shape.neurons + 2e-7 * shape.vocabulary + products
    inside = 5e-6 * float(targets.support[targets.support > 1].sum())
    doubles = 1 + inside + len(targets) * (each + _mixing_seconds(decoder, targets))
    return doubles + (exact if _rough(decoder) else min(exact, FEW))


def enclose(
    decoder: Decoder, targets: Targets, gap: float, progress: Progress | None = None
) -> Divergences:
    """Bounds of every context's divergence; one above the gap anyway stays as doubles bound it."""
    count, shape, done = len(targets), decoder.shape, progress or (lambda contexts: None)
    above, below = np.full(count, math.inf), np.zeros(count)
    likeliest = np.zeros(count, np.int64)
    pending = np.arange(count)
    if balls.applies(decoder):
        reader, needed, loose = balls.Reader(decoder), [], []  # loose: within the gap, but roughly
        size = max(1, BLOCK // max(shape.neurons, shape.vocabulary, shape.length * shape.dimension))
        for part in _parts(pending, size):
            bounds = reader(targets.subset(part))
            above[part], below[part] = bounds.above, bounds.below
            likeliest[part] = bounds.likeliest
            within = bounds.above <= gap
            needs = ~within & ~(bounds.below > gap)
            rough = within & (bounds.above > (1 + NEAR) * bounds.about + NEGLIGIBLE * gap)
            needed.append(part[needs])
            loose.append(part[rough])
            done(int((~needs & ~rough).sum()))
        unsure = np.concatenate([*needed, *loose])
        few = int(count * FEW / _digit_seconds(decoder, targets))  # contexts in FEW seconds
        pending = unsure[: None if _rough(decoder) else few]
        done(len(unsure) - len(pending))
    for bits in (_bits(decoder) << i for i in range(ROUNDS)):
        if not len(pending):
            break
        wide = []
        with ctx.workprec(bits):
            exact = arb.Reader(decoder)
            for part in _parts(pending, CONTEXTS):
                chosen = targets.subset(part)
                logits = exact(arb.contexts_of(chosen))
                for i, row, follows in zip(part, logits, arb.followers(chosen), strict=True):
                    low, high = _enclosed(row, *follows)
                    above[i], below[i] = min(above[i], high), max(below[i], low)
                    points = [float(logit) for logit in row]
                    likeliest[i] = np.nan_to_num(points, nan=-math.inf).argmax()
                    narrow = high - low <= NARROW * high or high <= NEGLIGIBLE * gap or low > gap
                    done(int(narrow))
                    if not narrow:
                        wide.append(i)
        pending = np.array(wide, np.int64)
    done(len(pending))
    return Divergences(above, below, likeliest, rigorous=True, engine="dense")


def _enclosed(row: arb.Row, following: list[int], counts: list[int]) -> tuple[float, float]:
    """A divergence from below and above."""
    inside = set(following)
    others = [logit for j, logit in enumerate(row) if j not in inside]
    enclosure = arb.divergence([row[j] for j in following], counts, others)
    if not enclosure.is_finite():
        return 0.0, math.inf
    low, high = float(enclosure.lower()), float(enclosure.upper())
    return math.nextafter(low, -math.inf), math.nextafter(max(high, 0.0), math.inf)


def _parts(contexts: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    return (contexts[first : first + size] for first in range(0, len(contexts), size))


# --- how long it takes


def _bits(decoder: Decoder) -> int:
    """Digits to begin with: the more, the larger the weights that a logit adds up."""
    return max(BITS, BITS // 2 + arb.magnitude(decoder))


def _rough(decoder: Decoder) -> bool:
    """Whether the logits' radii in doubles may be too large: neurons are off by about 1e-13."""
    total = np.abs(decoder["output"]).sum(axis=1).max()
    steep = np.abs(decoder["hidden"]).sum(axis=1).max() if decoder.shape.neurons else 0
    return not float(total) * (1e-13 + 1e-15 * float(steep)) < ROUGH


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
