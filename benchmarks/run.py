"""Sizes, rates and growth of compiled networks: a table, JSON, and the table in README.md.

    python benchmarks/run.py [--largest 1000000] [--seeds 5] [--write]

Every network is verified on every sequence before it counts. Seconds are from one machine and mean
little; ratios are against a baseline in the same run.
"""

import argparse
import json
import math
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

import byheart
from byheart.data.generate import random, save
from byheart.exact.evaluate import evaluate

ROOT = Path(__file__).parents[1]
MUST = {
    100: (82, 8.2),
    1000: (206, 3.2),
    10_000: (512, 1.65),
    100_000: (1330, 1.25),
    1_000_000: (3700, 1.1),
}
BEGIN, END = "<!-- benchmark:begin -->", "<!-- benchmark:end -->"


def goal(information: float) -> int:
    return round(3.5 * math.sqrt(information) + 23 * math.log2(information) - 100)


def measure(dataset, **options) -> dict:
    """One compiled and fully verified network."""
    started = time.perf_counter()
    model = byheart.compile(dataset, **options)
    about = model.about
    verification = about["verification"]
    assert verification.evidence == "proved" and verification.correct == len(dataset)
    return {
        "sequences": len(dataset),
        "contexts": about["data"]["contexts"],
        "nonzero": about["parameters"]["nonzero"],
        "dense": about["parameters"]["dense"],
        "bits": about["bits"]["total"] / about["bits"]["information"],
        "encoded": about["bits"]["encoded"] / about["bits"]["information"],
        "goal": goal(about["bits"]["information"]),
        "depth": model.network.depth,
        "width": model.network.width,
        "tries": about["search"]["tries"],
        "evidence": verification.evidence,
        "build": about["seconds"]["build"],
        "verify": about["seconds"]["verify"],
        "seconds": time.perf_counter() - started,
    }


def median(rows: list[dict]) -> dict:
    """The network in the middle by nonzero parameters, bits and all from that same network."""
    return sorted(rows, key=lambda row: row["nonzero"])[len(rows) // 2]


def sizes(largest: int, seeds: int) -> list[dict]:
    table = []
    for sequences in (n for n in MUST if n <= largest):
        rows = []
        for seed in range(seeds):
            rows.append(measure(random(sequences, seed=seed)))
            say(f"N = {sequences}, seed {seed}", rows[-1])
        row = median(rows)
        row["all_nonzero"] = [r["nonzero"] for r in rows]
        row["all_bits"] = [round(r["bits"], 4) for r in rows]
        row["must_nonzero"], row["must_bits"] = MUST[sequences]
        row["reached"] = row["nonzero"] <= row["must_nonzero"] and row["bits"] <= row["must_bits"]
        table.append(row)
    return table


def engines(sequences: int) -> dict:
    """Sequences verified per CPU second, in the same run and on the same network.

    limbs    compiled kernels, warm, a thread a core
    exact    Python integers, all sequences of a chunk at once in numpy object arrays
    checker  Python integers, one sequence at a time: the independent checker, on the first thousand
    """
    dataset = random(sequences, seed=0)
    model = byheart.compile(dataset)
    batch, wanted = model.claim.batch(model, dataset)
    rates = {"checker": checker_rate(model, dataset)}
    for engine in ("limbs", "exact"):
        rates[engine] = rate(model.network, batch, wanted, engine)
    return {
        "sequences": sequences,
        **rates,
        "ratio": rates["limbs"] / rates["exact"],
        "ratio_checker": rates["limbs"] / rates["checker"],
    }


def rate(network, batch, wanted, engine: str) -> float:
    """Sequences per CPU second, the best of a few times."""
    best = 0.0
    for _ in range(2 if engine == "exact" else 4):
        started = time.process_time()
        outputs = evaluate(network, batch, engine)
        seconds = time.process_time() - started
        assert list(outputs) == wanted.tolist()
        best = max(best, len(wanted) / seconds)
    return best


def rates(largest: int) -> list[dict]:
    """Sequences per CPU second of the compiled kernels, for networks that minimise either size.

    From 10,000 on those with few bits have tables, smaller ones have folds that read kept bits.
    """
    rows = []
    for sequences in (n for n in (1000, 10_000, 100_000, 1_000_000) if n <= largest):
        dataset = random(sequences, seed=0)
        row: dict = {"sequences": sequences}
        for minimise in ("nonzero", "bits"):
            model = byheart.compile(dataset, minimise=minimise)
            batch, wanted = model.claim.batch(model, dataset)
            row[minimise] = rate(model.network, batch, wanted, "limbs")
        print(f"N = {sequences}: {row['nonzero']:,.0f} sequences per CPU second", flush=True)
        rows.append(row)
    return rows


def checker_rate(model, dataset, count: int = 1000) -> float:
    """Sequences per CPU second of the independent checker, reading not counted."""
    sys.path.insert(0, str(ROOT / "checker"))
    import check

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.jsonl"
        with path.open("w") as file:
            for i in range(count):
                row = {"input": dataset.sequence(i), "label": dataset.label(i)}
                file.write(json.dumps(row) + "\n")
        model.save(Path(folder) / "model")
        opened, data = check.read_model(str(Path(folder) / "model")), check.read_data(str(path))
    vectors = check.token_vectors(opened, data)
    started = time.process_time()
    assert not any(check.wrong_answers(opened, data, vectors, i) for i in range(count))
    return count / (time.process_time() - started)


def stages(sequences: int) -> dict:
    """Load, build and verify from a file, and the memory that the whole process ever needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        save(random(sequences, seed=0), path)
        started = time.perf_counter()
        dataset = byheart.load(path)
        loaded = time.perf_counter() - started
        row = measure(dataset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    total = loaded + row["seconds"]
    return {
        "sequences": sequences,
        "load": loaded,
        "build": row["build"],
        "verify": row["verify"],
        "total": total,
        "peak_gib": peak,
    }


def labels() -> list[dict]:
    """More labels, and skewed ones, at 10^4 sequences."""
    rows = []
    for count, skew in (
        (1000, "uniform"),
        (3, "uniform"),
        (16, "uniform"),
        (16, "zipf"),
        (16, "geometric"),
    ):
        row = measure(random(10_000, labels=count, seed=0, skew=skew))
        rows.append({"labels": count, "skew": skew, **row})
        say(f"C = {count} {skew}", row)
    return rows


def say(what: str, row: dict) -> None:
    print(
        f"{what}: {row['nonzero']} nonzero (goal {row['goal']}), bits x{row['bits']:.3f}, "
        f"encoded x{row['encoded']:.3f}, {row['dense']} dense, build {row['build']:.1f} s, "
        f"verify {row['verify']:.1f} s, {row['tries']} tries",
        flush=True,
    )


def markdown(results: dict) -> str:
    """The table of README.md."""
    lines = [
        "Random labelled sequences of length 4 over vectors of two coordinates, two labels, with",
        "permuted copies, equal multisets with another last token, repeated tokens and duplicates",
        "(`byheart generate random`). A row is one network, the median of five datasets.",
        "Information I: contexts x log2(labels) bits; the goal is 3.5 sqrt(I) + 23 log2(I) - 100.",
        "",
        "| sequences | contexts | nonzero parameters | goal | bits / information "
        "| encoded / information | depth | verified |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in results["sizes"]:
        lines.append(
            f"| {row['sequences']:,} | {row['contexts']:,} | {row['nonzero']:,} | {row['goal']:,} "
            f"| {row['bits']:.2f} | {row['encoded']:.2f} | {row['depth']} "
            f"| all {row['sequences']:,}, {row['evidence']} |"
        )
    ratio, growth = results["engines"], results["stages"]
    lines.append("")
    seconds = "; ".join(
        f"{row['sequences']:,} sequences: load {row['load']:.1f} s, build {row['build']:.1f} s, "
        f"verify {row['verify']:.1f} s, peak memory {row['peak_gib']:.1f} GiB"
        for row in growth
    )
    dense = results["dense"]
    speeds = "; ".join(
        f"{round(row['nonzero'], -4):,.0f} of {row['sequences']:,}" for row in results["rates"]
    )
    lines.append(
        f"Exact verification of {ratio['sequences']:,} sequences: per CPU second, the compiled "
        f"kernels do {ratio['ratio']:.0f} times as many as Python integers in numpy object arrays "
        f"and {ratio['ratio_checker']:.0f} times as many as Python integers one sequence at a "
        f"time. They verify {speeds} sequences per CPU second. "
        f"{seconds}. "
        f"{dense['dense']:,} dense parameters with `--minimise dense` "
        f"at {dense['sequences']:,} sequences."
    )
    return "\n".join(lines)


def write_compiled(rows: list[dict]) -> None:
    """The compiled models beside trained ones, in the figure morris-capacity."""
    lines = ["sequences,contexts,parameters,stored_bits"]
    for row in rows:
        bits = round(row["bits"] * row["contexts"])  # two labels: a bit of information per context
        lines.append(f"{row['sequences']},{row['contexts']},{row['nonzero']},{bits}")
    path = ROOT / "byheart" / "reproduce" / "published" / "compiled.csv"
    path.write_text("\n".join(lines) + "\n")


def write_readme(text: str) -> None:
    path = ROOT / "README.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--write", action="store_true", help="write results.json and the table in README.md"
    )
    options = parser.parse_args()
    measure(random(3000, seed=9))  # compile the kernels
    growth = [stages(n) for n in (100_000, 1_000_000) if n <= options.largest]
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "stages": growth,
        "engines": engines(min(100_000, options.largest)),
        "rates": rates(options.largest),
        "dense": measure(random(options.largest, seed=0), minimise="dense"),
        "labels": labels(),
        "sizes": sizes(options.largest, options.seeds),
    }
    if len(growth) == 2:
        keys = ("load", "build", "verify", "total")
        results["growth"] = {key: growth[1][key] / growth[0][key] for key in keys}
    print(markdown(results))
    print(json.dumps(results, indent=1))
    if options.write:
        (ROOT / "benchmarks/results.json").write_text(json.dumps(results, indent=1) + "\n")
        write_readme(markdown(results))
        write_compiled(results["sizes"])
    missed = [row["sequences"] for row in results["sizes"] if not row["reached"]]
    if missed:
        sys.exit(f"numbers not reached at N = {missed}")


if __name__ == "__main__":
    main()
