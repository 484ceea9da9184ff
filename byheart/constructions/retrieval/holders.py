"""Where a network that folds, shifts and strips (hash-fold-retrieve) keeps its answers."""

from collections.abc import Iterator, Sequence

from ...exact.network import FeedForward, Network, Parameter, dyadic
from ..base import Lanes, Stored

FOLDS = {
    "store", "keep bit", "gate", "row index", "column gate", "column index", "mark", "constant",
    "block gate", "block strip", "block fold",
}  # fmt: skip


def stored(network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]) -> Stored | None:
    """The stored sum, and the places of the label's bits in it, for networks that shift and strip.

    The lowest strip threshold is 2**K and the largest shift is K minus the length of a word
    (see hash_fold_retrieve, assemble.blocks). Other networks strip other lanes than the main one.
    With two blocks these places are in units of S; where the sum was multiplied by S, as the lower
    block is, it is divided again.
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
    top = dyadic(-network.layers[strips[-1]].tensors["b1"][0, 0]).exponent
    widest = sum(int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1 for i in shifts)
    size = lower = 0  # of the unit S; of the factor by which the sum was multiplied
    if "block shift" in stages:
        parted = stages.index("block shift")
        size = int(network.layers[parted].tensors["W2"][0, 0] + 1).bit_length() - 1
        lower = size if fired[parted] else 0
    bits = tuple(top - lower - moved - 1 - i for i in range(top - size - widest))
    value = dyadic(value.fraction / (1 << lower))
    return Stored(value, bits, tuple(holders_of(network, fired)))


def _read(
    network: Network,
    streams: Sequence[Lanes],
    fired: Sequence[list[int]],
    zigzag: int,
    strips: list[int],
    shifts: list[int],
) -> Stored:
    """The same for the form with readers (hash_fold_retrieve/readers/assemble.py).

    As many units of the zigzag fire as the cell says; with gates, the first strip is at 2**digits,
    without them its constant is 2**(digits - 1).
    """
    first, line = network.layers[strips[0]], network.layers[zigzag]
    cells, cell = len(line.tensors["b1"].entries) + 1, len(fired[zigzag])
    columns = cells << len(shifts)
    if shifts:
        digits = dyadic(-first.tensors["b1"][0, 0]).exponent
    else:
        digits = dyadic(first.tensors["b2"][0, 0]).exponent + 1
    top = digits + 1 - len(strips)
    lift = 2 ** (cells + digits - columns) if shifts else 0
    value = streams[zigzag].get(0, dyadic(0)).fraction - lift
    moved = cell
    for i in shifts:
        if fired[i]:
            moved += int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1
    bits = tuple(top - moved - 1 - i for i in range(top - columns + 1))
    return Stored(dyadic(value / (-2) ** cell), bits, tuple(_read_holders(network, streams, fired)))


def _read_holders(
    network: Network, streams: Sequence[Lanes], fired: Sequence[list[int]]
) -> Iterator[Parameter]:
    """Thresholds of folds that fired, their weights of bits that are 1, cells of tables, zigzag."""
    added = {0}  # lanes that reach the sum
    for index, layer in enumerate(network.layers):
        if isinstance(layer, FeedForward) and layer.stage == "store" and fired[index]:
            added |= {lane for lane, _ in layer.W1.by_row[0]}
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, FeedForward):
            continue
        if layer.stage == "select":
            for row, column, value in layer.W2.entries:
                if row in added and column in fired[index]:
                    yield Parameter(index, "W2", row, column, value)
        if layer.stage not in ("store", "keep bit", "zigzag"):
            continue
        units = fired[index][:1] if layer.stage == "keep bit" else fired[index]
        for unit in units:
            yield Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
            for lane, value in layer.W1.by_row[unit]:
                if lane and lane in streams[index - 1]:
                    yield Parameter(index, "W1", unit, lane, value)
        if layer.stage == "zigzag":
            for row, column, value in layer.b2.entries:
                yield Parameter(index, "b2", row, column, value)


def holders_of(network: Network, fired: Sequence[list[int]]) -> Iterator[Parameter]:
    """The parameters that hold the numbers in the sum.

    Thresholds of folds that fired, and cells and constants of lanes that are on.
    """
    on = lanes_on(network, fired)
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, FeedForward) or layer.stage not in FOLDS | {"select"}:
            continue
        select = layer.stage == "select"
        if layer.stage in ("store", "gate", "block fold"):
            for unit in fired[index]:
                yield Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
        cells = [entry for entry in layer.W2.entries if select and entry.column in fired[index]]
        for name, entries in (("W2", cells), ("b2", layer.b2.entries)):
            for row, column, value in entries:
                if row in on:
                    yield Parameter(index, name, row, column, value)


def lanes_on(network: Network, fired: Sequence[list[int]]) -> set[int]:
    """Lanes whose values reach the main lane 0: by gates that fired and read them, or added to such
    a lane, step by step, by units that fired.
    """
    added, on = {}, {0}
    for index, layer in enumerate(network.layers):
        if isinstance(layer, FeedForward) and layer.stage == "add lanes":
            for target, unit, _ in layer.W2.entries:
                if unit in fired[index]:
                    added[layer.W1.by_row[unit][0][0]] = target
        if isinstance(layer, FeedForward) and layer.stage == "gate" and fired[index]:
            on |= {lane for lane, _ in layer.W1.by_row[0]}
    for lane in list(added):
        path = [lane]
        while path[-1] in added:
            path.append(added[path[-1]])
        on |= set(path) if path[-1] in on else set()
    return on
