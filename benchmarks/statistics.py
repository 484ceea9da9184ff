"""Counting the contexts of large corpora: rates against baselines, memory, growth.

    python benchmarks/statistics.py [--tokens 50000000] [--largest 200000000] [--write]

Two corpora in rows of 10 tokens over 50,000: `byheart generate zipf`, and `prefix-tree`, which
repeats itself. Ratios are against a baseline in the same run and for the same numbers, contexts and
entropy, after a small run has loaded the compiled code; "all keys" is the whole answer of `byheart
stats`. We use a thread a core, the baselines have one. Memory is the largest resident set above the
state after imports and that small run, pages of the mapped file included.
"""

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # this folder has a module that the standard library has too

import numpy as np  # noqa: E402

from byheart.data.corpora import CORPORA, save  # noqa: E402

LENGTH, VOCABULARY = 10, 50_000
COUNTER_TOKENS = 5_000_000
GROWTH = (2_000_000, 20_000_000, 200_000_000)
MUST = {"unique": 5, "counters": 20, "memory": 2.5}
BEGIN, END = "<!-- statistics:begin -->", "<!-- statistics:end -->"


def counted(path: Path, runs: int) -> dict:
    """Our times and memory; in a process of its own, see `measured`."""
    from byheart.data.statistics import corpus, stats

    def answer(file: Path) -> dict:
        return stats(file, separator=VOCABULARY).json()

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.bin"
        save(CORPORA["prefix-tree"](1 << 18), small)
        answer(small)
    spent, multisets = [], corpus.multisets

    def timed(*arguments):
        started = time.perf_counter()
        result = multisets(*arguments)
        spent.append(time.perf_counter() - started)
        return result

    corpus.multisets = timed
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM is now VmRSS
    before = memory("VmRSS")
    rows = []
    for _ in range(runs):
        started = time.perf_counter()
        found = answer(path)
        total = time.perf_counter() - started
        rows.append((total - spent[-1], total))
    return {
        "contexts": found["contexts"],
        "entropy": found["entropy"]["total"],
        "seconds": min(row[0] for row in rows),
        "all_keys": min(row[1] for row in rows),
        "memory": (memory("VmHWM") - before) / path.stat().st_size,
    }


def memory(name: str) -> int:
    """Bytes of this process: VmRSS, in memory now, or VmHWM, when there were most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def measured(path: Path, runs: int = 3) -> dict:
    """`counted` in a fresh process."""
    command = [sys.executable, __file__, "--count", str(path), "--runs", str(runs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def with_unique(path: Path) -> dict:
    """np.unique on (parent rank x vocabulary + token), length by length."""
    tokens = np.fromfile(path, np.uint16).reshape(-1, LENGTH + 1)[:, :LENGTH]
    started = time.perf_counter()
    found, entropy = 0, 0.0
    parents, rank, seen = np.unique(tokens[:, 0], return_inverse=True, return_counts=True)
    for length in range(1, LENGTH):
        found += len(parents)
        keys = rank * VOCABULARY + tokens[:, length]
        parents, rank, counts = np.unique(keys, return_inverse=True, return_counts=True)
        entropy += float((counts * np.log(seen[parents // VOCABULARY] / counts)).sum())
        seen = counts
    return {"contexts": found, "entropy": entropy, "seconds": time.perf_counter() - started}


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


def measure(kind: str, tokens: int, largest: int, folder: str) -> dict:
    """All numbers of one corpus."""
    path = written(kind, tokens, folder)
    ours, unique = measured(path), with_unique(path)
    result = {"corpus": kind, "tokens": tokens, "ours": ours, "unique": unique}
    result["ratio_unique"] = compared(ours, unique)
    path = written(kind, COUNTER_TOKENS, folder)
    ours, counters = measured(path), with_counters(path)
    result |= {"ours_small": ours, "counters": counters}
    result["ratio_counters"] = compared(ours, counters)
    result["growth"] = []
    for size in (size for size in GROWTH if size <= largest):
        path = written(kind, size, folder)
        result["growth"].append({"tokens": size, **measured(path, 2)})
        path.unlink()
    say(result)
    return result


def say(result: dict) -> None:
    ours = result["ours"]
    print(
        f"{result['corpus']}, {result['tokens']:,} tokens: {ours['seconds']:.2f} s, all keys "
        f"{ours['all_keys']:.2f} s; np.unique {result['unique']['seconds']:.2f} s "
        f"(x{result['ratio_unique']:.1f}); at {COUNTER_TOKENS:,} tokens "
        f"{result['ours_small']['seconds']:.3f} s, dict of Counters "
        f"{result['counters']['seconds']:.1f} s (x{result['ratio_counters']:.0f}); "
        f"memory x{ours['memory']:.2f} the file",
        flush=True,
    )


def markdown(results: list[dict]) -> str:
    """The tables of docs/statistics.md."""
    lines = [
        "| corpus | tokens | contexts | ours, s | np.unique, s | ratio | all keys, s "
        "| memory / file | dict of Counters, 5 M tokens: ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in results:
        ours = row["ours"]
        lines.append(
            f"| {row['corpus']} | {row['tokens']:,} | {ours['contexts']:,} "
            f"| {ours['seconds']:.2f} | {row['unique']['seconds']:.1f} "
            f"| {row['ratio_unique']:.1f} | {ours['all_keys']:.2f} | {ours['memory']:.2f} "
            f"| {row['ratio_counters']:.0f} |"
        )
    lines += [
        "",
        "Growth, from a memory-mapped file; seconds for each million tokens:",
        "",
        "| corpus | tokens | contexts and entropy | all keys | memory / file |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in results:
        for size in row["growth"]:
            million = size["tokens"] / 1e6
            lines.append(
                f"| {row['corpus']} | {size['tokens']:,} | {size['seconds'] / million:.4f} "
                f"| {size['all_keys'] / million:.4f} | {size['memory']:.2f} |"
            )
    return "\n".join(lines)


def missed(results: list[dict]) -> list[str]:
    """Limits that do not hold."""
    found = []
    for row in results:
        if row["ratio_unique"] < MUST["unique"]:
            found.append(f"{row['corpus']}: x{row['ratio_unique']:.1f} np.unique")
        if row["ratio_counters"] < MUST["counters"]:
            found.append(f"{row['corpus']}: x{row['ratio_counters']:.1f} dict of Counters")
        if row["ours"]["memory"] > MUST["memory"]:
            found.append(f"{row['corpus']}: memory x{row['ours']['memory']:.2f} the file")
    return found


def write(text: str) -> None:
    path = ROOT / "docs/statistics.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def check_disk(folder: str, tokens: int) -> None:
    needed, free = 4 * tokens, shutil.disk_usage(folder).free
    if needed > free:
        sys.exit(f"{folder} needs {needed:,} free bytes and has {free:,}; use --largest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=50_000_000)
    parser.add_argument("--largest", type=int, default=GROWTH[-1], help="tokens, for growth")
    parser.add_argument(
        "--write", action="store_true", help="write statistics.json and docs/statistics.md"
    )
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        print(json.dumps(counted(options.count, options.runs)))
        return
    with tempfile.TemporaryDirectory() as folder:
        check_disk(folder, max(options.tokens, options.largest))
        measured(written("zipf", 100_000, folder), 1)  # compiles, if that is still to be done
        results = [measure(kind, options.tokens, options.largest, folder) for kind in CORPORA]
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(json.dumps({"machine": machine, "corpora": results}))
    print(markdown(results))
    if options.write:
        report = json.dumps({"machine": machine, "corpora": results}, indent=1)
        (ROOT / "benchmarks/statistics.json").write_text(report + "\n")
        write(markdown(results))
    if found := missed(results):
        sys.exit("not reached: " + "; ".join(found))


if __name__ == "__main__":
    main()
