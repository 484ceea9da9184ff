"""Greedy continuations of items, and how many edits they are away from the text."""

from typing import Any

import numpy as np

from ..data.arrays import Ints
from ..machine.watch import Watch
from .checkpoint import Checkpoint
from .items import Items
from .scoring import Scores

TOGETHER = 64  # continuations that are generated at once


def edits(
    checkpoint: Checkpoint, items: Items, scores: Scores, asks: tuple[int, int], watch: Watch
) -> Ints:
    """[N] insertions, deletions and replacements of tokens from the continuation to the item's own;
    0 where it is recited, -1 where nothing is asked.

    A continuation begins with the tokens that are recited, which need not be generated.
    """
    after, asked = items.asked(*asks)
    found = np.where(asked > 0, 0, -1)
    begins = after + scores.common
    left = np.flatnonzero((asked > 0) & (scores.common < asked))
    watch.stage("generating", len(left))
    for begin in np.unique(begins[left]):
        same = left[begins[left] == begin]
        for start in range(0, len(same), TOGETHER):
            some = same[start : start + TOGETHER]
            rows = np.stack([items.ids[items.starts[i] :][:begin] for i in some])
            made = continued(checkpoint, rows, int((after + asked)[some].max() - begin))
            for i, row in zip(some, made, strict=True):
                own = items.ids[items.starts[i] + begin : items.starts[i] + after[i] + asked[i]]
                found[i] = distance(row[: len(own)].tolist(), own.tolist())
            watch.advance(len(some))
    return found


def continued(checkpoint: Checkpoint, rows: Ints, steps: int) -> Ints:
    """[k, steps] the tokens that greedy decoding gives after rows of one length."""
    import torch

    ids, made, past = torch.from_numpy(rows).to(checkpoint.device), [], None
    with torch.inference_mode():
        for _ in range(steps):
            given: dict[str, Any] = {} if past is None else {"past_key_values": past}
            out = checkpoint.model(input_ids=ids, use_cache=True, **given)
            past, ids = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
            made.append(ids)
    return torch.cat(made, 1).cpu().numpy()


def distance(one: list[int], other: list[int]) -> int:
    """The least number of insertions, deletions and replacements (Levenshtein).

    >>> distance([1, 2, 3, 4], [2, 3, 9, 4])
    2
    """
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
