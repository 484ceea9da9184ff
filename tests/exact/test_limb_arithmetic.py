"""The limb arithmetic keeps to its frame: what does not fit is said before anything is written."""

import numpy as np

from byheart.exact.limbs import arithmetic as at

LIMBS_OF_A_SLOT = 4
GOAL, SOURCE, SPARE = range(3)
FACTOR = 2**64 - 1


def arrays(value: int):
    """Three slots, one of them with a positive value, then the limbs of one weight."""
    start = at.STATE + 3 * 3
    integers = np.zeros(start + 5, np.int64)
    integers[at.FRAME], integers[at.SPARE] = LIMBS_OF_A_SLOT, SPARE
    integers[at.WEIGHTS], integers[at.LIMBS] = start, 3 * LIMBS_OF_A_SLOT
    integers[start : start + 5] = 0, 0, 1, 0, 0  # one limb, positive, not shifted
    size = -(-value.bit_length() // 64)
    integers[at.STATE + 3 * SOURCE + 1] = size
    numbers = np.zeros(3 * LIMBS_OF_A_SLOT + 1, np.uint64)
    for i in range(size):
        numbers[SOURCE * LIMBS_OF_A_SLOT + i] = value >> 64 * i & FACTOR
    numbers[-1] = FACTOR
    return numbers, integers


def test_a_product_within_the_frame():
    value = 2**127 + 12345
    numbers, integers = arrays(value)
    assert at.add_multiple(numbers, integers, GOAL, SOURCE, 0)
    limbs = numbers[:LIMBS_OF_A_SLOT].tolist()
    assert sum(x << 64 * i for i, x in enumerate(limbs)) == value * FACTOR


def test_a_product_beyond_the_frame_writes_nothing_outside_its_slot():
    """The carry of a value that fills the frame has no limb: behind it the weights begin."""
    value = 2**255 + 12345
    numbers, integers = arrays(value)
    before = numbers.copy()
    assert not at.add_multiple(numbers, integers, GOAL, SOURCE, 0)
    outside = np.r_[0 : SPARE * LIMBS_OF_A_SLOT, 3 * LIMBS_OF_A_SLOT]
    assert (numbers[outside] == before[outside]).all()
