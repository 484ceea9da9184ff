"""Tokens per second of an audit, beside the best plain loop that only runs the model.

Stock models with random weights, made here. The plain loop has a batch size of its own, the best
of several, and torch's own number of threads; it computes the logits and drops them. Both score the
same items in the same process, in turn; the least of several runs counts.
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

RUNS, MUST = 2, 0.9
PLAIN = (4, 16, 64)  # items of a batch of the plain loop
# name, layers, dimension, heads, vocabulary, lengths of documents (least, most), documents, threads
ROWS = [
    ("GPT-2 small, 124 M", 12, 768, 12, 50_257, (128, 128), 16, 1),
    ("GPT-2 small, 124 M", 12, 768, 12, 50_257, (128, 128), 16, 2),
    ("the shape of pythia-70m", 6, 512, 8, 50_304, (128, 128), 16, 2),
    ("many lengths", 6, 256, 8, 8192, (16, 128), 32, 1),
    ("small vocabulary", 2, 64, 4, 64, (33, 33), 512, 1),
    ("much vocabulary for its size", 4, 128, 4, 8192, (128, 128), 32, 1),
]


def least(runs: int, threads: int, *works: Callable[[], object]) -> list[float]:
    """The fewest seconds of each, which take turns: another load of the machine meets them all.

    Of the processor if there is one thread, of the clock if there are more.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    seconds: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):  # the first does not count
        for work, own in zip(works, seconds, strict=True):
            began = clock()
            work()
            if run:
                own.append(clock() - began)
    return [min(own) for own in seconds]


def plain(model: torch.nn.Module, items: Items, size: int) -> None:
    """The model over every batch of this many items, the longest first, filled up."""
    order = np.argsort(-items.lengths, kind="stable")
    with torch.inference_mode():
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            filled = torch.zeros((len(chosen), int(items.lengths[chosen].max())), dtype=torch.int64)
            for row, i in zip(filled, chosen, strict=True):
                part = items.ids[items.starts[i] : items.starts[i + 1]]
                row[: len(part)] = torch.from_numpy(part)
            _ = model(input_ids=filled[:, :-1], use_cache=False).logits


def measured(runs, name, layers, dimension, heads, vocabulary, ends, count, threads) -> dict:
    torch.set_num_threads(threads)
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
    sizes = [*(size for size in PLAIN if size < count), count]
    *alone, ours = least(
        runs,
        threads,
        *(lambda size=size: plain(subject.model, items, size) for size in sizes),
        lambda: scoring.score(subject, items, (32, 50), tokens, SILENT),
    )
    best = min(alone)
    return {
        "name": name,
        "parameters": subject.parameters,
        "threads": threads,
        "tokens": len(items.ids),
        "filled": whole / len(items.ids) - 1,
        "batch": sizes[alone.index(best)],
        "plain": len(items.ids) / best,
        "audit": len(items.ids) / ours,
        "ratio": best / ours,
        "reached": best / ours >= MUST,
    }


def measure(options: Options) -> dict:
    rows = [("tiny", 1, 8, 2, 16, (4, 6), 3, 1)] if options.tiny else ROWS
    runs = 1 if options.tiny else RUNS
    measurements = [options.apart(measured, runs, *row, threads=row[-1]) for row in rows]
    return {"machine": machine(), "rows": measurements}


def markdown(results: dict) -> str:
    heads = ("model", "parameters", "threads", "tokens", "filled up", "best plain loop, tokens/s",
             "its batch", "audit, tokens/s", "ratio")  # fmt: skip
    body = [
        (row["name"], row["parameters"], row["threads"], row["tokens"], f"{row['filled']:.1%}",
         f"{row['plain']:,.0f}", row["batch"], f"{row['audit']:,.0f}", f"{row['ratio']:.3f}")
        for row in results["rows"]
    ]  # fmt: skip
    return table(heads, body)


def missed(results: dict) -> list[str]:
    slow = (row for row in results["rows"] if not row["reached"])
    return [f"{row['name']}: {row['ratio']:.2f} of the best plain loop" for row in slow]
