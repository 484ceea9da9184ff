"""Run a Decoder in double arithmetic: its answers are observed, not proved.

Contexts are read in batches, shorter ones filled up behind the last token and masked. The size of a
batch must not matter; that it does not is worth observing, too.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..data.targets import Divergences, Floats, Targets
from .decoder import ATTENTION, Decoder, Shape

Matrix = NDArray[np.float64]
Activation = Callable[[Matrix], Matrix]
BLOCK = 1 << 24  # activations computed at once
SIZES = 1.0, 0.37  # of the two batches that are compared, in blocks


def tensors_before_output(decoder: Decoder) -> dict[str, NDArray[np.float64]]:
    """All tensors but the output matrix, which may hold numbers that are too long for doubles."""
    tensors = {name: x for name, x in decoder.tensors.items() if name != "output.weight"}
    if decoder.number == "float64":
        return tensors
    return {
        name: np.array([float(x.fraction) for x in tensor.ravel()]).reshape(tensor.shape)
        for name, tensor in tensors.items()
    }


def activation(name: str) -> Activation:
    from scipy import special  # slow to import

    functions: dict[str, Activation] = {
        "logistic": special.expit,
        "tanh": np.tanh,
        "erf": special.erf,
        "arctan": np.arctan,
        "gelu": lambda x: x * special.ndtr(x),
    }
    return functions[name]


def mixed(shape: Shape, tensors: Mapping[str, NDArray], tokens: NDArray, starts: NDArray) -> Matrix:
    """h_2 of each context (madden2024, eq. (2)), [contexts, d]: attention or the token sum."""
    lengths = np.diff(starts)
    longest = int(lengths.max())
    inside = np.arange(longest) < lengths[:, None]
    padded = np.zeros(inside.shape, np.int64)
    padded[inside] = tokens
    vectors = tensors["embedding.weight"][padded]  # [contexts, T, d]
    if shape.mixing != ATTENTION:
        return np.einsum("bt,btd->bd", tensors["token_sum.weight"][:longest] * inside, vectors)
    vectors = vectors + tensors["positions.weight"][:longest]
    last = vectors[np.arange(len(lengths)), lengths - 1]
    key, query, value = (
        tensors[f"attention.{name}.weight"].reshape(shape.heads, -1, shape.dimension)
        for name in ("key", "query", "value")
    )
    queries = np.einsum("hkd,bd->bhk", query, last)
    scores = np.einsum("bhd,btd->bht", np.einsum("bhk,hkd->bhd", queries, key), vectors)
    scores = np.where(inside[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    values = np.einsum("hvd,bhd->bhv", value, np.einsum("bht,btd->bhd", weights, vectors))
    result = values.reshape(len(lengths), -1) @ tensors["attention.out.weight"].T
    return result + last if shape.skip else result


def mixed_all(shape: Shape, tensors: Mapping[str, NDArray], targets: Targets) -> Matrix:
    """The same for all contexts of a dataset, in batches."""
    size = max(1, BLOCK // (8 * targets.length * (shape.dimension + shape.heads)))
    parts = (targets.subset(np.arange(a, b)) for a, b in _ranges(len(targets), size))
    return np.concatenate([mixed(shape, tensors, part.tokens, part.starts) for part in parts])


def logits(decoder: Decoder, tokens: NDArray, starts: NDArray) -> Matrix:
    """h of each context, [contexts, vocabulary]."""
    if decoder.number == "dyadic":
        from . import arb  # flint is slow to import

        return arb.logits(decoder, tokens, starts)
    shape = decoder.shape
    active = mixed(shape, decoder.tensors, tokens, starts)
    if shape.neurons:
        active = active @ decoder["hidden"].T + decoder["hidden.bias"]
        active = activation(shape.activation)(active)
    return active @ decoder["output"].T


def distributions(decoder: Decoder, tokens: NDArray, starts: NDArray) -> Matrix:
    """The probabilities of the next token of each context, [contexts, vocabulary]."""
    if decoder.number == "dyadic":  # their logits may be too large for doubles
        from . import arb

        return arb.distributions(decoder, tokens, starts)
    rows = logits(decoder, tokens, starts)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def divergences(
    decoder: Decoder, targets: Targets, progress: Callable[[int], None] | None = None
) -> Divergences:
    """The larger of two runs' divergences for each context, with batches of two sizes."""
    shape = decoder.shape
    attention = shape.heads * (targets.length + 2 * shape.dimension)
    width = max(shape.neurons, shape.vocabulary, targets.length * shape.dimension, attention)
    values, likeliest = np.zeros(len(targets)), np.zeros(len(targets), np.int64)
    for share in SIZES:
        for first, end in _ranges(len(targets), max(1, int(share * BLOCK / width))):
            part = targets.subset(np.arange(first, end))
            rows = logits(decoder, part.tokens, part.starts)
            values[first:end] = np.maximum(values[first:end], divergence(rows, part))
            likeliest[first:end] = rows.argmax(axis=1)
            if progress is not None and share == SIZES[-1]:
                progress(end - first)
    below = np.zeros(len(targets))  # a float run proves nothing
    return Divergences(values, below, likeliest, rigorous=False, engine="float64")


def divergence(logits: Matrix, targets: Targets) -> Floats:
    """KL(target || softmax of the logits) of each context, in doubles.

    With d = logit - log p on the support of p and r the softmax's weight off the support relative
    to that on it, this is log E exp(d - E d) + log(1 + r): no two large numbers are subtracted.
    """
    rows = np.repeat(np.arange(len(targets)), targets.support)
    places, begins = (rows, targets.following), targets.ends[:-1]
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    inside = np.add.reduceat(weights[places], begins)
    weights[places] = 0
    p = targets.probabilities
    excess = logits[places] - np.log(p)
    excess -= np.repeat(np.add.reduceat(p * excess, begins), targets.support)
    with np.errstate(over="ignore", divide="ignore"):  # inf is a correct answer
        spread = np.log1p(np.add.reduceat(p * np.expm1(excess), begins))
        return np.maximum(0, spread) + np.log1p(weights.sum(axis=1) / inside)


def _ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    return pairwise([*range(0, count, size), count])
