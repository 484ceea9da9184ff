"""Where a network that folds, shifts and strips (hash-fold-retrieve) keeps what it answers with."""

from collections.abc import Iterator, Sequence

from ..exact.network import Dyadic, FeedForward, Layer, Network, Parameter, dyadic

FOLDS = {"store", "gate", "row index", "column gate", "column index", "mark", "constant"}
Lanes = dict[int, Dyadic]  # nonzero lanes of the last column


def stored_sum(network: Network, streams: Sequence[Lanes]) -> tuple[Dyadic | None, tuple[int, ...]]:
    """The stored sum, and the places of the label's bits in it, for networks that shift and strip.

    The lowest strip threshold is 2**K and the largest shift is K minus the length of a word
    (see hash_fold_retrieve, assemble._strip). Other networks strip other lanes than the main one.
    """
    stages = [layer.stage for layer in network.layers]
    strips = [i for i, stage in enumerate(stages) if stage == "strip"]
    shifts = [i for i, stage in enumerate(stages) if stage == "shift"]
    if not all(_reads(network.layers[i]) == {0} for i in strips) or not strips:
        return None, ()
    stored = streams[min([*shifts, strips[0]]) - 1].get(0)
    shifted = streams[strips[0] - 1].get(0)
    if stored is None or shifted is None:
        return None, ()
    moved = shifted.exponent - stored.exponent
    top = dyadic(-network.layers[strips[-1]].tensors["b1"][0, 0]).exponent
    widest = sum(int(network.layers[i].tensors["W2"][0, 0] + 1).bit_length() - 1 for i in shifts)
    return stored, tuple(top - moved - 1 - i for i in range(top - widest))


def _reads(layer: Layer) -> set[int]:
    """The lanes that a block's units read."""
    return {column for _, column, _ in layer.tensors["W1"].entries}


def holders_of(network: Network, fired: Sequence[list[int]]) -> Iterator[Parameter]:
    """The parameters that hold the numbers in the sum.

    Thresholds of folds that fired, and cells and constants of lanes that are on.
    """
    on = _lanes_on(network, fired)
    for index, layer in enumerate(network.layers):
        if not isinstance(layer, FeedForward) or layer.stage not in FOLDS | {"select"}:
            continue
        select = layer.stage == "select"
        if layer.stage in ("store", "gate"):
            for unit in fired[index]:
                yield Parameter(index, "b1", unit, 0, layer.b1.by_row[unit][0][1])
        cells = [entry for entry in layer.W2.entries if select and entry.column in fired[index]]
        for name, entries in (("W2", cells), ("b2", layer.b2.entries)):
            for row, column, value in entries:
                if row in on:
                    yield Parameter(index, name, row, column, value)


def _lanes_on(network: Network, fired: Sequence[list[int]]) -> set[int]:
    """Lanes whose values reach the main lane 0: added, step by step, by units that fired."""
    added = {}
    for index, layer in enumerate(network.layers):
        if isinstance(layer, FeedForward) and layer.stage == "add lanes":
            for target, unit, _ in layer.W2.entries:
                if unit in fired[index]:
                    added[layer.W1.by_row[unit][0][0]] = target
    on = {0}
    for lane in added:
        path = [lane]
        while path[-1] in added:
            path.append(added[path[-1]])
        on |= set(path) if path[-1] == 0 else set()
    return on
