"""Checkpoint: the configuration and the tensors of a stock GPT-2 or Llama, as transformers reads.

The names and the shapes are those of checker/FORMAT.md, section 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray]
TYPES = {"float32": 24, "float16": 11, "bfloat16": 8}  # binary digits of a mantissa


@dataclass(frozen=True)
class Family:
    """How one architecture names its sizes."""

    name: str
    architecture: str
    vocabulary: str
    places: str
    width: str
    layers: str
    heads: str
    hidden: str
    epsilon: str
    blocks: str  # what the names of the tensors of its blocks begin with
    # the tensors of the neurons of a block, and which axis theirs is; the last one is what they
    # write
    neurons: tuple[tuple[str, int], ...]
    rms: bool  # whether its norm leaves the mean alone (Llama) instead of subtracting it (GPT-2)


GPT2 = Family(
    "gpt2", "GPT2LMHeadModel", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head",
    "n_inner", "layer_norm_epsilon", "transformer.h",
    (("mlp.c_fc.weight", 1), ("mlp.c_fc.bias", 0), ("mlp.c_proj.weight", 0)), rms=False,
)  # fmt: skip
LLAMA = Family(
    "llama", "LlamaForCausalLM", "vocab_size", "max_position_embeddings", "hidden_size",
    "num_hidden_layers", "num_attention_heads", "intermediate_size", "rms_norm_eps", "model.layers",
    (("mlp.gate_proj.weight", 0), ("mlp.up_proj.weight", 0), ("mlp.down_proj.weight", 1)), rms=True,
)  # fmt: skip
FAMILIES = {family.name: family for family in (GPT2, LLAMA)}


class Block(NamedTuple):
    """The tensors of one block under common names; matrices are applied from the right, x @ W.

    gate is None in GPT-2, biases are None in Llama. In GPT-2 `up` is c_fc.
    """

    norm1: NDArray
    norm1_bias: NDArray | None
    query: NDArray  # [D, H s]
    key: NDArray
    value: NDArray
    attention_bias: NDArray | None  # [3 H s]
    out: NDArray  # [H s, D]
    out_bias: NDArray | None
    norm2: NDArray
    norm2_bias: NDArray | None
    gate: NDArray | None  # [D, M]
    up: NDArray
    up_bias: NDArray | None
    down: NDArray  # [M, D]
    down_bias: NDArray | None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A stock network: what its config.json says, and its tensors by name."""

    config: Mapping[str, Any]
    tensors: Tensors
    dtype: str = "float32"  # the type that the weights are stored in

    every = False  # it answers at the last token

    @property
    def family(self) -> Family:
        return FAMILIES[self.config["model_type"]]

    def size(self, name: str) -> int:
        """vocabulary, places, width, layers, heads or hidden."""
        return self.config[getattr(self.family, name)]

    @property
    def head_size(self) -> int:
        if self.family is GPT2:
            return self.size("width") // self.size("heads")
        return self.config["head_dim"]

    @property
    def epsilon(self) -> float:
        return float(self.config[self.family.epsilon])

    @property
    def rotary_base(self) -> float:
        return float(self.config["rope_parameters"]["rope_theta"])

    @property
    def length(self) -> int:
        return self.size("places")

    @property
    def depth(self) -> int:
        return self.size("layers")

    @property
    def width(self) -> int:
        return self.size("width")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Checkpoint):
            return NotImplemented
        same = (dict(self.config), self.dtype) == (dict(other.config), other.dtype)
        same &= self.tensors.keys() == other.tensors.keys()
        return same and all(np.array_equal(x, other.tensors[n]) for n, x in self.tensors.items())

    @cached_property
    def embedding(self) -> NDArray:
        """[V, D]; the logits are its product with the last stream."""
        own = "transformer.wte.weight" if self.family is GPT2 else "model.embed_tokens.weight"
        return self.tensors[own].astype(np.float64)

    @cached_property
    def places(self) -> NDArray | None:
        """[P, D]; Llama has none: it rotates queries and keys."""
        if self.family is not GPT2:
            return None
        return self.tensors["transformer.wpe.weight"].astype(np.float64)

    @cached_property
    def final(self) -> tuple[NDArray, NDArray | None]:
        """The gain and the bias of the last norm."""
        if self.family is GPT2:
            gain, bias = (self.tensors[f"transformer.ln_f.{x}"] for x in ("weight", "bias"))
            return gain.astype(np.float64), bias.astype(np.float64)
        return self.tensors["model.norm.weight"].astype(np.float64), None

    def block(self, layer: int) -> Block:
        def get(name: str) -> NDArray:
            return self.tensors[f"{self.family.blocks}.{layer}.{name}"].astype(np.float64)

        if self.family is GPT2:
            query, key, value = np.split(get("attn.c_attn.weight"), 3, axis=1)
            return Block(
                get("ln_1.weight"), get("ln_1.bias"), query, key, value,
                get("attn.c_attn.bias"), get("attn.c_proj.weight"), get("attn.c_proj.bias"),
                get("ln_2.weight"), get("ln_2.bias"), None, get("mlp.c_fc.weight"),
                get("mlp.c_fc.bias"), get("mlp.c_proj.weight"), get("mlp.c_proj.bias"),
            )  # fmt: skip
        return Block(
            get("input_layernorm.weight"), None, get("self_attn.q_proj.weight").T,
            get("self_attn.k_proj.weight").T, get("self_attn.v_proj.weight").T, None,
            get("self_attn.o_proj.weight").T, None, get("post_attention_layernorm.weight"), None,
            get("mlp.gate_proj.weight").T, get("mlp.up_proj.weight").T, None,
            get("mlp.down_proj.weight").T, None,
        )  # fmt: skip

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Parameters and bits, as every network counts them; the tied embedding counts once."""
        dense = sum(x.size for x in self.tensors.values())
        nonzero = sum(int(np.count_nonzero(x)) for x in self.tensors.values())
        width = 32 if self.dtype == "float32" else 16
        parameters = {"nonzero": nonzero, "dense": dense, "counted": dense, "outside": 0}
        return parameters, {"total": width * dense, "fixed": width * dense, "largest": width}


def shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The name and the shape of every tensor that a checkpoint with this configuration has."""
    family = FAMILIES[config["model_type"]]
    names = ("vocabulary", "places", "width", "layers", "heads", "hidden")
    V, P, D, L, H, M = (config[getattr(family, name)] for name in names)
    if family is GPT2:
        found: dict[str, tuple[int, ...]] = {"wte.weight": (V, D), "wpe.weight": (P, D)}
        for i in range(L):
            for name, rows, columns in (
                ("attn.c_attn", D, 3 * D), ("attn.c_proj", D, D),
                ("mlp.c_fc", D, M), ("mlp.c_proj", M, D),
            ):  # fmt: skip
                found[f"h.{i}.{name}.weight"] = (rows, columns)
                found[f"h.{i}.{name}.bias"] = (columns,)
            for name in ("ln_1", "ln_2"):
                found |= {f"h.{i}.{name}.{x}": (D,) for x in ("weight", "bias")}
        found |= {f"ln_f.{x}": (D,) for x in ("weight", "bias")}
        return {f"transformer.{name}": shape for name, shape in found.items()}
    inner = H * config["head_dim"]
    found = {"embed_tokens.weight": (V, D), "norm.weight": (D,)}
    for i in range(L):
        own = {
            "input_layernorm": (D,), "post_attention_layernorm": (D,),
            "self_attn.q_proj": (inner, D), "self_attn.k_proj": (inner, D),
            "self_attn.v_proj": (inner, D), "self_attn.o_proj": (D, inner),
            "mlp.gate_proj": (M, D), "mlp.up_proj": (M, D), "mlp.down_proj": (D, M),
        }  # fmt: skip
        found |= {f"layers.{i}.{name}.weight": shape for name, shape in own.items()}
    return {f"model.{name}": shape for name, shape in found.items()}


def rounded(values: NDArray, dtype: str) -> NDArray[np.float32]:
    """The nearest numbers that the type has, as float32; ties and overflow as in IEEE 754."""
    single = np.asarray(values, np.float64).astype(np.float32)
    if dtype == "float16":
        return single.astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        bits = single.view(np.uint32)
        even = (bits >> np.uint32(16)) & np.uint32(1)
        return ((bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return single
