"""A decoder in ball arithmetic of any precision (arb): every result is an enclosure.

Slow and plain: what the decoder computes (checker/FORMAT.md, section 9), operation by operation, at
the precision of flint's context. `logits` and `distributions` raise the precision until every logit
is known, and round to doubles: they run decoders whose weights no double holds, and whose logits
are sums of terms that are many orders of magnitude larger.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from flint import arb, arb_mat, arb_series, ctx
from numpy.typing import NDArray

from ..data.targets import Targets
from ..errors import ByheartError
from .decoder import ATTENTION, Decoder, Tensor

Row = list[arb]
Number = TypeVar("Number", arb, arb_series)
BITS = 256  # the first precision of `logits`
MOST = 1 << 20
ACCURACY = arb((1, -60))


def logistic(x: arb) -> arb:
    """1 / (1 + e^-x), of an x of any size: a power that overflows is avoided."""
    return x.exp() / (1 + x.exp()) if x.mid() < 0 else 1 / (1 + (-x).exp())


def gelu(x: Number) -> Number:
    return x * (1 + (x / arb(2).sqrt()).erf()) / 2


ACTIVATIONS: dict[str, Callable[[arb], arb]] = {
    "logistic": logistic,
    "tanh": arb.tanh,
    "erf": arb.erf,
    "arctan": arb.atan,
    "gelu": gelu,
}


def numbers(tensor: Tensor) -> arb_mat:
    """The same numbers, exactly, whatever the precision; a vector is a column."""
    flat = tensor.ravel().tolist()
    entries = [arb(x) for x in flat] if tensor.dtype == object else flat  # pairs, or floats
    return arb_mat(len(tensor), len(flat) // len(tensor), entries)


def rows(matrix: arb_mat) -> list[Row]:
    entries, width = matrix.entries(), matrix.ncols()
    return [entries[i : i + width] for i in range(0, len(entries), width)]


class Mixer:
    """The part of a decoder before its neurons; heads: query^T key and (out value)^T of each."""

    def __init__(self, decoder: Decoder) -> None:
        self.shape = shape = decoder.shape
        self.embedding = rows(numbers(decoder["embedding"]))
        if shape.mixing != ATTENTION:
            self.weights = numbers(decoder["token_sum"]).entries()
            return
        self.positions = rows(numbers(decoder["positions"]))
        self.heads = []
        for r in range(shape.heads):
            keys = slice(r * shape.key_dimension, (r + 1) * shape.key_dimension)
            values = slice(r * shape.value_dimension, (r + 1) * shape.value_dimension)
            query, key = (numbers(decoder[f"attention.{x}"][keys]) for x in ("query", "key"))
            value = numbers(decoder["attention.value"][values])
            out = numbers(np.ascontiguousarray(decoder["attention.out"][:, values]))
            self.heads.append((query.transpose() * key, value.transpose() * out.transpose()))

    def __call__(self, contexts: Sequence[Sequence[int]]) -> arb_mat:
        """h_2 of each context (madden2024, eq. (2)), [contexts, d]; padding is added in front."""
        shape, count = self.shape, len(contexts)
        if shape.padding is not None:
            contexts = [[shape.padding] * (shape.length - len(c)) + list(c) for c in contexts]
        if shape.mixing != ATTENTION:
            sums: Row = []
            for context in contexts:
                weights = arb_mat(1, len(context), self.weights[: len(context)])
                entries = [x for token in context for x in self.embedding[token]]
                sums += (weights * arb_mat(len(context), shape.dimension, entries)).entries()
            return arb_mat(count, shape.dimension, sums)
        vectors = []
        for context in contexts:
            entries = [
                z + u
                for token, position in zip(context, self.positions, strict=False)
                for z, u in zip(self.embedding[token], position, strict=True)
            ]
            vectors.append(arb_mat(len(context), shape.dimension, entries))
        last = arb_mat(count, shape.dimension, [x for v in vectors for x in rows(v)[-1]])
        result = last if shape.skip else arb_mat(count, shape.dimension)
        for match, answer in self.heads:
            means: Row = []  # of each context's vectors, by the softmax of their scores
            for vector, query in zip(vectors, rows(last * match), strict=True):
                scores = (vector * arb_mat(len(query), 1, query)).entries()
                powers = [(score - scores[-1].mid()).exp() for score in scores]
                total = sum(powers[1:], powers[0])
                shares = arb_mat(1, len(powers), [power / total for power in powers])
                means += (shares * vector).entries()
            result = result + arb_mat(count, shape.dimension, means) * answer
        return result


class Reader:
    """A whole decoder, ready to read contexts."""

    def __init__(self, decoder: Decoder) -> None:
        self.shape = decoder.shape
        self.mixer = Mixer(decoder)
        if self.shape.neurons:
            self.hidden = numbers(decoder["hidden"]).transpose()
            self.bias = numbers(decoder["hidden.bias"]).entries()
        self.output = numbers(decoder["output"]).transpose()

    def __call__(self, contexts: Sequence[Sequence[int]]) -> list[Row]:
        mixed = self.mixer(contexts)
        if self.shape.neurons:
            function = ACTIVATIONS[self.shape.activation]
            arguments = rows(mixed * self.hidden)
            active = [function(x + b) for r in arguments for x, b in zip(r, self.bias, strict=True)]
            mixed = arb_mat(len(contexts), len(self.bias), active)
        return rows(mixed * self.output)


def logits(decoder: Decoder, tokens: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """h of each context, [contexts, vocabulary]; infinite where it is too large for a double."""
    return np.array([[float(x) for x in row] for row in _known(decoder, tokens, starts)])


def distributions(decoder: Decoder, tokens: NDArray, starts: NDArray) -> NDArray[np.float64]:
    """The probabilities of the next token of each context, [contexts, vocabulary]."""
    result = []
    for row in _known(decoder, tokens, starts):
        top = max(logit.mid() for logit in row)
        powers = [(logit - top).exp() for logit in row]
        total = sum(powers, arb(0))
        result.append([float((power / total).mid()) for power in powers])
    return np.array(result)


def _known(decoder: Decoder, tokens: NDArray, starts: NDArray) -> list[Row]:
    """The logits of each context within ACCURACY; ByheartError if that takes too many bits."""
    contexts, bits = _parts(tokens, starts), BITS
    while bits < MOST and magnitude(decoder) < MOST:
        with ctx.workprec(bits):
            result = Reader(decoder)(contexts)
        if all(logit.rad() < ACCURACY for row in result for logit in row):
            return result
        bits *= 2
    raise ByheartError(
        f"the weights are so large that {MOST:,} bits do not determine what the decoder answers."
    )


def magnitude(decoder: Decoder) -> int:
    """Binary digits before the point, of each tensor's largest entry, added up."""
    total = 0
    for tensor in decoder.tensors.values():
        if tensor.dtype == object:
            sizes = (abs(x.mantissa).bit_length() + x.exponent for x in tensor.ravel().tolist())
            total += max(0, *sizes)
        else:
            total += max(0, math.frexp(float(np.abs(tensor).max()))[1])
    return total


def divergence(support: Row, counts: Sequence[int], others: Row) -> arb:
    """KL(counts / their sum || softmax), from the logits of the support and of the others."""
    top, weight = max((logit.mid() for logit in support), key=float), sum(counts)
    inside = sum(((logit - top).exp() for logit in support), arb(0))
    outside = sum(((logit - top).exp() for logit in others), arb(0))
    result = (outside / inside).log1p()
    if len(support) > 1:
        result += inside.log()
        for logit, count in zip(support, counts, strict=True):
            share = arb(count) / weight
            result += share * (share.log() - (logit - top))
    return result


def contexts_of(targets: Targets) -> list[list[int]]:
    return _parts(targets.tokens, targets.starts)


def followers(targets: Targets) -> Iterator[tuple[list[int], list[int]]]:
    """The tokens that follow each context, and their counts."""
    following = _parts(targets.following, targets.ends)
    return zip(following, _parts(targets.counts, targets.ends), strict=True)


def _parts(flat: NDArray, offsets: NDArray) -> list[list[int]]:
    entries = flat.tolist()
    return [entries[first:end] for first, end in pairwise(offsets.tolist())]
