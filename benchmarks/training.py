"""Training steps against plain PyTorch: the same loss at less CPU time and memory.

    python benchmarks/training.py [--quick] [--group NAME] [--write]

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

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # this folder has a module that the standard library has too

import numpy as np  # noqa: E402
import torch  # noqa: E402

from benchmarks import training_cells as cells  # noqa: E402
from benchmarks.training_cells import Cell, Ours, Training, pairs_of, sides  # noqa: E402
from benchmarks.training_report import line, markdown, missed  # noqa: E402

STEPS = 20  # whose losses are compared
ROUNDS, SECONDS = 5, 0.2  # rounds of each side, and how long one lasts if a step is short
GOALS = {"madden2024": 5.0, "dana2024 script": 3.0, "dana2024 paper": 3.0, "kajitsuka2025": 3.0}
GROWTH = (10, 100, 1000)  # stories
DANA = {"paper": 10, "script": 64}  # how often each protocol uses a batch


def groups(quick: bool) -> dict[str, list[Cell]]:
    """The cells by the name of their group."""
    stories, neurons = (100, 300, 500, 1000), (4, 16, 32, 128, 512)
    heads, blocks = (1, 11, 21, 31), (1, 10, 50)
    if quick:
        stories, neurons, heads, blocks = (100, 500), (16, 128), (1, 21), (10,)
    found = {"madden2024": [madden(n, m) for n in stories for m in neurons]}
    for protocol, uses in DANA.items():
        found[f"dana2024 {protocol}"] = [attention_only(h, protocol, uses) for h in heads]
    for protocol, uses in DANA.items():
        found[f"dana2024-mlp {protocol}"] = [
            neurons_after(20 * (h - 1), protocol, uses) for h in heads if h > 1
        ]
    found["kajitsuka2025"] = [Cell("kajitsuka2025", {"layers": n}, 2000) for n in blocks]
    return found


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


def measure(cell: Cell, rounds: int = ROUNDS) -> dict:
    """Milliseconds of CPU time a step on either side, and how far their losses are apart."""
    difference = agreement(cell)
    random = np.random.default_rng(2)
    both = sides(cell, pairs_of(cell, 1, random))
    number = [batches_in_a_round(cell, side.step) for side in both]
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


def batches_in_a_round(cell: Cell, step: Callable[[], object]) -> int:
    """So many that a round is long enough for the clock; after what is done only once."""
    timed(step, 2)
    least = SECONDS / timed(step, 3)
    return max(1, round(least / (cell.uses or 1)))


def timed(step: Callable[[], object], steps: int) -> float:
    """Seconds of CPU time a step."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def described(cell: Cell) -> dict:
    problem = cells.data(cell)[0]
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


def growth(neurons: int = 32) -> list[dict]:
    """Time of a step and peak memory, from 10 stories to 1000."""
    table = []
    for stories in GROWTH:
        row = measure(madden(stories, neurons))
        for place, side in enumerate(("ours", "plain")):
            row[f"{side}_megabytes"] = apart("--peak", json.dumps([stories, neurons, place]))
        table.append(row)
    return table


def apart(*arguments: str):
    """What this program prints for other arguments, in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def kept(group: str, quick: bool) -> dict:
    """A group again, with a malloc that keeps memory instead of giving it back to the system."""
    library = ctypes.CDLL("libc.so.6")
    trim_threshold, mmap_threshold = -1, -3  # malloc.h
    assert library.mallopt(mmap_threshold, 1 << 30) and library.mallopt(trim_threshold, 2**31 - 1)
    rows = [measure(cell) for cell in groups(quick)[group]]
    return summed(f"{group}, memory kept", rows)


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


def memory(name: str) -> int:
    """Bytes of this process: VmRSS, in memory now, or VmHWM, when there were most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def machine() -> dict:
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "load": os.getloadavg(),
        "stories": "TinyStories" if cells.STORIES.exists() else "random",
        "sentences": "MultiNLI" if cells.SENTENCES.exists() else "random",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few cells, in half a minute")
    parser.add_argument("--group", help="only groups whose name begins like this")
    parser.add_argument("--write", action="store_true", help="write training.json")
    parser.add_argument("--peak", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--kept", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write and (options.quick or options.group):
        parser.error("--write is for the whole benchmark")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if options.peak:
        print(json.dumps(peak(*options.peak)))
    elif options.kept:
        print(json.dumps(kept(options.kept, options.quick)))
    else:
        report(options)


def report(options: argparse.Namespace) -> None:
    facts, results = machine(), []
    for name, group in groups(options.quick).items():
        if name.startswith(options.group or ""):
            rows = []
            for cell in group:
                rows.append(measure(cell, 3 if options.quick else ROUNDS))
                print(line(name, rows[-1]), flush=True)
            results.append(summed(name, rows))
            if name == "madden2024" and not options.quick:
                results.append(apart("--kept", name))
    grown = [] if options.quick or options.group else growth()
    print(f"\n{markdown(results, grown)}\n\n{json.dumps(facts)}")
    if options.write:
        whole = {**facts, "load_after": os.getloadavg(), "groups": results, "growth": grown}
        (ROOT / "benchmarks/training.json").write_text(json.dumps(whole, indent=1) + "\n")
    if found := missed(results, options.quick):
        sys.exit("not reached: " + "; ".join(found))


if __name__ == "__main__":
    main()
