"""The stages of a network, and what each of them costs.

A stage is all layers with one purpose in one part of the network: E_in, what is done to every
column on its own, where columns meet, what is done after that, E_out. Every number is counted in
the weights, so the stages add up to the network.
"""

from dataclasses import dataclass

from .codeword import runs
from .network import Mixing, Network

FIRST, TOKENS, MEETING, AFTER, LAST = PARTS = ("input", "tokens", "meeting", "after", "output")


@dataclass(frozen=True)
class Stage:
    """The layers of one kind and name in one part of the network."""

    part: str  # one of PARTS
    kind: str
    name: str
    runs: tuple[tuple[int, int], ...]  # first and last number of each run of consecutive layers
    depth: int  # how many blocks these are; E_in and E_out count 0
    nonzero: int  # parameters that are not 0; `dense` counts all
    dense: int
    bits: int  # of all its parameters, coded; `largest` of the longest one, in plain notation
    largest: int
    connections: int | None = None  # pairs of connected columns, if its attention is sparse


def stages(network: Network) -> list[Stage]:
    end = len(network.layers) - 1
    last_meeting = max(network.attentions, default=0)
    members: dict[tuple[str, str, str], list[int]] = {}
    for index, layer in enumerate(network.layers):
        if index in (0, end):
            part = LAST if index else FIRST
        elif isinstance(layer, Mixing):
            part = MEETING
        else:
            part = TOKENS if index < last_meeting else AFTER
        members.setdefault((part, layer.kind, layer.stage), []).append(index)

    result = []
    for (part, kind, name), indices in members.items():
        layers = [network.layers[i] for i in indices]
        tensors = [tensor for layer in layers for tensor in layer.tensors.values()]
        values = [entry.value for tensor in tensors for entry in tensor.entries]
        spans = tuple((first, first + length - 1) for first, length in runs(indices))
        depth = 0 if part in (FIRST, LAST) else len(layers)
        dense = sum(tensor.rows * tensor.columns for tensor in tensors)
        bits = sum(value.coded_bits for value in values)
        largest = max((value.fixed_bits for value in values), default=0)
        pairs = sum(len(getattr(layer, "connections", ())) for layer in layers) or None
        sizes = len(values), dense, bits, largest, pairs
        result.append(Stage(part, kind, name, spans, depth, *sizes))
    return result
