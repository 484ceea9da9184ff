"""Each gadget does what its docstring claims, with the parameters it states."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byheart.exact.lanes import Lane, apply
from byheart.exact.network import dyadic
from byheart.gadgets.blocks import (
    Block,
    digit_order,
    feed_forward,
    fold,
    fold_and_count,
    read_digits,
    select,
)

whole = st.one_of(st.integers(-20, 20), st.integers(-(1 << 200), 1 << 200))
dyadics = st.builds(lambda m, e: Fraction(m, 1 << e), whole, st.integers(0, 90))
positive = st.builds(lambda m, e: Fraction(m, 1 << e), st.integers(1, 1 << 90), st.integers(0, 90))
LANES = {"spare": 0, "x": 1, "y": 2, "z": 3}


def run(block, values, lanes=LANES):
    """The block on one column, by the reference evaluator; values and result by lane name."""
    stream = {}
    for name, value in values.items():
        number = dyadic(Fraction(value))
        held = np.empty(1, dtype=object)
        held[0] = number.mantissa << max(0, number.exponent)
        stream[lanes[name]] = Lane(held, max(0, -number.exponent))
    result = apply(feed_forward(block, lanes), stream, 1)
    names = {place: name for name, place in lanes.items()}
    return {names[lane]: Fraction(int(x.values[0])) / (1 << x.scale) for lane, x in result.items()}


def parameters(block, lanes=LANES):
    return sum(len(tensor.entries) for tensor in feed_forward(block, lanes).tensors.values())


def test_by_hand():
    assert run(fold("", "x", 3), {"x": 5}) == {"x": 1}
    assert run(fold("", "x", 3), {"x": 2}) == {"x": 2}
    assert run(fold("", "x", 3, 3), {"x": 5}) == {"x": -1}
    table = select("", "y", {"x": [0, 4, 1]}, {}, reset=False)
    assert [run(table, {"x": 10, "y": j})["x"] for j in range(3)] == [10, 14, 11]
    # of two labels of room 4 each, 4 1/2 is in the upper one
    (digit,) = read_digits("", "x", 2, 4, "y", centred=False)
    assert run(digit, {"x": Fraction(9, 2), "y": 1}) == {"x": Fraction(9, 2), "y": 2}


@given(dyadics, dyadics.filter(bool), st.integers(1, 5), dyadics)
def test_fold(value, threshold, slope, other):
    block = fold("s", "x", threshold, slope)
    result = run(block, {"x": value, "spare": other})
    assert result == {"x": value - slope * max(value - threshold, 0), "spare": other}
    if slope == 2:
        assert result["x"] == threshold - abs(value - threshold)
    assert parameters(block) == 3
    assert feed_forward(block, LANES).stage == "s"


@given(dyadics, dyadics.filter(bool), dyadics, st.integers(-9, 9).filter(bool))
def test_fold_with_further_writes(value, threshold, other, weight):
    block = fold("", "x", threshold, extra=[("z", 0, weight)])
    result = run(block, {"x": value, "z": other})
    assert result["z"] == other + weight * max(value - threshold, 0)
    assert result["x"] == threshold - abs(value - threshold)
    assert parameters(block) == 4


@given(
    dyadics.filter(bool), st.integers(-40, 90), positive, st.booleans(), dyadics, st.integers(1, 99)
)
def test_fold_and_count(threshold, log, distance, fires, count, weight):
    """The gap is a power of two, as 1 / gap must be dyadic; the lane is outside the gap."""
    gap = Fraction(2) ** log
    if threshold == -gap:  # a bias that is 0 would be no parameter
        threshold -= gap / 2
    value = threshold + gap - distance if not fires else threshold + gap + distance
    if not fires and value > threshold:
        value = threshold
    block = fold_and_count("", "x", threshold, gap, "y", weight)
    result = run(block, {"x": value, "y": count})
    assert result["x"] == threshold - abs(value - threshold)
    assert result["y"] == count + (weight if fires else 0)
    assert parameters(block) == 7


def test_fold_and_count_at_the_edges():
    block = fold_and_count("", "x", 8, 4, "y", 3)
    counted = {value: run(block, {"x": value, "y": 0})["y"] for value in (7, 8, 10, 12, 13)}
    assert counted == {7: 0, 8: 0, 10: Fraction(3, 2), 12: 3, 13: 3}  # 10 is inside the gap


@st.composite
def tables(draw):
    rows = draw(st.integers(2, 9))
    lanes = draw(st.lists(st.sampled_from(["x", "y", "spare"]), min_size=1, unique=True))
    cells = st.lists(whole, min_size=rows - 1, max_size=rows - 1)
    return {lane: [0, *draw(cells)] for lane in lanes}


@given(tables(), st.booleans(), st.data())
def test_select(values, reset, data):
    rows = len(next(iter(values.values())))
    constants = data.draw(st.dictionaries(st.sampled_from(list(values)), dyadics.filter(bool)))
    block = select("", "z", values, constants, reset)
    before = {lane: data.draw(dyadics) for lane in values}
    for index in range(rows):
        result = run(block, {**before, "z": index})
        for lane, table in values.items():
            assert result[lane] == before[lane] + table[index] + constants.get(lane, 0)
        assert result["z"] == (0 if reset else index)
    second = [
        v[i + 1] - 2 * v[i] + (v[i - 1] if i else 0)
        for v in values.values()
        for i in range(rows - 1)
    ]
    # two a row but for the first unit's bias, which is 0; one a row and lane unless it vanishes
    stated = 2 * (rows - 1) - 1 + len(second) - second.count(0)
    assert parameters(block) == stated + len(constants) + reset
    assert len(block.units) == rows - 1


@given(st.integers(2, 60), st.integers(0, 100), st.data(), st.booleans())
def test_read_digits(count, exponent, data, centred):
    one = 1 << exponent
    rank = data.draw(st.integers(0, count - 1))
    x = rank * one + Fraction(data.draw(st.integers(1, 2 * one - 1)), 2)
    lanes = {"x": x - one * ((count + 1) // 2) if centred else x, "y": 0}
    blocks = list(read_digits("", "x", count, one, "y", centred))
    for block in blocks:
        lanes = run(block, lanes)
    assert lanes["y"] == digit_order(count)[rank]
    digits = (count - 1).bit_length()
    assert len(blocks) == digits
    assert sum(parameters(block) for block in blocks) == 7 * digits - (2 if centred else 1)


@given(st.integers(1, 3000))
def test_digit_order(count):
    order = digit_order(count)
    assert sorted(order) == list(range(count)) and order[0] == 0


@given(st.lists(dyadics, min_size=3, max_size=3))
def test_block_adds_constants_and_repeated_writes(values):
    block = Block("", [({"x": 1, "y": -2}, 3)], [("z", 0, 1), ("z", 0, 4)], {"y": Fraction(1, 2)})
    x, y, z = values
    result = run(block, {"x": x, "y": y, "z": z})
    assert result == {"x": x, "y": y + Fraction(1, 2), "z": z + 5 * max(x - 2 * y + 3, 0)}
    assert block.lanes() == ["x", "y", "z", "z", "y"]
