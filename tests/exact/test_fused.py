"""The fused operations and their fallbacks: networks made by hand around the guards."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.generate import random
from byheart.exact import reference as exact
from byheart.exact.batch import Batch, columns
from byheart.exact.limbs import arithmetic, kernels
from byheart.exact.limbs import engine as limbs
from byheart.exact.limbs.program import translate
from byheart.exact.limbs.runs import Finder, Folds, Powers
from byheart.exact.limbs.shortcuts import gated_lanes
from byheart.exact.limbs.stack import stacks
from byheart.exact.network import Entry, FeedForward, Input, Linear, Network, dyadic, matrix, vector
from byheart.exact.prove import batch_of_data

WIDTH = 8


def block(units, writes, constants=()):
    """units: [({lane: weight}, bias)]; writes: {(lane, unit): weight}; constants: {lane: value}."""
    terms = {(i, lane): w for i, (lanes, _) in enumerate(units) for lane, w in lanes.items()}
    return FeedForward(
        matrix(len(units), WIDTH, terms),
        vector({i: bias for i, (_, bias) in enumerate(units)}, len(units)),
        matrix(WIDTH, len(units), writes),
        vector(dict(constants), WIDTH),
    )


def fold(threshold, slope=2, lane=0, **others):
    """lane -= slope * excess; l3=-4 takes four times the excess off lane 3."""
    writes = {(int(name[1:]), 0): weight for name, weight in others.items()}
    return block([({lane: 1}, -threshold)], {(lane, 0): -slope, **writes})


def network(*blocks, inputs=1, output=0):
    """The inputs are lanes 0, 1, ...; the output is one lane."""
    entry = Linear(matrix(WIDTH, inputs, {(i, i): 1 for i in range(inputs)}), vector({}, WIDTH))
    leave = Linear(matrix(1, WIDTH, {(0, output): 1}), vector({}, 1))
    padding = (dyadic(0),) * inputs
    return Network(Input(inputs, 1, False, padding), (entry, *blocks, leave))


def rows(*values):
    vectors = np.array([x if isinstance(x, tuple) else (x,) for x in values])
    return Batch(vectors, np.arange(len(vectors)), np.arange(len(vectors) + 1))


def agree(net, batch):
    """Both engines' answers."""
    wanted = list(exact.evaluate(net, batch))
    assert list(limbs.Evaluator(net)(batch)) == wanted
    return wanted


def singles(net, batch):
    """How many runs of the first stack were done block by block."""
    stack, seen = stacks(net)[0], columns(net.input, batch)
    program = translate(stack, seen.exponent)
    numbers, integers = program.memory(64)
    inputs = limbs._integers(seen.vectors[: len(batch)])
    result = np.empty((len(inputs), program.outputs, 64), dtype=np.uint64)
    assert kernels.run(numbers, integers, inputs, program.base, result)
    return integers[arithmetic.SINGLES]


@given(st.integers(0, 90), st.integers(0, 90), st.data())
def test_folding_at_powers_of_two_gives_a_distance(lowest, count, data):
    """The lemma of fused.powers, on Python integers."""
    highest, unit = lowest + count, 2 << lowest
    ends = [0, 2 << highest, *(1 << t for t in range(lowest, highest + 1))]
    x = data.draw(st.one_of(st.integers(0, 2 << highest), st.sampled_from(ends)))
    distance = min(x % unit, -x % unit)
    for t in range(highest, lowest - 1, -1):
        x = (2 << t) - x if x > 1 << t else x
    assert x == distance


@pytest.mark.parametrize("shift", [0, 30, 60, 64, 100])
def test_powers(shift):
    scale = block([({0: 1}, 0)], {(0, 0): 2**shift - 1})
    net = network(scale, *(fold(2 ** (shift + t)) for t in (6, 5, 4, 3)))
    inside, outside = range(-3, 2**7 + 1), range(2**7 + 1, 2**7 + 20)
    agree(net, rows(*inside, *outside))
    assert singles(net, rows(*inside)) == 0
    assert singles(net, rows(*outside)) == len(outside)


def test_long_folds_add_up_their_rests():
    """Thresholds with more digits than v; near a threshold the folds are done one by one."""
    scale = block([({0: 1}, 0)], {(0, 0): 2**130 - 1})
    thresholds = [t * 2**130 + rest for t, rest in [(600, 3**80), (301, -(5**40)), (150, 7**9)]]
    net = network(scale, *map(fold, thresholds))
    values = list(range(1, 1200, 7))
    agree(net, rows(0, *values, 600, 301, 150, 149, 151))
    assert singles(net, rows(*values)) == 0
    shifted = network(
        block([({}, 0)], {}, {0: 3**80}), scale, *map(fold, thresholds)
    )  # a rest of x too
    agree(shifted, rows(*values))


def test_a_value_at_a_threshold_is_folded_exactly():
    net = network(fold(2**20 + 1), fold(2**19 + 1), fold(777))
    at = [2**20 + 1, 2**20 + 2, 2**20, 2**19 + 1, 2**19 + 2, 777, 778, 776, 0, -5, 2**40]
    agree(net, rows(*at))


@pytest.mark.parametrize("slope", [3, 5, 31])
def test_steep_folds(slope):
    net = network(fold(900, slope), fold(600, slope), fold(399, slope))
    agree(net, rows(*range(-10, 2000), 2**57))
    assert singles(net, rows(*range(-10, 2000))) == 0
    assert singles(net, rows(2**61)) == 1
    fine = rows(*(x + 2.0**-52 for x in range(1, 4)), 1000.0 + 2.0**-40)
    agree(net, fine)


def test_folds_of_numbers_that_are_too_long():
    net = network(fold(900), fold(500))
    batch = rows(2**61, 1000, 3)
    agree(net, batch)
    assert singles(net, batch) == 1


def bent(values):
    """The weights of relu(j), relu(j - 1), ... that give the values at 1, 2, ... from values[0]."""
    slopes = [b - a for a, b in zip(values, values[1:], strict=False)]
    return [b - a for a, b in zip([0, *slopes], slopes, strict=False)]


def closing(table, weight=-4, front=(), output=3):
    """Lane 2 is closed by the first fold, receives a table of lane 1 and is added to lane 3."""
    units = [({1: 1}, -i) for i in range(len(table) - 1)]
    writes = {(2, i): x for i, x in enumerate(bent(table))} | {(3, 0): 1}
    return network(
        *front,
        fold(2**40, l2=weight),
        fold(2**39 + 1),
        block(units, writes, {2: table[0]}),
        block([({2: 1}, 0)], {(3, 0): 1}),
        inputs=2,
        output=output,
    )


TABLE = [7, 2**30, 5, 2**33, 0]


def test_tables_of_gated_lanes():
    net = closing(TABLE)
    batch = rows(*((x, j) for x in (5, 2**39, 2**40 - 99, 2**40 + 2**32, 2**41) for j in range(5)))
    agree(net, batch)
    assert singles(net, batch) == 0


@pytest.mark.parametrize("excess", [-10, -6, 0, 1, 6, 7, 100, 2**31 - 1, 2**31, 2**31 + 6, 2**32])
def test_an_excess_that_does_not_close(excess):
    """4 * excess against the most the lane receives, 2**33: below, all must be done singly."""
    batch = rows(*((2**40 + excess, j) for j in range(5)))
    agree(closing(TABLE), batch)
    if 6 < excess < 2**31:
        assert singles(closing(TABLE), batch) == 5  # the folds
    elif excess > 2**31 + 6:
        assert singles(closing(TABLE), batch) == 0


def test_minus_one_is_not_closed():
    """-1, stored without limbs, must not be taken for a closed lane."""
    net = closing([5, 6, 7, 8], weight=-1)
    assert agree(net, rows((2**40 + 1, 0), (2**40 + 2, 0), (2**40 + 9, 0))) == [4, 3, 0]


@pytest.mark.parametrize(
    "net", [closing([3, -2, 9, 1]), closing(TABLE, front=[block([({}, 0)], {}, {2: 4})])]
)
def test_tables_of_lanes_that_are_not_gated(net):
    batch = rows(*((x, j) for x in (5, 2**40 + 1, 2**40 + 2**35, 2**41) for j in range(4)))
    agree(net, batch)


def test_a_table_read_elsewhere():
    agree(closing(TABLE), rows((5, 0.5), (2**40 + 2**35, 2.25), (3, 9), (3, -1)))


def test_tables_of_numbers_that_are_longer_than_the_frame():
    """The smallest frame has 16 limbs, the last number 21, which is never looked up: the room for
    it would reach into lane 4."""
    net = closing([*TABLE[:-1], 2 ** (64 * 20)], front=[block([({}, 0)], {}, {4: 77})], output=4)
    assert agree(net, rows(*((x, j) for x in (5, 2**39) for j in range(4)))) == [77] * 8


def counting(gap):
    step = dyadic(3).fraction / gap
    units = [({0: 1}, -(2**40)), ({0: 1}, -(2**40) - gap)]
    count = block(units, {(0, 0): -2, (1, 0): step, (1, 1): -step})
    return network(count, fold(2**39 + 1), output=1)


@pytest.mark.parametrize("gap", [1, 4, 2**20])
def test_counting(gap):
    net = counting(gap)
    far = rows(5, 2**40 + gap + 6, 2**41 - 77)
    agree(net, far)
    assert singles(net, far) == 0
    around = [*range(-8, 9), *range(gap - 8, gap + 9), gap // 2, gap // 4]
    agree(net, rows(*(2**40 + x for x in around)))


def shifting(power):
    """Lane 1, shifted by 5 and by 64 places unless a fold of lane 0 closes the gates."""
    shift = [block([({1: 1, g: 1}, 0)], {(1, 0): 2**s - 1}) for g, s in ((2, 5), (3, 64))]
    folds = fold(2**40, l2=-(2**power)), fold(2**39, l3=-(2**power))
    return network(*folds, fold(99), *shift, inputs=2, output=1)


@pytest.mark.parametrize("power", [0, 10, 90])
def test_shifts(power):
    """Gates are closed by a bound; where it does not decide, the program gives up and is redone."""
    values = [0, 1, 7, 2**20, 2**40, 2**50, -9]
    sizes = [5, 2**39 + 2**20, 2**40 + 50, 2**40 + 2**38, 2**41, 2**40, 2**39 + 1]
    agree(shifting(power), rows(*((x, y) for x in sizes for y in values)))
    if power == 90:
        easy = rows(*((x, y) for x in (5, 2**40 + 2**38, 2**41 - 9) for y in (1, 7, 2**50)))
        assert singles(shifting(90), easy) == 0


@pytest.fixture(scope="module")
def memorised():
    dataset = random(3000, seed=4)
    model = compile(dataset, editable=True)  # with tables, whose runs are all fused
    return model.network, *batch_of_data(model, dataset)


def test_a_compiled_network_is_fused(memorised):
    """All runs are found, and no guard fails on the sequences that the network was made for."""
    net, batch, wanted = memorised
    token, sequence = stacks(net)
    point = 64 * 20
    kinds = [
        {type(run) for run, _ in Finder(stack, gated_lanes(stack, point), True, point).runs()}
        for stack in (token, sequence)
    ]
    assert kinds[0] == {Folds}
    assert {Folds, Powers} <= kinds[1]
    assert singles_of_all_stacks(net, batch) == [0, 0]
    assert list(limbs.Evaluator(net)(batch)) == wanted.tolist()


def singles_of_all_stacks(net, batch):
    """How many runs of a token's stack, and of a sequence's, were done block by block."""
    token, sequence = stacks(net)
    seen = columns(net.input, batch)
    inputs, exponent = limbs._integers(seen.vectors), seen.exponent
    found = []
    for runner in map(limbs._Runner, (token, sequence)):
        program = translate(runner.stack, exponent, True)
        numbers, integers = program.memory(32)
        result = np.empty((len(inputs), program.outputs, 32), dtype=np.uint64)
        assert kernels.run(numbers, integers, inputs, program.base, result)
        found.append(int(integers[arithmetic.SINGLES]))
        if runner.stack is token:
            tokens = runner.run(inputs, exponent)
            _, index = next(seen.indices(len(batch)))
            inputs = np.empty((len(batch), 2, tokens.limbs.shape[2] + 1), dtype=np.uint64)
            every = np.arange(index.shape[1])
            limbs.connect(
                tokens.limbs, index, 1, np.tile([0, len(every)], (len(every), 1)), every, inputs
            )
            exponent = 64 * tokens.base
    return found


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_changed_weight_changes_both_engines_alike(memorised, data):
    net, batch, _ = memorised
    check_changed(net, batch, data)


def check_changed(net, batch, data):
    """One weight is changed: both engines still agree."""
    few = Batch(batch.vectors, batch.ids[: batch.starts[40]], batch.starts[:41])
    place = data.draw(st.integers(0, len(net.layers) - 1))
    layer = net.layers[place]
    name = data.draw(st.sampled_from([n for n, m in sorted(layer.tensors.items()) if m.entries]))
    tensor = layer.tensors[name]
    number = data.draw(st.integers(0, len(tensor.entries) - 1))
    row, column, value = tensor.entries[number]
    change = data.draw(
        st.sampled_from([1, -1, 2**60, -(2**190), value.fraction, -2 * value.fraction])
    )
    entries = list(tensor.entries)
    entries[number] = Entry(row, column, dyadic(value.fraction + 4 * change))
    entries = [entry for entry in entries if entry.value.mantissa]
    changed = replace(layer, **{name: replace(tensor, entries=tuple(entries))})
    agree(replace(net, layers=(*net.layers[:place], changed, *net.layers[place + 1 :])), few)
