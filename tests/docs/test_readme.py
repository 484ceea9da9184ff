"""Every block of the README runs, in order, in an empty folder: what a newcomer types."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from byheart.cli import main
from tools.pages import running

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
PROGRAMS = ("byheart", "cat", "cp", "make")
# what trains, and what reads the model that was trained
TRAINED = ("measure", "small.folder", "gpt2.folder")
MADE = {"make demo", "make test"}  # run by everybody who works on byheart


def commands(block):
    """The command lines of a block, whole; a here-document belongs to its command."""
    return running.commands(running.Block("commands", block))


def command_blocks():
    return [text for kind, text in BLOCKS if not kind and text.split()[0] in PROGRAMS]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which all blocks were run, and the commands that were left out."""
    home, left = tmp_path_factory.mktemp("readme"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for block in command_blocks():
            for command in commands(block):
                line = " ".join(command.words)
                if line in MADE or any(word in line for word in TRAINED):
                    left.append(line)
                    continue
                code, printed = running.run(command)
                assert code == wanted(command.words), f"{line}: {printed}"
    return home, left


def wanted(words):
    """A statement that is refuted ends with 1, and the README says so."""
    return int(words[:3] == ["byheart", "check", "madden-theorem-3"])


def test_every_command_runs(ran):
    home, left = ran
    assert len(left) == len(MADE) + 3 + 2  # measure, verify and compare; measure and audit
    for name in ("capitals.folder", "book.folder", "network.svg", "tradeoff.pdf"):
        assert (home / name).exists()


def test_every_block_is_known():
    """A block is commands, Python, or what a command prints; a new kind is noticed here."""
    others = [text for kind, text in BLOCKS if not kind and text not in command_blocks()]
    assert [text.split()[0] for text in others] == ["neurons"]
    assert [kind for kind, _ in BLOCKS if kind] == ["python", "python"]


def test_what_the_comments_say(ran, capsys, monkeypatch):
    """An answer that stands beside a question is what the model answers."""
    monkeypatch.chdir(ran[0])
    asked = re.findall(r"^(byheart recall .*?) +# (.*)$", README, flags=re.MULTILINE)
    checked = [(words, said) for words, said in asked if "the " not in said]
    assert len(checked) == 3
    for words, said in checked:
        assert main(shlex.split(words)[1:]) == 0
        assert capsys.readouterr().out.strip() == said, words


def test_the_python_runs(ran, monkeypatch):
    monkeypatch.chdir(ran[0])
    names = {}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(text, names)
    assert names["model"].recall(["capital", "of", "france"]) == "paris"


def test_a_trained_model_is_compared_on_data_read_as_it_was():
    """`compare` reads the file as it is told: another unit has words that the model lacks."""
    lines = [x.words for block in command_blocks() for x in commands(block)]
    trained = next(line for line in lines if "measure" in line)
    compared = next(line for line in lines if "--with" in line)
    for option in ("--unit", "--length"):
        assert compared[compared.index(option) + 1] == trained[trained.index(option) + 1]


def test_where_data_is_from():
    """A file that a block names ships, or a block before it writes it; TinyStories has a source."""
    assert "roneneldan/TinyStories" in README
    (ROOT / "byheart/data/book.txt").stat()


def test_drawing_needs_nothing_more():
    """`make demo` installs the package alone, and the README draws pictures with it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.match(r"[\w-]+", x)[0] for x in project["dependencies"]]
    assert "matplotlib" in names and project["optional-dependencies"]["figures"] == []
