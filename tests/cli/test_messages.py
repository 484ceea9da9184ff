"""Messages of the library in the words of the command line, and the list of commands."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.cli import main
from byheart.cli.app import COMMANDS, load
from byheart.cli.messages import OPTIONS, flags
from byheart.data.load import write_jsonl
from byheart.machine.words import STEERS, harmless, printable

EXAMPLES = {
    "use positions=True.": "use --positions.",
    "use positions=False.": "use --no-positions.",
    "use on_conflict='majority' or on_conflict='drop'": "use --on-conflict majority or "
    "--on-conflict drop",
    'use window="auto".': "use --window auto.",
    "use documents='two words'.": "use --documents 'two words'.",
    "use bits=40, or fewer labels.": "use --bits 40, or fewer labels.",
    "use bits=40.": "use --bits 40.",
    "use gap=1e-09 or gap=0.5 (gap=2).": "use --gap 1e-09 or --gap 0.5 (--gap 2).",
    "use separator=-1.": "use --separator -1.",
    "leave out length=....": "leave out --length.",
    "give head_dimension=... or heads=...": "give --head-dimension or --heads",
    "name it with models=...": "name it with --with",
    "give picture='a.svg'.": "give --plot a.svg.",
    # no option, or not an option of its own
    "the law is a=3": "the law is a=3",
    "model.length=3": "model.length=3",
    "in /data/bits=3/x.jsonl": "in /data/bits=3/x.jsonl",
    "there is no column 'label=3'": "there is no column 'label=3'",
    "write width=4,8,16 or width=4-64x2": "write width=4,8,16 or width=4-64x2",
    "length must be 2 or more, not 1.": "--length must be 2 or more, not 1.",
    "length = 3": "length = 3",
    # a sentence that names a flag is the command line's own
    "--set is NAME=NUMBER such as dimension=16": "--set is NAME=NUMBER such as dimension=16",
}


@pytest.mark.parametrize("message", EXAMPLES)
def test_examples(message):
    assert flags(message) == EXAMPLES[message]
    assert flags(flags(message)) == flags(message)


@given(st.text())
def test_text_without_keywords_stays(text):
    if not re.search(r"[a-z_]=", text):
        assert flags(text) == text


words = st.sampled_from(
    ["The data", "use", "or", "leave out", "4,8", "x=", "a.", "'word'", "=", ""]
)
values = st.sampled_from(["True", "False", "'word'", "7", "0.5", "..."])


@given(st.lists(st.tuples(words, st.sampled_from(sorted(OPTIONS)), values), min_size=1))
def test_every_option_is_translated(parts):
    message = " ".join(f"{word} {name}={value}" for word, name, value in parts)
    shown = flags(message)
    assert not re.search(r"[a-z]=(?=\S)", shown.replace("x= ", "")), shown
    for _, name, value in parts:
        prefix = "--no-" if value == "False" else "--"
        assert prefix + name.replace("_", "-") in shown


def parameters(name):
    return {
        option.removeprefix("--").removeprefix("no-").replace("-", "_")
        for parameter in load(name).params
        for option in parameter.opts
        if option.startswith("--")
    }


def test_all_options_are_known():
    assert OPTIONS == {"version"}.union(*map(parameters, COMMANDS)) - {"help"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name):
    first = load(name).help.partition("\n\n")[0]
    assert " ".join(first.split()) == COMMANDS[name] and load(name).name == name


def test_pictures_are_drawn_by_plot_everywhere():
    for name in ("explain", "tradeoff", "encoder", "bounds", "compare", "measure"):
        assert "plot" in parameters(name)
        names = [x for p in load(name).params for x in p.opts if p.name == "plot"]
        alias = ["-o", "--output"] if name in ("explain", "tradeoff", "encoder") else []
        assert names == ["--plot", *alias]


def test_public_names_are_those_that_a_type_checker_sees():
    source = Path(byheart.__file__).read_text()
    imports = re.findall(r"^    from \.([\w.]+) import (\w+) as \2$", source, re.MULTILINE)
    listed = {name: home for home, name in imports}
    assert listed == byheart.HOMES and list(byheart.HOMES) == sorted(byheart.HOMES)
    assert set(byheart.__all__) == set(listed) <= set(dir(byheart))
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
    model.about["method"] = model.about["form"] = EVIL
    model.about["notes"] = [EVIL]
    model.save(tmp_path / "evil")
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
