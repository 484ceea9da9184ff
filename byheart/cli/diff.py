"""diff: what differs between two model folders."""

from typing import Any

from ..api.diff import diff
from ..views.diff import draw, view
from . import options
from .declaring import argument, taking
from .output import answer


@taking(
    options.DIRECTORY,
    argument("other", "Another model folder.", metavar="NEW"),
    options.FOLDER_READING,
    argument("data", "A file whose inputs both are asked.", default=None),
    *options.PICTURE,
)
def command(**how: Any) -> None:
    """Compare two model folders of one shape: parameters, bits and, with DATA, answers."""
    answer(diff, view, draw, **how)
