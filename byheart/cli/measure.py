"""measure: train sizes of an architecture, and report the smallest that memorises."""

from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..architectures.trainable import TRAINABLE
from ..lab.measuring import measure
from ..lab.sweeps.axes import parsed
from ..machine.engines import Workers
from ..views.measure import view
from ..views.measure_picture import draw
from .options import (
    Address,
    Data,
    Force,
    Jobs,
    Json,
    Loading,
    OnConflict,
    Picture,
    beginning,
    reading,
)
from .output import finish, pictured
from .progress import keeping, watching


@reading
def command(
    data: Data,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The folder of rows: run again to resume.")
    ],
    architecture: Annotated[
        str,
        typer.Option(
            metavar="PRESET",
            help=f"{', '.join(TRAINABLE)}.",
            autocompletion=beginning(TRAINABLE),
        ),
    ],
    axis: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=V,V,...", help="Sizes to train, or sequences; 1-31 and 4-512x2 work too."
        ),
    ],
    loading: Loading,
    fixed: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=V", help="A size that stays fixed.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="fast (ours), paper, or script (dana2024).")
    ] = "fast",
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="KIND=V",
            help="Memorised: gap=SHARE, loss=NATS or accuracy=SHARE; gpt2: plateau=SHARE.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="K", help="Random seeds per size.")] = 3,
    steps: Annotated[
        int | None, typer.Option(metavar="T", help="Steps per attempt, instead of the protocol's.")
    ] = None,
    find: Annotated[
        bool, typer.Option("--find", help="Bisect the last axis instead of training all of it.")
    ] = False,
    loss: Annotated[
        str, typer.Option(help="cross-entropy, or squared (kajitsuka2025, two labels).")
    ] = "cross-entropy",
    jobs: Jobs = None,
    engine: Annotated[str, typer.Option(help="processes (here) or ray (a cluster).")] = "processes",
    address: Address = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the smallest that memorises as a model folder; gpt2: the fullest, as a "
            "Hugging Face folder.",
        ),
    ] = None,
    plot: Picture = None,
    on_conflict: OnConflict = "refuse",
    force: Force = False,
    json: Json = False,
) -> None:
    """Train sizes of an architecture, and report the smallest that memorises a dataset.

    The last --axis is the one that is searched. What is not reached is "not reached in T steps".

    gpt2 is a small stock GPT-2, and its capacity is measured: the bits that it memorises of
    --axis sequences=... random sequences (byheart generate uniform), where they level off.
    """
    picture = pictures.checked(plot, force)
    with keeping(output), watching("training") as watch:
        result = measure(
            data,
            output,
            architecture=architecture,
            axes=parsed(axis, "axis", "4,8,16"),
            sizes=parsed(fixed or (), "size", "16"),
            seeds=seeds,
            protocol=protocol,
            criterion=criterion,
            steps=steps,
            find=find,
            loss=loss,
            workers=Workers(engine, jobs, address),
            save=save,
            on_conflict=on_conflict,
            force=force,
            loading=loading,
            watch=watch,
        )
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
    if result.not_saved:
        raise typer.Exit(1)
