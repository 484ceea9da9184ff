"""edit: a model folder with some items changed, added or removed."""

from pathlib import Path
from typing import Any

from ..api.edit import EXAMPLE, edit
from ..views.change import view, written
from . import options
from .declaring import flag, option, taking
from .output import answer, copied


@taking(
    *options.CHANGED,
    option("set", "Change a label; may be repeated.", list[str], metavar="INPUT=LABEL"),
    option("add", "Add the rows or documents of a file.", Path, metavar="FILE"),
    option("edits", f".jsonl, lines like {EXAMPLE}.", Path, metavar="FILE"),
    flag("rebuild", "Compile the changed data from nothing else."),
    *options.WRITTEN,
)
def command(json: bool, **how: Any) -> None:
    """Change, add or remove items of a model; the new folder is the one that compile would write.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data.
    """
    change = answer(edit, view, json=json, **how)
    if not json:
        copied(written(change))
