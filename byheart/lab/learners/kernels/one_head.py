"""Kernels of attention from the last token with a single head, eight coordinates to a register.

A head that is alone needs no tables: its scores are p x_j for p = W_K^T q, and its output is W_O
W_V of the mixture, the sum of weight times x_j. So these kernels read the vectors themselves.
Contexts are lists of pairs as in attention.py. Arrays are flat; their shapes are:

vectors     [pair, i]     x, i of the embedding's dimension, a multiple of eight
directions  [pair, i]     p of the pairs that end a context
weights     [slot]        softmax of the scores, and what pads them to a multiple of eight
mixed       [context, i]  the mixtures
"""

from .jit import compiled, inlined
from .lanes import LANES, LEAST, constant, exponential, load, madd, spread, store, total


@inlined
def _dot(a, at, b, there, width):
    summed = constant(0.0)
    for i in range(0, width, LANES):
        summed = madd(load(a, at + i), load(b, there + i), summed)
    return total(summed)


@compiled
def attend(slots, starts, vectors, directions, weights, mixed, width):
    """Fill the weights and the mixtures of all contexts."""
    for context in range(starts.size - 1):  # scores, less the largest of each context
        first, last = starts[context], starts[context + 1]
        query_at, top = slots[last - 1] * width, LEAST
        for slot in range(first, last):
            score = _dot(directions, query_at, vectors, slots[slot] * width, width)
            weights[slot] = score
            top = max(top, score)
        for slot in range(first, last):
            weights[slot] -= top
    for slot in range(slots.size, weights.size):
        weights[slot] = 0
    for at in range(0, weights.size, LANES):
        store(weights, at, exponential(load(weights, at)))
    for context in range(starts.size - 1):
        first, last = starts[context], starts[context + 1]
        summed = 0.0
        for slot in range(first, last):
            summed += weights[slot]
        for slot in range(first, last):
            weights[slot] /= summed
        for i in range(0, width, LANES):
            mixture = constant(0.0)
            for slot in range(first, last):
                vector = load(vectors, slots[slot] * width + i)
                mixture = madd(spread(weights[slot]), vector, mixture)
            store(mixed, context * width + i, mixture)


@compiled
def attend_backward(
    slots, starts, vectors, directions, weights, to_mixed, to_vectors, to_directions, scores, width
):
    """Add the gradients of vectors and directions, given those of the mixtures."""
    for context in range(starts.size - 1):
        first, last, start = starts[context], starts[context + 1], context * width
        query_at, mean = slots[last - 1] * width, 0.0
        for slot in range(first, last):
            gradient = _dot(vectors, slots[slot] * width, to_mixed, start, width)
            scores[slot - first] = gradient
            mean += weights[slot] * gradient
        for slot in range(first, last):
            row, weight = slots[slot] * width, spread(weights[slot])
            score = spread(weights[slot] * (scores[slot - first] - mean))
            for i in range(0, width, LANES):
                errors = madd(weight, load(to_mixed, start + i), load(to_vectors, row + i))
                store(to_vectors, row + i, madd(score, load(directions, query_at + i), errors))
                errors = madd(score, load(vectors, row + i), load(to_directions, query_at + i))
                store(to_directions, query_at + i, errors)
