"""The search for hyper-parameters: the same attempts every time, and the best one counts."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")

from byheart.lab import train as training  # noqa: E402
from byheart.lab import tuning  # noqa: E402
from byheart.lab.problem import Problem  # noqa: E402
from byheart.lab.protocol import Attempt, Protocol, Search  # noqa: E402
from byheart.lab.trial import Criterion, Trial, trial  # noqa: E402

RANDOM = np.random.default_rng(0)
PROBLEM = Problem(
    9,
    2,
    RANDOM.integers(0, 9, (20, 3)).astype(np.int32),
    np.full(20, 3),
    np.arange(20),
    RANDOM.integers(0, 2, 20),
    np.ones(20, np.int64),
)
SEARCH = Search(4, (1e-3, 1e-1), (0, 5))


def searched(value: float = 1e-9, trials: int = 4) -> Trial:
    protocol = Protocol("own", (Attempt("adamw", 0.01, 8),), search=replace(SEARCH, trials=trials))
    criterion = Criterion("loss", value)
    return Trial("kajitsuka2025", {"layers": 1}, {"sha256": "x"}, protocol, criterion, 0)


def facts(found) -> list[dict]:
    return [one.json() for one in found]


@pytest.fixture
def trained(monkeypatch):
    """The numbers of the attempts that were trained, as they were."""
    numbers: list[int] = []

    def counted(trial, problem, attempt, number):
        numbers.append(number)
        return training.outcome(trial, problem, attempt, number)

    monkeypatch.setattr(tuning, "outcome", counted)
    return numbers


@pytest.fixture
def undisturbed():
    return facts(tuning.searched(searched(), PROBLEM))


def test_rates_and_warmups_are_in_their_ranges_and_differ(undisturbed):
    assert len(undisturbed) == 4
    assert len({one["rate"] for one in undisturbed}) == 4
    for one in undisturbed:
        assert 1e-3 <= one["rate"] <= 1e-1
        assert one["warmup"] in range(6)


def test_a_search_is_the_same_every_time(undisturbed):
    assert facts(tuning.searched(searched(), PROBLEM)) == undisturbed
    other = facts(tuning.searched(replace(searched(), seed=1), PROBLEM))
    assert all(one["rate"] != two["rate"] for one, two in zip(other, undisturbed, strict=True))


def test_all_attempts_are_made_and_the_best_counts(trained):
    """Also where the first one reaches the criterion: another may have a lower loss."""
    found = tuning.searched(searched(1e9), PROBLEM)
    assert trained == [0, 1, 2, 3] and all(one.reached for one in found)
    assert training.best(found).loss == min(one.loss for one in found)


def test_a_training_that_blows_up_is_an_attempt_like_others():
    wild = searched()
    search = replace(SEARCH, rate=(1e30, 1e31))
    wild = replace(wild, protocol=replace(wild.protocol, search=search))
    found = facts(tuning.searched(wild, PROBLEM))
    assert len(found) == 4 and {one["loss"] for one in found} == {None}


def test_a_row_tells_what_was_tried(undisturbed):
    row = training.run(searched(), PROBLEM)
    assert row["attempts"] == undisturbed
    assert row["loss"] == min(one["loss"] for one in undisturbed)
    assert trial(row["trial"]) == searched()
