"""Labels: code words of compiled networks over the entropy of their labels, all proved.

The words of 150 stories (TinyStories), each after the words before it in a window chosen for the
data, and 10,000 random sequences with one of 1,000 labels. Then 10,000 random sequences of 4 words
of 1,000 of which a share has the other of two labels: medians of three draws, and the CPU seconds
of a fair coin's labels beside them, which a frequent label must not exceed twice over.
"""

import json
import random as draws
import tempfile
import time
from pathlib import Path
from statistics import median

import byheart
from byheart.data.generate import random

from .report import Options, table

MARK = "<|endoftext|>"
STORIES, RANDOM = "150 TinyStories", "10,000 random sequences, 1,000 labels"
LIMITS = {STORIES: 1.10, RANDOM: 1.17}  # bits over the entropy, by default
PARIS = "CounterFact, whether the answer is Paris"
SHARES = (0.5, 0.1, 0.01)  # of sequences with the other label
RARE = {0.1: (450, 10_500), 0.01: (280, 3_500)}  # parameters and bits, at most
TWICE = 2.0  # CPU seconds over those of a fair coin's labels


def stories(source: Path) -> byheart.Dataset:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.txt"
        path.write_text(MARK.join(source.read_text().split(MARK)[:150]))
        return byheart.load(path, window="auto", documents="whole")


def facts_of(source: Path) -> byheart.Dataset:
    """A real table with a rare class: which of the prompts of CounterFact is answered by Paris."""
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    return byheart.Dataset.from_rows(
        [(x["prompt"].split(), "Paris" if x["answer"] == "Paris" else "another") for x in lines]
    )


def compiled(name: str, dataset: byheart.Dataset, minimise: str) -> dict:
    started = time.process_time()
    model = byheart.compile(dataset, minimise=minimise)
    seconds = time.process_time() - started
    assert model.verification.evidence == "proved" and model.verification.holds
    row = {
        "data": name,
        "minimise": minimise,
        "contexts": model.record.data.contexts,
        "labels": len(model.labels),
        "nonzero": model.parameters.nonzero,
        "entropy": model.bits.entropy,
        "total": model.bits.total,
        "encoded": model.bits.encoded,
        "cpu_seconds": seconds,
    }
    print(json.dumps(row), flush=True)
    return row


def rare(count: int, share: float, seed: int) -> byheart.Dataset:
    """Different sequences of 4 words of 1,000; a share of them, drawn one by one, is rare."""
    pick, found = draws.Random(seed), {}
    while len(found) < count:
        found[tuple(f"w{pick.randrange(1000)}" for _ in range(4))] = None
    return byheart.Dataset.from_rows(
        [(list(words), "rare" if pick.random() < share else "common") for words in found]
    )


def rarely(count: int, share: float) -> dict:
    """The medians of three draws."""
    rows = [compiled("", rare(count, share, seed), "nonzero") for seed in range(3)]
    numbers = [name for name, x in rows[0].items() if not isinstance(x, str)]
    middle = {name: median(row[name] for row in rows) for name in numbers}
    name = f"{count:,} random sequences, {share:.0%} with the other label"
    return {**rows[0], **middle, "data": name, "share": share}


def measure(options: Options) -> list[dict]:
    count, labels = (20, 5) if options.tiny else (10_000, 1000)
    if not options.tiny:
        byheart.compile(random(3000, labels=20, seed=9))  # compile the kernels
    datasets = {RANDOM: random(count, labels=labels, seed=0)}
    if not options.tiny and (options.data / "tinystories.txt").exists():
        datasets = {STORIES: stories(options.data / "tinystories.txt"), **datasets}
    rows = [
        compiled(name, dataset, minimise)
        for name, dataset in datasets.items()
        for minimise in (("nonzero",) if name == STORIES else ("nonzero", "bits"))
    ]
    if not options.tiny and (options.data / "counterfact.jsonl").exists():
        rows.append(compiled(PARIS, facts_of(options.data / "counterfact.jsonl"), "nonzero"))
    shares = SHARES[:1] if options.tiny else SHARES
    return rows + [rarely(count, share) for share in shares]


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
    default = [row for row in rows if row["minimise"] == "nonzero" and row["data"] in LIMITS]
    found = [x["data"] for x in default if x["total"] > LIMITS[x["data"]] * x["entropy"]]
    rare = {row["share"]: row for row in rows if "share" in row}
    for share in RARE.keys() & rare.keys():
        row, (parameters, bits) = rare[share], RARE[share]
        small = row["nonzero"] <= parameters and row["total"] <= bits
        if not small or row["cpu_seconds"] > TWICE * rare[0.5]["cpu_seconds"]:
            found.append(row["data"])
    return found
