"""Figure 3 of kajitsuka2025: the fewest blocks that memorise N sequences of MultiNLI."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...architectures import kajitsuka2025
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from ...machine.tables import plural
from ...pictures import GREEN, INK
from ...theory.kajitsuka2025.sign_patterns import uniform_attention
from .. import plotting
from ..figure import Part, RowsByLabel, Settings, Table, described, say, seeds, spread, tabulated
from ..fits import Fit, affine, curve, polynomial
from ..plotting import Picture
from . import sweeps
from .blocks import answers, blocks, draw_points, fewest, growing, settled, smallest, tried
from .setups import QUICK, SETUPS, TABLE

ROOT = 1400  # the paper sees sqrt(N) up to here
TRIALS = 10  # of Optuna in the authors' protocol
BLOCK = kajitsuka2025(1, 1, 2).parameters - kajitsuka2025(1, 1, 1).parameters  # its parameters
SHIFT = 16  # sequences between points of several set-ups at the same N


Looks = dict[str, tuple[str, str]]  # names and colours of set-ups; the first one has the bound
COLOURS = {"blue": plotting.OURS, "green": GREEN, "grey": plotting.BOUND, "ink": INK}
PANELS: dict[str, Looks] = {
    title: {label: (name, COLOURS[colour]) for label, (name, colour) in looks.items()}
    for title, looks in TABLE["panels"].items()
}


def parts(settings: Settings) -> list[Part]:
    searched = QUICK if settings.quick else SETUPS
    most = max(max(setup.sizes) for setup in searched.values())
    datasets = {
        tokens: sweeps.multinli(settings.data, most, *tokens)
        for tokens in dict.fromkeys((setup.read, setup.letters) for setup in searched.values())
    }
    return [
        sweeps.part(
            label,
            datasets[setup.read, setup.letters],
            ((SEQUENCES, setup.sizes), ("layers", setup.depths)),
            sweeps.protocol_of(setup.kind, 0, sweeps.ENOUGH, TRIALS, setup.steps),
            settings.repeats(setup.seeds),
            setup.find,
            coordinates=setup.coordinates,
        )
        for label, setup in searched.items()
    ]


def _known(rows: RowsByLabel, kind: str) -> dict[int, float]:
    """The mean over seeds by N, where every seed reached the criterion."""
    answers = smallest(rows.get(kind, ()))
    return {N: spread(fewest(one))[0] for N, one in answers.items() if not one.censored}


def fits(rows: RowsByLabel) -> list[Fit]:
    """a + b sqrt(N) up to 1400, as the paper has it, and a line through all N of the range."""
    laws = []
    for kind in SETUPS:
        blocks = _known(rows, kind)
        some = {N: y for N, y in blocks.items() if N <= ROOT}
        for points, root in ((some, True), (blocks, False)):
            x, y = list(points), list(points.values())
            if len(set(y)) < 3:
                continue
            name = f"{kind}, N = {min(x)} to {max(x)}"
            if root:
                laws.append(affine(f"{name}, sqrt(N)", "sqrt(N)", np.sqrt(x), y))
            else:
                laws.append(polynomial(name, x, y, 1, "N"))
    return laws


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """A panel for each kind of tokens and numbers that there are rows of, two beside each other."""
    known = [panel for panel in PANELS.items() if any(rows.get(label) for label in panel[1])]
    panels = known or [*PANELS.items()][:1]
    height, width = -(-len(panels) // 2), min(2, len(panels))
    picture.set_size_inches(9.0, 0.6 + 4.2 * height)
    grid = picture.subplots(height, width, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, (title, looks) in zip(grid, panels, strict=False):
        answers = {label: smallest(rows[label]) for label in looks if rows.get(label)}
        for place, (label, by_size) in enumerate(answers.items()):
            name, colour = looks[label]
            draw_points(axes, by_size, name, colour, SHIFT * place)
            for fit in fits({label: rows[label]}):
                # over the N that it was fitted to
                kind, where, _ = fit.name.split(", ")
                root = fit.name.endswith("sqrt(N)")
                fitted = [N for N in _known(rows, kind) if N <= ROOT or not root]
                xs = np.linspace(min(fitted), max(fitted), 101)
                ys = fit.at(np.ones_like(xs), np.sqrt(xs)) if root else curve(fit, xs)
                law = "$\\sqrt{N}$" if root else "linear"
                words = f"{law}, {where}: residual {fit.residual:.2g}"
                plotting.fitted(axes, xs, ys, words, colour)
                axes.lines[-1].set_linestyle("-." if root else ":")
        every = [one for by_size in answers.values() for one in by_size.values()]
        top = max([2, *(max(tried(one) if one.censored else fewest(one)) for one in every)])
        if answers:
            by_size = next(iter(answers.values()))
            needed = [needed_blocks(by_size[N].rows[0]) for N in sorted(by_size)]
            look: dict[str, Any] = {"color": plotting.BOUND, "linewidth": 1.3, "zorder": 1}
            axes.plot(sorted(by_size), needed, "--", label="Theorem 4.2: some labels need", **look)
        plotting.finish(axes, title, "sequences N", "#blocks")
        axes.locator_params(axis="y", integer=True)
        named = [*zip(*axes.get_legend_handles_labels(), strict=True)]
        axes.set_ylim(0, top * (1.25 + 0.1 * len(named)))
        if answers:  # points first
            names = {name for name, _ in looks.values()}
            handles, labels = zip(*sorted(named, key=lambda one: one[1] not in names), strict=True)
            plotting.legend(axes, handles=handles, labels=labels, loc="upper left")


def needed_blocks(row: Row) -> int:
    """The fewest blocks that learn as many parameters as any labels of these contexts need."""
    short = uniform_attention(row["contexts"], row["vocabulary"]) - learnt(row, 1)
    return 1 + max(0, -(-short // BLOCK))


def learnt(row: Row, layers: int) -> int:
    """The parameters of a network with this many blocks, except an embedding that is frozen."""
    words, m = row["vocabulary"], 2
    frozen = words * m if row["trial"]["protocol"]["frozen"] else 0
    coordinates = row["trial"]["sizes"].get("coordinates", 0)
    network = kajitsuka2025(words, sweeps.LENGTH, layers, m, row["outputs"], coordinates)
    return network.parameters - frozen


def embedded(rows: Iterable[Row]) -> str:
    """How much of the smallest trained network is its embedding, as a sentence."""
    row = min(rows, key=blocks, default=None)
    if row is None:
        return ""
    words, every = 2 * row["vocabulary"], learnt(row, blocks(row))
    number = plural(blocks(row), "block")
    return f" With {number}, {words:,} of {every:,} trained parameters embed the words (`trained`)."


def table(rows: RowsByLabel) -> Table:
    """By set-up: what it is, the fewest blocks over N, and whether they grow."""
    lines = []
    for label, setup in SETUPS.items():
        if rows.get(label):
            some = smallest(rows[label])
            known = settled(some)
            more = f"{growing(some)}, to {known[-1]:,}" if known else "not known"
            lines.append((label, str(setup), answers(some), more, seeds(rows[label])))
    return tabulated("kajitsuka-3", lines)


def finding(rows: RowsByLabel) -> str:
    """Which set-ups take more blocks as far as every seed reached the criterion, and how far."""
    some = {label: smallest(rows[label]) for label in SETUPS if rows.get(label)}
    if not some:
        return ""
    ends = {label: settled(by_size) for label, by_size in some.items()}
    more = {
        which: "; ".join(
            f"`{label}`, N = {known[0]:,} to {known[-1]:,}"
            for label, known in ends.items()
            if known and growing(some[label]) == which
        )
        for which in ("all seeds", "some seeds")
    }
    missed = [
        f"`{label}` above N = {known[-1]:,}"
        for label, known in ends.items()
        if known and known[-1] < max(some[label])
    ]
    if never := sum(not known for known in ends.values()):
        missed.append(f"{plural(never, 'set-up')} at the smallest N")
    growth = {"all": more["all seeds"] or "none", "some": more["some seeds"] or "none"}
    told = f" Some seed missed it: {', '.join(missed)}." if missed else ""
    return say("kajitsuka-3", setups=len(some), **growth) + told + embedded(rows.get("trained", ()))


KAJITSUKA_3 = described("kajitsuka-3", tuple(SETUPS), parts, draw, table, finding, fits)
