"""staircase: the kinks of a worked example, and the order in N."""

import random

from byheart.api.compile import compile
from byheart.constructions.staircase import Staircase, steps
from byheart.data.load import from_rows


def value(start, kinks, x):
    return start + sum(change * max(0, x - place) for place, change in kinks.items())


def parameters(keys, labels):
    layers = Staircase().plan(keys, labels, max(labels) + 1)
    return sum(len(tensor.entries) for layer in layers for tensor in layer.tensors.values())


def test_by_hand():
    """Keys 0, 4, 5, 9 with labels 1, 0, 0, 2: down from 3 to 4, up from 8 to 9."""
    keys, labels = [4, 0, 9, 5], [0, 1, 2, 0]
    start, kinks = steps(keys, labels)
    assert start == 1 and kinks == {3: -1, 4: 1, 8: 2, 9: -2}
    assert parameters(keys, labels) == 13
    assert [value(start, kinks, x) for x in (0, 4, 5, 9)] == [1, 0, 0, 2]


def test_neighbouring_changes_share_a_kink():
    """0, 1, 0 at 0, 1, 2: slopes 1 and -1 meet at 1; the kink at 0 has no bias."""
    _, kinks = steps([0, 1, 2], [0, 1, 0])
    assert kinks == {0: 1, 1: -2, 2: 1} and parameters([0, 1, 2], [0, 1, 0]) == 8


def test_any_keys():
    pick = random.Random(0)
    for _ in range(50):
        keys = pick.sample(range(60), 20)
        labels = [pick.randrange(4) for _ in keys]
        start, kinks = steps(keys, labels)
        assert [value(start, kinks, x) for x in keys] == labels
        changes = sum(a != b for a, b in zip(labels, labels[1:], strict=False))
        assert len(kinks) <= 2 * len(keys) and changes <= 19


def test_linear_in_the_number_of_points():
    """G2: 0.83 kinks per point for two random labels, three parameters each."""
    pick = random.Random(1)
    sizes = []
    for count in (200, 800):
        rows = [
            ([[pick.randrange(256) for _ in range(8)]], pick.randrange(2)) for _ in range(count)
        ]
        sizes.append(compile(from_rows(rows), "staircase").parameters.nonzero)
    assert 3.5 < sizes[1] / sizes[0] < 4.5
