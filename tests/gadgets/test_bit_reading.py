"""Lemmas G.4, G.5 and G.6, repaired: bits, comparison, search."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.bit_reading import Tape, answer, search
from byheart.gadgets.relu_layers import Step, relu_layers, row


def bits(number, first, last, length):
    """BIN_first:last of a number of `length` bits, the most significant bit being number 1."""
    return int(format(number, f"0{length}b")[first - 1 : last] or "0", 2)


def packed(values, width):
    return int("".join(format(v, f"0{width}b") for v in values), 2)


def searching(items, rho, c):
    steps = search("x", Tape("u", items, rho), Tape("w", items, c), (), [answer("y")])
    return relu_layers(["x", "w", "u"], steps)


def found(run, x, keys, labels, rho, c):
    (y,) = run(searching(len(keys), rho, c), [x, packed(labels, c), packed(keys, rho)])
    return y


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
    steps = [Step("", tape.start())]
    for item in range(items):
        for step in range(width):
            sums = row("u sum", tape.gathered(item, step))
            held = (row("u sum", {"u sum": 1}),)
            steps.append(Step("", (*tape.kinks(step), sums)))
            steps.append(Step("", (*tape.tents(step), *held)))
            last = Step("", tuple(row(x, {x: 1}) for x in tape.fractions) + held)
            steps.append(Step("", last.rows + tape.difference(step)))
        read = Step("", (row("key", tape.gathered(item, width)),))
        layers = relu_layers(["u"], [*steps, read])
        expected = bits(number, item * width + 1, (item + 1) * width, items * width)
        assert run(layers, [number]) == [expected]


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40))
def test_no_weight_is_longer_than_the_lemma_says(items, width):
    """Horner's rule (D6): n + 2 bits. The paper's sum of 2^(j-t) bit_t has 2^(n+2-t) 2^(j-t)."""
    tape, n = Tape("u", items, width), items * width
    gathered = [tape.gathered(i, t) for i in range(items) for t in range(1, width + 1)]
    longest = max(weight.fixed_bits for terms in gathered for weight in terms.values())
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
    """D7: 3 n max(rho, c) + 3 n + 2; Lemma G.6 says + 2 n, although G.5 has two layers and F^y
    one. Keys are 2 or more, so rho >= 2."""
    layers = searching(items, rho, c)
    assert len(layers) == 3 * items * max(rho, c) + 3 * items + 2
    assert max(layer.weight.rows for layer in layers) <= 12
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
    layers = searching(2, rho, c)
    ends = [run(layers[:-1], [x, packed(labels, c), packed(keys, rho)]) for x in (2, 9)]
    tape = [lane[2:6] for lane in ends]  # rows are x, found, u z, u y, w z, w y, match, ...
    assert tape[0] == tape[1]
    assert [run(layers[-1:], end) for end in ends] == [[1], [2]]


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
        for place, entry in enumerate(layer.weight.entries):
            value = entry.value._replace(mantissa=-entry.value.mantissa)
            entries = list(layer.weight.entries)
            entries[place] = entry._replace(value=value)
            changed = replace(layer, weight=replace(layer.weight, entries=tuple(entries)))
            other = [*layers[:index], changed, *layers[index + 1 :]]
            columns = [[x, packed(labels, c), packed(keys, rho)] for x in (2, 5, 9)]
            noticed.append([run(other, x) for x in columns] != [[1], [0], [2]])
    assert sum(noticed) > 0.6 * len(noticed)
