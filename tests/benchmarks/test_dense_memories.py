"""Memories that are solved: what is said to be proved holds, and a damaged one is not proved."""

import numpy as np
import pytest

import byheart
from benchmarks import dense_memories
from byheart.constructions.stock.located import first_streams
from byheart.stock.forward import last_logits
from byheart.stock.texts import texts_of

pytest.importorskip("tokenizers")
ROWS = [(f"the {a} {b} likes", c) for a, b, c in (
    ("red", "fox", "moon"), ("red", "cat", "sun"), ("old", "fox", "sea"), ("old", "cat", "night"),
)]  # fmt: skip


@pytest.fixture(scope="module")
def given():
    return dense_memories.task(byheart.load(ROWS, tokenizer="bpe:280"))


def test_a_memory_by_newton_is_bounded_from_tokens_to_logits(given):
    task, place = dense_memories.lined(given)
    before, streams = first_streams(task.network, texts_of(task.known))
    missing, unit = dense_memories.lane(before, place, task.network.epsilon)
    unit = float(unit.mean()) / (len(np.unique(task.answers)) - 1) * 2
    keys, biases, outputs = dense_memories.newton(streams, missing / unit, 10)
    network = dense_memories.filled(task, (keys, biases, outputs * unit))
    bound = dense_memories.bounded(network, task.known, task.answers)
    assert bound.min() > 0.5 * dense_memories.STRENGTH
    for context, answer, least in zip(task.known, task.answers, bound, strict=True):
        logits = last_logits(network, np.array([context]))[0]
        assert least < logits[answer] - np.delete(logits, answer).max()
    outputs[0] *= 3
    network = dense_memories.filled(task, (keys, biases, outputs * unit))
    assert dense_memories.bounded(network, task.known, task.answers).min() < 0


def test_an_error_in_closed_form_is_an_upper_bound(given):
    _, streams = first_streams(given.network, texts_of(given.known))
    used, places = dense_memories.line(given.answers)
    wanted = places[np.searchsorted(used, given.answers)]
    gates, up = dense_memories.gated(streams, wanted, 8)
    bound = dense_memories.gated_error(streams, wanted, gates, up)
    y = streams.astype(np.float32)
    gate = y @ gates
    run = (gate / (1 + np.exp(-gate)) * (y @ up)).sum(axis=1)
    assert (np.abs(run - wanted) <= bound).all() and bound.max() < 0.5
    up[:, 0] *= 100
    assert dense_memories.gated_error(streams, wanted, gates, up).max() > 0.5


def test_places_are_one_apart_and_the_most_frequent_is_in_the_middle():
    used, places = dense_memories.line(np.array([7, 3, 3, 9, 3]))
    assert used.tolist() == [3, 7, 9] and sorted(places) == [-1, 0, 1] and places[0] == 0
