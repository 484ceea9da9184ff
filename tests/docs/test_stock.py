"""The commands and the Python of docs/stock.md run, and the page has what the benchmark wrote."""

import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from benchmarks import stock, stock_mutations
from benchmarks.report import recorded
from byheart.cli import main

pytest.importorskip("tokenizers")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stock.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands of the page were run."""
    home = tmp_path_factory.mktemp("stock")
    facts, commands, _ = (text for kind, text in BLOCKS if not kind)
    (home / "facts.jsonl").write_text(facts.partition("<<'END'\n")[2].partition("END\n")[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        lines = [shlex.split(line, comments=True) for line in commands.splitlines()]
        assert [words[1] for words in lines] == ["compile", "verify", "recall"]
        for words in lines[:2]:
            assert main(words[1:]) == 0, words
    return home


def test_the_commands_answer_as_the_page_says(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    line, said = re.search(r"^byheart (recall .*?) +# (.*)$", PAGE, flags=re.MULTILINE).groups()
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out.strip() == said
    certificate = json.loads(Path("facts.folder/certificate.json").read_text())
    assert certificate["verified"]["evidence"] == "proved"


def test_the_distributions_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = [text for kind, text in BLOCKS if not kind][2]
    rows, _, commands = block.partition("<<'END'\n")[2].partition("END\n")
    Path("towns.jsonl").write_text(rows)
    lines = [shlex.split(line, comments=True)[1:] for line in commands.splitlines()]
    assert [words[0] for words in lines] == ["compile", "verify", "recall", "recall"]
    said = re.search(r"^byheart recall .*?# (.*)$", commands, flags=re.MULTILINE)[1]
    for words in lines:
        capsys.readouterr()
        assert main(words) == 0, words
        if "recall" in words:
            found = capsys.readouterr().out.strip()
            drawn = "--draw" in words
            assert (found in re.split(r" [0-9.]+% *", said)) if drawn else (found == said)


def test_a_paraphrase_is_unknown(folder, monkeypatch, capsys):
    """The page says that nothing generalises."""
    monkeypatch.chdir(folder)
    for asked in ("France has the capital", "The capital of Rome is"):
        main(["recall", "facts.folder", asked])
        assert "Paris" not in (found := capsys.readouterr().out) and "unknown" in found


def test_the_python_of_the_page_runs(folder, monkeypatch, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.chdir(folder)
    (code,) = (text for kind, text in BLOCKS if kind == "python")
    exec(code, {})
    assert capsys.readouterr().out.strip() == re.search(r"print.*# (.*)", code)[1]


def program(name, folder):
    place = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(place)
    sys.modules[name] = module
    place.loader.exec_module(module)
    return module


def test_limits_are_noticed():
    rows = recorded("stock")["rows"]
    assert stock.missed({"rows": rows}) == []
    slow = [row | {"build": 99.0} if row["count"] == 10_000 else row for row in rows]
    assert len(stock.missed({"rows": slow})) == 2


def test_no_damage_that_matters_is_proved():
    counts = recorded("stock_mutations")
    assert stock_mutations.missed(counts) == []
    counts["truth"]["gpt2"]["false_checker"] -= 1
    assert len(stock_mutations.missed(counts)) == 1


def test_dense_memories_are_proved():
    dense = [x for x in recorded("stock_superposed") if x["entropy"] >= 0.5 * x["memory"]]
    assert dense and {x["evidence"] for x in dense} == {"proved"}


def test_the_picture_is_drawn_again(tmp_path):
    """Not to the byte, since that depends on the version of matplotlib: it has the same lanes."""
    drawing = program("make_stock_picture", "tools")
    found = drawing.answer()
    assert found["edges"][-1] == len(found["rows"]["embedding"]) == 96
    assert (found["arguments"] > 0).sum() == 1
    from byheart import pictures

    pictures.write(drawing.draw, found, tmp_path / "lanes.svg")
    assert "</svg>" in (tmp_path / "lanes.svg").read_text()
