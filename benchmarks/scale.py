"""How hash-fold-retrieve grows: CPU seconds of every stage from 10^5 to 3 x 10^7 sequences.

    python benchmarks/scale.py [--largest 1000000] [--smallest 100000] [--write]

Seconds are process time on one machine; the exponents between rows and the ratios against the
elimination that this solver replaced, measured in the same run, mean more. Every network is
verified on every sequence, each size in a process of its own. 10^7 sequences take three minutes and
3 GiB. Rows of other sizes that were measured before are kept.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
from numba import njit, uint64

import byheart
from byheart.constructions.hash_fold_retrieve import build, two_blocks
from byheart.constructions.hash_fold_retrieve.layout import FoldLayout, FoldPlan
from byheart.constructions.retrieval import search
from byheart.constructions.retrieval import solve as solving
from byheart.constructions.retrieval.gf2 import factored
from byheart.data.generate import random, save

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- scale:begin -->", "<!-- scale:end -->"
RESULTS = ROOT / "benchmarks/scale.json"
STAGES = (
    "load", "contexts", "survey", "hash", "conflicts", "fold bits", "balance", "terms", "solve",
    "verify", "other",
)  # fmt: skip
SIZES = (100_000, 1_000_000, 10_000_000, 30_000_000)
UNKNOWNS = (160, 490, 1740, 5600)  # about those of 10^4 to 10^7 sequences


@njit(cache=True)
def eliminate(rows, right, unknowns):
    """Plain elimination, a pivot at a time: the baseline. True if there is a solution."""
    count, words = rows.shape
    rank = 0
    for column in range(unknowns):
        word, mask = column >> 6, uint64(1) << uint64(column & 63)
        pivot = -1
        for i in range(rank, count):
            if rows[i, word] & mask:
                pivot = i
                break
        if pivot < 0:
            continue
        for w in range(word, words):
            rows[pivot, w], rows[rank, w] = rows[rank, w], rows[pivot, w]
        right[pivot], right[rank] = right[rank], right[pivot]
        for i in range(pivot + 1, count):
            if rows[i, word] & mask:
                for w in range(word, words):
                    rows[i, w] ^= rows[rank, w]
                right[i] ^= right[rank]
        rank += 1
    return not right[rank:].any()


def elimination(unknowns: int) -> dict:
    """Milliseconds for one bit position: rows with 33 ones, five fewer than unknowns."""
    rng = np.random.default_rng(unknowns)
    bits = np.zeros((unknowns - 5, -(-unknowns // 64) * 64), np.uint8)
    bits[:, :unknowns] = rng.random((unknowns - 5, unknowns)) < 33 / unknowns
    rows = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    right = rng.integers(0, 2, len(rows)).astype(np.uint64)
    reduced = np.zeros(rows.shape[1], np.uint64)
    best = {"plain": math.inf, "four Russians": math.inf}
    for _ in range(3):
        copy, started = rows.copy(), time.process_time()
        solvable = eliminate(copy, right.copy(), unknowns)
        best["plain"] = min(best["plain"], time.process_time() - started)
        copy, started = rows.copy(), time.process_time()
        factors = factored(copy, unknowns)
        unmet = factors.reduced(right, reduced)
        best["four Russians"] = min(best["four Russians"], time.process_time() - started)
        assert solvable == (unmet == 0)
    ratio = best["plain"] / best["four Russians"]
    return {"unknowns": unknowns, **{k: 1000 * v for k, v in best.items()}, "ratio": ratio}


# plans about as large as those of 10^6, 10^7, 3 x 10^7 and 10^8 sequences
PLANS = (
    FoldPlan(512, (16, 32), 37, 8, top=7, low=6),
    FoldPlan(1536, (32, 64), 60, 11, top=6, low=6),
    FoldPlan(2048, (64, 128), 54, 10, top=8, low=8),
    FoldPlan(4096, (64, 128), 90, 13, top=8, low=8),
)


def order_of_tables(plan: FoldPlan) -> dict:
    """Milliseconds for one bit position of a plan with as many equations as 99.5 % of its numbers.

    In the order of the numbers, and table by table and row by row, as the solver does it.
    """
    count, unknowns = int(0.995 * plan.unknowns), plan.unknowns
    fired = np.random.default_rng(0).integers(0, 1 << len(plan.folds), count).astype(np.uint64)
    layout = plan.layout(plan.parts[1])
    terms, best = layout.terms(fired), {}
    for name, order in (("in their own order", None), ("row by row", layout.elimination)):
        system = solving.System(
            1, np.zeros(count, np.int64), terms, fired, np.ones(count), 1, elimination=order
        )
        best[name] = math.inf
        for _ in range(2):
            started = time.process_time()
            system.factors(0, unknowns)
            best[name] = min(best[name], time.process_time() - started)
    ratio = best["in their own order"] / best["row by row"]
    return {"unknowns": unknowns, **{k: 1000 * v for k, v in best.items()}, "ratio": ratio}


# rows of the first table, lanes and gates of plans that are about as large, with a band
BANDS = ((16, 48, 10), (32, 88, 13), (64, 80, 13), (64, 132, 16))
OWN, GLOBAL, FULL = 4, 25, 0.98


def banded(rows: int, lanes: int, gates: int) -> dict:
    """Milliseconds for one bit position if the second table's row is the first one's plus 0 to 3.

    Then numbers of neighbouring rows alone have equations in common, and the matrix is a band, but
    for the numbers that every context may read. No network is built like this.
    """
    plan = FoldPlan(1, (2, 2), lanes, gates)
    masks, random = np.array(plan.masks), np.random.default_rng(0)
    cells = lanes * (2 * rows + OWN - 1)
    unknowns = cells + len(masks) + GLOBAL
    unused = 3 * lanes - len(plan.constants)  # row 0 of both tables is always 0
    count = int(FULL * (unknowns - unused))
    first = random.integers(0, rows, count)
    second = first + random.integers(0, OWN, count)
    on = random.integers(0, 1 << gates, count)[:, None] & masks == masks
    bits = np.zeros((count, -(-unknowns // 64) * 64), np.uint8)
    context, lane = np.nonzero(on)
    # rows of both tables take turns: 0 and 0, 1 and 1, ...
    for row, place in ((first, 2 * first), (second, np.minimum(second + 1, rows) + second)):
        used = row[context] > 0
        bits[context[used], lanes * place[context[used]] + lane[used]] = 1
    constant = np.isin(lane, plan.constants)
    bits[context[constant], cells + lane[constant]] = 1
    bits[:, unknowns - GLOBAL : unknowns] = random.integers(0, 2, (count, GLOBAL))
    matrix, best = np.packbits(bits, axis=1, bitorder="little").view(np.uint64), math.inf
    for _ in range(2):
        copy, started = matrix.copy(), time.process_time()
        factors = factored(copy, unknowns)
        best = min(best, time.process_time() - started)
    return {"unknowns": unknowns - unused, "ms": 1000 * best, "dependent": factors.dependent}


class Stopwatch:
    """Process time of functions, by stage; one that is called by another belongs to its stage."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.running = False

    def measure(self, stage: str, function):
        def timed(*arguments, **options):
            if self.running:
                return function(*arguments, **options)
            self.running, started = True, time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.running = False
                self.seconds[stage] += time.process_time() - started

        return timed


def stages(sequences: int, watch: Stopwatch) -> dict:
    """Load, build and verify from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        save(random(sequences, seed=0), path)
        watch.seconds.clear()
        wall, started = time.perf_counter(), time.process_time()
        dataset = watch.measure("load", byheart.load)(path)
    model = byheart.compile(dataset)
    total = time.process_time() - started
    about, verification = model.about, model.about["verification"]
    assert verification.evidence == "proved" and verification.correct == sequences
    seconds = {stage: watch.seconds[stage] for stage in STAGES}
    seconds["other"] = total - sum(seconds.values())
    return {
        "sequences": sequences,
        "contexts": about["data"]["contexts"],
        "nonzero": about["parameters"]["nonzero"],
        "bits": about["bits"]["total"] / about["bits"]["information"],
        "seconds": seconds,
        "total": total,
        "wall": time.perf_counter() - wall,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
    }


def patched() -> Stopwatch:
    """Time the functions that the construction calls."""
    from byheart.compiler import compiling

    # the package's own `search` is a function
    reading = import_module("byheart.constructions.hash_fold_retrieve.readers.search")
    watch = Stopwatch()
    compiling.contexts = watch.measure("contexts", compiling.contexts)
    reading.survey = watch.measure("survey", reading.survey)
    reading.solve = watch.measure("solve", reading.solve)
    search.hash_contexts = watch.measure("hash", search.hash_contexts)
    search.conflicts = watch.measure("conflicts", search.conflicts)
    search.solve = watch.measure("solve", search.solve)
    two_blocks.solve = watch.measure("solve", two_blocks.solve)
    build.Unlimited.balance = staticmethod(watch.measure("balance", build.Unlimited.balance))
    FoldPlan.read = watch.measure("fold bits", FoldPlan.read)
    FoldLayout.terms = watch.measure("terms", FoldLayout.terms)
    compiling.verify = watch.measure("verify", compiling.verify)
    return watch


def markdown(results: dict) -> str:
    rows = results["stages"]
    heads = [f"{row['sequences']:,}" for row in rows]
    pairs = list(zip(rows, rows[1:], strict=False))
    grown = [f"exponent to {later['sequences']:,}" for _, later in pairs]
    lines = [
        "| CPU seconds | " + " | ".join([*heads, *grown]) + " |",
        "| --- |" + " ---: |" * (len(heads) + len(grown)),
    ]

    def exponent(first: float, later: float, pair) -> str:
        if min(first, later) <= 0.005:
            return "-"
        return (
            f"{math.log(later / first) / math.log(pair[1]['sequences'] / pair[0]['sequences']):.2f}"
        )

    for stage in STAGES:
        values = [row["seconds"].get(stage, 0.0) for row in rows]
        growth = [exponent(values[i], values[i + 1], pair) for i, pair in enumerate(pairs)]
        lines.append(f"| {stage} | " + " | ".join([*(f"{v:.2f}" for v in values), *growth]) + " |")
    totals = [row["total"] for row in rows]
    growth = [exponent(totals[i], totals[i + 1], pair) for i, pair in enumerate(pairs)]
    lines.append("| **total** | " + " | ".join([*(f"{v:.1f}" for v in totals), *growth]) + " |")
    for name, key, form in (
        ("peak GiB", "peak_gib", "{:.2f}"),
        ("contexts", "contexts", "{:,}"),
        ("nonzero parameters", "nonzero", "{:,}"),
        ("bits / information", "bits", "{:.3f}"),
    ):
        cells = [form.format(row[key]) for row in rows] + [""] * len(grown)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| unknowns of a bit position | " + " | ".join(f"{u:,}" for u in UNKNOWNS) + " |"]
    lines.append("| --- |" + " ---: |" * len(UNKNOWNS))
    found = results["elimination"]
    for name in ("plain", "four Russians"):
        lines.append(f"| {name}, ms | " + " | ".join(f"{row[name]:.2f}" for row in found) + " |")
    lines.append("| ratio | " + " | ".join(f"{row['ratio']:.1f}" for row in found) + " |")
    found = results["tables"]
    lines += ["", "| numbers of a plan with tables | "]
    lines[-1] += " | ".join(f"{row['unknowns']:,}" for row in found) + " |"
    lines.append("| --- |" + " ---: |" * len(found))
    for name in ("in their own order", "row by row"):
        lines.append(f"| {name}, ms | " + " | ".join(f"{row[name]:.1f}" for row in found) + " |")
    lines.append("| ratio | " + " | ".join(f"{row['ratio']:.1f}" for row in found) + " |")
    found = results["bands"]
    lines.append("| as a band, ms | " + " | ".join(f"{row['ms']:.1f}" for row in found) + " |")
    lines.append(
        "| numbers of the band | " + " | ".join(f"{x['unknowns']:,}" for x in found) + " |"
    )
    cells = " | ".join(f"{row['dependent']}" for row in found)
    lines.append(f"| its dependent equations, {FULL:.0%} full | {cells} |")
    return "\n".join(lines)


def warm_up() -> None:
    """Load the kernels, or compile them, of both forms and of many contexts."""
    byheart.compile(random(3000, seed=9))
    many, solving.MANY = solving.MANY, 1
    byheart.compile(random(5000, seed=9), minimise="bits")
    solving.MANY = many


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="sequences")
    parser.add_argument("--smallest", type=int, default=SIZES[0], help="sequences")
    parser.add_argument("--write", action="store_true", help="write scale.json and docs/sizes.md")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warm_up()
    if options.only:
        print(json.dumps(stages(options.only, patched())))
        return
    measured = json.loads(RESULTS.read_text())["stages"] if RESULTS.exists() else []
    rows = {row["sequences"]: row for row in measured if row["sequences"] in SIZES}
    for sequences in (n for n in SIZES if options.smallest <= n <= options.largest):
        command = [sys.executable, __file__, "--only", str(sequences)]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        rows[sequences] = json.loads(found)
        print(found, end="", flush=True)
    results = {
        "elimination": [elimination(unknowns) for unknowns in UNKNOWNS],
        "tables": [order_of_tables(plan) for plan in PLANS],
        "bands": [banded(*sizes) for sizes in BANDS],
        "stages": [rows[sequences] for sequences in sorted(rows)],
    }
    text = markdown(results)
    print(text)
    if options.write:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        path = ROOT / "docs/sizes.md"
        before, _, rest = path.read_text().partition(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
