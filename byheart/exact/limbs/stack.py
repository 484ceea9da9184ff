"""A network cut where its columns meet into stacks of token-wise layers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...errors import ByheartError
from .. import network as kinds
from ..network import FeedForward, Linear, Matrix, Mixing, divided, divides, matrix, vector


class LimbsError(ByheartError):
    """The limb kernels cannot run this network; the reference evaluator can."""


@dataclass(frozen=True)
class Stack:
    """Token-wise layers (all blocks or all relus), after a linear map `entry` to the lanes.

    The first stack starts with the embedding (of ids: what an embedding matrix gives is its input).
    One after a layer where columns meet, `mixing`, starts with h + (W_O / n) (W_V sum), and its
    inputs are the lanes of the column itself that can be nonzero, then the sums of these lanes over
    the columns that it looks at. The last stack ends with the output layer.
    """

    mixing: Mixing | None
    entry: Linear
    blocks: tuple[FeedForward, ...]
    relus: tuple[kinds.Relu, ...]
    exit: Linear

    @property
    def width(self) -> int:
        return self.entry.weight.rows

    @property
    def hidden(self) -> int:
        """The most hidden units of a block."""
        return max((block.W1.rows for block in self.blocks), default=0)


def stacks(network: kinds.Network) -> list[Stack]:
    """The token-wise stacks between layers where columns meet, each with the lanes it hands on."""
    columns = network.input.columns
    result: list[Stack] = []
    mixing: Mixing | None = None
    entry = network.layers[0]
    if isinstance(entry, kinds.Embedding):
        width = entry.weight.rows
        entry = Linear(_pick(range(width), width), vector({}, width))
    assert isinstance(entry, Linear)
    start = 1
    for cut in [*network.attentions, len(network.layers) - 1]:
        between = network.layers[start:cut]
        blocks = tuple(x for x in between if isinstance(x, FeedForward))
        relus = tuple(x for x in between if isinstance(x, kinds.Relu))
        if blocks and relus:
            raise LimbsError("Layers with and without skip connection need the exact engine.")
        last = network.layers[cut]
        start = cut + 1
        if isinstance(last, Linear):
            result.append(Stack(mixing, entry, blocks, relus, last))
        elif isinstance(last, Mixing):
            width = relus[-1].weight.rows if relus else entry.weight.rows
            written = [entry.weight, entry.bias, *(m for x in blocks for m in (x.W2, x.b2))]
            touched = {row for matrix in written for row in matrix.by_row}
            lanes = list(range(width)) if relus else sorted(touched)
            leave = Linear(_pick(lanes, width), vector({}, len(lanes)))
            result.append(Stack(mixing, entry, blocks, relus, leave))
            mixing = last
            if isinstance(last, kinds.HardAttention):  # the same without scores, if they are all 0
                mixing = last.uniform
                if mixing is None or not divides(columns, last.W_O):
                    raise LimbsError("Hard attention that compares scores needs the exact engine.")
            entry = _after(mixing, lanes, width, columns)
    return result


def _pick(lanes: Sequence[int], width: int) -> Matrix:
    return matrix(len(lanes), width, {(i, lane): 1 for i, lane in enumerate(lanes)})


def _after(mixing: Mixing, lanes: Sequence[int], width: int, columns: int) -> Linear:
    """h + (W_O / n) W_V sum (or the sum alone) as one linear map of (own lanes, sums of lanes)."""
    place = {lane: i for i, lane in enumerate(lanes)}
    if isinstance(mixing, kinds.Sum):
        weights = {(lane, len(lanes) + i): Fraction(1) for lane, i in place.items()}
        return Linear(matrix(width, 2 * len(lanes), weights), vector({}, width))
    assert not isinstance(mixing, kinds.HardAttention)
    weights = {(lane, i): Fraction(1) for lane, i in place.items()}
    if isinstance(mixing, kinds.SparseAttention):
        sizes = set(Counter(target for target, _ in mixing.connections).values()) or {1}
        if len(sizes) > 1:
            raise LimbsError("Columns with different numbers of connections need the exact engine.")
        columns = sizes.pop()
    for row, head, weight in divided(mixing.W_O, columns).entries:
        for lane, value in mixing.W_V.by_row.get(head, ()):
            if lane in place:
                where = row, len(lanes) + place[lane]
                weights[where] = weights.get(where, Fraction(0)) + weight.fraction * value.fraction
    return Linear(matrix(width, 2 * len(lanes), weights), vector({}, width))


def fraction_bits(stack: Stack, start: int) -> tuple[int, list[dict[int, int]]]:
    """Bits after the point that any number can need, and those of each lane after i blocks.

    From the exponents alone; inputs have `start` bits after the point. A lane whose numbers are all
    multiples of 2**k has -k of them; hidden units have at least 0, for tables of whole numbers.
    """
    most = max(0, start)
    inputs = {i: start for i in range(stack.entry.weight.columns)}

    def combine(weight: Matrix, bias: Matrix, source: Mapping[int, int]) -> dict[int, int]:
        bits: dict[int, int] = {}
        for row, column, value in weight.entries:
            needed = source.get(column, 0) - value.exponent
            bits[row] = max(bits.get(row, needed), needed)
        for row, _, value in bias.entries:
            bits[row] = max(bits.get(row, -value.exponent), -value.exponent)
        return bits

    lanes = combine(stack.entry.weight, stack.entry.bias, inputs)
    most = max([most, *lanes.values()])
    trace = [lanes]
    for layer in stack.relus:
        lanes = combine(layer.weight, layer.bias, lanes)
        most = max([most, *lanes.values()])
    for block in stack.blocks:
        hidden = {r: max(b, 0) for r, b in combine(block.W1, block.b1, lanes).items()}
        change = combine(block.W2, block.b2, hidden)
        lanes = lanes | {r: max(b, lanes.get(r, b)) for r, b in change.items()}
        most = max([most, *hidden.values(), *lanes.values()])
        trace.append(lanes)
    return max([most, *combine(stack.exit.weight, stack.exit.bias, lanes).values()]), trace
