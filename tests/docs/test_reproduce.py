"""docs/reproduce.md says what the committed rows say, and every figure is on it."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

from byheart.figures import FIGURES
from byheart.lab.sweeps.rows import read
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import trial

ROOT = Path(__file__).parents[2]
NAMES = [figure.name for figure in FIGURES]


@pytest.fixture(scope="module")
def program():
    path = ROOT / "tools" / "make_reproduce.py"
    place = importlib.util.spec_from_file_location("make_reproduce", path)
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(program):
    assert program.PAGE.read_text() == program.page(), "run python tools/make_reproduce.py"


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_rows_and_a_picture(name):
    folder = ROOT / "results" / name
    assert list(folder.glob("*/rows.jsonl")), f"results/{name} has no rows"
    assert (folder / f"{name}.svg").is_file()
    assert f"../results/{name}/{name}.svg" in (ROOT / "docs" / "reproduce.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_committed_rows_are_complete_lines_with_their_own_keys(name):
    """The key is the hash of the configuration: a row whose configuration was edited is noticed.

    Its results are in no hash, so a loss that was edited is not.
    """
    for path in (ROOT / "results" / name).glob("*/rows.jsonl"):
        text = path.read_text()
        assert text.endswith("\n")
        rows = [json.loads(line) for line in text.splitlines()]
        assert len({row["key"] for row in rows}) == len(rows)
        for row in rows:
            assert trial(row["trial"]).key == row["key"]


def sweep(configuration):
    """The sweep that configuration.json describes."""
    one = trial({**configuration, "seed": 0})
    axes = tuple((axis["name"], tuple(axis["values"])) for axis in configuration["axes"])
    return Sweep(
        one.architecture, one.sizes, axes, one.data, one.protocol, one.criterion,
        configuration["seeds"], configuration["axes"][-1]["find"],
    )  # fmt: skip


def missing(folder):
    """The trials that the configuration of a part asks for and that it has no rows of."""
    configuration = json.loads((folder / "configuration.json").read_text())
    rows = {row["key"]: row for row in read(folder)}
    return [
        {**one.sizes, "sequences": one.data["sequences"], "seed": one.seed}
        for one in sweep(configuration).wanted(rows)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_committed_parts_have_every_row_that_they_ask_for(name):
    """A grid has all of its trials, and no bisection wants another one."""
    folders = [path.parent for path in (ROOT / "results" / name).glob("*/rows.jsonl")]
    lacks = {folder.name: missing(folder) for folder in folders}
    told = [f"{name}/{label} lacks {len(x)}: {x}" for label, x in sorted(lacks.items()) if x]
    assert not told, "; ".join(told)


def test_a_part_that_lacks_a_row_is_noticed(tmp_path):
    """The last row of a grid, and the last one that a bisection has asked for."""
    for part in ("kajitsuka-2/trained", "kajitsuka-3/paper"):
        folder = tmp_path / part
        shutil.copytree(ROOT / "results" / part, folder)
        assert missing(folder) == []
        lines = (folder / "rows.jsonl").read_text().splitlines(keepends=True)
        (folder / "rows.jsonl").write_text("".join(lines[:-1]))
        (lost,) = missing(folder)
        row = json.loads(lines[-1])["trial"]
        assert lost == {**row["sizes"], "sequences": row["data"]["sequences"], "seed": row["seed"]}


@pytest.mark.parametrize("figure", FIGURES, ids=NAMES)
def test_parts_that_were_not_trained_are_told(figure, program):
    """Every part of a figure has rows, or its caption says what was not trained."""
    rows = program.rows_of(figure)
    if set(figure.own(rows)) != set(figure.labels):
        assert "Not trained here" in figure.caption(rows)


def test_the_findings_are_of_the_rows(program):
    """One bullet per figure, between the introduction and the first figure."""
    head = program.page().partition("\n## ")[0]
    listed = [line for line in head.splitlines() if line[:2] == "- "]
    assert listed == [
        f"- **{figure.name}.** {figure.finding(figure.own(program.rows_of(figure)))}"
        for figure in FIGURES
    ]


@pytest.mark.parametrize("figure", FIGURES, ids=NAMES)
def test_captions_are_short_and_tables_have_rows(figure, program):
    rows = program.rows_of(figure)
    caption = figure.caption(rows)
    assert len(caption.split()) <= 170 and figure.table(rows).rows
    sentences = re.split(r"(?<![ (][A-Za-z])\.\s+(?=[A-Z])", caption)
    assert len(sentences) == 3 and caption.endswith(".") and ".." not in caption, sentences


def test_trials_in_two_parts_are_counted_once(program):
    rows = program.rows_of(next(figure for figure in FIGURES if figure.name == "madden-1"))
    keys = {row["key"] for part in rows.values() for row in part}
    assert len(keys) < sum(map(len, rows.values()))
    assert f"*{len(keys):,} trainings, " in program.page()


def test_the_page_says_how_each_figure_is_trained_again(program):
    page = program.page()
    assert "`byheart reproduce kajitsuka-2 --rows mine --train --data imdb.tsv`" in page
    assert "`byheart reproduce dana-1b --rows mine --train`" in page
