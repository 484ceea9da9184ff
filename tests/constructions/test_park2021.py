"""park2021: packing, words that tent maps read, and the order in N."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.constructions.park2021 import orbit, packed, pieces
from byheart.data.load import from_rows


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_tent_maps_read_a_word(bits):
    number, middle = orbit(bits) + 0.5, 2 ** (len(bits) - 1)
    for bit in bits:
        assert (number > middle) == bool(bit)
        number = 2 * number if number < middle else 4 * middle - 2 * number


def test_a_word_by_hand():
    """1, 0, 1: after a 1 the rest is reflected; 0.110 -> 2 (1 - 0.1101) = 0.0110 -> 0.110."""
    assert orbit([1, 0, 1]) == 0b110


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=60))
def test_packed_keys_fall_on_different_places(keys):
    line = np.array(sorted(keys))
    found = pieces(line, 400, 200)
    if found is None:
        return
    places = set()
    for i, (start, shift) in enumerate(found):
        end = found[i + 1][0] if i + 1 < len(found) else 5001
        places |= {int(key) + shift for key in line if start <= key < end}
    assert len(places) == len(keys) and 0 <= min(places) and max(places) < 400


def test_the_count_of_the_header():
    """G2: at most 6 T + (6 + 2 c) W + (7 c + 3) L + c + 3."""
    pick = random.Random(2)
    for classes in (2, 3, 9):
        keys = pick.sample(range(40_000), 300)
        plan = packed(keys, [pick.randrange(classes) for _ in keys], classes)
        T, W, L, c = len(plan.starts), len(plan.words[0]), plan.places, len(plan.words)
        layers = list(plan.layers())
        parameters = sum(len(t.entries) for layer in layers for t in layer.tensors.values())
        assert len(layers) - 1 == L + 1 + (T > 1) + (W > 1)
        assert parameters <= 6 * T + (6 + 2 * c) * W + (7 * c + 3) * L + c + 3


def test_it_grows_more_slowly_than_the_number_of_points():
    pick, sizes = random.Random(1), []
    for count in (150, 1200):
        points = {tuple(pick.randrange(256) for _ in range(8)) for _ in range(count)}
        rows = [([list(x)], pick.randrange(2)) for x in sorted(points)]
        sizes.append(compile(from_rows(rows), "park2021").parameters.nonzero)
    assert sizes[1] / sizes[0] < 8**0.8  # 8^(2/3) = 4, and rounding
