"""The tensors of a decoder with their initial weights."""

import math

import torch

from ....architectures import Architecture
from ....architectures.trainable import trainable
from .output import Output


def started(
    architecture: Architecture, output: Output, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Weights drawn in the order of the architecture's tensors, as torch.nn does it.

    Uniform within 1/sqrt(inputs), also for biases; N(0, 1) for embeddings. The program of Dana et
    al. has its embeddings in linear layers, which makes them smaller. Its queries, keys and values
    are those of torch.nn.MultiheadAttention, which draws within sqrt(1.5/inputs); not so here.
    """
    shapes, normal = architecture.tensors, trainable(architecture.name).embeddings == "normal"
    found: dict[str, torch.Tensor] = {}
    for name, shape in shapes.items():
        tensor = output.tensors.get(name)
        if tensor is None:
            tensor = torch.empty(shape)
            tensor.grad = torch.zeros(shape)
        if name == "embedding.weight" and normal:
            tensor.normal_(generator=generator)
        else:
            bound = 1 / math.sqrt(shapes[name.replace("bias", "weight")][1])
            tensor.uniform_(-bound, bound, generator=generator)
        found[name] = tensor
    return found
