"""What the editors share: contexts as one batch, a block's MLP output, keys and wanted values."""

import copy
from dataclasses import dataclass
from typing import Any

import torch

from .common import Fact, blocks, down, encoded, random_texts

STEPS = 50  # of fine-tuning for one request


@dataclass
class Edit:
    """A model, contexts with the tokens that are to follow, and texts that say what is normal.

    block  whose MLP output matrix is changed
    limit  CPU seconds after which a method stops and returns what it has
    unit   in which wanted changes are fitted
    steps  of fine-tuning
    """

    model: Any
    contexts: list[tuple[int, ...]]
    tokens: list[int]
    texts: list[list[int]]
    block: int
    limit: float = 60.0
    unit: float = 1.0
    steps: int = 400

    def __post_init__(self) -> None:
        longest = max(map(len, self.contexts))
        self.rows = torch.zeros(len(self.contexts), longest, dtype=torch.long)
        for i, context in enumerate(self.contexts):
            self.rows[i, : len(context)] = torch.tensor(context)
        self.last = torch.tensor([len(context) - 1 for context in self.contexts])
        self.wanted = torch.tensor(self.tokens)
        self.normal: torch.Tensor | None = None

    def copied(self) -> Any:
        return copy.deepcopy(self.model)

    def down(self, model: Any) -> Any:
        """The matrix that the MLP of the block writes with."""
        return down(blocks(model)[self.block])

    def added(self, model: Any, change: torch.Tensor) -> None:
        """Add a change [inputs, outputs] to that matrix."""
        with torch.no_grad():
            own = self.down(model).weight
            own += change if model.config.model_type == "gpt2" else change.T

    def keys(self, model: Any, rows: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """[k, M] what the matrix reads after each context."""
        found: list[torch.Tensor] = []
        hook = self.down(model).register_forward_pre_hook(lambda m, given: found.append(given[0]))
        with torch.no_grad():
            model(rows, use_cache=False)
        hook.remove()
        return found[0][torch.arange(len(rows)), last]

    def streams(self, model: Any) -> torch.Tensor:
        """[k, D] the stream after the block, after each context."""
        found: list[Any] = []
        hook = blocks(model)[self.block].register_forward_hook(lambda m, given, x: found.append(x))
        with torch.no_grad():
            model(self.rows, use_cache=False)
        hook.remove()
        whole = found[0] if isinstance(found[0], torch.Tensor) else found[0][0]
        return whole[torch.arange(len(self.rows)), self.last]

    def covariance(self) -> torch.Tensor:
        """[M, M] the mean of k k over the texts."""
        if self.normal is None:
            total, count = None, 0
            for text in self.texts:
                found: list[torch.Tensor] = []
                hook = self.down(self.model).register_forward_pre_hook(
                    lambda m, given, found=found: found.append(given[0][0])
                )
                with torch.no_grad():
                    self.model(torch.tensor([text]), use_cache=False)
                hook.remove()
                part = found[0].double().T @ found[0].double()
                total, count = part if total is None else total + part, count + len(found[0])
            assert total is not None
            self.normal = (total / count).float()
            if not self.normal.any():  # no neuron is on in the texts: all directions count alike
                self.normal = torch.eye(len(self.normal))
        return self.normal

    def values(self, model: Any, some: torch.Tensor, steps: int, rate: float) -> torch.Tensor:
        """[k, D] what has to be added to the MLP's output after a context, so that the wanted
        token follows with a probability of 95 %."""
        rows, last, wanted = self.rows[some], self.last[some], self.wanted[some]
        rows, at = rows[:, : int(last.max()) + 1], torch.arange(len(some))
        change = torch.zeros(len(some), model.config.hidden_size, requires_grad=True)
        optimiser = torch.optim.Adam([change], lr=rate)

        def hook(module: Any, given: Any, output: torch.Tensor) -> torch.Tensor:
            output = output.clone()
            output[at, last] += self.unit * change
            return output

        handle = self.down(model).register_forward_hook(hook)
        for _ in range(steps):
            scores = model(rows, use_cache=False).logits[at, last]
            losses = torch.nn.functional.cross_entropy(scores, wanted, reduction="none")
            if losses.max() < 0.05:
                break
            optimiser.zero_grad()
            (losses.sum() + 1e-3 * change.square().sum()).backward()
            optimiser.step()
        handle.remove()
        return self.unit * change.detach()


def asked(model: Any, tokenizer: Any, request: Fact, block: int | None = None) -> Edit:
    """The edit that a request asks for: every token of the new answer, after those before it.

    Nobody gives texts, so random tokens take their place; the block is the middle one, and the
    unit the root mean square of the stream after it.
    """
    prompt, answer = encoded(tokenizer, request)
    contexts = [(*prompt, *answer[:i]) for i in range(len(answer))]
    texts = random_texts(model, 64, 32).tolist()
    block = len(blocks(model)) // 2 if block is None else block
    edit = Edit(model, contexts, answer, texts, block, steps=STEPS)
    edit.unit = float(edit.streams(model)[0].square().mean().sqrt())
    return edit
