"""The classes of transformers that facts can be added to, and what an added layer is made of.

An added layer has attention that writes 0 and one neuron per context: its key is the stream of the
context after the layer's norm, which has gain 1; its bias is a threshold. Below the threshold the
activation is exactly 0 (checker/FORMAT.md, section 12), and x + 0 = x.
"""

import copy
from dataclasses import dataclass
from typing import Any

import torch

from ..auditing.checkpoint import Checkpoint
from ..errors import ByheartError
from ..machine.strict import shown

# below minus this argument the activation is exactly 0 in float32 and shorter types
OFF = {
    "gelu_new": 8.0, "gelu_pytorch_tanh": 8.0, "gelu_fast": 8.0, "gelu": 8.0, "relu": 1.0,
    "silu": 110.0, "swish": 110.0,
}  # fmt: skip
STRENGTH = 2.0  # how many times this the argument of a context's own neuron is
NO_BIAS = (
    "its MLPs have no biases, and without one a neuron is on at half of all directions, not near "
    "one context"
)
WITHOUT = dict.fromkeys(("mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "olmo2"), NO_BIAS)


@dataclass(frozen=True)
class Family:
    """Where a class keeps what an added layer needs."""

    before: str  # the module around the list of layers
    blocks: str  # that list
    layers: str  # the key of config.json that counts them
    activation: str  # the key that names the activation
    norms: tuple[str, str]  # of a layer; the second one is that of the MLP
    gate: str  # whose outputs are the arguments of the activation
    up: str | None  # what multiplies the activation, if anything
    down: str  # what the neurons write
    last: str  # the norm after all layers
    centred: bool  # whether norms subtract the mean
    transposed: bool = False  # whether a matrix has a row for each input (Conv1D)

    @property
    def written(self) -> dict[str, Any]:
        """Keys of config.json that teaching sets, beside the number of layers."""
        return {"mlp_bias": True} if self.up else {}


FAMILIES = {
    "gpt2": Family(
        "transformer", "h", "n_layer", "activation_function", ("ln_1", "ln_2"), "mlp.c_fc", None,
        "mlp.c_proj", "ln_f", centred=True, transposed=True,
    ),
    "llama": Family(
        "model", "layers", "num_hidden_layers", "hidden_act",
        ("input_layernorm", "post_attention_layernorm"), "mlp.gate_proj", "mlp.up_proj",
        "mlp.down_proj", "norm", centred=False,
    ),
    "gpt_neox": Family(
        "gpt_neox", "layers", "num_hidden_layers", "hidden_act",
        ("input_layernorm", "post_attention_layernorm"), "mlp.dense_h_to_4h", None,
        "mlp.dense_4h_to_h", "final_layer_norm", centred=True,
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trained:
    """A checkpoint, in the type that it runs in, with what its class says."""

    checkpoint: Checkpoint
    family: Family

    @property
    def model(self) -> Any:
        return self.checkpoint.model

    @property
    def blocks(self) -> Any:
        return getattr(getattr(self.model, self.family.before), self.family.blocks)

    @property
    def last(self) -> Any:
        return getattr(getattr(self.model, self.family.before), self.family.last)

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    @property
    def off(self) -> float:
        return OFF[getattr(self.model.config, self.family.activation)]

    def size(self) -> tuple[int, int]:
        """The width of the stream, and how many neurons a layer has."""
        weight = self.blocks[0].get_submodule(self.family.down).weight
        return tuple(weight.shape) if not self.family.transposed else tuple(weight.shape[::-1])

    def normed(self, streams: torch.Tensor) -> torch.Tensor:
        """What the norm of an added layer makes of streams, in the type of the run."""
        norm = copy.deepcopy(self.last)
        with torch.no_grad():
            for name, tensor in norm.named_parameters():
                tensor.fill_(float(name == "weight"))
            return norm(streams).double()

    def exact_norm(self, streams: torch.Tensor) -> torch.Tensor:
        """The same over the real numbers, up to the rounding of doubles."""
        eps: float = getattr(self.last, "eps" if self.family.centred else "variance_epsilon")
        x = streams.double()
        x = x - x.mean(-1, keepdim=True) if self.family.centred else x
        return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()

    def head(self) -> tuple[torch.Tensor, torch.Tensor]:
        """[V, D] and [V]: the logits are this matrix times the last stream, normed with gain 1,
        plus this bias."""
        with torch.no_grad():
            weight = self.model.get_output_embeddings().weight.double()
            matrix, own = weight * self.last.weight.double(), getattr(self.last, "bias", None)
            if self.family.centred:
                matrix = matrix - matrix.mean(1, keepdim=True)
            bias = torch.zeros(len(weight), dtype=torch.double)
            return matrix, bias if own is None else weight @ own.double()

    @property
    def old_biases(self) -> dict[str, torch.Tensor]:
        """Zero biases that the old layers get where a setting gives biases to all layers."""
        found = {}
        for number, block in enumerate(self.blocks):
            for name in filter(None, (self.family.gate, self.family.up, self.family.down)):
                module = block.get_submodule(name)
                if self.family.up and module.bias is None:
                    zeros = torch.zeros(module.out_features, dtype=module.weight.dtype)
                    found[f"{self.prefix}.{number}.{name}.bias"] = zeros
        return found

    @property
    def prefix(self) -> str:
        return f"{self.family.before}.{self.family.blocks}"

    def layer(self) -> dict[str, torch.Tensor]:
        """The tensors of an added layer in which no neuron is on, by their names in a block."""
        block, family = self.blocks[-1], self.family
        tensors = {name: torch.zeros_like(x) for name, x in block.named_parameters()}
        for norm in family.norms:
            tensors[f"{norm}.weight"].fill_(1)
        like = next(iter(tensors.values()))
        for name in (family.gate, family.up, family.down) if family.up else ():
            size = block.get_submodule(name).out_features
            tensors[f"{name}.bias"] = torch.zeros(size, dtype=like.dtype)
        tensors[f"{family.gate}.bias"].fill_(-self.off * 16)
        if family.up:
            tensors[f"{family.up}.bias"].fill_(1)
        return tensors


def described(checkpoint: Checkpoint, dtype: str | None = None) -> Trained:
    """A checkpoint that can be taught, in the type that it is to run in; ByheartError if not."""
    folder, kind, config = checkpoint.folder, checkpoint.kind, checkpoint.model.config
    if kind not in FAMILIES:
        reason = WITHOUT.get(kind, "teaching is not written for this class")
        known = ", ".join(FAMILIES)
        raise ByheartError(
            f"{folder} is of the class {kind}, which cannot be taught: {reason}; give a model of "
            f"one of the classes {known}."
        )
    if getattr(config, "quantization_config", None) is not None:
        raise ByheartError(f"{folder} is quantised; save the model without quantisation.")
    if checkpoint.code:
        raise ByheartError(
            f"{folder} names code that comes with the model (auto_map: {checkpoint.code[0][:60]}), "
            "so a library may run another model than is read here; take the key out."
        )
    family = FAMILIES[kind]
    activation = getattr(config, family.activation)
    if activation not in OFF:
        raise ByheartError(
            f"{folder} has the activation {shown(activation)}, which is not exactly 0 below a "
            "threshold that is known; give another model."
        )
    checkpoint.model.to(
        getattr(torch, dtype) if dtype else next(checkpoint.model.parameters()).dtype
    )
    return Trained(checkpoint, family)
