"""studio: the local page."""

import sys
from importlib.util import find_spec
from json import dumps
from pathlib import Path

from ..errors import ByheartError
from ..machine.installing import remedy
from ..machine.tables import plural
from ..machine.words import printable
from .declaring import argument, listed, taking
from .progress import watching

NEEDS = ("starlette", "uvicorn")


@taking(
    argument("data", "A data file to begin with.", default=None, metavar="[DATA]"),
    *listed("studio"),
)
def command(
    data: Path | None,
    models: list[Path],
    port: int | None,
    browser: bool,
    export: Path | None,
    questions: list[str],
    force: bool,
    json: bool,
) -> None:
    """Show the page on this machine: drop a file, compile it, ask it, compare, edit, audit.

    It needs Starlette and uvicorn, the extra studio. Only this machine can reach it,
    with the address that is printed. Ctrl-C ends it, and removes what was uploaded and compiled.

    --export writes the answers of one model as a page that needs no server, for a class or a paper.
    """
    if export is not None or questions:
        if export is None or len(models) != 1:
            raise ByheartError("a page is of one model: give --export PAGE.html and --model DIR.")
        from ..studio.saving import save_page

        with watching() as watch:
            asked = save_page(models[0], export, data, questions, force=force, watch=watch)
        if json:
            print(dumps({"page": str(export), "questions": asked}))
        else:
            print(printable(f"written to {export}: {plural(len(asked), 'question')}"))
        return
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        raise ByheartError(f"the page needs {' and '.join(missing)}: {remedy('studio')}.")

    def announce(address: str, number: int) -> None:
        if json:
            print(dumps({"address": address, "port": number}), flush=True)
            return
        print(f"byheart studio is at {address}")
        print("Only this machine can reach it. Ctrl-C ends it.", flush=True)

    from ..studio.serving import serve  # Starlette

    try:
        serve(data, tuple(models), port, browser, announce)
    except KeyboardInterrupt:
        pass  # the usual way to end it
    if not json:
        print("\nstopped; what was uploaded and compiled is removed.", file=sys.stderr)
