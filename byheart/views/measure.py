"""measure as tables: the sizes that were trained, and the smallest that memorises."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions

from ..lab.measuring import Measurement
from ..lab.sweeps.results import Cell, Point
from ..machine.tables import number, plural
from .terminal import Column, Group, RenderableType, Table, Text, columns, right

CRITERIA = {
    "gap": "gap ≤ {:.4g} % of the entropy",
    "loss": "loss ≤ {:.4g} nats above the least",
    "accuracy": "accuracy ≥ {:.4g} % of the best",
    "plateau": "twice the steps change the bits by ≤ {:.4g} %",
}
SHARES = ("gap", "accuracy", "plateau")  # shown in per cent
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


def view(result: Measurement) -> Group:
    data, sweep = result.dataset, result.sweep
    reads = plural(data.vocabulary, "coordinate" if data.vectors else "token")
    reads = f"vectors of {reads}" if data.vectors else reads
    title = (
        f"{sweep.architecture} on {data.name}: {plural(data.sequences, 'sequence')}, "
        f"{plural(data.contexts, 'context')}, {reads}{best(data.best_accuracy)}"
    )
    kind, value = sweep.criterion.kind, sweep.criterion.value
    criterion = CRITERIA[kind].format(100 * value if kind in SHARES else value)
    if data.squared:  # the squared loss has no unit
        criterion = criterion.replace(" nats", "")
    about = (
        "".join(f"{name}, " for name in named(sweep.fixed_sizes))
        + f"protocol {sweep.protocol.name}, {plural(sweep.seeds, 'seed')}"
        + f"; {'settled' if kind == 'plateau' else 'memorised'}: {criterion}"
    )
    parts: list[RenderableType] = [Line(title, "bold"), Line(about, "dim"), Text()]
    for cell in result.cells:
        if cell.at:
            at, contexts = ", ".join(named(cell.at)), ""
            if cell.facts is not None:
                count = plural(cell.facts.contexts, "context")
                contexts = f" ({count}{best(cell.facts.best_accuracy)})"
            parts.append(Line(f"{at}{contexts}", "bold"))
        if cell.points:
            parts.append((bits_table if result.measures_capacity else table)(result, cell.points))
        parts.append((filled if result.measures_capacity else conclusion)(result, cell))
        theory = result.theory(cell)
        if theory is not None:
            verb = "is" if theory.enough_neurons == 1 else "are"
            words = (
                f"theory: {plural(theory.enough_neurons, 'neuron')} {verb} enough for any "
                f"distributions of these contexts (Madden et al. (2024), Theorem 5); some need "
                f"{plural(theory.needed_parameters, 'parameter')} (Lemma 1), these may need fewer"
            )
            parts.append(Text(words, style="dim"))
        parts.append(Text())
    return Group(*parts, *(Text(line) for line in closing(result)))


def table(result: Measurement, points: Sequence[Point]) -> Table:
    """One row per value of the searched axis; the range over seeds where seeds differ."""
    kind = result.sweep.criterion.kind
    others = ["accuracy"] if kind != "accuracy" else []
    spreads = [spread_of(kind, point) for point in points]
    over = any(spreads)
    unit = "" if kind == "loss" and result.dataset.squared else f" {UNITS[kind]}"
    before, after = (axis_name(result), "parameters", kind), (*others, "reached", "steps")
    shown = _columns(before, over, after)
    for point, spread in zip(points, spreads, strict=True):
        reached = f"{point.reached} of {len(point.results)}"
        shown.add_row(
            number(point.value),
            number(point.parameters),
            f"{digits(kind, point.spread(kind).median)}{unit}",
            *([Text(spread, style="dim")] if over else []),
            *(f"{digits(name, point.spread(name).median)} {UNITS[name]}" for name in others),
            Text(reached, style="green" if point.reached else ""),
            number(point.steps),
        )
    return shown


def _columns(before: Sequence[str], over: bool, after: Sequence[str]) -> Table:
    seeds = [Column("over seeds", no_wrap=True)] if over else []
    return columns(*right(*before, no_wrap=True), *seeds, *right(*after, no_wrap=True))


def spread_of(kind: str, point: Point) -> str:
    """From the least to the most of a seed, where they differ."""
    spread = point.spread(kind)
    low, high = digits(kind, spread.low), digits(kind, spread.high)
    return "" if low == high else f"{low} to {high}"


def bits_table(result: Measurement, points: Sequence[Point]) -> Table:
    """One row per number of sequences: what the data holds, and what was memorised of it."""
    settles = result.sweep.criterion.kind == "plateau"
    after = ("per parameter", "settled" if settles else "reached", "steps")
    shown = _columns(("sequences", "information", "memorised bits"), True, after)
    for point in points:
        bits = point.spread("bits").median
        shown.add_row(
            number(point.value),
            number(round(point.information)),
            digits("bits", bits),
            Text(spread_of("bits", point), style="dim"),
            "-" if bits is None else f"{bits / point.parameters:.3f}",
            f"{point.reached} of {len(point.results)}",
            number(point.steps),
        )
    return shown


def filled(result: Measurement, cell: Cell) -> Text:
    """The most bits memorised, and whether that is shown to be the capacity."""
    most = result.capacity(cell)
    if most is None:
        return Text("nothing was trained here, or every training diverged", style="dim")
    text = Text("most bits memorised: ")
    text.append(number(round(most.bits)), "bold green" if most.plateau else "bold")
    text.append(
        f", {most.per_parameter:.3f} per parameter ({number(cell.points[0].parameters)} of 32 "
        f"bits), {most.per_stored_bit:.4f} per stored bit; "
    )
    if most.plateau:
        return text.append("more sequences and more steps leave it as it is: a plateau, observed")
    reasons = {
        "it is nearly all that the data holds": most.share >= 0.95,
        "two numbers of sequences that give the same bits within 5 % are missing": not most.level,
        "more steps still change it": not most.settled,
    }
    why = ", and ".join(reason for reason, holds in reasons.items() if holds)
    return text.append(f"not shown to be a plateau: {why}", "yellow")


def conclusion(result: Measurement, cell: Cell) -> Text:
    """The smallest that memorises, and the evidence; what was not reached is never "cannot".

    A bisection tries few sizes with every seed, so the seeds of one size are not all of them.
    """
    name, points, smallest = axis_name(result), cell.points, cell.smallest
    if not points:
        return Text("nothing was trained here", style="dim")
    if smallest is None:
        upto, steps = "up to " if len(points) > 1 else "", max(point.steps for point in points)
        words = f"{name} {upto}{number(points[-1].value)}: not reached in {plural(steps, 'step')}"
        return Text(f"{words}; more steps may reach it, or a larger one", style="yellow")
    asked = f"fewest {name} that memorise" if name[-1] == "s" else f"smallest {name} that memorises"
    text = Text(f"{asked}: ")
    text.append(number(smallest.value), "bold green")
    seeds = list(cell.by_seed.values())
    missed = [x for x in seeds if x.smallest is None]
    larger = [x.smallest for x in seeds if x.smallest not in (smallest.value, None)]
    agree = len(seeds) - len(larger) - len(missed)
    sentence = f" ({plural(smallest.parameters, 'parameter')}), in {agree} of "
    sentence += plural(len(seeds), "seed")
    if larger:
        ends = dict.fromkeys(number(end(larger)) for end in (min, max))
        others = f"{number(len(larger))} others"
        if len(larger) == 1:
            others = "the other" if len(seeds) == 2 else "another"
        sentence += f", {' to '.join(ends)} in {others}"
    if missed:
        tried, steps = min(x.largest for x in missed), max(x.steps for x in missed)
        sentence += f"; {plural(len(missed), 'seed')} did not reach it with up to {number(tried)}"
        sentence += f" in {plural(steps, 'step')}"
    below = cell.below
    if below is None:
        return text.append(f"{sentence}; nothing smaller was tried")
    some = len(below.results) < len(seeds)
    by = f" (tried by {plural(len(below.results), 'seed')})" if some else ""
    vain = f"was not reached in {plural(below.steps, 'step')}"
    return text.append(f"{sentence}; {number(below.value)}{by} {vain}")


def closing(result: Measurement) -> list[str]:
    """What it took, where the rows are, what was saved and drawn."""
    trials, saved = result.trials, result.saved
    again = "the same command"
    if saved or result.picture:  # models and pictures are not replaced without being asked
        again += " with --force"
    lines = [
        f"{plural(trials.ran, 'trial')} run now, {number(trials.kept)} kept from before; "
        f"{number(round(result.seconds.training, 1))} CPU seconds of training in all",
        f"rows in {result.folder}; {again} resumes from there",
    ]
    if saved is not None:
        data = f"; its data: {saved.data}" if saved.data else ""
        sizes = ", ".join(named(saved.sizes))
        lines.append(f"saved in {saved.folder} ({saved.evidence}): {sizes}{data}")
    elif result.not_saved:
        lines.append(f"not saved in {result.save}: {result.not_saved}")
    elif result.save:
        lines.append(f"nothing saved in {result.save}: no size memorises so far")
    if result.picture:
        lines.append(f"drawn in {result.picture}")
    return lines


def best(accuracy: float) -> str:
    """The accuracy that any function of the context has at most, where it is not all."""
    return f", best accuracy {digits('accuracy', accuracy)} %" if accuracy < 1 else ""


def axis_name(result: Measurement) -> str:
    return result.sweep.searched[0].replace("_", " ")


def named(sizes: Mapping[str, int]) -> list[str]:
    return [f"{name.replace('_', ' ')} {number(size)}" for name, size in sizes.items()]


def digits(kind: str, value: float | None) -> str:
    """Three digits, a share in per cent; None is a training that diverged."""
    if value is None:
        return "-"
    shown = 100 * value if kind in SHARES else value
    if 1000 <= abs(shown) < 1e6:
        return f"{shown:,.0f}"
    return f"{shown:.3g}" if 1e-3 <= abs(shown) < 1000 or not shown else f"{shown:.0e}"
