"""Kernels of a language model whose tokens are columns, eight columns to a register.

An array [rows, columns] is flat, and the token at a place of sequence s is column place x k + s,
for k sequences, a multiple of eight. So every sum over the coordinates of a token, and over the
tokens before it, is done for eight sequences at a time, whatever the sizes of a model are.
"""

import math

from .jit import compiled, inlined
from .lanes import (
    LANES,
    LEAST,
    constant,
    exponential,
    largest,
    load,
    madd,
    magnitude,
    root,
    signed,
    spread,
    store,
    total,
)

NORM = 1e-5  # added to a variance
_STEEP, _CUBIC = math.sqrt(2 / math.pi), 0.044715  # of the GELU that GPT-2 has


@compiled
def embed(tokens, table, positions, states, k):
    """states = the token's row of `table` plus its place's row of `positions`."""
    count = tokens.size
    for i in range(table.shape[1]):
        for first in range(0, count, k):
            position = positions[first // k, i]
            for t in range(first, first + k):
                states[i * count + t] = table[tokens[t], i] + position


@compiled
def embed_backward(tokens, errors, to_table, to_positions, k):
    count = tokens.size
    for i in range(to_table.shape[1]):
        for first in range(0, count, k):
            summed = 0.0
            for t in range(first, first + k):
                error = errors[i * count + t]
                to_table[tokens[t], i] += error
                summed += error
            to_positions[first // k, i] += summed


@compiled
def normalise(states, weight, bias, normed, means, scales):
    """normed = weight (x - mean) scale + bias, over the coordinates x of every column.

    means, scales  [column] the mean, and 1 / sqrt(variance + NORM)
    """
    count, share = means.size, constant(1 / weight.size)
    for t in range(0, count, LANES):
        summed, squares = constant(0.0), constant(0.0)
        for i in range(weight.size):
            summed = summed + load(states, i * count + t)
        mean = summed * share
        for i in range(weight.size):
            away = load(states, i * count + t) - mean
            squares = madd(away, away, squares)
        scale = constant(1.0) / root(madd(squares, share, constant(NORM)))
        store(means, t, mean)
        store(scales, t, scale)
        for i in range(weight.size):
            hat = (load(states, i * count + t) - mean) * scale
            store(normed, i * count + t, madd(hat, spread(weight[i]), spread(bias[i])))


@compiled
def normalise_backward(states, weight, means, scales, errors, to_states, to_weight, to_bias, sums):
    """Add the gradient of the states, and write those of the maps."""
    count, size, share = means.size, weight.size, constant(1 / weight.size)
    for at in range(sums.size):
        sums[at] = 0
    for t in range(0, count, LANES):
        mean, scale = load(means, t), load(scales, t)
        plain, along = constant(0.0), constant(0.0)
        for i in range(size):
            error = load(errors, i * count + t)
            hat = (load(states, i * count + t) - mean) * scale
            store(sums, i * LANES, madd(error, hat, load(sums, i * LANES)))
            store(sums, (size + i) * LANES, load(sums, (size + i) * LANES) + error)
            error = error * spread(weight[i])
            plain = plain + error
            along = madd(error, hat, along)
        plain, along = plain * share, along * share
        for i in range(size):
            hat = (load(states, i * count + t) - mean) * scale
            error = load(errors, i * count + t) * spread(weight[i]) - plain - hat * along
            store(to_states, i * count + t, madd(error, scale, load(to_states, i * count + t)))
    for i in range(size):
        to_weight[i] = total(load(sums, i * LANES))
        to_bias[i] = total(load(sums, (size + i) * LANES))


@compiled
def gelu_tanh(before, after, slope):
    """after = x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), and its derivative."""
    for at in range(0, before.size, LANES):
        x = load(before, at)
        square = x * x
        u = x * madd(square, constant(_STEEP * _CUBIC), constant(_STEEP))
        power = exponential(magnitude(u) * constant(-2.0))
        tangent = signed((constant(1.0) - power) / (constant(1.0) + power), u)
        below = madd(tangent, constant(0.5), constant(0.5))
        store(after, at, x * below)
        rise = madd(square, constant(3 * _STEEP * _CUBIC), constant(_STEEP))  # of u
        curve = (constant(1.0) - tangent * tangent) * constant(0.5)
        store(slope, at, madd(x * curve, rise, below))


@inlined
def _column_losses(logits, shares, t, count, tops, normals):
    """Replace eight columns of logits by their shares of the softmax."""
    top, summed = constant(LEAST), constant(0.0)
    for at in range(t, logits.size, count):
        top = largest(top, load(logits, at))
    for at in range(t, logits.size, count):
        power = exponential(load(logits, at) - top)
        store(logits, at, power)
        summed = summed + power
    store(tops, 0, top)
    store(normals, 0, summed)
    scale = load(shares, t) / summed
    for at in range(t, logits.size, count):
        store(logits, at, load(logits, at) * scale)


@compiled
def column_losses(logits, shares, begins, answers, parts, tops, normals):
    """The loss of all columns of logits [answer, column]; its gradient replaces them.

    shares, begins, answers, parts  as output_loss.py has them, of columns instead of rows
    tops, normals                   room for eight numbers each
    """
    count, loss = shares.size, 0.0
    for t in range(0, count, LANES):
        for k in range(begins[t], begins[t + LANES]):
            loss -= parts[k] * logits[answers[k]]
        _column_losses(logits, shares, t, count, tops, normals)
        for lane in range(LANES):
            loss += shares[t + lane] * (tops[lane] + math.log(normals[lane]))
        for k in range(begins[t], begins[t + LANES]):
            logits[answers[k]] -= parts[k]
    return loss
