"""export: a model folder becomes one that another tool reads."""

from pathlib import Path
from typing import Annotated

import typer

from ..api.export import export
from ..exports.formats import TARGETS
from ..views.export import view
from . import options
from .options import Directory, Json
from .output import finish
from .progress import watching


@options.repeating
def command(
    directory: Directory,
    to: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(TARGETS[:-1])} or {TARGETS[-1]}.",
            autocompletion=options.beginning(TARGETS),
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    loading: options.Loading,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="The data it was compiled from, to run it on."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a model for another tool, and run it there on all of its data.

    Float64 networks and decoders become torch or onnx, decoders also huggingface (with remote
    code), stock checkpoints onnx or gguf. Without DATA, the model is run on the data.jsonl of its
    folder, if there is one. After a wrong answer in the other tool nothing is written, and the exit
    code is 1.
    """
    with watching() as watch:
        result = export(directory, to, output, data, loading=loading, watch=watch)
    finish(result, json, view)
    if not result:
        raise typer.Exit(1)
