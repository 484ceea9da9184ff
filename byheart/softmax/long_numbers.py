"""Run a Decoder whose weights no double holds: in balls (arb), then rounded to doubles.

Its logits are sums of terms that are many orders of magnitude larger than they are. The precision
grows until every logit is known; the arithmetic is that of checker/FORMAT.md, section 9.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from .decoder import ATTENTION, Decoder, Tensor

BITS = 256  # the first precision
MOST = 1 << 20
ACCURACY = arb((1, -60))
ACTIVATIONS: dict[str, Callable[[arb], arb]] = {
    "logistic": lambda x: 1 / (1 + (-x).exp()),
    "tanh": arb.tanh,
    "erf": arb.erf,
    "arctan": arb.atan,
    "gelu": lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
}


def logits(decoder: Decoder, tokens: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """h of each context, [contexts, vocabulary]; infinite where it is too large for a double."""
    return np.array([[float(x) for x in row] for row in _known(decoder, tokens, starts)])


def distributions(decoder: Decoder, tokens: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """The probabilities of the next token of each context, [contexts, vocabulary]."""
    return np.array([_softmax(row) for row in _known(decoder, tokens, starts)])


def _known(decoder: Decoder, tokens: NDArray, starts: NDArray) -> list[list[arb]]:
    """The logits of each context within ACCURACY."""
    numbers, bits = tokens.tolist(), BITS
    contexts = [numbers[first:end] for first, end in pairwise(starts.tolist())]
    while bits < MOST:
        with ctx.workprec(bits):
            found = _logits(decoder, contexts)
        if all(logit.rad() < ACCURACY for row in found for logit in row):
            return found
        bits *= 2
    raise ArithmeticError(f"{MOST} bits do not tell the logits")


def _softmax(row: Sequence[arb]) -> list[float]:
    top = max(logit.mid() for logit in row)
    weights = [(logit - top).exp() for logit in row]
    total = sum(weights, arb(0))
    return [float((weight / total).mid()) for weight in weights]


def _logits(decoder: Decoder, contexts: Sequence[Sequence[int]]) -> list[list[arb]]:
    shape = decoder.shape
    mix = _attention if shape.mixing == ATTENTION else _sum
    mixed = arb_mat([mix(decoder, context).entries() for context in contexts])
    output = _matrix(decoder["output"]).transpose()
    if not shape.neurons:
        return (mixed * output).tolist()
    arguments = (mixed * _matrix(decoder["hidden"]).transpose()).tolist()
    bias, function = (
        [arb(b) for b in decoder["hidden.bias"].tolist()],
        ACTIVATIONS[shape.activation],
    )
    active = [[function(x + b) for x, b in zip(row, bias, strict=True)] for row in arguments]
    return (arb_mat(active) * output).tolist()


def _sum(decoder: Decoder, context: Sequence[int]) -> arb_mat:
    weights = _matrix(decoder["token_sum"][: len(context), None])
    return _matrix(decoder["embedding"][list(context)]).transpose() * weights


def _attention(decoder: Decoder, context: Sequence[int]) -> arb_mat:
    """g, a column: what all heads add up to, and the last token's vector with skip."""
    shape, length = decoder.shape, len(context)
    tokens = _matrix(decoder["embedding"][list(context)]) + _matrix(decoder["positions"][:length])
    last = tokens.transpose() * arb_mat(length, 1, [0] * (length - 1) + [1])
    result = last if shape.skip else arb_mat(shape.dimension, 1)
    for head in range(shape.heads):
        keys = slice(head * shape.key_dimension, (head + 1) * shape.key_dimension)
        values = slice(head * shape.value_dimension, (head + 1) * shape.value_dimension)
        asked = _matrix(decoder["attention.query"][keys]) * last
        scores = tokens * (_matrix(decoder["attention.key"][keys]).transpose() * asked)
        heard = tokens.transpose() * _weights(scores)
        value = _matrix(decoder["attention.value"][values]) * heard
        result += _matrix(decoder["attention.out"][:, values]) * value
    return result


def _weights(scores: arb_mat) -> arb_mat:
    """The softmax of a column."""
    entries = scores.entries()
    top = max(score.mid() for score in entries)
    powers = [(score - top).exp() for score in entries]
    total = sum(powers, arb(0))
    return arb_mat(len(powers), 1, [power / total for power in powers])


def _matrix(tensor: Tensor) -> arb_mat:
    """The same numbers, exactly: doubles, or pairs (mantissa, exponent)."""
    return arb_mat([[arb(x) for x in row] for row in tensor.tolist()])
