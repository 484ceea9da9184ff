"""Kernels of attention from the last token: all heads of a context at once, eight to a register.

Keys and outputs depend on a token and its position only. Each distinct pair of these has one row in
the tables below; a context is a list of such rows, and its query is that of the last one. Arrays
are flat; their shapes are:

queries  [pair, block, c, lane]  c of a head's dimension; head 8 block + lane
keys     [pair, block, c, lane]
outputs  [pair, block, i, lane]  W_O W_V x of a head, i of the embedding's dimension
weights  [slot, block, lane]     softmax of the scores; a slot is one token of one context
"""

from .jit import compiled
from .lanes import LANES, LEAST, constant, exponential, largest, load, madd, spread, store, total


@compiled
def attend(slots, starts, queries, keys, outputs, weights, result, blocks, size, width):
    """Fill `weights`, and add the output of attention to result [context, width]."""
    for context in range(starts.size - 1):
        first, last = starts[context], starts[context + 1]
        for block in range(blocks):  # scores, query times key, which the softmax replaces
            query_at = (slots[last - 1] * blocks + block) * size * LANES
            top = constant(LEAST)
            for slot in range(first, last):
                key = (slots[slot] * blocks + block) * size * LANES
                score = constant(0.0)
                for c in range(0, size * LANES, LANES):
                    score = madd(load(queries, query_at + c), load(keys, key + c), score)
                store(weights, (slot * blocks + block) * LANES, score)
                top = largest(top, score)
            summed = constant(0.0)
            for slot in range(first, last):
                place = (slot * blocks + block) * LANES
                power = exponential(load(weights, place) - top)
                store(weights, place, power)
                summed = summed + power
            share = constant(1.0) / summed
            for slot in range(first, last):
                place = (slot * blocks + block) * LANES
                store(weights, place, load(weights, place) * share)
        for i in range(width):  # the sum over slots and heads of weight times output
            mixed = constant(0.0)
            for slot in range(first, last):
                row = slots[slot] * blocks * width * LANES
                for block in range(blocks):
                    output = load(outputs, row + (block * width + i) * LANES)
                    mixed = madd(load(weights, (slot * blocks + block) * LANES), output, mixed)
            result[context * width + i] += total(mixed)


@compiled
def attend_backward(
    slots, starts, queries, keys, outputs, weights, to_result,
    to_queries, to_keys, to_outputs, scores, blocks, size, width,
):  # fmt: skip
    """Add the gradients of the three tables, with room for the scores of one context."""
    for context in range(starts.size - 1):
        first, last, start = starts[context], starts[context + 1], context * width
        for block in range(blocks):
            mean = constant(0.0)
            for slot in range(first, last):  # of weights, and add those of outputs
                row = (slots[slot] * blocks + block) * width * LANES
                weight = load(weights, (slot * blocks + block) * LANES)
                gradient = constant(0.0)
                for i in range(width):
                    place, error = row + i * LANES, spread(to_result[start + i])
                    gradient = madd(load(outputs, place), error, gradient)
                    store(to_outputs, place, madd(weight, error, load(to_outputs, place)))
                store(scores, (slot - first) * LANES, gradient)
                mean = madd(weight, gradient, mean)
            for slot in range(first, last):
                weight = load(weights, (slot * blocks + block) * LANES)
                place = (slot - first) * LANES
                store(scores, place, weight * (load(scores, place) - mean))
            query_at = (slots[last - 1] * blocks + block) * size * LANES
            for c in range(0, size * LANES, LANES):
                query = load(queries, query_at + c)
                to_query = load(to_queries, query_at + c)
                for slot in range(first, last):
                    place = (slots[slot] * blocks + block) * size * LANES + c
                    score = load(scores, (slot - first) * LANES)
                    to_query = madd(score, load(keys, place), to_query)
                    store(to_keys, place, madd(score, query, load(to_keys, place)))
                store(to_queries, query_at + c, to_query)


@compiled
def gather(embedding, positions, tokens, places, vectors, width):
    """vectors [pair, width] = embedding of the token + that of the place."""
    for pair in range(tokens.size):
        for i in range(width):
            vectors[pair * width + i] = (
                embedding[tokens[pair] * width + i] + positions[places[pair] * width + i]
            )


@compiled
def scatter(to_embedding, to_positions, tokens, places, to_vectors, width):
    """Add the gradient of each pair to that of its token and that of its place."""
    for pair in range(tokens.size):
        for i in range(width):
            error = to_vectors[pair * width + i]
            to_embedding[tokens[pair] * width + i] += error
            to_positions[places[pair] * width + i] += error


@compiled
def pick(vectors, rows, picked, width):
    """picked [context, width] = the vector of each row."""
    for context in range(rows.size):
        for i in range(width):
            picked[context * width + i] = vectors[rows[context] * width + i]


@compiled
def unpick(to_vectors, rows, to_picked, width):
    """Add the gradient of what was picked to that of the vector."""
    for context in range(rows.size):
        for i in range(width):
            to_vectors[rows[context] * width + i] += to_picked[context * width + i]
