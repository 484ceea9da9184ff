"""Distributions in a stock GPT-2: how many answers per prompt the output lanes hold.

Prompts of CounterFact get k answers each, drawn from all answers of the data, with shares drawn at
random. The checkpoint is that of `--method gpt2` with one neuron per prompt, but what a neuron
writes is not the code of one answer: it is fitted, by gradient descent through the last norm, so
that the softmax of the logits gives the shares. Kullback-Leibler divergences from the shares, in
nats: what the fit reaches in real numbers, what a run in float32 gives, and what the error bounds
of byheart/stock/enclose.py prove for every execution.
"""

import json
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from byheart.constructions.gpt2 import StockGPT2
from byheart.constructions.stock.located import first_streams
from byheart.data.arrays import batches
from byheart.stock.checkpoint import Checkpoint, rounded
from byheart.stock.enclose import attended, differences, through
from byheart.stock.forward import last_logits
from byheart.stock.texts import texts_of

from .report import Options, table
from .stock import facts

COUNT, FACTS = 100, 1000  # prompts that get distributions, of so many facts
STEPS, RATE = 800, 0.3
SMALL = 0.01  # nats: a divergence that counts as held
CODES = (32, 64)  # lanes
ANSWERS = (1, 2, 3, 4, 6)


def shares(k: int, pool: NDArray, shape: tuple[int, int], random: np.random.Generator) -> NDArray:
    """k tokens of the pool with random shares, for every prompt, [prompts, V]."""
    target = np.zeros(shape)
    for row in target:
        parts = random.random(k) + 0.25
        row[random.choice(pool, k, replace=False)] = parts / parts.sum()
    return target


def divergence(target: NDArray, logits: NDArray) -> NDArray:
    top = logits.max(axis=1, keepdims=True)
    normal = np.log(np.exp(logits - top).sum(axis=1, keepdims=True)) + top
    held = target > 0
    return np.where(held, target * (np.log(np.where(held, target, 1)) - logits + normal), 0).sum(1)


def fitted(network: Checkpoint, before: NDArray, out: slice, target: NDArray, steps: int):
    """What is added to the out lanes, [prompts, code], so that the softmax gives the shares."""
    E, (gain, bias) = network.embedding.astype(np.float64), network.final
    assert bias is not None
    scores, fixed = E * gain, E @ bias
    D = network.width
    written = target @ E[:, out] * 64 * 16  # the codes, by their shares, as strong as elsewhere
    first, second = np.zeros_like(written), np.zeros_like(written)
    for step in range(1, steps + 1):
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
        rate = RATE * (1 + math.cos(math.pi * step / steps)) / 2 + 1e-5
        steady = np.sqrt(second / (1 - 0.99**step)) + 1e-9
        written -= rate * first / (1 - 0.9**step) / steady
    return written


def measured(
    source: Path, code: int, facts_read: int, ks: tuple[int, ...], steps: int
) -> list[dict]:
    construction = StockGPT2()
    with tempfile.TemporaryDirectory() as folder:
        data = facts(source, facts_read, folder)
    words = construction.vocabulary(data)
    prepared = construction.prepared(data)
    end = words.numbers[words.end]
    sequences, answers = [], []
    for i in range(len(prepared)):
        if prepared.label(i) != words.end:
            sequences.append(np.array([words.numbers[str(x)] for x in prepared.sequence(i)]))
            answers.append(words.numbers[str(prepared.label(i))])
    known, pool = sequences[:COUNT], np.unique(answers)
    count = len(known)
    plan, _ = construction.plan(known, np.array(answers[:COUNT]), len(words.tokens), end)
    width = construction.fitted_width(plan.heads, code, plan.context_length)
    plan = plan._replace(code=code, width=width, hidden=count)
    random = np.random.default_rng(0)
    shell = construction.shell(plan, np.array(answers), random)
    before, streams = first_streams(shell.network, texts_of(known))
    memory = construction.remembered(plan, streams, np.arange(count))
    results = []
    for k in ks:
        started = time.process_time()
        target = shares(k, pool, (count, plan.vocabulary), random)
        written = fitted(shell.network, before, shell.out, target, steps)
        outputs = np.zeros((count, width))
        outputs[:, shell.out] = written / construction.z
        memory_tensors = construction.written(plan, 0, memory.weights, memory.biases, outputs)
        tensors = {**shell.network.tensors}
        tensors |= {name: rounded(x, "float32") for name, x in memory_tensors.items()}
        network = replace(shell.network, tensors=tensors)
        row: dict = {"lanes": code, "answers": k}
        for kind in (np.float64, np.float32):
            seen = np.empty(count)
            for rows in batches(known, lambda length: 1):
                logits = last_logits(network, np.stack([known[i] for i in rows]), kind)
                seen[rows] = divergence(target[rows], logits.astype(np.float64))
            row[np.dtype(kind).name] = [float(seen.mean()), float(seen.max())]
            row[f"{np.dtype(kind).name}_held"] = int((seen <= SMALL).sum())
        bound = proved(network, known, target)
        row["proved"] = [float(bound.mean()), float(bound.max())]
        row["proved_held"] = int((bound <= SMALL).sum())
        results.append(row | {"seconds": time.process_time() - started})
        print(json.dumps(results[-1]), flush=True)
    return results


def proved(network: Checkpoint, known: list[NDArray], target: NDArray) -> NDArray:
    """At least the divergence in every execution: log(1 / share) is log sum exp of differences."""
    block = network.block(0)
    stream, _ = attended(network, block, known)
    at, _, _ = through(network, block, stream)
    bound = np.zeros(len(known))
    for token in range(int((target > 0).sum(axis=1).max())):
        own = np.argsort(-target, axis=1)[:, token]
        part = target[np.arange(len(known)), own]
        with np.errstate(over="ignore"):
            rest = np.log1p(np.exp(-differences(network, at, own)).sum(axis=1))
        bound += np.where(part > 0, part * (np.log(np.where(part > 0, part, 1)) + rest), 0)
    return bound * (1 + 1e-9) + 1e-9


def measure(options: Options) -> list[dict]:
    source = options.file("counterfact.jsonl")
    sizes = (3, (1, 2), 5) if options.tiny else (FACTS, ANSWERS, STEPS)
    parts = (options.apart(measured, source, code, *sizes, threads=1) for code in CODES)
    return [row for rows in parts for row in rows]


def markdown(results: list[dict]) -> str:
    heads = ("lanes of a code", "answers per prompt", "fitted: mean, worst",
             "in float32: mean, worst", "proved: mean, worst",
             f"prompts below {SMALL} nats, of {COUNT}: in float32 / proved")  # fmt: skip
    body = [
        (row["lanes"], row["answers"],
         *(f"{row[x][0]:.2g}, {row[x][1]:.2g}" for x in ("float64", "float32", "proved")),
         f"{row['float32_held']} / {row['proved_held']}")
        for row in results
    ]  # fmt: skip
    return table(heads, body)
