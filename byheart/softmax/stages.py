"""The stages of a decoder: embed, attend or sum, neurons if there are any, output.

Every number is counted in the weights, so the stages add up to the decoder.
"""

from ..exact.stages import AFTER, FIRST, LAST, MEETING, Stage
from .decoder import ATTENTION, Decoder, sizes

ATTENDING = tuple(f"attention.{name}.weight" for name in ("query", "key", "value", "out"))


def stages(decoder: Decoder) -> list[Stage]:
    """Its stages in the order of the data flow, numbered from 0."""
    shape = decoder.shape
    table: list[tuple[str, str, str, tuple[str, ...]]] = [
        (FIRST, "embedding", "embed", ("embedding.weight", "positions.weight"))
    ]
    if shape.mixing == ATTENTION:
        table.append((MEETING, "softmax_attention", "attend", ATTENDING))
    else:
        table.append((MEETING, "sum", "sum", ("token_sum.weight",)))
    if shape.neurons:
        table.append((AFTER, shape.activation, "neurons", ("hidden.weight", "hidden.bias")))
    table.append((LAST, "linear", "output", ("output.weight",)))
    result = []
    for place, (part, kind, name, keys) in enumerate(table):
        tensors = [decoder.tensors[key] for key in keys if key in decoder.tensors]
        each = [sizes(tensor.ravel()) for tensor in tensors]
        result.append(
            Stage(
                part=part,
                kind=kind,
                name=name,
                runs=((place, place),),
                depth=int(part == MEETING),  # attention and neurons are one layer
                nonzero=sum(size.nonzero for size in each),
                dense=sum(tensor.size for tensor in tensors),
                bits=sum(size.total for size in each),
                largest=max(size.largest for size in each),
                connections=None,
            )
        )
    return result
