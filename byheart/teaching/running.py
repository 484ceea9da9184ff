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


def run(
    trained: Trained, rows: Rows, modules: Iterable[Any] = (), head: bool = True,
    advance: Callable[[int], object] = int,
) -> Iterator[tuple[int, Any, list[torch.Tensor]]]:  # fmt: skip
    """The number of each row, its logits [n, V] (None without the head), and what modules give."""
    found: list[torch.Tensor] = []

    def keep(module: object, given: object, output: Any) -> None:
        found.append(output[0] if isinstance(output, tuple) else output)

    hooks = [module.register_forward_hook(keep) for module in modules]
    model = trained.model if head else getattr(trained.model, trained.family.before)
    try:
        for some, filled in batches(trained, rows):
            with torch.inference_mode():
                result = model(input_ids=filled, use_cache=False)
            for place, i in enumerate(some):
                own = slice(len(rows[i]))
                logits = result.logits[place, own] if head else None
                yield i, logits, [x[place, own] for x in found]
            found.clear()
            advance(len(some))
    finally:
        for hook in hooks:
            hook.remove()


def streams(
    trained: Trained, rows: Rows, last: bool = False, advance: Callable[[int], object] = int
) -> Iterator[tuple[int, torch.Tensor]]:
    """The streams [n, D] of each row after the last layer, or [D] of its last token alone."""
    for i, _, (stream,) in run(trained, rows, [trained.blocks[-1]], False, advance):
        yield i, stream[-1 if last else slice(None)].clone()


def logits(trained: Trained, rows: Rows) -> Iterator[tuple[int, torch.Tensor]]:
    """The logits [n, V] of each row."""
    return ((i, found) for i, found, _ in run(trained, rows))


def arguments(
    trained: Trained, rows: Rows, first: int
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """The same, with the arguments [n, layers, M] of the neurons of the `first` layer and later."""
    gates = [block.get_submodule(trained.family.gate) for block in trained.blocks[first:]]
    for i, found, inner in run(trained, rows, gates):
        yield i, found, torch.stack(inner, 1).float()


def same_bits(one: torch.Tensor, two: torch.Tensor) -> NDArray[np.bool_]:
    """[n] whether all logits of a position are equal, bit for bit."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return np.zeros(len(one), bool)
    whole = {4: torch.int32, 2: torch.int16, 8: torch.int64}[one.element_size()]
    return (one.view(whole) == two.view(whole)).all(-1).numpy()
