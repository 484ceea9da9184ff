"""Figure 3 of dana2024: heads against neurons, with the same number of parameters."""

from ...pictures import GREEN, INK
from ...theory.dana2024.capacity import accuracy, parameters
from .. import plotting
from ..figure import Part, RowsByLabel, Settings, Table, described, say, tabulated
from ..fits import Fit
from ..plotting import Picture
from ..published import column
from . import accuracies, sweeps
from .accuracies import PROGRAM

VOCABULARY = 70
HEADS = sweeps.heads("dana-3")
QUICK = {10: (1, 11)}
SCRIPT = 10, (21,)  # d and heads that the authors' schedule trains as well
ONE = 10, 21  # d and heads of the one size with the program's architecture
MODELS = {  # beginning of a label: colour, name, experiment of the published numbers
    "heads": (plotting.OURS, "attention only", "attention"),
    "neurons": (GREEN, "one head and neurons", "mlp"),
}
SCHEDULE = "script-3"


def parts(settings: Settings) -> list[Part]:
    """Heads, and as many parameters in neurons: w = 2 d (H - 1) of them beside one head."""
    wanted = [("", d, heads, "fast", sweeps.SEEDS) for d, heads in HEADS.items()]
    if settings.quick:
        wanted = [("", d, heads, "fast", 1) for d, heads in QUICK.items()]
    else:
        wanted.append((f"{SCHEDULE}-", *SCRIPT, SCHEDULE, 1))
    parts = []
    for before, d, heads, name, seeds in wanted:
        sizes, axis = {"dimension": d, "head_dimension": d}, ("heads", heads)
        label = f"{before}heads-d{d}"
        parts.append(sweeps.part(settings, label, VOCABULARY, sizes, axis, name, seeds))
        label, how = f"{before}neurons-d{d}", (name, seeds, "dana2024-mlp")
        widths = ("width", [2 * d * (H - 1) for H in heads if H > 1])
        parts.append(sweeps.part(settings, label, VOCABULARY, {"dimension": d}, widths, *how))
    sizes = {"dimension": ONE[0], "head_dimension": ONE[0]}
    return parts + sweeps.program(settings, VOCABULARY, sizes, ("heads", ONE[1:]))


def ours(rows: RowsByLabel, label: str, d: int) -> accuracies.Points:
    return accuracies.points(rows.get(f"{label}-d{d}", ()), "parameters")


def published(label: str, d: int) -> accuracies.Points:
    table = accuracies.published(MODELS[label][2], dimension=d)
    heads = [1 + int(row["width"]) // (2 * d) for row in table]  # with as many parameters
    if label == "heads":
        heads = [int(row["heads"]) for row in table]
    counts = [parameters(VOCABULARY, 2, d, d, H) for H in heads]
    return accuracies.exact(counts, column(table, "accuracy"))


def fits(rows: RowsByLabel) -> list[Fit]:
    return [
        fit
        for d in HEADS
        for label, (_, name, _) in MODELS.items()
        for whose, some in (("ours", ours(rows, label, d)), ("published", published(label, d)))
        for fit in accuracies.law(f"{whose}, {name}, d = {d}", some, 1, "parameters")
        if fit.errors is not None  # two points are on any line
    ]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    for axes, d in zip(picture.subplots(1, len(HEADS), sharey=True), HEADS, strict=True):
        for label, (colour, name, _) in MODELS.items():
            known = published(label, d)
            label_of, heights = f"published, means: {name}", accuracies.means(known)
            plotting.published(axes, list(known), heights, label_of, colour)
            if some := ours(rows, label, d):
                plotting.ours(axes, some, f"ours (fast), {name}", colour, line=True)
            if script := ours(rows, f"{SCHEDULE}-{label}", d):
                heights = accuracies.means(script)
                axes.plot(list(script), heights, "D", color=colour, markeredgecolor=INK, zorder=3)
        if (program := accuracies.points(rows.get(PROGRAM, ()), "parameters")) and d == ONE[0]:
            plotting.ours(axes, program, None, plotting.PUBLISHED)
        counts = list(published("heads", d))
        heads = [int(row["heads"]) for row in accuracies.published("attention", dimension=d)]
        guaranteed = [accuracies.guaranteed(H, d, d) for H in heads]
        bound = [accuracy(k, VOCABULARY**2, VOCABULARY).average for k in guaranteed]
        plotting.bound(axes, counts, bound, "Corollary 2, attention only")
        accuracies.finish(axes, f"d = d_h = {d}", "parameters")
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if d > min(HEADS):
            axes.set_ylabel("")
        else:
            plotting.legend(axes, loc="upper left")


def table(rows: RowsByLabel) -> Table:
    """By d, model and parameters: ours, by the authors' schedule, their program, and published."""
    program = accuracies.points(rows.get(PROGRAM, ()), "parameters")
    lines = []
    for d in HEADS:
        for label, (_, name, _) in MODELS.items():
            series = [ours(rows, label, d), ours(rows, f"{SCHEDULE}-{label}", d)]
            series.append(program if (label, d) == ("heads", ONE[0]) else {})
            series.append(published(label, d))
            lines += [
                (str(d), name, f"{x:,}", *(accuracies.ranged(some.get(x)) for some in series))
                for x in sorted({x for some in series[:3] for x in some})
            ]
    return tabulated("dana-3", lines)


def finding(rows: RowsByLabel) -> str:
    """The slopes of the lines, and where neurons memorise more with as many parameters."""
    slopes = {fit.name: fit.coefficients[1] * 1000 for fit in fits(rows)}
    mine = {name: x for name, x in slopes.items() if name.startswith("ours")}
    if not mine:
        return ""
    listed = "; ".join(f"{name.removeprefix('ours, ')} {x:.3f}" for name, x in mine.items())
    here = [(ours(rows, "heads", d), ours(rows, "neurons", d)) for d in HEADS]
    known = [(published("heads", d), published("neurons", d)) for d in HEADS]
    where = {"of our sizes": here, "of the published ones": known, "of the authors' later": later()}
    more = ", ".join(f"{better(pairs)} {name}" for name, pairs in where.items())
    return say("dana-3", slopes=listed, more=more)


def later() -> list[tuple[accuracies.Points, accuracies.Points]]:
    """Published pairs of N = 200 and d = 40, 50 and 60, and of three layers."""
    pairs = []
    for layers, d in ((1, 40), (1, 50), (1, 60), *((3, d) for d in HEADS)):
        words = 70 if layers > 1 else 200
        heads = accuracies.published("heads", layers, dimension=d, vocabulary=words)
        mlp = accuracies.published("mlp", layers, dimension=d)
        equal = [1 + int(row["width"]) // (2 * d) for row in mlp]  # heads with as many parameters
        sides = (column(heads, "heads"), heads), (equal, mlp)
        first, second = (accuracies.exact(x, column(some, "accuracy")) for x, some in sides)
        pairs.append((first, second))
    return pairs


def better(pairs: list[tuple[accuracies.Points, accuracies.Points]]) -> str:
    """At how many of the sizes above one head neurons are better."""
    common = [(a[x][0], b[x][0]) for a, b in pairs for x in a.keys() & b.keys() if x > min(a)]
    return f"{sum(n > h for h, n in common)} of {len(common)}"


GRID = [f"{label}-d{d}" for d in HEADS for label in MODELS]
SCHEDULED = [f"{SCHEDULE}-{label}-d{SCRIPT[0]}" for label in MODELS]
DANA_3 = described("dana-3", (*GRID, *SCHEDULED, PROGRAM), parts, draw, table, finding, fits)
