"""studio: the local page."""

import sys
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ByheartError

NEEDS = ("starlette", "uvicorn")


def command(
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="A data file to begin with.")
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            metavar="DIR",
            help="A model folder or a Hugging Face checkpoint to ask or audit; repeatable. The "
            "page itself opens no folders.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="N", help="The port [8642, or one that is free]."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    json: Annotated[
        bool, typer.Option("--json", help="Print the address as one JSON object.")
    ] = False,
) -> None:
    """Show the page on this machine: drop a file, compile it, ask it, compare, edit, audit.

    It needs Starlette and uvicorn: pip install 'byheart[studio]'. Only this machine can reach it,
    with the address that is printed. Ctrl-C ends it, and removes what was uploaded and compiled.
    """
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        raise ByheartError(
            f"the page needs {' and '.join(missing)}: pip install 'byheart[studio]'."
        )

    def announce(address: str, number: int) -> None:
        if json:
            print(dumps({"address": address, "port": number}), flush=True)
            return
        print(f"byheart studio is at {address}")
        print("Only this machine can reach it. Ctrl-C ends it.", flush=True)

    from ..studio.serving import serve  # Starlette

    try:
        serve(data, tuple(models or ()), port, browser, announce)
    except KeyboardInterrupt:
        pass  # the usual way to end it
    if not json:
        print("\nstopped; what was uploaded and compiled is removed.", file=sys.stderr)
