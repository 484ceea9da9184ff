"""The kernel of code lengths: of each row of logits, the nats that one answer takes."""

import math

import numpy as np

from .jit import compiled
from .lanes import LANES, LEAST, constant, exponential, largest, load, peak, spread, total

BLOCK = 64 * LANES  # numbers that are added in single precision
INFINITY = np.uint32(0xFF000000)  # the bits of a float32 without its sign; those of NaN are above


@compiled
def finite(bits):
    """Whether float32 numbers, given as uint32, are all finite: fast arithmetic cannot tell."""
    widest = np.uint32(0)
    for at in range(bits.size):
        widest = max(widest, np.uint32(bits[at] << np.uint32(1)))
    return widest < INFINITY


@compiled
def code_lengths(logits, answers, nats, likeliest):
    """nats = -log softmax of each row's answer; likeliest: it is the first of the largest logits.

    logits  [row, width] flat, all finite; sums of exponentials are kept in doubles, so that 50,000
            of them lose no digits
    """
    width = logits.size // answers.size
    for row in range(answers.size):
        begin, end = row * width, (row + 1) * width
        whole, answer = end - width % LANES, begin + answers[row]
        tops = constant(LEAST)
        for at in range(begin, whole, LANES):
            tops = largest(tops, load(logits, at))
        top = peak(tops)
        for at in range(whole, end):
            top = max(top, logits[at])
        normal, shift = 0.0, spread(top)
        for first in range(begin, whole, BLOCK):
            summed = constant(0.0)
            for at in range(first, min(first + BLOCK, whole), LANES):
                summed = summed + exponential(load(logits, at) - shift)
            normal += np.float64(total(summed))
        for at in range(whole, end):
            normal += math.exp(np.float64(logits[at] - top))
        nats[row] = math.log(normal) + np.float64(top - logits[answer])
        best = logits[answer] == top
        for at in range(begin, answer if best else begin):
            best = best and logits[at] != top  # greedy decoding takes the first
        likeliest[row] = best
