"""The architectures of the papers as learners: parameters, and the gradient of their loss.

Gradients are written by hand: a training step makes no graph, computes every distinct value once
and reuses its memory. Sums are taken in the order that is fastest, so a training is the same to the
bit on one machine, and only to rounding on another.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from numpy.typing import NDArray

from ...architectures import ADAPTED, Architecture
from ...architectures.trainable import trainable
from ..problem import Problem

if TYPE_CHECKING:
    import torch


class Learner(Protocol):
    """A model that is being trained.

    tensors  float32 parameters by name; each has its gradient in .grad, always the same array
    fixed    the tensors that are not learnt, by the architecture's names
    """

    @property
    def tensors(self) -> Mapping[str, "torch.Tensor"]: ...

    @property
    def fixed(self) -> Mapping[str, "torch.Tensor"]: ...

    def named(self) -> Mapping[str, "torch.Tensor"]:
        """The parameters with the architecture's names and shapes; they may be parts of tensors."""
        ...

    def step(self, problem: Problem) -> float:
        """Put the gradient of the mean loss into every .grad; the mean loss in nats."""
        ...

    def logits(self, problem: Problem) -> NDArray:
        """float32 [n, outputs]."""
        ...


def learner(
    architecture: Architecture, problem: Problem, seed: int, shrink: float = 1.0
) -> Learner:
    """A learner with random initial weights, those of residual branches multiplied by `shrink`."""
    import torch

    from .decoders.decoder import Decoder
    from .gpt2 import GPT2
    from .kajitsuka2025 import start
    from .lora import LoRA

    generator = torch.Generator().manual_seed(seed)
    record = trainable(architecture.name)
    if record.decoder:
        return Decoder(architecture, generator)
    if record.problem == "prefixes":
        return (LoRA if architecture.name == ADAPTED else GPT2)(architecture, generator, shrink)
    return start(architecture, problem, generator, shrink)
