"""The printed commands on every folder of the checker's examples: its exit codes, no traceback."""

import json
import sys
from pathlib import Path

import pytest

from byheart.cli import main

CHECKER = Path(__file__).resolve().parents[2] / "checker"
FOLDERS = [*sorted((CHECKER / "good").iterdir()), *sorted((CHECKER / "bad").iterdir())]
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
        if output:
            assert errors == ""
        else:  # refused, or a folder that contradicts itself
            assert code > 0 and errors.startswith("byheart: ") and errors.count("\n") == 1
        return code

    return command


def question(folder: Path) -> list[str]:
    """The tokens of the folder's first sequence, as one would type them."""
    try:
        tokens = json.loads((folder / "data.jsonl").read_text().splitlines()[0])["input"]
    except ValueError:
        return [UNREAD]
    return [x if isinstance(x, str) else json.dumps(x) for x in tokens] or ["1"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_example_as_the_checker_judges_it(run, folder):
    expected = {"exit": 0, "data": True}
    if folder.parent.name == "bad":
        expected = json.loads((folder / "EXPECT.json").read_text())
    data = folder / "data.jsonl"
    assert run("verify", folder, data) == expected["exit"]
    assert run("verify", folder, data, "--json") == expected["exit"]
    without = run("verify", folder)
    if expected["exit"] == 2:
        assert without == (0 if expected["data"] else 2)
    words = question(folder)
    run("recall", folder, *words)
    run("recall", folder, "--trace", *words)
    if expected["exit"] == 0:
        assert run("recall", folder, *words) == run("recall", folder, "--trace", *words) == 0
        assert without == 0
