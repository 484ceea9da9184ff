"""Kernels of the output layer: logits, their cross-entropy, and its gradient in their place.

shares          [row] the share of all predictions that are made there, 0 for rows that pad
begins          [row + 1] where the answers of each row begin
answers, parts  which answers, and their shares of all predictions
logits          [row, width], width a multiple of eight
"""

import math

from .jit import compiled, inlined
from .lanes import LANES, LEAST, constant, exponential, largest, load, peak, spread, store, total
from .narrow import multiply, rows_backward, weight_backward


@inlined
def _row_loss(share, begin, end, answers, parts, logits, row, width):
    """The loss of a row of logits, which its gradient replaces: share softmax - parts."""
    top = constant(LEAST)
    for at in range(row, row + width, LANES):
        top = largest(top, load(logits, at))
    highest = peak(top)
    loss = 0.0
    for k in range(begin, end):
        loss += parts[k] * (highest - logits[row + answers[k]])
    summed, top = constant(0.0), spread(highest)
    for at in range(row, row + width, LANES):
        power = exponential(load(logits, at) - top)
        store(logits, at, power)
        summed = summed + power
    normal = total(summed)
    scale = spread(share / normal)
    for at in range(row, row + width, LANES):
        store(logits, at, load(logits, at) * scale)
    for k in range(begin, end):
        logits[row + answers[k]] -= parts[k]
    return loss + share * math.log(normal)


@compiled
def rows(shares, begins, answers, parts, logits, bias, to_bias, first, count):
    """The loss of `count` rows from the first on; adds the bias to them, and to its gradient."""
    width, loss = bias.size, 0.0
    for r in range(count):
        row = r * width
        for at in range(0, width, LANES):
            store(logits, row + at, load(logits, row + at) + load(bias, at))
        begin, end = begins[first + r], begins[first + r + 1]
        loss += _row_loss(shares[first + r], begin, end, answers, parts, logits, row, width)
        for at in range(0, width, LANES):
            store(to_bias, at, load(to_bias, at) + load(logits, row + at))
    return loss


@compiled
def fused(
    shares, begins, answers, parts, last, to_last, weight, to_weight, bias, to_bias, logits, inputs
):
    """The loss of all rows of `last`, four at a time; adds its gradients.

    weight  as narrow.py has it
    logits  room for four rows
    """
    width, loss = bias.size, 0.0
    for row in range(0, shares.size, 4):
        multiply(last, weight, bias, logits, row, 0, inputs)
        for r in range(4):
            begin, end = begins[row + r], begins[row + r + 1]
            loss += _row_loss(shares[row + r], begin, end, answers, parts, logits, r * width, width)
        weight_backward(last, to_weight, to_bias, logits, row, 0, inputs)
        rows_backward(to_last, weight, logits, row, 0, inputs, width)
    return loss
