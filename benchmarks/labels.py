"""Many labels: bits of the compiled networks over the entropy of the labels.

    python benchmarks/labels.py [--data ../shared/data] [--write]

The words of 150 stories (TinyStories), each after the words before it in a window that is found for
the data, and 10,000 random sequences with one of 1,000 labels. Every network is proved on all of
its data. --write writes labels.json and the table of docs/sizes.md.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import byheart
from byheart.data.generate import random

ROOT = Path(__file__).parents[1]
MARK = "<|endoftext|>"
STORIES, FACTS = "150 TinyStories", "10,000 random sequences, 1,000 labels"
MOST = {STORIES: 1.10, FACTS: 1.17}  # bits over the entropy, by default
BEGIN, END = "<!-- labels:begin -->", "<!-- labels:end -->"


def stories(data: Path) -> byheart.Dataset:
    parts = (data / "tinystories.txt").read_text().split(MARK)[:150]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.txt"
        path.write_text(MARK.join(parts))
        return byheart.load(path, window="auto", documents="whole")


def measured(name: str, dataset: byheart.Dataset, minimise: str) -> dict:
    started = time.process_time()
    model = byheart.compile(dataset, minimise=minimise)
    seconds = time.process_time() - started
    about = model.about
    assert model.verification.evidence == "proved" and model.verification.holds
    row = {
        "data": name,
        "minimise": minimise,
        "contexts": about["data"]["contexts"],
        "labels": about["data"]["labels"],
        "nonzero": about["parameters"]["nonzero"],
        "entropy": about["bits"]["entropy"],
        "total": about["bits"]["total"],
        "encoded": about["bits"]["encoded"],
        "cpu_seconds": seconds,
    }
    print(json.dumps(row), flush=True)
    return row


def table(rows: list[dict]) -> str:
    lines = [
        "| data | contexts | labels | `--minimise` | nonzero parameters | bits / entropy "
        "| code word / entropy | CPU s |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        lines.append(
            f"| {row['data']} | {row['contexts']:,} | {row['labels']:,} | {row['minimise']} "
            f"| {row['nonzero']:,} | {row['total'] / row['entropy']:.3f} "
            f"| {row['encoded'] / row['entropy']:.3f} | {row['cpu_seconds']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    byheart.compile(random(3000, labels=20, seed=9))  # compile the kernels
    datasets = {FACTS: random(10_000, labels=1000, seed=0)}
    if (options.data / "tinystories.txt").exists():
        datasets = {STORIES: stories(options.data), **datasets}
    rows = [
        measured(name, dataset, minimise)
        for name, dataset in datasets.items()
        for minimise in ("nonzero", "bits")
    ]
    print(table(rows))
    if options.write:
        (ROOT / "benchmarks/labels.json").write_text(json.dumps(rows, indent=1) + "\n")
        path = ROOT / "docs/sizes.md"
        before, _, rest = path.read_text().partition(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.partition(END)[2]}")
    missed = [
        row["data"]
        for row in rows
        if row["minimise"] == "nonzero" and row["total"] > MOST[row["data"]] * row["entropy"]
    ]
    if missed:
        sys.exit(f"more bits than the limit: {', '.join(missed)}")


if __name__ == "__main__":
    main()
