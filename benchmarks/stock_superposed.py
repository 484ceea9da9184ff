"""Superposition in a stock GPT-2: bits per parameter, and what is proved.

The first facts of CounterFact, compiled with `--superposed M` for several M. Bits are the entropy
of all next tokens by their frequencies, ends of answers included; the memory is the MLP, and the
checkpoint is everything, with the embedding of all tokens. Every row is measured in a process of
its own with one thread. The independent checker encloses a sample of the predictions.
"""

import json
import sys
import tempfile
from pathlib import Path

import byheart
from byheart.errors import AssumptionError
from byheart.stock.prove import reads

from .report import ROOT, Options, cpu_seconds, of, table
from .stock import facts

SAMPLE = 20
# facts and neurons; about 0.6, 1 and 1.5 bits per parameter of the memory
ROWS = [(1_000, 108), (1_000, 65), (1_000, 43), (3_000, 340)]


def measured(source: Path, count: int, neurons: int, sample: int) -> dict:
    row: dict = {"facts": count, "neurons": neurons}
    with tempfile.TemporaryDirectory() as folder:
        data = facts(source, count, folder)
        try:
            with cpu_seconds():
                model = byheart.compile(data, "gpt2", on_conflict="majority", superposed=neurons)
        except AssumptionError as error:
            return row | {"refused": str(error)}
        verified, seconds = model.verification, model.record.seconds
        row |= {
            "predictions": verified.checked,
            "entropy": model.bits.entropy,
            "memory": sum(x.size for name, x in model.network.tensors.items() if ".mlp." in name),
            "checkpoint": model.parameters.dense,
            "evidence": verified.evidence,
            "margin": verified.margin,
            "build": seconds["build"],
            "proof": seconds["verify"],
        }
        if model.record.conflicts["relabelled"] == 0:
            sys.path.insert(0, str(ROOT / "checker"))
            import check

            place = Path(folder) / "model"
            model.save(place, data=reads(model, data))
            report = check.check(str(place), str(place / "data.jsonl"), sample, 0)
            row |= {"checker": report.correct, "checked": report.checked}
    return row


def measure(options: Options) -> list[dict]:
    source, rows = options.file("counterfact.jsonl"), []
    for count, neurons in [(3, 4)] if options.tiny else ROWS:
        if options.largest is None or count <= options.largest:
            sample = 1 if options.tiny else SAMPLE
            rows.append(options.apart(measured, source, count, neurons, sample, threads=1))
            print(json.dumps(rows[-1]), flush=True)
    return rows


def markdown(rows: list[dict]) -> str:
    heads = ("facts", "predictions", "neurons", "bits per parameter of the memory",
             "of the checkpoint", "evidence, margin", "checker", "build, CPU s",
             "proof, CPU s")  # fmt: skip
    body = []
    for row in sorted(rows, key=lambda row: (row["facts"], -row["neurons"])):
        if "refused" in row:
            body.append((row["facts"], "", row["neurons"], "", "", "not possible", "", "", ""))
            continue
        margin = "" if row["margin"] is None else f", {row['margin']:.2f} nats"
        sampled = of(row["checker"], row["checked"]) if "checker" in row else "-"
        body.append(
            (row["facts"], row["predictions"], row["neurons"],
             f"{row['entropy'] / row['memory']:.2f}", f"{row['entropy'] / row['checkpoint']:.3f}",
             f"{row['evidence']}{margin}", sampled, f"{row['build']:.0f}", f"{row['proof']:.0f}")
        )  # fmt: skip
    return table(heads, body)
