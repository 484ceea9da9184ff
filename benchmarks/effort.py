"""What `--effort high` saves and takes: medians of several random datasets.

    python benchmarks/effort.py [--largest 1000000] [--seeds 5] [--write]

Every network is proved on all sequences. From 10^5 sequences on three datasets are enough. --write
writes effort.json and the table of docs/sizes.md.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import byheart
from byheart.data.generate import random

ROOT = Path(__file__).parents[1]
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
BEGIN, END = "<!-- effort:begin -->", "<!-- effort:end -->"


def measured(sequences: int, seed: int, effort: str) -> dict:
    dataset = random(sequences, seed=seed)
    started = time.process_time()
    model = byheart.compile(dataset, effort=effort)
    row = {
        "sequences": sequences,
        "seed": seed,
        "effort": effort,
        "nonzero": model.about["parameters"]["nonzero"],
        "bits": model.about["bits"]["total"] / model.about["bits"]["information"],
        "cpu_seconds": time.process_time() - started,
    }
    assert model.verification.evidence == "proved" and model.verification.holds
    print(json.dumps(row), flush=True)
    return row


def table(rows: list[dict]) -> str:
    lines = [
        "| sequences | effort | nonzero parameters, median | of each dataset "
        "| bits / information, median | CPU s, median | CPU s, most |",
        "| ---: | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for sequences in sorted({row["sequences"] for row in rows}):
        for effort in ("normal", "high"):
            found = [r for r in rows if (r["sequences"], r["effort"]) == (sequences, effort)]
            seconds = [row["cpu_seconds"] for row in found]
            lines.append(
                f"| {sequences:,} | {effort} | {np.median([r['nonzero'] for r in found]):,.0f} "
                f"| {', '.join(format(r['nonzero'], ',') for r in found)} "
                f"| {np.median([r['bits'] for r in found]):.2f} "
                f"| {np.median(seconds):.1f} | {max(seconds):.1f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for sequences in (50, 3000):
        byheart.compile(random(sequences, seed=9))  # compile the kernels
    rows = [
        measured(sequences, seed, effort)
        for sequences in SIZES
        if sequences <= options.largest
        for seed in range(min(options.seeds, 3 if sequences >= 100_000 else options.seeds))
        for effort in ("normal", "high")
    ]
    print(table(rows))
    if options.write:
        (ROOT / "benchmarks/effort.json").write_text(json.dumps(rows, indent=1) + "\n")
        path = ROOT / "docs/sizes.md"
        before, _, rest = path.read_text().partition(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
