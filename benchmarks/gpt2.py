"""Training steps of the lab's GPT-2 against those of transformers: the same loss, less CPU time.

The baseline is GPT2LMHeadModel with PyTorch's gradients. Both sides have one thread, float32 and
fused Adam, begin with the same weights and take the same batch of 64 sequences of 33 random tokens;
their losses must agree over the first steps. Then they take turns, and the fewest seconds of the
processor count. A ratio is the baseline's time over ours.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers

from byheart.architectures import architecture
from byheart.data.generate import uniform
from byheart.lab.checkpoint import save
from byheart.lab.learners import learner
from byheart.lab.problem import prefixes

from .report import Options, machine, table

SEQUENCES, LENGTH, VOCABULARY, RATE = 64, 32, 64, 1e-2
ROUNDS, STEPS, SAME = 7, 10, 10
DIMENSIONS = (8, 16, 32)


def timed(step: Callable[[], float]) -> float:
    began = time.process_time()
    for _ in range(STEPS):
        step()
    return (time.process_time() - began) / STEPS


def measured(dimension: int, rounds: int) -> dict:
    torch.set_num_threads(1)
    dataset = uniform(SEQUENCES, LENGTH, VOCABULARY)
    problem = prefixes(dataset)
    sizes = {"layers": 2, "dimension": dimension, "heads": 4}
    described = architecture("gpt2", {**sizes, "vocabulary": VOCABULARY, "length": LENGTH})
    model = learner(described, problem, 0)
    with tempfile.TemporaryDirectory() as place:
        save(described, {name: x.numpy() for name, x in model.named().items()}, Path(place, "m"))
        stock = transformers.GPT2LMHeadModel.from_pretrained(f"{place}/m").eval()  # no dropout
    rows = np.array([[*dataset[i][0], dataset[i][1][-1]] for i in range(SEQUENCES)])
    tokens, following = torch.tensor(rows[:, :-1]), torch.tensor(rows[:, 1:]).flatten()
    own = torch.optim.Adam(list(model.tensors.values()), RATE, fused=True)
    theirs = torch.optim.Adam(stock.parameters(), RATE, fused=True)

    def ours() -> float:
        loss = model.step(problem)
        own.step()
        return loss

    def plain() -> float:
        theirs.zero_grad()
        logits = stock(tokens, use_cache=False).logits.flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, following)
        loss.backward()
        theirs.step()
        return loss.item()

    for step in range(SAME):
        one, other = ours(), plain()
        if abs(one - other) > 1e-4 * other:
            raise SystemExit(f"step {step}: the losses {one} and {other} differ")
    times = [(timed(ours), timed(plain)) for _ in range(rounds)]
    least, baseline = (min(some) for some in zip(*times, strict=True))
    return {
        "parameters": described.parameters,
        "milliseconds": 1e3 * least,
        "baseline": 1e3 * baseline,
        "ratio": baseline / least,
    }


def measure(options: Options) -> dict:
    rounds = 1 if options.tiny else ROUNDS
    rows = [options.apart(measured, n, rounds, threads=1) for n in options.sizes(DIMENSIONS, (8,))]
    return {"machine": machine(), "rows": rows}


def markdown(results: dict) -> str:
    heads = ("parameters", "ours, ms per step", "transformers, ms", "ratio")
    body = [
        (row["parameters"], f"{row['milliseconds']:.2f}", f"{row['baseline']:.2f}",
         f"{row['ratio']:.1f}")
        for row in results["rows"]
    ]  # fmt: skip
    return table(heads, body)
