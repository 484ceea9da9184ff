"""Width against depth: networks of the family of hash-fold-retrieve for the same data.

The width is that of kajitsuka2025, the largest of lanes, hidden units of a block and rows of W_V.
Of the plans with at most so many lanes, the one whose network is the shallowest is built; blocks
with more hidden units are written as several. Every network is proved on all sequences.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import byheart
from byheart.api.configure import configured, prepare, with_positions
from byheart.constructions.retrieval.build import Unlimited, network_of, posed
from byheart.constructions.retrieval.folds import FoldPlan
from byheart.constructions.retrieval.plan import needed
from byheart.constructions.retrieval.problem import Task
from byheart.constructions.retrieval.search import Needs, search
from byheart.constructions.retrieval.tables import cost
from byheart.data.generate import random
from byheart.exact.codeword import encoded_bits
from byheart.exact.network import FeedForward, Matrix, Network, matrix
from byheart.machine.watch import SILENT
from byheart.models.verification import verify
from byheart.pictures import BLUE, GREEN, GREY, INK, ORANGE, canvas, entitle, legend, ticks, write

from .report import ROOT, Options, facts, machine, table

SEQUENCES = 100_000
WIDTHS = (3, 4, 6, 8, 12, 16, 24, 32, 64, 128)


def narrowed(network: Network, most: int) -> Network:
    """The same function and the same nonzero parameters, with at most so many units in a block.

    A block is cut where no unit reads a lane that an earlier part of it has changed: units that
    write to lanes which others read come last. A block that cannot be cut so stays as it is.
    """
    layers: list[Any] = []
    for layer in network.layers:
        layers += cut(layer, most) if isinstance(layer, FeedForward) else [layer]
    return replace(network, layers=tuple(layers))


def cut(block: FeedForward, most: int) -> list[FeedForward]:
    hidden, lanes = block.W1.rows, block.W1.columns
    if hidden <= most:
        return [block]
    read = {entry.column for entry in block.W1.entries}
    late = {entry.column for entry in block.W2.entries if entry.row in read}
    order = sorted(range(hidden), key=lambda unit: unit in late)
    first = hidden % most or most  # units of the first part, so that the last one is full
    ends = [0, *range(first, hidden + 1, most)]
    if len(late) > most:
        return [block]

    def part(units: list[int], last: bool) -> FeedForward:
        place = {unit: i for i, unit in enumerate(units)}
        W1, b1, W2 = block.W1.entries, block.b1.entries, block.W2.entries
        return FeedForward(
            _chosen(len(units), lanes, [(place.get(r), c, x) for r, c, x in W1]),
            _chosen(len(units), 1, [(place.get(r), c, x) for r, c, x in b1]),
            _chosen(lanes, len(units), [(r, place.get(c), x) for r, c, x in W2]),
            block.b2 if last else matrix(lanes, 1, {}),
            block.stage,
        )

    pieces = list(zip(ends, ends[1:], strict=False))
    return [part(order[a:b], b == hidden) for a, b in pieces]


def _chosen(rows: int, columns: int, entries: list) -> Matrix:
    values = {(r, c): x.fraction for r, c, x in entries if r is not None and c is not None}
    return matrix(rows, columns, values)


@dataclass(frozen=True)
class Shallow(Unlimited):
    """Of all plans with at most so many lanes, the one with the fewest blocks comes first."""

    most: int = 3

    def plans(self, task: Task, objective: str, needs: Needs) -> tuple[FoldPlan, ...]:
        return tuple(plan for _, plan in ranked(task, needs, self.most))


def ranked(task: Task, needs: Needs, most: int) -> list[tuple[int, FoldPlan]]:
    """The depth of every plan of at most so many lanes, and the plan; the shallowest first."""
    found = []
    for plan in dict.fromkeys(_offered(task, needs)):
        numbers = needed(task, plan.columns, needs.spare, needs.slack)
        told = cost(plan, task, plan.used(numbers))
        if told.width <= most:
            cuts = sum(-(-(rows - 1) // most) - 1 for rows in plan.tables)
            found.append((told.depth + cuts, told.nonzero, plan))
    return [(depth, plan) for depth, _, plan in sorted(found, key=lambda x: x[:2])]


def _offered(task: Task, needs: Needs) -> Iterator[FoldPlan]:
    for objective in ("nonzero", "dense"):
        yield from Unlimited().plans(task, objective, needs)


def measure(options: Options) -> dict:
    sequences = options.sizes((SEQUENCES,), (6000,))[0]
    dataset = random(sequences)
    construction = with_positions(configured("hash-fold-retrieve", None, 0, {}), dataset)
    prepared, grouped = prepare(construction, dataset, "refuse")
    spec, _, problem = posed(prepared, grouped, construction)
    assert problem is not None
    smallest = byheart.compile(dataset)
    rows = [compiled(sequences, "dense"), compiled(sequences, "nonzero")]
    for most in WIDTHS[:2] if options.tiny else WIDTHS:
        started = time.process_time()
        found = search(problem, Shallow(most=most), "nonzero", 0, SILENT)
        assert found is not None, f"no network of width {most}"
        shape = spec, False, construction, problem, found.hashed, found.storage
        network = narrowed(network_of(*shape, len(smallest.claim.labels))[0], most)
        row = proved(replace(smallest, network=network), dataset, started)
        rows.append(row | {"network": "shallowest"})
    return {"machine": machine(), "sequences": sequences, "rows": rows}


def compiled(sequences: int, objective: str, seed: int = 0) -> dict:
    """The network of `--minimise`, its blocks cut to the number of its lanes.

    `whole` is the network as `compile` writes it, with its widest block.
    """
    started = time.process_time()
    dataset = random(sequences, seed=seed)
    model = byheart.compile(dataset, minimise=objective)
    whole = {name: facts(model)[name] for name in ("dense", "depth", "longest", "encoded")}
    whole |= {"width": model.network.breadth}
    model = replace(model, network=narrowed(model.network, model.network.width))
    row = proved(model, dataset, started) | {"whole": whole}
    same = row["dense"] == whole["dense"]
    return row | {"network": f"`--minimise {objective}`" + ("" if same else ", cut")}


def proved(model: byheart.Model, dataset: byheart.Dataset, started: float) -> dict:
    """The numbers of a network, after it was verified on all of the data."""
    verification = verify(model, dataset)
    assert verification.evidence == "proved" and verification.checked == len(dataset)
    row = facts(replace(model, record=replace(model.record, verification=verification)))
    # the record has the code word of the network before its blocks were cut
    row["encoded"] = encoded_bits(model.network) / model.bits.information
    row |= {"width": model.network.breadth, "cpu": time.process_time() - started}
    print(row, flush=True)
    return row


def markdown(results: dict) -> str:
    root = math.sqrt(results["rows"][0]["contexts"])
    return table(
        ("network", "width", "depth", "width x depth / sqrt(I)", "nonzero parameters", "dense",
         "longest parameter, bits"),
        [
            (x["network"], x["width"], x["depth"], f"{x['width'] * x['depth'] / root:.1f}",
             x["nonzero"], x["dense"], x["longest"])
            for x in results["rows"]
        ],
    )  # fmt: skip


def publish(results: dict) -> None:
    write(draw, results, ROOT / "docs" / "width-depth.svg")


def draw(results: dict) -> Any:
    """The networks, and the curve on which width times depth is that of the narrowest one."""
    figure, axes = canvas(6.4, 4.2, "log")
    *named, narrowest = results["rows"][:3]
    rows = [narrowest, *results["rows"][3:]]
    widths, depths = [row["width"] for row in rows], [row["depth"] for row in rows]
    constant = [widths[0] * depths[0] / x for x in widths]
    axes.plot(widths, constant, "--", color=GREY, label="width x depth of the narrowest one")
    axes.plot(widths, depths, "o-", color=BLUE, label="shallowest network (nonzero parameters)")
    for row, colour in zip(named, (GREEN, ORANGE), strict=True):
        look = {"color": colour, "label": row["network"].replace("`", "")}
        axes.plot(row["width"], row["depth"], "s", **look)
    for row in results["rows"]:
        place, above = (row["width"], row["depth"]), 13 if row in named else 5
        look = {"textcoords": "offset points", "size": 8, "color": INK}
        axes.annotate(f"{row['nonzero']:,}", place, (3, above), **look)
    axes.set_ylim(8, 800)
    entitle(axes, f"{results['sequences']:,} random sequences", "width", "depth")
    ticks(axes.xaxis, widths)
    ticks(axes.yaxis, [10, 20, 50, 100, 200, 500])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0f}")
    legend(figure, 2, 9)
    return figure
