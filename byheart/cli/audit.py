"""audit: how much a trained checkpoint holds of a file, in bits, beside what it could hold."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from .. import pictures
from ..auditing.answer import check_table
from ..auditing.audit import audit
from ..machine.files import refuse_existing
from ..machine.words import printable
from . import options
from .audit_picture import draw
from .options import Data, Force, Json, Loading, Picture, Seed
from .output import STYLES, finish, number, pictured, plural, rows
from .progress import keeping, watching

Line = tuple[str, str, str]


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
    strangers: Annotated[
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
        found = audit(
            model,
            data,
            reference=reference,
            prefix=prefix,
            suffix=suffix,
            strangers=strangers,
            folder=output,
            device=device,
            seed=seed,
            loading=loading,
            watch=watch,
            report=lambda sentence: print(f"byheart: {printable(sentence)}", file=sys.stderr),
        )
        if items is not None:
            found = found.save_items(items)
        answer = found.json()
        # what the picture is drawn from: the items have a file of their own
        drawn = {"per_item": [x["memorised"] for x in found.items], "strangers": found.strangers}
        pictured({**answer, **drawn}, draw, picture, watch)
        answer["picture"] = None if picture is None else str(picture)
    finish(answer, json, view)


def view(answer: dict) -> Group:
    """The verdict, then the numbers behind it, and where everything is."""
    verdict = Text("observed", style=STYLES["observed"])
    verdict.append(f"  {answer['verdict']}", "default")
    parts: list[RenderableType] = [verdict, Text(), rows(numbers(answer))]
    parts += [Text(f"note: {note}.", style="yellow") for note in answer["notes"]]
    for name, words in (
        ("items", "table per item in"),
        ("folder", "finished batches in"),
        ("picture", "drawn in"),
    ):
        if answer[name]:
            parts.append(Text(f"{words} {answer[name]}"))
    return Group(*parts)


def numbers(answer: dict) -> list[Line]:
    """Name, value and what it means."""
    model, data, memorised = answer["model"], answer["data"], answer["memorised"]
    reference, extraction = answer["reference"], answer["extraction"]
    error = memorised["standard_error"]
    share = memorised["share"]
    counted, stored = "tied ones counted once", "in the number type of the files"
    if model["compiled"]:
        counted, stored = "those that are not 0", "sign, mantissa and exponent of each"
    single = data["labelled"] and data["predicted"] == data["items"]
    predicted = plural(data["predicted"], "label" if single else "token")
    if data["labelled"] and not single:
        predicted += " of labels"
    found: list[Line] = [
        ("parameters", number(model["parameters"]), f"{model['kind']}; {counted}"),
        ("stored bits", number(model["stored_bits"]), stored),
        (
            "items",
            number(data["items"]),
            f"{predicted} predicted{left(data)}",
        ),
        (
            "information",
            whole(data["information"]),
            f"bits, if tokens were uniform over {number(model['vocabulary'])}",
        ),
        ("code length", whole(answer["code_length"]), "bits under the model"),
        ("reference", whole(reference["bits"]), f"bits under {reference['name']}"),
        (
            "memorised",
            whole(memorised["bits"]),
            "bits: reference minus model"
            + (f", {share:.1%} of it" if share is not None else "")
            + (f"; standard error {whole(error)}" if error is not None else ""),
        ),
        ("clamped", whole(memorised["clamped"]), "bits: the sum over items above 0"),
        (
            "per parameter",
            f"{memorised['per_parameter']:.4g}",
            f"bits; {memorised['per_stored_bit']:.4g} per stored bit",
        ),
    ]
    for limit in answer["limits"]:
        kind = "measured on trained models" if limit["kind"] == "rule_of_thumb" else "theorem"
        if "bits" in limit:
            used = f"{limit['share']:.1%} used; " if limit["share"] is not None else ""
            remark = f"bits, {limit['name']}; {used}{kind}"
            sign = "about" if limit["kind"] == "rule_of_thumb" else "≤"
            found.append(("could hold", f"{sign} {whole(limit['bits'])}", remark))
        else:
            remark = f"contexts, {limit['name']}: {limit['reason']}"
            sign = {"at_most": "≤", "at_least": "≥"}[limit["direction"]]
            found.append(("could hold", f"{sign} {number(limit['contexts'])}", remark))
    after = "given the input"
    if extraction["prefix"] is not None:
        after = f"after {extraction['prefix']} tokens, at most {extraction['suffix']} recited"
    common = extraction["common"]
    found += [
        (
            "verbatim",
            f"{number(extraction['verbatim'])} of {number(extraction['asked'])}",
            after
            + (
                f"; {common:.3g} recited on average before the first error"
                if common is not None
                else ""
            ),
        ),
        ("accuracy", f"{answer['accuracy']:.2%}", "of predicted tokens, by the likeliest one"),
    ]
    told = answer["membership"]
    if told is not None:
        exposure = told["exposure"]
        saved = told["saved"]
        found += [
            (
                "saved per token",
                f"{saved['items']:.3g}",
                f"bits; {saved['strangers']:.3g} of a stranger's token, none of which is memory",
            ),
            (
                "AUC",
                f"{told['auc']:.3f}",
                f"95 % interval {told['low']:.3f} to {told['high']:.3f}; "
                f"{plural(told['strangers'], 'stranger')}",
            ),
            (
                "exposure",
                f"{exposure['mean']:.3g}",
                f"bits on average; largest {exposure['largest']:.3g} of {exposure['possible']:.3g} "
                "possible",
            ),
        ]
    seconds = answer["seconds"]
    speed = f"s to score, {number(round(seconds['tokens_per_second']))} tokens per second"
    return [*found, ("time", f"{seconds['score']:.1f}", speed)]


def left(data: dict) -> str:
    """What of the file is not in the numbers."""
    parts = [
        f"{plural(data['skipped'], 'item')} too short" if data["skipped"] else "",
        f"{plural(data['cut'], 'token')} cut off" if data["cut"] else "",
    ]
    return "".join(f"; {part}" for part in parts if part)


def whole(bits: float) -> str:
    """Bits without decimals, unless they are few."""
    return number(round(bits)) if abs(bits) >= 100 else f"{bits:.3g}"
