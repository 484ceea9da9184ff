"""What `--effort high` saves and takes: medians of several random datasets, each proved."""

import json
import time
from statistics import median

import byheart
from byheart.data.generate import random

from .report import Options, facts, table

SIZES = (100, 1000)  # beyond 5,000 equations the effort changes nothing
SEEDS = 5


def compiled(sequences: int, seed: int, effort: str) -> dict:
    dataset = random(sequences, seed=seed)
    started = time.process_time()
    model = byheart.compile(dataset, effort=effort)
    seconds = time.process_time() - started
    assert model.verification.evidence == "proved" and model.verification.holds
    row = {"sequences": sequences, "seed": seed, "effort": effort}
    row |= {name: facts(model)[name] for name in ("nonzero", "bits")}
    print(json.dumps(row | {"cpu_seconds": seconds}), flush=True)
    return row | {"cpu_seconds": seconds}


def measure(options: Options) -> list[dict]:
    for sequences in () if options.tiny else (50, 3000):
        byheart.compile(random(sequences, seed=9))  # compile the kernels
    return [
        compiled(sequences, seed, effort)
        for sequences in options.sizes(SIZES, (4,))
        for seed in range(1 if options.tiny else SEEDS)
        for effort in ("normal", "high")
    ]


def markdown(rows: list[dict]) -> str:
    body = []
    for sequences in sorted({row["sequences"] for row in rows}):
        for effort in ("normal", "high"):
            some = [x for x in rows if (x["sequences"], x["effort"]) == (sequences, effort)]
            nonzero, seconds = ([x[key] for x in some] for key in ("nonzero", "cpu_seconds"))
            body.append(
                (sequences, effort, f"{median(nonzero):,.0f}",
                 ", ".join(map("{:,}".format, nonzero)), f"{median(x['bits'] for x in some):.2f}",
                 f"{median(seconds):.1f}", f"{max(seconds):.1f}")
            )  # fmt: skip
    heads = ("sequences", "effort", "nonzero parameters, median", "of each dataset",
             "digits / information (no code), median", "CPU s, median", "CPU s, most")  # fmt: skip
    return table(heads, body)
