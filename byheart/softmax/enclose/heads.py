"""Bounds for decoders without neurons (dana2024, eq. (2)): balls in doubles, head by head.

The output of the attention has a proved error in doubles (attention), the logits are its product
with output.weight, and so a divergence has a bound (balls). The heads cancel: a logit is smaller
than their outputs, by up to the condition number of the system that they solve. Contexts whose
bound is above the gap for that reason are enclosed with more digits, by the dense engine.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ...data.targets import Divergences, Targets
from ..decoder import ATTENTION, Decoder
from . import attention, balls, dense

BLOCK = 1 << 20  # logits at once
SAMPLE = 16  # contexts that show how wide the logits are
FEW = 15.0  # seconds for contexts that turn out to need more digits
WIDE = 0.1  # a radius of logits that calls for more digits, if one token follows
SEVERAL = 1e-5  # and if several do: there the square of the radius counts


def applies(decoder: Decoder) -> bool:
    """Whether it has heads and no neurons, and weights that are doubles."""
    shape = decoder.shape
    return shape.neurons == 0 and shape.mixing == ATTENTION and decoder.number == "float64"


def seconds(decoder: Decoder, targets: Targets) -> float:
    """About twice what `enclose` takes."""
    more = _digit_seconds(decoder, targets)
    if not _rough(decoder, targets):
        more = min(more, FEW)
    return _double_seconds(decoder, targets) + more


def enclose(
    decoder: Decoder, targets: Targets, gap: float, progress: Callable[[int], None] | None = None
) -> Divergences | None:
    """Bounds of every context's divergence; one above the gap anyway stays as doubles bound it."""
    if not applies(decoder):
        return None
    above, below = np.full(len(targets), np.inf), np.zeros(len(targets))
    likeliest = np.zeros(len(targets), np.int64)
    unsure = np.zeros(len(targets), bool)
    shape = decoder.shape
    size = max(1, BLOCK // max(shape.vocabulary, 4 * shape.dimension, shape.length))
    for first, end in pairwise([*range(0, len(targets), size), len(targets)]):
        part = bounds(decoder, targets.subset(np.arange(first, end)))
        above[first:end], below[first:end] = part.above, part.below
        likeliest[first:end] = part.likeliest
        unsure[first:end] = ~(part.above <= gap) & ~(part.below > gap)
        if progress is not None:
            progress(end - first - int(unsure[first:end].sum()))
    more = np.flatnonzero(unsure)[: _room(decoder, targets)]
    if len(more):
        better = dense.enclose(decoder, targets.subset(more), gap, progress)
        above[more], likeliest[more] = np.minimum(above[more], better.values), better.likeliest
        below[more] = np.maximum(below[more], better.below)
    return Divergences(above, below, likeliest, rigorous=True, engine="heads")


def logits(decoder: Decoder, targets: Targets) -> balls.Balls:
    """Enclosures of the logits of each context, [contexts, vocabulary]."""
    shape = decoder.shape
    if shape.padding is not None:
        targets = targets.padded(shape.padding, shape.length)
    with np.errstate(all="ignore"):  # what overflows gives no bound
        return balls.product(attention.mixed(decoder, targets), decoder["output"].T)


def bounds(decoder: Decoder, targets: Targets) -> balls.Bounds:
    with np.errstate(all="ignore"):
        return balls.bounds(logits(decoder, targets), targets)


def _rough(decoder: Decoder, targets: Targets) -> bool:
    """Whether the logits of some contexts are too wide: then all may need more digits."""
    chosen = np.unique(np.linspace(0, len(targets) - 1, SAMPLE).astype(np.int64))
    radius = logits(decoder, targets.subset(chosen)).radius.max(axis=1)
    return not bool((radius < np.where(targets.support[chosen] > 1, SEVERAL, WIDE)).all())


# --- how long it takes


def _double_seconds(decoder: Decoder, targets: Targets) -> float:
    shape, tokens = decoder.shape, len(targets.tokens)
    head = shape.dimension * (shape.key_dimension + shape.value_dimension)
    tables = 2e-9 * min(tokens, shape.vocabulary * shape.length) * shape.heads * head
    mixing = tokens * shape.heads * (5e-8 + 1.5e-8 * shape.dimension)
    return 1 + tables + mixing + _logit_seconds(decoder, targets)


def _digit_seconds(decoder: Decoder, targets: Targets) -> float:
    d, length = decoder.shape.dimension, len(targets.tokens) / len(targets)
    head = 1.5e-5 + 2e-6 * d * (1 + 0.2 * length + 0.04 * d) + 3e-6 * length
    mixing = len(targets) * decoder.shape.heads * head
    return 2 + mixing + 1e-6 * decoder.shape.parameters + _logit_seconds(decoder, targets)


def _logit_seconds(decoder: Decoder, targets: Targets) -> float:
    several = 1e-5 * float(targets.support[targets.support > 1].sum())
    return len(targets) * (5e-6 + 7e-8 * decoder.shape.vocabulary) + several


def _room(decoder: Decoder, targets: Targets) -> int:
    """How many contexts may be enclosed with more digits: as many as `seconds` has counted."""
    if _rough(decoder, targets):
        return len(targets)
    return int(len(targets) * min(1.0, FEW / _digit_seconds(decoder, targets)))
