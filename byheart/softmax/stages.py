"""The stages of a decoder: embed, attend or sum, neurons if there are any, output.

Every number is counted in the weights, so the stages add up to the decoder.
"""

from ..exact.stages import AFTER, FIRST, LAST, MEETING, Stage
from .decoder import Decoder, sizes, together

STAGES = {  # the first word of a tensor's name, and the stage that it belongs to
    "embedding": "embed",
    "positions": "embed",
    "attention": "attend",
    "token_sum": "sum",
    "hidden": "neurons",
    "output": "output",
}


def layer_of(decoder: Decoder, tensor: str) -> tuple[int, str]:
    """The number and the name of the stage that a tensor belongs to."""
    present = list(dict.fromkeys(STAGES[name.split(".")[0]] for name in decoder.shape.tensors))
    stage = STAGES[tensor.split(".")[0]]
    return present.index(stage), stage


def stages(decoder: Decoder) -> list[Stage]:
    parts = {
        "embed": (FIRST, "embedding"),
        "attend": (MEETING, "softmax_attention"),
        "sum": (MEETING, "sum"),
        "neurons": (AFTER, decoder.shape.activation),
        "output": (LAST, "linear"),
    }
    result = []
    for number, name in sorted({layer_of(decoder, tensor) for tensor in decoder.tensors}):
        own = [x.ravel() for key, x in decoder.tensors.items() if layer_of(decoder, key)[1] == name]
        size, (part, kind) = together(map(sizes, own)), parts[name]
        depth = int(part == MEETING)  # attention and neurons are one layer
        counts = size.nonzero, sum(map(len, own)), size.total, size.largest
        result.append(Stage(part, kind, name, ((number, number),), depth, *counts))
    return result
