"""export: a model folder becomes one that another tool reads."""

from pathlib import Path
from typing import Any

import typer

from ..api.export import PACKED, export
from ..exports.formats import TARGETS
from ..views.export import view
from . import options
from .declaring import REQUIRED, argument, option, taking
from .output import answer

KNOWN = (*TARGETS, PACKED)


@taking(
    options.DIRECTORY,
    option("to", f"{options.either(KNOWN)}.", default=REQUIRED, names=KNOWN),
    option(
        "output", "The folder, or the packed file, to write.", Path, REQUIRED, flags=options.OUTPUT
    ),
    options.REPEATING,
    argument("data", "The data it was compiled from, to run it on.", default=None),
    options.FORCE,
    options.JSON,
)
def command(**how: Any) -> None:
    """Write a model for another tool, and run it there on all of its data.

    Float64 networks and decoders become torch or onnx, decoders also huggingface (with remote
    code), stock checkpoints onnx or gguf, and their data tasks of lm-eval. Small exact networks
    become vnnlib: Gemm and Relu alone, with properties whose truth is known. A model that gives
    labels becomes one packed file, which every command reads in place of its folder. Without DATA,
    the model is run on the data.jsonl of its folder, if there is one. After a wrong answer in the
    other tool nothing is written, and the exit code is 1.
    """
    if not answer(export, view, **how):
        raise typer.Exit(1)
