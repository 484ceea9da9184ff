"""Kernels of causal attention with any number of heads, eight sequences to a register.

Arrays are flat and their tokens are columns, as in columns.py:

maps     [3, head, c, column]             queries, keys and values
weights  [head, k / 8, pair, 8]           softmax of the scores; pairs (i, j), j <= i, by i
mixed    [head, c, column]                the sum of weight times value
desk     the values of one head and eight sequences, and of their gradients: room
"""

import math

from .jit import compiled, inlined
from .lanes import LANES, LEAST, constant, exponential, largest, load, madd, store


@inlined
def _fetch(array, first, columns, desk, at, size, length, k):
    """Copy `size` rows of eight sequences, from the place `first` on, to the desk."""
    for c in range(size):
        for i in range(length):
            store(desk, at, load(array, first + c * columns + i * k))
            at += LANES


@inlined
def _put(array, first, columns, desk, at, size, length, k):
    for c in range(size):
        for i in range(length):
            store(array, first + c * columns + i * k, load(desk, at))
            at += LANES


@compiled
def attend(maps, weights, mixed, desk, heads, size, length, k):
    """Fill the weights and the mixtures; desk [3, c, place, 8]."""
    columns, line, scale = length * k, length * LANES, constant(1 / math.sqrt(size))
    keys, values, row = size * line, 2 * size * line, 0
    for head in range(heads):
        for s in range(0, k, LANES):
            first = head * size * columns + s
            for part in range(3):
                there = first + part * heads * size * columns
                _fetch(maps, there, columns, desk, part * keys, size, length, k)
            for i in range(length):
                top, summed = constant(LEAST), constant(0.0)
                for j in range(i + 1):
                    score = constant(0.0)
                    for c in range(size):
                        query = load(desk, c * line + i * LANES)
                        score = madd(query, load(desk, keys + c * line + j * LANES), score)
                    score = score * scale
                    store(weights, row + j * LANES, score)
                    top = largest(top, score)
                for j in range(i + 1):
                    power = exponential(load(weights, row + j * LANES) - top)
                    store(weights, row + j * LANES, power)
                    summed = summed + power
                share = constant(1.0) / summed
                for j in range(i + 1):
                    store(weights, row + j * LANES, load(weights, row + j * LANES) * share)
                for c in range(size):
                    mixture = constant(0.0)
                    for j in range(i + 1):
                        value = load(desk, values + c * line + j * LANES)
                        mixture = madd(load(weights, row + j * LANES), value, mixture)
                    store(mixed, first + c * columns + i * k, mixture)
                row += (i + 1) * LANES


@compiled
def attend_backward(maps, weights, to_mixed, to_maps, desk, slopes, heads, size, length, k):
    """Write the gradient of the maps, given that of the mixtures.

    desk    [7, c, place, 8]: the maps, the gradient of the mixtures, those of the maps
    slopes  [place, 8] room for the gradients of the weights of one token
    """
    columns, line, scale = length * k, length * LANES, constant(1 / math.sqrt(size))
    part, row = size * line, 0
    for head in range(heads):
        for s in range(0, k, LANES):
            first = head * size * columns + s
            for which in range(3):
                there = first + which * heads * size * columns
                _fetch(maps, there, columns, desk, which * part, size, length, k)
            _fetch(to_mixed, first, columns, desk, 3 * part, size, length, k)
            for at in range(4 * part, 7 * part):
                desk[at] = 0
            for i in range(length):
                mean, query = constant(0.0), i * LANES
                for j in range(i + 1):
                    slope, value = constant(0.0), 2 * part + j * LANES
                    for c in range(0, part, line):
                        error = load(desk, 3 * part + c + query)
                        slope = madd(error, load(desk, value + c), slope)
                    mean = madd(slope, load(weights, row + j * LANES), mean)
                    store(slopes, j * LANES, slope)
                for j in range(i + 1):
                    weight, key = load(weights, row + j * LANES), j * LANES
                    slope = (load(slopes, j * LANES) - mean) * weight
                    store(slopes, j * LANES, slope * scale)
                    for c in range(0, part, line):
                        error = load(desk, 3 * part + c + query)
                        at = 6 * part + c + key
                        store(desk, at, madd(weight, error, load(desk, at)))
                for c in range(0, part, line):
                    summed, asked = constant(0.0), load(desk, c + query)
                    for j in range(0, (i + 1) * LANES, LANES):
                        slope = load(slopes, j)
                        summed = madd(slope, load(desk, part + c + j), summed)
                        at = 5 * part + c + j
                        store(desk, at, madd(slope, asked, load(desk, at)))
                    store(desk, 4 * part + c + query, summed)
                row += (i + 1) * LANES
            for which in range(3):
                there = first + which * heads * size * columns
                _put(to_maps, there, columns, desk, (4 + which) * part, size, length, k)
