"""The tasks of the page: each calls what its command calls, and leaves its answer in a folder.

`answer.json` is the command's own answer with the sentences that the command prints; pictures are
drawn by the code of `--plot`; long tables are files of their own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import pictures
from ..api.bounds import bounds
from ..api.change import Change
from ..api.compare import Comparison
from ..api.compare import compare as compare_all
from ..api.compile import Compiled, compile_folder
from ..api.configure import construction_of
from ..api.diff import diff
from ..api.edit import edit as edit_model
from ..api.forget import forget as forget_items
from ..api.locate import lit, stage_reads
from ..api.methods import Method, methods
from ..api.recall import ask as ask_model
from ..api.recite import recite as recited
from ..api.stats import stats
from ..auditing.audit import audit as audited
from ..claims.result import picked
from ..claims.verification import Verification
from ..data.columns import ColumnsError
from ..errors import ByheartError, flags
from ..machine.watch import Watch
from ..machine.words import harmless
from ..models.kinds import kind_of, made_by
from ..models.model import Model
from ..models.placing import placed
from ..models.questions import from_line, typed
from ..models.source import load_for, of_texts
from ..theory.curves import curves
from ..theory.papers import cited
from ..views import audit as audit_view
from ..views import compile as compile_view
from ..views import diff as diff_view
from ..views.compare import draw as draw_comparison
from ..views.model import verdict
from ..views.network import draw as draw_network
from ..views.recall import label, likely
from ..views.stats import lines as stats_lines
from ..views.terminal import codes
from .files import MODEL, write_table
from .requests import chosen
from .sources import dataset_of, first_rows, known_inputs, opened_model, reading

MAX_CONFLICTS = 1_000  # that are listed
MAX_ANSWERS = 20  # that differ after an edit
UNTIL = 1000  # times the contexts of the data, to which closed forms are drawn
TYPED = 2000  # rows that can be asked with one click
RECITED = 200_000  # letters that the page shows
HEADER = ("paper", "item", "summary", "statement", "assumptions", "guarantee", "departures")
Summary = dict[str, Any]
Options = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A task under way: the folder of its answer, and where progress is reported."""

    place: Path
    watch: Watch

    def write(self, answer: dict) -> None:
        """The answer of the task; NaN or infinity in it is a bug."""
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        (self.place / "answer.json").write_bytes(text.encode("utf-8", "backslashreplace"))

    def draw(self, name: str, picture: Callable[..., Any], result: Any) -> str:
        self.watch.stage("drawing")
        pictures.write(picture, result, self.place / f"{name}.svg")
        return name


def run(task: str, place: Path, arguments: dict[str, Any], watch: Watch) -> Summary:
    """Do a task; what it writes is in the folder, and what it returns is shown beside its name."""
    with watch:
        return TASKS[task](Work(place, watch), **arguments)


def read(work: Work, data: str, name: str, loading: Options) -> Summary:
    """byheart stats --show --conflicts, and what byheart bounds says about bits."""
    how = reading(Path(data), loading)
    work.write({"name": name, "file": how})  # the options are there even if the file is refused
    given = chosen(loading)
    try:
        counted = stats(data, conflicts=MAX_CONFLICTS, watch=work.watch, **given)
    except ColumnsError as error:
        work.write({"name": name, "file": how, "choose": error.preview()})
        raise
    answer = flags(counted.json())
    work.watch.stage("loading")
    dataset = dataset_of(data, loading)
    shown = write_table(work.place, "rows", first_rows(dataset))
    write_table(work.place, "conflicts", answer.pop("conflicting"))
    work.watch.stage("bounding")
    limits = [x for x in bounds(dataset).rows if x.applies and x.quantity.startswith("bits")]
    more = {
        "name": name,
        "file": how,
        "lines": [list(line) for line in stats_lines(counted)],
        "rows": {"total": len(dataset), "shown": shown},
        "limits": [{**x.json(), "source": x.source} for x in flags(limits)],
        "unused": list(dataset.unused),
        "left_out": dict(dataset.left_out),
    }
    work.write({**answer, **more})
    counts = ("sequences", "contexts", "labels")
    return {key: answer[key] for key in counts} | {"conflicts": answer["conflicts"]["contexts"]}


def compare(
    work: Work, data: str, name: str, loading: Options, on_conflict: str = "refuse"
) -> Summary:
    """byheart compare --until --plot, and the theorem of each method."""
    dataset = dataset_of(data, loading)
    work.watch.stage("comparing")
    until = UNTIL * max(10, len(dataset))
    result = flags(compare_all(dataset, on_conflict=on_conflict, until=until, watch=work.watch))
    result = replace(result, name=name)
    limits: dict[str, Any] = {}

    def drawn(result: Comparison) -> Any:
        figure = draw_comparison(result)
        axes = figure.axes[0]
        axes.patch.set_gid("axes-area")
        limits["x"] = list(axes.get_xlim())
        return figure

    picture = work.draw("compare", drawn, result) if result.lines else None
    facts = bounds(dataset).dataset
    more = {
        "limits": limits,
        "curves": [curve.json() for curve in (curves(facts) if facts else ())],
        "rows": [{**row.json(), "title": row.title} for row in result.rows],
        "methods": {method.title: theorem(method) for method in methods()},
    }
    work.write(replace(result, picture=picture).json() | more)
    return {"rows": len(result.rows)}


def theorem(method: Method) -> dict[str, Any]:
    """What the page shows of a method: its theorem and its options."""
    construction = method.construction
    header = {key: codes(getattr(construction.header, key)) for key in HEADER}
    return {
        "method": method.name,
        "form": method.form,
        "stores": construction.claim.name,
        "editable": "editable" in method.options or construction.edits,
        "options": {option.name: option.json() for option in method.details},
        **header,
        "paper": cited(construction.header.paper),
    }


def compile(
    work: Work,
    data: str,
    loading: Options,
    method: str | None = None,
    form: str | None = None,
    on_conflict: str = "refuse",
    seed: int = 0,
    options: Options | None = None,
) -> Summary:
    """byheart compile DATA -o DIR."""
    folder = work.place / MODEL
    for name in (options or {}).keys() - {name for one in methods() for name in one.options}:
        raise ByheartError(f"no method has the option {name[:40]!a}.")
    result = compile_folder(
        Path(data), folder, method, form, loading=chosen(loading), watch=work.watch,
        on_conflict=on_conflict, seed=seed, **(options or {}),
    )  # fmt: skip
    return model_written(work, folder, result, flags(result.json()))


def model_written(work: Work, folder: Path, result: Compiled | Change, answer: dict) -> Summary:
    """The answer of what wrote a model, with its certificate and the lines of the terminal."""
    shown = harmless(result)
    model = opened_model(str(folder))
    more = {
        "lines": [list(line) for line in compile_view.lines(shown)],
        "remarks": compile_view.remarks(shown.summary),
        "verdict": verdict(result.summary).plain.partition("  ")[2],
        "certificate": json.loads((folder / "certificate.json").read_text("utf-8")),
        "files": sorted(path.name for path in folder.iterdir()),
        "editable": changes(model),
        "rejects": model.claim.unknown is not None,
    }
    work.write(answer | more)
    return model_summary(model, result.summary.verification)


def changes(model: Model) -> bool:
    """Whether the page can change it: the texts of stock checkpoints are files of their own."""
    try:
        return construction_of(model).edits and not model.claim.texts
    except ByheartError:  # trained, or of another version
        return False


def model_summary(model: Model, verification: Verification | None) -> Summary:
    return {
        "method": model.record.method,
        "form": model.record.form,
        "parameters": model.parameters.nonzero,
        "bits": kind_of(model).store.code_bits(model.network),
        "entropy": model.bits.entropy,
        "information": model.bits.information,
        "evidence": None if verification is None else verification.evidence,
        "checked": None if verification is None else verification.checked,
        "editable": changes(model),
        "stock": model.claim.texts,
        "rejects": model.claim.unknown is not None,
        "columns": [*(model.record.loading.get("input") or ())],
        "between": model.record.loading.get("between"),
    }


def open_model(work: Work, folder: str) -> Summary:
    """A folder that was named when the page was started; a checkpoint is opened by the audit."""
    from ..auditing.checkpoint import is_checkpoint

    work.watch.stage("opening")
    if is_checkpoint(Path(folder)):
        work.write({"checkpoint": True})
        return {"method": "a Hugging Face checkpoint", "checkpoint": True}
    model = opened_model(folder)
    summary = model_summary(model, model.verification)
    work.write(summary)
    return summary


def ask(
    work: Work,
    folder: str,
    name: str,
    text: str,
    data: str | None = None,
    loading: Options | None = None,
) -> Summary:
    """byheart recall --trace and byheart locate --plot, for one question.

    Where the model's data is here, the answer says whether the input is in it.
    """
    work.watch.stage("opening")
    model = opened_model(folder)
    work.watch.stage("asking")
    tokens = from_line(model, text)
    (recalled,) = ask_model(model, [tokens], trace=True).answers
    shown, in_data = label(recalled.answer), None
    if data is not None:
        known = known_inputs(folder, data, json.dumps(loading or {}, sort_keys=True))
        in_data = None if known is None else known[0].key(tokens) in known[1]
    answer = {
        **recalled.json(),
        "lines": harmless(recalled.lines),
        "shown": shown,
        "likely": likely(recalled.answer),
        "rejects": model.claim.unknown is not None,
        "in_data": in_data,
    }
    context = placed(model, tokens)
    if context.possible and model.numbers(context.tokens) is not None:
        work.watch.stage("locating")
        answer |= located(work, model, context.tokens, name)
    work.write(answer)
    return {"label": shown, "known": recalled.answer.known}


def located(work: Work, model: Model, tokens: list, name: str) -> dict[str, Any]:
    """Where the answer is held; of a network with stages, also its picture."""
    held = kind_of(model).locate.held(model, tokens, made_by(model))
    found = {
        "read": [list(one) for one in held.read],
        "of": model.parameters.nonzero,
        "bits": list(held.bits),
        "neurons": list(held.neurons),
        "holds": held.note,
    }
    if model.claim.texts:
        return {"located": found}
    whole = lit(model, tokens, held.read, name)
    stages = [vars(stage) for stage in stage_reads(model, held.read)]
    return {
        "located": {**found, "stages": stages},
        "network": [stage.json() for stage in whole.stages],
        "picture": work.draw("network", draw_network, whole),
    }


def edit(
    work: Work,
    folder: str,
    data: str,
    loading: Options,
    edits: list[Options],
    rebuild: bool = False,
) -> Summary:
    """byheart edit --edits, then byheart diff --plot."""
    lines = work.place / "edits.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in edits), "utf-8")
    return changed(work, partial(edit_model, edits=lines, rebuild=rebuild), folder, data, loading)


def forget(
    work: Work, folder: str, data: str, loading: Options, items: list[str], label_only: bool = False
) -> Summary:
    """byheart forget --item, then byheart diff --plot."""
    verb = partial(forget_items, items=items, label_only=label_only)
    return changed(work, verb, folder, data, loading)


def changed(
    work: Work, verb: Callable[..., Change], before: str, data: str, loading: Options
) -> Summary:
    """Edit or forget; what differs then, and the new model."""
    after, more = work.place / MODEL, {}
    how = {"watch": work.watch, **chosen(loading)}
    change = verb(before, data, output=after, write_data=work.place / "data.jsonl", **how)
    if change.difference is not None:
        compared = diff(before, after, data, **how)
        answer = compared.json()
        kept = {key: answer[key] for key in ("stages", "parameters", "of", "bits")}
        more = {
            "diff": {**kept, "answers": answer["answers"][:MAX_ANSWERS]},
            "picture": work.draw("diff", diff_view.draw, compared),
        }
    return model_written(work, after, change, change.json() | more)


def audit(
    work: Work,
    folder: str,
    data: str,
    name: str,
    loading: Options,
    reference: str = "uniform",
    strangers: str | None = None,
    prefix: int = 50,
    suffix: int = 50,
    seed: int = 0,
) -> Summary:
    """byheart audit MODEL DATA --items --plot."""
    result = audited(
        folder, data, reference=reference, non_members=strangers, prefix=prefix, suffix=suffix,
        seed=seed, loading=chosen(loading), watch=work.watch,
    )  # fmt: skip
    result = replace(result, data=replace(result.data, name=name))
    order = sorted(range(len(result.items)), key=lambda i: -result.items[i].memorised)
    rows = (item.row_of_table() for item in result.items)
    picture = work.draw("audit", audit_view.draw, result)
    more = {
        "table": write_table(work.place, "items", rows, {"memorised": order}),
        "lines": [list(line) for line in audit_view.lines(result)],
    }
    work.write(replace(result, picture=picture).json() | more)
    return {"memorised": result.memorised.bits, "verbatim": result.extraction.verbatim}


def items(work: Work, folder: str, data: str, loading: Options) -> Summary:
    """The rows of a model's data, to choose from; of the first, what a person types to ask them."""
    work.watch.stage("loading")
    model = opened_model(folder)
    dataset = load_for(model, data, chosen(loading))
    rows = (
        {**row, "typed": typed(model, row["input"]) if row["row"] <= TYPED else None}
        for row in first_rows(dataset)
    )
    shown = write_table(work.place, "rows", rows)
    work.write({"rows": {"total": len(dataset), "shown": shown}})
    return {"rows": shown}


def recite(
    work: Work, folder: str, data: str | None = None, loading: Options | None = None
) -> Summary:
    """byheart recite DIR --check DATA."""
    model = opened_model(folder)
    own = data is None or (of_texts(model) and Path(data).name == "data.jsonl")  # edited here
    found = recited(folder, check=None if own else data, watch=work.watch)
    said = found.recitation
    answer = {
        "text": said.text[:RECITED],
        "cut": len(said.text) > RECITED,
        "counts": [said.documents, said.tokens, said.rows],
    }
    work.write(answer | picked(found, "holds checked difference"))
    return {"holds": found.holds}


PLAIN = (read, compare, compile, ask, edit, forget, audit, items, recite)
TASKS: dict[str, Callable[..., Summary]] = {task.__name__: task for task in PLAIN}
TASKS["open"] = open_model
