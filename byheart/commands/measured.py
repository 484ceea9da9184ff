"""What a measurement answers: cells with their points, and what it took."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lab.material import Material
    from ..lab.sweeps.results import Cell
    from ..lab.sweeps.sweep import RowsByKey, Sweep


def answer(sweep: "Sweep", rows: "RowsByKey", ran: int) -> dict:
    """What the rows say of a sweep; `ran` of its trials are new."""
    from ..lab.sweeps.results import cells

    resolved = sweep.json()
    told = ("architecture", "sizes", "criterion", "axes", "seeds")
    found = cells(sweep, rows)
    return {
        **{key: resolved[key] for key in told},
        "protocol": sweep.protocol.name,
        "trials": {"total": sweep.total(rows), "ran": ran, "kept": sweep.done(rows) - ran},
        "cells": [{**cell.json(), "theory": theory(sweep.architecture, cell)} for cell in found],
        "seconds": {"training": _spent(sweep, rows)},
    }


def dataset_facts(material: "Material", sequences: int) -> dict:
    """Of the first so many sequences."""
    from ..lab.sweeps.fields import FACTS

    problem = material.problem(sequences)
    counted = {"sequences": sequences, "contexts": len(problem), "length": problem.length}
    facts = {fact: getattr(problem, fact) for fact in FACTS if fact not in counted}
    return {**counted, "vectors": problem.reads_vectors, "squared": problem.squared, **facts}


def theory(architecture: str, cell: "Cell") -> dict | None:
    """What theorems say of any distributions of as many contexts, where they are of this model.

    Theorem 5 of madden2024: as many neurons as contexts are enough. Lemma 1: some distributions
    take n (omega - 1) parameters; these of the data may take fewer.
    """
    from ..theory.madden2024.capacity import lemma_1_parameters

    if architecture != "madden2024" or not cell.points or cell.facts["outputs"] < 2:
        return None
    contexts, outputs = int(cell.facts["contexts"]), int(cell.facts["outputs"])
    return {
        "enough_neurons": contexts,
        "needed_parameters": lemma_1_parameters(contexts, outputs),
    }


def _spent(sweep: "Sweep", rows: "RowsByKey") -> float:
    """Seconds of processors, for all trials of the sweep."""
    keys = {trial.key for trial in sweep.trials()}
    return round(sum(row["seconds"] for key, row in rows.items() if key in keys), 3)
