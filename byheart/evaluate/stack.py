"""A network cut at its attention layers into stacks of token-wise layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..network import FeedForward, Linear, Matrix, Network, UniformAttention, matrix, vector


@dataclass(frozen=True)
class Stack:
    """Token-wise layers, preceded by a linear map `entry` from the inputs to the lanes.

    The first stack starts with the embedding; one after an attention layer starts with
    h + (W_O / n) (W_V sum), and its inputs are the lanes of the column itself that can be nonzero,
    then the sums of these lanes. The last stack ends with the output layer.
    """

    entry: Linear
    blocks: tuple[FeedForward, ...]
    exit: Linear

    @property
    def width(self) -> int:
        return self.entry.weight.rows


def stacks(network: Network) -> list[Stack]:
    """The token-wise stacks between the attention layers, each with the lanes it hands on."""
    found = []
    entry = network.layers[0]
    start = 1
    for cut in [*network.attentions, len(network.layers) - 1]:
        assert isinstance(entry, Linear)
        blocks = tuple(x for x in network.layers[start:cut] if isinstance(x, FeedForward))
        last = network.layers[cut]
        start = cut + 1
        if isinstance(last, Linear):
            found.append(Stack(entry, blocks, last))
        elif isinstance(last, UniformAttention):
            lanes = _touched(entry, blocks)
            leave = Linear(_pick(lanes, network.width), vector({}, len(lanes)))
            found.append(Stack(entry, blocks, leave))
            entry = _after_attention(last, lanes, network)
    return found


def _touched(entry: Linear, blocks: Sequence[FeedForward]) -> list[int]:
    """The lanes that anything is written to."""
    written = [entry.weight, entry.bias, *(m for block in blocks for m in (block.W2, block.b2))]
    return sorted({row for matrix in written for row in matrix.by_row})


def _pick(lanes: Sequence[int], width: int) -> Matrix:
    return matrix(len(lanes), width, {(i, lane): 1 for i, lane in enumerate(lanes)})


def _after_attention(attention: UniformAttention, lanes: Sequence[int], network: Network) -> Linear:
    """h + (W_O / n) W_V sum as one linear map of (own lanes, sums of lanes)."""
    place = {lane: i for i, lane in enumerate(lanes)}
    weights = {(lane, i): Fraction(1) for lane, i in place.items()}
    for row, head, weight in attention.divided(network.input.length).entries:
        for lane, value in attention.W_V.by_row.get(head, ()):
            if lane in place:
                where = row, len(lanes) + place[lane]
                weights[where] = weights.get(where, Fraction(0)) + weight.fraction * value.fraction
    return Linear(matrix(network.width, 2 * len(lanes), weights), vector({}, network.width))


def fraction_bits(stack: Stack, start: int) -> tuple[int, list[dict[int, int]]]:
    """Bits after the point that any number can need, and those of each lane after i blocks.

    From the exponents alone; inputs have `start` bits after the point.
    """
    most = max(0, start)
    inputs = {i: start for i in range(stack.entry.weight.columns)}

    def combine(weight: Matrix, bias: Matrix, source: Mapping[int, int]) -> dict[int, int]:
        bits: dict[int, int] = {}
        for row, column, value in weight.entries:
            bits[row] = max(bits.get(row, 0), source.get(column, 0) - value.exponent)
        for row, _, value in bias.entries:
            bits[row] = max(bits.get(row, 0), -value.exponent)
        return bits

    lanes = combine(stack.entry.weight, stack.entry.bias, inputs)
    most = max([most, *lanes.values()])
    trace = [lanes]
    for block in stack.blocks:
        hidden = combine(block.W1, block.b1, lanes)
        change = combine(block.W2, block.b2, hidden)
        lanes = lanes | {r: max(b, lanes.get(r, 0)) for r, b in change.items()}
        most = max([most, *hidden.values(), *lanes.values()])
        trace.append(lanes)
    outputs = combine(stack.exit.weight, stack.exit.bias, lanes)
    return max([most, *outputs.values()]), trace
