"""Hyper-parameters by Optuna: a trial trained several times, with proposed rates and warm-ups.

Optuna's sampler, TPE, draws the first ten at random and learns from them what to try next: so the
ten of kajitsuka2025 are a random search. It is seeded anew for each attempt, from its number.
"""

import math
from dataclasses import replace

import optuna

from .attempt import Outcome, outcome
from .problem import Problem
from .trial import Trial

SEEDS = 2**32  # what a numpy sampler takes


def searched(trial: Trial, problem: Problem) -> list[Outcome]:
    """The outcomes of all attempts."""
    search, first = trial.protocol.search, trial.protocol.attempts[0]
    assert search is not None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, done = optuna.create_study(direction="minimize"), list[Outcome]()
    for number in range(search.trials):
        seed = trial.random_seed("optuna", number) % SEEDS
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        proposed = study.ask()
        rate = proposed.suggest_float("rate", *search.rate, log=True)
        warmup = proposed.suggest_int("warmup", *search.warmup)
        one = outcome(trial, problem, replace(first, rate=rate, warmup=warmup), number)
        study.tell(proposed, one.loss if math.isfinite(one.loss) else math.inf)
        done.append(one)
    return done
