"""Training steps against plain PyTorch: the same loss at less CPU time and memory.

The baseline (benchmarks/plain_torch) is the authors' training, written as well as plain PyTorch
allows. Both sides have one thread and float32, start with the same weights and take the same steps;
their losses must agree over the first 20. Then rounds of both alternate in one process, and the
median CPU time of a step counts. A ratio is the baseline's time over ours, that of a group the
ratio of sums over its cells. For batches, what we prepare for a batch is part of our time, as often
as the protocol has it. Memory is the largest resident set during three steps above that with the
data alone, in a process of its own for each side.

PyTorch gives large tensors back to the system at every step and gets them again page by page. The
Madden-type cells are therefore measured a second time, in a process whose malloc was told to keep
memory ("memory kept"): no line of the baseline can say that, but its user could.

Data: TinyStories and MultiNLI from ../shared/data, or random data where they are missing.
"""

import ctypes
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import numpy as np
import torch

from .counting import memory
from .report import Options, machine, table
from .training_cells import Cell, Ours, Training, data, pairs_of, sides

AGREEMENT = 1e-4  # how far apart losses may be, relatively
STEPS = 20  # whose losses are compared
ROUNDS, SECONDS = 5, 0.2  # rounds of each side, and how long one lasts if a step is short
GOALS = {"madden2024": 5.0, "dana2024 script": 3.0, "dana2024 paper": 3.0, "kajitsuka2025": 3.0}
GROWTH = (10, 100, 1000)  # stories
DANA = {"paper": 10, "script": 64}  # how often each protocol uses a batch


def groups(tiny: bool) -> dict[str, list[Cell]]:
    """The cells by the name of their group."""
    stories, neurons = (100, 300, 500, 1000), (4, 16, 32, 128, 512)
    heads, blocks, sentences = (1, 11, 21, 31), (1, 10, 50), 2000
    if tiny:
        stories, neurons, heads, blocks, sentences = (5,), (2,), (1, 2), (1,), 10
    cells = {"madden2024": [madden(n, m) for n in stories for m in neurons]}
    for protocol, uses in DANA.items():
        cells[f"dana2024 {protocol}"] = [attention_only(h, protocol, uses) for h in heads]
    for protocol, uses in DANA.items():
        cells[f"dana2024-mlp {protocol}"] = [
            neurons_after(20 * (h - 1), protocol, uses) for h in heads if h > 1
        ]
    cells["kajitsuka2025"] = [Cell("kajitsuka2025", {"layers": n}, sentences) for n in blocks]
    return cells


def madden(stories: int, neurons: int) -> Cell:
    return Cell("madden2024", {"neurons": neurons}, stories)


def attention_only(heads: int, protocol: str, uses: int) -> Cell:
    sizes = {"dimension": 10, "heads": heads, "head_dimension": 10}
    return Cell("dana2024", sizes, 50, protocol, uses)


def neurons_after(width: int, protocol: str, uses: int) -> Cell:
    return Cell("dana2024-mlp", {"dimension": 10, "width": width}, 50, protocol, uses)


def agreement(cell: Cell, steps: int = STEPS) -> float:
    """The largest relative difference of the losses of the first steps."""
    both = sides(cell, pairs_of(cell, 4, np.random.default_rng(1)))
    losses = [(float(ours), float(plain)) for ours, plain in taken(both, steps)]
    return max(abs(ours - plain) / abs(plain) for ours, plain in losses)


def taken(both: tuple[Ours, Training], steps: int) -> Iterator[tuple]:
    return ((both[0].step(), both[1].step()) for _ in range(steps))


def measured(cell: Cell, rounds: int = ROUNDS, seconds: float = SECONDS) -> dict:
    """Milliseconds of CPU time a step on either side, and how far their losses are apart."""
    difference = agreement(cell)
    random = np.random.default_rng(2)
    both = sides(cell, pairs_of(cell, 1, random))
    number = [batches_in_a_round(cell, side.step, seconds) for side in both]
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for place, side in enumerate(both):
            pairs = pairs_of(cell, number[place], random)
            steps = number[place] * (cell.uses or 1)
            side.batches = cycle([pair[place] for pair in pairs])
            spent[place].append(timed(side.step, steps))
    ours, plain = (1000 * float(np.median(one)) for one in spent)
    return described(cell) | {
        "ours": ours,
        "plain": plain,
        "ratio": plain / ours,
        "difference": difference,
        "rounds": [[1000 * x for x in one] for one in spent],
    }


def batches_in_a_round(cell: Cell, step: Callable[[], object], seconds: float) -> int:
    """So many that a round is long enough for the clock; after what is done only once."""
    timed(step, 2)
    least = seconds / timed(step, 3)
    return max(1, round(least / (cell.uses or 1)))


def timed(step: Callable[[], object], steps: int) -> float:
    """Seconds of CPU time a step."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def described(cell: Cell) -> dict:
    problem = data(cell)[0]
    return {
        "rows": cell.rows,
        **cell.sizes,
        "protocol": cell.protocol,
        "predictions": problem.predictions,
        "contexts": len(problem),
        "vocabulary": problem.vocabulary,
    }


def summed(group: str, rows: list[dict]) -> dict:
    """A group of cells, with the ratio of the sums."""
    ours, plain = (sum(row[side] for row in rows) for side in ("ours", "plain"))
    largest = max(row["difference"] for row in rows)
    return {
        "group": group,
        "ours": ours,
        "plain": plain,
        "ratio": plain / ours,
        "goal": GOALS.get(group),
        "difference": largest,
        "cells": rows,
    }


@contextmanager
def training_arithmetic() -> Iterator[None]:
    """One thread and no subnormal numbers, as in the lab; numbers are as before afterwards."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@training_arithmetic()
def grouped(name: str, tiny: bool = False, keep: bool = False) -> dict:
    """A group of cells; with a malloc that keeps memory instead of giving it back, if asked."""
    if keep:
        library = ctypes.CDLL("libc.so.6")
        trim, mmap = -1, -3  # malloc.h: the thresholds
        assert library.mallopt(mmap, 1 << 30) and library.mallopt(trim, 2**31 - 1)
    rows = []
    for cell in groups(tiny)[name]:
        rows.append(measured(cell, 1, 0) if tiny else measured(cell))
        print(json.dumps(rows[-1]), flush=True)
    return summed(f"{name}, memory kept" if keep else name, rows)


def grown(options: Options, stories: int, neurons: int = 32) -> dict:
    """Time of a step and peak memory."""
    row = measured(madden(stories, neurons))
    for place, side in enumerate(("ours", "plain")):
        row[f"{side}_megabytes"] = options.apart(peak, stories, neurons, place)
    return row


@training_arithmetic()
def peak(stories: int, neurons: int, place: int) -> float:
    """Megabytes that a model, its optimiser and three steps need on top of the data."""
    for count in (2, stories):  # the first only loads what either size needs
        cell = madden(count, neurons)
        pairs = pairs_of(cell, 1, np.random.default_rng(0))
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # no free memory that would go unseen
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM is now VmRSS
        before = memory("VmRSS")
        timed(sides(cell, pairs)[place].step, 3)
    return (memory("VmHWM") - before) / 1e6


def measure(options: Options) -> dict:
    results = []
    for name in groups(options.tiny):
        results.append(options.apart(grouped, name, options.tiny, threads=1))
        if name == "madden2024" and not options.tiny:
            results.append(options.apart(grouped, name, False, True, threads=1))
    growth = [options.apart(grown, options, n, threads=1) for n in options.sizes(GROWTH, ())]
    return {"machine": machine(), "load": os.getloadavg(), "groups": results, "growth": growth}


def markdown(results: dict) -> str:
    body, names = [], ("rows", "neurons", "heads", "width", "layers")
    for group in results["groups"]:
        for row in group["cells"]:
            sizes = ", ".join(f"{name} {row[name]}" for name in names if name in row)
            body.append(
                (group["group"], sizes, row["contexts"], f"{row['plain']:.2f}",
                 f"{row['ours']:.2f}", f"{row['ratio']:.1f}", f"{row['difference']:.0e}")
            )  # fmt: skip
        goal = f" (goal {group['goal']:g})" if group["goal"] else ""
        body.append(
            (f"**{group['group']}**", "sum", "", f"{group['plain']:.1f}", f"{group['ours']:.1f}",
             f"**{group['ratio']:.1f}**{goal}", f"{group['difference']:.0e}")
        )  # fmt: skip
    heads = ("group", "cell", "contexts", "plain PyTorch, ms", "ours, ms", "ratio",
             "losses differ by")  # fmt: skip
    grown = ("stories", "contexts", "plain, ms", "ours, ms", "ratio", "plain, MB", "ours, MB")
    growth = [
        (row["rows"], row["contexts"], f"{row['plain']:.2f}", f"{row['ours']:.2f}",
         f"{row['ratio']:.1f}", f"{row['plain_megabytes']:.1f}", f"{row['ours_megabytes']:.1f}")
        for row in results["growth"]
    ]  # fmt: skip
    return f"{table(heads, body)}\n\n{table(grown, growth)}"


def missed(results: dict) -> list[str]:
    lines = []
    for group in results["groups"]:
        if group["goal"] and group["ratio"] < group["goal"]:
            lines.append(f"{group['group']}: x{group['ratio']:.2f}, goal x{group['goal']:g}")
        if group["difference"] > AGREEMENT:
            lines.append(f"{group['group']}: losses differ by {group['difference']:.1e}")
    return lines
