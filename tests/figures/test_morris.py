"""morris-capacity: points and numbers that follow from the rows, and from nothing else."""

import json
import math
from pathlib import Path

import pytest

from byheart.figures import morris
from byheart.figures.figure import Settings, picture
from byheart.figures.morris import MORRIS_CAPACITY
from byheart.lab.trial import trial

ROOT = Path(__file__).parents[2]


def row(dimension=8, sequences=56, seed=0, bits=(5000.0, 6000.0), reached=False):
    """A made-up row: the bits memorised by its attempts, of 2,528 parameters."""
    part = next(x for x in morris.parts(Settings()) if x.label.startswith(f"d{dimension}-"))
    one = {**part.sweep.trials()[0].json(), "seed": seed}
    one["data"] = {**one["data"], "sequences": sequences}
    losses = [(sequences * 32 * 6 - x) * math.log(2) for x in bits]
    return {
        "key": trial(one).key, "trial": one, "parameters": 2528, "contexts": 2000,
        "vocabulary": 64, "outputs": 64, "predictions": sequences * 32, "entropy": 1.0,
        "best_accuracy": 1.0, "loss": losses[-1], "accuracy": 0.5, "reached": reached,
        "steps": 4000, "curve": [], "seconds": 60.0,
        "attempts": [{"steps": 8000 << i, "loss": x} for i, x in enumerate(losses)],
    }  # fmt: skip


def test_every_set_up_is_a_sweep_of_the_same_data():
    found = morris.parts(Settings())
    assert [part.label for part in found] == list(morris.SETUPS)
    assert len({part.dataset.sha256() for part in found}) == 1
    for part in found:
        attempts = part.sweep.protocol.attempts
        assert [x.steps for x in attempts] == [8000, 16_000, 32_000]
        assert {x.rate for x in attempts} == {0.5 / part.sweep.sizes["dimension"]}
    assert len(morris.parts(Settings(quick=True))) == 2


def test_points_are_medians_and_gains_are_those_of_twice_the_steps():
    """The attempts of a seed are compared with each other, never with those of another seed."""
    rows = [row(seed=0, bits=(5000.0, 6000.0, 6060.0), reached=True)]
    rows.append(row(seed=1, bits=(6000.0, 6320.0, 6636.0)))
    rows.append(row(seed=2, bits=(7000.0, 7070.0), reached=True))
    (found,) = morris.trained({"d8-n56": rows})
    assert found.parameters == 2528 and found.sequences == 56 and found.settled == 2
    assert found.middle == pytest.approx(6636 / 2528)
    assert found.steps == [8000, 16_000, 32_000]
    assert found.at(32_000) == pytest.approx([6060 / 2528, 6636 / 2528])
    gains = morris.doublings([found])
    assert gains[16_000] == pytest.approx([0.2, 320 / 6000, 0.01])
    assert gains[32_000] == pytest.approx([0.01, 0.05])
    assert morris.trained({"d8-n56": [{**rows[0], "loss": None}]}) == []


def test_the_table_and_the_finding_are_of_the_rows():
    rows = {"d8-n56": [row()]}
    ((*start, steps, gains),) = MORRIS_CAPACITY.table(rows).rows
    assert start == ["2,528", "56", "4.25", "2.37", "0.074", "0 of 1"]
    assert (steps, gains) == ("1.98 with 8,000, 2.37 with 16,000", "+20.0% to 16,000")
    said = MORRIS_CAPACITY.finding(rows)
    assert "2.37 of 4.25. The most over numbers of sequences: 2.37 at 2,528 parameters" in said
    assert "holds 235 bits in each, and 0.95 per bit of its code word." in said
    assert MORRIS_CAPACITY.finding({}) == ""
    assert "Not trained here: d8-n72, d12-n112, " in MORRIS_CAPACITY.caption(rows)


def test_data_that_is_memorised_as_a_whole_shows_no_capacity():
    """10 sequences are 1,920 bits: the data is the limit there, and its point is no capacity.

    They may lack a token, so that the same model has fewer parameters.
    """
    small = {**row(sequences=10, bits=(1900.0, 1910.0)), "parameters": 2520}
    rows = {"d8-n10": [small], "d8-n56": [row()]}
    said = MORRIS_CAPACITY.finding(rows)
    assert said.startswith("The smallest models, of at most 2,528 parameters")
    assert "0.76 of 0.76, 2.37 of 4.25. The most over numbers of sequences: 2.37 at" in said
    alone, data, *_ = picture(MORRIS_CAPACITY, rows).axes
    assert sum(x.get_marker() in "o^" for x in alone.lines) == 1
    assert [x.get_marker() for x in data.lines if x.get_marker() in "o^"] == ["o", "^"]
    assert MORRIS_CAPACITY.finding({"d8-n10": [small]}) == ""
    sizes = {one.sequences / 40 for one in morris.SETUPS.values() if one.dimension == 8}
    assert {0.25, 0.5, 1, 2, 4} < sizes, "of about 3 bits for each of 2,528 parameters"


def test_a_picture_of_settled_and_censored_points():
    rows = {"d8-n56": [row(reached=True)], "d8-n72": [row(sequences=72)]}
    _, _, each, stored = picture(MORRIS_CAPACITY, rows).axes
    labels = [x.get_text() for x in each.get_legend().get_texts()]
    assert labels == [morris.SETTLED, morris.MORE, morris.COMPILED], "whatever was drawn first"
    for axes, size in ((each, 1), (stored, 32)):
        heights = [x.get_ydata() for x in axes.lines if len(x.get_ydata()) == 2]
        levels = [ends[0] for ends in heights if ends[0] == ends[1]]
        assert levels == [3.83 / size]


def test_the_compiled_models_are_those_of_the_benchmark():
    sizes = json.loads((ROOT / "benchmarks" / "sizes.json").read_text())["sizes"]
    table = ROOT / "byheart" / "figures" / "published" / "compiled.csv"
    written = [[int(x) for x in line.split(",")] for line in table.read_text().splitlines()[1:]]
    assert written == [
        [row["sequences"], row["contexts"], row["nonzero"], round(row["encoded"] * row["contexts"])]
        for row in sizes
    ]
