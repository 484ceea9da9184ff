"""Figures 1 and 2 of kajitsuka2025: loss and accuracy during training, for several depths."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...data.dataset import Dataset
from ...lab.trial import Row
from ...machine.tables import plural
from ...pictures import INK
from .. import plotting
from ..data import Source
from ..figure import Figure, Part, RowsByLabel, Settings, Table, described, say, tabulated
from ..plotting import Axes, Picture
from . import sweeps
from .blocks import blocks
from .growth import embedded
from .setups import TABLE

WIDTH = 9.0
POINTS = 50  # per curve
SEEDS = {"trained": 3, "frozen": 3, "paper": 3}  # of each kind
TRIALS = 2  # of Optuna in the authors' protocol: "two trials of hyperparameter tuning"
QUICK_SEQUENCES, QUICK = 300, (1, 10, 20)
TITLES = {
    "trained": "embeddings trained",
    "frozen": "embeddings frozen",
    "paper": "the paper's protocol (AdamW, Optuna)",
}


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Two panels for each kind: loss and accuracy."""
    kinds = [kind for kind in sweeps.KINDS if rows.get(kind)]
    if not kinds:
        return
    picture.set_size_inches(WIDTH, 1.2 + 2.3 * len(kinds))
    panels = picture.subplots(len(kinds), 2, squeeze=False)
    depths = sorted({blocks(row) for kind in kinds for row in rows[kind]})
    for kind, (left, right) in zip(kinds, panels, strict=True):
        part = sorted(rows[kind], key=lambda row: (blocks(row), row["trial"]["seed"]))
        _draw_panel(left, part, 1, TITLES[kind], depths)
        _draw_panel(right, part, 2, "", depths)
    plotting.legend(panels[0, 1], loc="center right", title="#blocks", title_fontsize=9, ncols=2)


def table(rows: RowsByLabel) -> Table:
    """By kind and depth: the best training of all seeds, and the largest loss."""
    lines = []
    for kind in sweeps.KINDS:
        for depth in sorted({blocks(row) for row in rows.get(kind, ())}):
            some = [row for row in rows[kind] if blocks(row) == depth]
            best = least(some)
            loss, accuracy = (f"{best[1]:.3f}", f"{best[0]['accuracy']:.3f}") if best else ("", "")
            reached = f"{sum(row['reached'] for row in some)} of {len(some)}"
            known = sorted(
                row["loss"] / row["predictions"] for row in some if row["loss"] is not None
            )
            most = f"{known[-1]:.3f}" if len(known) == len(some) else "diverged"
            lines.append((kind, str(depth), loss, accuracy, most, reached))
    return tabulated("kajitsuka", lines)


def finding(rows: RowsByLabel) -> str:
    """The least loss of each kind, and what labels allow where they contradict each other."""
    every = [row for part in rows.values() for row in part]
    if not every:
        return ""
    best = {kind: least(rows.get(kind, ())) for kind in sweeps.KINDS}
    losses = [f"{k} {x[1]:.3f} with {plural(blocks(x[0]), 'block')}" for k, x in best.items() if x]
    row = max(every, key=lambda row: row["predictions"])
    limits = {"loss": row["entropy"] / row["predictions"], "best": row["best_accuracy"]}
    limits["accuracy"] = max(row["accuracy"] for row in every)
    limit = say("kajitsuka", "limited" if row["best_accuracy"] < 1 else "unlimited", **limits)
    few, many = (reached(rows, end) for end in (min, max))
    against = [
        f"{kind} reaches the criterion in {plural(few[kind], 'training')} with the fewest "
        f"blocks and in {many[kind]} with the most"
        for kind in few
        if few[kind] > many[kind]
    ]
    told = f" In the paper loss falls as blocks are added; here {'; '.join(against)}."
    told = (told if against else "") + embedded(rows.get("trained", ()))
    return f"The least mean loss is {', '.join(losses)}; {limit}.{told}"


def reached(rows: RowsByLabel, end: Callable[[set[int]], int]) -> dict[str, int]:
    """Of each kind, how many trainings of its smallest or largest depth reached the criterion."""
    return {
        kind: sum(row["reached"] for row in part if blocks(row) == end(set(map(blocks, part))))
        for kind, part in rows.items()
        if kind in sweeps.KINDS and part
    }


def least(rows: Sequence[Row]) -> tuple[Row, float] | None:
    """The row with the least loss, and its mean loss; None if all trainings diverged."""
    known = [row for row in rows if row["loss"] is not None]
    best = min(known, key=lambda row: row["loss"], default=None)
    return None if best is None else (best, best["loss"] / best["predictions"])


def points(row: Row) -> list[tuple[int, float, float]]:
    """Steps, mean loss and accuracy, up to the end of training; without losses that diverged."""
    end = (row["steps"], row["loss"], row["accuracy"])
    return [
        (step, loss / row["predictions"], accuracy)
        for step, loss, accuracy in (*row["curve"], end)
        if loss is not None and math.isfinite(loss)
    ]


def _draw_panel(
    axes: Axes, rows: Sequence[Row], column: int, title: str, depths: Sequence[int]
) -> None:
    """One curve per training, darker for deeper ones; column 1 is the loss, 2 the accuracy."""
    for row in rows:
        curve = points(row)
        x, y = ([point[i] for point in curve] for i in (0, column))
        label = str(blocks(row)) if row["trial"]["seed"] == 0 else None
        colour = shade(depths.index(blocks(row)) / max(1, len(depths) - 1))
        axes.plot(x, y, label=label, color=colour, linewidth=1.4)
    if column == 1:
        limit, name = rows[0]["entropy"] / rows[0]["predictions"], "least"
    else:
        limit, name = rows[0]["best_accuracy"], "best"
    axes.axhline(limit, color=INK, linewidth=1.1, linestyle=(0, (5, 3)))
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "size": 8, "ha": "right"}
    plotting.beside(axes, f"{name} possible {limit:.3f}", (0.98, limit), column == 2, 4, **place)
    plotting.finish(axes, title, "steps", "mean loss in nats" if column == 1 else "accuracy")
    axes.set_ylim(*((-0.18, 1.25) if column == 1 else (0.28, 1.06)))


def shade(place: float) -> tuple[float, float, float]:
    """From orange for the shallowest to dark blue for the deepest."""
    channels = ((0.91, 0.36, 0.09), (0.60, 0.58, 0.20), (0.25, 0.75, 0.38))
    red, green, blue = (float(np.interp(place, (0, 0.5, 1), channel)) for channel in channels)
    return red, green, blue


def figure(name: str, load: Callable[[Source, int], Dataset]) -> Figure:
    """Training curves of the first sequences of a dataset, by kind of part and depth."""
    sequences, depths_by_kind = (TABLE["curves"][name][key] for key in ("sequences", "depths"))

    def parts(settings: Settings) -> list[Part]:
        """One training of every depth, by each kind of protocol."""
        dataset = load(settings.data, QUICK_SEQUENCES if settings.quick else sequences)
        parts = []
        for kind, depths in ({"trained": QUICK} if settings.quick else depths_by_kind).items():
            how = sweeps.protocol_of(kind, POINTS, trials=TRIALS)
            seeds = settings.repeats(1 if settings.quick else SEEDS[kind])
            parts.append(sweeps.part(kind, dataset, (("layers", tuple(depths)),), how, seeds))
        return parts

    return described(name, tuple(depths_by_kind), parts, draw, table, finding)


KAJITSUKA_1 = figure("kajitsuka-1", sweeps.multinli)
KAJITSUKA_2 = figure("kajitsuka-2", sweeps.imdb)
