"""edit: a model folder with some items changed, added or removed."""

from functools import partial
from pathlib import Path
from typing import Any

from ..api.edit import EXAMPLE, edit
from ..views.change import view, written
from . import options
from .options import flag, option
from .output import answer, copied


@options.taking(
    options.DIRECTORY,
    options.DATA,
    options.NEW_FOLDER,
    options.REPEATING,
    option("set", "Change a label; may be repeated.", list[str], metavar="INPUT=LABEL"),
    option("add", "Add the rows or documents of a file.", Path, metavar="FILE"),
    option("edits", f".jsonl, lines like {EXAMPLE}.", Path, metavar="FILE"),
    flag("rebuild", "Compile the changed data from nothing else."),
    options.WRITE_DATA,
    options.PROVE_LIMIT,
    options.FORCE,
    options.JSON,
)
def command(
    directory: Path,
    loading: options.Values,
    set: list[str] | None,
    force: bool,
    json: bool,
    **how: Any,
) -> None:
    """Change, add or remove items of a model; the new folder is the one that compile would write.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data.
    """
    verb = partial(edit, directory, set=set or (), force=force)
    change = answer(verb, view, json=json, **how, **loading)
    if not json:
        copied(written(change))
