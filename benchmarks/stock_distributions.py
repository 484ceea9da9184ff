"""Distributions in a stock GPT-2: several answers per prompt with their probabilities, proved.

Prompts of CounterFact get 2 to k answers each: their own, and others drawn from all answers of the
data, with counts from 25 to 124 drawn at random. They are compiled with `--distributions` and
verified by byheart and, with all contexts, by the independent checker, from the texts. The
tokenizer is trained on the facts whose answers are drawn, so that most of its tokens follow
nothing. Every row is measured in a process of its own with one thread.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import byheart
from byheart.constructions.gpt2 import StockGPT2
from byheart.errors import AssumptionError
from byheart.softmax.doubles import divergence
from byheart.softmax.prove import contexts
from byheart.stock.forward import last_logits
from byheart.stock.prove import over, reads

from .report import ROOT, Options, cpu_seconds, of, table
from .stock import facts

POOL = 1_000  # facts whose answers are drawn
# prompts, answers of a prompt at most, tokenizer, gap
ROWS = [
    (200, 4, "bpe:8000", 0.01),
    (200, 10, "bpe:8000", 0.01),
    (1_000, 6, "bpe:8000", 0.01),
    (200, 4, "bpe:1000", 0.01),
]
TINY = [(3, 3, "bpe:300", 0.01)]


def written(source: Path, prompts: int, most: int, path: Path) -> None:
    """A file with several answers for each of the first prompts."""
    rows = [json.loads(line) for line in source.read_text().splitlines()[: max(POOL, prompts)]]
    random, lines = np.random.default_rng(0), []
    answers = sorted({row["answer"] for row in rows})
    for prompt, own in list({row["prompt"]: row["answer"] for row in rows}.items())[:prompts]:
        others = [x for x in random.choice(answers, most, replace=False).tolist() if x != own]
        for answer in [own, *others[: random.integers(1, most)]]:
            count = int(random.integers(25, 125))
            lines.append(json.dumps({"prompt": prompt, "answer": answer, "count": count}))
    path.write_text("\n".join(lines) + "\n")


def measured(source: Path, prompts: int, most: int, tokenizer: str, gap: float) -> dict:
    row: dict = {"prompts": prompts, "answers": most, "tokenizer": tokenizer, "gap": gap}
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "tokenizer.json"
        words.write_text(StockGPT2().vocabulary(facts(source, POOL, folder, tokenizer)).content)
        path, place = Path(folder) / "data.jsonl", Path(folder) / "model"
        written(source, prompts, most, path)
        data = byheart.load(path, input=["prompt"], label="answer", count="count", tokenizer=words)
        try:
            with cpu_seconds():
                model = byheart.compile(data, "gpt2", gap=gap)
        except AssumptionError as error:
            return row | {"refused": str(error)}
        held = reads(model, data)
        wanted = over(held, contexts(model, held), model.labels)
        logits = [last_logits(model.network, x[None], np.float32)[0] for x in wanted.sequences]
        seen = divergence(np.stack(logits).astype(np.float64), wanted)
        fit, seconds = model.verification.fit, model.record.seconds
        model.save(place)
        sys.path.insert(0, str(ROOT / "checker"))
        import check

        started = time.process_time()
        report = check.check(str(place), str(path))
        return row | {
            "rows": len(data),
            "contexts": len(wanted),
            "branching": int((wanted.support > 1).sum()),
            "neurons": len(model.claim.holders),
            "vocabulary": model.network.size("vocabulary"),
            "lanes": int(model.record.notes[0].split()[0]),
            "width": model.network.width,
            "parameters": model.parameters.dense,
            "evidence": model.verification.evidence,
            "seen": float(seen.max()),
            "worst": fit.max,
            "mean": fit.mean,
            "build": seconds["build"],
            "proof": seconds["verify"],
            "checker": report.correct,
            "checked": report.checked,
            "largest": float(report.largest or 0),
            "checking": time.process_time() - started,
        }


def measure(options: Options) -> list[dict]:
    source, rows = options.file("counterfact.jsonl"), []
    for row in TINY if options.tiny else ROWS:
        if options.largest is None or row[0] <= options.largest:
            rows.append(options.apart(measured, source, *row, threads=1))
            print(json.dumps(rows[-1]), flush=True)
    return rows


def markdown(rows: list[dict]) -> str:
    heads = ("prompts", "answers", "vocabulary", "contexts", "gap", "lanes", "parameters",
             "in a run: worst", "proved: mean, worst", "checker: worst", "refused",
             "build, CPU s", "proof", "checker")  # fmt: skip
    body = []
    for row in rows:
        start = (row["prompts"], f"2 to {row['answers']}")
        if "refused" in row:
            body.append((*start, "", "", f"{row['gap']:g}", *[""] * 5, "yes", "", "", ""))
            continue
        checked = f"{row['largest']:.2g} ({of(row['checker'], row['checked'])})"
        body.append(
            (*start, row["vocabulary"], row["contexts"], f"{row['gap']:g}", row["lanes"],
             row["parameters"], f"{row['seen']:.2g}", f"{row['mean']:.2g}, {row['worst']:.2g}",
             checked, "no", *(f"{row[x]:.0f}" for x in ("build", "proof", "checking")))
        )  # fmt: skip
    return table(heads, body)
