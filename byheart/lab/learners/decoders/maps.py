"""Maps: the matrices of attention, and the biases that it may have.

Weights of attention sum to 1, hence the biases of values and outputs add W_O b_V + b_O to what a
context hears; a bias of keys changes no weight, and its gradient is 0.
"""

from collections.abc import Mapping

import torch

from .workspace import gradient

NAMES = ("query", "key", "value", "out")


class Maps:
    """W_Q, W_K, W_V and W_O; a bias is None if there is none."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self.query, self.key, self.value, self.out = (
            tensors[f"attention.{name}.weight"] for name in NAMES
        )
        self.query_bias, _, self.value_bias, self.out_bias = (
            tensors.get(f"attention.{name}.bias") for name in NAMES
        )

    def add_bias(self, heard: torch.Tensor) -> None:
        """Add W_O b_V + b_O to every row."""
        if self.value_bias is not None and self.out_bias is not None:
            heard.add_(torch.addmv(self.out_bias, self.out, self.value_bias))

    def learn_bias(self, to_heard: torch.Tensor) -> None:
        """The gradients of this: write those of the biases, and add to that of W_O."""
        if self.value_bias is not None and self.out_bias is not None:
            to_out = torch.sum(to_heard, 0, out=gradient(self.out_bias))
            torch.mv(self.out.T, to_out, out=gradient(self.value_bias))
            gradient(self.out).addr_(to_out, self.value_bias)
