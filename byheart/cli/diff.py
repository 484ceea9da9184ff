"""diff: what differs between two model folders, or two checkpoints."""

from typing import Any

from ..api.diff import diff
from ..views.diff import draw, view
from . import options
from .declaring import argument, taking
from .output import answer


@taking(
    options.DIRECTORY,
    argument("other", "Another model folder, or an adapter.", metavar="NEW"),
    options.FOLDER_READING,
    argument("data", "A file whose inputs both are asked.", default=None),
    *options.PICTURE,
)
def command(**how: Any) -> None:
    """Compare two models: parameters, bits and, with DATA, answers.

    Two byheart folders of one shape are compared stage by stage. Of any two Hugging Face folders,
    or of one and a LoRA adapter for it: the tensors that differ, by how much and with which rank,
    config and tokenizer, and with DATA the items whose answer, rank or loss differ.
    """
    answer(diff, view, draw, **how)
