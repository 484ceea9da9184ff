"""Lemmas G.2 and G.3: numbers are added inside the interval, and nowhere else."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.blocks import feed_forwards
from byheart.gadgets.key_values import select

sizes = st.one_of(st.integers(2, 30), st.integers(2, 1 << 100))
numbers = st.integers(1, 1 << 100)


def selected(run, x, first, last, labels, keys, before=(0, 0)):
    blocks = select("x", first, last, {"labels": labels, "keys": keys})
    layers = feed_forwards(blocks, ["F", "x", "labels", "keys", "below", "above"])
    assert sum(len(t.entries) for x in layers for t in x.tensors.values()) == 6 + 14
    *lanes, below, above = run(layers, [Fraction(7), x, *before, Fraction(0), Fraction(0)])
    assert below == above == 0
    return lanes


@settings(deadline=None)
@given(sizes, st.integers(0, 100), numbers, numbers, st.fractions(0, 1), numbers, numbers)
def test_inside_and_outside(run, first, more, labels, keys, share, a, b):
    last = first + more
    inside = first + share * (last + 1 - first)
    assert selected(run, inside, first, last, labels, keys, (a, b)) == [
        7,
        inside,
        a + labels,
        b + keys,
    ]
    below = (first - Fraction(1, 2)) * share
    above = last + Fraction(3, 2) + share * 1000
    for x in (below, above):
        assert selected(run, x, first, last, labels, keys, (a, b)) == [7, x, a, b]


@settings(deadline=None)
@given(sizes, st.integers(1, 1000), st.fractions(0, Fraction(499, 1000)))
def test_between_it_is_neither(run, first, number, share):
    """bit_extraction, D11: on a gap of length 1/2 the selector is neither 0 nor 1."""
    x = first - Fraction(1, 2) + share
    found = selected(run, x, first, first, number, number)[2]
    assert found == number * 2 * share
    assert share == 0 or 0 < found < number


@settings(deadline=None)
@given(sizes, st.fractions(0, Fraction(999, 1000)), st.fractions(2, 9))
def test_keys_2_apart_fall_outside(run, key, share, distance):
    """Floors are stored; a key 2 away from the group's ends is never in a gap."""
    x = key + share
    for other in (x - distance, x + distance):
        if other >= 0:
            assert selected(run, other, key, key, 1, 1)[2:] == [0, 0]
