"""audit: how much a trained checkpoint holds of a file, in bits, beside what it could hold."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from .. import pictures
from ..auditing.answer import check_table
from ..auditing.audit import audit
from ..machine.files import refuse_existing
from ..views.audit import draw, view
from . import options
from .options import Data, Force, Json, Loading, Picture, Seed
from .output import finish, pictured
from .progress import keeping, watching


@options.repeating
def command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A Hugging Face folder with safetensors, or a byheart model."
        ),
    ],
    data: Data,
    loading: Loading,
    reference: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What is known without the data: uniform, unigram, or the folder of a second "
            "model, which alone separates memory from language.",
        ),
    ] = "uniform",
    prefix: Annotated[
        int, typer.Option(metavar="N", help="Tokens after which a document is to be recited.")
    ] = 32,
    suffix: Annotated[int, typer.Option(metavar="N", help="Tokens to recite, at most.")] = 50,
    non_members: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Items that the model has not seen, for the AUC and exposures; or random, for "
            "random tokens.",
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table per item: .jsonl or .csv."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Keep finished batches: run again to resume."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Of PyTorch: cpu, cuda, ...")] = "cpu",
    seed: Seed = 0,
    plot: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure how many bits of a file a checkpoint holds, and which items it recites.

    Nothing is downloaded and no code of the model is run. Text is split by the model's own
    tokenizer; .bin and .npz hold token ids. Every figure is observed: a float run, not a proof.
    """
    picture = pictures.checked(plot, force)
    if items is not None:
        check_table(items)
        refuse_existing(items, force)
    with keeping(output) if output else nullcontext(), watching() as watch:
        result = audit(
            model,
            data,
            reference=reference,
            prefix=prefix,
            suffix=suffix,
            non_members=non_members,
            folder=output,
            device=device,
            seed=seed,
            loading=loading,
            watch=watch,
        )
        if items is not None:
            result = result.save_items(items)
        result = pictured(result, draw, picture, watch)
    finish(result, json, view)
