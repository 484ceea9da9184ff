"""Well-known language models that anyone can download, with their exact parameter counts."""

from functools import cache

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


@cache
def gpt2(name: str) -> Architecture:
    """Radford et al. 2019: learnt positions, and an unembedding that is the embedding."""
    layers, d, heads = GPT2[name]
    tensors: Tensors = {"embedding.weight": (50257, d), "positions.weight": (1024, d)}
    tied: Tensors = {"output.weight": (50257, d)}
    own: Sizes = {"heads": heads, "head_dimension": d // heads, "layers": layers}
    sizes = sizes_of("decoder", 50257, 1024, d, 4 * d, **own)
    formula = "W_E norm(x_L)"
    return Architecture(name, "radford2019", formula, tensors | _layers(layers, d), tied, sizes)


@cache
def pythia(name: str) -> Architecture:
    """Biderman et al. 2023: rotary positions, which are not learnt, and a separate unembedding."""
    layers, d, heads, rows = PYTHIA[name]
    tensors = {"embedding.weight": (rows, d), "output.weight": (rows, d)}
    own: Sizes = {"heads": heads, "head_dimension": d // heads, "layers": layers}
    sizes = sizes_of("decoder", rows, 2048, d, 4 * d, **own)
    formula = "W_U norm(x_L), neurons beside attention"
    return Architecture(name, "biderman2023", formula, tensors | _layers(layers, d), {}, sizes)


def _layers(layers: int, d: int) -> Tensors:
    """12 d^2 + 13 d per layer, and the last norm."""
    block: Tensors = {
        "norm_1.weight": (d,),
        "norm_1.bias": (d,),
        "attention.in.weight": (3 * d, d),
        "attention.in.bias": (3 * d,),
        "attention.out.weight": (d, d),
        "attention.out.bias": (d,),
        "norm_2.weight": (d,),
        "norm_2.bias": (d,),
        "hidden.weight": (4 * d, d),
        "hidden.bias": (4 * d,),
        "down.weight": (d, 4 * d),
        "down.bias": (d,),
    }
    last: Tensors = {"norm.weight": (d,), "norm.bias": (d,)}
    return {f"layers.{i}.{name}": s for i in range(layers) for name, s in block.items()} | last
