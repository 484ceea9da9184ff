"""Two blocks of columns: numbers in the folds between them (hash_fold_retrieve/two_blocks.py)."""

import random
from contextlib import contextmanager

import numpy as np
import pytest

from byheart.compiler.compiling import compile
from byheart.constructions.hash_fold_retrieve import build as building
from byheart.constructions.hash_fold_retrieve import plan as planning
from byheart.data.load import from_rows


@contextmanager
def two_blocks_only():
    """Plans with two blocks, however small the data."""
    plans, readers, many = building.Unlimited.plans, building.readers.search, planning.MANY

    def parted(self, task, objective, needs):
        return tuple(plan for plan in plans(self, task, objective, needs) if plan.upper)

    building.Unlimited.plans, building.readers.search = parted, lambda *_: None
    planning.MANY = 0
    planning.candidates.cache_clear()
    try:
        yield
    finally:
        building.Unlimited.plans, building.readers.search, planning.MANY = plans, readers, many
        planning.candidates.cache_clear()


def labelled(count, labels, seed, tokens=30, length=4):
    pick, known = random.Random(seed), {}
    rows = []
    for _ in range(count):
        row = [pick.randrange(tokens) for _ in range(length)]
        key = *sorted(row), row[-1]
        rows.append((row, known.setdefault(key, pick.randrange(labels))))
    return rows


@pytest.mark.parametrize("labels", [2, 7])
def test_small(labels, memorised, failures):
    rows = labelled(400, labels, 0)
    with two_blocks_only():
        model = memorised(rows)
    stages = [layer.stage for layer in model.network.layers]
    assert "block gate" in stages and "block fold" in stages
    assert failures(model, rows) == []
