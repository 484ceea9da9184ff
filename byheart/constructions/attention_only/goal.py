"""The goal of an attention-only transformer, and what it can claim.

A target with one label and a margin m of its logit above all others has the divergence
log(1 + sum exp(-m_j)), at most (N - 1) exp(-m): multiplying W_U makes it as small as one likes.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import encoders
from ...data.targets import Floats, Targets
from ...encoders.encoder import Encoder, blocks, divergences
from ...errors import AssumptionError
from ...softmax import doubles as softmax
from ...softmax.decoder import Decoder
from ..families import AttentionDecoder

GAP = 1e-9
SHARE = 0.5  # of the gap, for the encoder; the rest is for roundings
MORE = 1e-3  # relative: what roundings may add to a divergence that is far above all roundings
STRETCH = 2.0  # of W_U, times what the margin needs


class Goal(NamedTuple):
    """The vectors W_U E(t) that the decoder should give (W_U has the scale), and its divergence."""

    unembedding: Floats
    embeddings: Floats
    gap: float
    encoder: Encoder


def choose_goal(targets: Targets, dimension: int, options: AttentionDecoder) -> Goal:
    """The encoder that the options name, and the gap that it allows (A4)."""
    gap = options.gap or GAP
    found = encoder_of(targets, dimension, options, gap)
    unembedding, embeddings = found.unembedding, found.embeddings
    if encoders.certain(targets):
        if options.tight:
            embeddings = shaken(unembedding, embeddings, targets, options.seed)
        least = float(margins(unembedding, embeddings, targets).min())
        unembedding = unembedding * max(1.0, stretch(least, len(unembedding), gap))
    size = float(np.linalg.norm(embeddings, axis=1).max()) or 1.0
    scaled = Goal(unembedding * size, embeddings / size, gap, found)
    largest = float(divergences(scaled.unembedding, scaled.embeddings, targets).max())
    if largest <= gap:
        return scaled
    return scaled._replace(gap=allowed(largest, targets, options))


def encoder_of(targets: Targets, dimension: int, options: AttentionDecoder, gap: float) -> Encoder:
    """Of associations the circle, or the sphere; otherwise the best that is known."""
    seed = options.seed
    if options.encoder == "circle" or (
        options.encoder is None and encoders.certain(targets) and dimension > 1
    ):
        return encoders.circle_encoder(targets, dimension, gap, seed)
    make = {"look-up": encoders.look_up_encoder, "optimal": encoders.optimal_encoder}
    encoder = make.get(str(options.encoder), encoders.best)(targets, dimension, SHARE * gap, seed)
    if encoder.embeddings.shape[1] == dimension:
        return encoder
    return encoder.padded(dimension)  # the optimiser stops at the targets' rank


def margins(unembedding: Floats, embeddings: Floats, targets: Targets) -> Floats:
    """How far the label's logit is above the largest other, of associations."""
    result = np.empty(len(targets))
    for a, b in blocks(targets):
        logits = embeddings[a:b] @ unembedding.T
        own = np.arange(b - a), targets.following[a:b]
        label = logits[own]
        logits[own] = -np.inf
        result[a:b] = label - logits.max(axis=1)
    return result


def stretch(margin: float, vocabulary: int, gap: float) -> float:
    """The factor by which W_U keeps the gap, with room; 1 if the margin is not positive."""
    needed = math.log((vocabulary - 1) / math.expm1(gap))
    return max(0.0, STRETCH * needed / margin) if margin > 0 else 1.0


def shaken(unembedding: Floats, embeddings: Floats, targets: Targets, seed: int) -> Floats:
    """Associations moved at random by half their margins, up to 2 |delta| max |W_j| a logit."""
    noise = np.random.default_rng(seed).standard_normal(embeddings.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    room = np.maximum(0, margins(unembedding, embeddings, targets))
    longest = float(np.linalg.norm(unembedding, axis=1).max())
    return embeddings + noise * (room / (4 * longest))[:, None]


def allowed(reached: float, targets: Targets, options: AttentionDecoder, advice: str = "") -> float:
    """The gap that can be claimed if this divergence was reached, rounded up to 3 digits (A4)."""
    if options.gap is not None or not math.isfinite(reached):
        raise AssumptionError(
            f"A4 fails: the largest divergence reached is {reached:.3g} nats, above the gap of "
            f"{options.gap or GAP:g}; use {advice}a larger `dimension=...` (distributions are "
            f"exact from {len(targets.vocabulary) - 1} on), a larger `gap=...` or none."
        )
    return rounded_up(reached * (1 + MORE))


def rounded_up(value: float) -> float:
    """The next number of 3 decimal digits."""
    exponent = math.floor(math.log10(value)) - 2
    digits = math.ceil(value / 10.0**exponent)
    number = float(f"{digits}e{exponent}")
    return number if number >= value else float(f"{digits + 1}e{exponent}")


def encoder_note(found: Goal, options: AttentionDecoder) -> str:
    """Which encoder was aimed at, and how far it is from the targets."""
    encoder = found.encoder
    bound = "" if encoder.exact else "; an upper bound of d_KL(pi, L(N, S, d))"
    raised = found.gap > (options.gap or GAP)
    claimed = "; the gap claimed is the largest divergence reached, rounded up" if raised else ""
    return (
        f"encoder {encoder.name}: divergence mean {encoder.divergence:.3g}, largest "
        f"{encoder.largest:.3g} nats{bound}{claimed}"
    )


def reached(decoder: Decoder, targets: Targets) -> float:
    return float(softmax.divergences(decoder, targets).values.max())
