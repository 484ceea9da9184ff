"""The kernel of code lengths: of each row of logits, the nats that one answer takes, and how far
its log-probability lies from the mean of all tokens' log-probabilities, in standard deviations."""

import math

import numpy as np

from .jit import compiled
from .lanes import LANES, LEAST, constant, exponential, largest, load, madd, peak, spread, total

BLOCK = 64 * LANES  # numbers that are added in single precision
LEAST_SPREAD = 1e-12  # of a variance, where all probability is on one token
INFINITY = np.uint32(0xFF000000)  # the bits of a float32 without its sign; those of NaN are above


@compiled
def finite(bits):
    """Whether float32 numbers, given as uint32, are all finite: fast arithmetic cannot tell."""
    widest = np.uint32(0)
    for at in range(bits.size):
        widest = max(widest, np.uint32(bits[at] << np.uint32(1)))
    return widest < INFINITY


@compiled
def code_lengths(logits, answers, nats, likeliest, places):
    """nats = -log softmax of each row's answer; likeliest: it is the first of the largest logits.

    logits  [row, width] flat, all finite; sums of exponentials are kept in doubles, so that 50,000
            of them lose no digits
    places  (log p of the answer - m) / s, with the mean m and the deviation s of log p under p
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
        normal, mean, square, shift = 0.0, 0.0, 0.0, spread(top)
        for first in range(begin, whole, BLOCK):
            summed, once, twice = constant(0.0), constant(0.0), constant(0.0)
            for at in range(first, min(first + BLOCK, whole), LANES):
                below = largest(load(logits, at) - shift, constant(-87.0))
                power = exponential(below)
                weighted = power * below
                summed = summed + power
                once = once + weighted
                twice = madd(weighted, below, twice)
            normal += np.float64(total(summed))
            mean += np.float64(total(once))
            square += np.float64(total(twice))
        for at in range(whole, end):
            less = np.float64(logits[at] - top)
            power_ = math.exp(less)
            normal += power_
            mean += power_ * less if power_ else 0.0
            square += power_ * less * less if power_ else 0.0
        own = np.float64(logits[answer] - top)
        mean /= normal
        variance = max(square / normal - mean * mean, LEAST_SPREAD)
        nats[row] = math.log(normal) - own
        places[row] = (own - mean) / math.sqrt(variance)
        best = logits[answer] == top
        for at in range(begin, answer if best else begin):
            best = best and logits[at] != top  # greedy decoding takes the first
        likeliest[row] = best
