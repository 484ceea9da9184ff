"""Lemmas G.4, G.5 and G.6, repaired: bits, comparison, search."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.exact.network import dyadic
from byheart.gadgets.bit_reading import Tape, erased, rewound, search, together
from byheart.gadgets.blocks import Block, feed_forwards
from byheart.gadgets.key_values import TABLE

LANES = ("x", "y", *TABLE)


def bits(number, first, last, length):
    """BIN_first:last of a number of `length` bits, the most significant bit being number 1."""
    return int(format(number, f"0{length}b")[first - 1 : last] or "0", 2)


def packed(values, width):
    return int("".join(format(v, f"0{width}b") for v in values), 2)


def searching(items, rho, c):
    return feed_forwards(
        search("x", Tape("keys", items, rho), Tape("labels", items, c), "y"), LANES
    )


def stream(x, keys, labels, rho, c):
    """The lanes before the search."""
    start = {"x": Fraction(x), "keys": packed(keys, rho), "labels": packed(labels, c)}
    return [start.get(lane, Fraction(0)) for lane in LANES]


def found(run, x, keys, labels, rho, c):
    return run(searching(len(keys), rho, c), stream(x, keys, labels, rho, c))[1]


@st.composite
def tables(draw):
    rho, c = draw(st.integers(3, 9)), draw(st.integers(1, 9))
    places = st.lists(st.integers(1, (1 << rho) // 2 - 1), min_size=1, max_size=4, unique=True)
    keys = [2 * x for x in draw(places)]
    labels = [draw(st.integers(0, (1 << c) - 1)) for _ in keys]
    return keys, labels, rho, c


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_every_item_is_read(run, items, width, data):
    """Lemma G.4, i = j (width 1) included: D6."""
    number = data.draw(st.integers(0, (1 << items * width) - 1))
    tape = Tape("u", items, width)
    unit, writes, constants = tape.start()
    column = run(feed_forwards([Block("", [unit], writes, constants)], tape.lanes), [number, 0, 0])
    for item in range(items):
        for step in range(1, width + 1):
            parts = [tape.tents()], [tape.gather(item, step)]
            column = run(feed_forwards([together("", part) for part in parts], tape.lanes), column)
        expected = bits(number, item * width + 1, (item + 1) * width, items * width)
        assert column[2] == expected
        clear = together("", [erased(tape.lanes[2])])
        column = run(feed_forwards([clear], tape.lanes), column)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40))
def test_no_weight_is_longer_than_the_lemma_says(items, width):
    """Horner's rule (D6): n + 2 bits. The paper's sum of 2^(j-t) bit_t has 2^(n+2-t) 2^(j-t)."""
    tape, n = Tape("u", items, width), items * width
    gathered = [tape.gather(i, t)[1] for i in range(items) for t in range(1, width + 1)]
    longest = max(dyadic(weight).fixed_bits for writes in gathered for _, _, weight in writes)
    assert longest <= n + 2
    if width > 1:
        plain = (n + 2 - 1) + (width - 1) + 1  # digits of 2^(n+2-t) 2^(j-t) for t = i = 1
        assert plain > n + 2 or width == 2


@settings(deadline=None, max_examples=40)
@given(tables(), st.fractions(0, Fraction(999, 1000)))
def test_the_label_of_the_key(run, table, share):
    """Eq. (153) with c in place of rho (D2)."""
    keys, labels, rho, c = table
    for key, label in zip(keys, labels, strict=True):
        assert found(run, key + share, keys, labels, rho, c) == label


@settings(deadline=None)
@given(tables(), st.fractions(0, 1 << 10))
def test_nothing_elsewhere(run, table, x):
    """Eq. (154)."""
    keys, labels, rho, c = table
    if all(abs(x - Fraction(1, 2) - key) > 1 for key in keys):
        assert found(run, x, keys, labels, rho, c) == 0


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 5), st.integers(2, 8), st.integers(1, 8))
def test_depth_and_width(items, rho, c):
    """D7: two blocks per bit, three per comparison, one before. Keys from 2 on need rho >= 2."""
    layers = searching(items, rho, c)
    assert len(layers) == 2 * items * max(rho, c) + 3 * items + 1
    assert max(layer.W1.rows for layer in layers) == 8
    longest = max(e.value.fixed_bits for x in layers for t in x.tensors.values() for e in t.entries)
    assert longest == max(items * max(rho, c) + 2, c + 3)


def test_rho_and_c_are_not_to_be_mixed_up(run):
    """D2: (153) reads bits rho j + 1, ..., rho (j + 1) of w, which has c n of them only."""
    keys, labels, rho, c = [2, 9, 30], [3, 1, 2], 5, 2
    w = packed(labels, c)
    for j, (key, label) in enumerate(zip(keys, labels, strict=True)):
        assert found(run, key, keys, labels, rho, c) == label == bits(w, c * j + 1, c * (j + 1), 6)
    paper = [bits(w, rho * j + 1, rho * (j + 1), 6) for j in range(3)]
    assert paper != labels
    # Lemma C.1 says rho = log C, c = log R: then keys are cut
    assert [bits(packed(keys, rho), c * j + 1, c * (j + 1), 15) for j in range(3)] != keys


def test_the_found_label_needs_a_lane_of_its_own(run):
    """D3: H maps to five lanes and G outputs the fifth; but those do not depend on x at all."""
    keys, labels, rho, c = [2, 9], [1, 2], 4, 2
    ends = [run(searching(2, rho, c), stream(x, keys, labels, rho, c)) for x in (2, 9)]
    assert ends[0][2:] == ends[1][2:]
    assert [end[1] for end in ends] == [1, 2]


@given(tables(), st.fractions(0, 1 << 10))
def test_the_lanes_of_the_table_are_cleared(run, table, x):
    """Another table can be read after it: nothing but x and the answer is left, for any x."""
    keys, labels, rho, c = table
    tapes = Tape("keys", len(keys), rho), Tape("labels", len(keys), c)
    layers = feed_forwards([*search("x", *tapes, "y"), rewound(*tapes)], LANES)
    assert run(layers, stream(x, keys, labels, rho, c))[2:] == [0] * len(TABLE)


def test_keys_2_apart_cannot_match_twice(run):
    """Two keys 1 apart both hold x = 10: the answers add up."""
    assert found(run, Fraction(10), [9, 10], [1, 2], 4, 2) == 3
    assert found(run, Fraction(10), [8, 10], [1, 2], 4, 2) == 2


def test_a_changed_weight_is_noticed(run):
    """Most are; the others are weights of lanes that are 0 or not needed any more."""
    keys, labels, rho, c = [2, 9], [1, 2], 4, 2
    layers = searching(2, rho, c)
    noticed = []
    for index, layer in enumerate(layers):
        for name in ("W1", "W2"):
            weight = getattr(layer, name)
            for place, entry in enumerate(weight.entries):
                value = entry.value._replace(mantissa=-entry.value.mantissa)
                entries = list(weight.entries)
                entries[place] = entry._replace(value=value)
                changed = replace(layer, **{name: replace(weight, entries=tuple(entries))})
                other = [*layers[:index], changed, *layers[index + 1 :]]
                columns = [stream(x, keys, labels, rho, c) for x in (2, 5, 9)]
                noticed.append([run(other, x)[1] for x in columns] != [1, 0, 2])
    assert sum(noticed) > 0.6 * len(noticed)
