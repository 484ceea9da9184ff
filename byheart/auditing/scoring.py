"""Score items by one pass of a model over each: code lengths, and what it would recite.

Greedy continuation of a prefix gives the item's own tokens up to the first token that is not the
likeliest after the true ones. So the pass that measures the code length also shows how far the
model recites, and nothing is generated.
"""

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Ints, take
from ..errors import ByheartError
from ..lab.sweeps.rows import Rows
from ..lab.workers import left
from ..machine.memory import require
from ..machine.watch import Watch
from .checkpoint import Checkpoint
from .items import Items

# bytes of a batch's logits: of a processor that may have one thread or several, of another device
ALONE, HERE, THERE = 1 << 25, 1 << 29, 1 << 28
LOWEST = 0.2  # the share of tokens that min-k % and min-k %++ look at
MOST = 1 << 14  # tokens of a batch
LOOSE = 1.05  # items of a batch differ in length by at most this factor: little is filled up


@dataclass(frozen=True, eq=False)
class Scores:
    bits: NDArray[np.float64]  # [N] code length of the tokens that are predicted
    hits: Ints  # [N] how many of them are the likeliest
    common: Ints  # [N] how many tokens it recites correctly before the first error
    # Of a checkpoint:
    suffix: NDArray[np.float64]  # [N] code length of the tokens that it is to recite
    low: NDArray[np.float64]  # [N] min-k %: the mean log-probability of the lowest 20 % of tokens
    places: NDArray[np.float64]  # [N] min-k %++: the same of where these lie among all tokens


def batch_tokens(checkpoint: Checkpoint, groups: Sequence[Items]) -> int:
    """Tokens of a batch, so that memory is bounded; one item at least, and no more than all."""
    import torch

    here = HERE if torch.get_num_threads() > 1 else ALONE
    logits = here if checkpoint.device == "cpu" else THERE
    most = min(MOST, logits // (4 * checkpoint.vocabulary))
    whole = math.ceil(LOOSE * max(len(items.ids) for items in groups))
    return max(min(most, whole), *(int(items.lengths.max()) for items in groups))


def batches(items: Items, tokens: int) -> list[Ints]:
    """The items of each batch, of nearly equal length, the longest first.

    The largest batch comes first, so that memory which is not there is missed at once.
    """
    lengths = items.lengths
    order = np.argsort(-lengths, kind="stable")
    parts: list[Ints] = []
    start = 0
    for place in range(1, len(order) + 1):
        first = lengths[order[start]]
        full = (
            place == len(order)
            or (place - start + 1) * first > tokens
            or first > LOOSE * lengths[order[place]]
        )
        if full:
            parts.append(order[start:place])
            start = place
    return parts


def check_memory(checkpoint: Checkpoint, groups: Sequence[Items], watch: Watch) -> int:
    """Say how much memory scoring takes; ByheartError if it is not there. Tokens of a batch."""
    tokens = batch_tokens(checkpoint, groups)
    needed = checkpoint.memory(tokens)
    watch.say(
        f"{checkpoint.folder}: {checkpoint.stored_bits / 8e6:,.1f} MB of weights; a batch of up to "
        f"{tokens:,} tokens takes at most {needed / 1e6:,.1f} MB more"
    )
    if checkpoint.device == "cpu":
        advice = "truncate items with `length=...`, or use a machine with more memory"
        require(needed, str(checkpoint.folder), f"a batch of {tokens:,} tokens", advice)
    return tokens


def score(
    checkpoint: Checkpoint,
    items: Items,
    asks: tuple[int, int],
    tokens: int,
    watch: Watch,
    rows: Rows | None = None,
    role: str = "items",
) -> tuple[Scores, int]:
    """The scores of all items, and the tokens that were scored: not those that have a row.

    asks  a prefix and a suffix, as in Items.asked
    role  what the items are, in the keys of rows
    """
    after, asked = items.asked(*asks)
    names = ("bits", "hits", "common", "suffix", "low", "places")
    whole = ("hits", "common")
    types = {x: np.int64 if x in whole else np.float64 for x in names}
    scores: dict[str, Any] = {x: np.zeros(len(items), kind) for x, kind in types.items()}
    parts = batches(items, tokens)
    watch.stage("scoring", len(items.ids))
    began, done, fresh = time.monotonic(), 0, 0
    for place, chosen in enumerate(parts):
        key = f"{role}-{tokens}-{place}"
        size = int(items.lengths[chosen].sum())
        row = None if rows is None else rows.rows.get(key)
        if row is None:
            row = {"key": key, **_scored(checkpoint, items, chosen, after, asked)}
            if rows is not None:
                rows.add(row)
            fresh += size
        for name in names:
            if len(row.get(name, ())) != len(chosen):
                raise ByheartError(f"the row {key} is not of this audit; use another folder.")
            scores[name][chosen] = row[name]
        done += size
        watch.advance(size)
        if fresh:
            watch.note(left((time.monotonic() - began) / fresh * (len(items.ids) - done)))
    return Scores(**scores), fresh


def _scored(
    checkpoint: Checkpoint, items: Items, some: Ints, after: Ints, asked: Ints
) -> dict[str, list]:
    lengths = items.lengths[some]
    held = np.arange(lengths.max()) < lengths[:, None]
    filled = np.zeros(held.shape, np.int64)
    filled[held] = take(items.ids, items.starts[some], lengths)
    bits, hits, unusual = checkpoint.score(filled)
    places = np.arange(1, held.shape[1])  # of the tokens that are predicted
    scored = held[:, 1:] & (places >= items.given[some][:, None])
    first = after[some][:, None]
    wanted = (places >= first) & (places < first + asked[some][:, None])
    recited = np.cumprod(hits | ~wanted, axis=1).astype(bool) & wanted
    return {
        "bits": np.where(scored, bits, 0.0).sum(axis=1).tolist(),
        "hits": (hits & scored).sum(axis=1).tolist(),
        "common": recited.sum(axis=1).tolist(),
        "suffix": np.where(wanted, bits, 0.0).sum(axis=1).tolist(),
        "low": _lowest(-math.log(2) * bits, scored),
        "places": _lowest(unusual, scored),
    }


def _lowest(values: NDArray[np.float64], held: NDArray[np.bool_]) -> list[float]:
    """The mean of the lowest 20 % of each row's values that are held, of one at least."""
    rows = (np.sort(row[own]) for row, own in zip(values, held, strict=True))
    return [float(row[: max(1, int(LOWEST * len(row)))].mean()) for row in rows]


def identity(folder: Path) -> str:
    """The hash of all files of a model that decide what it computes."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")) + [folder / "config.json"]:
        digest.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()
