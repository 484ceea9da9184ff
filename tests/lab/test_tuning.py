"""The search for hyper-parameters: killed anywhere, it ends as if it had not been."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")

from byheart.errors import ByheartError  # noqa: E402
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


class Killed(BaseException):
    """What a test raises in place of a signal."""


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
    return facts(tuning.searched(searched(), PROBLEM, None))


def test_rates_and_warmups_are_in_their_ranges_and_differ(undisturbed):
    assert len(undisturbed) == 4
    assert len({one["rate"] for one in undisturbed}) == 4
    for one in undisturbed:
        assert 1e-3 <= one["rate"] <= 1e-1
        assert one["warmup"] in range(6)


def test_the_journal_changes_nothing(undisturbed, tmp_path):
    assert facts(tuning.searched(searched(), PROBLEM, str(tmp_path / "j"))) == undisturbed


@pytest.mark.parametrize("at", range(4))
def test_killed_in_an_attempt(at, undisturbed, tmp_path, trained, monkeypatch):
    """The attempt is repeated, with the same result; those before it are not."""
    journal = str(tmp_path / "j")
    outcome = tuning.outcome

    def dies(trial, problem, attempt, number):
        if number == at:
            raise Killed
        return outcome(trial, problem, attempt, number)

    monkeypatch.setattr(tuning, "outcome", dies)
    with pytest.raises(Killed):
        tuning.searched(searched(), PROBLEM, journal)
    monkeypatch.setattr(tuning, "outcome", outcome)
    trained.clear()
    found = tuning.searched(searched(), PROBLEM, journal)
    assert facts(found) == undisturbed
    assert training.best(found).learner is not None
    best = facts(found).index(training.best(found).json())
    assert trained == [*range(at, 4), *([best] if best < at else [])]


def test_what_is_finished_is_only_read(undisturbed, tmp_path, trained):
    """The best one is trained again, for its model, and none of the others."""
    journal = str(tmp_path / "j")
    tuning.searched(searched(), PROBLEM, journal)
    trained.clear()
    found = tuning.searched(searched(), PROBLEM, journal)
    assert facts(found) == undisturbed
    assert trained == [facts(found).index(training.best(found).json())]
    assert [one.learner is not None for one in found].count(True) == 1


def test_a_damaged_journal_is_named(tmp_path):
    journal = tmp_path / "j"
    tuning.searched(searched(), PROBLEM, str(journal))
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], "garbage\n", *lines[1:]]))
    with pytest.raises(ByheartError, match="j is damaged; delete it"):
        tuning.searched(searched(), PROBLEM, str(journal))


def test_the_journal_is_what_is_read(tmp_path):
    """A loss changed in the journal is a loss changed in the outcomes."""
    journal = tmp_path / "j"
    first = tuning.searched(searched(), PROBLEM, str(journal))
    worst = max(first, key=lambda one: one.loss)
    journal.write_text(journal.read_text().replace(repr(worst.loss), "1234.5"))
    again = tuning.searched(searched(), PROBLEM, str(journal))
    assert 1234.5 in [one.loss for one in again]


@pytest.mark.parametrize("torn", ["{", '{"op_code":4,"wor', "x" * 3000])
def test_a_torn_last_line(torn, undisturbed, tmp_path):
    journal = tmp_path / "j"
    tuning.searched(searched(trials=2), PROBLEM, str(journal))
    with journal.open("a") as file:
        file.write(torn)
    assert facts(tuning.searched(searched(), PROBLEM, str(journal))) == undisturbed


def test_trials_share_a_journal(undisturbed, tmp_path):
    journal = str(tmp_path / "j")
    tuning.searched(replace(searched(), seed=1), PROBLEM, journal)
    assert facts(tuning.searched(searched(), PROBLEM, journal)) == undisturbed


def test_all_attempts_are_made_and_the_best_counts(trained):
    """Also where the first one reaches the criterion: another may have a lower loss."""
    found = tuning.searched(searched(1e9), PROBLEM, None)
    assert trained == [0, 1, 2, 3] and all(one.reached for one in found)
    assert training.best(found).loss == min(one.loss for one in found)


def test_a_training_that_blows_up_is_an_attempt_like_others(tmp_path):
    wild = searched()
    search = replace(SEARCH, rate=(1e30, 1e31))
    wild = replace(wild, protocol=replace(wild.protocol, search=search))
    journal = str(tmp_path / "j")
    first, again = (facts(tuning.searched(wild, PROBLEM, journal)) for _ in range(2))
    assert first == again and len(first) == 4
    assert {one["loss"] for one in first} == {None}


def test_a_row_tells_what_was_tried(undisturbed):
    row = training.run(searched(), PROBLEM)
    assert row["attempts"] == undisturbed
    assert row["loss"] == min(one["loss"] for one in undisturbed)
    assert trial(row["trial"]) == searched()
