"""The second experiment of madden2024's repository: only the feed-forward part is trained.

Embeddings and attention keep their random start, as in the algorithm after Theorem 5: m neurons
then store any distributions of m contexts. Trained is hidden and output layer, m (d + 1) +
omega (m + 1) parameters. The smallest m is searched seed by seed.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ...lab.protocol import protocol
from ...lab.sweeps.results import Smallest
from ...lab.sweeps.sweep import SEQUENCES, Sweep
from ...lab.trial import Row
from ...theory.madden2024.capacity import lemma_1_parameters
from .. import data, plotting
from ..figure import Part, RowsByLabel, Settings, Table, described, make_part, say, seeds, tabulated
from ..fits import Fit, curve, polynomial
from ..plotting import Picture
from ..published import column, read
from . import cells

DIMENSION = 16
STORIES: tuple[int, ...] = (100, 200, 400, 700, 1000)
NEURONS: tuple[int, ...] = (12, 16, 24, 40, 64, 96, 128)
SEEDS = 3
ORIENTATION = (100, 32)  # stories and neurons that the authors' protocol is run on
FROZEN = (
    "embedding.weight",
    *(f"attention.{x}.{y}" for x in ("query", "key", "value", "out") for y in ("weight", "bias")),
)


def parts(settings: Settings) -> list[Part]:
    """The search for the smallest m, and one cell by the authors' protocol."""
    stories = STORIES[:2] if settings.quick else STORIES
    dataset = cells.predictions(data.stories(settings.data), max(stories))
    parts, wanted = [], [(cells.FAST, stories, NEURONS, 1 if settings.quick else SEEDS)]
    if not settings.quick:
        wanted.append((cells.PAPERS, ORIENTATION[:1], ORIENTATION[1:], 1))
    for name, counts, neurons, repeats in wanted:
        axes = ((SEQUENCES, tuple(n * cells.PREDICTED for n in counts)), ("neurons", neurons))
        how = replace(protocol("madden2024", name), frozen=FROZEN)
        rest = (how, cells.CRITERION, settings.repeats(repeats), name == cells.FAST)
        sweep = Sweep("madden2024", {"dimension": DIMENSION}, axes, {}, *rest)
        parts.append(make_part(name, dataset, sweep))
    return parts


def neurons(each: Smallest) -> list[int]:
    return sorted(cells.place(row)[1] for row in each.reached)


def is_least(each: Smallest, best: Row) -> bool:
    """Whether the size below the smallest m was tried and did not memorise."""
    smaller = [m for m in NEURONS if m < cells.place(best)[1]]
    return not smaller or smaller[-1] in {cells.place(x)[1] for x in each.rows if not x["reached"]}


def bracket(each: Smallest, seed: int) -> str:
    """The smallest m of this seed, and the largest below it that was tried in vain."""
    best = each.by_seed[seed]
    sizes = [cells.place(row)[1] for row in each.rows if row["trial"]["seed"] == seed]
    if best is None:
        return f"not with {max(sizes)}"
    below = max((m for m in sizes if m < cells.place(best)[1]), default=None)
    return f"{cells.place(best)[1]}" + ("" if below is None else f" (not {below})")


def trained(m: int, vocabulary: int) -> int:
    """The parameters of the hidden and the output layer."""
    return m * (DIMENSION + 1) + vocabulary * (m + 1)


def needed(contexts: int, vocabulary: int) -> int:
    """The least m with as many trained parameters as Lemma 1 needs for any distributions."""
    missing = lemma_1_parameters(contexts, vocabulary) - trained(0, vocabulary)
    return -(-missing // (trained(1, vocabulary) - trained(0, vocabulary)))


def fits(rows: RowsByLabel) -> list[Fit]:
    """Lines through the smallest m over contexts, ours (any seed counts) and published."""
    found = cells.smallest(rows).values()
    best = [row for each in found if (row := each.best) and is_least(each, row)]
    table = read("madden-2-smallest")
    ours = [row["contexts"] for row in best], [cells.place(row)[1] for row in best]
    theirs = column(table, "contexts"), column(table, "neurons")
    return [
        polynomial(f"neurons, {whose}", n, m, 1)
        for whose, (n, m) in (("ours", ours), ("published", theirs))
        if len(set(n)) > 1
    ]


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Above the gaps, below the smallest m over contexts, with bounds for any distributions."""
    halves: Any = picture.subfigures(2, 1, height_ratios=(1.12, 1))
    cells.draw_gaps(halves[0], rows, "madden-2")
    axes = halves[1].subplots()
    table, found = read("madden-2-smallest"), cells.smallest(rows)
    axes.set_yscale("log")
    n, m = column(table, "contexts"), column(table, "neurons")
    plotting.published(axes, n, m, "published, powers of two, one training each")
    reached = {
        each.rows[0]["contexts"]: (min(sizes), min(sizes), max(sizes))
        for each in found.values()
        if (sizes := neurons(each))
    }
    if reached:
        repeats = seeds([row for each in found.values() for row in each.rows])
        plotting.ours(axes, reached, f"ours, least of {repeats}; bars to the largest")
    if out := [each.largest for each in found.values() if not each.reached]:
        tried = [row["contexts"] for row in out], [cells.place(row)[1] for row in out]
        plotting.not_reached(axes, *tried, "not reached by any m tried")
    span = np.linspace(min(n), max(n), 50)
    for fit in fits(rows):
        law = f"{fit.coefficients[1]:.4f} n + {fit.coefficients[0]:.1f}"
        colour = plotting.OURS if "ours" in fit.name else plotting.PUBLISHED
        plotting.fitted(axes, span, curve(fit, span), law.replace("+ -", "- "), colour)
    least = [needed(int(row["contexts"]), int(row["vocabulary"])) for row in table]
    plotting.bound(axes, n, n, "Theorem 5: m = n store any distributions of n contexts")
    plotting.bound(axes, n, least, "Lemma 1: fewer fail for some distributions", 3, above=False)
    axes.set_ylim(top=2.5 * max(n))
    plotting.finish(axes, "Smallest feed-forward part that memorises", "contexts n", "neurons m")
    plotting.legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)


def table(rows: RowsByLabel) -> Table:
    """By stories: contexts and smallest m, ours and published, and what the bounds say for ours."""
    theirs = {int(row["stories"]): row for row in read("madden-2-smallest")}
    lines = []
    for stories, each in cells.smallest(rows).items():
        row, known = each.rows[0], theirs[stories]
        contexts, words = row["contexts"], row["vocabulary"]
        least = f"{trained(min(found), words):,}" if (found := neurons(each)) else ""
        listed = ", ".join(bracket(each, seed) for seed in sorted(each.by_seed))
        bounds = f"{needed(contexts, words):,} to {contexts:,}"
        published = f"{known['contexts']:,}", str(known["neurons"])
        lines.append((str(stories), f"{contexts:,}", listed, least, bounds, *published))
    return tabulated("madden-2", lines)


def finding(rows: RowsByLabel) -> str:
    """The least m beside the contexts, for the fewest and the most stories."""
    found = {stories: each for stories, each in cells.smallest(rows).items() if each.best}
    if not found:
        return ""
    said = []
    for stories in sorted({min(found), max(found)}):
        best = found[stories].best
        assert best is not None
        least = bracket(found[stories], best["trial"]["seed"])
        said.append(f"{least} for the {best['contexts']:,} contexts of {stories:,} stories")
    theirs = [int(m) for m in column(read("madden-2-smallest"), "neurons")]
    known = cells.published("madden-2")
    ends = [
        f"m = {at[1]} ends {cell.gap:.3g} nats above the entropy (published {known[at]:.3g})"
        for at, cell in cells.by_place(rows.get(cells.PAPERS, ())).items()
        if cell.gap is not None
    ]
    more = f" By the authors' protocol here, of 100 stories, {' and '.join(ends)}." if ends else ""
    published = {"least": min(theirs), "most": max(theirs)}
    return say("madden-2", ours=" and ".join(said), **published) + more


MADDEN_2 = described("madden-2", (cells.FAST, cells.PAPERS), parts, draw, table, finding, fits)
