"""Folds at descending levels that store numbers: one operation, and what it must not do."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.exact import reference as exact
from byheart.exact.batch import Batch, columns
from byheart.exact.limbs import arithmetic, kernels
from byheart.exact.limbs import engine as limbs
from byheart.exact.limbs.levels import Levels
from byheart.exact.limbs.program import translate
from byheart.exact.limbs.runs import Finder, Powers
from byheart.exact.limbs.shortcuts import gated_lanes
from byheart.exact.limbs.stack import stacks
from byheart.exact.network import FeedForward, Input, Linear, Network, dyadic, matrix, vector


def network(thresholds):
    """Lane 0 is the input, then folded at each threshold; it is the output, too."""
    one = matrix(1, 1, {(0, 0): 1})
    blocks = [
        FeedForward(one, vector({0: -t}, 1), matrix(1, 1, {(0, 0): -2}), vector({}, 1))
        for t in thresholds
    ]
    ends = Linear(one, vector({}, 1))
    return Network(Input(1, 1, False, (dyadic(0),)), (ends, *blocks, ends))


def drawn(seed):
    """Thresholds of a run, from 2**t Q on, with numbers of up to Q / 32 in them, and Q."""
    pick = random.Random(seed)
    unit, lowest, count = pick.randrange(70, 200), pick.randrange(3), pick.randrange(8, 90)
    size, grain = 1 << unit, 1 << pick.randrange(unit - 40)
    reach = size // pick.choice([32, 100, 2**20]) // grain
    rests = [grain * pick.randint(-reach, reach) for _ in range(count)]
    places = reversed(range(lowest, lowest + count))
    return [(size << t) - size // 2 + r for t, r in zip(places, rests, strict=True)], size


def rows(values):
    vectors = np.array([[x] for x in values], dtype=object)
    return Batch(vectors, np.arange(len(vectors)), np.arange(len(vectors) + 1))


def runs(net):
    stack = stacks(net)[0]
    program = translate(stack, 0)
    point = 64 * program.whole
    return [run for run, _ in Finder(stack, gated_lanes(stack, point), True, point).runs()]


def singles(net, batch):
    """How often the run had to be done fold by fold."""
    seen = columns(net.input, batch)
    program = translate(stacks(net)[0], seen.exponent)
    numbers, integers = program.memory(64)
    inputs = limbs._integers(seen.vectors[: len(batch)])
    result = np.empty((len(inputs), program.outputs, 64), dtype=np.uint64)
    assert kernels.run(numbers, integers, inputs, program.base, result)
    return int(integers[arithmetic.SINGLES])


def values(thresholds, size, seed):
    """Near multiples of Q, anywhere, at thresholds, negative and too long."""
    pick, most = random.Random(seed), 2 * thresholds[0] // size
    near = [pick.randrange(most) * size + pick.randint(-size // 4, size // 4) for _ in range(20)]
    anywhere = [pick.randrange(2 * thresholds[0]) for _ in range(5)]
    edges = [t + pick.choice([-1, 0, 1]) for t in pick.sample(thresholds, 3)]
    return [*near, *anywhere, *edges, 0, 1, -size, size // 3, 5 * thresholds[0]]


@given(st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_as_integers_say(seed):
    thresholds, size = drawn(seed)
    net, batch = network(thresholds), rows(values(thresholds, size, seed))
    # without numbers they are folds at powers of two
    assert any(isinstance(run, Levels | Powers) for run in runs(net))
    assert list(limbs.evaluate(net, batch)) == list(exact.evaluate(net, batch))


def test_it_is_done_in_one_pass():
    pick = random.Random(0)
    size = 1 << 150
    rests = [pick.randint(-size // 1000, size // 1000) for _ in range(80)]
    thresholds = [
        (size << t) - size // 2 + r for t, r in zip(reversed(range(80)), rests, strict=True)
    ]
    net = network(thresholds)
    (run,) = runs(net)
    assert (run.unit - 150) % 64 == 0 and run.lowest == 0 and run.blocks == 80
    inside = [
        pick.randrange(1 << 80) * size + pick.randint(-size // 9, size // 9) for _ in range(50)
    ]
    assert singles(net, rows(inside)) == 0
    assert singles(net, rows([thresholds[0], thresholds[-1] + 1, size << 81])) > 0  # in doubt


@pytest.mark.parametrize("place", [0, 3, 9, 19])
def test_other_thresholds_are_not_taken_for_levels(place):
    """A fold that is far from its level ends the run, or begins none; answers stay exact."""
    pick = random.Random(place)
    size = 1 << 100
    thresholds = [(size << t) - size // 2 + pick.randint(-99, 99) for t in reversed(range(20))]
    thresholds[place] += thresholds[place] // 3
    net, batch = network(thresholds), rows(values(sorted(thresholds)[::-1], size, place))
    assert all(not isinstance(run, Levels) or run.blocks < 20 for run in runs(net))
    assert list(limbs.evaluate(net, batch)) == list(exact.evaluate(net, batch))


def test_a_slope_of_three_is_no_level():
    net = network([(1 << 100 + t) - (1 << 99) + 7 * t * t for t in reversed(range(12))])
    entry, first, *rest = net.layers
    steep = replace(net, layers=(entry, replace(first, W2=matrix(1, 1, {(0, 0): -3})), *rest))
    assert not isinstance(runs(steep)[0], Levels) and isinstance(runs(net)[0], Levels)
    batch = rows([(1 << 100) * x + 5 for x in (0, 1, 77, 3000, 4095)])
    assert list(limbs.evaluate(steep, batch)) == list(exact.evaluate(steep, batch))
