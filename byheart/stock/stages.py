"""The stages of a stock checkpoint: embed, attend, memory, output, each over all blocks.

Layers are numbered in the order of the data flow: the embedding is 0, the attention of block i is
1 + 2 i, its MLP 2 + 2 i, the last norm 1 + 2 L.
"""

import numpy as np

from ..exact.stages import AFTER, FIRST, LAST, MEETING, Stage
from .checkpoint import Checkpoint

PARTS = {
    "embed": (FIRST, "embedding"),
    "attend": (MEETING, "softmax_attention"),
    "memory": (AFTER, "mlp"),
    "output": (LAST, "norm"),
}


def layer_of(network: Checkpoint, name: str) -> tuple[int, str]:
    """The number of the layer that a tensor belongs to, and the name of its stage."""
    parts = name.split(".")[1:]  # without transformer or model
    if parts[0] not in ("h", "layers"):
        last = parts[0] in ("ln_f", "norm")
        return (1 + 2 * network.depth, "output") if last else (0, "embed")
    block, rest = int(parts[1]), parts[2]
    attends = rest in ("ln_1", "attn", "input_layernorm", "self_attn")
    return (1 + 2 * block, "attend") if attends else (2 + 2 * block, "memory")


def stages(network: Checkpoint) -> list[Stage]:
    bits = network.counts()[1]["largest"]
    result = []
    for name, (part, kind) in PARTS.items():
        own = {
            x: layer_of(network, x)[0] for x in network.tensors if layer_of(network, x)[1] == name
        }
        layers = tuple((i, i) for i in sorted(set(own.values())))
        depth = len(layers) if part == MEETING else 0
        nonzero = sum(int(np.count_nonzero(network.tensors[x])) for x in own)
        dense = sum(network.tensors[x].size for x in own)
        result.append(Stage(part, kind, name, layers, depth, nonzero, dense, bits * dense, bits))
    return result


def neuron_entries(network: Checkpoint, layer: int, neuron: int) -> list[tuple[str, int, int]]:
    """The nonzero weights of one neuron: tensor, row and column."""
    entries = []
    for own, axis in network.family.neurons:
        name = f"{network.family.blocks}.{layer}.{own}"
        for i in np.flatnonzero(np.take(network.tensors[name], neuron, axis)).tolist():
            entries.append((name, neuron, i) if axis == 0 else (name, i, neuron))
    return entries


def written_by(network: Checkpoint, layer: int) -> tuple[str, int]:
    """The tensor of what the neurons of a block write, and its axis of neurons."""
    name, axis = network.family.neurons[-1]
    return f"{network.family.blocks}.{layer}.{name}", axis
