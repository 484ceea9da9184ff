"""Figure 3 of kajitsuka2025: the fewest blocks that memorise N sequences of MultiNLI."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...architectures import kajitsuka2025
from ...lab.sweeps.sweep import SEQUENCES
from ...lab.trial import Row
from ...pictures import GREEN, INK
from ...theory.kajitsuka2025.sign_patterns import uniform_attention
from ...theory.kajitsuka2025.sizes import embedding_size
from .. import plotting
from ..figure import Figure, Part, RowsByLabel, Settings, paragraph, spread
from ..fits import Fit, curve, least_squares, polynomial
from . import sweeps
from .blocks import deeper, draw_points, fewest, listed, smallest, tried

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SIZES = tuple(range(600, 1701, 100))
ROOT = 1400  # the paper sees sqrt(N) up to here
SEEDS = 2
TRIALS = 10  # of Optuna in the authors' protocol
SEARCHED = {  # N, blocks, seeds, and whether blocks are bisected, for each kind
    "trained": (SIZES, (1, 2, 3, 4, 6, 8, 10, 15, 20), SEEDS, True),
    "frozen": ((50, 75, 100, 125, 150, 200), (1, 2, 3, 4, 6, 8, 12), 1, False),
    "paper": ((600, 1100, 1700), (1, 2, 3, 4, 6, 8, 10, 15, 20), 1, True),
}  # deeper is not always easier to train if embeddings are frozen: no bisection, a grid of depths
QUICK = {
    "trained": ((100, 200, 300), (1, 2, 3, 4, 6, 8), 1, True),
    "frozen": ((25, 50, 100), (1, 2, 4, 8), 1, False),
}
BLOCK = kajitsuka2025(1, 1, 2).parameters - kajitsuka2025(1, 1, 1).parameters  # its parameters
LOOKS = {
    "trained": ("ours (fast)", plotting.OURS),
    "frozen": ("ours (fast)", GREEN),
    "paper": ("the paper's protocol", INK),
}
CLOSE = 10  # with more blocks on the axis, the name of the bound fits only above its line
PANELS = (("trained", "paper"), ("frozen",))


def parts(settings: Settings) -> list[Part]:
    searched = QUICK if settings.quick else SEARCHED
    dataset = sweeps.multinli(settings.data, max(max(sizes) for sizes, *_ in searched.values()))
    return [
        sweeps.part(
            kind,
            dataset,
            ((SEQUENCES, sizes), ("layers", depths)),
            sweeps.protocol_of(kind, stop=sweeps.ENOUGH, trials=TRIALS),
            settings.repeats(seeds),
            find,
        )
        for kind, (sizes, depths, seeds, find) in searched.items()
    ]


def _known(rows: RowsByLabel, kind: str) -> dict[int, float]:
    """The mean over seeds by N, where every seed reached the criterion."""
    answers = smallest(rows.get(kind, ()))
    return {N: spread(fewest(one))[0] for N, one in answers.items() if not one.censored}


def fits(rows: RowsByLabel) -> list[Fit]:
    """a + b sqrt(N) up to 1400, as the paper has it, and a line through all N.

    The name gives the range of N that was fitted, which may end earlier.
    """

    def name(kind: str, sizes: Iterable[int]) -> str:
        return f"{kind}, N = {min(sizes)} to {max(sizes)}"

    found = []
    for kind in ("trained", "frozen"):
        blocks = _known(rows, kind)
        if len(set(blocks.values())) < 2:
            continue  # nothing grows
        some = {N: y for N, y in blocks.items() if N <= ROOT}
        if len(some) > 2:
            columns = {"1": np.ones(len(some)), "sqrt(N)": np.sqrt(list(some))}
            found.append(
                least_squares(f"{name(kind, some)}, sqrt(N)", columns, list(some.values()))
            )
        if len(blocks) > 2:
            found.append(
                polynomial(name(kind, blocks), list(blocks), list(blocks.values()), 1, "N")
            )
    return found


def draw(rows: RowsByLabel, picture: "Picture") -> None:
    """A panel for trained embeddings, and one for frozen ones if there are rows of them."""
    panels = [kinds for kinds in PANELS if any(rows.get(kind) for kind in kinds)] or [PANELS[0]]
    for axes, kinds in zip(picture.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for kind in kinds:
            draw_points(axes, smallest(rows.get(kind, ())), *LOOKS[kind])
        for fit in fits(rows):
            if fit.name.split(", ")[0] in kinds:
                _draw_law(axes, rows, fit)
        answers = {N: one for kind in kinds for N, one in smallest(rows.get(kind, ())).items()}
        top = max([2, *(max(fewest(one) or tried(one)) for one in answers.values())])
        if answers:
            places = sorted(answers)
            needed = [needed_blocks(answers[N].rows[0]) for N in places]
            above = top > CLOSE
            plotting.bound(axes, places, needed, "Theorem 4.2: some labels need", above=above)
        plotting.finish(axes, f"embeddings {kinds[0]}", "sequences N", "#blocks")
        axes.set_ylim(0, 1.35 * top)
        axes.locator_params(axis="y", integer=True)
        if answers:
            plotting.legend(axes, loc="upper left")


def _draw_law(axes: "Axes", rows: RowsByLabel, fit: Fit) -> None:
    """A fitted law over the N that it was fitted to."""
    kind, where, _ = fit.name.split(", ")
    root = fit.name.endswith("sqrt(N)")
    fitted = [N for N in _known(rows, kind) if N <= ROOT or not root]
    xs = np.linspace(min(fitted), max(fitted), 101)
    ys = fit.at(np.ones_like(xs), np.sqrt(xs)) if root else curve(fit, xs)
    law = "$\\sqrt{N}$" if root else "linear"
    plotting.fitted(axes, xs, ys, f"{law}, {where}: residual {fit.residual:.2g}", LOOKS[kind][1])
    axes.lines[-1].set_linestyle("-." if root else ":")


def needed_blocks(row: Row) -> int:
    """The fewest blocks that learn as many parameters as any labels of these contexts need."""
    needed = uniform_attention(row["contexts"], row["vocabulary"])
    short = needed - learnt(row, 1)
    return 1 + max(0, -(-short // BLOCK))


def learnt(row: Row, layers: int) -> int:
    """The parameters of a network with this many blocks, except an embedding that is frozen."""
    words, m = row["vocabulary"], 2
    frozen = words * m if row["trial"]["protocol"]["frozen"] else 0
    return kajitsuka2025(words, sweeps.LENGTH, layers, m, row["outputs"]).parameters - frozen


def caption(rows: RowsByLabel) -> str:
    every = [row for part in rows.values() for row in part]
    if not every:
        return sweeps.DIFFERENCES
    missed = [
        f"{kind} N = {N} (tried: {listed(one)})"
        for kind in LOOKS
        for N, one in smallest(rows.get(kind, ())).items()
        if one.censored
    ]
    return paragraph(
        sweeps.costs(every),
        "A point is the mean over seeds of the fewest blocks tried whose loss comes within "
        f"{sweeps.THRESHOLD:g} of the least possible one; bars go from the minimum to the "
        "maximum. Triangles: some seed did not reach it in the steps of the protocol, up to the "
        "most blocks tried; such N are left out of the fits.",
        f"Not reached by every seed: {', '.join(missed)}." if missed else "",
        *(deeper(rows.get(kind, ()), kind) for kind in LOOKS),
        "Theorem 4.2 is about the worst labels of as many contexts; these may need fewer blocks.",
        sweeps.conflicts(every),
        "The paper's threshold is on the loss itself. It reports #blocks growing as sqrt(N) for "
        "N = 600 to 1400 and faster beyond; its points are published only as a picture and not "
        "drawn.",
        _constructed(rows),
        sweeps.DIFFERENCES,
    )


def _constructed(rows: RowsByLabel) -> str:
    """The size of the paper's own construction, from the smallest to the largest N."""
    found = [one.rows[0] for one in smallest(rows.get("trained", ())).values()]
    if not found:
        return ""
    low, high = (
        embedding_size(row["contexts"], sweeps.LENGTH, row["vocabulary"], row["outputs"]).parameters
        for row in (found[0], found[-1])
    )
    return (
        f"Theorem E.1's construction has {low:,} to {high:,} nonzero parameters apart from "
        f"the embedding; a block here, one before and one after attention, has {BLOCK}."
    )


KAJITSUKA_3 = Figure(
    name="kajitsuka-3",
    title="Fewest blocks that memorise N sequences of MultiNLI (n = 8)",
    paper="kajitsuka2025, Figure 3",
    data="mnli",
    parts=parts,
    draw=draw,
    caption=caption,
    fits=fits,
    size=(9.0, 4.8),
    labels=tuple(SEARCHED),
)
