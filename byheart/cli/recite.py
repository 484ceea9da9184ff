"""recite: everything that a model knows, on standard output or in a file."""

import sys
from typing import Any

import typer

from ..api.recite import recite
from ..machine.words import printable
from ..views.recite import view
from . import options
from .declaring import listed, taking
from .output import console, print_json
from .progress import watching


@taking(
    options.DIRECTORY,
    *listed("recite"),
    options.FORCE,
    options.JSON,
)
def command(json: bool, **how: Any) -> None:
    """Recite every document to its end from the weights, byte for byte as its file has it.

    The first tokens and the lengths of documents, and what stands between them, are in the folder's
    config.json, and counted. Of a table the rows are recited, as JSON: with the inputs of FILE, or
    of a folder compiled with --write-data. The exit code is 1 if the recitation is not FILE (or,
    without it, not what the folder was made from), and the first difference is shown.
    """
    with watching() as watch:
        result = recite(watch=watch, **how)
    if json:
        print_json(result.json())
    elif result.output is None and not result.checked:
        if sys.stdout.isatty():
            print(printable(result.recitation.text))
        else:
            for file in result.recitation.files:
                sys.stdout.buffer.write(file.content)
            sys.stdout.buffer.flush()
        console(sys.stderr).print(view(result))
    else:
        console().print(view(result))
    if not result.holds:
        raise typer.Exit(1)
