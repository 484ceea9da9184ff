"""Well-known language models that anyone can download, with their exact parameter counts."""

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ..errors import ByheartError
from .description import Architecture, Sizes, Tensors, sizes_of


@dataclass(frozen=True)
class Family:
    """What models with gated neurons and rotary positions differ in, beside their sizes."""

    reference: str  # the paper that describes it
    activation: str = "silu"  # of the gate
    biased: tuple[str, ...] = ()  # maps of attention that have a bias
    norms: int = 2  # per layer, without those of heads
    normed: bool = False  # whether the queries and the keys of a head are normed
    tied: bool = False  # whether the unembedding is the embedding, unless the model says otherwise


# by the name that Hugging Face calls model_type
FAMILIES = {
    "llama": Family("touvron2023"),
    "mistral": Family("jiang2023"),
    "qwen2": Family("yang2024", biased=("query", "key", "value")),
    "qwen3": Family("yang2025", normed=True),
    "gemma": Family("mesnard2024", "gelu", tied=True),
    "gemma2": Family("riviere2024", "gelu", norms=4, tied=True),
    "gemma3_text": Family("kamath2025", "gelu", norms=4, normed=True, tied=True),
}


class Shape(NamedTuple):
    """The sizes of a model; several heads share the keys and values of one of the groups."""

    layers: int
    dimension: int
    heads: int
    groups: int
    head_dimension: int
    width: int
    vocabulary: int
    length: int
    tied: bool  # whether the unembedding is the embedding


with files(__package__).joinpath("public.csv").open(encoding="ascii") as _file:
    _, *_ROWS = csv.reader(_file)
PUBLIC = {
    name: (family, Shape._make([*map(int, sizes), tied == "1"]))
    for name, family, *sizes, tied in _ROWS
}


@cache
def public_architecture(name: str) -> Architecture:
    """The model of this name, one of PUBLIC."""
    family, shape = PUBLIC[name]
    if family == "gpt2":
        return gpt2(name, shape)
    if family == "gpt_neox":
        return neox(name, shape)
    return gated(name, FAMILIES[family], shape)


def ungrouped(
    layers: int, d: int, heads: int, width: int, vocabulary: int, length: int, tied: bool
) -> Shape:
    """Every head has keys and values of its own, and heads share the dimension."""
    return Shape(layers, d, heads, heads, max(1, d // heads), width, vocabulary, length, tied)


def gpt2(name: str, shape: Shape, activation: str = "gelu") -> Architecture:
    """Radford et al. 2019: learnt positions, and an unembedding that is the embedding."""
    positions: Tensors = {"positions.weight": (shape.length, shape.dimension)}
    return _described(name, "radford2019", "", positions | _layers(shape), shape, activation)


def small_gpt2(
    vocabulary: int, length: int, layers: int, dimension: int, heads: int
) -> Architecture:
    """GPT-2 of any size, with 4 neurons per coordinate as the public ones have."""
    if dimension % max(1, heads):
        raise ByheartError(
            f"gpt2: the dimension {dimension:,} is not a multiple of the {heads:,} heads."
        )
    shape = ungrouped(layers, dimension, heads, 4 * dimension, vocabulary, length, True)
    return gpt2("gpt2", shape)


def lora_gpt2(
    vocabulary: int, length: int, layers: int, dimension: int, heads: int, rank: int
) -> Architecture:
    """LoRA adapters of a small GPT-2, which is fixed: W + B A for every linear map of its layers.

    Hu et al. 2021, with the factor alpha / r = 1.
    """
    base = small_gpt2(vocabulary, length, layers, dimension, heads)
    maps = {
        name.removesuffix(".weight"): shape
        for name, shape in base.tensors.items()
        if name.startswith("layers.") and len(shape) == 2
    }
    matrices: Tensors = {f"{name}.A": (rank, shape[1]) for name, shape in maps.items()}
    matrices |= {f"{name}.B": (shape[0], rank) for name, shape in maps.items()}
    return replace(base, name="gpt2-lora", tensors=matrices, fixed=base.tensors)


def neox(name: str, shape: Shape, activation: str = "gelu", biased: bool = True) -> Architecture:
    """Biderman et al. 2023: rotary positions, which are not learnt, and a separate unembedding."""
    formula, tensors = ", neurons beside attention", _layers(shape, biased)
    return _described(name, "biderman2023", formula, tensors, shape, activation)


def gated(name: str, family: Family, shape: Shape, neuron_biases: bool = False) -> Architecture:
    """Llama and its relatives: rotary positions, gated neurons, norms that only scale."""
    d, width, size = shape.dimension, shape.width, shape.head_dimension
    queries, keys = shape.heads * size, shape.groups * size
    rows = {"query": queries, "key": keys, "value": keys, "out": d}
    block: Tensors = {f"norm_{i + 1}.weight": (d,) for i in range(family.norms)}
    for part, outputs in rows.items():
        block[f"attention.{part}.weight"] = (outputs, queries if part == "out" else d)
        if part in family.biased:
            block[f"attention.{part}.bias"] = (outputs,)
    if family.normed:
        block |= {f"attention.{part}_norm.weight": (size,) for part in ("query", "key")}
    for part, matrix in {"gate": (width, d), "hidden": (width, d), "down": (d, width)}.items():
        block[f"{part}.weight"] = matrix
        if neuron_biases:
            block[f"{part}.bias"] = matrix[:1]
    tensors = _repeated(shape.layers, block) | {"norm.weight": (d,)}
    formula = ", neurons W_2 (psi(W_g x) * W_1 x)"
    how = family.activation
    return _described(name, family.reference, formula, tensors, shape, how, "gated")


def _described(
    name: str, by: str, formula: str, inner: Tensors, shape: Shape, how: str, kind: str = "decoder"
) -> Architecture:
    vocabulary, d = shape.vocabulary, shape.dimension
    embedding: Tensors = {"embedding.weight": (vocabulary, d)}
    output: Tensors = {"output.weight": (vocabulary, d)}
    own: Sizes = {name: getattr(shape, name) for name in ("heads", "head_dimension", "layers")}
    return Architecture(
        name,
        by,
        f"{'W_E' if shape.tied else 'W_U'} norm(x_L){formula}",
        embedding | inner | ({} if shape.tied else output),
        sizes_of(kind, vocabulary, shape.length, d, shape.width, activation=how, **own),
        output if shape.tied else {},
    )


def _layers(shape: Shape, biased: bool = True) -> Tensors:
    """4 d^2 + 2 d w + 9 d + w per layer, which is 12 d^2 + 13 d if w = 4 d, and the last norm."""
    d, width = shape.dimension, shape.width
    biases: Tensors = {"attention.in.bias": (3 * d,), "attention.out.bias": (d,)}
    block: Tensors = {
        "norm_1.weight": (d,),
        "norm_1.bias": (d,),
        "attention.in.weight": (3 * d, d),
        "attention.out.weight": (d, d),
        **(biases if biased else {}),
        "norm_2.weight": (d,),
        "norm_2.bias": (d,),
        "hidden.weight": (width, d),
        "hidden.bias": (width,),
        "down.weight": (d, width),
        "down.bias": (d,),
    }
    last: Tensors = {"norm.weight": (d,), "norm.bias": (d,)}
    return _repeated(shape.layers, block) | last


def _repeated(layers: int, block: Tensors) -> Tensors:
    return {f"layers.{i}.{name}": size for i in range(layers) for name, size in block.items()}
