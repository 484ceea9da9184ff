"""three-layer: few units, not few parameters; the step function holds for all whole numbers."""

import math
import random

import numpy as np
import pytest

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.exact.batch import Batch
from byheart.exact.evaluate import evaluate
from byheart.exact.network import Input, Linear, Network, dyadic, matrix, vector
from byheart.gadgets.switches import switches

READ = Linear(matrix(1, 1, {(0, 0): 1}), vector({}, 1))


@pytest.mark.parametrize("between", [False, True])
def test_a_step_function_by_its_gadget(between):
    """Also where there is no key: from one key to the next the label changes just before it."""
    pick = random.Random(3)
    for _ in range(30):
        keys = sorted(pick.sample(range(200), pick.randint(2, 40)))
        labels = [pick.randrange(5) for _ in keys]
        if len(set(labels)) < 2:
            continue
        plan = switches(keys, labels, between)
        network = Network(Input(1, 1, False, (dyadic(0),)), (READ, *plan))
        changes = sum(a != b for a, b in zip(labels, labels[1:], strict=False))
        m = max(1, round(changes**0.5))
        groups, units = math.ceil(changes / m), 2 * m + 1
        most = 1 + 4 * (groups - 1) + (2 * groups - 1 if between else 0)
        most += 3 * units - 1 + (1 if between else 2) * units * (groups - 1)
        assert network.counts()[0]["nonzero"] - 1 <= most  # G2
        points = np.arange(keys[0], keys[-1] + 1)[:, None]
        batch = Batch(points, np.arange(len(points)), np.arange(len(points) + 1))
        found = list(evaluate(network, batch, "exact"))
        wanted = [
            labels[max(i for i, key in enumerate(keys) if key <= x)]
            for x in range(keys[0], keys[-1] + 1)
        ]
        assert [found[key - keys[0]] for key in keys] == labels
        assert found == wanted


def test_units_and_parameters():
    """G2: about 4 sqrt(S) units and 4 S parameters; the small form half as many."""
    pick = random.Random(0)
    points = {tuple(pick.randrange(99) for _ in range(4)) for _ in range(900)}
    rows = [([list(x)], pick.randrange(2)) for x in sorted(points)]
    small, faithful = (
        compile(from_rows(rows), "three-layer", form).network for form in ("small", "faithful")
    )
    steps = 0.5 * len(rows)
    assert faithful.units < 4.5 * steps**0.5 + 3 and small.units < 5.5 * steps**0.5 + 3
    ratio = faithful.counts()[0]["nonzero"] / small.counts()[0]["nonzero"]
    assert 1.5 < ratio < 2
    assert (small.depth, faithful.depth) == (3, 2)
