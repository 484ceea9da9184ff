"""The exact derivatives of a decoder's logits by its parameters, one context at a time.

Written by hand and not by differences, which would hide small singular values. Letters are those of
madden2024: omega vocabulary, d dimension, x_s a token's vector with its position, l the last of
them, h = h_2 what the neurons read, psi their activation, V the output matrix.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..softmax.decoder import ATTENTION, Shape

Array = NDArray[np.float64]
Tensors = Mapping[str, Array]
Part = tuple[str, tuple, Array]  # a tensor's name, a place in it, and derivatives by it
Spread = Callable[[Array], Iterator[Part]]  # from the derivative by h, [omega - 1, d]


def jacobian(shape: Shape, tensors: Tensors, contexts: list[tuple[int, ...]]) -> Array:
    """The derivatives of differences of logits by all parameters, [contexts (omega - 1), k].

    Parameters are in the order of Shape.tensors, each tensor row by row.
    """
    rows = [_gradients(shape, tensors, list(context)) for context in contexts]
    parts = [
        np.concatenate([row[name].reshape(shape.vocabulary - 1, -1) for row in rows])
        for name in shape.tensors
    ]
    return np.concatenate(parts, axis=1)


def _gradients(shape: Shape, tensors: Tensors, context: list[int]) -> dict[str, Array]:
    """By each tensor, [omega - 1, *its shape], for one context."""
    if shape.mixing == ATTENTION:
        h, spread = _attention(shape, tensors, context)
    else:
        h, spread = _token_sum(tensors, context)
    towards, found = _head(shape, tensors, h)
    for name, place, part in spread(towards):
        whole = found.setdefault(name, np.zeros((len(towards), *tensors[name].shape)))
        whole[(slice(None), *place)] += part
    return found


def _head(shape: Shape, tensors: Tensors, h: Array) -> tuple[Array, dict[str, Array]]:
    """The derivative by h, [omega - 1, d], and by the tensors behind h."""
    output = tensors["output.weight"]
    differences = output[:-1] - output[-1]
    if not shape.neurons:
        return differences, {"output.weight": _outputs(h, len(output))}
    value, slope = FUNCTIONS[shape.activation](
        tensors["hidden.weight"] @ h + tensors["hidden.bias"]
    )
    inner = differences * slope  # by the arguments of the neurons
    found = {
        "output.weight": _outputs(value, len(output)),
        "hidden.bias": inner,
        "hidden.weight": inner[:, :, None] * h,
    }
    return inner @ tensors["hidden.weight"], found


def _outputs(read: Array, omega: int) -> Array:
    """Logit j less the last one depends on rows j and omega of the output matrix."""
    result = np.zeros((omega - 1, omega, len(read)))
    result[np.arange(omega - 1), np.arange(omega - 1)] = read
    result[:, -1] = -read
    return result


def _token_sum(tensors: Tensors, context: list[int]) -> tuple[Array, Spread]:
    weights, vectors = tensors["token_sum.weight"], tensors["embedding.weight"][context]

    def spread(towards: Array) -> Iterator[Part]:
        yield "token_sum.weight", (), np.zeros((len(towards), len(weights)))  # unused places, too
        for s, token in enumerate(context):
            yield "token_sum.weight", (s,), towards @ vectors[s]
            yield "embedding.weight", (token,), weights[s] * towards

    return weights[: len(context)] @ vectors, spread


def _attention(shape: Shape, tensors: Tensors, context: list[int]) -> tuple[Array, Spread]:
    """h, and how its derivative spreads to the tensors before it.

    A head hears m = sum_s p_s x_s, p the softmax of the scores (Q l)^T (K x_s), and adds O V m. By
    score s, m has the derivative p_s (x_s - m).
    """
    x = tensors["embedding.weight"][context] + tensors["positions.weight"][: len(context)]
    query, key, value = (
        tensors[f"attention.{name}.weight"].reshape(shape.heads, -1, shape.dimension)
        for name in ("query", "key", "value")
    )
    out = tensors["attention.out.weight"].reshape(shape.dimension, shape.heads, -1)
    heads = [_Head(query[r], key[r], value[r], out[:, r], x) for r in range(shape.heads)]
    h = sum((head.heard for head in heads), x[-1] * shape.skip)

    def spread(towards: Array) -> Iterator[Part]:
        by_tokens = np.zeros((len(towards), *x.shape))
        by_tokens[:, -1] += towards * shape.skip
        for r, head in enumerate(heads):
            by_tokens += head.by_tokens(towards)
            yield from _named(head.by_maps(towards), r)
        for s, token in enumerate(context):
            yield "positions.weight", (s,), by_tokens[:, s]
            yield "embedding.weight", (token,), by_tokens[:, s]

    return h, spread


def _named(parts: tuple[Array, Array, Array, Array], r: int) -> Iterator[Part]:
    """The parts of head r in the tensors of all heads."""
    for name, part in zip(("query", "key", "value"), parts[:3], strict=True):
        rows = part.shape[1]
        yield f"attention.{name}.weight", (slice(r * rows, (r + 1) * rows),), part
    columns = parts[3].shape[2]
    place = slice(None), slice(r * columns, (r + 1) * columns)
    yield "attention.out.weight", place, parts[3]


class _Head:
    """One head at one context: Q, K, V, O, and the tokens x, [t, d]."""

    def __init__(self, query: Array, key: Array, value: Array, out: Array, x: Array) -> None:
        self.query, self.key, self.value, self.out, self.x = query, key, value, out, x
        self.asked, self.keys = query @ x[-1], x @ key.T
        scores = self.keys @ self.asked
        weights = np.exp(scores - scores.max())
        self.weights = weights / weights.sum()
        self.mean = self.weights @ x
        self.heard = out @ (value @ self.mean)

    def _by_scores(self, towards: Array) -> Array:
        """[omega - 1, t]."""
        return (towards @ self.out @ self.value) @ (self.weights * (self.x - self.mean).T)

    def by_maps(self, towards: Array) -> tuple[Array, Array, Array, Array]:
        """By Q, K, V and O."""
        scores = self._by_scores(towards)
        return (
            (scores @ self.keys)[:, :, None] * self.x[-1],
            self.asked[:, None] * (scores @ self.x)[:, None, :],
            (towards @ self.out)[:, :, None] * self.mean,
            towards[:, :, None] * (self.value @ self.mean),
        )

    def by_tokens(self, towards: Array) -> Array:
        """By each x_s, [omega - 1, t, d]: as heard, as a key, and the last one as a query."""
        scores, through = self._by_scores(towards), towards @ self.out @ self.value
        result = self.weights[:, None] * through[:, None, :]
        result += scores[:, :, None] * (self.asked @ self.key)
        result[:, -1] += scores @ self.keys @ self.query
        return result


def _erf(x: Array) -> Array:
    return np.array([math.erf(value) for value in x.tolist()])


def _logistic(x: Array) -> tuple[Array, Array]:
    value = (1 + np.tanh(x / 2)) / 2
    return value, value * (1 - value)


def _gelu(x: Array) -> tuple[Array, Array]:
    below, density = (1 + _erf(x / math.sqrt(2))) / 2, np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return x * below, below + x * density


# values and slopes of psi
FUNCTIONS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "logistic": _logistic,
    "tanh": lambda x: (np.tanh(x), 1 - np.tanh(x) ** 2),
    "erf": lambda x: (_erf(x), 2 / math.sqrt(math.pi) * np.exp(-(x**2))),
    "arctan": lambda x: (np.arctan(x), 1 / (1 + x**2)),
    "gelu": _gelu,
}
