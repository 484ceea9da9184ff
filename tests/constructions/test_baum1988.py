"""baum1988 and bubeck2020: planes through points in general position, and in none."""

import random

import numpy as np
import pytest

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.gadgets.planes import Plane, planes, through


def test_a_plane_by_hand():
    assert through([[0, 0], [2, 4]]) in (Plane((2, -1), 0), Plane((-2, 1), 0))
    assert through([[1, 1], [1, 1]]) is None
    assert through([[3]]) in (Plane((1,), 3), Plane((-1,), -3))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("shape", ["general", "line", "grid", "one"])
def test_planes_hold_every_member_once_and_nothing_else(shape, shared):
    pick = random.Random(0)
    points = {
        "general": [[pick.randrange(99) for _ in range(3)] for _ in range(40)],
        "line": [[i, i, 2 * i] for i in range(20)],
        "grid": [[x, y, 0] for x in range(5) for y in range(5)],
        "one": [[0, 0, 0]],
    }[shape]
    members = list(range(0, len(points), 2))
    array, seen = np.array(points), []
    for plane, hit in planes(array, members, shared, 0):
        on = [i for i in range(len(points)) if plane.at(points[i]) == 0]
        assert sorted(on) == sorted(hit) and set(hit) <= set(members)
        seen += hit
    assert sorted(seen) == members
    if shape == "general":
        assert sum(1 for _ in planes(array, members, shared, 0)) == -(-len(members) // 3)


@pytest.mark.parametrize(("method", "units"), [("baum1988", 3), ("bubeck2020", 4)])
def test_units_of_the_theorem(method, units):
    """ceil(N / d) slabs of one of two labels; 4 ceil(N / d) units for any labels."""
    pick = random.Random(4)
    points = sorted({tuple(pick.randrange(256) for _ in range(8)) for _ in range(160)})
    rows = [([list(x)], int(i % 2)) for i, x in enumerate(points)]
    model = compile(from_rows(rows), method)
    members = len(points) // 2 if method == "baum1988" else len(points)
    slabs = -(-members // 8)
    more = {"baum1988": 0, "bubeck2020": 1 + 2}[method]
    assert model.network.units == units * slabs + more
    if method == "baum1988":
        assert model.parameters.nonzero <= 3 * (8 + 2) * slabs + 8 + 1
    else:
        assert model.parameters.nonzero <= 4 * (8 + 2) * slabs + 8 + 6 + 1


def test_points_on_a_line_need_a_slab_each():
    """D2: no plane holds two points of one label and none of the other, alternating on a line."""
    rows = [([[i, 2 * i]], i % 2) for i in range(12)]
    assert compile(from_rows(rows), "baum1988").network.units == 3 * 6


def test_many_dimensions():
    pick = random.Random(0)
    rows = [([[pick.randrange(9) for _ in range(70)]], pick.randrange(3)) for _ in range(20)]
    assert compile(from_rows(rows), "bubeck2020").verification.evidence == "proved"
