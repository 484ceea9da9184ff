"""byheart check: exit codes, exact numbers, files of numbers, and how the data was read."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from byheart.api.checks import CHECKS
from byheart.cli import main

ROOT = Path(__file__).resolve().parents[2]
CAPITALS = [
    '{"input": ["capital", "of", "france"], "label": "paris"}',
    '{"input": ["capital", "of", "italy"], "label": "rome"}',
    '{"input": ["river", "of", "italy"], "label": "tiber"}',
]
LINES = ['{"input": ["a", "b"], "label": "a"}', '{"input": ["b", "a"], "label": "b"}']


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    home = tmp_path_factory.mktemp("check")
    (home / "data.jsonl").write_text("\n".join(LINES))
    (home / "capitals.jsonl").write_text("\n".join(CAPITALS))
    (home / "story.txt").write_text("the cat sat on the mat")
    made = ["compile", str(home / "capitals.jsonl"), "-o", str(home / "folder")]
    assert main(made) == 0
    assert main(["compile", str(home / "data.jsonl"), "-o", str(home / "model")]) == 0
    return home


@pytest.fixture
def run(capsys, places):
    """Run `byheart check`: its exit code, standard output and standard error."""

    def command(line):
        names = {"DATA": "data.jsonl", "DIR": "model", "TEXT": "story.txt"}
        names |= {"CAPITALS": "capitals.jsonl", "FOLDER": "folder"}
        words = [str(places / names[x]) if x in names else x for x in shlex.split(line)]
        capsys.readouterr()
        code = main(["check", *words])
        return (code, *capsys.readouterr())

    return command


@pytest.mark.parametrize("name", CHECKS)
def test_every_example_runs_as_it_is_printed(run, name):
    code, output, errors = run(f"{name} {CHECKS[name].example} --json")
    answer = json.loads(output)
    expected = {"dana-assumption-2": "refuted", "dana-lemma-4": "refuted"}.get(
        name, answer["evidence"]
    )
    assert errors == "" and answer["evidence"] == expected is not None
    assert code == (1 if expected == "refuted" else 0) == (0 if answer["holds"] else 1)
    assert (answer["counterexample"] is not None) == (expected == "refuted")
    code, output, errors = run(f"{name} {CHECKS[name].example}")
    assert answer["evidence"] in output and errors == ""


def documented():
    """(command line, evidence) of the examples of docs/check.md."""
    lines = (ROOT / "docs" / "check.md").read_text().splitlines()
    examples = (line.partition("#") for line in lines if line.startswith("byheart check "))
    return [
        (line.removeprefix("byheart check ").strip(), says.strip()) for line, _, says in examples
    ]


@pytest.mark.parametrize(("line", "evidence"), documented())
def test_the_examples_of_the_page_say_what_they_find(run, line, evidence):
    line = line.replace("capitals.jsonl", "CAPITALS").replace("capitals.folder", "FOLDER")
    code, output, errors = run(f"{line} --json")
    assert (json.loads(output)["evidence"], errors) == (evidence, "")
    assert code == (0 if evidence == "proved" else 1)


def test_the_page_has_examples_of_every_check():
    assert {line.split()[0] for line, _ in documented()} == set(CHECKS)


def test_the_python_of_the_page_runs():
    page = (ROOT / "docs" / "check.md").read_text()
    lines, names = page.partition("```python\n")[2].partition("```")[0], {}
    exec(lines, names)
    found = names["found"]
    for line in lines.splitlines():
        if line.startswith("found."):
            expression, _, value = line.partition("  # ")
            assert repr(eval(expression, names)) == value
    assert found.json()["evidence"] == "refuted" and repr(found).startswith("refuted: ")


def test_the_help_of_a_check_has_its_options_and_no_others(run):
    code, output, _ = run("madden-theorem-2 --help")
    assert code == 0 and "--coefficients" in output and "--heads" not in output
    assert "Theorem 2" in output and "Example" in output


def test_without_a_name_all_are_listed(run):
    code, output, _ = run("--json")
    assert code == 0 and [x["check"] for x in json.loads(output)["rows"]] == list(CHECKS)
    code, output, _ = run("")
    assert code == 0 and all(name in output for name in CHECKS)


def test_numbers_are_exact(run):
    """0.1 + 0.7 = 0.8 in decimal numbers, and not in floats: the values collide."""
    assert 0.1 + 0.7 != 0.8
    line = "madden-theorem-6 --token-values 0.1,7e-1,4/5 --position-values 1,1"
    code, output, _ = run(f"{line} --json")
    assert code == 1
    assert json.loads(output)["counterexample"] == {"contexts": [[2], [0, 1]]}


def test_a_sample_is_accepted_only_if_asked(run):
    line = "dana-lemma-2 --contexts 5 --vocabulary 4 --length 2 --dimension 2 --heads 2"
    assert [run(line)[0], run(f"{line} --accept sampled")[0]] == [1, 0]
    assert run(f"{line} --accept observed")[0] == 1
    assert (
        "--accept sampled" in run(line)[1] and "--accept" not in run(f"{line} --accept sampled")[1]
    )
    _, output, _ = run(f"{line} --accept observed --accept sampled --json")
    assert json.loads(output)["accepted"] == ["observed", "sampled"]


@pytest.mark.parametrize("extension", ["json", "npz"])
def test_numbers_of_a_file(run, places, extension):
    path = places / f"numbers.{extension}"
    if extension == "json":
        path.write_text('{"inputs": [0.5, "1/3", 2], "weights": [1, 2, 3]}')
    else:
        np.savez(path, inputs=np.array([0.5, 0.25, 2]), weights=np.array([[1], [2], [3]]))
    code, output, _ = run(f"madden-theorem-3 --activation tanh --numbers {path} --json")
    assert code == 0 and json.loads(output)["facts"]["rank"] == 3
    code, _, errors = run(f"madden-theorem-3 --activation tanh --numbers {path} --inputs 1,2")
    assert code == 2 and "which is given as well" in errors


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("n.json", "[1]", "must be an object of lists"),
        ("n.json", '{"inputs": 3}', "must be an object of lists"),
        ("n.json", '{"inputs": [[1]]}', "list of finite numbers"),
        ("n.json", '{"inputs": [NaN]}', "list of finite numbers"),
        ("n.json", '{"inputs": ["1e9999999"]}', "must be a list of finite numbers"),
        ("n.json", '{"biases": [1]}', "lists are named coefficients"),
        ("n.json", "{", "is not a JSON file"),
        ("n.npz", "no archive", "is not an .npz file"),
        ("n.txt", "1", "must end in .json or .npz"),
    ],
)
def test_bad_files_of_numbers(run, places, name, content, says):
    (places / name).write_text(content)
    line = f"madden-theorem-3 --activation tanh --numbers {places / name}"
    code, output, errors = run(line)
    assert (code, output, errors.count("\n")) == (2, "", 1) and says in errors


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("magic", "there is no check 'magic'"),
        ("madden-theorem-2 --inputs 1", "needs --coefficients"),
        ("madden-theorem-2 --heads 3", "madden-theorem-2 takes no --heads; it takes --coeff"),
        ("dana-assumption-1 DATA --heads 3", "takes no --heads."),
        ("madden-theorem-3 --activation tanh --inputs 1,x", "--inputs must be a list of numbers"),
        ("madden-theorem-3 --activation tanh --inputs 1/0", "--inputs must be a list of numbers"),
        ("madden-theorem-3 --activation tanh --inputs 1e999999", "--inputs must be a list"),
        ("madden-theorem-3 --activation relu --inputs 1", "--activation must be one of"),
        ("dana-lemma-4 --delta 1,2", "--delta must be a number such as 2/7"),
        ("separation", "separation needs a data file: byheart check separation DATA."),
        ("separation DATA DATA", "takes 1 files or folders, not 2"),
        ("contextual-mapping DIR", "needs a data file: byheart check contextual-mapping DIR DATA."),
        ("madden-theorem-6 --vocabulary 2 --length 2 --unit char", "--unit is for a data file"),
        ("separation DATA --unit char", "--unit"),
        ("separation nowhere.jsonl", "nowhere.jsonl"),
        ("dana-lemma-4 --accept maybe", "--accept must be one of sampled, observed"),
        ("contextual-mapping DATA DATA", "data.jsonl"),
    ],
)
def test_bad_input_is_one_sentence(run, line, says):
    code, output, errors = run(line)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert says in errors and "=..." not in errors


def test_how_the_data_was_read_is_part_of_the_answer(run):
    code, output, _ = run("dana-assumption-1 TEXT --unit char --window 3 --json")
    read = json.loads(output)["reading"]
    assert read["options"]["unit"] == "char" and read["options"]["window"] == 3
    assert read["file"].endswith("story.txt") and read["sequences"] == 21
    _, output, _ = run("dana-assumption-1 TEXT --unit char --window 3")
    assert "--unit char" in " ".join(output.split()) and "--window 3" in output


def test_a_folder_says_how_text_is_split_and_nothing_else(run, places):
    """Neither the window nor the length that it was compiled with changes how the file is read."""
    folder, text = str(places / "chars"), str(places / "story.txt")
    made = ["compile", text, "-o", folder, "--unit", "char", "--window", "auto", "--length", "12"]
    assert main(made) == 0
    code, output, errors = run(f"contextual-mapping {folder} TEXT")
    assert (code, output) == (2, "") and "sequence" in errors  # the contexts of the file are longer
    code, output, _ = run(f"contextual-mapping {folder} TEXT --length 12 --window 2 --json")
    read = json.loads(output)["reading"]
    assert code in (0, 1) and read["sequences"] == 11
    assert read["options"]["unit"] == "char" and read["options"]["window"] == 2
