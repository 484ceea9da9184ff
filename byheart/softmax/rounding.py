"""How far a run of a Decoder in doubles may be off: which of its answers need more digits.

An estimate and no bound: errors of sums are taken to grow like the square root of their number of
terms. It serves people who ask a model; what is proved of one rests on `enclose` alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from .decoder import ATTENTION, Decoder
from .doubles import Matrix, activation

UNIT = 2.0**-53
TRUSTED = 1e-4  # error of a logit
FAR = 40.0  # logits that are so much below the largest have no weight
STEEPEST = 1.13  # slope of GELU


def doubtful(decoder: Decoder, tokens: NDArray, starts: NDArray) -> NDArray[np.bool_]:
    """Which contexts have a logit that doubles may not tell within TRUSTED."""
    shape = decoder.shape
    with np.errstate(all="ignore"):  # what overflows is in doubt
        values, error = _mixed(decoder, tokens, starts)
        if shape.neurons:
            hidden, bias = decoder["hidden"].T, decoder["hidden.bias"]
            size = np.abs(values) @ np.abs(hidden) + np.abs(bias)
            before = values @ hidden + bias
            error = error @ np.abs(hidden) + _unit(shape.dimension) * size
            function = activation(shape.activation)
            values = function(before)
            if shape.activation == "gelu":
                error = STEEPEST * error
            else:  # it rises, so that the ends of an interval have the extreme values
                ends = (function(before - error), function(before + error))
                error = np.maximum(values - ends[0], ends[1] - values)
            error = error + 4 * UNIT * np.abs(values)
        output = decoder["output"].T
        logits = values @ output
        error = error @ np.abs(output) + _unit(len(output)) * np.abs(values) @ np.abs(output)
        near = ~(logits + error < (logits - error).max(axis=1, keepdims=True) - FAR)
        return (near & ~(error <= TRUSTED)).any(axis=1)  # nan is in doubt, too


def _unit(terms: int) -> float:
    """The relative error of a sum of this many products."""
    return 2 * UNIT * (2 + math.sqrt(terms))


def _mixed(decoder: Decoder, tokens: NDArray, starts: NDArray) -> tuple[Matrix, Matrix]:
    """h_2 of each context, [contexts, d], and its error."""
    shape, values, errors = decoder.shape, [], []
    if shape.mixing == ATTENTION:
        query, key, value = (
            decoder[f"attention.{name}"].reshape(shape.heads, -1, shape.dimension)
            for name in ("query", "key", "value")
        )
        out = decoder["attention.out"]
        magnitudes = [np.abs(tensor) for tensor in (query, key, value, out)]
    for first, end in zip(starts[:-1], starts[1:], strict=True):
        vectors, length = decoder["embedding"][tokens[first:end]], int(end - first)
        unit = _unit(length + shape.dimension)
        if shape.mixing != ATTENTION:
            weights = decoder["token_sum"][:length]
            values.append(weights @ vectors)
            errors.append(unit * (np.abs(weights) @ np.abs(vectors)))
            continue
        vectors = vectors + decoder["positions"][:length]
        last, sizes = vectors[-1], np.abs(vectors)
        scores = _scores(query, key, vectors)
        reach = _scores(magnitudes[0], magnitudes[1], sizes)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        off = np.expm1(4 * unit * reach.max(axis=1, keepdims=True)) + 3 * unit  # of the shares
        result = out @ np.einsum("hvd,hd->hv", value, shares @ vectors).ravel()
        size = np.einsum("hvd,hd->hv", magnitudes[2], (off * shares) @ sizes).ravel()
        size = magnitudes[3] @ size
        values.append(result + last if shape.skip else result)
        errors.append(size + (2 * UNIT * sizes[-1] if shape.skip else 0))
    return np.array(values), np.array(errors)


def _scores(query: NDArray, key: NDArray, vectors: Matrix) -> Matrix:
    """What every token scores for the last one, [heads, T]."""
    asked = np.einsum("hkd,d->hk", query, vectors[-1])
    return np.einsum("hk,hkd->hd", asked, key) @ vectors.T
