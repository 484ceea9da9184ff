"""Tokens per second of an audit, beside a bare loop that only runs the model.

Stock models with random weights, made here. Both score the same batches in the same process, in
turn; the bare loop computes the logits and drops them. The least of seven runs counts for each,
in seconds of the processor, with one thread. A second row has documents of many lengths.
"""

import tempfile
import time
from collections.abc import Callable

import numpy as np
import torch
import transformers

from byheart.auditing import scoring
from byheart.auditing.checkpoint import opened
from byheart.auditing.items import Items, pack
from byheart.machine.watch import SILENT

from .report import Options, machine, table

RUNS = 7
MUST = 0.9
# name, layers, dimension, heads, vocabulary, lengths of documents (least, most), documents
ROWS = [
    ("the shape of pythia-70m", 6, 512, 8, 50_304, (128, 128), 4),
    ("many lengths", 6, 256, 8, 8192, (16, 128), 32),
    ("small vocabulary", 2, 64, 4, 64, (33, 33), 512),
    ("much vocabulary for its size", 4, 128, 4, 8192, (128, 128), 32),
]


def least(runs: int, *works: Callable[[], object]) -> list[float]:
    """The fewest seconds of each, which take turns: another load of the machine meets them all."""
    seconds: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):  # the first does not count
        for work, own in zip(works, seconds, strict=True):
            began = time.process_time()
            work()
            if run:
                own.append(time.process_time() - began)
    return [min(own) for own in seconds]


def bare(model: torch.nn.Module, items: Items, tokens: int) -> None:
    """The model over every batch, filled up as the audit fills it up."""
    with torch.inference_mode():
        for chosen in scoring.batches(items, tokens):
            lengths = items.lengths[chosen]
            filled = np.zeros((len(chosen), int(lengths.max())), np.int64)
            held = np.arange(filled.shape[1]) < lengths[:, None]
            filled[held] = np.concatenate(
                [items.ids[items.starts[i] : items.starts[i + 1]] for i in chosen]
            )
            _ = model(input_ids=torch.from_numpy(filled)[:, :-1], use_cache=False).logits


def measured(runs, name, layers, dimension, heads, vocabulary, ends, count) -> dict:
    torch.set_num_threads(1)
    config = transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=256, n_embd=dimension, n_layer=layers, n_head=heads,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    random = np.random.default_rng(0)
    lengths = random.integers(ends[0], ends[1] + 1, count)
    rows = [random.integers(0, vocabulary, length).tolist() for length in lengths]
    with tempfile.TemporaryDirectory() as place:
        transformers.GPT2LMHeadModel(config).save_pretrained(f"{place}/model")
        subject = opened(f"{place}/model")
    (items,) = pack(rows, [1] * count).items
    tokens = scoring.batch_tokens(subject, [items])
    whole = sum(int(items.lengths[x].max()) * len(x) for x in scoring.batches(items, tokens))
    alone, ours = least(
        runs,
        lambda: bare(subject.model, items, tokens),
        lambda: scoring.score(subject, items, (32, 50), tokens, SILENT),
    )
    return {
        "name": name,
        "parameters": subject.parameters,
        "tokens": len(items.ids),
        "filled": whole / len(items.ids) - 1,
        "bare": len(items.ids) / alone,
        "audit": len(items.ids) / ours,
        "ratio": alone / ours,
        "reached": alone / ours >= MUST,
    }


def measure(options: Options) -> dict:
    rows = [("tiny", 1, 8, 2, 16, (4, 6), 3)] if options.tiny else ROWS
    runs = 1 if options.tiny else RUNS
    measurements = [options.apart(measured, runs, *row, threads=1) for row in rows]
    return {"machine": machine(), "rows": measurements}


def markdown(results: dict) -> str:
    heads = ("model", "parameters", "tokens", "filled up", "bare, tokens/s", "audit, tokens/s",
             "ratio")  # fmt: skip
    body = [
        (row["name"], row["parameters"], row["tokens"], f"{row['filled']:.1%}",
         f"{row['bare']:,.0f}", f"{row['audit']:,.0f}", f"{row['ratio']:.3f}")
        for row in results["rows"]
    ]  # fmt: skip
    return table(heads, body)


def missed(results: dict) -> list[str]:
    slow = (row for row in results["rows"] if not row["reached"])
    return [f"{row['name']}: {row['ratio']:.2f} of a bare loop" for row in slow]
