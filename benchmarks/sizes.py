"""Sizes of compiled networks by the number of sequences.

Random labelled sequences (`byheart generate random`). Every network is proved on every sequence
before it counts.
"""

import json
import math
import time
from statistics import median_low

import byheart
from byheart.data.generate import random

from .report import ROOT, Options, facts, machine, table

SEEDS = 5
# nonzero parameters and encoded bits over the information, each at most
LIMITS = {1000: (194, 3.3), 10_000: (510, 1.43), 100_000: (1302, 1.11), 1_000_000: (3663, 1.056)}
NOISE = 1.03


def compiled(sequences: int, seed: int, **options) -> dict:
    """One network, proved on all of its data."""
    dataset = random(sequences, seed=seed)
    started = time.process_time()
    model = byheart.compile(dataset, **options)
    row = {"sequences": sequences, "cpu": time.process_time() - started, **facts(model)}
    assert row["evidence"] == "proved" and row["checked"] == sequences
    print(json.dumps(row), flush=True)
    return row


def median(sequences: int, seeds: int) -> dict:
    """The network in the middle by nonzero parameters, of several datasets."""
    rows = [compiled(sequences, seed) for seed in range(seeds)]
    middle = median_low(row["nonzero"] for row in rows)
    row = next(row for row in rows if row["nonzero"] == middle)
    return row | {"all_nonzero": [row["nonzero"] for row in rows]}


def measure(options: Options) -> dict:
    sizes = options.sizes((100, *LIMITS), (20, 30))
    seeds = 2 if options.tiny else SEEDS
    compiled(30 if options.tiny else 3000, seed=9)  # compile the kernels
    return {
        "machine": machine(),
        "sizes": [median(n, seeds) for n in sizes],
    }


def markdown(results: dict) -> str:
    return table(
        ("sequences", "information, bits", "nonzero parameters", "encoded bits / information",
         "build and proof, CPU s"),
        [
            (row["sequences"], row["contexts"], row["nonzero"], f"{row['encoded']:.2f}",
             f"{row['cpu']:.1f}")
            for row in results["sizes"]
        ],
    )  # fmt: skip


def publish(results: dict) -> None:
    """The compiled models beside trained ones, in the figure morris-capacity."""
    lines = ["sequences,contexts,parameters,stored_bits"]
    for row in results["sizes"]:
        bits = round(row["bits"] * row["contexts"])  # two labels: a bit of information per context
        lines.append(f"{row['sequences']},{row['contexts']},{row['nonzero']},{bits}")
    path = ROOT / "byheart" / "figures" / "published" / "compiled.csv"
    path.write_text("\n".join(lines) + "\n")


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["sizes"]:
        nonzero, encoded = LIMITS.get(row["sequences"], (math.inf, math.inf))
        if row["nonzero"] > NOISE * nonzero or row["encoded"] > NOISE * encoded:
            lines.append(f"N = {row['sequences']}: {row['nonzero']}, x{row['encoded']:.3f}")
    return lines
