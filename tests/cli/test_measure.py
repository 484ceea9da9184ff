"""measure: it goes on where it stopped, says what the rows say, and refuses before it trains."""

import io
import json
import re
import socket
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from byheart.cli import main, output
from byheart.data.load import load
from byheart.errors import ByheartError
from byheart.lab.material import Material
from byheart.lab.problem import next_token, size_of
from byheart.lab.protocol import LONGEST_SIDE, protocol
from byheart.lab.sweeps import rows as file
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import PROCESS, Criterion, Trial
from byheart.lab.workers import check_memory, rows_of
from byheart.machine.engines import Workers
from byheart.machine.installing import remedy
from byheart.machine.watch import SILENT
from byheart.views.measure import view
from byheart.views.measure_picture import draw

TESTS = str(Path(__file__).parents[1])
sys.path.insert(0, TESTS)
from stand_in import StandIn  # noqa: E402

sys.path.remove(TESTS)
TEXT = "a b c a b d\n\nb c a c b a\n\na b c d d a\n\nc a b a b c\n"
THRESHOLD = 11  # neurons with which the pretended training memorises


@dataclass
class Pretended(StandIn):
    """Sizes from a threshold on memorise, a seed needs one more."""

    threshold: float = THRESHOLD

    def row(self, trial, problem):
        size = max(trial.sizes.get(x, 0) for x in ("neurons", "heads", "layers", "width"))
        reached = size >= self.threshold + trial.seed
        loss = problem.entropy * (1.001 if reached else 2) + (0 if reached else 5)
        return {
            "key": trial.key, "trial": trial.json(),
            "parameters": trial.architecture_for(problem).parameters, "contexts": len(problem),
            "vocabulary": problem.vocabulary, "outputs": problem.outputs,
            "predictions": problem.predictions, "entropy": problem.entropy,
            "best_accuracy": problem.best_accuracy, "loss": loss, "accuracy": 0.5,
            "reached": reached, "steps": 70, "curve": [], "seconds": 0.5,
            "attempts": [{"steps": 70}] if reached else [{"steps": 70}, {"steps": 730}],
        }  # fmt: skip


@pytest.fixture
def engine(monkeypatch):
    found = Pretended()
    monkeypatch.setattr(Workers, "start", lambda self, run: found)
    return found


class Unlucky(Pretended):
    """Every seed needs a size of its own."""

    needs: tuple = ()

    def finished(self):
        seed = self.waiting[0][0].seed
        self.threshold = self.needs[seed] - seed
        return super().finished()


@pytest.fixture
def unlucky(monkeypatch):
    """An engine whose `needs` are the sizes with which the seeds 0, 1, ... memorise."""
    found = Unlucky()
    monkeypatch.setattr(Workers, "start", lambda self, run: found)
    return found


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def labelled(tmp_path):
    path = tmp_path / "mine.tsv"
    rows = [("a b", "yes"), ("b c", "no"), ("c a", "yes"), ("c c a", "no")]
    path.write_text("text\tlabel\n" + "".join(f"{x}\t{y}\n" for x, y in rows))
    return path


def run(capsys, *arguments):
    code = main(["measure", *map(str, arguments)])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture
def ask(capsys, data, tmp_path):
    """Run on the text, into a folder, with sensible options; --json gives the answer."""

    def asked(*options, architecture="madden2024", folder="rows"):
        given = [data, "--architecture", architecture, "-o", tmp_path / folder, *options]
        code, out, err = run(capsys, *given)
        return code, json.loads(out) if "--json" in options and not code else out, err

    return asked


@pytest.fixture
def last(monkeypatch):
    """The result that the command printed last."""
    results, printed = [], output.finish

    def kept(result, json, view):
        results.append(result)
        printed(result, json, view)

    monkeypatch.setattr(output, "finish", kept)
    return lambda: results[-1]


def refused(found, *words):
    """Exit code 2, and one sentence with these words."""
    code, out, err = found
    assert (code, out) == (2, ""), err
    assert err.startswith("byheart: ") and err.count("\n") == 1 and err.rstrip().endswith(".")
    for word in words:
        assert word in err


# --- what it answers


def test_a_grid(ask, engine, tmp_path):
    code, answer, _ = ask("--axis", "width=4-32x2", "--seeds", "2", "--json")
    assert code == 0 and len(engine.ran) == 8
    assert {
        "architecture", "protocol", "criterion", "dataset", "axes", "seeds", "trials", "cells",
        "folder", "seconds", "saved",
    } <= set(answer)  # fmt: skip
    assert answer["trials"] == {"total": 8, "ran": 8, "kept": 0}
    (cell,) = answer["cells"]
    assert [point["value"] for point in cell["points"]] == [4, 8, 16, 32]
    assert (cell["smallest"]["value"], cell["below"]["value"]) == (16, 8)
    assert cell["smallest"]["reached"] == cell["smallest"]["seeds"] == 2
    assert cell["below"]["steps"] == 800 and not cell["censored"]
    assert cell["theory"]["enough_neurons"] == cell["contexts"] == answer["dataset"]["contexts"]
    written = json.loads((tmp_path / "rows" / "configuration.json").read_text())
    assert written["axes"] == answer["axes"] and written["sizes"] == {"dimension": 16}


def test_the_sentences(ask, engine):
    code, out, _ = ask("--axis", "width=4,8,11,12", "--seeds", "2")
    words = " ".join(out.split())
    assert code == 0 and "memorised: gap ≤ 1 % of the entropy" in words
    assert "fewest neurons that memorise: 11 (" in words
    assert "in 1 of 2 seeds, 12 in the other; 8 was not reached in 800 steps" in words
    assert "2 of 2" in words and "0 of 2" in words and "cannot" not in words
    code, out, _ = ask("--axis", "width=16", "--seeds", "2")
    assert "in 2 of 2 seeds; nothing smaller was tried" in " ".join(out.split())


@pytest.mark.parametrize("find", [(), ("--find",)])
@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ((4, 4), "4 (# parameters), in 2 of 2 seeds; nothing smaller was tried"),
        ((4, 12), "4 (# parameters), in 1 of 2 seeds, 12 in the other; nothing smaller was tried"),
        ((12, 4, 4), "4 (# parameters), in 2 of 3 seeds, 12 in another; nothing smaller"),
        ((8, 4, 12), "4 (# parameters), in 1 of 3 seeds, 8 to 12 in 2 others; nothing smaller"),
        ((99, 4), "4 (# parameters), in 1 of 2 seeds; 1 seed did not reach it with up to 16 in "
         "800 steps; nothing smaller was tried"),
        ((4, 99, 12, 99), "4 (# parameters), in 1 of 4 seeds, 12 in another; 2 seeds did not reach "
         "it with up to 16 in 800 steps; nothing smaller was tried"),
        ((16,), "16 (# parameters), in 1 of 1 seed; 12 was not reached in 800 steps"),
    ],
)  # fmt: skip
def test_every_seed_is_told(ask, unlucky, needs, words, find):
    """Also the seeds that a bisection did not try with the smallest size."""
    unlucky.needs = needs
    code, out, _ = ask("--axis", "width=4-16+4", "--seeds", len(needs), *find)
    said = re.sub(r"\([\d,]+ parameters", "(# parameters", " ".join(out.split()))
    assert code == 0 and f"fewest neurons that memorise: {words}" in said and "cannot" not in said


def test_what_was_tried_below_by_some_seeds(ask, unlucky):
    unlucky.needs = (8, 16)
    _, out, _ = ask("--axis", "width=4-16+4", "--seeds", "2", "--find")
    said = " ".join(out.split())
    assert "16 in the other; 4 (tried by 1 seed) was not reached in 800 steps" in said
    _, out, _ = ask("--axis", "width=4-16+4", "--seeds", "2")
    assert "16 in the other; 4 was not reached in 800 steps" in " ".join(out.split())


@pytest.mark.parametrize("criterion", ["gap=0.01", "loss=0.01", "accuracy=0.5"])
def test_no_line_begins_with_a_unit(ask, engine, criterion, last):
    options = ("--axis", "sequences=20", "--axis", "width=4", "--criterion", criterion)
    ask(*options, "--json")
    for width in range(20, 140):
        screen = Console(width=width, file=io.StringIO(), highlight=False)
        screen.print(view(last()))
        lines = screen.file.getvalue().split("\n")
        assert not [line for line in lines if line.strip().startswith(("%", "nats"))]
        assert max(map(len, lines)) <= width


def test_what_is_not_reached_is_censored(ask, engine):
    code, out, _ = ask("--axis", "width=2,4", "--seeds", "1")
    words = " ".join(out.split())
    assert code == 0 and "neurons up to 4: not reached in 800 steps" in words
    assert "cannot" not in words and "fewest" not in words
    _, answer, _ = ask("--axis", "width=2,4", "--seeds", "1", "--json")
    assert answer["cells"][0]["censored"] and answer["cells"][0]["smallest"] is None


def test_nothing_to_save_is_said(ask, engine, tmp_path):
    engine.threshold = 99
    code, said, _ = ask("--axis", "width=4", "--seeds", "1", "--save", tmp_path / "model")
    assert code == 0 and "nothing saved in" in said
    assert not (tmp_path / "model").exists() and "over seeds" not in said


def test_vectors_and_the_squared_loss_in_words(capsys, engine, tmp_path):
    path = tmp_path / "vectors.jsonl"
    lines = [{"input": [[1, 2], [0, x]], "label": x % 2} for x in range(4)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = [path, "--architecture", "kajitsuka2025", "-o", tmp_path / "rows", "--axis", "layers=1"]
    code, said, _ = run(capsys, *given, "--loss", "squared")
    said = " ".join(said.split())
    assert code == 0 and "vectors of 2 coordinates" in said
    assert "loss ≤ 0.01 above the least" in said and "nats" not in said
    code, _, said = run(
        capsys, *given[:-4], "-o", tmp_path / "b", *given[-2:], "--set", "coordinates=4"
    )
    assert code == 2 and "the data has vectors already" in said


def test_words_as_fixed_vectors(capsys, engine, labelled, tmp_path):
    given = [labelled, "--input", "text", "--label", "label", "--architecture", "kajitsuka2025"]
    code, out, err = run(
        capsys, *given, "--axis", "layers=11", "--set", "coordinates=7", "--seeds", "1",
        "-o", tmp_path / "rows", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["sizes"] == {"dimension": 2, "coordinates": 7}
    assert [dict(one.sizes) for one in engine.ran] == [
        {"dimension": 2, "coordinates": 7, "layers": 11}
    ]


def test_find_trains_few(ask, engine):
    code, answer, _ = ask("--axis", "width=1-31", "--seeds", "2", "--find", "--json")
    assert code == 0 and len(engine.ran) == 10 == answer["trials"]["total"]
    (cell,) = answer["cells"]
    assert cell["below"]["value"] == 10 and cell["by_seed"] == [
        {"seed": seed, "smallest": 11 + seed, "largest": 16, "steps": 800} for seed in (0, 1)
    ]


def test_more_axes(ask, engine):
    options = ("--axis", "dimension=2,4", "--axis", "sequences=15,20", "--axis", "width=8,12")
    code, answer, _ = ask(*options, "--seeds", "1", "--json")
    assert [cell["at"] for cell in answer["cells"]] == [
        {"sequences": s, "dimension": d} for s in (15, 20) for d in (2, 4)
    ]
    assert answer["cells"][0]["contexts"] < answer["cells"][-1]["contexts"]
    assert {trial.data["sequences"] for trial in engine.ran} == {15, 20}
    assert answer["dataset"]["sequences"] == 20
    code, out, _ = ask(*options, "--seeds", "1")
    assert "sequences 15, dimension 2 (" in out


@pytest.mark.parametrize(
    ("architecture", "axis", "sizes"),
    [
        ("dana2024", "heads=9,11", {"dimension": 10, "head_dimension": 10}),
        ("dana2024-program", "heads=9,11", {"dimension": 10, "head_dimension": 10}),
        ("dana2024-mlp", "width=9,11", {"dimension": 10}),
        ("kajitsuka2025", "layers=9,11", {"dimension": 2}),
    ],
)
def test_every_architecture(capsys, engine, data, labelled, tmp_path, architecture, axis, sizes):
    labels = architecture == "kajitsuka2025"
    given = [labelled, "--input", "text", "--label", "label"] if labels else [data]
    code, out, err = run(
        capsys, *given, "--architecture", architecture, "--axis", axis, "--seeds", "1",
        "-o", tmp_path / "rows", "--json",
    )  # fmt: skip
    assert code == 0, err
    answer = json.loads(out)
    assert answer["sizes"] == sizes and answer["cells"][0]["smallest"]["value"] == 11
    assert answer["cells"][0]["theory"] is None


def test_a_picture(ask, engine, tmp_path):
    one = ("--axis", "width=4,16")
    for name, options in {
        "one.svg": one,
        "many.svg": ("--axis", "sequences=15,20", "--axis", "dimension=2,4", *one),
    }.items():
        path = tmp_path / name
        folder = name[:-4]
        code, _, err = ask(*options, "--seeds", "2", "--plot", path, folder=folder)
        assert code == 0, err
        assert "<svg" in path.read_text()
        refused(ask(*options, "--plot", path, folder=folder), "exists")
    engine.threshold = 99
    axis = ("--axis", "width=4,16", "--seeds", "1")
    ask(*axis, "--plot", tmp_path / "censored.svg", folder="censored")
    assert (tmp_path / "censored.svg").stat().st_size > 1000


def test_the_legend_says_what_is_censored(ask, engine, last):
    def words(figure):
        return [text.get_text() for text in figure.legends[0].get_texts()]

    _, answer, _ = ask("--axis", "width=4,16", "--seeds", "1", "--json")
    assert words(draw(last())) == [
        "counts as memorised", "memorised by a seed or more", "not reached in 800 steps",
    ]  # fmt: skip
    _, answer, _ = ask("--axis", "width=16,32", "--seeds", "1", "--json")
    assert "not reached" not in " ".join(words(draw(last())))
    engine.threshold = 99
    options = ("--axis", "sequences=15,20", "--axis", "width=4", "--seeds", "1", "--json")
    _, answer, _ = ask(*options, folder="two")
    figure = draw(last())
    assert words(figure) == ["not reached by a seed or more in 800 steps"]
    assert [mark for mark, _, _ in marks(figure)] == ["^", "^"]


def marks(figure):
    """Shape, place and height of the marks, without those of the legend."""
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    return [(x.get_marker(), x.get_xdata()[0], x.get_ydata()[0]) for x in lines]


def bars(figure):
    """Where vertical lines end, by their place."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "None"]
    found = [line for line in lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    return [(line.get_xdata()[0], *line.get_ydata()) for line in found]


def test_a_bar_ends_in_a_triangle_where_a_seed_reached_nothing(ask, unlucky, last):
    unlucky.needs = (4, 8, 99)
    options = ("--axis", "sequences=15,20", "--axis", "width=4-16+4", "--seeds", "3", "--find")
    _, answer, _ = ask(*options, "--json")
    figure = draw(last())
    for cell in answer["cells"]:
        place, sizes = cell["at"]["sequences"], [x["parameters"] for x in cell["points"]]
        own = [(mark, height) for mark, x, height in marks(figure) if x == place]
        assert own == [("o", sizes[0]), ("^", sizes[-1])]
        assert (place, sizes[0], sizes[-1]) in bars(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "memorised by a seed or more", "not reached by a seed or more in 800 steps",
    ]  # fmt: skip
    unlucky.needs = (4, 8, 12)
    _, answer, _ = ask(*options, "--json", folder="lucky")
    figure = draw(last())
    assert {mark for mark, _, _ in marks(figure)} == {"o"}
    for cell in answer["cells"]:
        sizes = [x["parameters"] for x in cell["points"]]
        assert (cell["at"]["sequences"], sizes[0], sizes[2]) in bars(figure)


def test_trainings_that_blew_up_are_drawn(ask, engine, tmp_path, last):
    """At 4 all of them, at 8 two of three, at 16 one, at 32 two, beside one that memorises."""
    engine.threshold = 30
    options = ("--axis", "width=4,8,16,32", "--seeds", "3", "--json")
    ask(*options)
    blown = {(4, 0), (4, 1), (4, 2), (8, 0), (8, 1), (16, 0), (32, 1), (32, 2)}
    rows = file.read(tmp_path / "rows")
    for row in rows:
        if (row["trial"]["sizes"]["neurons"], row["trial"]["seed"]) in blown:
            row |= {"loss": None, "reached": False}
        elif row["trial"]["sizes"]["neurons"] == 8:
            row["loss"] = 1000.0  # farther off than all others, and still on the picture
    (tmp_path / "rows" / "rows.jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
    _, answer, _ = ask(*options)
    figure = draw(last())
    top, found = figure.axes[0].get_ylim()[1], marks(figure)
    gaps = {point["value"]: point["gap"] for point in answer["cells"][0]["points"]}
    assert {x for mark, x, height in found if (mark, height) == ("^", top)} == {4, 8, 16, 32}
    others = [mark for mark in found if mark[2] != top]
    assert others == [("^", 16, gaps[16]["median"]), ("o", 32, pytest.approx(gaps[32]["low"]))]
    assert [x for x, low, high in bars(figure) if low < high == top] == [8, 16, 32]
    assert "a training blew up" in [text.get_text() for text in figure.legends[0].get_texts()]


# --- going on


def test_the_same_command_again_trains_nothing(ask, engine, tmp_path):
    options = ("--axis", "width=4-64x2", "--seeds", "2", "--find", "--json")
    _, first, _ = ask(*options)
    content = (tmp_path / "rows" / "rows.jsonl").read_bytes()
    ran = len(engine.ran)
    _, second, _ = ask(*options)
    assert len(engine.ran) == ran and (tmp_path / "rows" / "rows.jsonl").read_bytes() == content
    assert second["trials"] == {"total": ran, "ran": 0, "kept": ran}
    assert second["cells"] == first["cells"]


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_keeps_what_is_finished(ask, engine, tmp_path, after):
    options = ("--axis", "width=4,8,12,16", "--seeds", "1", "--json")
    engine.stop_after = after
    code, _, said = ask(*options)
    assert code == 130 and "kept in" in said.splitlines()[-1]
    done = [f"byheart: training {count} of 4" for count in range(1, after + 1)]
    assert [line.partition(",")[0] for line in said.splitlines()[:-1]] == done  # one per trial
    assert len(file.read(tmp_path / "rows")) == after
    engine.stop_after = None
    _, answer, _ = ask(*options)
    assert answer["trials"] == {"total": 4, "ran": 4 - after, "kept": after}
    assert len({trial.key for trial in engine.ran}) == len(engine.ran) == 4


def test_a_measurement_is_extended(ask, engine):
    ask("--axis", "width=4,16", "--seeds", "1")
    _, answer, _ = ask("--axis", "width=4,8,16", "--seeds", "2", "--json")
    assert answer["trials"] == {"total": 6, "ran": 4, "kept": 2}
    _, answer, _ = ask("--axis", "width=4,8,16", "--seeds", "2", "--find", "--json")
    assert answer["trials"]["ran"] == 0 and answer["cells"][0]["smallest"]["value"] == 16


def test_rows_of_another_configuration(ask, engine, data):
    ask("--axis", "width=4,16", "--seeds", "1")
    again = ("--axis", "width=4,16", "--seeds", "1")
    refused(ask(*again, "--protocol", "paper"), "of another measurement", "protocol", "paper")
    refused(ask(*again, "--criterion", "gap=0.1"), "of another measurement")
    refused(ask(*again, "--set", "dimension=4"), "of another measurement", "dimension")
    data.write_text(TEXT + "\nd d d d\n")
    refused(ask(*again), "of another measurement", "data")
    assert len(engine.ran) == 2


def test_rows_of_another_measurement_without_its_configuration(ask, engine, tmp_path):
    given = ("--axis", "width=4,16", "--seeds", "1")
    for folder, steps in (("rows", "3"), ("other", "5")):
        ask(*given, "--steps", steps, folder=folder)
    (tmp_path / "rows" / "configuration.json").unlink()
    refused(ask(*given, "--steps", "4"), "rows.jsonl: line 1 is of another measurement", "steps")
    assert not (tmp_path / "rows" / "configuration.json").exists()
    with open(tmp_path / "other" / "rows.jsonl", "ab") as more:
        more.write((tmp_path / "rows" / "rows.jsonl").read_bytes())
    found = ask(*given, "--steps", "5", folder="other")
    refused(found, "rows.jsonl: line 3 is of another measurement", "steps")


def test_a_report_of_less_leaves_the_configuration(ask, engine, tmp_path):
    ask("--axis", "width=4,8,16", "--seeds", "2")
    path = tmp_path / "rows" / "configuration.json"
    before = path.read_bytes()
    assert ask("--axis", "width=4,16", "--seeds", "1")[0] == 0
    assert path.read_bytes() == before


def test_reporting_imports_no_torch(ask, engine, data, tmp_path):
    options = ["--axis", "width=4,16", "--seeds", "1"]
    ask(*options)
    program = (
        "import sys; sys.modules['torch'] = None\nfrom byheart.cli import main\n"
        "code = main(sys.argv[1:]); heavy = {'numba', 'optuna', 'ray', 'pytorch_optimizer'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\nsys.exit(code)"
    )
    command = ["measure", data, "--architecture", "madden2024", "-o", tmp_path / "rows", *options]
    found = subprocess.run(
        [sys.executable, "-c", program, *map(str, command)], capture_output=True, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "fewest neurons that memorise: 16" in found.stdout


# --- refusals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--axis", "sequences=4"], "must be a size of madden2024: dimension, neurons"),
        (["--axis", "width="], "has no values"),
        (["--axis", "width=4.5"], "numbers and ranges"),
        (["--axis", "width=0,4"], "the axis width takes whole numbers from 1 to"),
        (["--axis", "width=-4"], "the axis width takes whole numbers from 1 to"),
        (["--axis", "heads=4"], "has no axis 'heads'; it has dimension, neurons, sequences"),
        (["--axis", "width=4", "--axis", "neurons=8"], "neurons is given twice"),
        (["--axis", "width=4", "--set", "width=8"], "is an axis and is fixed as well"),
        (["--axis", "width=4", "--set", "dimension=no"], "the size dimension takes whole numbers"),
        (["--axis", "dimension=4"], "needs neurons as well"),
        (["--axis", "width=4", "--axis", "sequences=15,999"], "sequences, not 999"),
        (
            ["--axis", "width=1-9999", "--axis", "dimension=1-999"],
            "trials; at most 100,000",
        ),
        (["--axis", "width=4", "--protocol", "script"], "has the protocols"),
        (["--axis", "width=4", "--criterion", "good"], "criterion must be 'gap=SHARE'"),
        (["--axis", "width=4", "--seeds", "0"], "seeds must be 1 or more"),
        (["--axis", "width=4", "--steps", "0"], "steps must be 1 to "),
        (["--axis", "width=4", "--jobs", "0"], "jobs must be 1 or more"),
        (["--axis", "width=4", "--engine", "cloud"], "engine must be processes or ray"),
        (["--axis", "width=4", "--address", "x:1"], "use --engine ray"),
        (
            ["--axis", "width=4", "--engine", "ray", "--jobs", "3"],
            "jobs is for --engine processes",
        ),
        (["--axis", "width=4", "--loss", "hinge"], "loss must be cross-entropy or squared"),
        (["--axis", "width=4", "--loss", "squared"], "use --loss cross-entropy"),
        (["--axis", "width=4", "--plot", "x.gif"], ".svg, .png or .pdf"),
        (["--axis", "width=4", "--on-conflict", "toss"], "--on-conflict must be one of"),
        (["--axis", "width=999999999999"], "bytes of memory"),
    ],
)
def test_refusals(ask, engine, tmp_path, options, words):
    refused(ask(*options), words)
    assert not engine.ran and not (tmp_path / "rows").exists()


def test_layers_are_counted_before_they_are_listed(capsys, engine, labelled, tmp_path):
    given = [labelled, "--architecture", "kajitsuka2025", "-o", tmp_path / "rows"]
    given += ["--input", "text", "--label", "label", "--axis", "layers=999999999"]
    refused(run(capsys, *given), "at most 100,000 layers")


def test_a_label_for_every_token_is_refused(capsys, engine, tmp_path):
    path = tmp_path / "every.jsonl"
    path.write_text('{"input": ["a", "b"], "label": ["x", "y"]}\n')
    for name, axis in (("madden2024", "width=4"), ("kajitsuka2025", "layers=1")):
        given = [path, "--architecture", name, "-o", tmp_path / "rows", "--axis", axis]
        refused(run(capsys, *given), "this data has one per token")


def test_tokens_that_are_no_words_are_refused(capsys, engine, tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"input": [1.5, 2], "label": "x"}\n')
    given = [path, "--architecture", "madden2024", "-o", tmp_path / "rows", "--axis", "width=4"]
    refused(run(capsys, *given), "a decoder reads words or integers")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attempts": 3}, "has a field attempts that is not a list of attempts"),
        ({"reached": "yes"}, "has a field reached that is not true or false"),
        ({"trial": "x"}, "has a field trial that is not an object"),
        ({"trial": {"seed": 1}}, "has a key that is not that of its trial"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused(ask, engine, tmp_path, change, words):
    given = ("--axis", "width=4,8,11", "--seeds", "1")
    assert ask(*given)[0] == 0
    path = tmp_path / "rows" / "rows.jsonl"
    first, second, *rest = map(json.loads, path.read_text().splitlines())
    for row in ({**second, **change}, {x: second[x] for x in second if x not in change}):
        path.write_text("".join(json.dumps(x) + "\n" for x in (first, row, *rest)))
        lacks = f"has no {next(iter(change))}"
        refused(ask(*given), f"{path}: line 2 {words if len(row) == len(second) else lacks}")
    assert len(engine.ran) == 3
    path.write_text("".join(json.dumps(x) + "\n" for x in (first, *rest)))
    assert ask(*given)[0] == 0 and len(engine.ran) == 4


def test_nothing_is_trained_beside_rows_that_lack_something(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"key": "a"}\n')
    with pytest.raises(ByheartError, match="has no trial, parameters, contexts, "):
        rows_of(None, None, tmp_path, Workers(), SILENT)


def test_an_architecture_that_cannot_be_trained(ask, engine):
    refused(ask("--axis", "width=4", architecture="gpt2-xl"), "there are: madden2024")
    refused(ask("--axis", "width=4", architecture="nonsense"), "'nonsense'")


def test_data_without_entropy_has_no_gap(ask, engine, data):
    data.write_text("a b c d\n")
    refused(ask("--axis", "width=4"), "byheart: a gap", "the entropy of this data is 0")
    some = ["--axis", "sequences=2,3", "--axis", "width=4"]
    refused(
        ask(*some), "the first 2 sequences cannot be judged: a gap", "the entropy of this data is 0"
    )
    code, answer, _ = ask("--axis", "width=4,11", "--criterion", "loss=0.01", "--json")
    assert code == 0 and answer["cells"][0]["smallest"]["value"] == 11
    assert answer["cells"][0]["points"][0]["gap"]["median"] is None


def test_missing_packages(ask, monkeypatch, tmp_path):
    from byheart.lab import workers as training

    for lacks, words in {"torch": "PyTorch", "pytorch_optimizer": "pytorch_optimizer"}.items():
        with monkeypatch.context() as patched:
            patched.setattr(training, "find_spec", lambda name, x=lacks: None if name == x else 1)
            refused(ask("--axis", "width=4"), f"training needs {words}: {remedy('lab')}")
    monkeypatch.setattr("byheart.machine.engines.find_spec", lambda name: None)
    refused(ask("--axis", "width=4", "--engine", "ray"), remedy("cluster"))
    assert not (tmp_path / "rows").exists()


def test_saving_labels_that_conflict_is_refused_at_once(capsys, engine, labelled, tmp_path):
    labelled.write_text(labelled.read_text() + "a b\tno\n")
    given = [labelled, "--input", "text", "--label", "label", "--architecture", "kajitsuka2025",
             "--axis", "layers=11", "-o", tmp_path / "rows"]  # fmt: skip
    asked = (*given, "--save", tmp_path / "model")
    refused(run(capsys, *asked), "two labels", "--on-conflict")
    refused(run(capsys, *asked, "--on-conflict", "majority"), "equally often", "drop")
    assert not engine.ran
    assert run(capsys, *given)[0] == 0


def test_what_does_not_memorise_again_is_not_saved(ask, engine, tmp_path, monkeypatch):
    """The rows may come from another machine, which rounds in another way."""
    other = lambda *_, **__: (None, {"reached": False})  # noqa: E731
    monkeypatch.setattr("byheart.lab.certified.convert.model", other)
    given = ("--axis", "width=4,16", "--seeds", "1", "--save", tmp_path / "model")
    code, said, _ = ask(*given)
    assert code == 1 and "trained again it does not" in " ".join(said.split())
    assert "fewest neurons that memorise: 16" in said  # what was measured is told all the same
    assert not (tmp_path / "model").exists() and len(file.read(tmp_path / "rows")) == 2


def test_saving_without_pytorch_tells_what_was_measured(ask, engine, tmp_path, monkeypatch):
    from byheart.lab import workers as training

    given = ("--axis", "width=4,16", "--seeds", "1")
    ask(*given)
    monkeypatch.setattr(training, "find_spec", lambda name: None if name == "torch" else 1)
    code, said, _ = ask(*given, "--save", tmp_path / "model")
    assert code == 1 and "fewest neurons that memorise: 16" in said
    assert "training needs PyTorch" in " ".join(said.split())


def test_of_the_seeds_that_memorise_one_that_can_be_certified_is_saved(
    ask, engine, tmp_path, monkeypatch
):
    tried = []

    def model(trial, *_, **__):
        tried.append(trial.seed)
        raise ByheartError(f"seed {trial.seed} is wrong.")

    monkeypatch.setattr("byheart.lab.certified.convert.model", model)
    code, said, _ = ask("--axis", "width=16", "--seeds", "3", "--save", tmp_path / "model")
    assert code == 1 and tried == [0, 1, 2]
    assert "seed 2 is wrong" in " ".join(said.split())


def test_rows_and_models_have_folders_of_their_own(ask, engine, tmp_path):
    refused(ask("--axis", "width=4", "--save", tmp_path / "rows"), "the folder of the rows")
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "config.json").write_text("{}")
    refused(ask("--axis", "width=4"), "is a model folder")
    (tmp_path / "file").touch()
    refused(ask("--axis", "width=4", folder="file"), "is a file")
    assert not engine.ran


def test_a_model_folder_that_exists_is_not_replaced(ask, engine, tmp_path):
    (tmp_path / "model").mkdir()
    refused(ask("--axis", "width=4", "--save", tmp_path / "model"), "exists")


# --- memory


def test_memory_is_that_of_the_largest_trials_together(data, monkeypatch):
    from byheart.machine import memory

    material = Material(load(data), "madden2024")
    sweep = Sweep(
        "madden2024", {}, (("neurons", (4, 4000)),), {"sequences": len(material.dataset)},
        protocol("madden2024", "fast"), Criterion("gap", 0.01), 2,
    )  # fmt: skip
    small, large = (x.memory(material.of(x)) for x in sweep.trials()[1:3])
    assert PROCESS < small < large
    for jobs, needed in ((1, large), (2, 2 * large), (3, 2 * large + small)):
        monkeypatch.setattr(memory, "available", lambda there=needed: there)
        check_memory(sweep.trials(), material, jobs)
        monkeypatch.setattr(memory, "available", lambda there=needed: there - 1)
        with pytest.raises(ByheartError, match="neurons 4,000"):
            check_memory(sweep.trials(), material, jobs)


def test_soap_holds_much_of_every_parameter(data):
    """Of half a million neurons 19 numbers a parameter were seen, beside the activations."""
    material = Material(load(data), "madden2024")
    problem, fast = material.problem(len(material.dataset)), protocol("madden2024", "fast")
    sizes = {"dimension": 16, "neurons": 500_000}
    trial = Trial("madden2024", sizes, {}, fast, Criterion("gap", 0.01), 0)
    assert trial.memory(problem) > PROCESS + 4 * 19 * trial.architecture_for(problem).parameters


def test_only_sides_that_soap_turns_have_matrices(data):
    """Neurons are a side of two tensors: two matrices for each, and four to turn one of them."""
    material = Material(load(data), "madden2024")
    problem, fast = material.problem(len(material.dataset)), protocol("madden2024", "fast")
    plain = replace(fast, attempts=(replace(fast.attempts[0], optimiser="adam"),))

    def more(neurons):
        sizes, data = {"dimension": 16, "neurons": neurons}, {"sequences": len(material.dataset)}
        soap, adam = (
            Trial("madden2024", sizes, data, how, Criterion("gap", 0.01), 0).memory(problem)
            for how in (fast, plain)
        )
        return soap - adam

    longest = LONGEST_SIDE
    matrices = 4 * (8 * longest**2 - 4 * 16**2)
    parameters = 4 * 13 * (1 + 16 + problem.vocabulary)  # of one neuron, which SOAP has more of
    assert more(longest) - more(longest + 1) == matrices - parameters


def test_batches_and_their_indices_are_counted():
    from byheart.figures.data import bigrams
    from byheart.lab.learners.decoders.indices import indices

    problem, script = next_token(bigrams(20)), protocol("dana2024", "script")
    sizes = {"dimension": 2, "heads": 1, "head_dimension": 2}
    drawn, whole = (
        Trial("dana2024", sizes, {}, how, Criterion("accuracy", 1.0), 0).memory(problem)
        for how in (script, replace(script, batch=None, batches=None))
    )
    held = 0
    for batch in problem.batches(script.batch, script.batches, np.random.default_rng(0)):
        index = indices(batch)
        arrays = [*vars(index).values(), *index.targets]
        held += size_of(batch) + sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))
    assert held < drawn - whole < 4 * held


# --- really trained


def trained(data, tmp_path, *options):
    """The answer of a process of its own, as training changes how its processor rounds."""
    pytest.importorskip("torch")
    pytest.importorskip("pytorch_optimizer")
    given = [data, "--architecture", "madden2024", "--axis", "width=1,24", "--seeds", "1",
             "--steps", "120", "--jobs", "1", "-o", tmp_path / "rows", "--json"]  # fmt: skip
    found = _byheart("measure", *given, *options)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def _byheart(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "byheart", *map(str, arguments)], capture_output=True, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip


def test_a_small_measurement(data, tmp_path):
    answer = trained(data, tmp_path)
    (cell,) = answer["cells"]
    assert (cell["smallest"]["value"], cell["below"]["value"]) == (24, 1)
    assert cell["below"]["gap"]["low"] > 0.01 >= cell["smallest"]["gap"]["median"]
    assert answer["saved"] is None


@pytest.mark.slow
def test_the_smallest_is_kept_as_a_model(data, tmp_path):
    answer = trained(data, tmp_path, "--save", tmp_path / "model")
    assert answer["saved"]["sizes"] == {"dimension": 16, "neurons": 24}
    found = _byheart("verify", tmp_path / "model", data)
    assert found.returncode == 0, found.stderr


def test_no_cluster_leaves_nothing_behind(data, tmp_path):
    pytest.importorskip("ray")
    pytest.importorskip("torch")
    folder = tmp_path / "rows"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = _byheart(
            "measure", data, "--architecture", "madden2024", "--axis", "width=4", "-o", folder,
            "--engine", "ray", "--address", f"127.0.0.1:{unused.getsockname()[1]}",
        )  # fmt: skip
    assert found.returncode == 2 and "no Ray cluster" in found.stderr
    assert found.stderr.count("\n") == 1 and not folder.exists()
