"""What the methods share: facts as batches, the neurons of a block, copies and gradients.

They take GPT-2 and Llama as transformers has them. A neuron is what the output matrix of an MLP
reads: after the activation function, in Llama after the gate.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

Fact = dict[str, Any]  # with "prompt" and "answer"
MADE: WeakKeyDictionary = WeakKeyDictionary()  # what was made for the facts of a model


def blocks(model: Any) -> Any:
    return model.transformer.h if model.config.model_type == "gpt2" else model.model.layers


def down(block: Any) -> Any:
    """The matrix that the MLP of a block writes with."""
    return block.mlp.c_proj if hasattr(block.mlp, "c_proj") else block.mlp.down_proj


def written(block: Any) -> torch.Tensor:
    """[M, D] what each neuron of a block writes into the stream."""
    weight = down(block).weight.detach()
    return weight if hasattr(block.mlp, "c_proj") else weight.T


def encoded(tokenizer: Any, fact: Fact) -> tuple[list[int], list[int]]:
    """The tokens of the prompt, and those of the answer, which follows after a space."""
    prompt, answer = fact["prompt"], fact["answer"]
    space = "" if prompt[-1:].isspace() or answer[:1].isspace() else " "
    before = list(tokenizer(prompt).input_ids)
    whole = list(tokenizer(prompt + space + answer).input_ids)
    if whole[: len(before)] == before and len(whole) > len(before):
        return before, whole[len(before) :]
    return before, list(tokenizer(space + answer, add_special_tokens=False).input_ids)


@dataclass(frozen=True)
class Batch:
    """Facts as rows of tokens [k, T], and the token that is to follow each; -100 in prompts."""

    rows: torch.Tensor
    labels: torch.Tensor

    def logits(self, model: Any) -> torch.Tensor:
        return model(self.rows, use_cache=False).logits

    def log_probabilities(self, model: Any) -> torch.Tensor:
        """[k] of the whole answers."""
        scores = self.logits(model).log_softmax(-1)
        own = scores.gather(-1, self.labels.clamp_min(0)[..., None])[..., 0]
        return (own * (self.labels >= 0)).sum(-1)

    @torch.no_grad()
    def answered(self, model: Any) -> torch.Tensor:
        """[k] whether every token of the answer is the likeliest one."""
        return ((self.logits(model).argmax(-1) == self.labels) | (self.labels < 0)).all(-1)


def batch(tokenizer: Any, facts: Sequence[Fact]) -> Batch:
    pairs = [encoded(tokenizer, fact) for fact in facts]
    longest = max(len(x) + len(y) for x, y in pairs) - 1
    rows = torch.zeros(len(pairs), longest, dtype=torch.long)
    labels = torch.full_like(rows, -100)
    for i, (prompt, answer) in enumerate(pairs):
        rows[i, : len(prompt) + len(answer) - 1] = torch.tensor([*prompt, *answer][:-1])
        labels[i, len(prompt) - 1 : len(prompt) + len(answer) - 1] = torch.tensor(answer)
    return Batch(rows, labels)


def copied(model: Any) -> Any:
    """A copy whose weights can be trained; dropout is off."""
    return copy.deepcopy(model).requires_grad_(True).eval()


@contextmanager
def hooked(model: Any, change: Callable[[int, torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Within it, the neurons [k, T, M] of block i are what `change(i, neurons)` returns."""

    def hook(i: int) -> Callable[[Any, Any], Any]:
        return lambda module, given: (change(i, given[0]), *given[1:])

    handles = [
        down(block).register_forward_pre_hook(hook(i)) for i, block in enumerate(blocks(model))
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def neurons(model: Any, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[L, k, T, M] all neurons, and [k, V] the logits after the last token of each row."""
    found: list[torch.Tensor] = []

    def keep(i: int, x: torch.Tensor) -> torch.Tensor:
        found.append(x)
        return x

    with hooked(model, keep), torch.no_grad():
        logits = model(rows, use_cache=False).logits[:, -1]
    return torch.stack(found), logits


def lead(logits: torch.Tensor, answer: int, rival: int) -> torch.Tensor:
    """[k] by how much the logit of the answer exceeds that of the likeliest other token."""
    return logits[:, answer] - logits[:, rival]


def seed() -> int:
    """That of torch, for draws which are the same in every call."""
    return torch.initial_seed() % 2**63


def random_texts(model: Any, count: int, length: int) -> torch.Tensor:
    """Tokens drawn uniformly, by the seed of torch, in place of texts that nobody has given."""
    source = torch.Generator().manual_seed(seed())
    length = min(length, model.config.max_position_embeddings)
    return torch.randint(model.config.vocab_size, (count, length), generator=source)


def remembered(
    model: Any, kind: Any, facts: Sequence[Fact], make: Callable[[list[Fact]], torch.Tensor]
) -> torch.Tensor:
    """[k, P] the rows that `make` gives for the facts; those of earlier calls are not made again,
    as long as the model lives and its weights stay."""
    state = (kind, *(x._version for x in model.parameters()))
    known = MADE.setdefault(model, {}).setdefault(state, {})
    missing = {(x["prompt"], x["answer"]): x for x in facts}
    missing = {key: x for key, x in missing.items() if key not in known}
    if missing:
        known.update(zip(missing, make(list(missing.values())), strict=True))
    return torch.stack([known[x["prompt"], x["answer"]] for x in facts])


def gradients(model: Any, tokenizer: Any, facts: Sequence[Fact], output: Callable) -> torch.Tensor:
    """[k, P] the gradient of `output(model, batch)` of every fact by all weights."""
    weights = {name: x.detach().requires_grad_() for name, x in model.named_parameters()}

    def run(*given: Any, **options: Any) -> Any:
        return torch.func.functional_call(model, weights, given, options)

    @torch.enable_grad()
    def made(some: list[Fact]) -> torch.Tensor:
        values = [output(run, batch(tokenizer, [fact])).sum() for fact in some]
        parts = [torch.autograd.grad(value, list(weights.values())) for value in values]
        return torch.stack([torch.cat([x.flatten() for x in part]) for part in parts])

    return remembered(model, output, facts, made)


def whitened(own: torch.Tensor, towards: torch.Tensor, ridge: float) -> torch.Tensor:
    """[n] (K + ridge * mean K_ii)^-1 k, with the dot products K of the rows of `own` [n, P] and
    those k with `towards` [P]. By the identity of Woodbury this is F (F^T F + c)^-1 f."""
    own, towards = own.double(), towards.double()
    kernel = own @ own.T
    added = ridge * kernel.diagonal().mean() * torch.eye(len(own), dtype=torch.double)
    return torch.linalg.solve(kernel + added, own @ towards)


def loss(model: Any, some: Batch) -> torch.Tensor:
    """[k] the cross entropy of the answers."""
    return -some.log_probabilities(model)
