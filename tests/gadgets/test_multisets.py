"""Lemmas B.1 and B.2, and the counterexample to the paper's proof of the latter."""

import math
from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.gadgets.multisets import NOTHING, distinct, identified, marked, values

bags = st.lists(st.lists(st.integers(0, 6), max_size=6), min_size=1, max_size=20)


def array(rows):
    width = max(1, *map(len, rows)) if len(rows) > 1 else max(1, len(rows[0]))
    return np.array([row + [NOTHING] * (width - len(row)) for row in rows], dtype=np.int64)


def counted(row):
    return frozenset(Counter(x for x in row if x != NOTHING).items())


@settings(deadline=None)
@given(bags)
def test_distinct_rows_are_distinct_multisets(rows):
    found, group = distinct(array(rows))
    assert len({counted(row) for row in found.tolist()}) == len(found)
    assert [counted(row) for row in found[group].tolist()] == [counted(row) for row in rows]


@settings(deadline=None)
@given(bags)
def test_lemma_b1(rows):
    multisets, _ = distinct(array(rows))
    chosen = marked(multisets)
    assert 1 <= len(chosen) <= max(1, len(multisets) - 1)
    kept = {counted([x for x in row if x in chosen]) for row in multisets.tolist()}
    assert len(kept) == len(multisets)


def test_one_token_can_be_enough():
    assert marked(array([[1], [1, 1], [1, 1, 1]])) == [1]
    assert marked(array([[4, 4]])) == [4]
    assert marked(array([[]])) == [0]


@settings(deadline=None)
@given(bags, st.integers(0, 3))
def test_lemma_b2(rows, seed):
    """Integers from 1 on for A, 0 elsewhere, and sums that differ."""
    multisets, _ = distinct(array(rows))
    N = len(multisets)
    largest = math.ceil(4 * N**3 * math.sqrt(math.pi))
    chosen, f = identified(array(rows), largest, Random(seed))
    assert all(1 <= f[x] <= largest for x in chosen)
    assert not np.delete(f, chosen).any()
    sums = [sum(int(f[x]) for x in row if x != NOTHING) for row in multisets.tolist()]
    assert len(set(sums)) == N


def test_long_numbers_do_not_overflow():
    multisets = array([[0] * 40, [0] * 39 + [1], [1] * 40])
    f = values(multisets, [0, 1], 1 << 70, Random(0))
    assert f.dtype == object and int(f[0]) * 40 > 1 << 64


def test_too_few_values_are_noticed():
    assert values(array([[0], [1], [2]]), [0, 1, 2], 1, Random(0)) is None


def test_the_paper_s_lemma_b2_fails():
    """D1: N = 3, multisets {a}, {b, b}, {c}; v fulfils (20), and yet two sums are equal."""
    N, S = 3, 3
    v = np.array([0.6277, -0.6887, 0.3630])
    v /= np.linalg.norm(v)
    m = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 1]])
    for i in range(N):
        for j in range(i):
            length = np.linalg.norm(m[i] - m[j])
            assert length / N**2 * math.sqrt(8 / (math.pi * S)) <= abs(v @ (m[i] - m[j])) <= length
    scale = N**2 * S * math.sqrt(math.pi)
    h = np.ceil(scale * v).astype(int)
    f = h + math.floor(2 * scale)
    assert h.tolist() == [31, -32, 18] and f.tolist() == [126, 63, 113]
    assert (m @ h).tolist() == [31, -64, 18]  # apart by sqrt(3) and more, eq. (25)
    assert (m @ f).tolist() == [126, 126, 113]  # not any more
    _, ours = identified(array([[0], [1, 1], [2]]), 4 * 27 * 2, Random(0))
    assert len(set((m @ ours[:3]).tolist())) == 3


def test_supports_are_not_enough():
    """D10: (47) sums over supports; {a, a, b} and {a, b, b} have the same."""
    multisets, _ = distinct(array([[0, 0, 1], [0, 1, 1]]))
    _, f = identified(multisets, 100, Random(0))
    assert len({sum(int(f[x]) for x in set(row)) for row in multisets.tolist()}) == 1
    assert len(set(f[multisets].sum(axis=1).tolist())) == 2


def test_many_multisets_are_fast():
    """Words over a large vocabulary: the greedy choice touches each token once."""
    random = np.random.default_rng(0)
    multisets, _ = distinct(random.integers(0, 20_000, (20_000, 4)))
    chosen = marked(multisets)
    rest = np.isin(multisets, chosen)
    kept, _ = distinct(np.where(rest, multisets, NOTHING))
    assert len(kept) == len(multisets) and len(chosen) < len(multisets)
