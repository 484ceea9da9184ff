"""measure: train sizes of an architecture, and report the smallest that memorises."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import pictures
from ..architectures.trainable import TRAINABLE
from ..lab.measuring import measure
from ..lab.sweeps.axes import parsed
from ..machine.engines import Workers
from .measure_picture import draw
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
from .output import columns, finish, number, pictured, plural
from .progress import keeping, watching

CRITERIA = {
    "gap": "gap ≤ {:.4g} % of the entropy",
    "loss": "loss ≤ {:.4g} nats above the least",
    "accuracy": "accuracy ≥ {:.4g} % of the best",
    "plateau": "twice the steps change the bits by ≤ {:.4g} %",
}
SHARES = ("gap", "accuracy", "plateau")  # shown in per cent
UNITS = {"gap": "%", "loss": "nats", "accuracy": "%"}
BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|nats\b)")


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
        answer = measure(
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
        ).json()
        pictured(answer, draw, picture, watch)
    finish(answer, json, view)
    if answer["not_saved"]:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Line:
    """Words that are broken to the width of the screen, and never before a unit.

    Rich breaks at a no-break space too, so the lines are made here.
    """

    words: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        kept = BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", self.words)
        for line in textwrap.wrap(kept, options.max_width, break_on_hyphens=False):
            yield Text(line.replace("\N{NO-BREAK SPACE}", " "), self.style)


def view(answer: dict) -> Group:
    """The question, one table per combination of the other axes, and where everything is."""
    data, kind = answer["dataset"], answer["criterion"]["kind"]
    reads = plural(data["vocabulary"], "coordinate" if data["vectors"] else "token")
    reads = f"vectors of {reads}" if data["vectors"] else reads
    title = (
        f"{answer['architecture']} on {data['name']}: {plural(data['sequences'], 'sequence')}, "
        f"{plural(data['contexts'], 'context')}, {reads}{best(data)}"
    )
    value = answer["criterion"]["value"]
    criterion = CRITERIA[kind].format(100 * value if kind in SHARES else value)
    if data["squared"]:  # the squared loss has no unit
        criterion = criterion.replace(" nats", "")
    about = (
        "".join(f"{name}, " for name in named(answer["sizes"]))
        + f"protocol {answer['protocol']}, {plural(answer['seeds'], 'seed')}"
        + f"; {'settled' if kind == 'plateau' else 'memorised'}: {criterion}"
    )
    parts: list[RenderableType] = [Line(title, "bold"), Line(about, "dim"), Text()]
    for cell in answer["cells"]:
        if cell["at"]:
            contexts = f" ({plural(cell['contexts'], 'context')}{best(cell)})"
            at = ", ".join(named(cell["at"]))
            parts.append(Line(f"{at}{contexts if cell['points'] else ''}", "bold"))
        if cell["points"]:
            draws = bits_table if "capacity" in cell else table
            parts.append(draws(answer, cell["points"]))
        parts.append((filled if "capacity" in cell else conclusion)(answer, cell))
        theory = cell["theory"]
        if theory is not None:
            one = theory["enough_neurons"] == 1
            enough = f"{plural(theory['enough_neurons'], 'neuron')} {'is' if one else 'are'}"
            needed = plural(theory["needed_parameters"], "parameter")
            words = (
                f"theory: {enough} enough for any "
                f"distributions of these contexts (Madden et al. (2024), Theorem 5); some need "
                f"{needed} (Lemma 1), these may need fewer"
            )
            parts.append(Text(words, style="dim"))
        parts.append(Text())
    return Group(*parts, *(Text(line) for line in closing(answer)))


def table(answer: dict, points: list[dict]) -> Table:
    """One row per value of the searched axis; the range over seeds where seeds differ."""
    kind = answer["criterion"]["kind"]
    others = ["accuracy"] if kind != "accuracy" else []
    ends = [[shown(kind, point[kind][end]) for end in ("low", "high")] for point in points]
    spreads = [f"{low} to {high}" if low != high else "" for low, high in ends]
    over = ["over seeds"] if any(spreads) else []
    unit = "" if kind == "loss" and answer["dataset"]["squared"] else f" {UNITS[kind]}"
    found = columns()
    for name in (axis_name(answer), "parameters", kind, *over, *others, "reached", "steps"):
        found.add_column(name, justify="left" if name == "over seeds" else "right", no_wrap=True)
    for point, spread in zip(points, spreads, strict=True):
        reached = f"{point['reached']} of {point['seeds']}"
        found.add_row(
            number(point["value"]),
            number(point["parameters"]),
            f"{shown(kind, point[kind]['median'])}{unit}",
            *([Text(spread, style="dim")] if over else []),
            *(f"{shown(name, point[name]['median'])} {UNITS[name]}" for name in others),
            Text(reached, style="green" if point["reached"] else ""),
            number(point["steps"]),
        )
    return found


def bits_table(answer: dict, points: list[dict]) -> Table:
    """One row per number of sequences: what the data holds, and what was memorised of it."""
    settles = answer["criterion"]["kind"] == "plateau"
    found = columns()
    names = ("sequences", "information", "memorised bits", "over seeds", "per parameter")
    for name in (*names, "settled" if settles else "reached", "steps"):
        found.add_column(name, justify="left" if name == "over seeds" else "right", no_wrap=True)
    for point in points:
        bits = point["bits"]
        low, high, middle = (bits[x] for x in ("low", "high", "median"))
        spread = "" if low == high else f"{shown('bits', low)} to {shown('bits', high)}"
        found.add_row(
            number(point["value"]),
            number(round(point["information"])),
            shown("bits", middle),
            Text(spread, style="dim"),
            "-" if middle is None else f"{middle / point['parameters']:.3f}",
            f"{point['reached']} of {point['seeds']}",
            number(point["steps"]),
        )
    return found


def filled(answer: dict, cell: dict) -> Text:
    """The most bits memorised, and whether that is shown to be the capacity."""
    found = cell["capacity"]
    if found is None:
        return Text("nothing was trained here, or every training diverged", style="dim")
    parameters = cell["points"][0]["parameters"]
    text = Text("most bits memorised: ")
    text.append(number(round(found["bits"])), "bold green" if found["plateau"] else "bold")
    text.append(
        f", {found['per_parameter']:.3f} per parameter ({number(parameters)} of 32 bits), "
        f"{found['per_stored_bit']:.4f} per stored bit; "
    )
    if found["plateau"]:
        return text.append("more sequences and more steps leave it as it is: a plateau, observed")
    reasons = []
    if found["share"] >= 0.95:
        reasons.append("it is nearly all that the data holds")
    if not found["level"]:
        reasons.append("two numbers of sequences that give the same bits within 5 % are missing")
    if not found["settled"]:
        reasons.append("more steps still change it")
    return text.append(f"not shown to be a plateau: {', and '.join(reasons)}", "yellow")


def conclusion(answer: dict, cell: dict) -> Text:
    """The smallest that memorises, and the evidence; what was not reached is never "cannot".

    A bisection tries few sizes with every seed, so the seeds of one size are not all of them.
    """
    name, points, smallest = axis_name(answer), cell["points"], cell["smallest"]
    if not points:
        return Text("nothing was trained here", style="dim")
    if smallest is None:
        upto, steps = "up to " if len(points) > 1 else "", max(point["steps"] for point in points)
        words = (
            f"{name} {upto}{number(points[-1]['value'])}: not reached in {plural(steps, 'step')}"
        )
        return Text(f"{words}; more steps may reach it, or a larger one", style="yellow")
    asked = f"fewest {name} that memorise" if name[-1] == "s" else f"smallest {name} that memorises"
    text = Text(f"{asked}: ")
    text.append(number(smallest["value"]), "bold green")
    seeds = cell["by_seed"]
    missed = [x for x in seeds if x["smallest"] is None]
    larger = [x["smallest"] for x in seeds if x["smallest"] not in (smallest["value"], None)]
    agree = len(seeds) - len(larger) - len(missed)
    sentence = f" ({plural(smallest['parameters'], 'parameter')}), in {agree} of "
    sentence += plural(len(seeds), "seed")
    if larger:
        ends = dict.fromkeys(number(end(larger)) for end in (min, max))
        others = f"{number(len(larger))} others"
        if len(larger) == 1:
            others = "the other" if len(seeds) == 2 else "another"
        sentence += f", {' to '.join(ends)} in {others}"
    if missed:
        tried, steps = min(x["largest"] for x in missed), max(x["steps"] for x in missed)
        sentence += f"; {plural(len(missed), 'seed')} did not reach it with up to {number(tried)}"
        sentence += f" in {plural(steps, 'step')}"
    below = cell["below"]
    if below is None:
        return text.append(f"{sentence}; nothing smaller was tried")
    some = below["seeds"] < len(seeds)
    by = f" (tried by {plural(below['seeds'], 'seed')})" if some else ""
    steps = plural(below["steps"], "step")
    return text.append(f"{sentence}; {number(below['value'])}{by} was not reached in {steps}")


def closing(answer: dict) -> list[str]:
    """What it took, where the rows are, what was saved and drawn."""
    trials, saved, folder = answer["trials"], answer["saved"], answer["save"]
    again = "the same command"
    if saved or answer["picture"]:  # models and pictures are not replaced without being asked
        again += " with --force"
    lines = [
        f"{plural(trials['ran'], 'trial')} run now, {number(trials['kept'])} kept from before; "
        f"{number(round(answer['seconds']['training'], 1))} CPU seconds of training in all",
        f"rows in {answer['folder']}; {again} resumes from there",
    ]
    if saved is not None:
        data = f"; its data: {saved['data']}" if saved["data"] else ""
        sizes = ", ".join(named(saved["sizes"]))
        lines.append(f"saved in {saved['folder']} ({saved['evidence']}): {sizes}{data}")
    elif answer["not_saved"]:
        lines.append(f"not saved in {folder}: {answer['not_saved']}")
    elif folder:
        lines.append(f"nothing saved in {folder}: no size memorises so far")
    if answer["picture"]:
        lines.append(f"drawn in {answer['picture']}")
    return lines


def best(facts: dict) -> str:
    """The accuracy that any function of the context has at most, where it is not all."""
    most = facts["best_accuracy"]
    return f", best accuracy {shown('accuracy', most)} %" if most < 1 else ""


def axis_name(answer: dict) -> str:
    return answer["axes"][-1]["name"].replace("_", " ")


def named(sizes: dict) -> list[str]:
    return [f"{name.replace('_', ' ')} {number(size)}" for name, size in sizes.items()]


def shown(kind: str, value: float | None) -> str:
    """Three digits, a share in per cent; None is a training that blew up."""
    if value is None:
        return "-"
    found = 100 * value if kind in SHARES else value
    if 1000 <= abs(found) < 1e6:
        return f"{found:,.0f}"
    return f"{found:.3g}" if 1e-3 <= abs(found) < 1000 or not found else f"{found:.0e}"
