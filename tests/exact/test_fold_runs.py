"""Runs of folds that read other lanes, strips, and blocks of one lane: against exact integers."""

import importlib.util
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.generate import random
from byheart.exact.batch import Batch
from byheart.exact.limbs import arithmetic as at
from byheart.exact.limbs import engine as limbs
from byheart.exact.limbs.folds import Folds
from byheart.exact.limbs.runs import Finder, Powers
from byheart.exact.limbs.shortcuts import gated_lanes
from byheart.exact.limbs.stack import stacks
from byheart.exact.limbs.writer import Writer
from byheart.exact.prove import batch_of_data

specification = importlib.util.spec_from_file_location(
    "fused", Path(__file__).with_name("test_fused.py")
)
fused = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fused)
agree, block, network, rows, singles = (
    fused.agree, fused.block, fused.network, fused.rows, fused.singles
)  # fmt: skip

HALF = Fraction(1, 2)
X, BITS, INDEX, FILLED, GATE = 0, (1, 2, 3), 4, (5, 6), 7
POINT = 64 * 20


def fold(threshold, slope=2, reads=(), constant=0, writes=()):
    """x += constant - slope relu(x - threshold - what is read); writes: {(lane, 0): weight}."""
    unit = {X: 1, **{lane: -weight for lane, weight in dict(reads).items()}}
    return block([(unit, -threshold)], {(X, 0): -slope, **dict(writes)}, {X: constant})


def keep(threshold, gap, lane, amount=1, reads=(), slope=2):
    """A fold that also adds `amount` to a lane, as soon as the excess is `gap`."""
    unit = {X: 1, **{lane: -weight for lane, weight in dict(reads).items()}}
    step = Fraction(amount) / gap
    writes = {(X, 0): -slope, (lane, 0): step, (lane, 1): -step}
    return block([(unit, -threshold), (unit, -threshold - gap)], writes)


def select(columns):
    """lane += column[index] for each lane, 0 being the first number of each column."""
    size = len(next(iter(columns.values())))
    writes = {
        (lane, i): weight
        for lane, column in columns.items()
        for i, weight in enumerate(fused.bent(column))
    }
    return block([({INDEX: 1}, -i) for i in range(size - 1)], writes)


def kinds(net):
    """The runs of the first stack, with the number of their blocks."""
    stack = stacks(net)[0]
    found = Finder(stack, gated_lanes(stack, POINT), True, POINT).runs()
    return [(type(run), len(blocks)) for run, blocks in found]


# --- folds that read


def test_a_kept_bit_is_read_by_hand():
    """Fold at 100 and keep the bit; then fold at 40 + 8 bit: 130 -> 70 -> 2 (48) - 70 = 26."""
    net = network(keep(100, 4, 1), fold(40, reads={1: 8}))
    assert kinds(net) == [(Folds, 2)]
    inside = rows(130, 97, 30, 41, 155)
    assert agree(net, inside) == [26, -17, 30, 39, 45]
    assert singles(net, inside) == 0
    # between 100 and 104 the lane holds a part of the bit
    between = rows(100, 101, 102, 103, 104)
    assert agree(net, between) == [-20, -15, -10, -5, 0]


def test_a_table_is_read_by_hand():
    """x = 25 fires both rows: index 3, which adds 7 to x and 5 to the lane that is read."""
    columns = {X: [0, 1, 2, 7], FILLED[0]: [0, 4, -6, 5]}
    net = network(
        keep(20, 1, INDEX, 2),
        keep(10, 1, INDEX, 1),
        select(columns),
        fold(5, reads={FILLED[0]: HALF}),
    )
    assert kinds(net) == [(Folds, 4)]
    # 25 -> 15 -> 5 -> 12; threshold 7.5: 3
    assert agree(net, rows(25, 0, 12)) == [3, 0, 5]
    assert singles(net, rows(25, 0, 12)) == 0


def test_lanes_that_are_read_later_are_computed():
    columns = {X: [0, 1, 2, 7], FILLED[0]: [0, 4, -6, 5]}
    blocks = keep(20, 1, INDEX, 2), keep(10, 1, INDEX, 1), select(columns)
    for lane in (X, INDEX, FILLED[0]):
        net = network(*blocks, fold(5, reads={FILLED[0]: HALF}), output=lane)
        agree(net, rows(*range(-3, 40)))


def test_an_index_that_changes_after_its_table():
    """The lane that the table filled keeps its number when the index grows."""
    columns = {FILLED[0]: [0, 40, 50, 60]}
    net = network(
        keep(200, 1, INDEX), select(columns), keep(100, 1, INDEX), fold(20, reads={FILLED[0]: 1})
    )
    agree(net, rows(*range(-5, 400)))


@st.composite
def chains(draw):
    """A network of folds in all forms, and inputs at and around the thresholds."""
    scale = draw(st.sampled_from([0, 3, 57, 60, 64, 130, 190]))
    unit = 1 << scale
    small = st.integers(-(unit // 3) - 2, unit // 3 + 2)
    limit = draw(st.integers(3, 1 << 20))
    offset = draw(st.sampled_from([0, -limit, -2 * limit, 5 * limit])) * unit
    kept, indices, filled, blocks, thresholds = [], 0, [], [], []
    for _ in range(draw(st.integers(1, 9))):
        kind = draw(
            st.sampled_from(
                ["fold", "fold", "read", "read", "keep", "keep", "row", "select", "take"]
            )
        )
        threshold = limit * unit + offset + draw(small)
        gap = Fraction(unit) / draw(st.sampled_from([1, 2, 8]))
        reads = {lane: Fraction(draw(small), 2) for lane in kept if draw(st.booleans())}
        reads |= {lane: draw(st.sampled_from([HALF, -1])) for lane in filled if draw(st.booleans())}
        if kind == "keep" and len(kept) < len(BITS):
            lane = BITS[len(kept)]
            blocks.append(keep(threshold, gap, lane, draw(st.integers(1, 3)), reads))
            kept.append(lane)
        elif kind == "row" and indices < 3:
            amount = draw(st.integers(0, min(2, 3 - indices)))
            indices += amount
            blocks.append(keep(threshold, gap, INDEX, amount))
        elif kind == "select":
            column = st.lists(small, min_size=4, max_size=4).map(lambda x: [0, *x[1:]])
            lanes = [X, *draw(st.sampled_from([(), FILLED[:1], FILLED]))]
            blocks.append(select({lane: draw(column) for lane in lanes}))
            filled = sorted({*filled, *lanes[1:]})
        elif kind == "take":
            blocks.append(fold(threshold, writes={(GATE, 0): -(1 << draw(st.integers(0, 300)))}))
        else:
            slope = draw(st.sampled_from([2, 2, 2, 1, 3, 31]))
            constant = draw(st.sampled_from([0, 0, unit // 4 + HALF, -limit * unit]))
            blocks.append(fold(threshold, slope, reads if kind == "read" else {}, constant))
        thresholds.append(threshold)
        limit = max(1, limit // 2)
    if draw(st.booleans()):
        blocks.append(block([({X: 1, GATE: 1}, 0)], {(X, 0): 2 ** draw(st.integers(1, 70)) - 1}))
    output = draw(st.sampled_from([X, X, X, *BITS, INDEX, *FILLED]))
    near = st.builds(lambda t, x: t + x, st.sampled_from(thresholds), st.integers(-9, 9))
    free = st.integers(-4 * abs(thresholds[0]) - 9, 4 * abs(thresholds[0]) + 9)
    values = draw(st.lists(st.one_of(near, free, st.just(1 << 320)), min_size=1, max_size=8))
    return network(*blocks, output=output), values


def batch_of(values):
    """Inputs of any length."""
    vectors = np.array([[x] for x in values], dtype=object)
    return Batch(vectors, np.arange(len(values)), np.arange(len(values) + 1))


@settings(max_examples=250, deadline=None)
@given(chains())
def test_chains_of_folds(case):
    net, values = case
    agree(net, batch_of(values))


def test_long_chains_of_folds_that_read():
    """Twelve kept bits are looked up in groups; leading parts decide, or all limbs do."""
    scale, folds = 300, 40
    unit = 3 << scale
    numbers = [pow(7, 100 + i, unit // 64) - unit // 128 for i in range(folds * 4)]
    blocks = []
    for t in range(folds):
        threshold = ((1 << folds - t) - (1 << folds) - HALF) * unit + numbers[t]
        if 2 <= t < 14:
            blocks.append(keep(threshold, 1 << scale - 3, BITS[t % 3]))
        else:
            reads = {lane: numbers[folds + 3 * t + i] for i, lane in enumerate(BITS)}
            blocks.append(fold(threshold, reads=reads if t >= 14 else {}))
    net = network(*blocks)
    assert kinds(net) == [(Folds, folds)]
    values = [(pow(5, 50 + i, 2 << folds) - (1 << folds)) * unit + 3**i for i in range(150)]
    agree(net, batch_of(values))
    assert singles(net, batch_of(values)) == 0
    edges = [t for t in (-b.b1[0, 0] for b in blocks) for t in (t - HALF, t, t + HALF)]
    agree(net, batch_of([int(2 * t) for t in edges] + [int(t) for t in edges]))


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("last", ["fold", "keep", "take"])
def test_values_that_come_close_to_a_late_threshold(last, reading):
    """All folds before it fire, and the errors of the leading parts add up.

    A fold turns the error of x round and adds that of twice its threshold: almost 1, then 0.
    """
    thresholds = [(1 << 240 - i) + (i % 2 == 0) * ((1 << 190) - 1) for i in range(24)]
    steps = 0, HALF, 1, 2**100, *(i * 2**189 for i in range(1, 200))
    for late in (1, 7, 23):
        middle = thresholds[late]
        blocks = [fold(t) for t in thresholds]
        if reading:
            kept = keep(thresholds[0], HALF, 2)
            blocks = [kept, *(fold(t - 2**180, reads={2: 2**180}) for t in thresholds[1:])]
        if last == "keep":
            blocks[late] = keep(middle, 1 << 191, 1)
        elif last == "take":
            blocks[late] = fold(middle, writes={(GATE, 0): -(1 << 50 - late)})
            blocks.append(block([({X: 1, GATE: 1}, 0)], {(X, 0): 7}))
        net = network(block([({}, 0)], {}, {X: -HALF}), *blocks, output=1 if last == "keep" else X)
        values = [middle + step for step in steps] + [middle - step for step in steps]
        for threshold in reversed(thresholds[:late]):
            values = [2 * threshold - value for value in values]
        agree(net, batch_of([Fraction(2 * x + 1, 2) for x in values]))


# --- strips


def strip(constant, start=0):
    """x <- constant - |x - start|."""
    return block([({X: 1}, -start)], {(X, 0): -2}, {X: constant - start})


@given(st.integers(1, 70), st.integers(1, 90), st.data())
def test_strips_give_a_distance(lowest, count, data):
    """c - |x| for c = 2**highest, ..., 2**lowest: the distance to multiples, less 2**lowest."""
    highest = lowest + count
    x = start = data.draw(st.integers(-(2 << highest), 2 << highest))
    for t in range(highest, lowest - 1, -1):
        x = (1 << t) - abs(x)
    assert x == min(start % (4 << lowest), -start % (4 << lowest)) - (1 << lowest)


@pytest.mark.parametrize("shift", [0, 30, 64, 100])
@pytest.mark.parametrize("first", [0, 1])
def test_strips(shift, first):
    """Also where the first one is at another place, and the last one adds another constant."""
    size = 2**7 << shift
    blocks = [strip(2 ** (t + shift)) for t in (5, 4, 3)] + [strip(5)]
    blocks.insert(0, strip(2 ** (6 + shift), first * size))
    net = network(*blocks)
    assert kinds(net) == [(Powers, 5)]
    middle = first * size
    inside = [middle + x for x in (-size, 1 - size, -1, 0, 1, 17 << shift, 99, size - 1, size)]
    agree(net, batch_of(inside))
    assert singles(net, batch_of(inside)) == 0
    above = [middle + size + x for x in (1, 2, size)]
    agree(net, batch_of(above))
    assert singles(net, batch_of(above)) == len(above)
    agree(net, batch_of([middle - size - x for x in (1, 2, size)]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_strips_with_one_number_changed(data):
    constants, starts = [64, 32, 16, 8, 4], [0] * 5
    changed = data.draw(st.sampled_from([constants, starts]))
    changed[data.draw(st.integers(0, 4))] += data.draw(st.sampled_from([-32, -1, HALF, 1, 7, 64]))
    agree(network(*map(strip, constants, starts)), rows(*range(-140, 140, 3)))


# --- blocks of one lane


@st.composite
def lines(draw):
    """A block whose units read one lane, and inputs at its kinks."""
    numbers = st.builds(
        lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(-9, 9), st.integers(-70, 70)
    )
    weights = st.builds(
        lambda m, e: Fraction(m) * Fraction(2) ** e,
        st.sampled_from([-5, -2, -1, 1, 3]),
        st.integers(-3, 3),
    )
    units = [({X: draw(weights)}, draw(numbers)) for _ in range(draw(st.integers(2, 5)))]
    places = [(lane, i) for lane in (X, 1, 2) for i in range(len(units))]
    writes = {place: draw(weights) for place in places if draw(st.booleans())}
    constants = {lane: draw(numbers) for lane in (X, 1) if draw(st.booleans())}
    kinks = [-bias / weights[X] for weights, bias in units]
    values = [x + step for x in kinks for step in (-1, 0, 1, 2**40) for x in (int(x // 1),)]
    return block(units, writes, constants), [int(x) for x in values]


@settings(max_examples=150, deadline=None)
@given(lines(), st.sampled_from([X, 1, 2]))
def test_lines(case, output):
    layer, values = case
    agree(network(layer, output=output), batch_of(values))


def test_a_zigzag_by_hand():
    """Slope 1 up to 3, then 3, then 1 again from 10 on."""
    net = network(block([({X: 1}, -3), ({X: 1}, -10)], {(X, 0): 2, (X, 1): -2}, {X: 0}))
    assert agree(net, rows(-4, 3, 4, 10, 12)) == [-4, 3, 6, 24, 26]


@given(
    st.integers(-(2**130), 2**130),
    st.integers(-(2**130), 2**130),
    st.booleans(),
    st.integers(0, 130),
)
@example(-(2**64), -(2**64) + 5, False, 0)
@example(-1, 0, False, 0)
def test_exceeds(x, y, close, zeros):
    """A slot against a constant, of either sign."""
    y = x + y % 3 - 1 if close else y
    x, y = x >> zeros << zeros, y
    numbers, integers = np.zeros(8, np.uint64), np.zeros(at.STATE + 3 + 4, np.int64)
    integers[at.FRAME], integers[at.LIMBS], integers[at.CONSTS] = 4, 4, at.STATE + 3
    for i in range(3):
        numbers[i], numbers[4 + i] = x >> 64 * i & 2**64 - 1, y >> 64 * i & 2**64 - 1
    at.finish(numbers, integers, 0, 0, 3, -1 if x < 0 else 0)
    writer = Writer(0, 0)
    writer.fresh([y])
    ((_, low, high, negative),) = writer.consts
    integers[at.STATE + 3 :] = 0, low, high, negative
    assert at.exceeds(numbers, integers, 0, 0) == (x > y)


# --- compiled networks


@pytest.fixture(scope="module")
def memorised():
    dataset = random(1000, seed=0)
    model = compile(dataset)
    assert any(layer.stage == "zigzag" for layer in model.network.layers)
    return model.network, *batch_of_data(model, dataset)


def test_a_network_of_readers_is_fused(memorised):
    """Its folds and strips are one operation each, and no guard fails on its sequences."""
    net, batch, wanted = memorised
    runs = kinds(net)
    stack = stacks(net)[1]
    found = list(Finder(stack, gated_lanes(stack, POINT), True, POINT).runs())
    one_by_one = type(None)  # the zigzag and shifts; the decoder and digits
    order = [kind for kind, _ in groupby(type(run) for run, _ in found)]
    assert order == [Folds, one_by_one, Powers, one_by_one]
    assert runs == [(Folds, len(stacks(net)[0].blocks))]
    assert fused.singles_of_all_stacks(net, batch) == [0, 0]
    assert list(limbs.Evaluator(net)(batch)) == wanted.tolist()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_changed_weight_of_a_reader(memorised, data):
    net, batch, _ = memorised
    fused.check_changed(net, batch, data)
