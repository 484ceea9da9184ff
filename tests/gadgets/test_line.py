"""Everything on a line: attention of any shape is the f of Theorem 4."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.errors import AssumptionError
from byheart.gadgets import line
from byheart.softmax.decoder import ATTENTION, TOKEN_SUM, Shape


def made(rows):
    dataset = from_rows([(tokens, "z") for tokens in rows])
    return targets(dataset, contexts(dataset, positions=True))


def f(z, u, context):
    """Theorem 4, as it is printed."""
    x = [z[a] + u[t] for t, a in enumerate(context)]
    weights = [math.exp(value * x[-1]) for value in x]
    return sum(a * b for a, b in zip(x, weights, strict=True)) / sum(weights)


def shape_of(found, d=1, heads=1, head=1, skip=False, mixing=ATTENTION):
    sizes = (heads, head, head) if mixing == ATTENTION else (0, 0, 0)
    return Shape(
        len(found.vocabulary), found.length, d, mixing, *sizes, skip, len(found), "logistic"
    )


ROWS = [list("ab"), list("ba"), list("a"), list("abc"), list("cab"), list("cba")]
each_context = [[0, 1], [1, 0], [0], [0, 1, 2], [2, 0, 1], [2, 1, 0]]


@given(
    st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.integers(0, 2**32)
)
def test_attention_of_any_shape_is_f(d, heads, head, skip, seed):
    found = made(ROWS)
    random = np.random.default_rng(seed)
    z, u = random.uniform(0.2, 2, len(found.vocabulary)), random.uniform(0.2, 2, found.length)
    shape = shape_of(found, d, heads, head, skip)
    tensors = line.tensors_on_line(shape, z, u)
    assert {k: v.shape for k, v in tensors.items()}.items() <= shape.tensors.items()
    wanted = [f(z, u, c) + skip * (z[c[-1]] + u[len(c) - 1]) for c in each_context]
    x = line.numbers(shape, tensors, found)
    assert x / math.sqrt(d) == pytest.approx(wanted, rel=1e-13)
    for tensor in (tensors["embedding.weight"], tensors["positions.weight"]):
        assert (tensor == tensor[:, :1]).all()  # exactly on the line (D4)


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_token_sum(d, seed):
    found = made(ROWS)
    random = np.random.default_rng(seed)
    z, u = random.uniform(0.2, 2, len(found.vocabulary)), random.uniform(0.2, 2, found.length)
    shape = shape_of(found, d, mixing=TOKEN_SUM)
    x = line.numbers(shape, line.tensors_on_line(shape, z, u), found)
    wanted = [sum(u[t] * z[a] for t, a in enumerate(c)) for c in each_context]
    assert x / math.sqrt(d) == pytest.approx(wanted, rel=1e-13)


def test_the_best_draw_is_taken(monkeypatch):
    found = made(ROWS)
    best = line.draw(shape_of(found), found, np.random.default_rng(0))
    monkeypatch.setattr(line, "DRAWS", 1)
    random = np.random.default_rng(0)
    singles = [line.draw(shape_of(found), found, random).distance for _ in range(best.tries)]
    assert best.tries == 8 and best.distance == max(singles) > min(singles)


def test_draws_are_positive_and_scores_small():
    """A3 and A4."""
    found = made(ROWS)
    tensors = line.draw(shape_of(found), found, np.random.default_rng(1)).tensors
    z, u = tensors["embedding.weight"], tensors["positions.weight"]
    assert z.min() > 0 and u.min() > 0
    assert (z.max() + u.max()) ** 2 < 16


def test_contexts_too_close_are_refused(monkeypatch):
    """A2: token values that all but coincide."""
    monkeypatch.setattr(line, "HIGH", line.LOW * (1 + 1e-14))
    found = made(ROWS)
    with pytest.raises(AssumptionError, match="A2 fails: in the best of 8 draws"):
        line.draw(shape_of(found), found, np.random.default_rng(0))
