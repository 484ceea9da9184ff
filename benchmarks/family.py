"""The paper's sizes beside ours, in every setting: a table, JSON, and the table in docs/sizes.md.

    python benchmarks/family.py [--largest 100000] [--write]

Every network counts only after it has been verified: on all of its data (proved), or for the
paper's own construction beyond 1,000 sequences (bit-extraction: beyond 10,000) on a random sample
(sampled). "plain" is hash-fold-retrieve on random sequences with as many contexts.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import byheart
from byheart.data.dataset import Dataset
from byheart.data.generate import multisets, random, tokens

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- family:begin -->", "<!-- family:end -->"
SIZES = (100, 1000, 10_000, 100_000)
LARGEST_FAITHFUL = 10_000  # other settings than bit-extraction beyond this: closed forms only
SAMPLE = 50
FLOAT64 = {1000: 528, 10_000: 1382, 100_000: 9835}  # must not be exceeded
WITHIN = 1.1  # of plain


@dataclass(frozen=True)
class Setting:
    """A setting of the theorem, random data for it, and the methods of both forms."""

    name: str
    data: Callable[[int], Dataset]
    small: dict
    faithful: dict | None = None


def ids(sequences: int) -> Dataset:
    """Random sequences of integers, to be read as ids."""
    return replace(random(sequences, dimension=1), kind="number")


SETTINGS = (
    Setting("one label per sequence", random, {}, {"method": "bit-extraction"}),
    Setting(
        "one label per token",
        lambda n: tokens(n // 4),
        {"method": "seq2seq"},
        {"method": "seq2seq", "form": "faithful"},
    ),
    Setting("sparse attention", random, {"method": "sparse-attention"}),
    Setting(
        "multisets",
        multisets,
        {"method": "deep-sets"},
        {"method": "deep-sets", "form": "faithful"},
    ),
    Setting("ids", ids, {"method": "embedding"}, {"method": "embedding", "form": "faithful"}),
    Setting(
        "64 bits per parameter",
        random,
        {"method": "limited-bits"},
        {"method": "limited-bits", "form": "faithful"},
    ),
    Setting("float64", random, {"method": "float64"}),
)


def measure(dataset: Dataset, **options) -> dict:
    started = time.perf_counter()
    model = byheart.compile(dataset, **options)
    about = model.about
    return {
        "contexts": about["data"]["contexts"],
        "nonzero": about["parameters"]["nonzero"],
        "counted": about["parameters"]["counted"],
        "dense": about["parameters"]["dense"],
        "largest": about["bits"]["largest"],
        "depth": model.network.depth,
        "width": model.network.width,
        "evidence": about["verification"].evidence,
        "checked": about["verification"].checked,
        "seconds": time.perf_counter() - started,
    }


def plain(contexts: int, known: dict[int, int] = {}) -> int:  # noqa: B006  a memory on purpose
    """Nonzero parameters of hash-fold-retrieve for as many contexts, on data of its own."""
    if contexts not in known:
        sequences = contexts
        while (found := measure_contexts(sequences)) < contexts:
            sequences += max(1, contexts - found)
        known[contexts] = measure(random(sequences, seed=1))["nonzero"]
    return known[contexts]


def measure_contexts(sequences: int) -> int:
    from byheart.data.contexts import contexts

    return len(contexts(random(sequences, seed=1), positions=False))


def faithful(setting: Setting, dataset: Dataset, sequences: int) -> dict | None:
    """The paper's own network, proved on all of the data or on a sample of it."""
    own = setting.faithful
    if own is None:
        return None
    whole = own["method"] == "bit-extraction"
    if sequences > LARGEST_FAITHFUL and not whole:
        return None
    small = sequences <= (10_000 if whole else 1000)
    return measure(dataset, sample=None if small else SAMPLE, **own)


def rows(largest: int) -> list[dict]:
    table = []
    for sequences in (n for n in SIZES if n <= largest):
        for setting in SETTINGS:
            dataset = setting.data(sequences)
            small = measure(dataset, **setting.small)
            row = {"setting": setting.name, "sequences": len(dataset), "N": sequences}
            row |= {"ours": small, "plain": plain(small["contexts"])}
            row["paper"] = faithful(setting, dataset, sequences)
            table.append(row)
            print(line(row), flush=True)
    return table


def compared(row: dict) -> int:
    """What is compared with plain: an embedding matrix does not count."""
    return row["ours"]["counted" if row["setting"] == "ids" else "nonzero"]


def line(row: dict) -> str:
    """One row of the table."""
    ours, paper = row["ours"], row["paper"]
    theirs = f"{paper['nonzero']:,} ({paper['evidence']})" if paper else "-"
    factor = f"{paper['nonzero'] / ours['nonzero']:.0f}" if paper else "-"
    return (
        f"| {row['setting']} | {row['sequences']:,} | {ours['contexts']:,} | {theirs} "
        f"| {ours['nonzero']:,} ({ours['evidence']}) | {factor} "
        f"| {compared(row) / row['plain']:.2f} | {ours['largest']:,} |"
    )


def markdown(table: list[dict]) -> str:
    head = [
        "| setting | sequences | contexts | nonzero, the paper's construction | nonzero, ours "
        "| factor | ours / plain | longest parameter, bits |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *map(line, table)])


def missed(table: list[dict]) -> list[str]:
    """Limits that do not hold."""
    found = []
    for row in table:
        where = f"{row['setting']}, N = {row['N']}"
        limited = row["setting"] in ("64 bits per parameter", "float64")
        if not limited and compared(row) > WITHIN * row["plain"]:
            found.append(f"{where}: {compared(row)} against {row['plain']} plain")
        if row["setting"] == "float64" and row["ours"]["nonzero"] > FLOAT64.get(row["N"], 1 << 60):
            found.append(f"{where}: {row['ours']['nonzero']} nonzero")
    return found


def write(text: str) -> None:
    path = ROOT / "docs/sizes.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument(
        "--write", action="store_true", help="write family.json and the table in docs/sizes.md"
    )
    options = parser.parse_args()
    table = rows(options.largest)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    print(markdown(table))
    if options.write:
        results = {"machine": machine, "rows": table}
        (ROOT / "benchmarks/family.json").write_text(json.dumps(results, indent=1) + "\n")
        write(markdown(table))
    if found := missed(table):
        sys.exit("not reached: " + "; ".join(found))


if __name__ == "__main__":
    main()
