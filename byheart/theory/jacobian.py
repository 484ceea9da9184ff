"""The exact derivatives of a decoder's logits by its parameters, one context at a time.

Written by hand and not by differences, which would hide small singular values. Letters are those of
madden2024: omega vocabulary, d dimension, x_s a token's vector with its position, l the last of
them, h = h_2 the input of the neurons, psi their activation, V the output matrix.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..softmax.decoder import ATTENTION, Shape

Array = NDArray[np.float64]
Tensors = Mapping[str, Array]


def jacobian(shape: Shape, tensors: Tensors, contexts: list[tuple[int, ...]]) -> Array:
    """The derivatives of differences of logits by all parameters, [contexts (omega - 1), k]."""
    rows = [_gradients(shape, tensors, list(context)) for context in contexts]
    parts = [
        np.concatenate([row[name].reshape(shape.vocabulary - 1, -1) for row in rows])
        for name in shape.tensors
    ]
    return np.concatenate(parts, axis=1)


def _gradients(shape: Shape, tensors: Tensors, context: list[int]) -> dict[str, Array]:
    """By each tensor, [omega - 1, *its shape], for one context: forward to h, backward from V.

    Head r has m = sum_s p_s x_s, p the softmax of the scores (Q l)^T (K x_s), and adds O V m. By
    score s, m has the derivative p_s (x_s - m).
    """
    free, t = shape.vocabulary - 1, len(context)
    gradients = {name: np.zeros((free, *sizes)) for name, sizes in shape.tensors.items()}
    x, attends = tensors["embedding.weight"][context], shape.mixing == ATTENTION
    heads = []
    if attends:
        x = x + tensors["positions.weight"][:t]
        sizes = (shape.key_dimension, shape.key_dimension, shape.value_dimension)
        query, key, value = (
            tensors[f"attention.{name}.weight"].reshape(shape.heads, size, shape.dimension)
            for name, size in zip(("query", "key", "value"), sizes, strict=True)
        )
        out = tensors["attention.out.weight"].reshape(shape.dimension, shape.heads, sizes[2])
        heads = [_Head(query[r], key[r], value[r], out[:, r], x) for r in range(shape.heads)]
        h = sum((head.output for head in heads), x[-1] * shape.skip)
    else:
        h = tensors["token_sum.weight"][:t] @ x

    output = tensors["output.weight"]
    read, towards = h, output[:-1] - output[-1]  # towards: by what the output reads, then by h
    if shape.neurons:
        hidden = tensors["hidden.weight"]
        read, slope = FUNCTIONS[shape.activation](hidden @ h + tensors["hidden.bias"])
        inner = towards * slope  # by the arguments of the neurons
        gradients |= {"hidden.bias": inner, "hidden.weight": inner[:, :, None] * h}
        towards = inner @ hidden
    gradients["output.weight"][np.arange(free), np.arange(free)] = read
    gradients["output.weight"][:, -1] = -read

    if attends:
        by_tokens = np.zeros((free, *x.shape))
        by_tokens[:, -1] += towards * shape.skip
        for r, head in enumerate(heads):
            by_token, *maps, by_out = head.gradients(towards)
            by_tokens += by_token
            for name, by_map in zip(("query", "key", "value"), maps, strict=True):
                size = by_map.shape[1]
                gradients[f"attention.{name}.weight"][:, r * size : (r + 1) * size] += by_map
            gradients["attention.out.weight"][:, :, r * size : (r + 1) * size] += by_out
        for s, token in enumerate(context):
            gradients["positions.weight"][:, s] += by_tokens[:, s]
            gradients["embedding.weight"][:, token] += by_tokens[:, s]
    else:
        for s, token in enumerate(context):
            gradients["token_sum.weight"][:, s] += towards @ x[s]
            gradients["embedding.weight"][:, token] += tensors["token_sum.weight"][s] * towards
    return gradients


class _Head:
    """One head at one context: Q, K, V, O, and the tokens x, [t, d]."""

    def __init__(self, Q: Array, K: Array, V: Array, O: Array, x: Array) -> None:  # noqa: E741
        self.Q, self.K, self.V, self.O, self.x = Q, K, V, O, x
        self.query, self.keys = Q @ x[-1], x @ K.T
        scores = self.keys @ self.query
        weights = np.exp(scores - scores.max())
        self.weights = weights / weights.sum()
        self.mean = self.weights @ x
        self.output = O @ (V @ self.mean)

    def gradients(self, towards: Array) -> tuple[Array, ...]:
        """By x_s, [omega - 1, t, d]: as values, as keys, the last as a query; by Q, K, V and O."""
        through = towards @ self.O @ self.V
        scores = through @ (self.weights * (self.x - self.mean).T)  # [omega - 1, t]
        by_tokens = self.weights[:, None] * through[:, None, :]
        by_tokens += scores[:, :, None] * (self.query @ self.K)
        by_tokens[:, -1] += scores @ self.keys @ self.Q
        return (
            by_tokens,
            (scores @ self.keys)[:, :, None] * self.x[-1],
            self.query[:, None] * (scores @ self.x)[:, None, :],
            (towards @ self.O)[:, :, None] * self.mean,
            towards[:, :, None] * (self.V @ self.mean),
        )


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
