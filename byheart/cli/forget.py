"""forget: a model folder without some items, compiled from the remaining data alone."""

from pathlib import Path
from typing import Any

from ..api.forget import EXAMPLE, forget
from ..auditing.closed import is_taught
from ..errors import ByheartError
from ..views.change import view, written
from ..views.taught import forgotten, left
from . import options
from .declaring import listed, taking
from .output import answer, copied


@taking(
    *options.CHANGED,
    *listed("forget", words=EXAMPLE),
    *options.WRITTEN,
    options.KEEP,
)
def command(items: list[str], file: Path | None, json: bool, **how: Any) -> None:
    """Forget items: the new folder is compiled from the remaining data and holds nothing of them.

    Needs a folder compiled with --editable (or by one-layer, token-averaging, gpt2 or llama) and
    its data. In text, an item is a whole document. Of a taught checkpoint, DATA is all facts that
    it was taught, and an item is a prompt.
    """
    if not items and file is None:
        raise ByheartError("there is nothing to forget; name it with --item or --items.")
    taught = is_taught(how["model"])
    shown: Any = forgotten if taught else view
    change: Any = answer(forget, shown, json=json, items=items, file=file, **how)
    if not json:
        copied(left(change) if taught else written(change))
