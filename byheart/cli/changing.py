"""What edit and forget share: the folder that is changed, and the one that is written."""

import hashlib
import json as decoder
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Group
from rich.text import Text

from ..compiler.editing import Change
from ..data.dataset import Dataset
from ..data.load import write_jsonl
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.watch import Watch
from ..models.folder.read import open as open_folder
from ..models.folder.swap import check_place
from ..models.model import Model
from ..models.questions import checked, from_line
from ..models.source import load_whole, settlement, verify_command
from ..stock.sources import ending, source
from . import options
from .output import copied, model_answer, number, plural, rows, size_rows, timed, verdict

New = Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")]
WriteData = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the data that the new model holds, as .jsonl (documents of a stock "
        "checkpoint: .txt).",
    ),
]


class Old(NamedTuple):
    """The folder that is changed, with its data.

    given    the options of the file that the user gave
    weights  their hash
    """

    directory: Path
    model: Model
    data: Dataset
    given: options.Loading
    weights: str


class Place(NamedTuple):
    """Where the new folder and its data are written."""

    output: Path
    data: Path | None
    force: bool


def opened(
    directory: Path, data: Path, loading: options.Loading, place: Place, watch: Watch
) -> Old:
    """The folder with its data; ByheartError if the new one cannot be written where it should."""
    check_place(place.output, place.force)
    if place.data is not None:
        refuse_existing(place.data, place.force)
    watch.stage("opening")
    model = open_folder(directory)
    dataset = load_whole(model, data, dict(loading))
    wanted = ending(dataset) if _texts(model) else ".jsonl"
    if place.data is not None and place.data.suffix != wanted:
        raise ByheartError(f"{place.data}: the data is written as {wanted}; name it so.")
    with open(Path(directory) / model.claim.weights_file, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Old(directory, model, dataset, dict(loading), digest)


def _texts(model: Model) -> bool:
    """Whether the data is written as texts, which the model's tokenizer splits."""
    return model.claim.name == "recites"


def saved(found: Change, old: Old, place: Place, watch: Watch) -> dict:
    """Write the folder, then the data; the answer says what changed.

    The hash of the old weights is in the answer alone: whoever has the remaining data could compile
    it with each guess of a removed item and compare.
    """
    watch.stage("writing")
    model, texts = found.model, None
    if place.data is not None and _texts(model):
        texts = source(found.data, model.claim.vocabulary(model))  # type: ignore[attr-defined]
    model.save(place.output, force=place.force)
    with open(place.output / model.claim.weights_file, "rb") as file:
        after = hashlib.file_digest(file, "sha256").hexdigest()
    verify = None
    if place.data is not None:
        if texts is None:
            write_jsonl(settlement(model, found.data)[1], place.data)
        else:
            place.data.write_text(texts, encoding="utf-8", newline="")
        verify = verify_command(model, str(place.output), str(place.data), canonical=texts is None)
        verify += " --rebuild"
    return {
        **model_answer(model, model.verification, model.about["seconds"]),
        **found.json(),
        "weights": {"before": old.weights, "after": after},
        "written": str(place.output),
        "verify": verify,
    }


def item(model: Model, value: dict, place: str, example: str) -> list:
    """The tokens of a line: a list of them, or text."""
    found = value.get("input")
    try:
        return from_line(model, found) if isinstance(found, str) else checked(model, found)
    except ByheartError as error:
        raise ByheartError(f"{place}: {error} Write {example}.") from None


def objects(path: Path, example: str) -> Iterator[tuple[str, dict]]:
    """The JSON objects of a file, one per line, and where each stands."""
    try:
        content = path.read_text("utf-8-sig")
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise ByheartError(f"{path} is not UTF-8; save it as UTF-8.") from None
    found = [(i, line) for i, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not found:
        raise ByheartError(f"{path} holds no line; write {example}.")
    for i, line in found:
        try:
            value = decoder.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ByheartError(f"{path}, line {i}: not a JSON object; write {example}.")
        yield f"{path}, line {i}", value


def view(answer: dict) -> Group:
    """What changed, on what evidence, and the size of the network."""
    counted = [plural(answer[name], "item") + f" {name}" for name in ("changed", "added")]
    gone = "forgotten" if answer["kind"] == "forget" else "removed"
    counted.append(f"{plural(answer['removed'], 'item')} {gone}")
    lines = [("items", number(answer["rows"]), "rows: " + ", ".join(nonzero(counted)))]
    found = answer["difference"]
    if found is None:
        lines.append(("parameters", "all", "the network has another shape"))
    else:
        of = f"of {number(found['of'])} differ, in {number(found['bits'])} bits"
        lines.append(("parameters", number(found["parameters"]), of))
    how = "compiled from the changed data alone" if answer["rebuilt"] else "solved again in place"
    if answer["tokenizer_kept"]:
        how = "compiled from the changed data with the same tokenizer, which was trained on the "
        how += f"old data ({answer['tokenizer_kept']}); --rebuild trains another"
    kept = "structure kept" if answer["structure_kept"] else "structure found anew"
    lines.append(("how", "", f"{how}; {kept}"))
    hashes = [Text(f"weights {when} {answer['weights'][when]}") for when in ("before", "after")]
    return Group(
        rows(lines),
        *hashes,
        Text(),
        rows(size_rows(answer)),
        Text(),
        verdict(answer),
        timed(answer),
    )


def nonzero(counted: list[str]) -> list[str]:
    return [words for words in counted if not words.startswith("0 ")]


def written(answer: dict) -> None:
    words = f"\nwritten to {answer['written']}"
    if answer["verify"]:
        words += f"\nprove it: {answer['verify']}"
    else:
        words += "\n--write-data FILE also writes the data to verify it against"
    copied(words)
