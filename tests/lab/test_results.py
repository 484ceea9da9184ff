"""Results: medians and ranges, the smallest with its evidence, and censored is not "cannot"."""

import json
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.lab.protocol import protocol
from byheart.lab.sweeps.results import cells
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import Criterion

ENTROPY, PREDICTIONS = 20.0, 50


def sweep(values=(4, 8, 16), sequences=(), seeds=2, find=False):
    other = (("sequences", tuple(sequences)),) if sequences else ()
    return Sweep(
        "madden2024", {}, (*other, ("neurons", tuple(values))), {"sha256": "x", "sequences": 9},
        protocol("madden2024", "fast"), Criterion("gap", 0.01), seeds, find,
    )  # fmt: skip


def row(trial, gap, reached, steps=(600, 2400), entropy=ENTROPY):
    loss = None if gap is None else entropy * (1 + gap)
    return {
        "key": trial.key, "trial": trial.json(), "parameters": 100 * trial.sizes["neurons"],
        "contexts": 30, "vocabulary": 12, "outputs": 12, "predictions": PREDICTIONS,
        "entropy": entropy, "best_accuracy": 0.9, "loss": loss, "accuracy": 0.5,
        "reached": reached, "steps": steps[-1], "attempts": [{"steps": x} for x in steps],
        "curve": [], "seconds": 1.0,
    }  # fmt: skip


def rows_of(question, gap):
    """A row for every trial of the grid; `gap` gives that of a trial."""
    found = {}
    for trial in question.trials():
        distance = gap(trial)
        found[trial.key] = row(trial, distance, distance is not None and distance <= 0.01)
    return found


table = st.dictionaries(
    st.tuples(st.sampled_from((4, 8, 16, 32)), st.integers(0, 2)),
    st.one_of(st.none(), st.floats(0, 3)),
)


@given(table)
def test_a_cell_says_what_its_rows_say(gaps):
    """Whichever rows are there: smallest, what lies below it, and the smallest of each seed."""
    question = sweep((4, 8, 16, 32), seeds=3)
    rows = {}
    for trial in question.trials():
        place = trial.sizes["neurons"], trial.seed
        if place in gaps:
            reached = gaps[place] is not None and gaps[place] <= 0.01
            rows[trial.key] = row(trial, gaps[place], reached)
    (cell,) = cells(question, rows)
    tried = sorted({value for value, _ in gaps})
    reached = sorted(value for (value, _), gap in gaps.items() if gap is not None and gap <= 0.01)
    assert [point.value for point in cell.points] == tried
    assert (cell.smallest.value if cell.smallest else None) == (reached[0] if reached else None)
    below = [value for value in tried if not reached or value < reached[0]]
    assert (cell.below.value if cell.below else None) == (below[-1] if below else None)
    assert cell.below is None or cell.below.reached == 0
    assert cell.censored == (bool(tried) and not reached)
    assert list(cell.by_seed) == sorted({seed for _, seed in gaps})
    for seed, found in cell.by_seed.items():
        own = {value: gap for (value, s), gap in gaps.items() if s == seed}
        good = [value for value, gap in own.items() if gap is not None and gap <= 0.01]
        assert (found.seed, found.smallest) == (seed, min(good, default=None))
        assert (found.largest, found.steps) == (max(own), 3000)
    json.dumps(cell.json(), allow_nan=False)


@given(st.lists(st.floats(0, 3), min_size=1, max_size=5))
def test_the_spread_is_over_seeds(gaps):
    question = sweep((4,), seeds=len(gaps))
    (cell,) = cells(question, rows_of(question, lambda trial: gaps[trial.seed]))
    found = cell.points[0].spread("gap")
    expected = pytest.approx((median(gaps), min(gaps), max(gaps)), abs=1e-12)
    assert (found.median, found.low, found.high) == expected


def test_measures_are_those_of_the_criteria():
    question = sweep((4,), seeds=1)
    (cell,) = cells(question, rows_of(question, lambda trial: 0.25))
    (found,) = cell.points[0].results
    assert found.gap == pytest.approx(0.25)
    assert found.loss == pytest.approx(0.25 * ENTROPY / PREDICTIONS)
    assert (found.accuracy, found.steps) == (0.5, 3000)
    assert cell.facts.contexts == 30


def test_a_training_that_blew_up_is_no_number_and_the_farthest():
    question = sweep((4,), seeds=3)
    (cell,) = cells(question, rows_of(question, lambda t: None if t.seed == 1 else 0.1 + t.seed))
    found = cell.points[0].spread("gap")
    assert (found.low, found.median) == pytest.approx((0.1, 2.1))
    assert found.high is None


def test_a_gap_of_no_entropy_is_no_number():
    question = sweep((4,), seeds=1)
    rows = {t.key: row(t, 0.0, True, entropy=0.0) for t in question.trials()}
    (cell,) = cells(question, rows)
    assert cell.points[0].spread("gap").median is None
    assert cell.points[0].spread("loss").median == 0


def test_every_combination_has_its_cell():
    question = sweep((4, 8), (2, 5))
    rows = rows_of(question, lambda t: 0.0 if t.sizes["neurons"] > t.data["sequences"] else 1.0)
    first, second = cells(question, rows)
    assert (first.at, second.at) == ({"sequences": 2}, {"sequences": 5})
    assert (first.smallest.value, first.below) == (4, None)
    assert (second.smallest.value, second.below.value) == (8, 4)
    assert second.below.steps == 3000


def test_rows_of_other_sweeps_are_not_looked_at():
    rows = rows_of(sweep((4, 8, 16)), lambda trial: 0.0)
    (cell,) = cells(sweep((8, 12)), rows)
    assert [point.value for point in cell.points] == [8]
    (cell,) = cells(sweep((12,)), rows)
    assert cell.points == () and cell.smallest is None and not cell.censored


def test_a_bisection_has_its_evidence():
    """The smallest of a find stands beside a value just below that was tried."""
    question = sweep(tuple(range(1, 40)), seeds=2, find=True)
    rows = {}
    while wanted := question.wanted(rows):
        trial = wanted[0]
        good = trial.sizes["neurons"] >= 17 + trial.seed
        rows[trial.key] = row(trial, 0.0 if good else 1.0, good)
    (cell,) = cells(question, rows)
    assert (cell.smallest.value, cell.below.value) == (17, 16)
    assert {seed: found.smallest for seed, found in cell.by_seed.items()} == {0: 17, 1: 18}
    assert cell.smallest.reached == 1


def test_a_seed_without_rows_is_not_mistaken_for_another():
    question = sweep((4, 8), seeds=3)
    rows = rows_of(question, lambda trial: 0.0 if trial.sizes["neurons"] == 8 else 1.0)
    kept = {key: row for key, row in rows.items() if row["trial"]["seed"] != 1}
    (cell,) = cells(question, kept)
    assert cell.json()["by_seed"] == [
        {"seed": seed, "smallest": 8, "largest": 8, "steps": 3000} for seed in (0, 2)
    ]
