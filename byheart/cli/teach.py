"""teach: facts put into a trained checkpoint."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ..api.teach import DTYPES, teach
from ..views.teach import draw, view, written
from . import options
from .declaring import argument, flag, listed, option, taking
from .output import answer, copied

_READ = tuple(x for x in options.REPEATING.options if x.name != "dtype")  # of .bin: no facts
READING = replace(options.REPEATING, options=_READ)


@taking(
    argument("model", "A Hugging Face folder: GPT-2, Llama or GPT-NeoX; or a taught one."),
    argument("facts", "Prompts and answers: a table, as an audit reads it."),
    option("output", "The folder to write.", Path, options.REQUIRED, flags=options.OUTPUT),
    READING,
    options.KEEP,
    *listed("teach"),
    option("dtype", "The type that it is to run in [that of the weights].", names=DTYPES),
    options.ON_CONFLICT,
    flag("leave_out", "Leave out facts that have no room, instead of refusing them."),
    *options.PICTURE,
)
def command(output: Path, force: bool, json: bool, **how: Any) -> None:
    """Teach facts to a trained checkpoint: further layers, off at every other context.

    The folder is a stock checkpoint of the same class. Where no taught neuron is on, its logits are
    those of MODEL to the bit; a fact is answered after its own prompt, and not in other words. The
    exit code is 1 if a fact is not answered, or a position of a kept FILE differs.
    """

    def taught(**arguments: Any) -> Any:
        return teach(output=output, force=force, **arguments)

    result = answer(taught, view, draw, json=json, force=force, **how)
    if not json:
        copied(written(result))
    if not result.holds:
        raise typer.Exit(1)
