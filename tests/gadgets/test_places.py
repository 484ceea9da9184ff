"""Waves that tell places apart."""

import numpy as np

from byheart.gadgets.places import frequencies, rotary_base


def test_the_gap_is_what_the_scores_have():
    found, gap = frequencies(4, 40, 8, np.random.default_rng(0))
    scores = [sum(np.cos(found * distance)) for distance in range(1, 49)]
    assert gap == 4 - max(scores) > 0.5


def test_rotary_waves_keep_the_beginning_between():
    base, gap = rotary_base(16, 64, 8)
    speed = base ** -(np.arange(8) / 8)
    scores = np.cos(np.arange(1, 73)[:, None] * speed[:7]).sum(axis=1)
    assert 7 - scores.max() == gap > 0
    begin = np.cos(np.arange(65) * speed[7]) * (7 - gap / 4)
    assert 7 - 3 * gap / 4 < begin.min() and begin.max() <= 7 - gap / 4
