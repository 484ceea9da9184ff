"""What a person sees of measure."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .output import number

WORDS = {  # of a criterion
    "gap": "gap ≤ {:.4g} % of the entropy",
    "loss": "loss ≤ {:.4g} nats above the least",
    "accuracy": "accuracy ≥ {:.4g} % of the best",
}
SHARES = ("gap", "accuracy")  # shown in per cent
UNITS = {"gap": "%", "loss": "nats", "accuracy": "%"}
BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|nats\b)")


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


def measured(answer: dict) -> Group:
    """What was asked, a table for every combination of the other axes, and what they say."""
    parts = [part for cell in answer["cells"] for part in _cell(answer, cell)]
    return Group(_title(answer), _about(answer), Text(), *parts, *_closing(answer))


def _title(answer: dict) -> Line:
    data = answer["dataset"]
    return Line(
        f"{answer['architecture']} on {data['name']}: {number(data['sequences'])} sequences, "
        f"{number(data['contexts'])} contexts, {_read(data)}{_best(data)}",
        style="bold",
    )


def _read(data: dict) -> str:
    count = number(data["vocabulary"])
    return f"vectors of {count} coordinates" if data["vectors"] else f"{count} tokens"


def _about(answer: dict) -> Line:
    sizes = "".join(f"{_words(name)} {number(size)}, " for name, size in answer["sizes"].items())
    about = f"{sizes}protocol {answer['protocol']}, {_plural(answer['seeds'], 'seed')}"
    return Line(f"{about}; memorised: {_memorised(answer)}", style="dim")


def _memorised(answer: dict) -> str:
    """The squared loss is in no unit."""
    said = memorised(answer["criterion"])
    return said.replace(" nats", "") if answer["dataset"]["squared"] else said


def memorised(criterion: dict) -> str:
    """The criterion in words.

    >>> memorised({"kind": "gap", "value": 0.01})
    'gap ≤ 1 % of the entropy'
    """
    kind, value = criterion["kind"], criterion["value"]
    return WORDS[kind].format(100 * value if kind in SHARES else value)


def axis_name(answer: dict) -> str:
    return _words(answer["axes"][-1]["name"])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _best(facts: dict) -> str:
    """The accuracy that any function of the context has at most, where it is not all."""
    best = facts["best_accuracy"]
    return f", best accuracy {_value('accuracy', best)} %" if best < 1 else ""


def _cell(answer: dict, cell: dict) -> list[RenderableType]:
    at = ", ".join(f"{_words(name)} {number(value)}" for name, value in cell["at"].items())
    contexts = f" ({number(cell['contexts'])} contexts{_best(cell)})" if cell["points"] else ""
    title = [Line(f"{at}{contexts}", style="bold")] if at else []
    table = [_table(answer, cell)] if cell["points"] else []
    return [*title, *table, sentence(answer, cell), *_theory(cell), Text()]


def _table(answer: dict, cell: dict) -> Table:
    kind = answer["criterion"]["kind"]
    others = ["accuracy"] if kind != "accuracy" else []
    spreads = [_spread(kind, point[kind]) for point in cell["points"]]
    over = ["over seeds"] if any(spreads) else []
    unit = "" if kind == "loss" and answer["dataset"]["squared"] else f" {UNITS[kind]}"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (axis_name(answer), "parameters", kind, *over, *others, "reached", "steps"):
        table.add_column(name, justify="left" if name == "over seeds" else "right", no_wrap=True)
    for point, spread in zip(cell["points"], spreads, strict=True):
        style = "green" if point["reached"] else ""
        table.add_row(
            number(point["value"]),
            number(point["parameters"]),
            f"{_value(kind, point[kind]['median'])}{unit}",
            *([spread] if over else []),
            *(f"{_value(name, point[name]['median'])} {UNITS[name]}" for name in others),
            Text(f"{point['reached']} of {point['seeds']}", style=style),
            number(point["steps"]),
        )
    return table


def _spread(kind: str, found: dict) -> Text:
    """The range, where seeds differ."""
    low, high = (_value(kind, found[name]) for name in ("low", "high"))
    return Text(f"{low} to {high}" if low != high else "", style="dim")


def _value(kind: str, value: float | None) -> str:
    """Three digits, a share in per cent; None is a training that blew up."""
    if value is None:
        return "-"
    shown = 100 * value if kind in SHARES else value
    if 1000 <= abs(shown) < 1e6:
        return f"{shown:,.0f}"
    return f"{shown:.3g}" if 1e-3 <= abs(shown) < 1000 or not shown else f"{shown:.0e}"


def sentence(answer: dict, cell: dict) -> Text:
    """The smallest that memorises, and on what evidence; what was not reached is never "cannot"."""
    name, found = axis_name(answer), cell["smallest"]
    if not cell["points"]:
        return Text("nothing was trained here", style="dim")
    if found is None:
        return Text(_censored(name, cell["points"]), style="yellow")
    asked = f"fewest {name} that memorise" if name[-1] == "s" else f"smallest {name} that memorises"
    text = Text(f"{asked}: ")
    text.append(number(found["value"]), "bold green")
    text.append(f" ({number(found['parameters'])} parameters), {_seeds(cell)}")
    return text.append(f"; {_evidence(cell)}")


def _seeds(cell: dict) -> str:
    """How many seeds memorise the smallest, and what the others came to.

    A bisection tries few sizes with every seed, so the seeds of one size are not all of them.
    """
    each, least = cell["by_seed"], cell["smallest"]["value"]
    missed = [x for x in each if x["smallest"] is None]
    others = [x["smallest"] for x in each if x["smallest"] not in (least, None)]
    agree = len(each) - len(others) - len(missed)
    said = f"in {agree} of {_plural(len(each), 'seed')}"
    if others:
        ends = dict.fromkeys(number(end(others)) for end in (min, max))
        said += f", {' to '.join(ends)} in {_others(len(others), len(each))}"
    if missed:
        tried, steps = min(x["largest"] for x in missed), max(x["steps"] for x in missed)
        said += f"; {_plural(len(missed), 'seed')} did not reach it with up to {number(tried)}"
        said += f" in {number(steps)} steps"
    return said


def _others(count: int, seeds: int) -> str:
    if count > 1:
        return f"{number(count)} others"
    return "the other" if seeds == 2 else "another"


def _evidence(cell: dict) -> str:
    """What was tried below the smallest, by how many of the seeds if not by all."""
    below = cell["below"]
    if below is None:
        return "nothing smaller was tried"
    some = below["seeds"] < len(cell["by_seed"])
    tried = f" (tried by {_plural(below['seeds'], 'seed')})" if some else ""
    return f"{number(below['value'])}{tried} was not reached in {number(below['steps'])} steps"


def _censored(name: str, points: list[dict]) -> str:
    upto = "up to " if len(points) > 1 else ""
    steps = max(point["steps"] for point in points)
    return (
        f"{name} {upto}{number(points[-1]['value'])}: not reached in {number(steps)} steps; "
        "more steps may reach it, or a larger one"
    )


def _plural(count: int, word: str) -> str:
    return f"{number(count)} {word}" + ("s" if count != 1 else "")


def _theory(cell: dict) -> list[Text]:
    found = cell["theory"]
    if found is None:
        return []
    words = (
        f"theory: {number(found['enough_neurons'])} neurons are enough for any distributions of "
        f"these contexts (madden2024, Theorem 5); some need "
        f"{number(found['needed_parameters'])} parameters (Lemma 1), these may need fewer"
    )
    return [Text(words, style="dim")]


def _again(answer: dict) -> str:
    """Models and pictures are not replaced without being asked."""
    written = answer["saved"] or answer["picture"]
    return "the same command with --force" if written else "the same command"


def _closing(answer: dict) -> list[Text]:
    """What it took, where the rows are, what was saved and drawn."""
    trials, seconds = answer["trials"], answer["seconds"]
    lines = [
        f"{_plural(trials['ran'], 'trial')} run now, {number(trials['kept'])} kept from before; "
        f"{number(round(seconds['training'], 1))} CPU seconds of training in all",
        f"rows in {answer['folder']}; {_again(answer)} goes on from there",
    ]
    saved = answer["saved"]
    if saved is not None:
        sizes = ", ".join(f"{_words(x)} {number(size)}" for x, size in saved["sizes"].items())
        data = f"; its data: {saved['data']}" if saved["data"] else ""
        lines.append(f"saved in {saved['folder']} ({saved['evidence']}): {sizes}{data}")
    elif answer["not_saved"]:
        lines.append(f"not saved in {answer['save']}: {answer['not_saved']}")
    elif answer["save"]:
        lines.append(f"nothing saved in {answer['save']}: no size memorises so far")
    if answer["picture"]:
        lines.append(f"drawn in {answer['picture']}")
    return [Text(line) for line in lines]
