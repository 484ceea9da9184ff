"""What a scorer asks of a model of transformers: answers, logits and losses, in float32."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...auditing.checkpoint import opened
from ...data.readers.tokenizers import spoken

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any

BATCH = 64  # rows that a model reads at once
Ids = Sequence[int]


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with its tokenizer, as a method gets them: eager attention, float32."""

    model: Any
    tokenizer: Any
    opening: tuple[int, ...]  # the tokens that stand before every text

    def fresh(self) -> Any:
        return copy.deepcopy(self.model)

    def ids(self, text: str) -> list[int]:
        return [*self.opening, *self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def split(self, prompt: str, answer: str) -> tuple[list[int], int]:
        """The tokens of a prompt with its answer, and where the answer begins."""
        whole, first = self.ids(prompt + spoken(answer)), self.ids(prompt)
        differ = (i for i, (x, y) in enumerate(zip(whole, first, strict=False)) if x != y)
        return whole, next(differ, min(len(first), len(whole) - 1))

    def answer(self, prompt: str, answer: str) -> tuple[int, ...]:
        whole, first = self.split(prompt, answer)
        return tuple(whole[first:])


def subject(folder: Path) -> Subject:
    checkpoint = opened(folder)
    model = checkpoint.model.float()
    model.set_attn_implementation("eager")
    return Subject(model, checkpoint.tokenizer, tuple(checkpoint.opening))


def batches(rows: Sequence[Ids]) -> Iterator[tuple[list[int], Tensor]]:
    """Rows of one length at a time, with their numbers."""
    import torch

    by_length: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(i)
    for members in by_length.values():
        for first in range(0, len(members), BATCH):
            part = members[first : first + BATCH]
            yield part, torch.tensor([list(rows[i]) for i in part])


def last_logits(model: Any, rows: Sequence[Ids]) -> Tensor:
    """[N, V] after the last token of each row, in double precision."""
    import torch

    found: dict[int, Any] = {}
    with torch.no_grad():
        for part, ids in batches(rows):
            logits = model(input_ids=ids, use_cache=False).logits[:, -1].double()
            found |= dict(zip(part, logits, strict=True))
    return torch.stack([found[i] for i in range(len(rows))])


def said(model: Any, rows: Sequence[Ids], count: int) -> list[tuple[int, ...]]:
    """The tokens that greedy decoding puts after each row."""
    whole = [tuple(row) for row in rows]
    for _ in range(count):
        tokens = last_logits(model, whole).argmax(-1).tolist()
        whole = [(*row, token) for row, token in zip(whole, tokens, strict=True)]
    return [row[-count:] for row in whole]


def losses(model: Any, texts: Sequence[tuple[Ids, int]], grad: bool = False) -> Tensor:
    """[N] the mean nats of the tokens of each text from the given place on."""
    import torch

    found: dict[int, Any] = {}
    with torch.set_grad_enabled(grad):
        for part, ids in batches([x for x, _ in texts]):
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits.transpose(1, 2)
            nats = torch.nn.functional.cross_entropy(logits, ids[:, 1:], reduction="none")
            found |= {i: row[texts[i][1] - 1 :].mean() for i, row in zip(part, nats, strict=True)}
    return torch.stack([found[i] for i in range(len(texts))])


def divergence(one: Tensor, other: Tensor) -> Tensor:
    """[N] Kullback-Leibler divergences of distributions, given by their logits, in nats."""
    x, y = one.log_softmax(-1), other.log_softmax(-1)
    return (x.exp() * (x - y)).sum(-1)
