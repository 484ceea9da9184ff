"""forget: a model folder without some items, compiled from the remaining data alone."""

from functools import partial
from pathlib import Path
from typing import Any

from ..api.forget import EXAMPLE, forget
from ..errors import ByheartError
from ..views.change import view, written
from . import options
from .options import flag, option
from .output import answer, copied


@options.taking(
    options.DIRECTORY,
    options.DATA,
    options.NEW_FOLDER,
    options.REPEATING,
    option("item", "An item to forget; may be repeated.", list[str], metavar="INPUT"),
    option("items", f".jsonl, lines like {EXAMPLE}.", Path, metavar="FILE"),
    flag("label_only", "Keep the input, with a fixed label."),
    options.WRITE_DATA,
    options.PROVE_LIMIT,
    options.FORCE,
    options.JSON,
)
def command(
    directory: Path,
    loading: options.Values,
    item: list[str] | None,
    items: Path | None,
    force: bool,
    json: bool,
    **how: Any,
) -> None:
    """Forget items: the new folder is compiled from the remaining data and holds nothing of them.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data. In text, an item is a whole document.
    """
    if not item and items is None:
        raise ByheartError("there is nothing to forget; name it with --item or --items.")
    verb = partial(forget, directory, items=item or (), file=items, force=force)
    change = answer(verb, view, json=json, **how, **loading)
    if not json:
        copied(written(change))
