"""The convex fit of W_O: its gradient, its optimum, and features that are dependent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.gadgets.regression import Task, _Objective, fit
from byheart.softmax.doubles import divergence


def task_of(seed, count=12, features=5, dimension=3, labels=2):
    """Contexts i with labels drawn from 4 tokens, and random features."""
    random = np.random.default_rng(seed)
    rows = [([i], int(y)) for i in range(count) for y in random.integers(0, 4, labels)]
    rows += [([count], y) for y in range(4)]
    dataset = from_rows(rows)
    found = targets(dataset, contexts(dataset, positions=True))
    shares = random.uniform(0.5, 1.5, len(found))
    return Task(
        random.standard_normal((len(found), features)),
        random.standard_normal((len(found), dimension)),
        random.standard_normal((len(found.vocabulary), dimension)),
        found,
        shares / shares.sum(),
    )


def means(task, matrix):
    """The weighted mean divergence, by the evaluator."""
    logits = (task.offset + task.features @ matrix) @ task.unembedding.T
    return float(task.shares @ divergence(logits, task.targets))


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_the_gradient(power):
    task = task_of(0)
    objective = _Objective(task, power)
    random = np.random.default_rng(1)
    point, direction = random.standard_normal((2, 15))
    slope = objective(point)[1] @ direction
    step = 1e-5
    ahead, behind = (objective(point + sign * step * direction)[0] for sign in (1, -1))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999))
def test_no_matrix_near_the_optimum_is_better(seed):
    task = task_of(seed)
    wanted = np.zeros(task.offset.shape)
    found = fit(task, wanted)
    assert found.mean == pytest.approx(means(task, found.matrix), rel=1e-8, abs=1e-12)
    assert found.mean <= found.start
    random = np.random.default_rng(seed)
    for size in (1e-1, 1e-3):
        other = found.matrix + size * random.standard_normal(found.matrix.shape)
        assert means(task, other) >= found.mean - 1e-9


def test_the_start_is_the_weighted_least_squares_fit():
    task = task_of(4)
    wanted = np.random.default_rng(0).standard_normal(task.offset.shape)
    root = np.sqrt(task.shares)[:, None]
    matrix = np.linalg.lstsq(root * task.features, root * (wanted - task.offset), rcond=None)[0]
    assert fit(task, wanted).start == pytest.approx(means(task, matrix), rel=1e-9)


def test_long_vectors_in_wrong_directions_do_no_harm():
    """A fit to vectors of length 1e6 starts from P = 0, and ends where that one ends."""
    task = task_of(6)
    wanted = np.random.default_rng(0).standard_normal(task.offset.shape)
    found, expected = fit(task, 1e6 * wanted), fit(task, 0 * wanted)
    assert found.start > 1e4 and found.mean == pytest.approx(expected.mean, rel=1e-4)


def test_as_many_features_as_contexts_interpolate():
    """Then the start has the wanted vectors, and a fit that may stop there does."""
    task = task_of(2, count=5, features=8)
    wanted = np.random.default_rng(0).standard_normal(task.offset.shape)
    found = fit(task, wanted, aim=100.0)
    np.testing.assert_allclose(task.offset + task.features @ found.matrix, wanted, atol=1e-9)


def test_dependent_features_are_left_out():
    """A feature that is the sum of two others changes nothing, and no weight is huge."""
    task = task_of(3)
    more = task._replace(features=np.hstack([task.features, task.features @ np.ones((5, 1))]))
    wanted = np.zeros(task.offset.shape)
    found = fit(more, wanted)
    assert found.mean == pytest.approx(fit(task, wanted).mean, rel=1e-6)
    assert found.mean == pytest.approx(means(more, found.matrix), rel=1e-8)
    assert abs(found.matrix).max() < 1e3


def test_it_stops_when_all_are_within_the_aim():
    task = task_of(5, count=6, features=7, dimension=4, labels=1)
    wanted = np.zeros(task.offset.shape)
    early, late = fit(task, wanted, 1.5, aim=1.0), fit(task, wanted, 1.5, aim=0.0)
    assert early.worst <= 1.0 and late.worst < early.worst
