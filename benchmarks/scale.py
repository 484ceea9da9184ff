"""How hash-fold-retrieve grows: CPU seconds of every stage from 10^5 to 10^7 sequences.

    python benchmarks/scale.py [--largest 1000000] [--write]

Seconds are process time on one machine; the exponents between rows and the ratios against the
elimination that this solver replaced, measured in the same run, mean more. Every network is
verified on every sequence. 10^7 sequences take some minutes and 3 GiB.
"""

import argparse
import json
import math
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numba import njit, uint64

import byheart
from byheart.constructions.hash_fold_retrieve import build
from byheart.constructions.hash_fold_retrieve.layout import FoldLayout, FoldPlan
from byheart.constructions.retrieval import search
from byheart.constructions.retrieval.gf2 import factored
from byheart.data.generate import random, save

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- scale:begin -->", "<!-- scale:end -->"
STAGES = (
    "load", "hash", "conflicts", "fold bits", "balance", "terms", "solve", "verify", "other",
)  # fmt: skip
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


class Stopwatch:
    """Process time of functions, by stage."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def measure(self, stage: str, function):
        def timed(*arguments, **options):
            started = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
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

    watch = Stopwatch()
    search.hash_contexts = watch.measure("hash", search.hash_contexts)
    search.conflicts = watch.measure("conflicts", search.conflicts)
    search.solve = watch.measure("solve", search.solve)
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
        values = [row["seconds"][stage] for row in rows]
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
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="write scale.json and docs/sizes.md")
    options = parser.parse_args()
    byheart.compile(random(3000, seed=9))  # compile the kernels
    results: dict = {"elimination": [elimination(unknowns) for unknowns in UNKNOWNS]}
    watch = patched()
    sizes = [n for n in (100_000, 1_000_000, 10_000_000) if n <= options.largest]
    results["stages"] = []
    for sequences in sizes:
        results["stages"].append(stages(sequences, watch))
        print(json.dumps(results["stages"][-1]), flush=True)
    text = markdown(results)
    print(text)
    if options.write:
        (ROOT / "benchmarks/scale.json").write_text(json.dumps(results, indent=1) + "\n")
        path = ROOT / "docs/sizes.md"
        before, _, rest = path.read_text().partition(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
