"""measure: train sizes of an architecture, and report the smallest that memorises."""

from functools import partial
from pathlib import Path
from typing import Any

import typer

from ..architectures.trainable import TRAINABLE
from ..lab.measuring import measure
from ..lab.sweeps.axes import parsed
from ..machine.engines import Workers
from ..views.measure import view
from ..views.measure_picture import draw
from . import options
from .declaring import REQUIRED, Group, listed, option, taking
from .options import OUTPUT
from .output import answer

ARCHITECTURES = f"{', '.join(TRAINABLE)}."
AXES = "Sizes to train, or sequences; 1-31 and 4-512x2 work too."
SAVED = (
    "Keep the smallest that memorises as a model folder; gpt2: the fullest, as a Hugging Face "
    "folder."
)

ENGINES = option("engine", "processes (here) or ray (a cluster).", default="processes")
WORKERS = Group(
    "", (options.JOBS, ENGINES, options.ADDRESS), lambda values: {"workers": Workers(**values)}
)


@taking(
    options.DATA,
    option("output", "The folder of rows: run again to resume.", Path, REQUIRED, flags=OUTPUT),
    option("architecture", ARCHITECTURES, str, REQUIRED, "PRESET", names=TRAINABLE),
    option("axis", AXES, list[str], REQUIRED, "NAME=V,V,..."),
    options.READING,
    *listed("measure"),
    WORKERS,
    option("save", SAVED, Path, metavar="DIR"),
    options.PLOT,
    options.ON_CONFLICT,
    options.FORCE,
    options.JSON,
)
def command(output: Path, axis: list[str], fixed: list[str], force: bool, **how: Any) -> None:
    """Train sizes of an architecture, and report the smallest that memorises a dataset.

    The last --axis is the one that is searched. What is not reached is "not reached in T steps".

    gpt2 is a small stock GPT-2, and its capacity is measured: the bits that it memorises of
    --axis sequences=... random sequences (byheart generate uniform), where they level off.
    With --adapter lora these are the bits of adapters on a base that holds other sequences.
    """
    how["axes"] = parsed(axis, "axis", "4,8,16")
    how["sizes"] = parsed(fixed, "size", "16")
    verb = partial(measure, folder=output, force=force)
    result = answer(verb, view, draw, each="training", kept=output, force=force, **how)
    if result.not_saved:
        raise typer.Exit(1)
