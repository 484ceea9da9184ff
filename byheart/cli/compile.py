"""compile: a dataset becomes a model folder."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from ..commands import models
from .options import (
    Building,
    Data,
    Force,
    Form,
    Json,
    Loading,
    OnConflict,
    Positions,
    Seed,
    building,
    reading,
)
from .output import finish, kept, number, rows, size_rows, stores_distributions, timed, verdict
from .progress import watching


@reading
@building
def command(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")],
    loading: Loading,
    decoder: Building,
    method: Annotated[str | None, typer.Option(help="See byheart methods.")] = None,
    form: Form = None,
    positions: Positions = None,
    on_conflict: OnConflict = "refuse",
    reject_unknown: Annotated[
        int,
        typer.Option(metavar="BITS", help="Detect unknown inputs; false-accept rate 2^-BITS."),
    ] = 0,
    minimise: Annotated[str, typer.Option(help="nonzero, dense or bits.")] = "nonzero",
    bits: Annotated[
        int | None, typer.Option(metavar="B", help="limited-bits: most bits per parameter [64].")
    ] = None,
    separation: Annotated[
        float | None,
        typer.Option(metavar="DISTANCE", help="Faithful methods: refuse tokens that are closer."),
    ] = None,
    attention: Annotated[
        str, typer.Option(help="uniform, or hard with scores that are all 0.")
    ] = "uniform",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Verify only K random sequences: no proof.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    write_data: Annotated[
        bool, typer.Option("--write-data", help="Put data.jsonl beside the weights.")
    ] = False,
    json: Json = False,
) -> None:
    """Dataset to model folder, verified before it is written."""
    with watching() as watch:
        answer = models.compile(
            data,
            output,
            loading=loading,
            force=force,
            write_data=write_data,
            watch=watch,
            method=method,
            form=form,
            positions=positions,
            on_conflict=on_conflict,
            reject_unknown=reject_unknown,
            minimise=minimise,
            bits=bits,
            separation=separation,
            attention=attention,
            sample=sample,
            seed=seed,
            **decoder,
        )
    finish(answer, json, view)
    if not json:
        kept(output)


def view(answer: dict) -> Group:
    """Size, what --on-conflict changed, how long the search was, and the evidence."""
    notes, settled = answer["notes"], answer["conflicts"]
    words = {"relabelled": "labels changed to the majority's", "dropped": "sequences left out"}
    changed = [("conflicts", number(settled[key]), words[key]) for key in words if settled.get(key)]
    remark, told = "hashes", []
    if stores_distributions(answer):
        remark, told = "draws or solutions", [Text(note, style="dim") for note in notes]
    elif notes:
        noun = "fallback" if len(notes) == 1 else "fallbacks"
        remark = f"hashes; {number(len(notes))} {noun}, listed by --json"
    tried = ("tried", number(answer["search"].get("tries")), remark)
    sizes = rows([*size_rows(answer), *changed, tried])
    return Group(sizes, *told, Text(), verdict(answer), timed(answer))
