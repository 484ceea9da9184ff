"""Capacity of LoRA adapters in bits per parameter, beside that of the whole model.

Adapters of several ranks are trained on uniform random tokens, on top of a fixed small GPT-2 that
holds other random sequences; the whole model of the same size is trained as in morris-capacity.
"""

from dataclasses import replace
from statistics import median

from ..data.generate import uniform
from ..lab.protocol import protocol
from ..lab.sweeps.sweep import SEQUENCES, Sweep
from ..lab.trial import Criterion
from . import morris, plotting
from .figure import Part, RowsByLabel, Settings, Table, described, make_part, say, tabulated
from .morris import Trained
from .plotting import Picture

DIMENSION, RANKS = 16, (1, 2, 4)
COUNTS = (8, 12)  # sequences for each rank: 3 and 4.5 bits per parameter of the adapter
FULL = f"d{DIMENSION}-n216"  # of morris-capacity: the whole model


def parts(settings: Settings) -> list[Part]:
    """A sweep for each rank, by the protocol fast; and the whole model on its most sequences."""
    dataset = uniform(COUNTS[-1] * RANKS[-1], morris.LENGTH, morris.VOCABULARY)
    fast = protocol("gpt2-lora", "fast")
    plateau = Criterion("plateau", morris.ENOUGH)
    if settings.quick:
        short = (replace(x, steps=x.steps // 32) for x in fast.attempts)
        fast = replace(fast, attempts=tuple(short))
    found = []
    for rank in RANKS:
        sizes = {"layers": morris.LAYERS, "dimension": DIMENSION, "heads": morris.HEADS}
        counts = ((SEQUENCES, tuple(rank * n for n in COUNTS)),)
        how = fast, plateau, settings.repeats(3)
        sweep = Sweep("gpt2-lora", {**sizes, "rank": rank}, counts, {}, *how)
        found.append(make_part(f"r{rank}", dataset, sweep))
    return found + [x for x in morris.parts(settings) if x.label == FULL]


def points(rows: RowsByLabel) -> list[tuple[int, Trained]]:
    """By rank, 0 for the whole model, and then by sequences."""
    every = []
    for part in rows.values():
        for count in sorted({row["trial"]["data"]["sequences"] for row in part}):
            some = [row for row in part if row["trial"]["data"]["sequences"] == count]
            rank = some[0]["trial"]["sizes"].get("rank", 0)
            every += [(rank, one) for one in morris.trained({"": some})]
    return sorted(every, key=lambda x: (x[0], x[1].sequences))


def draw(rows: RowsByLabel, picture: Picture) -> None:
    """Bits per trained parameter over their number: adapters, and the whole model."""
    axes = picture.subplots()
    every = points(rows)
    for rank, one in every:
        middle, low, high = one.spread
        words = "all parameters" if not rank else f"rank {rank}"
        colour = plotting.OURS if rank else plotting.PUBLISHED
        ends = [[middle - low], [high - middle]]
        axes.errorbar([one.parameters], [middle], ends, fmt="o", color=colour, capsize=2.5)
        if one.sequences != COUNTS[0] * rank:
            side = "left" if rank else "right"
            plotting.beside(axes, words, (one.parameters, high), True, size=8.5, ha=side)
    axes.set_xscale("log", base=2)
    ticks = sorted({one.parameters for _, one in every})
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
    axes.set_ylim(0, 1.25 * max([one.spread[2] for _, one in every], default=1))
    title = f"GPT-2 of dimension {DIMENSION} with {morris.LAYERS} layers"
    plotting.finish(axes, title, "trained parameters", "bits memorised per trained parameter")


def table(rows: RowsByLabel) -> Table:
    """Bits per trained parameter of each rank and number of sequences."""
    lines = []
    for rank, one in points(rows):
        spread = f"{one.middle:.2f} ({min(one.bits):.2f} to {max(one.bits):.2f})"
        settled = f"{one.settled} of {len(one.bits)}"
        steps = ", ".join(f"{median(one.at(x)):.2f} with {x:,}" for x in one.steps)
        sizes = f"{one.parameters:,}", f"{one.sequences:,}", f"{one.offered:.2f}"
        lines.append((str(rank or "all parameters"), *sizes, spread, settled, steps))
    return tabulated("lora-capacity", lines)


def finding(rows: RowsByLabel) -> str:
    """The most bits per parameter of each rank, and of the whole model."""
    most: dict[int, float] = {}
    for rank, one in points(rows):
        most[rank] = max(one.middle, most.get(rank, one.middle))
    adapters = [f"{bits:.2f} at rank {rank}" for rank, bits in most.items() if rank]
    if not adapters:
        return ""
    whole = f" The whole model holds {most[0]:.2f} in each of its own." if 0 in most else ""
    return say("lora-capacity", adapters=", ".join(adapters)) + whole


LABELS = (*(f"r{rank}" for rank in RANKS), FULL)
LORA_CAPACITY = described("lora-capacity", LABELS, parts, draw, table, finding)
