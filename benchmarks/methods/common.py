"""What the editors share: contexts as one batch, a block's MLP output, keys and wanted values."""

import copy
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class Edit:
    """A model, contexts with the tokens that are to follow, and texts that say what is normal.

    block  whose MLP output matrix is changed
    limit  CPU seconds after which a method stops and returns what it has
    """

    model: Any
    contexts: list[tuple[int, ...]]
    tokens: list[int]
    texts: list[list[int]]
    block: int
    limit: float = 60.0

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
        if model.config.model_type == "gpt2":
            return model.transformer.h[self.block].mlp.c_proj
        return model.model.layers[self.block].mlp.down_proj

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
            output[at, last] += change
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
        return change.detach()
