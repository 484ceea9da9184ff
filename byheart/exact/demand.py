"""The end of a network in which hard attention reads a few columns: the others are not evaluated.

Where no layer of the end writes a lane that a later key reads, the keys of all columns are known
before the end begins. Then column k after layer t needs itself after layer t - 1 and those columns
that it selects there, and no others: columns are evaluated when one that is wanted selects them.
Computing column s up to layer t - 1 asks for other columns up to t - 2 only, so that requests never
go round in a circle.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .lanes import Lane, Stream, apply, combine, head_output, lanes_read, plus, scored, take
from .network import FeedForward, HardAttention, Layer, Linear, Network

Look = Callable[[int, Stream], Stream]


def start_of_end(network: Network) -> int:
    """The layer with which the end begins; the number of layers if there is no such end."""
    if network.every:
        return len(network.layers)
    keys: set[int] = set()
    start = len(network.layers) - 1
    for layer in reversed(network.layers[:-1]):
        if isinstance(layer, HardAttention) and layer.uniform is None:
            written = set(layer.W_O.by_row)
        elif isinstance(layer, FeedForward):
            written = set(layer.W2.by_row) | set(layer.b2.by_row)
        else:
            break
        if written & keys:
            break
        if isinstance(layer, HardAttention):
            keys |= lanes_read(layer.W_K)
        start -= 1
    while start < len(network.layers) and not isinstance(network.layers[start], HardAttention):
        start += 1
    return start


class End:
    """The columns of some sequences through the layers from `start` on, as far as they are read.

    stream, index  before it: sequence i has the columns stream[index[i]]
    guard          looks at every stream; `look` at those of the last column only
    """

    def __init__(
        self, network: Network, start: int, stream: Stream, index: NDArray, guard: Look, look: Look
    ):
        self.layers, self.start, self.guard, self.look = network.layers, start, guard, look
        self.before, self.index = stream, index
        self.keys: dict[tuple, Lane] = {}
        self.states: dict[int, list[Stream]] = {}

    def output(self) -> Stream:
        """The last column after the last layer."""
        return self.column(self.index.shape[1] - 1, len(self.layers) - self.start)

    def column(self, column: int, level: int) -> Stream:
        """One column of every sequence after `level` layers of the end."""
        if column not in self.states:
            self.states[column] = [take(self.before, self.index[:, column])]
        states = self.states[column]
        while len(states) <= level:
            number = self.start + len(states) - 1
            stream = self._after(self.layers[number], column, states[-1], len(states) - 1)
            last = column == self.index.shape[1] - 1
            states.append((self.look if last else self.guard)(number, stream))
        return states[level]

    def _after(self, layer: Layer, column: int, stream: Stream, level: int) -> Stream:
        size = len(self.index)
        if isinstance(layer, FeedForward | Linear):
            return apply(layer, stream, size)
        assert isinstance(layer, HardAttention)
        result = dict(stream)
        for head in range(layer.heads):
            rows = layer.head_rows(head)
            queries = {r: combine(layer.W_Q.by_row.get(r, ()), None, stream, size) for r in rows}
            keys = {r: self._key(tuple(layer.W_K.by_row.get(r, ()))) for r in rows}
            asked = {r: Lane(q.values[:, None], q.scale) for r, q in queries.items()}
            best = scored(asked, keys)  # [sequences, columns]
            sums: Stream = {}
            for source in np.flatnonzero(best.any(axis=0)).tolist():
                read = stream if source == column else self.column(source, level)
                chosen = best[:, source].astype(object)
                for r in rows:
                    value = combine(layer.W_V.by_row.get(r, ()), None, read, size)
                    sums = plus(sums, {r: Lane(value.values * chosen, value.scale)})
            result = plus(result, head_output(layer, rows, sums, best.sum(axis=1)))
        return result

    def _key(self, terms: tuple) -> Lane:
        """One coordinate of the keys of all columns, [sequences, columns]."""
        if terms not in self.keys:
            size = len(next(iter(self.before.values())).values)
            found = combine(terms, None, self.before, size)
            self.keys[terms] = Lane(found.values[self.index], found.scale)
        return self.keys[terms]
