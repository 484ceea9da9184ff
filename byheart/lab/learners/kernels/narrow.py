"""Kernels of products with narrow matrices: few inputs per row, many outputs, eight at a time.

BLAS is made for matrices that are large both ways; most of ours read 4 to 20 numbers. A weight is
stored as [outputs / 8, inputs, 8] here, which is the order in which all three products read it.
Rows come in fours, so that each part of the weight is loaded once for four of them.
"""

from .jit import compiled, inlined
from .lanes import LANES, constant, load, madd, spread, store, total


@inlined
def multiply(rows, weight, bias, products, row, start, inputs):
    """Put weight x + bias for the four rows x from `row` into products, from `start`."""
    width, a = bias.size, row * inputs
    b, c, d = a + inputs, a + 2 * inputs, a + 3 * inputs
    for at in range(0, width, LANES):
        p = q = r = s = load(bias, at)
        for i in range(inputs):
            w = load(weight, at * inputs + i * LANES)
            p = madd(spread(rows[a + i]), w, p)
            q = madd(spread(rows[b + i]), w, q)
            r = madd(spread(rows[c + i]), w, r)
            s = madd(spread(rows[d + i]), w, s)
        place = start + at
        store(products, place, p)
        store(products, place + width, q)
        store(products, place + 2 * width, r)
        store(products, place + 3 * width, s)


@inlined
def weight_backward(rows, to_weight, to_bias, errors, row, start, inputs):
    """Add the gradients of weight and bias, given those of four products, the errors."""
    width, a = to_bias.size, row * inputs
    b, c, d = a + inputs, a + 2 * inputs, a + 3 * inputs
    for at in range(0, width, LANES):
        place = start + at
        p, q = load(errors, place), load(errors, place + width)
        r, s = load(errors, place + 2 * width), load(errors, place + 3 * width)
        store(to_bias, at, load(to_bias, at) + ((p + q) + (r + s)))
        for i in range(inputs):
            place = at * inputs + i * LANES
            w = madd(spread(rows[a + i]), p, load(to_weight, place))
            w = madd(spread(rows[b + i]), q, w)
            w = madd(spread(rows[c + i]), r, w)
            store(to_weight, place, madd(spread(rows[d + i]), s, w))


@inlined
def rows_backward(to_rows, weight, errors, row, start, inputs, width):
    """Add the gradients of four rows, given those of their products."""
    a = row * inputs
    b, c, d = a + inputs, a + 2 * inputs, a + 3 * inputs
    for i in range(inputs):
        p = q = r = s = constant(0.0)
        for at in range(0, width, LANES):
            w, place = load(weight, at * inputs + i * LANES), start + at
            p = madd(load(errors, place), w, p)
            q = madd(load(errors, place + width), w, q)
            r = madd(load(errors, place + 2 * width), w, r)
            s = madd(load(errors, place + 3 * width), w, s)
        to_rows[a + i] += total(p)
        to_rows[b + i] += total(q)
        to_rows[c + i] += total(r)
        to_rows[d + i] += total(s)


@compiled
def product(rows, weight, bias, products, count, inputs):
    """Put weight x + bias for the first `count` rows x, and up to three more, into products."""
    for row in range(0, count, 4):
        multiply(rows, weight, bias, products, row, row * bias.size, inputs)


@compiled
def product_backward(rows, to_rows, weight, to_weight, to_bias, errors, count, inputs):
    """Add the gradients of rows, weight and bias, given those of the products, the errors."""
    width = to_bias.size
    for row in range(0, count, 4):
        weight_backward(rows, to_weight, to_bias, errors, row, row * width, inputs)
        rows_backward(to_rows, weight, errors, row, row * width, inputs, width)
