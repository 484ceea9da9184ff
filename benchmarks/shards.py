"""Counting folders of shards: cost for each token and its growth, against one machine in place.

The corpora of counting.py in shards of equal size. `byheart stats --engine processes` counts them
with a gibibyte for each worker, and the answer must be that of `byheart stats` on the same tokens
in one file, to the last digit. Seconds are those that processors worked, start of the workers
included; memory is the largest resident set of a worker, libraries included.
"""

import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import byheart
from byheart.data.corpora import CORPORA, save

from .report import Options, machine, table

JOBS = 1  # worker processes
LENGTH, VOCABULARY = 10, 50_000
GROWTH = (1_000_000, 10_000_000, 100_000_000, 200_000_000)
SHARDS = 16
FROM = 10_000_000  # tokens from which on growth is told: below, workers mostly start
CORES, TRILLION = 1_000, 10**12


SAME = ("contexts", "entropy", "conflicts", "multisets")  # numbers that must agree


def counted(folder: Path, jobs: int) -> dict:
    """The answer, the seconds and the memory of all workers."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        counts = byheart.stats(folder, workers=jobs, work=work, separator=VOCABULARY)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "answer": {key: counts.json()[key] for key in SAME},
        "seconds": spent.ru_utime + spent.ru_stime,
        "resident": spent.ru_maxrss * 1024,
        "exchanged": counts.shards.exchanged,
        "partitions": list(counts.shards.partitions),
    }


def in_place(path: Path) -> dict:
    """The answer of one machine, and its seconds after compiled code is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.bin"
        save(CORPORA["prefix-tree"](1 << 18), small)
        byheart.stats(small, separator=VOCABULARY)
    started = time.process_time()
    counts = byheart.stats(path, separator=VOCABULARY)
    seconds = time.process_time() - started
    return {"answer": {key: counts.json()[key] for key in SAME}, "seconds": seconds}


def compared(options: Options, kind: str, tokens: int) -> dict:
    """Both counts of one corpus, which must agree."""
    with tempfile.TemporaryDirectory() as folder:
        path, parts = Path(folder) / "corpus.bin", Path(folder) / "shards"
        save(CORPORA[kind](tokens // LENGTH, LENGTH, VOCABULARY), path)
        parts.mkdir()
        rows = np.fromfile(path, np.uint16).reshape(-1, LENGTH + 1)
        for i, part in enumerate(np.array_split(rows, 2 if options.tiny else SHARDS)):
            part.tofile(parts / f"{i:03}.bin")
        del rows
        ours, alone = options.apart(counted, parts, JOBS), options.apart(in_place, path)
    if ours["answer"] != alone["answer"]:
        raise SystemExit(f"{kind}, {tokens} tokens: {ours['answer']} is not {alone['answer']}")
    return {
        "corpus": kind,
        "tokens": tokens,
        "contexts": ours["answer"]["contexts"],
        "seconds": ours["seconds"],
        "alone": alone["seconds"],
        "resident": ours["resident"],
        "exchanged": ours["exchanged"],
        "partitions": ours["partitions"],
    }


def measure(options: Options) -> dict:
    rows = []
    for kind in CORPORA:
        for tokens in options.sizes(GROWTH, (1000,)):
            rows.append(compared(options, kind, tokens))
            print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows}


def markdown(results: dict) -> str:
    rows, body, extrapolated, grown = results["rows"], [], [], []
    for row in rows:
        each, alone = (1e6 * row[key] / row["tokens"] for key in ("seconds", "alone"))
        body.append(
            (row["corpus"], row["tokens"], row["contexts"], f"{each:.2f}", f"{alone:.3f}",
             f"{each / alone:.0f}", f"{row['exchanged'] / row['tokens']:.0f}",
             f"{row['resident'] / 1e6:.0f}", " + ".join(map(str, row["partitions"])))
        )  # fmt: skip
    for corpus, last in {row["corpus"]: row for row in rows}.items():
        costs = {x["tokens"]: x["seconds"] / x["tokens"] for x in rows if x["corpus"] == corpus}
        if last["tokens"] > FROM in costs:
            grown.append(f"{costs[last['tokens']] / costs[FROM]:.2f} ({corpus})")
        for tokens in (10**9, TRILLION):
            seconds = costs[last["tokens"]] * tokens
            held = last["exchanged"] / last["tokens"] * tokens
            slow = seconds >= 1e5
            extrapolated.append(
                (corpus, tokens, f"{seconds / 3600:,.1f}",
                 f"{seconds / CORES / 60:.0f} min" if slow else f"{seconds / CORES:.0f} s",
                 f"{held / 1e12:.1f} TB" if held >= 1e12 else f"{held / 1e9:.0f} GB")
            )  # fmt: skip
    heads = ("corpus", "tokens", "contexts", "microseconds per token", "on one machine, in place",
             "ratio", "bytes exchanged per token", "memory of a worker, MB",
             "partitions")  # fmt: skip
    parts = [table(heads, body)]
    if grown:
        parts.append(
            f"From {FROM:,} tokens to {max(row['tokens'] for row in rows):,} the cost of a token "
            f"changes by a factor of {', '.join(grown)}."
        )
    parts.append(
        f"Calculated from the last row of each corpus, on {CORES:,} cores that are always busy, "
        "with as many bytes for each token:"
    )
    heads = ("corpus", "tokens", "core hours", "time", "exchanged through the shared folder")
    return "\n\n".join([*parts, table(heads, extrapolated)])
