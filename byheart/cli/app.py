"""The commands. Each is a file of this folder, which is imported when its command is called."""

import os
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from .declaring import literal

GROUPS = {  # of the list of commands
    "Begin": "demo studio",
    "Build": "generate stats compile verify explain methods",
    "Ask": "recall recite locate",
    "Change and export": "edit forget diff export",
    "Sizes": "size bounds compare tradeoff encoder",
    "Trained models": "audit teach benchmark measure",
    "Papers": "check statements reproduce",
}
PANELS = {name: group for group, names in GROUPS.items() for name in names.split()}
NAMES = list(PANELS)
HELP = re.compile(r'^def command\(.*?"""(.*?)(?:\n\n|""")', re.DOTALL | re.MULTILINE)
ALONE = {"--checker": ("independent", "verified")}  # they may stand without a value: the first one
SHORT = "stats recall locate methods bounds statements".split()
RENAMED = {"--places": "--context-length", "--strangers": "--non-members"}  # accepted, not shown


def first_paragraph(name: str) -> str:
    """Of the help of a command, from its file, which is not imported."""
    text = Path(__file__).with_name(f"{name}.py").read_text("utf-8")
    return " ".join(HELP.findall(text)[0].split())


COMMANDS = {name: first_paragraph(name) for name in NAMES}  # what `byheart --help` says of each


class Commands(TyperGroup):
    """The group of commands; only the one that is called is loaded."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        options = rest.index("--") if "--" in rest else len(rest)
        rest[:options] = map(present, valued(rest[:options]))
        return name, listed if name is None else load(name, rest), rest


def valued(words: Sequence[str]) -> Iterator[str]:
    """The words, where every option of ALONE has its value: the next word, if it can be one.

    >>> list(valued(["DIR", "--checker", "DATA"])), list(valued(["--checker", "verified"]))
    (['DIR', '--checker=independent', 'DATA'], ['--checker=verified'])
    """
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word in ALONE:
            given = bool(waiting) and waiting[0] in ALONE[word]
            word = f"{word}={waiting.pop(0) if given else ALONE[word][0]}"
        yield word


def present(word: str) -> str:
    """The word of a command line, with the present name of an option.

    >>> present("--places=99"), present("places")
    ('--context-length=99', 'places')
    """
    option, equals, value = word.partition("=")
    return f"{RENAMED.get(option, option)}{equals}{value}"


def load(name: str, arguments: Sequence[str] = ()) -> Any:
    """The command of a file: its function `command`, under the name of the file.

    Where the arguments decide which options there are, `command_for` makes the function.
    """
    if name in SHORT:  # threads for linear algebra take longer to start than the whole command
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module = import_module(f".{name}", __package__)
    made = module.command_for(arguments) if hasattr(module, "command_for") else module.command
    single = typer.Typer(add_completion=False)
    settings = getattr(module, "SETTINGS", None)
    single.command(name, help=literal(made.__doc__), context_settings=settings)(made)
    return typer.main.get_command(single)


app = typer.Typer(
    name="byheart",
    cls=Commands,
    help="Compile a dataset into a transformer that provably knows it by heart.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _line in COMMANDS.items():
    app.command(_name, help=literal(_line), rich_help_panel=PANELS[_name])(lambda: None)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"byheart {__version__}")
        raise typer.Exit
