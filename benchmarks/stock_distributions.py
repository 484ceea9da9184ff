"""Distributions in a stock GPT-2: how many answers per prompt the output lanes hold.

    python benchmarks/stock_distributions.py [--data ../shared/data] [--write]

Prompts of CounterFact get k answers each, drawn from all answers of the data, with shares drawn at
random. The checkpoint is that of `--method gpt2` with one neuron per prompt, but what a neuron
writes is not the code of one answer: it is fitted, by gradient descent through the last norm, so
that the softmax of the logits gives the shares. Kullback-Leibler divergences from the shares, in
nats: what the fit reaches in real numbers, what a run in float32 gives, and what the error bounds
of byheart/stock/enclose.py prove for every execution.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import byheart
from byheart.constructions.gpt2 import StockGPT2
from byheart.constructions.stock.located import first_streams
from byheart.stock.checkpoint import Checkpoint, rounded
from byheart.stock.enclose import attended, differences, through
from byheart.stock.forward import by_length, last_logits
from byheart.stock.texts import texts_of

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- distributions:begin -->", "<!-- distributions:end -->"
COUNT, TOKENIZER = 100, "bpe:8000"
STEPS, RATE = 800, 0.3
SMALL = 0.01  # nats: a divergence that counts as held
CODES = (32, 64)  # lanes
ANSWERS = (1, 2, 3, 4, 6)


def shares(k: int, pool: NDArray, vocabulary: int, random: np.random.Generator) -> NDArray:
    """k tokens of the pool with random shares, for every prompt, [COUNT, V]."""
    found = np.zeros((COUNT, vocabulary))
    for row in found:
        parts = random.random(k) + 0.25
        row[random.choice(pool, k, replace=False)] = parts / parts.sum()
    return found


def divergence(target: NDArray, logits: NDArray) -> NDArray:
    top = logits.max(axis=1, keepdims=True)
    normal = np.log(np.exp(logits - top).sum(axis=1, keepdims=True)) + top
    held = target > 0
    return np.where(held, target * (np.log(np.where(held, target, 1)) - logits + normal), 0).sum(1)


def fitted(network: Checkpoint, before: NDArray, out: slice, target: NDArray) -> NDArray:
    """What is added to the out lanes, [COUNT, code], and so that the softmax gives the shares."""
    E, (gain, bias) = network.embedding.astype(np.float64), network.final
    assert bias is not None
    scores, fixed = E * gain, E @ bias
    D = network.width
    written = target @ E[:, out] * 64 * 16  # the codes, by their shares, as strong as elsewhere
    first, second = np.zeros_like(written), np.zeros_like(written)
    for step in range(1, STEPS + 1):
        x = before.copy()
        x[:, out] += written
        centred = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + network.epsilon)
        normed = centred / scale
        logits = normed @ scores.T + fixed
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        by_normed = (share - target) @ scores
        along = (by_normed * normed).sum(axis=1, keepdims=True) / D
        gradient = (by_normed - by_normed.mean(axis=1, keepdims=True) - normed * along) / scale
        g = gradient[:, out]
        first += 0.1 * (g - first)
        second += 0.01 * (g * g - second)
        rate = RATE * (1 + math.cos(math.pi * step / STEPS)) / 2 + 1e-5
        steady = np.sqrt(second / (1 - 0.99**step)) + 1e-9
        written -= rate * first / (1 - 0.9**step) / steady
    return written


def measured(path: Path, code: int, ks: tuple[int, ...]) -> list[dict]:
    construction = StockGPT2()
    data = byheart.load(path, input=["prompt"], label="answer", tokenizer=TOKENIZER)
    words = construction.vocabulary(data)
    prepared = construction.prepared(data)
    end = words.numbers[words.end]
    sequences, answers = [], []
    for i in range(len(prepared)):
        if prepared.label(i) != words.end:
            sequences.append(np.array([words.numbers[str(x)] for x in prepared.sequence(i)]))
            answers.append(words.numbers[str(prepared.label(i))])
    known, pool = sequences[:COUNT], np.unique(answers)
    plan, _ = construction.plan(known, np.array(answers[:COUNT]), len(words.tokens), end)
    width = construction.fitted_width(plan.heads, code)
    plan = plan._replace(code=code, width=width, hidden=COUNT)
    random = np.random.default_rng(0)
    shell = construction.shell(plan, np.array(answers), random)
    before, streams = first_streams(shell.network, texts_of(known))
    memory = construction.remembered(plan, streams, np.arange(COUNT))
    results = []
    for k in ks:
        started = time.process_time()
        target = shares(k, pool, plan.vocabulary, random)
        written = fitted(shell.network, before, shell.out, target)
        outputs = np.zeros((COUNT, width))
        outputs[:, shell.out] = written / construction.z
        made = construction.written(plan, 0, memory.weights, memory.biases, outputs)
        tensors = {**shell.network.tensors}
        tensors |= {name: rounded(x, "float32") for name, x in made.items()}
        network = replace(shell.network, tensors=tensors)
        found = {"lanes": code, "answers": k}
        for kind in (np.float64, np.float32):
            seen = np.empty(COUNT)
            for rows in by_length(known).values():
                logits = last_logits(network, np.stack([known[i] for i in rows]), kind)
                seen[rows] = divergence(target[rows], logits.astype(np.float64))
            found[np.dtype(kind).name] = [float(seen.mean()), float(seen.max())]
            found[f"{np.dtype(kind).name}_held"] = int((seen <= SMALL).sum())
        bound = proved(network, known, target)
        found["proved"] = [float(bound.mean()), float(bound.max())]
        found["proved_held"] = int((bound <= SMALL).sum())
        results.append(found | {"seconds": time.process_time() - started})
        print(json.dumps(results[-1]), flush=True)
    return results


def proved(network: Checkpoint, known: list[NDArray], target: NDArray) -> NDArray:
    """At least the divergence in every execution: log(1 / share) is log sum exp of differences."""
    block = network.block(0)
    stream, _ = attended(network, block, known)
    at, _, _ = through(network, block, stream)
    found = np.zeros(len(known))
    for token in range(int((target > 0).sum(axis=1).max())):
        own = np.argsort(-target, axis=1)[:, token]
        part = target[np.arange(len(known)), own]
        with np.errstate(over="ignore"):
            rest = np.log1p(np.exp(-differences(network, at, own)).sum(axis=1))
        found += np.where(part > 0, part * (np.log(np.where(part > 0, part, 1)) + rest), 0)
    return found * (1 + 1e-9) + 1e-9


def markdown(results: list[dict]) -> str:
    lines = [
        f"| lanes of a code | answers per prompt | fitted: mean, worst | in float32: mean, worst "
        f"| proved: mean, worst | prompts below {SMALL} nats, of {COUNT}: in float32 / proved |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in results:
        cells = (f"{row[x][0]:.2g}, {row[x][1]:.2g}" for x in ("float64", "float32", "proved"))
        lines.append(
            f"| {row['lanes']} | {row['answers']} | {' | '.join(cells)} "
            f"| {row['float32_held']} / {row['proved_held']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true", help="write the JSON and docs/stock.md")
    options = parser.parse_args()
    source = options.data / "counterfact.jsonl"
    if not source.exists():
        sys.exit(f"{options.data} has no counterfact.jsonl; give the folder with --data")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.jsonl"
        path.write_text("".join(source.read_text().splitlines(keepends=True)[:1000]))
        for code in CODES:
            results += measured(path, code, ANSWERS)
    print(markdown(results))
    if options.write:
        path = ROOT / "benchmarks/stock_distributions.json"
        path.write_text(json.dumps(results, indent=1) + "\n")
        page = ROOT / "docs/stock.md"
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{BEGIN}\n{markdown(results)}\n{END}{after}")


if __name__ == "__main__":
    main()
