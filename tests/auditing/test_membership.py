"""The AUC and its interval, and exposures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.auditing.membership import exposures, interval, membership

SCORES = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_the_auc_counts_pairs(items, non_members):
    pairs = [(a > b) + (a == b) / 2 for a in items for b in non_members]
    auc, low, high = membership(np.array(items), np.array(non_members))
    assert auc == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= low <= auc <= high <= 1
    assert low < high


@given(SCORES, SCORES)
def test_exposure_is_the_rank_among_strangers(items, non_members):
    for item, exposure in zip(
        items, exposures(np.array(items), np.array(non_members)), strict=True
    ):
        rank = 1 + sum(other >= item for other in non_members)
        assert exposure == pytest.approx(math.log2((len(non_members) + 1) / rank))


def test_an_interval_worked_by_hand():
    """At its ends, the AUC is 1.96 standard errors away, by the variance that an end implies."""
    low, high = interval(0.8, 10, 20)
    for end in (low, high):
        spread = 1 + 14 * (1 - end) / (2 - end) + 14 * end / (1 + end)
        assert (0.8 - end) ** 2 == pytest.approx(1.96**2 * end * (1 - end) * spread / 200, rel=1e-3)


def test_an_interval_is_never_a_point():
    low, high = interval(1.0, 8, 44)
    assert high == 1 and 0.8 < low < 0.95
    assert interval(0.0, 8, 44)[0] == 0 < interval(0.0, 8, 44)[1]


def test_intervals_cover_one_half_where_nothing_is_to_be_told():
    random = np.random.default_rng(0)
    samples = [(random.random(40), random.random(60)) for _ in range(400)]
    inside = [low <= 0.5 <= high for _, low, high in (membership(*pair) for pair in samples)]
    assert 0.92 <= np.mean(inside) <= 0.985  # 95 %, three standard errors of 1.1 %
