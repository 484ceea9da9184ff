"""What a shell completes, by the protocol between it and the command; and help of 80 columns."""

import re

import pytest

from byheart.cli import main
from byheart.cli.app import COMMANDS, load
from byheart.constructions import ALL
from byheart.figures import FIGURES

METHODS = tuple(dict.fromkeys(construction.name for construction in ALL))
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def complete(monkeypatch, capsys):
    """The words that bash gets for a command line, the last word of which is not complete."""

    def asked(*words):
        monkeypatch.setenv("_BYHEART_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("byheart", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        assert main([]) == 0
        found = capsys.readouterr()
        assert found.err == ""
        return found.out.split()

    return asked


def test_commands(complete):
    assert complete("comp") == ["compile", "compare"]
    assert set(complete("")) == set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("compile", "--method", "one-layer-"), [x for x in METHODS if "one-layer-" in x]),
        (("explain", "hash"), ["hash-fold-retrieve"]),
        (("methods", "token"), ["token-averaging"]),
        (("bounds", "--architecture", "gpt2-"), ["gpt2-medium", "gpt2-large", "gpt2-xl"]),
        (("bounds", "--architecture", "mistral"), ["mistral-7b-v0.1", "mistral-7b-v0.3"]),
        (("measure", "--architecture", "dana"), ["dana2024", "dana2024-program", "dana2024-mlp"]),
        (("reproduce", "dana-"), [x.name for x in FIGURES if x.name.startswith("dana-")]),
        (("reproduce", "madden-1", "madden"), [x.name for x in FIGURES if "madden" in x.name]),
        (("check", "madden-theorem-3"), ["madden-theorem-3"]),
        (("statements", "d"), ["dana2024"]),
        (("generate", "z"), ["zipf"]),
        (("compile", "--form", "f"), ["faithful"]),
        (("compare", "--on-conflict", ""), ["refuse", "majority", "drop"]),
        (("compile", "--method", "limited-bits", "--bi"), ["--bits"]),
        (("verify", "--che"), ["--checker"]),
    ],
)
def test_names(complete, words, wanted):
    assert wanted and complete(*words) == wanted


@pytest.mark.parametrize("words", [("stats", "./capi"), ("bounds", "--architecture", "./conf")])
def test_names_of_files_are_left_to_the_shell(complete, words):
    """No answer means that the shell completes files: `-o default` in bash, _files in zsh."""
    assert complete(*words) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell(monkeypatch, capsys, shell):
    monkeypatch.setenv("_BYHEART_COMPLETE", f"source_{shell}")
    assert main([]) == 0
    script = capsys.readouterr().out
    assert "_BYHEART_COMPLETE" in script
    if shell == "bash":
        assert "-o default" in script


def test_it_can_be_installed(monkeypatch, capsys, tmp_path):
    import typer._completion_shared as shared

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(shared, "_get_shell_name", lambda: "bash")
    assert main(["--install-completion"]) == 0
    assert "installed" in capsys.readouterr().out
    assert any("byheart" in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


# ---------------------------------------------------------------- help

HELPED = [
    *((name,) for name in COMMANDS),
    *(("compile", "--method", name) for name in METHODS),
    *(("explain", name) for name in METHODS),
]


@pytest.mark.parametrize("words", HELPED, ids=" ".join)
def test_help_of_80_columns_has_the_whole_name_of_every_option(monkeypatch, capsys, words):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert main([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and "…" not in "".join(lines)
    shown = {name for line in lines for name in re.findall(r"(?<![\w-])--[\w-]+", line)}
    for parameter in load(words[0], words[1:]).params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            names = {*parameter.opts, *parameter.secondary_opts}
            assert {name for name in names if name.startswith("--")} <= shown


def squeezed(text):
    """The text without white space and frames."""
    return re.sub(r"[\s│]", "", text)


@pytest.mark.parametrize("words", [(), *HELPED], ids=" ".join)
def test_help_shows_every_text_with_its_brackets(monkeypatch, capsys, words):
    """Rich takes some brackets for styles: 'byheart[studio]' would be shown as 'byheart'."""
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 4000)  # one line each
    assert main([*words, "--help"]) == 0
    shown = squeezed(capsys.readouterr().out)
    if not words:
        assert all(squeezed(line) in shown for line in COMMANDS.values())
        return
    command = load(words[0], words[1:])
    texts = [x.help.replace("\\[", "[") for x in command.params if not getattr(x, "hidden", False)]
    for text in (command.callback.__doc__, *texts):
        assert squeezed(text) in shown
