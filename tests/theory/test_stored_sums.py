"""The family's bound: its labellings counted one by one, and the numbers of the formula."""

import math
from itertools import combinations, islice, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from benchmarks.stored_sums import fewest, labellings
from byheart.data.generate import random
from byheart.errors import AssumptionError


def labels(numbers, contexts):
    """By the definition, for contexts given as (a_1, ..., a_U) and c."""
    sums = [sum(a * n for a, n in zip(signs, numbers, strict=True)) for signs, _ in contexts]
    return tuple((s >> c ^ s >> c + 1) & 1 for s, (_, c) in zip(sums, contexts, strict=True))


@pytest.mark.parametrize(("U", "K"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
def test_a_structure_has_exactly_as_many_labellings(U, K):
    """All sums of signed numbers at all positions; longer numbers give none that is new."""
    signs = [x for x in product((-1, 0, 1), repeat=U) if any(x)]
    contexts = list(product(signs, range(K)))
    own = {labels(numbers, contexts) for numbers in product(range(2 << K), repeat=U)}
    assert len(own) == 2 ** labellings(U, K)
    draw = Random(0)
    longer = [[draw.randrange(-(2**20), 2**20) for _ in range(U)] for _ in range(500)]
    assert {labels(numbers, contexts) for numbers in longer} <= own
    some = islice(combinations(range(len(contexts)), (K + 1) * U), 20_000)
    sizes = (len({tuple(row[i] for i in chosen) for row in own}) for chosen in some)
    assert any(size == 2 ** labellings(U, K) for size in sizes), "some contexts take any labels"


@pytest.mark.parametrize("chosen", (1, 2, 4))
def test_random_labels_are_found_no_more_often_than_the_bound_says(chosen):
    """The share of all labels of 8 contexts that one of these structures has."""
    draw, count, U, K = Random(chosen), 8, 2, 1
    signs = [x for x in product((-1, 0, 1), repeat=U) if any(x)]
    found = set()
    for _ in range(chosen):
        contexts = [(draw.choice(signs), draw.randrange(K)) for _ in range(count)]
        found |= {labels(numbers, contexts) for numbers in product(range(2 << K), repeat=U)}
    assert len(found) / 2**count <= chosen * 2 ** (labellings(U, K) - count)


@given(st.integers(1, 10**8), st.integers(0, 600), st.integers(0, 600))
def test_fewest_is_the_least_of_all_positions(information, structures, failure):
    bits, W = max(0, information - structures - failure), fewest(information, structures, failure)
    K = np.arange(1, W)
    assert ((K + 1) * (W - 3 * K)).max() > bits >= ((K + 1) * (W - 1 - 3 * K)).max()
    assert 2 * math.sqrt(3 * bits) - 3 <= W <= 2 * math.sqrt(3 * bits) + 4


def test_a_built_network_has_no_fewer():
    model = byheart.compile(random(3000, seed=5))
    assert model.parameters.nonzero >= fewest(model.record.data.contexts)


def test_sizes_are_checked():
    with pytest.raises(AssumptionError, match="A1 fails"):
        fewest(0)
