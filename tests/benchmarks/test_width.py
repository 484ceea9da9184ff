"""Blocks are cut without changing the function."""

from random import Random

import numpy as np
import pytest

import byheart
from benchmarks.report import recorded
from benchmarks.width import compiled, cut, narrowed
from byheart.data.generate import random
from byheart.exact.codeword import encoded_bits
from byheart.exact.network import FeedForward, matrix


def drawn(choose, lanes, hidden, written):
    """A block whose units write to these lanes only."""
    numbers = range(-3, 4)
    W1 = {(u, choose.choice([0, 1])): choose.choice(numbers) for u in range(hidden)}
    W2 = {(lane, u): choose.choice(numbers) for u in range(hidden) for lane in written(u)}
    b1 = {(u, 0): choose.choice(numbers) for u in range(hidden)}
    b2 = {(lane, 0): choose.choice(numbers) for lane in range(lanes)}
    shapes = (hidden, lanes), (hidden, 1), (lanes, hidden), (lanes, 1)
    return FeedForward(*(matrix(*x, y) for x, y in zip(shapes, (W1, b1, W2, b2), strict=True)))


def applied(block, h):
    def array(x):
        return np.array([[x[r, c] for c in range(x.columns)] for r in range(x.rows)])

    hidden = np.maximum(array(block.W1) @ h + array(block.b1)[:, 0], 0)
    return h + array(block.W2) @ hidden + array(block.b2)[:, 0]


@pytest.mark.parametrize("most", (1, 2, 3, 5, 9))
def test_a_cut_block_computes_the_same(most):
    """Unit 4 writes to a lane that others read, and so is in the last part."""
    choose, lanes, hidden = Random(most), 4, 8
    block = drawn(choose, lanes, hidden, lambda u: (0, 2, 3) if u == 4 else (2, 3))
    parts = cut(block, most)
    assert len(parts) == -(-hidden // most) and max(x.W1.rows for x in parts) <= most
    for _ in range(20):
        h = np.array([choose.randint(-5, 5) for _ in range(lanes)])
        result = h
        for part in parts:
            result = applied(part, result)
        assert (result == applied(block, h)).all()
    counts = [sum(len(t.entries) for t in x.tensors.values()) for x in (block, *parts)]
    assert counts[0] == sum(counts[1:])


def test_a_block_that_cannot_be_cut_stays():
    block = drawn(Random(0), 4, 6, lambda u: (0, 1))
    assert cut(block, 2) == [block] and len(cut(block, 6)) == 1


def test_a_network_is_as_narrow_as_its_lanes():
    data = random(6000, seed=3)
    model = byheart.compile(data, minimise="dense")
    narrow = narrowed(model.network, model.network.width)
    assert model.network.breadth > narrow.breadth == model.network.width
    (before, _), (after, _) = model.network.counts(), narrow.counts()
    assert before["nonzero"] == after["nonzero"] and before["dense"] < after["dense"]


def test_a_row_has_the_network_as_compiled_and_cut_each_with_its_code_word():
    model = byheart.compile(random(6000, seed=3), minimise="dense")
    narrow = narrowed(model.network, model.network.width)
    row, dense = compiled(6000, "dense", seed=3), model.parameters.dense
    whole = row["whole"]
    assert (whole["dense"], whole["width"]) == (dense, model.network.breadth)
    assert (row["dense"], row["width"]) == (narrow.counts()[0]["dense"], 3)
    for one, network in ((whole, model.network), (row, narrow)):
        assert one["encoded"] == encoded_bits(network) / model.bits.information
        assert one["depth"] == network.depth
    assert row["encoded"] > whole["encoded"] and row["network"].endswith("cut")


def test_the_page_of_sizes_says_which_network_is_as_wide_as_it_says():
    """The dense ones of the README are cut, and not wider than the paper's 14 at any size."""
    rows = [row["narrow"] for row in recorded("sizes")["sizes"]]
    assert max(row["width"] for row in rows) <= 7 < rows[-1]["whole"]["width"]
    assert rows[-1]["whole"]["dense"] < rows[-1]["dense"]
