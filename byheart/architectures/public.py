"""Well-known language models that anyone can download, with their exact parameter counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ..errors import ByheartError
from .description import Architecture, Sizes, Tensors, sizes_of

# layers, dimension, heads
GPT2 = {
    "gpt2": (12, 768, 12),
    "gpt2-medium": (24, 1024, 16),
    "gpt2-large": (36, 1280, 20),
    "gpt2-xl": (48, 1600, 25),
}
# layers, dimension, heads, rows of the embedding (padded for speed)
PYTHIA = {
    "pythia-14m": (6, 128, 4, 50304),
    "pythia-31m": (6, 256, 8, 50304),
    "pythia-70m": (6, 512, 8, 50304),
    "pythia-160m": (12, 768, 12, 50304),
    "pythia-410m": (24, 1024, 16, 50304),
    "pythia-1b": (16, 2048, 8, 50304),
    "pythia-1.4b": (24, 2048, 16, 50304),
    "pythia-2.8b": (32, 2560, 32, 50304),
    "pythia-6.9b": (32, 4096, 32, 50432),
    "pythia-12b": (36, 5120, 40, 50688),
}


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


GATED: Mapping[str, Mapping[str, tuple]] = {  # the fields of a Shape
    "llama": {
        "llama-2-7b": (32, 4096, 32, 32, 128, 11008, 32000, 4096, False),
        "llama-2-13b": (40, 5120, 40, 40, 128, 13824, 32000, 4096, False),
        "llama-2-70b": (80, 8192, 64, 8, 128, 28672, 32000, 4096, False),
        "llama-3.1-8b": (32, 4096, 32, 8, 128, 14336, 128256, 131072, False),
        "llama-3.1-70b": (80, 8192, 64, 8, 128, 28672, 128256, 131072, False),
        "llama-3.1-405b": (126, 16384, 128, 8, 128, 53248, 128256, 131072, False),
        "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256, 131072, True),
        "llama-3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256, 131072, True),
    },
    "mistral": {
        "mistral-7b-v0.1": (32, 4096, 32, 8, 128, 14336, 32000, 32768, False),
        "mistral-7b-v0.3": (32, 4096, 32, 8, 128, 14336, 32768, 32768, False),
    },
    "qwen2": {
        "qwen2.5-0.5b": (24, 896, 14, 2, 64, 4864, 151936, 32768, True),
        "qwen2.5-1.5b": (28, 1536, 12, 2, 128, 8960, 151936, 131072, True),
        "qwen2.5-3b": (36, 2048, 16, 2, 128, 11008, 151936, 32768, True),
        "qwen2.5-7b": (28, 3584, 28, 4, 128, 18944, 152064, 131072, False),
        "qwen2.5-14b": (48, 5120, 40, 8, 128, 13824, 152064, 131072, False),
        "qwen2.5-32b": (64, 5120, 40, 8, 128, 27648, 152064, 131072, False),
        "qwen2.5-72b": (80, 8192, 64, 8, 128, 29568, 152064, 131072, False),
    },
    "qwen3": {
        "qwen3-0.6b": (28, 1024, 16, 8, 128, 3072, 151936, 40960, True),
        "qwen3-1.7b": (28, 2048, 16, 8, 128, 6144, 151936, 40960, True),
        "qwen3-4b": (36, 2560, 32, 8, 128, 9728, 151936, 40960, True),
        "qwen3-8b": (36, 4096, 32, 8, 128, 12288, 151936, 40960, False),
        "qwen3-14b": (40, 5120, 40, 8, 128, 17408, 151936, 40960, False),
        "qwen3-32b": (64, 5120, 64, 8, 128, 25600, 151936, 40960, False),
    },
    "gemma": {
        "gemma-2b": (18, 2048, 8, 1, 256, 16384, 256000, 8192, True),
        "gemma-7b": (28, 3072, 16, 16, 256, 24576, 256000, 8192, True),
    },
    "gemma2": {
        "gemma-2-2b": (26, 2304, 8, 4, 256, 9216, 256000, 8192, True),
        "gemma-2-9b": (42, 3584, 16, 8, 256, 14336, 256000, 8192, True),
        "gemma-2-27b": (46, 4608, 32, 16, 128, 36864, 256000, 8192, True),
    },
    "gemma3_text": {"gemma-3-1b": (26, 1152, 4, 1, 256, 6912, 262144, 32768, True)},
}
PUBLIC = (*GPT2, *PYTHIA, *(name for models in GATED.values() for name in models))


@cache
def public_architecture(name: str) -> Architecture:
    """The model of this name, one of PUBLIC."""
    if name in GPT2:
        layers, d, heads = GPT2[name]
        return gpt2(name, ungrouped(layers, d, heads, 4 * d, 50257, 1024, True))
    if name in PYTHIA:
        layers, d, heads, rows = PYTHIA[name]
        return neox(name, ungrouped(layers, d, heads, 4 * d, rows, 2048, False))
    family = next(family for family, models in GATED.items() if name in models)
    return gated(name, FAMILIES[family], Shape(*GATED[family][name]))


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
    name: str,
    paper: str,
    formula: str,
    inner: Tensors,
    shape: Shape,
    how: str,
    kind: str = "decoder",
) -> Architecture:
    """The architecture with these tensors between its embedding and its unembedding."""
    vocabulary, d = shape.vocabulary, shape.dimension
    embedding: Tensors = {"embedding.weight": (vocabulary, d)}
    output: Tensors = {"output.weight": (vocabulary, d)}
    own: Sizes = {name: getattr(shape, name) for name in ("heads", "head_dimension", "layers")}
    return Architecture(
        name,
        paper,
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
