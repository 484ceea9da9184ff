"""Counting the contexts of large corpora: rates against baselines, memory, growth.

Two corpora in rows of 10 tokens over 50,000: `byheart generate zipf`, and `prefix-tree`, which
repeats itself. Ratios are against a baseline in the same run and for the same numbers, contexts and
entropy, after a small run has loaded the compiled code; "all keys" is the whole answer of `byheart
stats`. We use a thread a core, the baselines have one. Memory is the largest resident set above the
state after imports and that small run, pages of the mapped file included.
"""

import json
import math
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from unittest.mock import patch

import numpy as np

import byheart
from byheart.data.corpora import CORPORA, save
from byheart.data.statistics import corpus

from .report import Options, machine, table

LENGTH, VOCABULARY = 10, 50_000
TOKENS, COUNTER_TOKENS, SMALL = 50_000_000, 5_000_000, 1 << 18
GROWTH = (2_000_000, 20_000_000, 200_000_000)
MUST = {"unique": 5, "counters": 20, "memory": 2.5}


def counted(path: Path, runs: int) -> dict:
    """Our times and memory."""

    def answer(file: Path) -> dict:
        return byheart.stats(file, separator=VOCABULARY).json()

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.bin"
        save(CORPORA["prefix-tree"](SMALL), small)
        answer(small)
    spent: list[float] = []
    multisets = corpus.multisets

    def timed(*arguments):
        started = time.perf_counter()
        result = multisets(*arguments)
        spent.append(time.perf_counter() - started)
        return result

    Path("/proc/self/clear_refs").write_text("5")  # VmHWM is now VmRSS
    before = memory("VmRSS")
    rows = []
    with patch.object(corpus, "multisets", timed):
        for _ in range(runs):
            spent.clear()
            started = time.perf_counter()
            counts = answer(path)
            total = time.perf_counter() - started
            rows.append((total - sum(spent), total))
    return {
        "contexts": counts["contexts"],
        "entropy": counts["entropy"]["total"],
        "seconds": min(row[0] for row in rows),
        "all_keys": min(row[1] for row in rows),
        "memory": (memory("VmHWM") - before) / path.stat().st_size,
    }


def memory(name: str) -> int:
    """Bytes of this process: VmRSS, in memory now, or VmHWM, when there were most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def with_unique(path: Path) -> dict:
    """np.unique on (parent rank x vocabulary + token), length by length."""
    tokens = np.fromfile(path, np.uint16).reshape(-1, LENGTH + 1)[:, :LENGTH]
    started = time.perf_counter()
    count, entropy = 0, 0.0
    parents, rank, seen = np.unique(tokens[:, 0], return_inverse=True, return_counts=True)
    for length in range(1, LENGTH):
        count += len(parents)
        keys = rank * VOCABULARY + tokens[:, length]
        parents, rank, counts = np.unique(keys, return_inverse=True, return_counts=True)
        entropy += float((counts * np.log(seen[parents // VOCABULARY] / counts)).sum())
        seen = counts
    return {"contexts": count, "entropy": entropy, "seconds": time.perf_counter() - started}


def with_counters(path: Path) -> dict:
    """A dict of Counters, a context at a time."""
    rows = np.fromfile(path, np.uint16).reshape(-1, LENGTH + 1)[:, :LENGTH].tolist()
    started = time.perf_counter()
    followers: dict[tuple, Counter] = defaultdict(Counter)
    for row in rows:
        for length in range(1, LENGTH):
            followers[tuple(row[:length])][row[length]] += 1
    entropy = 0.0
    for counter in followers.values():
        total = sum(counter.values())
        entropy += sum(count * math.log(total / count) for count in counter.values())
    seconds = time.perf_counter() - started
    return {"contexts": len(followers), "entropy": entropy, "seconds": seconds}


def compared(ours: dict, baseline: dict) -> float:
    """How many times as fast we are, for the same numbers."""
    assert ours["contexts"] == baseline["contexts"]
    assert math.isclose(ours["entropy"], baseline["entropy"], rel_tol=1e-9)
    return baseline["seconds"] / ours["seconds"]


def written(kind: str, tokens: int, folder: str) -> Path:
    path = Path(folder) / f"{kind}-{tokens}.bin"
    save(CORPORA[kind](tokens // LENGTH, LENGTH, VOCABULARY), path)
    return path


def measured(options: Options, kind: str, folder: str) -> dict:
    """All numbers of one corpus."""
    tokens, few = (20_000, 1000) if options.tiny else (TOKENS, COUNTER_TOKENS)
    runs = 1 if options.tiny else 3
    path = written(kind, tokens, folder)
    ours, unique = options.apart(counted, path, runs), with_unique(path)
    result = {"corpus": kind, "tokens": tokens, "ours": ours, "unique": unique}
    result["ratio_unique"] = compared(ours, unique)
    path = written(kind, few, folder)
    ours, counters = options.apart(counted, path, runs), with_counters(path)
    result |= {"ours_small": ours, "counters": counters}
    result["ratio_counters"] = compared(ours, counters)
    result["growth"] = []
    for size in options.sizes(GROWTH, (1000,)):
        path = written(kind, size, folder)
        result["growth"].append({"tokens": size, **options.apart(counted, path, min(2, runs))})
        path.unlink()
    print(json.dumps(result), flush=True)
    return result


def measure(options: Options) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        corpora = [measured(options, kind, folder) for kind in CORPORA]
    return {"machine": machine(), "corpora": corpora}


def markdown(results: dict) -> str:
    body, growth = [], []
    for row in results["corpora"]:
        ours = row["ours"]
        body.append(
            (row["corpus"], row["tokens"], ours["contexts"], f"{ours['seconds']:.2f}",
             f"{row['unique']['seconds']:.1f}", f"{row['ratio_unique']:.1f}",
             f"{ours['all_keys']:.2f}", f"{ours['memory']:.2f}", f"{row['ratio_counters']:.0f}")
        )  # fmt: skip
        for size in row["growth"]:
            each = (f"{size[key] * 1e6 / size['tokens']:.4f}" for key in ("seconds", "all_keys"))
            growth.append((row["corpus"], size["tokens"], *each, f"{size['memory']:.2f}"))
    heads = ("corpus", "tokens", "contexts", "ours, s", "np.unique, s", "ratio", "all keys, s",
             "memory / file", "dict of Counters, 5 M tokens: ratio")  # fmt: skip
    grown = ("corpus", "tokens", "contexts and entropy", "all keys", "memory / file")
    sentence = "Growth, from a memory-mapped file; seconds for each million tokens:"
    return f"{table(heads, body)}\n\n{sentence}\n\n{table(grown, growth)}"


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["corpora"]:
        if row["ratio_unique"] < MUST["unique"]:
            lines.append(f"{row['corpus']}: x{row['ratio_unique']:.1f} np.unique")
        if row["ratio_counters"] < MUST["counters"]:
            lines.append(f"{row['corpus']}: x{row['ratio_counters']:.1f} dict of Counters")
        if row["ours"]["memory"] > MUST["memory"]:
            lines.append(f"{row['corpus']}: memory x{row['ours']['memory']:.2f} the file")
    return lines
