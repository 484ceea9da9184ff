"""explain: the network of a method for a dataset, stage by stage."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from .. import pictures
from ..compiler.explaining import explain
from ..constructions import ALL, find
from ..data.load import load
from ..machine.tables import upto
from ..machine.watch import SILENT, Watch
from ..models.verification import PROVE_LIMIT
from ..theory.papers import cited
from . import options, output
from .compile import build
from .explain_picture import draw
from .output import check_prove_limit, number, plural
from .progress import watching


def command_for(arguments: Sequence[str]) -> options.Command:
    """The command; its help lists the options of the method that the arguments name."""
    names = {construction.name for construction in ALL}
    return options.building(command, next((word for word in arguments if word in names), None))


@options.reading
def command(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="See byheart methods.", autocompletion=options.METHODS
        ),
    ],
    data: options.Data,
    loading: options.Loading,
    chosen: options.MethodOptions,
    form: options.Form = None,
    on_conflict: options.OnConflict = "refuse",
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    seed: options.Seed = 0,
    plot: options.PictureOutput = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the network of a method for a dataset: its stages and the cost of each.

    Each method has its own options: `byheart methods NAME` lists them.
    """
    check_prove_limit(prove_limit)
    with watching() as watch:
        how = {"on_conflict": on_conflict, "prove_limit": prove_limit, "seed": seed, **chosen}
        answer = explained(method, data, loading, plot, force, watch, form, **how)
    output.finish(answer, json, view)


def explained(
    method: str,
    data: Path,
    loading: options.Loading | None = None,
    plot: Path | None = None,
    force: bool = False,
    watch: Watch = SILENT,
    form: str | None = None,
    **options: Any,
) -> dict:
    """Build and verify the network as compile does, and take it apart; options as there."""
    find(method, form)
    picture = pictures.checked(plot, force)
    watch.stage("loading")
    model = build(load(data, **(loading or {})), watch, method=method, form=form, **options)
    assert model.verification is not None
    answer = explain(model).json()
    answer["dataset"]["name"] = data.name
    answer["verified"] = model.verification.json()
    return output.pictured(answer, draw, picture, watch)


def view(answer: dict) -> Group:
    """The stages with their cost, what each does, what goes in and out, and the theorem."""
    data, found, stages = answer["dataset"], answer["verified"], answer["stages"]
    stores = output.stores_distributions(answer)
    form = f" --form {answer['form']}" if answer.get("form") else ""
    title = f"{answer['method']}{form} on {data['name']}: {output.counts(data)}"
    reads, gives = ends_of_decoder(answer) if stores else ends_of_network(answer)
    keys = ("depth", "nonzero", "dense", "bits")
    costs = output.columns()
    costs.add_column("stage", style="cyan", no_wrap=True)
    for name in ("layers", *keys, "share"):
        costs.add_column(name, justify="right", no_wrap=True)
    for stage in stages:
        runs = stage["layers"]
        layers = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
        if len(runs) > 2:  # too many to name
            layers = f"{runs[0][0]}-{runs[-1][1]}, in {len(runs)} runs"
        sizes = [number(stage[key]) for key in keys]
        costs.add_row(stage["stage"], layers, *sizes, f"{stage['share']:.1%}")
    costs.add_row("all", "", *(number(answer["totals"][key]) for key in keys), "", style="bold")
    all_of = plural(found["checked"], "context" if stores else "label")
    checked = f"{number(found['correct'])} of {all_of}{' within the gap' if stores else ''}"
    header = ("statement", "assumptions", "guarantee", "departures")
    return Group(
        Text(title, style="bold"),
        Text(f"in   {reads}\nout  {gives}", style="dim"),
        Text(),
        costs,
        Text(),
        Text(counted_of_decoder(answer) if stores else counted_of_network(answer)),
        Text(f"{found['evidence']}  {checked}", style=output.STYLES.get(found["evidence"], "")),
        Text(),
        output.sentences((stage["stage"], stage["does"]) for stage in stages),
        Text(),
        Text(cited(f"{answer['paper']}, {answer['item']}"), style="bold"),
        output.sentences((key, output.codes(answer[key])) for key in header),
        *output.drawn(answer),
    )


def ends_of_network(answer: dict) -> tuple[str, str]:
    """What goes into a network that stores labels, and what comes out."""
    reads, gives = answer["input"], answer["output"]
    size = plural(reads["dimension"], "coordinate")
    parts = [f"{plural(reads['columns'], 'column')} of {size}"]
    if reads["positions"]:
        parts.append("with their positions")
    fill = "not padded" if reads["padding"] is None else f"padded with {reads['padding']}"
    parts.append(f"shorter sequences {fill}")
    if reads["extra"] is not None:
        parts.append(f"an extra token {reads['extra']} in front")
    pairs = sum(stage["connections"] or 0 for stage in answer["stages"])
    if pairs:
        parts.append(plural(pairs, "connection"))
    where = "every token's column" if gives["every"] else "the last column"
    if any(stage["kind"] == "sum" for stage in answer["stages"]):
        where = "the sum"
    unknown = ', or "unknown"' if gives["unknown"] else ""
    return ", ".join(parts), f"one of {plural(gives['labels'], 'label')} from {where}{unknown}"


def ends_of_decoder(answer: dict) -> tuple[str, str]:
    """The same for a decoder, which stores distributions."""
    reads = answer["input"]
    kind = {"string": "words", "number": "integers"}[reads["tokens"]]
    labels = plural(answer["output"]["labels"], "token")
    return (
        f"{upto(1, reads['length'], 'token')} ({kind}), order counts",
        f"the probability of each of {labels} to come next",
    )


def counted_of_network(answer: dict) -> str:
    totals = answer["totals"]
    first = "the embedding" if answer["stages"][0]["kind"] == "embedding" else "E_in"
    return (
        f"the theorem counts {number(totals['counted'])} of the nonzero parameters; "
        f"{number(totals['outside'])} are outside: {first} and E_out"
    )


def counted_of_decoder(answer: dict) -> str:
    """The parameters that the paper counts, and how far they are from the fewest (eq. (3))."""
    shape = answer["shape"]
    names = {"omega": "vocabulary", "T": "length", "d": "dimension"}
    names |= {"m": "neurons"} if shape["neurons"] else {}
    if shape["heads"]:
        names |= {"m_0": "heads", "d_0": "value_dimension", "d_1": "key_dimension"}
    sizes = ", ".join(f"{letter} = {number(shape[name])}" for letter, name in names.items())
    counted = f"parameters: {answer['formula']} = {number(answer['totals']['dense'])}"
    ratio = (
        f"\nratio (3): {number(answer['ratio'])} times (omega - 1) m, the fewest with which a "
        "model can give m contexts any distributions"
    )
    return f"{counted}\nwith {sizes}" + (ratio if answer["ratio"] is not None else "")
