"""Closed forms of growth beside networks that were built, and associative memories."""

import random

import numpy as np
import pytest

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.theory.associative import memory, recalls, smallest
from byheart.theory.growth import Shape, crossing, sizes

NAMES = ["staircase", "three-layer (small)", "three-layer (faithful)", "park2021", "baum1988"]


@pytest.fixture(scope="module")
def data():
    pick = random.Random(0)
    points = {tuple(pick.randrange(256) for _ in range(16)) for _ in range(600)}
    return from_rows([([list(x)], pick.randrange(2)) for x in sorted(points)])


@pytest.mark.parametrize("name", [*NAMES, "vardi2022 (small)", "bubeck2020", "hash-fold-retrieve"])
def test_a_closed_form_is_near_what_is_built(name, data):
    method, _, form = name.partition(" ")
    built = compile(data, method, form.strip("()") or None).parameters.nonzero
    size = sizes(Shape(1, 16, 2, len(data)), len(data))[name]
    assert 0.75 < size / built < 1.3


def test_crossings():
    shape = Shape(1, 16, 2, 1000)
    found = crossing("vardi2022 (small)", "park2021", shape)
    above, below = sizes(shape, found * 1.01), sizes(shape, found / 1.1)
    assert above["vardi2022 (small)"] < above["park2021"]
    assert below["vardi2022 (small)"] > below["park2021"]
    assert crossing("staircase", "hash-fold-retrieve", shape) is None


def test_a_memory_of_outer_products_by_hand():
    """Two tokens with orthogonal signs and labels: scores 4 and 0, or 4 and -4."""
    tokens, labels = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, 1.0], [-1.0, -1.0]])
    wanted = np.array([0, 1])
    weights = labels[wanted].T @ tokens
    assert recalls(tokens, labels, weights, wanted).tolist() == [-1, -1]
    assert recalls(tokens, labels, weights, wanted[::-1]).tolist() == [0, 1]


@pytest.mark.parametrize("trained", [False, True])
def test_the_smallest_memory_recalls_everything(trained):
    wanted = np.arange(60)
    found = smallest(wanted, trained)
    assert (recalls(found.tokens, found.labels, found.weights, wanted) == -1).all()
    assert found.dimension < 60
    assert memory(wanted, 2, trained) is None
