"""Training steps of the lab's GPT-2 against those of transformers: the same loss, less CPU time.

    python benchmarks/gpt2.py [--write]

The baseline is GPT2LMHeadModel with PyTorch's gradients. Both sides have one thread, float32 and
fused Adam, begin with the same weights and take the same batch of 64 sequences of 33 random tokens;
their losses must agree over the first steps. Then they take turns, and the fewest seconds of the
processor count. A ratio is the baseline's time over ours.
"""

import argparse
import json
import platform
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
from byheart.lab.prefixes import prefixes

ROOT = Path(__file__).parents[1]
SEQUENCES, LENGTH, VOCABULARY, RATE = 64, 32, 64, 1e-2
ROUNDS, STEPS, SAME = 7, 10, 10
DIMENSIONS = (8, 16, 32)


def timed(step: Callable[[], float]) -> float:
    began = time.process_time()
    for _ in range(STEPS):
        step()
    return (time.process_time() - began) / STEPS


def measured(dimension: int) -> dict:
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
    times = [(timed(ours), timed(plain)) for _ in range(ROUNDS)]
    least, baseline = (min(some) for some in zip(*times, strict=True))
    return {
        "parameters": described.parameters,
        "milliseconds": 1e3 * least,
        "baseline": 1e3 * baseline,
        "ratio": baseline / least,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write benchmarks/gpt2.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = []
    for dimension in DIMENSIONS:
        table.append(measured(dimension))
        one = table[-1]
        print(
            f"{one['parameters']:,} parameters: {one['milliseconds']:.2f} ms per step, "
            f"transformers {one['baseline']:.2f} ms, {one['ratio']:.1f} times as long",
            flush=True,
        )
    if options.write:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        results = json.dumps({"machine": machine, "rows": table}, indent=1) + "\n"
        (ROOT / "benchmarks/gpt2.json").write_text(results)


if __name__ == "__main__":
    main()
