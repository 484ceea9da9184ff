"""export: a model folder becomes one that another tool reads."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exports.exporting import TARGETS, export
from ..machine.files import refuse_existing
from ..machine.watch import SILENT, Watch
from ..models.claims import Recites
from ..models.folder.read import open as open_folder
from ..models.source import load_for, unaccepted
from . import options
from .options import Directory, Json
from .output import NOT_CHECKED, STYLES, finish, number
from .progress import watching

OWN = "data.jsonl"  # that --write-data puts beside the weights
SAME = (
    "the folder itself is one of Hugging Face already; this is a copy without byheart's own files"
)


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
        answer = exported(directory, to, output, data, loading, watch)
    finish(answer, json, view)
    if not answer["holds"]:
        raise typer.Exit(1)


def exported(
    directory: Path,
    to: str,
    output: Path,
    data: Path | None = None,
    loading: options.Loading | None = None,
    watch: Watch = SILENT,
) -> dict:
    """The answer of the command, once the folder is written."""
    if to not in TARGETS:
        raise ByheartError(f"--to must be one of {', '.join(TARGETS)}, not {to!r}.")
    refuse_existing(output, force=False)
    given = dict(loading or {})
    if data is None and given:
        raise ByheartError(f"--{next(iter(given))} needs the data; name its file after DIR.")
    watch.stage("opening")
    model = open_folder(directory)
    dataset: Dataset | None = None
    if data is None and (directory / OWN).is_file():
        data = directory / OWN
    if data is not None:
        watch.stage("loading")
        dataset = load_for(model, data, given)
        left_out = unaccepted(data, dataset, given)
        if left_out:
            raise ByheartError(f"{left_out[0]}; repeat the option to run it on the rest.")
    found = export(model, to, output, dataset, watch=watch)
    checked = found.verification
    notes = [found.note] if found.note else []
    if to == "huggingface" and isinstance(model.claim, Recites):
        notes.append(SAME)
    return {
        "to": to,
        "method": model.about["method"],
        "output": None if found.output is None else str(output),
        "files": list(found.files),
        "runtime": found.runtime,
        "verified": NOT_CHECKED if checked is None else checked.json(),
        "noun": "predictions" if isinstance(model.claim, Recites) else model.claim.noun,
        "failures": [] if checked is None else list(checked.failures),
        "notes": notes,
        "holds": found.output is not None,
    }


def view(answer: dict) -> Group:
    """The evidence in the other tool, what was wrong, and the files."""
    found, ran = answer["verified"], answer["runtime"]
    parts = []
    if ran is not None:
        word = found["evidence"]
        where = f"{ran['name']} {ran['version']}, {ran['dtype']}"
        text = Text(word, style=STYLES[word])
        counts = (
            f"  {number(found['correct'])} of {number(found['checked'])} {answer['noun']} right"
        )
        text.append(f"{counts} in {where}: a run, not a proof", "not bold default")
        parts.append(text)
    parts += [Text(f"  {sentence}") for sentence in answer["failures"]]
    parts += [Text(f"note: {note}.") for note in answer["notes"]]
    if answer["output"] is None:
        parts.append(Text("nothing was written"))
    else:
        parts.append(Text(f"written to {answer['output']}: {', '.join(answer['files'])}"))
    return Group(*parts)
