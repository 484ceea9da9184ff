"""Options and stages of the family, the parts that its networks share, and where answers are kept.

Lane v holds the token's number, then the context's number H; other lanes have names of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from ...data.dataset import Dataset
from ...exact import network as exact
from ...gadgets.blocks import Block, feed_forward, fold
from ...gadgets.prefix_code import PrefixCode
from ..base import STAGES, Lanes, Stored, option
from ..families import Labelled

if TYPE_CHECKING:
    from .hashing import Hash
    from .problem import Inputs


# stages of folds of the context's number
FOLDS = ("store", "keep bit", "gate", "row index", "column gate", "column index", "mark")


@dataclass(frozen=True)
class Settings(Labelled):
    """The options of the family."""

    embeds: ClassVar[bool] = False  # whether tokens are ids of an embedding matrix
    stages = {**Labelled.stages, **STAGES["Retrieval"]}

    reject_unknown: int = option(
        0, "Detect unknown inputs; false-accept rate 2^-BITS.", metavar="BITS", least=0, most=40
    )
    minimise: str = option("nonzero", "What to minimise.", choices=("nonzero", "dense", "bits"))
    effort: str = option(
        "normal",
        "How long to search for a small network: high takes ten times as long or more.",
        choices=("normal", "high"),
    )
    editable: bool = option(
        False, "Let labels decide nothing but stored numbers, so that items can be edited."
    )
    # of an editable network: the record with which it is found without a search
    structure: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def edits(self) -> bool:
        return self.editable

    def traced_stage(self, layer: exact.Layer) -> str:
        """Folds for different purposes take turns: they are shown as one stage."""
        folds = isinstance(layer, exact.FeedForward) and layer.stage in FOLDS
        return "fold" if folds else super().traced_stage(layer)

    def stored(
        self, network: exact.Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
    ) -> Stored | None:
        return stored(network, streams, fired)


def assemble(
    spec: exact.Input,
    every: bool,
    mixing: str,
    inputs: "Inputs",
    hashed: "Hash",
    unit: Fraction,
    blocks: Sequence[Block],
    output: str,
) -> exact.Network:
    """E_in, token folds, attention, folds of the sum, then the blocks, and E_out.

    The hash, which was found for `inputs`, is multiplied by `unit`; the answer is in lane `output`.
    """
    before = [fold("token hash", "v", t * unit, 3) for t in hashed.token_thresholds]
    if before and hashed.offset:
        before[-1] = replace(before[-1], constants={"v": -hashed.offset * unit})
    after = [*(fold("mix", "v", t * unit, 3) for t in hashed.mix_thresholds), *blocks]
    names = ["v", *(name for block in [*before, *after] for name in block.lanes()), output]
    lanes = {name: i for i, name in enumerate(dict.fromkeys(names))}
    width = len(lanes)
    offset = 0 if before else hashed.offset
    first: exact.Layer
    if hashed.drawn is not None:
        numbers = {(0, x): (number - offset) * unit for x, number in hashed.drawn.items()}
        place = exact.vector({i: w * unit for i, w in enumerate(hashed.weights)}, width)
        first = exact.Embedding(exact.matrix(width, max(hashed.drawn) + 1, numbers), place, "embed")
    else:
        grain = inputs.grain * unit
        weights = {(0, i): w * grain for i, w in zip(inputs.read, hashed.weights, strict=True)}
        bias = exact.vector({0: (hashed.bias - offset) * unit}, width)
        first = exact.Linear(exact.matrix(width, spec.coordinates, weights), bias, "embed")
    layers: list[exact.Layer] = [first, *(feed_forward(block, lanes) for block in before)]
    layers += mixing_layers(mixing, spec, width, lanes[output])
    layers += (feed_forward(block, lanes) for block in after)
    answer = exact.matrix(1, width, {(0, lanes[output]): 1})
    last = exact.Linear(answer, exact.vector({}, 1), "output")
    return exact.Network(spec, (*layers, last), every)


def constant(spec: exact.Input, mixing: str, embedding: bool, dataset: Dataset) -> exact.Network:
    """One label: a network whose output is always 0."""
    first: exact.Layer = exact.Linear(
        exact.matrix(2, spec.coordinates, {}), exact.vector({}, 2), "embed"
    )
    if embedding:
        first = exact.Embedding(
            exact.matrix(2, int(dataset.vectors.max()) + 2, {}), exact.vector({}, 2)
        )
    last = exact.Linear(exact.matrix(1, 2, {}), exact.vector({}, 1), "output")
    return exact.Network(spec, (first, *mixing_layers(mixing, spec, 2, 1), last), dataset.every)


def mixing_layers(kind: str, spec: exact.Input, width: int, spare: int) -> Iterator[exact.Layer]:
    """Where columns meet, on lane 0: v + 2 sum(v), or for "sum" the sum alone.

    sparse  the extra column 0 gathers 2 sum(v) of the others in a lane that is 0 everywhere, and
            every other column then reads it there: 2n connections instead of n^2 (Remark 4.5)
    """
    n = spec.length
    read, write = exact.matrix(1, width, {(0, 0): 1}), exact.matrix(width, 1, {(0, 0): 2 * n})
    nothing = exact.matrix(1, width, {})
    if kind == "sum":
        yield exact.Sum()
    elif kind == "hard":
        yield exact.HardAttention(nothing, nothing, read, write)
    elif kind == "uniform":
        yield exact.UniformAttention(read, write)
    else:
        gather = tuple((0, k) for k in range(1, n + 1))
        spread = tuple((k, 0) for k in range(1, n + 1))
        yield exact.SparseAttention(
            read, exact.matrix(width, 1, {(spare, 0): 2 * n}), gather, "gather"
        )
        one, other = exact.matrix(1, width, {(0, spare): 1}), exact.matrix(width, 1, {(0, 0): 1})
        yield exact.SparseAttention(one, other, spread, "attend")


def decode(
    lane: str, code: PrefixCode, top: int, unit: Fraction, centre: int = 0
) -> Iterator[Block]:
    """The code's convex map of a lane, around the centre, divided by 2**(its shortest word)."""
    (_, slope), *kinks = code.kinks
    shortest = slope.bit_length() - 1
    if kinks:
        units = [({lane: 1}, centre - x * (1 << top) * unit) for x, _ in kinks]
        writes = [(lane, i, change >> shortest) for i, (_, change) in enumerate(kinks)]
        yield Block("decode", units, writes)


def stored(
    network: exact.Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
) -> Stored | None:
    """The stored sum, and the places of the label's bits in it, for networks that shift and strip.

    The lowest strip threshold is 2**K and the largest shift is K minus the length of a word
    (see tables.blocks). Other networks strip other lanes than the main one.
    """
    stages = [layer.stage for layer in network.layers]
    strips = [i for i, stage in enumerate(stages) if stage == "strip"]
    shifts = [i for i, stage in enumerate(stages) if stage == "shift"]
    reads = [{k for _, k, _ in network.layers[i].tensors["W1"].entries} for i in strips]
    if not strips or any(lanes != {0} for lanes in reads):
        return None
    if "zigzag" in stages:
        return _read(network, streams, fired, stages.index("zigzag"), strips, shifts)
    value = streams[min([*shifts, strips[0]]) - 1].get(0)
    shifted = streams[strips[0] - 1].get(0)
    if value is None or shifted is None:
        return None
    moved = shifted.exponent - value.exponent
    top = exact.dyadic(-network.layers[strips[-1]].tensors["b1"][0, 0]).exponent
    widest = sum(int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1 for i in shifts)
    bits = tuple(top - moved - 1 - i for i in range(top - widest))
    default = _default(network, streams, strips[0], top)
    return Stored(value, bits, tuple(holders_of(network, fired)), default)


def _default(network: exact.Network, streams: Sequence[Lanes], strip: int, top: int) -> bool:
    """Whether the answer stays what it is if the bit of the shifted sum above the label's changes.

    It reverses all bits that are left after the strip. Of a word with bits of its own that is
    another word; of an interval it is one of the same interval, unless the word had an equation.
    """

    blocks = [layer for layer in network.layers[strip:-1] if isinstance(layer, exact.FeedForward)]
    last = network.layers[-1]
    if not isinstance(last, exact.Linear):
        return False

    def answer(lanes: dict[int, Fraction]) -> Fraction:
        for layer in blocks:
            added = {row: value.fraction for row, _, value in layer.b2.entries}
            for unit, weights in layer.W1.by_row.items():
                above = sum(w.fraction * lanes.get(lane, 0) for lane, w in weights)
                if (above := above + layer.b1[unit, 0]) > 0:
                    for row, column, weight in layer.W2.entries:
                        if column == unit:
                            added[row] = added.get(row, Fraction(0)) + weight.fraction * above
            lanes = lanes | {row: lanes.get(row, Fraction(0)) + x for row, x in added.items()}
        return sum((w.fraction * lanes.get(i, 0) for _, i, w in last.weight.entries), Fraction(0))

    lanes = {lane: value.fraction for lane, value in streams[strip - 1].items()}
    bit = Fraction(2) ** top
    changed = lanes.get(0, Fraction(0))
    changed += -bit if changed // bit % 2 else bit
    return answer(lanes) == answer(lanes | {0: changed})


def _read(
    network: exact.Network,
    streams: Sequence[Lanes],
    fired: Sequence[list[int]],
    zigzag: int,
    strips: list[int],
    shifts: list[int],
) -> Stored:
    """The same for the form with readers (readers.blocks).

    As many units of the zigzag fire as the cell says; with gates, the first strip is at 2**digits,
    without them its constant is 2**(digits - 1).
    """
    first, line = network.layers[strips[0]], network.layers[zigzag]
    cells, cell = len(line.tensors["b1"].entries) + 1, len(fired[zigzag])
    columns = cells << len(shifts)
    if shifts:
        digits = exact.dyadic(-first.tensors["b1"][0, 0]).exponent
    else:
        digits = exact.dyadic(first.tensors["b2"][0, 0]).exponent + 1
    top = digits + 1 - len(strips)
    lift = 2 ** (cells + digits - columns) if shifts else 0
    value = streams[zigzag].get(0, exact.dyadic(0)).fraction - lift
    moved = cell
    for i in shifts:
        if fired[i]:
            moved += int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1
    bits = tuple(top - moved - 1 - i for i in range(top - columns + 1))
    holders = tuple(_read_holders(network, streams, fired))
    default = _default(network, streams, strips[0], top)
    return Stored(exact.dyadic(value / (-2) ** cell), bits, holders, default)


def _read_holders(
    network: exact.Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
) -> Iterator[exact.Parameter]:
    """Thresholds of folds that fired, their weights of bits that are 1, cells of tables, zigzag."""
    added = {0}  # lanes that reach the sum
    for index, layer in enumerate(network.layers):
        if isinstance(layer, exact.FeedForward) and layer.stage == "store" and fired[index]:
            added |= {lane for lane, _ in layer.W1.by_row[0]}
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, exact.FeedForward):
            continue
        if layer.stage == "select":
            for row, column, value in layer.W2.entries:
                if row in added and column in fired[index]:
                    yield exact.Parameter(index, "W2", row, column, value)
        if layer.stage not in ("store", "keep bit", "zigzag"):
            continue
        units = fired[index][:1] if layer.stage == "keep bit" else fired[index]
        for unit in units:
            yield exact.Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
            for lane, value in layer.W1.by_row[unit]:
                if lane and lane in streams[index - 1]:
                    yield exact.Parameter(index, "W1", unit, lane, value)
        if layer.stage == "zigzag":
            for row, column, value in layer.b2.entries:
                yield exact.Parameter(index, "b2", row, column, value)


def holders_of(network: exact.Network, fired: Sequence[list[int]]) -> Iterator[exact.Parameter]:
    """Thresholds of folds that fired, and cells and constants of lanes that are on."""
    # lanes whose values reach the main lane 0: by gates that fired and read them, or added to such
    # a lane, step by step, by units that fired
    added, on = {}, {0}
    for index, layer in enumerate(network.layers):
        if isinstance(layer, exact.FeedForward) and layer.stage == "add lanes":
            for target, unit, _ in layer.W2.entries:
                if unit in fired[index]:
                    added[layer.W1.by_row[unit][0][0]] = target
        if isinstance(layer, exact.FeedForward) and layer.stage == "gate" and fired[index]:
            on |= {lane for lane, _ in layer.W1.by_row[0]}
    for lane in list(added):
        path = [lane]
        while path[-1] in added:
            path.append(added[path[-1]])
        on |= set(path) if path[-1] in on else set()
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, exact.FeedForward) or layer.stage not in {*FOLDS, "select"}:
            continue
        select = layer.stage == "select"
        if layer.stage in ("store", "gate"):
            for unit in fired[index]:
                yield exact.Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
        cells = [entry for entry in layer.W2.entries if select and entry.column in fired[index]]
        for name, entries in (("W2", cells), ("b2", layer.b2.entries)):
            for row, column, value in entries:
                if row in on:
                    yield exact.Parameter(index, name, row, column, value)
