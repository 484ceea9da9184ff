"""Counting folders of shards: cost for each token and its growth, against one machine in place.

    python benchmarks/shards.py [--largest 100000000] [--jobs 2] [--write]

The corpora of statistics.py in shards of equal size. `byheart stats --engine processes` counts them
with a gibibyte for each worker, and the answer must be that of `byheart stats` on the same tokens
in one file, to the last digit. Seconds are those that processors worked, start of the workers
included; memory is the largest resident set of a worker, libraries included.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # this folder has a module that the standard library has too

import numpy as np  # noqa: E402

from byheart.data.corpora import CORPORA, save  # noqa: E402

LENGTH, VOCABULARY = 10, 50_000
GROWTH = (1_000_000, 10_000_000, 100_000_000, 200_000_000)
SHARDS = 16
FROM = 10_000_000  # tokens from which on growth is told: below, workers mostly start
CORES, TRILLION = 1_000, 10**12
BEGIN, END = "<!-- shards:begin -->", "<!-- shards:end -->"


def counted(folder: Path, jobs: int) -> dict:
    """The answer, the seconds and the memory of all workers; in a process of its own."""
    from byheart.data.statistics import MEMORY, shards
    from byheart.machine.engines import Workers

    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        found, how = shards.statistics(
            folder, Workers(jobs=jobs), Path(work), MEMORY, separator=VOCABULARY
        )
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "answer": found.json(),
        "seconds": spent.ru_utime + spent.ru_stime,
        "resident": spent.ru_maxrss * 1024,
        **how,
    }


def in_place(path: Path) -> dict:
    """The answer of one machine, and its seconds after compiled code is loaded."""
    from byheart.data.statistics import stats

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.bin"
        save(CORPORA["prefix-tree"](1 << 18), small)
        stats(small, separator=VOCABULARY)
    started = time.process_time()
    found = stats(path, separator=VOCABULARY)
    return {"answer": found.json(), "seconds": time.process_time() - started}


def measured(task: str, path: Path, jobs: int) -> dict:
    """One of the two in a fresh process."""
    command = [sys.executable, __file__, "--task", task, "--path", str(path), "--jobs", str(jobs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def compared(kind: str, tokens: int, jobs: int) -> dict:
    """Both counts of one corpus, which must agree."""
    with tempfile.TemporaryDirectory() as folder:
        path, parts = Path(folder) / "corpus.bin", Path(folder) / "shards"
        save(CORPORA[kind](tokens // LENGTH, LENGTH, VOCABULARY), path)
        parts.mkdir()
        rows = np.fromfile(path, np.uint16).reshape(-1, LENGTH + 1)
        for i, part in enumerate(np.array_split(rows, SHARDS)):
            part.tofile(parts / f"{i:03}.bin")
        del rows
        ours, alone = measured("shards", parts, jobs), measured("alone", path, jobs)
    if ours["answer"] != alone["answer"]:
        sys.exit(f"{kind}, {tokens} tokens: {ours['answer']} is not {alone['answer']}")
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


def markdown(rows: list[dict]) -> str:
    """The tables of docs/statistics.md."""
    lines = [
        "| corpus | tokens | contexts | microseconds per token | on one machine, in place "
        "| ratio | bytes exchanged per token | memory of a worker, MB | partitions |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        each, alone = (1e6 * row[key] / row["tokens"] for key in ("seconds", "alone"))
        lines.append(
            f"| {row['corpus']} | {row['tokens']:,} | {row['contexts']:,} | {each:.2f} "
            f"| {alone:.3f} | {each / alone:.0f} | {row['exchanged'] / row['tokens']:.0f} "
            f"| {row['resident'] / 1e6:.0f} | {' + '.join(map(str, row['partitions']))} |"
        )
    grown = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        own = {
            row["tokens"]: row["seconds"] / row["tokens"] for row in rows if row["corpus"] == corpus
        }
        if FROM in own and max(own) > FROM:
            grown.append(f"{own[max(own)] / own[FROM]:.2f} ({corpus})")
    if grown:
        lines += [
            "",
            f"From {FROM:,} tokens to {max(row['tokens'] for row in rows):,} the cost of a token "
            f"changes by a factor of {', '.join(grown)}.",
        ]
    lines += [
        "",
        f"Calculated from the last row of each corpus, on {CORES:,} cores that are always busy, "
        "with as many bytes for each token:",
        "",
        "| corpus | tokens | core hours | time | exchanged through the shared folder |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in {row["corpus"]: row for row in rows}.values():
        for tokens in (10**9, TRILLION):
            seconds = row["seconds"] / row["tokens"] * tokens
            held = row["exchanged"] / row["tokens"] * tokens
            lasts = (
                f"{seconds / CORES:.0f} s" if seconds < 1e5 else f"{seconds / CORES / 60:.0f} min"
            )
            size = f"{held / 1e12:.1f} TB" if held >= 1e12 else f"{held / 1e9:.0f} GB"
            lines.append(
                f"| {row['corpus']} | {tokens:,} | {seconds / 3600:,.1f} | {lasts} | {size} |"
            )
    return "\n".join(lines)


def write(text: str) -> None:
    path = ROOT / "docs/statistics.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000, help="tokens")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument(
        "--write", action="store_true", help="write shards.json and docs/statistics.md"
    )
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        shards = options.task == "shards"
        found = counted(options.path, options.jobs) if shards else in_place(options.path)
        print(json.dumps(found))
        return
    needed, free = 130 * options.largest, shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        sys.exit(f"{needed:,} free bytes are needed and there are {free:,}; use --largest")
    rows = []
    for kind in CORPORA:
        for tokens in (x for x in GROWTH if x <= options.largest):
            rows.append(compared(kind, tokens, options.jobs))
            print(json.dumps(rows[-1]), flush=True)
    print(markdown(rows))
    if options.write:
        machine = (
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        )
        report = json.dumps({"machine": machine, "rows": rows}, indent=1)
        (ROOT / "benchmarks/shards.json").write_text(report + "\n")
        write(markdown(rows))


if __name__ == "__main__":
    main()
