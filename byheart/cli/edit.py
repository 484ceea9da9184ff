"""edit: a model folder with some items changed, added or removed."""

from typing import Any

from ..api.edit import EXAMPLE, edit
from ..views.change import view, written
from . import options
from .declaring import listed, taking
from .output import answer, copied


@taking(
    *options.CHANGED,
    *listed("edit", words=EXAMPLE),
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
