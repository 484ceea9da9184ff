"""Sizes of compiled networks by the number of sequences, beside lower bounds.

Random labelled sequences (`byheart generate random`). Every network is proved on every sequence
before it counts.
"""

import json
import math
import time
from statistics import median_low

import byheart
from benchmarks.stored_sums import fewest
from byheart.data.generate import random
from byheart.theory.kajitsuka2025.sign_patterns import uniform_attention

from . import width
from .report import ROOT, Options, facts, machine, recorded, table

SEEDS = 5
# nonzero parameters and encoded bits over the information, each at most
LIMITS = {1000: (194, 3.3), 10_000: (510, 1.43), 100_000: (1302, 1.11), 1_000_000: (3663, 1.056)}
NOISE = 1.03
FAILURE = 20  # lower bounds hold for all labels but a fraction of 2^-20
SHAPE = ("dense", "width", "depth", "code word / information")  # of a network, whole or cut
STRUCTURES = 40  # log2 of the structures among which a search may choose


def compiled(sequences: int, seed: int) -> dict:
    """One network, proved on all of its data."""
    dataset = random(sequences, seed=seed)
    started = time.process_time()
    model = byheart.compile(dataset)
    row = {"sequences": sequences, "cpu": time.process_time() - started, **facts(model)}
    row |= {"width": model.network.breadth, "tokens": len(dataset.tokens), "seed": seed}
    assert row["evidence"] == "proved" and row["checked"] == sequences
    print(json.dumps(row), flush=True)
    return row


def median(sequences: int, seeds: int) -> dict:
    """The network in the middle by nonzero parameters, of several datasets.

    For the same dataset also that of `--minimise dense`, whole and cut to constant width.
    """
    rows = [compiled(sequences, seed) for seed in range(seeds)]
    middle = median_low(row["nonzero"] for row in rows)
    row = next(row for row in rows if row["nonzero"] == middle)
    narrow = width.compiled(sequences, "dense", row["seed"])
    return row | {"all_nonzero": [row["nonzero"] for row in rows], "narrow": narrow}


def measure(options: Options) -> dict:
    sizes = options.sizes((100, *LIMITS), (20, 30))
    seeds = 2 if options.tiny else SEEDS
    compiled(30 if options.tiny else 3000, seed=9)  # compile the kernels
    return {
        "machine": machine(),
        "sizes": [median(n, seeds) for n in sizes],
    }


def any_network(row: dict) -> int:
    """What any network around one uniform attention layer needs."""
    return uniform_attention(row["contexts"], row["tokens"], failure=FAILURE)


def family(row: dict) -> int:
    """What any network of the family of hash-fold-retrieve needs."""
    return fewest(row["contexts"], STRUCTURES, FAILURE)


def paper() -> dict[int, str]:
    """Nonzero parameters of the paper's own construction, by the number of sequences."""
    rows = recorded("family")["rows"]
    built = {row["N"]: row["paper"] for row in rows if row["setting"] == "one label per sequence"}
    return {N: f"{one['nonzero']:,} ({one['evidence']})" for N, one in built.items() if one}


def summary(results: dict) -> str:
    """The columns of the README."""
    return table(
        ("sequences", "nonzero parameters", "dense ones, cut to width 3 to 7",
         "bits of the code word / information", "nonzero ones that any such ReLU network needs"),
        [
            (row["sequences"], row["nonzero"], row["narrow"]["dense"], f"{row['encoded']:.2f}",
             any_network(row))
            for row in results["sizes"]
        ],
    )  # fmt: skip


def markdown(results: dict) -> str:
    rows, built = results["sizes"], paper()
    nonzero = table(
        ("sequences", "information, bits", "nonzero parameters", "longest parameter, bits",
         *SHAPE, "build and proof, CPU s"),
        [
            (row["sequences"], row["contexts"], row["nonzero"], row["longest"], *shape(row),
             f"{row['cpu']:.1f}")
            for row in rows
        ],
    )  # fmt: skip
    narrow = table(
        ("sequences, `--minimise dense`", "nonzero", "longest parameter, bits",
         *(f"{name}, {how}" for how in ("as compiled", "cut") for name in SHAPE),
         "build and both proofs, CPU s"),
        [
            (row["sequences"], cut["nonzero"], cut["longest"], *shape(cut["whole"]), *shape(cut),
             f"{cut['cpu']:.1f}")
            for row in rows
            for cut in (row["narrow"],)
        ],
    )  # fmt: skip
    bounds = table(
        ("sequences", "first dataset: the paper's construction, nonzero",
         "byheart, nonzero", "median dataset: byheart, nonzero",
         "any network of this family, at least",
         "any network around one uniform attention layer, at least", "byheart / any network"),
        [
            (row["sequences"], built.get(row["sequences"], "-"), row["all_nonzero"][0],
             row["nonzero"], family(row), any_network(row),
             f"{row['nonzero'] / any_network(row):.1f}")
            for row in rows
        ],
    )  # fmt: skip
    return f"{nonzero}\n\n{narrow}\n\n{bounds}"


def shape(row: dict) -> tuple:
    """The columns of SHAPE."""
    return row["dense"], row["width"], row["depth"], f"{row['encoded']:.2f}"


def publish(results: dict) -> None:
    """The compiled models beside trained ones, in the figure morris-capacity."""
    lines = ["sequences,contexts,parameters,code_word"]
    for row in results["sizes"]:
        bits = round(
            row["encoded"] * row["contexts"]
        )  # two labels: a bit of information per context
        lines.append(f"{row['sequences']},{row['contexts']},{row['nonzero']},{bits}")
    path = ROOT / "byheart" / "figures" / "published" / "compiled.csv"
    path.write_text("\n".join(lines) + "\n")


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["sizes"]:
        nonzero, encoded = LIMITS.get(row["sequences"], (math.inf, math.inf))
        if row["nonzero"] > NOISE * nonzero or row["encoded"] > NOISE * encoded:
            lines.append(f"N = {row['sequences']}: {row['nonzero']}, x{row['encoded']:.3f}")
        if row["nonzero"] < max(any_network(row), family(row)):
            lines.append(f"N = {row['sequences']}: fewer than a lower bound allows")
    return lines
