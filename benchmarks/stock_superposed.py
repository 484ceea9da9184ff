"""Superposition in a stock GPT-2: bits per parameter, and what is proved.

    python benchmarks/stock_superposed.py [--data ../shared/data] [--largest 10000] [--write]

The first facts of CounterFact, compiled with `--superposed M` for several M. Bits are the entropy
of all next tokens by their frequencies, ends of answers included; the memory is the MLP, and the
checkpoint is everything, with the embedding of all tokens. Every row is measured in a process of
its own with one thread; seconds are CPU seconds. The independent checker encloses a sample of the
predictions. Rows that were measured before are kept in stock_superposed.json; --again measures all.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import byheart
from byheart.compiler import compiling
from byheart.errors import AssumptionError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "checker"))
import check  # noqa: E402

BEGIN, END = "<!-- superposed:begin -->", "<!-- superposed:end -->"
JSON = ROOT / "benchmarks/stock_superposed.json"
THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
TOKENIZER, SAMPLE = "bpe:8000", 20
# facts and neurons; about 0.6, 1 and 1.5 bits per parameter of the memory
ROWS = [(1_000, 108), (1_000, 65), (1_000, 43), (3_000, 340), (10_000, 1_172)]


def measured(path: Path, count: int, neurons: int) -> dict:
    data = byheart.load(path, input=["prompt"], label="answer", tokenizer=TOKENIZER)
    proof, verify = 0.0, compiling.verify

    def timed(*given, **keywords):
        nonlocal proof
        started = time.process_time()
        found = verify(*given, **keywords)
        proof = time.process_time() - started
        return found

    compiling.verify = timed
    started = time.process_time()
    row: dict = {"facts": count, "neurons": neurons}
    try:
        model = byheart.compile(data, "gpt2", on_conflict="majority", superposed=neurons)
    except AssumptionError as error:
        return row | {"refused": str(error)}
    total = time.process_time() - started
    found = model.verification
    memory = sum(x.size for name, x in model.network.tensors.items() if ".mlp." in name)
    row |= {
        "predictions": found.checked,
        "entropy": model.bits.entropy,
        "memory": memory,
        "checkpoint": model.parameters.dense,
        "evidence": found.evidence,
        "margin": found.margin,
        "build": total - proof,
        "proof": proof,
    }
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / "model"
        held = model.claim.reads(model, data)
        if model.about["conflicts"]["relabelled"] == 0:
            model.save(place, data=held)
            report = check.check(str(place), str(place / "data.jsonl"), SAMPLE, 0)
            row |= {"checker": report.correct, "checked": report.checked}
    return row


def child(path: Path, count: int, neurons: int) -> dict:
    command = [sys.executable, __file__, "--row", json.dumps([str(path), count, neurons])]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=os.environ | THREAD, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def markdown(results: list[dict]) -> str:
    lines = [
        "| facts | predictions | neurons | bits per parameter of the memory | of the checkpoint "
        "| evidence, margin | checker | build, CPU s | proof, CPU s |",
        "| ---: | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: |",
    ]
    for row in sorted(results, key=lambda row: (row["facts"], -row["neurons"])):
        if "refused" in row:
            lines.append(f"| {row['facts']:,} | | {row['neurons']:,} | | | not found | | | |")
            continue
        margin = "" if row["margin"] is None else f", {row['margin']:.2f} nats"
        sampled = f"{row['checker']} of {row['checked']}" if "checker" in row else "-"
        lines.append(
            f"| {row['facts']:,} | {row['predictions']:,} | {row['neurons']:,} "
            f"| {row['entropy'] / row['memory']:.2f} | {row['entropy'] / row['checkpoint']:.3f} "
            f"| {row['evidence']}{margin} | {sampled} | {row['build']:.0f} | {row['proof']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--largest", type=int, default=10_000, help="facts")
    parser.add_argument("--again", action="store_true", help="measure all rows again")
    parser.add_argument("--write", action="store_true", help="write the JSON and docs/stock.md")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        path, count, neurons = json.loads(options.row)
        print(json.dumps(measured(Path(path), count, neurons)))
        return
    source = options.data / "counterfact.jsonl"
    if not source.exists():
        sys.exit(f"{options.data} has no counterfact.jsonl; give the folder with --data")
    known = [] if options.again or not JSON.exists() else json.loads(JSON.read_text())
    kept = {(row["facts"], row["neurons"]): row for row in known}
    results = []
    for count, neurons in ROWS:
        if (count, neurons) not in kept:
            if count > options.largest:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "facts.jsonl"
                path.write_text("".join(source.read_text().splitlines(keepends=True)[:count]))
                kept[count, neurons] = child(path, count, neurons)
            print(json.dumps(kept[count, neurons]), flush=True)
        results.append(kept[count, neurons])
        if options.write:
            JSON.write_text(json.dumps(results, indent=1) + "\n")
    print(markdown(results))
    if options.write:
        page = ROOT / "docs/stock.md"
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{BEGIN}\n{markdown(results)}\n{END}{after}")


if __name__ == "__main__":
    main()
