"""The floor that a gap names, and logits on their grid."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.gadgets.logits import GRID, floor, reordered, wanted

FEW = [(["a"], "b"), (["a"], "b"), (["a"], "c"), (["b"], "a")]


def wanted_of(rows, gap):
    dataset = from_rows(rows)
    found = targets(dataset, contexts(dataset, positions=True))
    return found, wanted(found, gap)


def divergences(found, logits):
    """Of every context from its target, in balls of 200 bits: the lemma is about real numbers."""
    result, size = [], len(found.vocabulary)
    with ctx.workprec(200):
        for i in range(len(found)):
            part = slice(found.ends[i], found.ends[i + 1])
            values, counts = logits.value[part].tolist(), found.counts[part].tolist()
            total = sum(counts)
            norm = (sum((arb(x).exp() for x in values), arb(size - len(values)))).log()
            terms = ((arb(c) / total).log() - arb(x) for c, x in zip(counts, values, strict=True))
            means = (t * c / total for t, c in zip(terms, counts, strict=True))
            result.append(norm + sum(means, arb(0)))
    return result


def dense(found, logits):
    matrix = np.zeros((len(found), len(found.vocabulary)))
    matrix[logits.row, logits.token] = logits.value
    return matrix


def test_by_hand():
    """Three tokens: a gap of log 3 needs L = log(2 / 2) = 0."""
    assert floor(math.log(3), 3) == pytest.approx(0, abs=1e-5)
    _, logits = wanted_of(FEW, math.log(3))
    assert logits.row.tolist() == [0, 0, 1]
    assert logits.token.tolist() == [1, 2, 0]
    assert logits.value == pytest.approx([math.log(2 / 3), math.log(1 / 3), 0], abs=1e-5)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), st.sampled_from("abcdefg")
        ),
        min_size=1,
        max_size=30,
    ),
    st.floats(-14, 0.5),
)
@example([(["a"], x) for x in "cef"] + [(["d"], x) for x in "aab"], -13.86034895083348)
def test_the_gap_is_kept_and_nearly_used(rows, exponent):
    gap = 10**exponent
    found, logits = wanted_of([*rows, (["a"], "z")], gap)
    for value, support in zip(divergences(found, logits), found.support.tolist(), strict=True):
        assert value <= gap
        if support == 1:  # one token follows, all others are off the support
            assert value >= gap * (1 - 2e-6)


def test_sums_of_differences_are_exact():
    _, logits = wanted_of(FEW, 1e-9)
    whole = logits.value / GRID
    assert (whole == np.rint(whole)).all() and (whole < 2**53).all()


def test_reordered():
    found, logits = wanted_of(FEW, 1e-9)
    turned = reordered(logits, np.array([1, 0]))
    assert (dense(found, turned) == dense(found, logits)[::-1]).all()
    assert (np.diff(turned.row) >= 0).all()
