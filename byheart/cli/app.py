"""The commands. Each is a file of this folder, which is imported when its command is called."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__

COMMANDS = {  # what `byheart --help` says of each: the first paragraph of its own help
    "demo": "Compile the built-in book, prove it, recite it, show its size. Needs no file.",
    "generate": "Write a dataset to try methods on, or a corpus to count.",
    "stats": "Count the contexts and conflicts of a dataset, its entropy and separation.",
    "compile": "Compile a dataset into a model folder, verified before it is written.",
    "verify": "Check a model folder; with DATA, every prediction of that file as it stands there.",
    "export": "Write a model for another tool, and run it there on all of its data.",
    "recall": "Ask a model. Without tokens, each line of standard input is a question.",
    "locate": "Which parameters hold an answer, and which would have to change.",
    "edit": "Change, add or remove items of a model; the new folder is the one that compile would "
    "write.",
    "forget": "Forget items: the new folder is compiled from the remaining data and holds nothing "
    "of them.",
    "diff": "Compare two model folders of one shape: parameters, bits and, with DATA, answers.",
    "explain": "Show the network of a method for a dataset: its stages and the cost of each.",
    "tradeoff": "Compare parameters with bits per parameter, for one dataset.",
    "methods": "The constructions: paper, assumptions, guarantee. With NAME, the options of one.",
    "encoder": "Estimate how close to a dataset a model of dimension D can come.",
    "bounds": "How small a model can be, how much it can hold, whether a dataset fits.",
    "compare": "Every construction and every bound for a dataset, side by side, smallest first.",
    "check": "Check a statement of a paper on your own numbers, data or model. Without NAME, list "
    "them.",
    "statements": "Every numbered statement of the papers, and the command that shows it.",
    "audit": "Measure how many bits of a file a checkpoint holds, and which items it recites.",
    "measure": "Train sizes of an architecture, and report the smallest that memorises a dataset.",
    "studio": "Show the page on this machine: drop a file, compile it, ask it, compare, edit, "
    "audit.",
    "reproduce": "Redraw figures of the papers from trained rows, beside published numbers "
    "and bounds.",
}


RENAMED = {"--places": "--context-length", "--strangers": "--non-members"}  # accepted, not shown


class Commands(TyperGroup):
    """The group of commands; only the one that is called is loaded."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        options = rest.index("--") if "--" in rest else len(rest)
        rest[:options] = map(present, rest[:options])
        return name, listed if name is None else load(name, rest), rest


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
    module = import_module(f".{name}", __package__)
    made = module.command_for(arguments) if hasattr(module, "command_for") else module.command
    single = typer.Typer(add_completion=False)
    single.command(name, context_settings=getattr(module, "SETTINGS", None))(made)
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
    app.command(_name, help=_line)(lambda: None)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"byheart {__version__}")
        raise typer.Exit
