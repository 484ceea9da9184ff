"""Attention-only transformers: conditioning, accuracy, evidence, and time by stage.

    python benchmarks/attention_only.py [--largest 4000] [--write]

T_0 different contexts of S tokens drawn uniformly, each with a random label. Every row is measured
in a process of its own, warm (the same work was done before on 100 contexts). "LU" is a bare
factorisation of a random matrix of the size of the features, in the same process: "ratio" is how
many times as long features and solve take, and the least of three runs counts for each.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import byheart
from byheart.constructions.attention_only import AttentionOnly
from byheart.constructions.attention_only import solve as solving
from byheart.constructions.attention_only.plan import plan
from byheart.data.contexts import contexts
from byheart.data.dataset import Dataset
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.gadgets import heads as gadget

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- attention-only:begin -->", "<!-- attention-only:end -->"
RUNS = 3
# contexts, vocabulary, length, options
ROWS: list[tuple[int, int, int, dict]] = [
    (1000, 50, 2, {"dimension": 10}),
    (1000, 50, 2, {"dimension": 10, "tight": True}),
    (1000, 1000, 8, {"dimension": 10}),
    (300, 50, 2, {"dimension": 2}),
    (2500, 50, 2, {"dimension": 10}),
    (4000, 1000, 64, {"dimension": 16}),
    (10_000, 100, 2, {"dimension": 10}),
]


def associations(count: int, vocabulary: int, length: int, seed: int = 0) -> Dataset:
    """Different contexts, each with a label that is one of the tokens."""
    random = np.random.default_rng(seed)
    if vocabulary**length <= 4 * count:
        drawn = random.permutation(vocabulary**length)[:count]
        tokens = np.array(np.unravel_index(drawn, (vocabulary,) * length)).T
    else:
        tokens = np.unique(random.integers(0, vocabulary, (2 * count, length)), axis=0)
        tokens = random.permutation(tokens)[:count]
    labels = random.integers(0, vocabulary, count)
    return from_rows(list(zip(tokens.tolist(), labels.tolist(), strict=True)))


def least(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs."""
    seconds = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def stages(dataset: Dataset, options: dict) -> dict:
    """Seconds of the features, of solving with them, and of a bare LU; and the condition number."""
    from scipy.linalg import lu_factor

    found = plan("", targets(dataset, contexts(dataset, positions=True)), AttentionOnly(**options))
    tokens, shape = gadget.rows(found.targets), found.shape
    started = time.perf_counter()
    drawn = solving.drawn(shape, tokens, np.random.default_rng([0, 1]))
    selecting = time.perf_counter() - started
    features = gadget.features(drawn, tokens)
    wanted = np.random.default_rng(0).standard_normal((len(tokens), shape.dimension))
    square = np.random.default_rng(0).standard_normal((len(tokens), len(tokens)))
    return {
        "draw": selecting,
        "features": least(lambda: gadget.features(drawn, tokens)),
        "solve": least(lambda: solving.solve(features, wanted)),
        "lu": least(lambda: lu_factor(square)),
        "condition": solving.solve(features, wanted).condition,
    }


def measure(count: int, vocabulary: int, length: int, options: dict) -> dict:
    byheart.compile(associations(100, 50, 2), method="attention-only", **options)
    dataset = associations(count, vocabulary, length)
    model = byheart.compile(dataset, method="attention-only", **options)
    verified, shape = model.about["verification"], model.network.shape
    return {
        "contexts": len(dataset),
        "vocabulary": shape.vocabulary,
        "length": shape.length,
        "options": options,
        "dimension": shape.dimension,
        "heads": shape.heads,
        "parameters": shape.parameters,
        "accuracy": verified.fit.accuracy,
        "largest": verified.fit.max,
        "evidence": verified.evidence,
        "tries": model.about["search"]["tries"],
        "float32": model.about["notes"][-1],
        "build": model.about["seconds"]["build"],
        "verify": model.about["seconds"]["verify"],
        **stages(dataset, {name: value for name, value in options.items() if name != "tight"}),
    }


def apart(request: dict) -> dict:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(request)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def line(row: dict) -> str:
    tight = " --tight" if row["options"].get("tight") else ""
    ratio = (row["features"] + row["solve"]) / row["lu"]
    right = row["float32"].rpartition(", ")[2]
    return (
        f"| {row['contexts']:,} | {row['vocabulary']:,} | {row['length']} | {row['dimension']}"
        f"{tight} | {row['heads']} | {row['parameters']:,} | {100 * row['accuracy']:g} % "
        f"| {row['evidence']} | {right} | {row['condition']:.0e} | {row['draw']:.2f} "
        f"| {row['features']:.2f} | {row['solve']:.2f} | {row['lu']:.2f} | {ratio:.1f} "
        f"| {row['build']:.1f} | {row['verify']:.1f} |"
    )


def markdown(table: list[dict]) -> str:
    head = [
        "| T_0 | N | S | d | H | parameters | accuracy | evidence | float32 | condition | draw, s "
        "| features, s | solve, s | LU, s | ratio | build, s | verify, s |",
        "| ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: "
        "| ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *map(line, table)])


def write(text: str) -> None:
    path = ROOT / "docs/attention-only.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=4000)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument(
        "--write",
        action="store_true",
        help="write attention_only.json and the table in docs/attention-only.md",
    )
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(**options.one)))
        return
    table = []
    for count, vocabulary, length, chosen in (row for row in ROWS if row[0] <= options.largest):
        request = {"count": count, "vocabulary": vocabulary, "length": length, "options": chosen}
        table.append(apart(request))
        print(line(table[-1]), flush=True)
    print(markdown(table))
    if options.write:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        results = json.dumps({"machine": machine, "rows": table}, indent=1) + "\n"
        (ROOT / "benchmarks/attention_only.json").write_text(results)
        write(markdown(table))


if __name__ == "__main__":
    main()
