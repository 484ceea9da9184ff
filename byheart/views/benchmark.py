"""benchmark as a table of methods, and as a picture of methods x packs."""

from itertools import product
from statistics import fmean

from .. import pictures
from ..api.benchmark import Benchmark, BenchmarkRow
from ..api.scoring.methods import EXACT, RANDOM
from ..errors import ByheartError
from ..machine.tables import plural
from ..pictures import BLUE, INK, PALE, Axes, Figure
from .terminal import Group, Table, Text, columns, right


def view(result: Benchmark) -> Group:
    """A block per task and pack: methods by scores, with what chance and the exact one give."""
    groups: dict[tuple, list[BenchmarkRow]] = {}
    for row in result.rows:
        groups.setdefault((row.task, row.pack, row.family, row.pack_seed), []).append(row)
    parts: list[Table | Text] = []
    for (task, pack, family, seed), rows in groups.items():
        about = f"level {rows[0].level} of 5, {family}, seed {seed}; {rows[0].n} asked"
        parts.append(Text(f"\n{task} on {pack}: {about}", "bold"))
        grid = columns("", *right("score", "95 %", "chance", "exact", "seconds"))
        for row in rows:
            grid.add_row(Text(short(row), "cyan"), "", "", "", "", f"{row.seconds:.1f}")
            for name, x in row.scores.items():
                ends = "" if x["floor"] is None else f"{x['floor']:.3g}", f"{x['ceiling']:.3g}"
                interval = f"[{x['low']:.2g}, {x['high']:.2g}]"
                title = f"  {name.replace('_', ' ')}"
                grid.add_row(title, f"{x['value']:.3g}", interval, *ends)
        parts.append(grid)
        for row in rows:
            if row.problem:
                parts.append(Text(f"{short(row)}: {row.problem}", "yellow"))
    if result.repeated and result.output:
        rows_ = plural(result.repeated, "row")
        parts.append(Text(f"\nof {result.output}, not measured again: {rows_}", "dim"))
    return Group(*parts)


def short(row: BenchmarkRow) -> str:
    """The method without the folder and the ending of its file."""
    name = row.method.rpartition("/")[2].replace(".py", "")
    return name.removesuffix(f":{row.task}")


def draw(result: Benchmark) -> Figure:
    """Methods x packs for every score of a task, or for the first one of each of several tasks.

    A cell has the mean over the rows of its pack. The darker it is, the farther it is from chance
    on the way to the exact operation; what both of them give stands below the methods.
    """
    several = len({row.task for row in result.rows if row.scores}) > 1
    panels: dict[tuple[str, str], list[BenchmarkRow]] = {}
    for row in result.rows:
        for name in [*row.scores][: 1 if several else None]:
            panels.setdefault((row.task, name), []).append(row)
    if not panels:
        raise ByheartError("no row has scores, so there is nothing to draw.")
    for (task, _), drawn in panels.items():
        drawn += [row for row in result.rows if row.task == task and row.problem]
    packs = {(x.pack, x.family): x for x in sorted(result.rows, key=lambda x: x.level)}
    labels = [x if y == "gpt2" else f"{x}, {y}" for x, y in packs]
    sizes = [len({row.method for row in rows}) + 2.5 for rows in panels.values()]
    width, height = max(6, 3.6 + 0.72 * len(packs)), 1.2 + 0.3 * sum(sizes)
    figure, *_ = pictures.canvas(width, height, parts=0)
    grid = {"height_ratios": sizes}
    parts = figure.subplots(len(panels), 1, squeeze=False, sharex=True, gridspec_kw=grid)[:, 0]
    for axes, ((task, name), rows) in zip(parts, panels.items(), strict=True):
        methods = {x.method: short(x) for x in rows if x.method not in (EXACT, RANDOM)}
        for (i, pack), (j, method) in product(enumerate(packs), enumerate(methods)):
            here = [x for x in rows if (x.pack, x.family) == pack and x.method == method]
            _paint(axes, i, j, [row.scores.get(name) for row in here])
        for i, pack in enumerate(packs):
            known = [x.scores[name] for x in rows if (x.pack, x.family) == pack and x.scores]
            for j, end in enumerate(("ceiling", "floor"), len(methods)):
                values = [y for x in known if (y := x[end]) is not None]
                _write(axes, i, j, f"{fmean(values):.3g}" if values else "", PALE)
        axes.set_ylim(len(methods) + 1.5, -0.5)
        axes.axhline(len(methods) - 0.5, color=PALE, linewidth=0.8)
        pictures.entitle(axes, f"{task}: {name.replace('_', ' ')}", "", size=8)
        names = [*methods.values(), "exact operation", "chance"]
        axes.set_yticks(range(len(names)), names)
        axes.grid(False)
    parts[-1].set_xlim(-0.5, len(packs) - 0.5)
    parts[-1].set_xticks(range(len(packs)), labels, rotation=30, ha="right")
    parts[-1].set_xlabel("packs by level; \u00d7: it failed", color=INK)
    return figure


def _paint(axes: Axes, x: int, y: int, scores: list[dict[str, float | None] | None]) -> None:
    """The mean of these scores; x if the method failed, nothing if it was not run."""
    known = [score for score in scores if score is not None]
    if not known:
        _write(axes, x, y, "\u00d7" if scores else "", INK)
        return
    value, ceiling = (fmean(float(s[name] or 0) for s in known) for name in ("value", "ceiling"))
    floor = fmean(float(s["floor"] or 0) for s in known)
    way = (value - floor) / (ceiling - floor) if floor != ceiling else 0.0
    shade = min(1.0, max(0.0, way))
    axes.bar(x, 1, 1, y - 0.5, color=BLUE, alpha=shade)
    said = f"{value:.2f}" if abs(value) < 9.995 else f"{value:.0f}"
    _write(axes, x, y, said, "white" if shade > 0.6 else INK)


def _write(axes: Axes, x: int, y: int, said: str, ink: str) -> None:
    axes.annotate(said, (x, y), ha="center", va="center", size=8.5, color=ink)
