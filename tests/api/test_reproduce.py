"""reproduce: drawn from rows alone, trained where asked, refused in one sentence."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from byheart.api.reproduce import reproduce as run
from byheart.cli import main
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.figures import FIGURES
from byheart.figures.data import FILES, TITLES
from byheart.figures.figure import Caption, Figure, Part, Settings, Table, censored, trainings
from byheart.figures.fits import Fit, polynomial
from byheart.lab.protocol import protocol
from byheart.lab.sweeps.rows import read
from byheart.lab.sweeps.sweep import Sweep
from byheart.lab.trial import Criterion
from byheart.machine.engines import Workers
from byheart.views.reproduce import formula

pytest.importorskip("matplotlib")
HERE = Path(__file__).parent
specification = importlib.util.spec_from_file_location(
    "samples", HERE.parent / "figures" / "rows_of_madden.py"
)
samples = importlib.util.module_from_spec(specification)
specification.loader.exec_module(samples)
TESTS = str(HERE.parent)
sys.path.insert(0, TESTS)
from stand_in import StandIn  # noqa: E402

sys.path.remove(TESTS)
RESULTS = HERE.parents[1] / "results"
KEYS = ["name", "title", "paper", "trials", "censored", "fits", "caption", "table", "files"]
DATASET = from_rows([(["a"], "b"), (["a", "b"], "c"), (["b"], "a"), (["b"], "c")])


def reproduce(names, **options):
    """The answer, as the command line gives it."""
    return run(names, **options).json()


def store(folder, rows):
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def results(tmp_path):
    """Made-up rows of one figure."""
    folder = tmp_path / "results"
    store(folder / "madden-1" / "fast", [samples.row(100, 8, 90.0), samples.row(100, 16, 0.5)])
    return folder


def plain(key=None, reached=True, **own):
    """A row with every field, of which the tiny figure reads none."""
    row = {**samples.row(100, 8, 0.5), "reached": reached, **own}
    return row if key is None else {**row, "key": key}


def parts(settings):
    """Trials of two steps, on four sequences or, if quick, on three; 8 neurons are not quick."""
    sizes = (4,) if settings.quick else (4, 8)
    sweep = Sweep(
        "madden2024", {"dimension": 2}, (("neurons", sizes),), {"sha256": DATASET.sha256()},
        protocol("madden2024", "fast", steps=2), Criterion("gap", 0.01), settings.repeats(2),
    )  # fmt: skip
    return [Part("fast", sweep, DATASET)]


TINY = Figure(
    "tiny-1", "A tiny one", "nowhere, Figure 1", None, parts,
    draw=lambda rows, picture: picture.add_subplot().plot([len(x) for x in rows.values()]),
    words=Caption("no data", "any loss", "Nothing beside it.", "Differs: not at all."),
    table=lambda rows: Table(("rows",), ((str(sum(map(len, rows.values()))),),)),
    finding=lambda rows: "",
    fits=lambda rows: [polynomial("rows", [0, 1], [1, 2], 1)],
    labels=("fast",),
)  # fmt: skip


@pytest.fixture
def ran(monkeypatch):
    """Figures are one tiny one, trials run here: (neurons, seed, contexts) of those that did."""
    done = []

    class Here(StandIn):
        def row(self, trial, problem):
            done.append((trial.sizes["neurons"], trial.seed, len(problem)))
            return plain(trial.key, trial.seed == 0, trial=trial.json())

    monkeypatch.setattr("byheart.api.reproduce.FIGURES", (*FIGURES, TINY))
    monkeypatch.setattr("byheart.lab.workers.check_packages", lambda *_: None)
    monkeypatch.setattr(Workers, "start", lambda self, run: Here())
    return done


# --- drawing


def test_a_figure_is_drawn_from_its_rows(results, tmp_path):
    answer = reproduce(["madden-1"], rows=results, output=tmp_path / "pictures")
    (figure,) = answer["figures"]
    assert answer["missing"] == [] and list(figure) == KEYS
    assert (figure["name"], figure["trials"], figure["censored"]) == ("madden-1", 2, 1)
    assert [Path(x).relative_to(tmp_path).as_posix() for x in figure["files"]] == [
        "pictures/madden-1/madden-1.svg", "pictures/madden-1/madden-1.png",
        "pictures/madden-1/madden-1.pdf",
    ]  # fmt: skip
    assert all(Path(x).stat().st_size > 10_000 for x in figure["files"])
    assert [path.name for path in (results / "madden-1").iterdir()] == ["fast"]


def test_all_draws_what_has_rows_and_names_the_rest(ran, tmp_path, capsys):
    store(tmp_path / "tiny-1" / "fast", [plain()])
    assert main(["reproduce", "--all", "--rows", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [figure["name"] for figure in answer["figures"]] == ["tiny-1"]
    assert answer["missing"] == [figure.name for figure in FIGURES]
    assert (tmp_path / "tiny-1" / "tiny-1.svg").exists() and ran == []


def test_what_a_person_sees(ran, tmp_path, capsys):
    store(tmp_path / "tiny-1" / "fast", [plain(reached=False)])
    assert main(["reproduce", "tiny-1", "--rows", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for part in ("tiny-1  A tiny one", "nowhere, Figure 1; 1 trials, 1 censored", "Ours: 1",
                 "rows, linear", "1 + (1) n", "drawn in"):  # fmt: skip
        assert part in said


def test_a_label_without_rows_is_no_part(ran, tmp_path):
    store(tmp_path / "tiny-1" / "fast", [plain()])
    store(tmp_path / "tiny-1" / "begun", [])
    assert reproduce(["tiny-1"], rows=tmp_path)["figures"][0]["trials"] == 1


def test_a_folder_that_is_no_part_is_not_drawn(tmp_path):
    """Rows of madden-1 beside those of a figure: it is drawn and told as if they were not there."""
    figure = next(one for one in FIGURES if one.name == "dana-3")
    for stray in ("old", f"{figure.labels[0]}-old"):
        store(tmp_path / "dana-3" / stray, [samples.row(100, 8, 90.0)])
    with pytest.raises(ByheartError, match="holds no rows of dana-3"):
        reproduce(["dana-3"], rows=tmp_path)
    shutil.copytree(RESULTS / "dana-3", tmp_path / "dana-3", dirs_exist_ok=True)
    (drawn,) = reproduce(["dana-3"], rows=tmp_path)["figures"]
    (alone,) = reproduce(["dana-3"], rows=RESULTS, output=tmp_path / "alone")["figures"]
    told = ("trials", "censored", "fits", "caption")
    assert [drawn[x] for x in told] == [alone[x] for x in told]


def test_rows_of_another_part_are_refused(tmp_path):
    shutil.copytree(RESULTS / "dana-3", tmp_path / "dana-3")
    shutil.copy(RESULTS / "dana-1a" / "paper" / "rows.jsonl", tmp_path / "dana-3" / "heads-d10")
    with pytest.raises(ByheartError, match="rows.jsonl: line 1 is of another measurement"):
        reproduce(["dana-3"], rows=tmp_path)


def test_the_labels_of_figures_are_those_of_their_parts(tmp_path, monkeypatch):
    """With as much text as they need; random data is not drawn: only labels count."""
    relations = ("entailment", "neutral", "contradiction")
    words = " ".join("abcdefghijkl")
    (tmp_path / "tinystories.txt").write_text(f"{words}\n<|endoftext|>\n" * 1000)
    pairs = "".join(f"{relations[i % 3]}\t{words} {i}\tx\n" for i in range(2000))
    (tmp_path / "mnli.tsv").write_text(f"label\tpremise\thypothesis\n{pairs}")
    (tmp_path / "imdb.tsv").write_text("label\ttext\n" + f"1\t{words}\n0\t{words}\n" * 1500)
    monkeypatch.setattr("byheart.figures.kajitsuka.length.vectors", lambda *_: DATASET)
    for figure in FIGURES:
        parts = figure.parts(Settings(data=tmp_path))
        assert figure.labels == tuple(part.label for part in parts)
        quick = figure.parts(Settings(quick=True, data=tmp_path))
        assert {part.label for part in quick} <= set(figure.labels)
        assert figure.data is None or figure.data in FILES


def test_a_figure_names_the_data_that_it_needs():
    for figure in FIGURES:
        if figure.data is not None:
            with pytest.raises(ByheartError, match=f"needs {TITLES[figure.data]}: pass data=..."):
                figure.parts(Settings())


@pytest.mark.parametrize(
    "fit, said",
    [
        ([("1", 2619.3, 606.2), ("n", 12.254, 0.347)], "2,619 ± 606 + (12.25 ± 0.35) n"),
        ([("d^3", 3.1e-5, 2e-6)], "(0.0000310 ± 0.0000020) d^3"),
        ([("1", 2.0, None)], "2"),
        ([("1", 2.0, 0.0)], "2"),
    ],
)
def test_formulas(fit, said):
    terms, coefficients, errors = zip(*fit, strict=True)
    errors = None if errors == (None,) else errors
    assert formula(Fit("law", terms, coefficients, errors, 0.0, 9)) == said


def test_drawing_imports_nothing_that_trains(results):
    program = (
        "import sys; from byheart.cli import main;"
        f"code = main(['reproduce', 'madden-1', '--rows', {str(results)!r}, '--json']);"
        "sys.exit(code or bool({'torch', 'optuna', 'ray'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=HERE.parents[1], capture_output=True)
    assert run.returncode == 0, run.stderr


def test_names_are_different():
    names = [figure.name for figure in FIGURES]
    assert len(set(names)) == len(names) and "madden-1" in names


def test_a_trial_in_two_parts_is_one_training():
    rows = {"a": [plain("x", False), plain("y")], "b": [plain("x", False)]}
    assert len(trainings(rows)) == 2 and censored(rows) == 1


# --- training


def test_training_goes_on_where_it_stopped(ran, tmp_path):
    first = reproduce(["tiny-1"], rows=tmp_path, train=True, seeds=1)
    assert ran == [(4, 0, 3), (8, 0, 3)] and first["figures"][0]["trials"] == 2
    again = reproduce(["tiny-1"], rows=tmp_path, train=True, seeds=2)
    assert ran[2:] == [(4, 1, 3), (8, 1, 3)] and again["figures"][0]["censored"] == 2
    before = (tmp_path / "tiny-1" / "fast" / "rows.jsonl").read_bytes()
    reproduce(["tiny-1"], rows=tmp_path, train=True)
    assert len(ran) == 4 and (tmp_path / "tiny-1" / "fast" / "rows.jsonl").read_bytes() == before


def test_a_quick_version_has_its_own_folder(ran, tmp_path):
    answer = reproduce(["tiny-1"], rows=tmp_path / "a", output=tmp_path / "b", quick=True)
    assert ran == [(4, 0, 3), (4, 1, 3)]
    assert len(read(tmp_path / "a" / "tiny-1-quick" / "fast")) == 2
    assert Path(answer["figures"][0]["files"][0]) == (
        tmp_path / "b" / "tiny-1-quick" / "tiny-1-quick.svg"
    )


def test_rows_of_another_protocol_are_refused(ran, tmp_path, monkeypatch):
    reproduce(["tiny-1"], rows=tmp_path, train=True)
    other = protocol("madden2024", "paper", steps=2)
    monkeypatch.setattr(sys.modules[__name__], "protocol", lambda *_, **__: other)
    with pytest.raises(ByheartError, match="is of another measurement"):
        reproduce(["tiny-1"], rows=tmp_path, train=True)
    assert len(ran) == 4


@pytest.mark.slow
def test_a_figure_is_really_trained(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("byheart.api.reproduce.FIGURES", (TINY,))
    reproduce(["tiny-1"], rows=tmp_path, train=True, workers=Workers(jobs=2))
    rows = read(tmp_path / "tiny-1" / "fast")
    assert len(rows) == 4 and all(row["contexts"] == 3 for row in rows)


# --- refused


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ([], "name figures or give --all, not both; there are: madden-1,"),
        (["madden-1", "--all"], "name figures or give --all"),
        (["madden-3"], "there is no figure 'madden-3'; there are: madden-1,"),
        (["madden-1", "--rows", "nowhere"], "nowhere holds no rows of madden-1"),
        (["--all", "--rows", "nowhere"], "nowhere holds no rows of madden-1"),
        (["madden-1", "--data", "x.txt"], "data is only for training: add --train or --quick"),
        (["madden-1", "--jobs", "2"], "jobs is only for training"),
        (["madden-1", "--seeds", "2"], "seeds is only for training"),
        (["madden-1", "--train", "--seeds", "0"], "seeds must be 1 to 1,000, not 0"),
        (["madden-1", "--train", "--jobs", "0"], "--jobs must be 1 or more, not 0"),
        (["madden-1", "--train"], "needs TinyStories: pass --data with its file"),
        (
            ["madden-1", "--quick", "--data", "none.txt"],
            "none.txt is not a file; pass --data with that of TinyStories",
        ),
    ],
)
def test_refused_in_one_sentence(arguments, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    said = capsys.readouterr()
    assert reason in said.err and said.err.count("\n") == 1 and said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_broken_row_is_named(tmp_path, capsys):
    store(tmp_path / "madden-1" / "fast", [{"key": "a"}, ["no row"]])
    assert main(["reproduce", "madden-1", "--rows", str(tmp_path)]) == 2
    assert "line 2 is not the row" in capsys.readouterr().err


def test_rows_of_something_else_are_refused(tmp_path, capsys):
    store(tmp_path / "madden-1" / "fast", [{"key": "a"}])
    assert main(["reproduce", "madden-1", "--rows", str(tmp_path)]) == 2
    assert "rows.jsonl: line 1 has no trial, parameters, " in capsys.readouterr().err
    assert not (tmp_path / "madden-1" / "madden-1.svg").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trial": "x"}, "a field trial that is not an object"),
        ({"attempts": 3}, "a field attempts that is not a list of attempts"),
        ({"key": "0" * 64}, "a key that is not that of its trial"),
    ],
)
def test_a_damaged_row_is_named(results, capsys, change, words):
    store(
        results / "madden-1" / "more",
        [samples.row(200, 8, 9.0), samples.row(200, 16, 0.5) | change],
    )
    assert main(["reproduce", "madden-1", "--rows", str(results)]) == 2
    said = capsys.readouterr().err
    assert f"more/rows.jsonl: line 2 has {words}" in said and said.count("\n") == 1


def test_help_hides_no_brackets(capsys):
    """Rich takes what is in brackets for a style, and does not show it."""
    assert main(["reproduce", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for words in ("beside the rows", "the figure's own", "one per core"):
        assert f"(default: {words})" in said
