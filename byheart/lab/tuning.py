"""Hyper-parameters by Optuna: a trial trained several times, with proposed rates and warm-ups.

Optuna's sampler, TPE, draws the first ten at random and learns from them what to try next: so the
ten of kajitsuka2025 are a random search.

A journal records the attempts, so a search that was killed resumes, and ends as if it had not been
killed: the sampler is seeded anew for each attempt, from the number of finished ones.
"""

import fcntl
import math
import os
from dataclasses import replace
from pathlib import Path

import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from ..errors import ByheartError
from .attempt import Outcome, best, outcome
from .problem import Problem
from .trial import Trial

KEPT = "outcome"  # the attribute of Optuna's trial that holds the outcome
SEEDS = 2**32  # what a numpy sampler takes


def searched(trial: Trial, problem: Problem, journal: str | None) -> list[Outcome]:
    """The outcomes of all attempts; of those in the journal, only the best is trained again."""
    search, first = trial.protocol.search, trial.protocol.attempts[0]
    assert search is not None
    study = _study(trial, journal)
    done = [
        Outcome(replace(first, **one.params), learner=None, **one.user_attrs[KEPT])
        for one in study.get_trials(states=(TrialState.COMPLETE,))
    ]
    while len(done) < search.trials:
        number = len(done)
        seed = trial.random_seed("optuna", number) % SEEDS
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        proposed = study.ask()
        rate = proposed.suggest_float("rate", *search.rate, log=True)
        warmup = proposed.suggest_int("warmup", *search.warmup)
        one = outcome(trial, problem, replace(first, rate=rate, warmup=warmup), number)
        facts = {name: getattr(one, name) for name in ("loss", "accuracy", "reached", "steps")}
        proposed.set_user_attr(KEPT, facts)
        study.tell(proposed, one.loss if math.isfinite(one.loss) else math.inf)
        done.append(one)
    while best(done).learner is None:
        at = done.index(best(done))
        done[at] = outcome(trial, problem, done[at].attempt, at)
    return done


def _study(trial: Trial, journal: str | None) -> optuna.Study:
    """The study of a trial; what a killed process left unfinished is given up."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage: BaseStorage = InMemoryStorage()
        if journal is not None:
            lock = _Lock(journal)
            lock.acquire()
            try:
                content = Path(journal).read_bytes() if os.path.exists(journal) else b""
                whole = content.rfind(b"\n") + 1
                if whole < len(content):
                    os.truncate(journal, whole)
            finally:
                lock.release()
            storage = JournalStorage(JournalFileBackend(journal, lock))
        study = optuna.create_study(
            storage=storage, study_name=trial.key, direction="minimize", load_if_exists=True
        )
    except ValueError as error:  # invalid JSON
        wrong = f"{journal} is damaged; delete it, and its search begins anew."
        raise ByheartError(wrong) from error
    for stale in study.get_trials(states=(TrialState.RUNNING,)):
        study.tell(stale.number, state=TrialState.FAIL)
    return study


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
