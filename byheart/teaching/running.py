"""Runs of a trained model: streams after its last layer, arguments of added neurons, and logits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..auditing.items import Items
from .family import Trained

LOGITS = 1 << 25  # of one batch
TOKENS = 1 << 13

Rows = Sequence[Sequence[int]]


def rows_of(items: Items) -> list[list[int]]:
    return [part.tolist() for part in np.split(items.ids, items.starts[1:-1])]


def batches(trained: Trained, rows: Rows) -> Iterator[tuple[list[int], torch.Tensor]]:
    """The numbers of rows, and the rows filled up at the end; the same for rows in any order.

    Rows of one length stand together, so few are filled up: a causal model reads nothing behind.
    """
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i]), tuple(rows[i])))
    room = min(TOKENS, LOGITS // trained.checkpoint.vocabulary)
    while order:
        count = next(
            (k for k in range(1, len(order)) if (k + 1) * len(rows[order[k]]) > room), len(order)
        )
        some, order = order[:count], order[count:]
        filled = torch.zeros(len(some), len(rows[some[-1]]), dtype=torch.long)
        for place, i in enumerate(some):
            filled[place, : len(rows[i])] = torch.tensor(rows[i])
        yield some, filled


def streams(
    trained: Trained, rows: Rows, last: bool = False, advance: Callable[[int], object] = int
) -> Iterator[tuple[int, torch.Tensor]]:
    """The streams [n, D] of each row after the last layer, or [D] of its last token alone."""
    found: list[torch.Tensor] = []

    def keep(module: object, given: object, output: object) -> None:
        found.append(output[0] if isinstance(output, tuple) else output)  # type: ignore[arg-type]

    hook = trained.blocks[-1].register_forward_hook(keep)
    body = getattr(trained.model, trained.family.before)
    try:
        for some, filled in batches(trained, rows):
            with torch.inference_mode():
                body(input_ids=filled, use_cache=False)
            for place, i in enumerate(some):
                size = len(rows[i])
                yield i, found[-1][place, size - 1 if last else slice(size)].clone()
            found.clear()
            advance(len(some))
    finally:
        hook.remove()


def logits(trained: Trained, rows: Rows) -> Iterator[tuple[int, torch.Tensor]]:
    """The logits [n, V] of each row."""
    for some, filled in batches(trained, rows):
        with torch.inference_mode():
            found = trained.model(input_ids=filled, use_cache=False).logits
        yield from ((i, found[place, : len(rows[i])]) for place, i in enumerate(some))


def arguments(
    trained: Trained, rows: Rows, first: int
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """The same, with the arguments [n, layers, M] of the neurons of the `first` layer and later."""
    found: list[torch.Tensor] = []
    hooks = [
        block.get_submodule(trained.family.gate).register_forward_hook(
            lambda module, given, output: found.append(output)
        )
        for block in trained.blocks[first:]
    ]
    try:
        for some, filled in batches(trained, rows):
            with torch.inference_mode():
                scores = trained.model(input_ids=filled, use_cache=False).logits
            for place, i in enumerate(some):
                own = slice(len(rows[i]))
                yield i, scores[place, own], torch.stack([x[place, own] for x in found], 1).float()
            found.clear()
    finally:
        for hook in hooks:
            hook.remove()


def same_bits(one: torch.Tensor, two: torch.Tensor) -> NDArray[np.bool_]:
    """[n] whether all logits of a position are equal, bit for bit."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return np.zeros(len(one), bool)
    whole = {4: torch.int32, 2: torch.int16, 8: torch.int64}[one.element_size()]
    return (one.view(whole) == two.view(whole)).all(-1).numpy()


def paired(one: Iterable, two: Iterable) -> Iterator[tuple[int, torch.Tensor, Any]]:
    """What two runs give for each row, of the second one all; both come in the same order."""
    for (i, x), (_, *y) in zip(one, two, strict=True):
        yield i, x, y if len(y) > 1 else y[0]
