"""Hyper-parameters by Optuna: a trial trained several times, with rates and warm-ups it tries.

Optuna's sampler, TPE, draws the first ten at random and learns from them what to try next: so the
ten of kajitsuka2025 are a random search.

What has been tried is in a journal, so a search that was killed goes on where it was, and ends as
if it had not been: the sampler is seeded anew for each attempt, from the number of finished ones.
"""

import fcntl
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from ..errors import ByheartError
from .problem import Problem
from .protocol import Attempt, Search
from .train import Outcome, best, outcome
from .trial import Trial

KEPT = "outcome"  # the attribute of Optuna's trial in which the outcome is
SEEDS = 2**32  # what a numpy sampler takes


def outcomes(trial: Trial, problem: Problem, journal: str | None) -> list[Outcome]:
    """What the attempts came to, up to the first that reaches the criterion.

    Those read from the journal have no learner, but the best one has: it is trained again if need
    be.
    """
    assert trial.protocol.search is not None
    study = _study(trial, journal)
    found = [_kept(trial, one) for one in study.get_trials(states=(TrialState.COMPLETE,))]
    while len(found) < trial.protocol.search.trials and not any(one.reached for one in found):
        found.append(_attempt(trial, problem, study, trial.protocol.search, len(found)))
    while best(found).learner is None:
        at = found.index(best(found))
        found[at] = outcome(trial, problem, found[at].attempt, at)
    return found


def _attempt(
    trial: Trial, problem: Problem, study: optuna.Study, search: Search, number: int
) -> Outcome:
    """Train once with what Optuna proposes, and tell it."""
    seed = trial.random_seed("optuna", number) % SEEDS
    study.sampler = optuna.samplers.TPESampler(seed=seed)
    asked = study.ask()
    rate = asked.suggest_float("rate", *search.rate, log=True)
    warmup = asked.suggest_int("warmup", *search.warmup)
    one = outcome(trial, problem, _with(trial, rate, warmup), number)
    facts = {name: getattr(one, name) for name in ("loss", "accuracy", "reached", "steps")}
    asked.set_user_attr(KEPT, facts)
    study.tell(asked, one.loss if math.isfinite(one.loss) else math.inf)
    return one


def _kept(trial: Trial, told: optuna.trial.FrozenTrial) -> Outcome:
    """The outcome that the journal has of a finished attempt, without its learner."""
    facts: dict[str, Any] = told.user_attrs[KEPT]
    return Outcome(_with(trial, told.params["rate"], told.params["warmup"]), learner=None, **facts)


def _with(trial: Trial, rate: float, warmup: int) -> Attempt:
    return replace(trial.protocol.attempts[0], rate=rate, warmup=warmup)


def _study(trial: Trial, journal: str | None) -> optuna.Study:
    """The study of a trial; attempts that a killed process left unfinished are given up."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(
            storage=_storage(journal), study_name=trial.key, direction="minimize",
            load_if_exists=True,
        )  # fmt: skip
    except ValueError as error:  # no JSON
        raise ByheartError(
            f"{journal} is damaged; delete it, and its search begins anew."
        ) from error
    for stale in study.get_trials(states=(TrialState.RUNNING,)):
        study.tell(stale.number, state=TrialState.FAIL)
    return study


def _storage(journal: str | None) -> BaseStorage:
    if journal is None:
        return InMemoryStorage()
    lock = _Lock(journal)
    lock.acquire()
    try:
        _mend(journal)
    finally:
        lock.release()
    return JournalStorage(JournalFileBackend(journal, lock))


def _mend(journal: str) -> None:
    """Cut off the torn last line that a killed process may have left."""
    if not os.path.exists(journal):
        return
    whole = Path(journal).read_bytes()
    kept = whole.rfind(b"\n") + 1
    if kept < len(whole):
        os.truncate(journal, kept)


class _Lock(JournalFileOpenLock):
    """A lock that the system releases when its process is killed. Optuna's own would be left."""

    def __init__(self, journal: str) -> None:
        self.path = journal + ".lock"

    def acquire(self) -> bool:
        self.held = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self.held, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        os.close(self.held)
