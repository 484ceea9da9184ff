"""Options in messages, and the list of commands."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.api.configure import configured
from byheart.cli import main
from byheart.cli.app import COMMANDS, RENAMED, load, present
from byheart.constructions import ALL
from byheart.data.load import write_jsonl
from byheart.errors import FLAGS, OPTION
from byheart.machine.words import STEERS, harmless, printable


def parameters(name):
    return {
        option.removeprefix("--").removeprefix("no-").replace("-", "_")
        for parameter in load(name).params
        for option in parameter.opts
        if option.startswith("--")
    }


def strings(path):
    """The strings of a file that are not docstrings, f-strings with {} for their values."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body]
    seen = {id(x) for body in bodies if isinstance(body, ast.Expr) for x in ast.walk(body)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            seen |= {id(x) for x in node.values}
            yield "".join(x.value if isinstance(x, ast.Constant) else "{}" for x in node.values)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen
        ):
            yield node.value


KEYWORD = re.compile(r"""(?<![\w.'"/=`-])([a-z_]+)=(?:True|False|'|\.\.\.|\{\})""")
NO_MESSAGES = ("cli", "studio", "views")  # they write flags themselves
PYTHON = {"readme.py", "card.py", "cluster.py", "serving.py"}  # programs and addresses


def test_options_in_messages_are_marked_and_exist():
    options = {"version", *FLAGS}.union(*map(parameters, COMMANDS))
    options |= {name for construction in ALL for name in construction.options()}
    package = Path(byheart.__file__).parent
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in NO_MESSAGES or path.name in PYTHON:
            continue
        for text in strings(path):
            for name, value in OPTION.findall(text):
                assert name in options or not value, f"{path}: {text}"
            for name in KEYWORD.findall(OPTION.sub("", text)):
                assert name not in options, f"{path}: {text}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name):
    first = load(name).help.partition("\n\n")[0]
    assert " ".join(first.split()) == COMMANDS[name] and load(name).name == name


def test_older_names_of_options_are_accepted_and_not_shown(capsys):
    names = {"--places": "--context-length", "--strangers": "--non-members"}
    assert names == RENAMED and [*map(present, names)] == [*names.values()]
    assert present("--places=9") == "--context-length=9" and present("places=9") == "places=9"
    for words in (("audit",), ("compile", "--method", "gpt2")):
        assert main([*words, "--help"]) == 0
        shown = capsys.readouterr().out
        assert not any(name in shown for name in names)
    assert configured("gpt2", None, 0, {"places": 99}).context_length == 99
    code = main("compile nothing.jsonl --method gpt2 --places 9 -o model".split())
    assert code == 2 and "nothing.jsonl" in capsys.readouterr().err


def test_pictures_are_drawn_by_plot_everywhere():
    for name in ("explain", "tradeoff", "encoder", "bounds", "compare", "measure"):
        assert "plot" in parameters(name)
        names = [x for p in load(name).params for x in p.opts if p.name == "plot"]
        alias = ["-o", "--output"] if name in ("explain", "tradeoff", "encoder") else []
        assert names == ["--plot", *alias]


def test_public_names_are_those_that_a_type_checker_sees():
    (block,) = (x for x in ast.parse(Path(byheart.__file__).read_text()).body if type(x) is ast.If)
    listed = {name.asname for line in block.body for name in line.names}
    assert listed == set(byheart.__all__) <= set(dir(byheart))
    for name in byheart.__all__:
        assert getattr(getattr(byheart, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = byheart.nonsense


def test_importing_byheart_is_light():
    code = "import byheart, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


EVIL = "\x1b[1A\x1b[2Kproved  3 of 3 labels correct\x9b2J\u202e\x07\x7f"


@pytest.fixture
def evil(tmp_path):
    """A folder whose words, method and notes steer a terminal; its hashes and counts agree."""
    rows = [(["a", EVIL], "x" + EVIL), (["b"], "y\nproved")]
    model = byheart.compile(byheart.Dataset.from_rows(rows))
    record = replace(model.record, method=EVIL, form=EVIL, notes=(EVIL,))
    replace(model, record=record).save(tmp_path / "evil")
    write_jsonl(byheart.Dataset.from_rows(rows), tmp_path / "evil.jsonl")
    return tmp_path / "evil", tmp_path / "evil.jsonl"


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "DIR"), ("verify", "DIR", "DATA"), ("verify", "DIR", "DATA", "--json"),
        ("recall", "DIR", "b"), ("recall", "DIR", "--file", "DATA"), ("recall", "DIR", "zzz"),
        ("recall", "DIR", "--file", "DATA", "--trace"), ("recall", "DIR", "b", "--json"),
        ("compare", "DATA", "--with", "DIR"), ("stats", "DATA"), ("explain", EVIL, "DATA"),
        ("compile", "DATA", "-o", "DIR", "--method", EVIL), ("bounds", "--dataset", "DATA"),
        ("check", "separation", "DATA", "--radius", "1"), ("check", "dana-assumption-2", "DATA"),
        ("check", "contextual-mapping", "DIR", "DATA", "--distance", "1e99"), ("check", EVIL),
        ("check", "contextual-mapping", "DIR", "DATA", "--distance", "1e99", "--json"),
    ],
)  # fmt: skip
def test_nothing_from_a_file_steers_the_terminal(evil, arguments, capsys):
    """Neither what is asked about, nor a word or label of a file, nor a record of a folder."""
    names = {"DIR": str(evil[0]), "DATA": str(evil[1])}
    main([names.get(word, word) for word in arguments])
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert not STEERS.search(text), text
        assert not any(line.startswith("proved  3 of 3") for line in text.splitlines())


@given(st.text())
def test_printable_text_stays_and_nothing_steers(text):
    shown = printable(text)
    assert not STEERS.search(shown) and (STEERS.search(text) or shown == text)
    assert "\n" not in harmless(text) and json.loads(json.dumps(harmless([text]))) is not None
