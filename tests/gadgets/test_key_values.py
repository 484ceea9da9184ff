"""Lemmas C.1 and F.1: labels for the keys of the table, 0 for every other known key."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.blocks import feed_forwards
from byheart.gadgets.key_values import TABLE, group_size, lookup, split_lookup, table
from byheart.theory.kajitsuka2025.sizes import lookup_size

LANES = ("x", "y", "one", "two", *TABLE)  # as many as the network of the theorem has


def nonzero(layers):
    return sum(len(t.entries) for layer in layers for t in layer.tensors.values())


def answers(run, blocks, known):
    """What is found for every x; x and the lanes of the table are as they were before."""
    layers, rest = feed_forwards(blocks, LANES), [Fraction(0)] * (len(LANES) - 1)
    columns = [run(layers, [Fraction(x), *rest]) for x in known]
    for x, column in zip(known, columns, strict=True):
        assert column[0] == x and not any(column[2:])
    return [column[1] for column in columns]


@st.composite
def cases(draw, most=12):
    """Known keys, 2 or more apart, some of them with a label."""
    gaps = draw(st.lists(st.fractions(2, 9, max_denominator=64), min_size=1, max_size=most))
    known = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    classes = draw(st.integers(1, 9))
    labels = draw(
        st.lists(st.integers(0, classes), min_size=len(known), max_size=len(known)).filter(any)
    )
    key_bits = math.floor(known[-1]).bit_length() + draw(st.integers(0, 3))
    chosen = [(math.floor(x), label) for x, label in zip(known, labels, strict=True) if label]
    chosen = draw(st.permutations(chosen))
    held = table([x for x, _ in chosen], [y for _, y in chosen], key_bits, classes.bit_length())
    return known, labels, held


@settings(deadline=None, max_examples=40)
@given(cases())
def test_lemma_c1(run, case):
    known, labels, held = case
    assert answers(run, lookup("x", held, "y"), known) == labels


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 400), st.integers(2, 12), st.integers(1, 12))
def test_size(items, key_bits, label_bits):
    keys = [2 * i + 2 for i in range(items)]
    key_bits = max(key_bits, keys[-1].bit_length())
    held = table(keys, [1] * items, key_bits, label_bits)
    layers = feed_forwards(lookup("x", held, "y"), LANES)
    size = lookup_size(items, key_bits, label_bits)
    assert nonzero(layers) == size.parameters
    assert len(layers) == size.depth
    assert {layer.W1.columns for layer in layers} == {size.width}
    assert size.dense == sum(t.rows * t.columns for x in layers for t in x.tensors.values())


def test_groups_without_a_member_are_dropped(run):
    """D5: with m = round(sqrt(N log N)) groups of k = ceil(N / m), some j has (j-1) k + 1 > N."""
    groups = {n: max(1, round(math.sqrt(n * math.log2(max(n, 2))))) for n in range(1, 60)}
    empty = [n for n, m in groups.items() if (m - 1) * -(-n // m) + 1 > n]
    assert empty
    n = empty[0]
    keys = [3 * i + 2 for i in range(n)]
    held = table(keys, [1 + i % 3 for i in range(n)], keys[-1].bit_length(), 2)
    assert answers(run, lookup("x", held, "y"), keys) == [1 + i % 3 for i in range(n)]
    assert -(-n // group_size(n)) < groups[n]


def test_labels_need_the_bits_of_c_itself(run):
    """D4: labels 1, 2 do not fit into log2(2) = 1 bit."""
    with pytest.raises(AssertionError):
        table([2, 4], [1, 2], 3, 1)
    held = table([2, 4], [1, 2], 3, (2).bit_length())
    assert answers(run, lookup("x", held, "y"), (2, 4)) == [1, 2]


def test_keys_start_at_2():
    """D8: free places have the key 0, which x = 1 would match."""
    with pytest.raises(AssertionError):
        table([1, 4], [1, 1], 3, 1)


@settings(deadline=None, max_examples=30)
@given(cases(6), st.integers(1, 4), st.integers(1, 4))
def test_lemma_f1(run, case, size, points):
    """No part changes x (limited_bits, D3), or what another one found."""
    known, labels, held = case
    blocks = list(split_lookup("x", held, "y", size, points))
    assert answers(run, blocks, known) == labels
    layers = feed_forwards(blocks, LANES)
    longest = max(e.value.fixed_bits for x in layers for t in x.tensors.values() for e in t.entries)
    bits = size * max(held.key_bits, held.label_bits) + 2
    assert longest <= max(bits, held.label_bits + 3, held.key_bits + 2)
