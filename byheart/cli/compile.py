"""compile: a dataset becomes a model folder."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from ..compiler.compiling import compile
from ..compiler.editing import construction_of
from ..constructions import find
from ..data.dataset import Dataset
from ..data.load import load
from ..machine.tables import named, plural
from ..machine.watch import SILENT, Watch
from ..models.folder.swap import check_place
from ..models.model import Model
from ..models.source import settlement, verify_command
from ..models.verification import PROVE_LIMIT
from . import options
from .messages import flags
from .output import (
    Row,
    check_prove_limit,
    finish,
    how_read,
    kept,
    model_answer,
    number,
    reading_notes,
    recites,
    rows,
    size_rows,
    stores_distributions,
    timed,
    verdict,
)
from .progress import watching


def command_for(arguments: Sequence[str]) -> options.Command:
    """The command; its help lists the options of the method that the arguments name."""
    return options.building(command, options.value_of("--method", arguments))


@options.reading
def command(
    data: options.Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")],
    loading: options.Loading,
    chosen: options.MethodOptions,
    method: Annotated[
        str | None, typer.Option(help="See byheart methods.", autocompletion=options.METHODS)
    ] = None,
    form: options.Form = None,
    on_conflict: options.OnConflict = "refuse",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Verify only K random sequences: not a proof.")
    ] = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    seed: options.Seed = 0,
    force: options.Force = False,
    write_data: Annotated[
        bool, typer.Option("--write-data", help="Put data.jsonl beside the weights.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Compile a dataset into a model folder, verified before it is written.

    Each method has options of its own: `byheart methods NAME`, or this help with --method NAME.
    """
    check_prove_limit(prove_limit)
    with watching() as watch:
        how = {"method": method, "form": form, "sample": sample, "seed": seed, **chosen}
        how |= {"on_conflict": on_conflict, "prove_limit": prove_limit}
        answer = compiled(data, output, loading, force, write_data, watch, **how)
    finish(answer, json, view)
    if not json:
        kept(output, answer["verify"])


def compiled(
    data: Path,
    output: Path,
    loading: options.Loading | None = None,
    force: bool = False,
    write_data: bool = False,
    watch: Watch = SILENT,
    **options: Any,
) -> dict:
    """The answer of the command, once the folder is written; options as in byheart.compile."""
    check_place(output, force)
    started = time.perf_counter()
    watch.stage("loading")
    given = dict(loading or {})
    method = options.get("method")
    splits = find(method).tokenizer if method else None
    plain = given.get("unit", "word") == "word" and given.get("tokenizer") is None
    if splits and plain:
        given["tokenizer"] = splits
    dataset = load(data, **given)
    loaded = time.perf_counter() - started
    model = build(dataset, watch, **options)
    watch.stage("writing")
    asked = model.claim.reads(model, dataset)
    _, held, _ = settlement(model, asked)
    model.save(output, force=force, data=held if write_data else None)
    verify = None  # the file itself has other labels
    if held is asked:
        verify = verify_command(model, str(output), str(data))
    elif write_data:
        verify = verify_command(model, str(output), str(output / "data.jsonl"), canonical=True)
    read, unordered = how_read(dataset), model.about.get("unordered")
    read["reading_notes"] += [flags(unordered)] if unordered else []
    editable = construction_of(model).edits
    return {**built_answer(model, loaded), "editable": editable, "verify": verify, **read}


def build(dataset: Dataset, watch: Watch, **options: Any) -> Model:
    """byheart.compile, watched."""
    watch.stage("building", len(dataset))
    return compile(dataset, watch=watch, **options)


def built_answer(model: Model, loaded: float) -> dict:
    return model_answer(model, model.verification, {"load": loaded, **model.about["seconds"]})


def view(answer: dict) -> Group:
    """Size, what --on-conflict changed, how long the search was, and the evidence."""
    unlike = "the file itself has other labels, so verify refutes the model on it; "
    unlike += "--write-data writes what the model holds"
    changed = any(answer["conflicts"].values()) and not answer.get("verify")
    other = [Text(unlike, style="dim")] if changed else []
    said = [*(Text(note, style="dim") for note in remarks(answer)), *reading_notes(answer)]
    return Group(rows(lines(answer)), *said, Text(), verdict(answer), *other, timed(answer))


def lines(answer: dict) -> list[Row]:
    """Name, value and remark: the size, what --on-conflict changed, and the search."""
    words = {
        "relabelled": ("label", "changed to the majority's"),
        "dropped": ("sequence", "left out"),
    }
    changed = [
        ("conflicts", number(count), f"{named(count, noun)} {what}")
        for key, (noun, what) in words.items()
        if (count := answer["conflicts"].get(key))
    ]
    tries = answer["search"].get("tries")
    remark = named(tries, "hash")
    if recites(answer):
        remark = named(tries, "plan")
    elif stores_distributions(answer):
        remark = f"{named(tries, 'draw')} or {named(tries, 'solution')}"
    elif answer["notes"]:
        remark += f"; {plural(len(answer['notes']), 'fallback')}, listed by --json"
    edits = [("editable", "yes", "by byheart edit and forget")] if answer.get("editable") else []
    return [*size_rows(answer), *changed, ("tried", number(tries), remark), *edits]


def remarks(answer: dict) -> list[str]:
    """What the method has to say; of a search for labels, only how often it fell back."""
    return list(answer["notes"]) if recites(answer) or stores_distributions(answer) else []
