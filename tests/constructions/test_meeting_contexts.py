"""Contexts that differ little: the hash gets as many folds as it takes."""

import numpy as np

import byheart
from byheart.constructions.retrieval import search


def test_contexts_that_meet_in_every_hash_get_enough_folds(tmp_path, monkeypatch):
    """Consecutive times at two places: sums of few straight pieces are equal for most of them."""
    draw = np.random.default_rng(0)
    rows = [
        ([f"{a:03}", "at", f"{b:03}"], f"{draw.integers(4)}") for a in range(40) for b in range(40)
    ]
    data = byheart.Dataset.from_rows(rows)
    tried = []
    honest = search._attempt

    def attempt(problem, limits, plan, *rest):
        tried.append(plan.token_folds)
        few = plan.token_folds < search.enough_folds(problem)
        return search.Failure("conflict") if few else honest(problem, limits, plan, *rest)

    monkeypatch.setattr(search, "_attempt", attempt)
    monkeypatch.setattr(search, "LARGE", 1000)
    model = byheart.compile(data, method="hash-fold-retrieve", minimise="bits")
    patience = search.LOST * search.effort_for(len(rows)).conflicts
    assert model.verification.evidence == "proved"
    assert max(tried[:patience]) < min(tried[patience:])
