"""Stacks of narrow feed-forward blocks h + W2 relu(W1 h + b1) + b2, forwards and backwards.

Every token goes through tens of blocks of two numbers and eight neurons, so library calls on each
block would be all the cost there is. Here one call does the whole stack. Points lie side by side in
memory (a state is [m, points]), and are taken CHUNK at a time, so that all their states stay in the
cache; the backward pass computes these again instead of remembering them for all points.

A slice is worked on at a desk: one flat array of 3 m rows of CHUNK numbers, which hold the state
before a block, the slopes of the loss after it, and what the block makes of one or the other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import compiled
from .lanes import LANES, load, spread, store
from .neurons import CHUNK, PAIR, add_neurons, neurons_back


class Stack(NamedTuple):
    """The weights of a stack of blocks, or their gradients."""

    hidden: NDArray  # W1 [blocks, q, m]
    bias: NDArray  # b1 [blocks, q]
    down: NDArray  # W2 [blocks, m, q]
    shift: NDArray  # b2 [blocks, m]


def backward(stack: Stack, states: NDArray, slopes: NDArray, gradient: Stack) -> None:
    """Put the gradient of the weights into `gradient`; `slopes` become those of what goes in."""
    sums = Stack(*(np.zeros(weights.shape) for weights in stack))  # doubles: over many slices
    _backward(stack, states, slopes, sums)
    for into, found in zip(gradient, sums, strict=True):
        into[...] = found


@compiled
def _place(desk, row, points, begin, size):
    """Put a slice of points [m, all] on the desk from a row on; what is left of a row is 0."""
    for i in range(len(points)):
        at = (row + i) * CHUNK
        desk[at : at + size] = points[i, begin : begin + size]
        desk[at + size : at + CHUNK] = 0


@compiled
def _take(desk, row, points, begin, size):
    for i in range(len(points)):
        at = (row + i) * CHUNK
        points[i, begin : begin + size] = desk[at : at + size]


@compiled
def _copy(into, to, other, begin, size):
    for p in range(0, size, LANES):
        store(into, to + p, load(other, begin + p))


@compiled
def _block(stack, k, desk, scratch):
    """Replace the states of the desk by those after block k."""
    m = stack.shift.shape[1]
    for i in range(m):
        shift = spread(stack.shift[k, i])
        for p in range(i * CHUNK, (i + 1) * CHUNK, LANES):
            store(desk, 2 * m * CHUNK + p, load(desk, p) + shift)
    add_neurons(stack.hidden[k], stack.bias[k], stack.down[k], desk, scratch)
    _copy(desk, 0, desk, 2 * m * CHUNK, m * CHUNK)


@compiled
def _block_back(stack, k, desk, scratch, sums, found):
    """Add the gradients of block k, and replace the slopes of the desk by those before it."""
    q, m = stack.hidden.shape[1:]
    rows = m * CHUNK
    sums[:] = 0
    _copy(desk, 2 * rows, desk, rows, rows)
    neurons_back(stack.hidden[k], stack.bias[k], stack.down[k], desk, scratch, sums)
    for i in range(m):
        found.shift[k, i] += desk[rows + i * CHUNK : rows + (i + 1) * CHUNK].sum()
    for j in range(q):
        own = sums[j * (2 * m + 1) * LANES : (j + 1) * (2 * m + 1) * LANES]
        for i in range(m):
            found.hidden[k, j, i] += own[i * LANES : (i + 1) * LANES].sum()
            found.down[k, i, j] += own[(m + i) * LANES : (m + i + 1) * LANES].sum()
        found.bias[k, j] += own[2 * m * LANES :].sum()
    _copy(desk, rows, desk, 2 * rows, rows)


@compiled
def forward(stack, states, result):
    """Put what the stack makes of the states [m, points] into `result`, of the same shape."""
    m, points = states.shape
    desk = np.empty(3 * m * CHUNK, np.float32)
    scratch = np.empty(stack.bias.shape[1] * PAIR, np.float32)
    for begin in range(0, points, CHUNK):
        size = min(CHUNK, points - begin)
        _place(desk, 0, states, begin, size)
        for k in range(len(stack.bias)):
            _block(stack, k, desk, scratch)
        _take(desk, 0, result, begin, size)


@compiled
def _backward(stack, states, slopes, found):
    blocks, q, m = stack.hidden.shape
    rows, points = m * CHUNK, states.shape[1]
    desk, scratch = np.empty(3 * rows, np.float32), np.empty(2 * q * PAIR, np.float32)
    before = np.empty(blocks * rows, np.float32)
    sums = np.empty(q * (2 * m + 1) * LANES, np.float32)
    for begin in range(0, points, CHUNK):
        size = min(CHUNK, points - begin)
        _place(desk, 0, states, begin, size)
        for k in range(blocks):
            _copy(before, k * rows, desk, 0, rows)
            _block(stack, k, desk, scratch)
        _place(desk, m, slopes, begin, size)  # 0 beyond the last point, which so counts for nothing
        for k in range(blocks - 1, -1, -1):
            _copy(desk, 0, before, k * rows, rows)
            _block_back(stack, k, desk, scratch, sums, found)
        _take(desk, m, slopes, begin, size)
