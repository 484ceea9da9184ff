"""benchmark as a table of methods, and as a picture of methods x packs."""

from .. import pictures
from ..api.benchmark import Benchmark, BenchmarkRow
from ..errors import ByheartError
from ..machine.tables import plural
from ..pictures import BLUE, INK, Figure
from .terminal import Group, Table, Text, columns, right

INTERVAL = "{value:.3g} [{low:.2g}, {high:.2g}]"


def view(result: Benchmark) -> Group:
    """A block per task and pack: methods by scores, with what chance and the exact one give."""
    groups: dict[tuple[str, str, str], list[BenchmarkRow]] = {}
    for row in result.rows:
        groups.setdefault((row.task, row.pack, row.family), []).append(row)
    parts: list[Table | Text] = []
    for (task, pack, family), rows in groups.items():
        names = list(dict.fromkeys(name for row in rows for name in row.scores))
        parts.append(Text(f"\n{task} on {pack} ({family}, level {rows[0].level} of 5)", "bold"))
        grid = columns("", *right(*(name.replace("_", " ") for name in names), "n", "seconds"))
        for row in rows:
            scores = (row.scores.get(name) for name in names)
            cells = (INTERVAL.format(**score) if score else "-" for score in scores)
            grid.add_row(Text(row.method, "cyan"), *cells, f"{row.n}", f"{row.seconds:.1f}")
        for name in ("floor", "ceiling"):
            ends = [next((x.scores[y][name] for x in rows if y in x.scores), None) for y in names]
            grid.add_row(Text(name, "dim"), *("" if x is None else f"{x:.3g}" for x in ends))
        parts.append(grid)
        for row in rows:
            if row.problem:
                parts.append(Text(f"{row.method}: {row.problem}", "yellow"))
    if result.repeated and result.output:
        rows_ = plural(result.repeated, "row")
        parts.append(Text(f"\nof {result.output}, not measured again: {rows_}", "dim"))
    return Group(*parts)


def draw(result: Benchmark) -> Figure:
    """The first score of each task, as a share of the way from chance to the exact operation."""
    tasks = list(dict.fromkeys(row.task for row in result.rows if row.scores))
    if not tasks:
        raise ByheartError("no row has scores, so there is nothing to draw.")
    most = max(len({x.method for x in result.rows if x.task == task}) for task in tasks)
    figure, *parts = pictures.canvas(2.6 + 3.6 * len(tasks), 1.9 + 0.42 * most, parts=len(tasks))
    for axes, task in zip(parts, tasks, strict=True):
        rows = [row for row in result.rows if row.task == task]
        levels = dict(sorted({row.pack: row.level for row in rows}.items(), key=lambda x: x[1]))
        methods = list(dict.fromkeys(row.method for row in rows))
        name = next(iter(next(row for row in rows if row.scores).scores))
        for row in rows:
            at = list(levels).index(row.pack), methods.index(row.method)
            score = row.scores.get(name)
            said = "\u00d7" if score is None else f"{score['value']:.2f}"
            shade = 0.0 if score is None else min(1.0, max(0.0, float(score["value"] or 0)))
            axes.bar(at[0], 1, 1, at[1] - 0.5, color=BLUE, alpha=shade)
            ink = "white" if shade > 0.6 else INK
            axes.annotate(said, at, ha="center", va="center", size=8.5, color=ink)
        axes.set_xlim(-0.5, len(levels) - 0.5)
        axes.set_ylim(len(methods) - 0.5, -0.5)
        pictures.entitle(axes, f"{task}: {name.replace('_', ' ')}", "packs, by difficulty", size=8)
        axes.set_xticks(range(len(levels)), list(levels), rotation=30, ha="right")
        axes.set_yticks(range(len(methods)), [x.rpartition("/")[2] for x in methods])
        axes.grid(False)
    return figure
