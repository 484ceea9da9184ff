"""The tasks of the page: each calls what its command calls, and leaves its answer in a folder.

`answer.json` is the command's own answer with the sentences that the command prints; pictures are
drawn by the code of `--plot`; long tables are files of their own.
"""

import json
import os
import re
from collections.abc import Callable, Hashable, Iterator, Set
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import pictures
from ..architectures.bounding import bounds
from ..auditing.audit import audit as audited
from ..cli import audit as audit_view
from ..cli import audit_picture, explain_picture, output
from ..cli import compare as compare_view
from ..cli import compile as compile_view
from ..cli.changing import Place
from ..cli.changing import opened as opened_folder
from ..cli.compile import compiled
from ..cli.diff import compared
from ..cli.diff import draw as draw_difference
from ..cli.edit import edited
from ..cli.forget import forgotten
from ..cli.locate import lit, staged
from ..cli.messages import flags, translate
from ..cli.options import type_of
from ..cli.progress import told
from ..cli.recall import label, likely
from ..cli.stats import counted
from ..compiler.comparing import compare as compare_all
from ..compiler.editing import construction_of
from ..constructions import ALL
from ..constructions.families import Labelled
from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.load import LOADING, OPTIONS, TABLES, kind_of, load
from ..data.readers import jsonl, table
from ..data.readers.raw import opened
from ..errors import ByheartError
from ..machine.watch import Watch
from ..models.folder.read import open as open_folder
from ..models.locating import held
from ..models.model import Model
from ..models.placing import placed
from ..models.questions import from_line
from ..models.recall import ask as ask_model
from ..models.source import load_for, settlement
from ..stock.checkpoint import Checkpoint
from ..theory.curves import curves
from ..theory.papers import cited
from .files import MODEL, write_table

ROWS = 200_000  # of a file that can be looked at
CONFLICTS = 1_000  # that are listed
UNTIL = 10**12  # contexts to which closed forms are drawn
TRAINED = re.compile(r"bpe:[0-9]{1,9}")  # a tokenizer that is no path
HEADER = ("paper", "item", "summary", "statement", "assumptions", "guarantee", "departures")
Summary = dict[str, Any]


def run(task: str, place: Path, arguments: dict[str, Any], watch: Watch) -> Summary:
    """Do a task; what it writes is in the folder, and what it returns is shown beside its name."""
    with told(watch):
        return TASKS[task](place, watch, **arguments)


def sentence(message: str) -> str:
    """A message in the words of the command line."""
    return flags(message)


def write(place: Path, answer: dict) -> None:
    """The answer of a task; a number that JSON lacks is a mistake of ours."""
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    (place / "answer.json").write_bytes(text.encode("utf-8", "backslashreplace"))


def draw(place: Path, name: str, picture: Callable[[dict], Any], answer: dict) -> str:
    pictures.write(picture, answer, place / f"{name}.svg")
    return name


# --- what is read


def chosen(loading: dict[str, Any]) -> dict[str, Any]:
    """The loading options that a page may choose; ByheartError for one that names a file."""
    known = {option.name for option in LOADING}
    for name in loading:
        if name not in known:
            raise ByheartError(f"there is no option {name!r} of how a file is read.")
    tokenizer = loading.get("tokenizer")
    if tokenizer is not None and not TRAINED.fullmatch(str(tokenizer)):
        raise ByheartError(
            "the page opens no files by their names; use bpe:8000 as the tokenizer, or load the "
            "file on the command line."
        )
    return {**loading, **({"input": tuple(loading["input"])} if "input" in loading else {})}


@lru_cache(1)
def _loaded(path: str, written: int, loading: str) -> Dataset:
    return load(path, **chosen(json.loads(loading)))


def dataset_of(data: str, loading: dict[str, Any]) -> Dataset:
    """The dataset of a file, which is kept: the next task may ask for it again."""
    return _loaded(data, os.stat(data).st_mtime_ns, json.dumps(loading, sort_keys=True))


def columns(path: Path, kind: str) -> list[str]:
    """The names of a table's columns, as far as its first line says them."""
    try:
        with opened(path, kind) as raw:
            if kind == ".jsonl":
                first = next(iter(raw.file), b"{}")
                return [str(name) for name in jsonl.decoder().decode(first.decode("utf-8"))]
            return table.header(raw)
    except (OSError, ValueError, StopIteration):
        return []


def reading(path: Path, loading: dict[str, Any]) -> dict:
    """Which options there are for a file, and which columns."""
    kind = kind_of(path, loading.get("format"))
    names = columns(path, kind) if kind in (".csv", ".tsv", ".jsonl") else []
    listed = [
        {
            "name": option.name,
            "help": option.help,
            "choices": list(option.choices),
            "default": option.default if isinstance(option.default, str | int) else None,
            "several": option.name == "input",
            "columns": names if option.name in ("input", "label", "count") else [],
        }
        for option in LOADING
        if option.name in OPTIONS.get(kind, ("format",))
    ]
    return {"kind": kind, "table": kind in TABLES, "options": listed, "given": loading}


def read(place: Path, watch: Watch, data: str, name: str, loading: dict[str, Any]) -> Summary:
    """byheart stats --show --conflicts, and what byheart bounds says about bits."""
    path, how = Path(data), reading(Path(data), loading)
    write(place, {"name": name, "file": how})  # the options are there even if the file is refused
    given = chosen(loading)
    answer = counted(path, given, watch=watch, conflicts=CONFLICTS)
    watch.stage("loading")
    dataset = dataset_of(data, loading)
    rows = ({"row": i + 1, "input": x, "label": y} for i, (x, y) in first_of(dataset))
    shown = write_table(place, "rows", rows)
    write_table(place, "conflicts", answer.pop("conflicting"))
    watch.stage("bounding")
    found = bounds(dataset).json()
    limits = [row for row in found["rows"] if row["applies"] and row["quantity"].startswith("bits")]
    translate(limits)
    more = {
        "name": name,
        "file": how,
        "lines": lines_of_stats(answer),
        "rows": {"total": len(dataset), "shown": shown},
        "limits": [{**row, "source": cited(f"{row['paper']}, {row['item']}")} for row in limits],
        "unused": list(dataset.unused),
        "left_out": dict(dataset.left_out),
    }
    write(place, {**answer, **more})
    counts = ("sequences", "contexts", "labels")
    return {key: answer[key] for key in counts} | {"conflicts": answer["conflicts"]["contexts"]}


def first_of(dataset: Dataset) -> Iterator[tuple[int, tuple[list, Any]]]:
    return ((i, dataset[i]) for i in range(min(ROWS, len(dataset))))


def lines_of_stats(answer: dict) -> list[list[str]]:
    """Name, value and remark of each line that `byheart stats` prints."""
    from ..cli.stats import lines

    return [list(line) for line in lines(answer)]


# --- how large it will be


def compare(
    place: Path,
    watch: Watch,
    data: str,
    name: str,
    loading: dict[str, Any],
    on_conflict: str = "refuse",
) -> Summary:
    """byheart compare --until --plot, and the theorem of each method."""
    dataset = dataset_of(data, loading)
    watch.stage("comparing")
    found = compare_all(dataset, on_conflict=on_conflict, until=UNTIL, watch=watch)
    answer = found.json()
    answer["dataset"] = {"name": name, **answer["dataset"]}
    translate(answer["rows"])
    limits: dict[str, Any] = {}

    def drawn(answer: dict) -> Any:
        figure = compare_view.draw(answer)
        axes = figure.axes[0]
        axes.patch.set_gid("axes-area")
        limits["x"] = list(axes.get_xlim())
        return figure

    watch.stage("drawing")
    answer["picture"] = draw(place, "compare", drawn, answer) if answer["lines"] else None
    answer["limits"] = limits
    facts = bounds(dataset).dataset
    answer["curves"] = [
        {**curve, "source": cited(f"{curve['paper']}, {curve['item']}")}
        for curve in (curves(facts) if facts else ())
    ]
    for row in answer["rows"]:
        row["title"] = compare_view.titled(row["name"], row["kind"])
    methods = {}
    for made in ALL:
        title = made.name + (f" ({made.form})" if made.form else "")
        options = {
            option: {
                "help": field.metadata["option"].help,
                "choices": list(field.metadata["option"].choices),
                "type": type_of(made, option).__name__,
            }
            for option, field in made.options().items()
        }
        header = {key: getattr(made.header, key) for key in HEADER}
        for key in ("assumptions", "guarantee", "departures"):
            header[key] = output.codes(header[key])
        header["paper"] = cited(header["paper"])
        methods[title] = {
            "method": made.name,
            "form": made.form,
            "stores": made.stores,
            "editable": "editable" in options or made.edits,
            "options": options,
            **header,
        }
    answer["methods"] = methods
    write(place, answer)
    return {"rows": len(answer["rows"])}


# --- models


def compile(
    place: Path,
    watch: Watch,
    data: str,
    loading: dict[str, Any],
    method: str | None = None,
    form: str | None = None,
    on_conflict: str = "refuse",
    seed: int = 0,
    options: dict[str, Any] | None = None,
) -> Summary:
    """byheart compile DATA -o DIR."""
    how: dict[str, Any] = {"method": method, "form": form, "on_conflict": on_conflict}
    how |= {"seed": seed, **(options or {})}
    folder = place / MODEL
    answer = compiled(Path(data), folder, chosen(loading), watch=watch, **how)
    return model_written(place, folder, answer)


def model_written(place: Path, folder: Path, answer: dict) -> Summary:
    """The answer of what wrote a model, with its certificate and the lines of the terminal."""
    harmless = output.harmless(answer)
    answer["lines"] = [list(line) for line in compile_view.lines(harmless)]
    answer["remarks"] = compile_view.remarks(harmless)
    answer["verdict"] = output.verdict(answer).plain.partition("  ")[2]
    certificate = folder / "certificate.json"
    answer["certificate"] = json.loads(certificate.read_text("utf-8"))
    answer["files"] = sorted(path.name for path in folder.iterdir())
    model = opened_model(str(folder))
    answer["editable"] = changes(model)
    answer["rejects"] = model.claim.unknown is not None
    write(place, answer)
    return model_summary(model, answer["verified"])


def changes(model: Model) -> bool:
    """Whether the page can change it: the texts of stock checkpoints are files of their own."""
    try:
        return construction_of(model).edits and not isinstance(model.network, Checkpoint)
    except ByheartError:  # trained, or of another version
        return False


def model_summary(model: Model, verified: dict | None) -> Summary:
    return {
        "method": model.about.get("method"),
        "form": model.about.get("form"),
        "parameters": model.parameters.nonzero,
        "bits": model.bits.total,
        "entropy": model.bits.entropy,
        "information": model.bits.information,
        "evidence": (verified or {}).get("evidence"),
        "checked": (verified or {}).get("checked"),
        "editable": changes(model),
        "stock": isinstance(model.network, Checkpoint),
        "rejects": model.claim.unknown is not None,
    }


@lru_cache(2)
def opened_model(folder: str) -> Model:
    """The model of a folder, which is kept for the next question."""
    return open_folder(folder)


def open_model(place: Path, watch: Watch, folder: str) -> Summary:
    """A folder that was named when the page was started; a checkpoint is opened by the audit."""
    from ..auditing.checkpoint import is_checkpoint

    watch.stage("opening")
    if is_checkpoint(Path(folder)):
        write(place, {"checkpoint": True})
        return {"method": "a Hugging Face checkpoint", "checkpoint": True}
    model = opened_model(folder)
    found = model_summary(model, model.verification.json() if model.verification else None)
    write(place, found)
    return found


@lru_cache(2)
def known_inputs(folder: str, data: str, loading: str) -> tuple[Items, Set[Hashable]] | None:
    """The items that a model was made from; None for texts, whose contexts `placed` knows."""
    model, made = opened_model(folder), construction_of(opened_model(folder))
    _, held, _ = settlement(model, load_for(model, data, chosen(json.loads(loading))))
    positions = not isinstance(made, Labelled) or bool(made.positions)
    items = Items(held, positions, made.last)
    return None if items.texts else (items, items.rows().keys())


def ask(
    place: Path,
    watch: Watch,
    folder: str,
    name: str,
    text: str,
    data: str | None = None,
    loading: dict[str, Any] | None = None,
) -> Summary:
    """byheart recall --trace and byheart locate --plot, for one question.

    Where the model's data is here, the answer says whether the input is in it.
    """
    watch.stage("opening")
    model = opened_model(folder)
    watch.stage("asking")
    tokens = from_line(model, text)
    (answer,) = ask_model(model, [tokens], trace=True)
    rejects = model.claim.unknown is not None
    answer |= {"shown": label(answer), "likely": likely(answer), "rejects": rejects}
    answer["lines"] = output.harmless(answer["lines"])
    answer["in_data"] = None
    if data is not None:
        known = known_inputs(folder, data, json.dumps(loading or {}, sort_keys=True))
        answer["in_data"] = None if known is None else known[0].key(tokens) in known[1]
    context = placed(model, tokens)
    if context.possible and model.numbers(context.tokens) is not None:
        watch.stage("locating")
        read, bits, neurons, note = held(model, context.tokens)
        answer["located"] = {
            "read": [list(one) for one in read],
            "of": model.parameters.nonzero,
            "bits": list(bits),
            "neurons": list(neurons),
            "holds": note,
        }
        if not isinstance(model.network, Checkpoint):
            whole = lit(model, context.tokens, read, name)
            answer["located"]["stages"] = staged(model, read)
            answer["network"] = whole["stages"]
            watch.stage("drawing")
            answer["picture"] = draw(place, "network", explain_picture.draw, whole)
    write(place, answer)
    return {"label": answer["shown"], "known": answer["known"]}


def edit(
    place: Path,
    watch: Watch,
    folder: str,
    data: str,
    loading: dict[str, Any],
    edits: list[dict[str, Any]],
    rebuild: bool = False,
) -> Summary:
    """byheart edit --edits, then byheart diff --plot."""
    lines = place / "edits.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in edits), "utf-8")
    new = Place(place / MODEL, place / "data.jsonl", False)
    old = opened_folder(Path(folder), Path(data), chosen(loading), new, watch)
    answer = edited(old, new, watch, edits=lines, rebuild=rebuild)
    return changed(place, watch, Path(folder), Path(data), loading, answer)


def forget(
    place: Path,
    watch: Watch,
    folder: str,
    data: str,
    loading: dict[str, Any],
    items: list[str],
    label_only: bool = False,
) -> Summary:
    """byheart forget --item, then byheart diff --plot."""
    new = Place(place / MODEL, place / "data.jsonl", False)
    old = opened_folder(Path(folder), Path(data), chosen(loading), new, watch)
    answer = forgotten(old, new, watch, items, label_only)
    return changed(place, watch, Path(folder), Path(data), loading, answer)


def changed(
    place: Path,
    watch: Watch,
    before: Path,
    data: Path,
    loading: dict[str, Any],
    answer: dict,
) -> Summary:
    """What differs after an edit, and the new model."""
    after = place / MODEL
    if answer["difference"] is not None:
        found = compared(before, after, data, chosen(loading), watch=watch)
        answer["diff"] = {key: found[key] for key in ("stages", "parameters", "of", "bits")}
        answer["diff"]["answers"] = (found["answers"] or [])[:20]
        watch.stage("drawing")
        answer["picture"] = draw(place, "diff", draw_difference, found)
    return model_written(place, after, answer)


def audit(
    place: Path,
    watch: Watch,
    folder: str,
    data: str,
    name: str,
    loading: dict[str, Any],
    reference: str = "uniform",
    strangers: str | None = None,
    prefix: int = 32,
    suffix: int = 50,
    seed: int = 0,
) -> Summary:
    """byheart audit MODEL DATA --items --plot."""
    found = audited(
        folder, data, reference=reference, strangers=strangers, prefix=prefix, suffix=suffix,
        seed=seed, loading=chosen(loading), watch=watch, report=watch.note,
    )  # fmt: skip
    found = replace(found, data={**found.data, "name": name})
    answer = found.json()
    order = sorted(range(len(found.items)), key=lambda i: -found.items[i]["memorised"])
    watch.stage("drawing")
    per_item = [item["memorised"] for item in found.items]
    drawn = {**answer, "per_item": per_item, "strangers": found.strangers}
    answer["picture"] = draw(place, "audit", audit_picture.draw, drawn)
    answer["table"] = write_table(place, "items", found.items, {"memorised": order})
    answer["lines"] = [list(line) for line in audit_view.numbers(answer)]
    write(place, answer)
    return {"memorised": found.memorised["bits"], "verbatim": found.extraction["verbatim"]}


def items(place: Path, watch: Watch, folder: str, data: str, loading: dict[str, Any]) -> Summary:
    """The rows of a model's data, to choose from."""
    watch.stage("loading")
    dataset = load_for(opened_model(folder), data, chosen(loading))
    rows = ({"row": i + 1, "input": x, "label": y} for i, (x, y) in first_of(dataset))
    shown = write_table(place, "rows", rows)
    write(place, {"rows": {"total": len(dataset), "shown": shown}})
    return {"rows": shown}


TASKS: dict[str, Callable[..., Summary]] = {
    "read": read,
    "compare": compare,
    "compile": compile,
    "open": open_model,
    "ask": ask,
    "edit": edit,
    "forget": forget,
    "audit": audit,
    "items": items,
}
