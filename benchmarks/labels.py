"""Many labels: code words of compiled networks over the entropy of their labels, all proved.

The words of 150 stories (TinyStories), each after the words before it in a window chosen for the
data, and 10,000 random sequences with one of 1,000 labels.
"""

import json
import tempfile
import time
from pathlib import Path

import byheart
from byheart.data.generate import random

from .report import Options, facts, table

MARK = "<|endoftext|>"
STORIES, RANDOM = "150 TinyStories", "10,000 random sequences, 1,000 labels"
LIMITS = {STORIES: 1.10, RANDOM: 1.17}  # bits over the entropy, by default


def stories(source: Path) -> byheart.Dataset:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.txt"
        path.write_text(MARK.join(source.read_text().split(MARK)[:150]))
        return byheart.load(path, window="auto", documents="whole")


def compiled(name: str, dataset: byheart.Dataset, minimise: str) -> dict:
    started = time.process_time()
    model = byheart.compile(dataset, minimise=minimise)
    seconds = time.process_time() - started
    assert model.verification.evidence == "proved" and model.verification.holds
    row = {
        "data": name,
        "minimise": minimise,
        "contexts": facts(model)["contexts"],
        "labels": len(model.labels),
        "nonzero": model.parameters.nonzero,
        "entropy": model.bits.entropy,
        "total": model.bits.total,
        "encoded": model.bits.encoded,
        "cpu_seconds": seconds,
    }
    print(json.dumps(row), flush=True)
    return row


def measure(options: Options) -> list[dict]:
    count, labels = (20, 5) if options.tiny else (10_000, 1000)
    if not options.tiny:
        byheart.compile(random(3000, labels=20, seed=9))  # compile the kernels
    datasets = {RANDOM: random(count, labels=labels, seed=0)}
    if not options.tiny and (options.data / "tinystories.txt").exists():
        datasets = {STORIES: stories(options.data / "tinystories.txt"), **datasets}
    return [
        compiled(name, dataset, minimise)
        for name, dataset in datasets.items()
        for minimise in (("nonzero",) if name == STORIES else ("nonzero", "bits"))
    ]


def markdown(rows: list[dict]) -> str:
    return table(
        ("data", "contexts", "labels", "`--minimise`", "nonzero parameters",
         "digits / entropy (no code)",
         "code word / entropy", "CPU s"),
        [
            (row["data"], row["contexts"], row["labels"], row["minimise"], row["nonzero"],
             f"{row['total'] / row['entropy']:.3f}", f"{row['encoded'] / row['entropy']:.3f}",
             f"{row['cpu_seconds']:.1f}")
            for row in rows
        ],
    )  # fmt: skip


def missed(rows: list[dict]) -> list[str]:
    default = (row for row in rows if row["minimise"] == "nonzero")
    return [x["data"] for x in default if x["total"] > LIMITS[x["data"]] * x["entropy"]]
