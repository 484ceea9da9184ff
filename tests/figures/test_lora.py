"""lora-capacity: three ranks and three seeds, and the whole model as morris-capacity has it."""

from pathlib import Path

import pytest

from byheart.figures import lora
from byheart.figures.figure import Settings, picture
from byheart.lab.sweeps.results import memorised
from byheart.lab.sweeps.rows import read

RESULTS = Path(__file__).parents[2] / "results"
ROWS = {x: list(read(RESULTS / "lora-capacity" / x)) for x in lora.LABELS}


def test_every_part_is_trained_with_three_seeds():
    for part in lora.parts(Settings()):
        keys = {row["key"] for row in ROWS[part.label]}
        assert {trial.key for trial in part.sweep.trials()} == keys
        assert {row["trial"]["seed"] for row in ROWS[part.label]} == {0, 1, 2}
    quick = lora.parts(Settings(quick=True))
    assert [part.label for part in quick] == ["r1", "r2", "r4"]


def test_the_whole_model_has_the_rows_of_morris_capacity():
    own = ROWS[lora.FULL]
    assert own == list(read(RESULTS / "morris-capacity" / lora.FULL))


def test_bits_are_per_parameter_of_the_adapter():
    """By hand: rank r has r (n + m) for the maps of a layer, 256 r in all, and two layers."""
    for rank in lora.RANKS:
        for row in ROWS[f"r{rank}"]:
            assert row["parameters"] == 512 * rank
            assert memorised(row) < row["predictions"] * 6
    table, found = lora.table(ROWS), lora.finding(ROWS)
    assert [row[:3] for row in table.rows[1:3]] == [("1", "512", "8"), ("1", "512", "12")]
    best = sorted(memorised(x) / 512 for x in ROWS["r1"] if x["predictions"] == 12 * 32)[1]
    assert f"{best:.2f} at rank 1" in found
    assert lora.finding({}) == "" and lora.table({}).rows == ()
    assert "all parameters" in table.rows[0]


@pytest.mark.parametrize("rows", [ROWS, {}])
def test_it_is_drawn(rows):
    (axes,) = picture(lora.LORA_CAPACITY, rows).axes
    words = [x.get_text() for x in axes.texts]
    assert words == (["all parameters", "rank 1", "rank 2", "rank 4"] if rows else [])
