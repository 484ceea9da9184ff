"""docs/reproduce.md says what the committed rows say, and every figure is on it."""

import importlib.util
import json
from pathlib import Path

import pytest

from byheart.reproduce import FIGURES

ROOT = Path(__file__).parents[1]
NAMES = [figure.name for figure in FIGURES]


@pytest.fixture(scope="module")
def program():
    path = ROOT / "docs" / "make_reproduce.py"
    place = importlib.util.spec_from_file_location("make_reproduce", path)
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(program):
    assert program.PAGE.read_text() == program.page(), "run python docs/make_reproduce.py"


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_rows_and_a_picture(name):
    folder = ROOT / "results" / name
    assert list(folder.glob("*/rows.jsonl")), f"results/{name} has no rows"
    assert (folder / f"{name}.svg").is_file()
    assert f"../results/{name}/{name}.svg" in (ROOT / "docs" / "reproduce.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_committed_rows_are_complete_lines_with_their_own_keys(name):
    """The key is the hash of the configuration in the row: an edited row is noticed."""
    from byheart.lab.trial import trial

    for path in (ROOT / "results" / name).glob("*/rows.jsonl"):
        text = path.read_text()
        assert text.endswith("\n")
        rows = [json.loads(line) for line in text.splitlines()]
        assert len({row["key"] for row in rows}) == len(rows)
        for row in rows:
            assert trial(row["trial"]).key == row["key"]
