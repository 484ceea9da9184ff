"""What each idea of the field costs on the same data: JSON, and docs/comparison.md.

    python benchmarks/comparison.py [--largest 10000] [--write]

N different single vectors of 16 integers below 256, and N contexts of 4 different ids below 50
(multiset and last token), with uniform labels. Every network that has an evidence was built and
verified on all of its data; the others are predicted, which is exact (tests). `--write` also writes
the page.
"""

import argparse
import json
import random
import time
from pathlib import Path

import byheart
from byheart.compiler.compiling import configured, prepare, with_positions
from byheart.data.dataset import Dataset
from byheart.data.load import from_rows
from byheart.theory.growth import Shape, crossing

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "comparison.json", ROOT / "docs" / "comparison.md"
SIZES, LABELS, KINDS = (100, 1000, 10_000), (2, 10), ("vectors", "sequences")
SYSTEMS = {  # method and form: what it is after, and what the idea buys
    ("hash-fold-retrieve", None): (
        "ours",
        "a hash, stored numbers and folds: about 3.5 sqrt(N log2 C) parameters",
    ),
    ("embedding", "small"): ("ours, ids", "the same behind an embedding matrix"),
    ("attention-neurons", None): (
        "Huben & Morris 2023",
        "every neuron of `embedding` is a head of hard attention: no neuron at all, for about "
        "three times the parameters",
    ),
    ("three-layer", "small"): (
        "Yun et al. 2019",
        "a layer of switches between: half the weights of three layers",
    ),
    ("kim2023", "small"): (
        "Kim et al. 2023",
        "n rounds of attention sort the tokens: 10 n parameters, where one averaging layer takes 2",
    ),
    ("baum1988", None): (
        "Baum 1988",
        "the fewest units, the longest weights: about 7.5 bits times d",
    ),
    ("staircase", None): (
        "Nilsson 1965, Zhang et al. 2017, Huang & Babri 1998",
        "one hidden layer, linear in N: the baseline",
    ),
    ("three-layer", "faithful"): (
        "Yun et al. 2019",
        "sqrt(N) units, but as many parameters as the staircase",
    ),
    ("park2021", None): (
        "Park et al. 2021",
        "N^(2/3): below the staircase from about 800 points on",
    ),
    ("yun2020", None): (
        "Yun et al. 2020",
        "a layer for every token: depth grows with the vocabulary",
    ),
    ("bubeck2020", None): (
        "Bubeck et al. 2020",
        "four units for d points of any labels: the number of labels costs nothing",
    ),
    ("vardi2022", "small"): (
        "Vardi et al. 2022",
        "sqrt(N log N): the best order of growth, and the largest constant",
    ),
    ("kim2023", "faithful"): ("Kim et al. 2023", "its own look-up: that of Vardi et al."),
    ("vardi2022", "faithful"): (
        "Vardi et al. 2022",
        "keys as long as the proof has them, twice as long as needed",
    ),
    ("bit-extraction", None): (
        "Kajitsuka & Sato 2025",
        "the same for sequences as it is proved: about three times Vardi et al.",
    ),
}
SLOW = {"vardi2022", "bit-extraction", "bubeck2020", "yun2020"}  # predicted beyond 1,000 contexts


def data(kind: str, count: int, labels: int) -> Dataset:
    """Different vectors, or different contexts of ids."""
    pick, found = random.Random(count + labels), {}
    while len(found) < count:
        if kind == "vectors":
            point = tuple(pick.randrange(256) for _ in range(16))
            found[point] = [list(point)]
        else:
            row = pick.sample(range(50), 4)
            found[tuple(sorted(row[:3])), row[3]] = row
    return from_rows([(row, pick.randrange(labels)) for row in found.values()])


def measure(method: str, form: str | None, dataset: Dataset, build: bool) -> dict:
    """The counts of one system; a refusal where it does not read such data."""
    row: dict = {"method": method, "form": form}
    started = time.process_time()
    try:
        construction = with_positions(configured(method, form, 0, {}), dataset)
        told = construction.predict(*prepare(construction, dataset, "refuse"))
        if not build and told is not None:
            return row | {"nonzero": told.parameters, "depth": told.depth, "units": told.units}
        model = byheart.compile(dataset, method, form)
    except byheart.ByheartError as error:
        return row | {"refused": str(error)}
    return row | {
        "nonzero": model.parameters.nonzero,
        "dense": model.parameters.dense,
        "bits": model.bits.total,
        "longest": model.bits.largest,
        "units": model.network.units,
        "depth": model.network.depth,
        "evidence": model.verification.evidence,
        "cpu": round(time.process_time() - started, 1),
    }


def cell(found: dict | None) -> str:
    """Nonzero parameters; in italics where nothing was built."""
    if found is None or "nonzero" not in found:
        return "-"
    shown = f"{found['nonzero']:,}"
    return shown if found.get("evidence") == "proved" else f"*{shown}*"


def page(results: list[dict]) -> str:
    """The tables, and the sentence on what each idea buys."""
    found = {
        (x["kind"], x["labels"], x["count"], row["method"], row["form"]): row
        for x in results
        for row in x["rows"]
    }
    counts = sorted({x["count"] for x in results})
    lines = [
        "# What does each idea of the field cost?",
        "",
        "The systems that the papers compare themselves with, built on the same data by the "
        "methods of [the page of methods](methods.md). Written by `python "
        "benchmarks/comparison.py --write`; `byheart compare DATA --build` prints such a table for "
        "your own file.",
        "",
        "Nonzero parameters, embedding and output included. Networks were built, and every label "
        "proved; numbers in italics are predicted in closed form, which is exact. *Vectors* are N "
        "single vectors of 16 integers below 256, *sequences* N contexts of 4 different ids below "
        "50. Labels are uniform.",
        "",
    ]
    for labels in LABELS:
        heads = [f"{kind}, {count:,}" for kind in KINDS for count in counts]
        lines += [f"## {labels} labels", "", f"| method | after | {' | '.join(heads)} |"]
        lines.append(f"| --- | --- |{' ---: |' * len(heads)}")
        for (method, form), (after, _) in SYSTEMS.items():
            cells = [
                cell(found.get((kind, labels, count, method, form)))
                for kind in KINDS
                for count in counts
            ]
            name = f"`{method}`" + (f" ({form})" if form else "")
            lines.append(f"| {name} | {after} | {' | '.join(cells)} |")
        lines.append("")
    lines += [
        "## Beside the number of parameters",
        "",
        "At N = 1,000 with 2 labels: units are neurons and heads, *longest* is the longest "
        "parameter in bits.",
        "",
        "| method | data | nonzero | dense | bits | longest | units | depth |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (method, form), _ in SYSTEMS.items():
        for kind in KINDS:
            row = found.get((kind, 2, 1000, method, form), {})
            if row.get("evidence") != "proved":
                continue
            name = f"`{method}`" + (f" ({form})" if form else "")
            sizes = (row[x] for x in ("nonzero", "dense", "bits", "longest", "units", "depth"))
            lines.append(f"| {name} | {kind} | {' | '.join(f'{x:,}' for x in sizes)} |")
    lines += ["", "## What each idea buys", ""]
    for (method, form), (after, buys) in SYSTEMS.items():
        lines.append(f"- `{method}`{f' ({form})' if form else ''}, after {after}: {buys}.")
    shape = Shape(1, 16, 2, 1000)
    park, four = (
        crossing(*pair, shape)
        for pair in (("vardi2022 (small)", "park2021"), ("park2021", "three-layer (small)"))
    )
    assert park is not None and four is not None
    lines += [
        "",
        "At these sizes the order is nearly the reverse of the asymptotic one. By closed forms for "
        "random vectors with two labels (`byheart compare DATA --until 1e9 --plot FILE`), Park et "
        f"al. pass four layers at about {float(f'{four:.1e}'):,.0f} points, and Vardi et al. "
        f"pass Park et al. at about {float(f'{park:.1e}'):,.0f}.",
        "",
        "Mahdavi et al. 2024 and Cabannes et al. 2024 are rows of `compare`, not methods: the "
        "first is Dana et al. with more heads, and the second reads single tokens and stores its "
        "random encoders beside the matrix. Kajitsuka & Sato 2024 is `one-layer --no-positions`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--write", action="store_true", help="write docs/comparison.md as well")
    given = parser.parse_args()
    results = []
    for count in (x for x in SIZES if x <= given.largest):
        for kind in KINDS:
            for labels in LABELS:
                dataset, rows = data(kind, count, labels), []
                for method, form in SYSTEMS:
                    slow = method in SLOW or (method, form) == ("kim2023", "faithful")
                    build = count <= 1000 or (not slow and labels == 2)
                    rows.append(measure(method, form, dataset, build))
                    print(kind, labels, count, rows[-1], flush=True)
                results.append({"kind": kind, "labels": labels, "count": count, "rows": rows})
    if given.largest < SIZES[-1]:
        return
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if given.write:
        PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
