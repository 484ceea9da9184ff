"""The printed commands on every folder of the checker's examples: its exit codes, no traceback."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

import bad_examples
from byheart.cli import main

CHECKER = Path(__file__).resolve().parents[2] / "checker"
EXAMPLES = bad_examples.folders("good") + bad_examples.folders("bad")
SEALED = "certificate.json"
UNREAD = "?"  # a question for folders whose data no reader takes


@pytest.fixture
def run(capsys, monkeypatch):
    """A command's exit code, after a look at what it prints: an answer or one sentence."""

    def command(*arguments):
        monkeypatch.setattr(sys, "stdin", None)
        code = main([str(argument) for argument in arguments])
        output, errors = capsys.readouterr()
        assert code in (0, 1, 2) and "Traceback" not in output + errors
        assert "Warning" not in errors and "NoneType" not in output
        if not errors:
            assert output
            return code
        # Refused, or a folder that contradicts itself.
        assert code > 0 and errors.startswith("byheart: ") and errors.count("\n") == 1
        if "--json" in arguments:
            error = json.loads(output)["error"]
            assert error["exit"] == code and errors == f"byheart: {error['message']}\n"
        else:
            assert output == ""
        return code

    return command


def question(folder: Path) -> list[str]:
    """The tokens of the folder's first sequence, as one would type them."""
    try:
        tokens = json.loads((folder / "data.jsonl").read_text().splitlines()[0])["input"]
    except ValueError:
        return [UNREAD]
    return [x if isinstance(x, str) else json.dumps(x) for x in tokens] or ["1"]


@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_every_example_as_the_checker_judges_it(run, example):
    expected = {"exit": 0, "data": True}
    if example.parent.name == "bad":
        expected = json.loads(example.with_name(f"{example.name}.json").read_text())
    data = example / "data.jsonl"
    assert run("verify", example, data) == expected["exit"]
    assert run("verify", example, data, "--json") == expected["exit"]
    without = run("verify", example)
    if expected["exit"] == 2:
        assert without == (0 if expected["data"] else 2)
    words = question(example)
    run("recall", example, *words)
    run("recall", example, "--trace", *words)
    run("recall", example, "--steps", "2", *words)
    if expected["exit"] == 0:
        assert run("recall", example, *words) == run("recall", example, "--trace", *words) == 0
        assert without == 0


# --- notes for people are no part of the claim: whatever they hold, and whether they are there

NOTES = (
    *(
        ("config.json", name)
        for name in ("method", "form", "paper", "item", "options", "conflicts")
    ),
    *(("config.json", name) for name in ("loading", "search", "training", "notes")),
    *(("config.json", "data", name) for name in ("labels", "length", "vocabulary")),
    *(("config.json", "bits", name) for name in ("encoded", "information")),
    *(("certificate.json", name) for name in ("divergence", "loss", "accuracy", "predictions")),
    ("certificate.json", "verified", "engine"),
)
ODD = (None, True, -1, 1.5, 10**400, "lots", "", [], ["x", {}], {}, {"mean": "x"})


def noted(folder: Path, copy: Path, values: list) -> Path:
    """A copy of the folder with these notes; a value ... leaves the note out."""
    shutil.copytree(folder, copy)
    documents = {name: json.loads((copy / name).read_text()) for name in ("config.json", SEALED)}
    for (name, *path, key), value in zip(NOTES, values, strict=True):
        place = documents[name]
        for step in path:
            place = place[step]
        place.pop(key, None)
        if value is not ...:
            place[key] = value
    text = json.dumps(documents["config.json"])
    (copy / "config.json").write_text(text)
    documents[SEALED]["files"]["config.json"] = hashlib.sha256(text.encode()).hexdigest()
    (copy / SEALED).write_text(json.dumps(documents[SEALED]))
    return copy


@pytest.mark.parametrize("name", ["words", "next-word"])
@pytest.mark.parametrize("shift", [*range(len(ODD)), ...], ids=str)
def test_notes_are_no_part_of_the_claim(run, checker, tmp_path, name, shift):
    values = [... if shift is ... else ODD[(i + shift) % len(ODD)] for i in range(len(NOTES))]
    folder = noted(CHECKER / "examples/good" / name, tmp_path / "m", values)
    data = folder / "data.jsonl"
    assert checker.failures(str(folder), str(data)) == []
    assert run("verify", folder, data) == run("verify", folder, data, "--json") == 0
    words = question(folder)
    assert run("verify", folder) == run("recall", folder, *words) == 0
    assert run("recall", folder, "--trace", *words) == 0
    run("recall", folder, "--steps", "2", *words)


def test_a_rule_of_text_that_is_not_known_is_one_sentence(tmp_path, capsys):
    values = [{"unit": "other"} if note[-1] == "loading" else ... for note in NOTES]
    folder = noted(CHECKER / "examples/good/words", tmp_path / "m", values)
    assert main(["recall", str(folder), "no"]) == 2
    assert "--unit must be one of word, wordpunct, char" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_verify_and_the_checker_end_alike_on_every_example(run, example):
    """With the checker as a process of its own; checkpoints are in stock/test_tampered.py."""
    data = example / "data.jsonl"
    assert run("verify", example, data, "--checker") == run("verify", example, data)
    assert run("verify", example, "--checker") == run("verify", example)
