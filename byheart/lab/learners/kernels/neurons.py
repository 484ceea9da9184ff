"""The ReLU neurons of one block for CHUNK points, forwards and backwards.

The points are rows of a flat array, the desk of blocks.py: m rows of states, m rows of slopes, m
rows to add to. Two registers of points are taken at a time, through all neurons of the block, so
that only sums are written; sums for gradients are kept for each lane and added up at the end.
"""

from .jit import compiled
from .lanes import LANES, constant, gated, largest, load, madd, spread, store

CHUNK = 512
PAIR = 2 * LANES


@compiled
def add_neurons(hidden, bias, down, desk, scratch):
    """Add W2 relu(W1 state + b1) to the last rows of the desk."""
    q, m = hidden.shape
    for p in range(0, CHUNK, PAIR):
        for j in range(q):
            _activate(hidden, bias, j, desk, p, scratch)
        for i in range(m):
            at = (2 * m + i) * CHUNK + p
            one, two = load(desk, at), load(desk, at + LANES)
            for j in range(q):
                weight = spread(down[i, j])
                one = madd(weight, load(scratch, j * PAIR), one)
                two = madd(weight, load(scratch, j * PAIR + LANES), two)
            store(desk, at, one)
            store(desk, at + LANES, two)


@compiled
def neurons_back(hidden, bias, down, desk, scratch, sums):
    """Add the slopes that the neurons pass back to the last rows of the desk.

    scratch  [2, q, PAIR] flat: the outputs of the neurons, and the slopes before their ReLUs
    sums     [q, 2 m + 1, LANES] flat, to which their gradients are added: for each neuron of its
             weights, of its column of W2, of its bias
    """
    q, m = hidden.shape
    for p in range(0, CHUNK, PAIR):
        for j in range(q):
            _activate(hidden, bias, j, desk, p, scratch)
            pull_one = pull_two = constant(0)  # the slopes before its ReLU: 0 where its output is 0
            for i in range(m):
                weight = spread(down[i, j])
                pull_one = madd(weight, load(desk, (m + i) * CHUNK + p), pull_one)
                pull_two = madd(weight, load(desk, (m + i) * CHUNK + p + LANES), pull_two)
            give_one, give_two = load(scratch, j * PAIR), load(scratch, j * PAIR + LANES)
            pull_one, pull_two = gated(give_one, pull_one), gated(give_two, pull_two)
            store(scratch, (q + j) * PAIR, pull_one)
            store(scratch, (q + j) * PAIR + LANES, pull_two)
            at = j * (2 * m + 1) * LANES  # its gradients: products of slopes and inputs
            for i in range(m):
                found = madd(pull_one, load(desk, i * CHUNK + p), load(sums, at))
                store(sums, at, madd(pull_two, load(desk, i * CHUNK + p + LANES), found))
                at += LANES
            for i in range(m, 2 * m):
                found = madd(give_one, load(desk, i * CHUNK + p), load(sums, at))
                store(sums, at, madd(give_two, load(desk, i * CHUNK + p + LANES), found))
                at += LANES
            store(sums, at, pull_one + pull_two + load(sums, at))
        for i in range(m):
            at = (2 * m + i) * CHUNK + p
            one, two = load(desk, at), load(desk, at + LANES)
            for j in range(q):
                weight = spread(hidden[j, i])
                one = madd(weight, load(scratch, (q + j) * PAIR), one)
                two = madd(weight, load(scratch, (q + j) * PAIR + LANES), two)
            store(desk, at, one)
            store(desk, at + LANES, two)


@compiled
def _activate(hidden, bias, j, desk, p, scratch):
    """The outputs of neuron j for the points from p on."""
    one = two = spread(bias[j])
    for i in range(hidden.shape[1]):
        weight = spread(hidden[j, i])
        one = madd(weight, load(desk, i * CHUNK + p), one)
        two = madd(weight, load(desk, i * CHUNK + p + LANES), two)
    store(scratch, j * PAIR, largest(one, constant(0)))
    store(scratch, j * PAIR + LANES, largest(two, constant(0)))
