"""Every ReLU unit as one head of hard attention: networks on ids become attention alone.

After huben2023, where a neuron is a masked softmax head, up to an error; with hard attention the
same head is exact. One extra column is put before the tokens. Lanes beside those of the network:

    one    1 in tokens, 0 in the extra column
    extra  0 in tokens, 1 in the extra column
    place  the position 0, ..., n - 1 of a token; n - 1 in the extra column

A unit relu(x), x = w h + b, is a head of dimension 2: query (x - extra, one), key (one, place),
value x, where b stands on the lane `one`, so that x is 0 in the extra column if its lanes are.

* The last token (place n - 1) gives itself the score x + n - 1, the extra column n - 1, every other
  token at most x + n - 2. The largest is max(x, 0) + n - 1. If x > 0 it selects itself and reads x,
  if x < 0 the extra column and reads 0, if x = 0 both, and both read 0: it reads relu(x).
* The extra column gives tokens the score -1 and itself 0: it reads its own value, 0, and stays 0.
* Other tokens read what they may: nobody looks at them any more.

Before columns meet, every token needs its own unit. A lane `square`, place^2 in tokens and 0 in the
extra column, makes heads of dimension 3: query (x - square - extra, 2 place - 2 (n - 1) extra, one)
and key (one, place - (n - 1) extra, -square). Token k gives token l the score x - (k - l)^2, itself
x, the extra column 0: as above. The extra column gives tokens -1 and itself 0.
The squares are sums of steps, k^2 = sum over j < k of 2 j + 1: head j has the query
place - n extra - (j + 1/2) one, the key `place` and the value `extra`. For a token k > j the query
is positive, so that it selects the last token and the extra column, whose values have the mean 1/2;
otherwise it selects the first token and reads 0, and so does the extra column, whose query is -1.

The average over all tokens is a head with query (one, -extra) and key (-extra, one): tokens give
tokens 0 and the extra column -1, the extra column gives itself 0 and tokens -1. The constant b2 of
a block is the average of `one`. A relu layer without skip connection adds relu(w h + b) - h.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ..errors import AssumptionError
from ..exact import network as exact

Form = Mapping[int, exact.Number]  # a linear form: weight by lane
Entries = dict[tuple[int, int], exact.Number]  # of a matrix, by row and column
Unit = tuple[Form, Form]  # what goes into a relu, and where its value is written
Head = tuple[Sequence[Form], Sequence[Form], Form, Form]  # queries, keys, value, outputs


def attention_alone(network: exact.Network, ids: Iterable[int] | None = None) -> exact.Network:
    """The network of hard attention between embedding and output that gives the same answers.

    It takes networks that read ids through an embedding matrix and answer with the last column:
    blocks, relu layers, and attention that averages all columns.

    ids  those that occur, with that of the padding; by default all that the matrix has
    """
    first, *middle, last = network.layers
    assert isinstance(last, exact.Linear)
    reads = network.input
    if not isinstance(first, exact.Embedding) or reads.padding is None or reads.extra is not None:
        raise AssumptionError("A2 fails: only a network that reads ids through an embedding.")
    if network.every:
        raise AssumptionError("A1 fails: only a network that answers with its last column.")
    width = max([first.weight.rows, *(x.weight.rows for x in middle if isinstance(x, exact.Relu))])
    lanes = _Lanes(width, reads.length)
    meeting = max((i for i, x in enumerate(middle) if _average(x) is not None), default=-1)
    early = any(isinstance(x, exact.FeedForward | exact.Relu) for x in middle[:meeting])
    layers: list[exact.Layer] = [_embed(first, lanes, reads.positions, ids)]
    if early and reads.length > 1:
        layers.append(lanes.squares())
    live: set[int] = set(first.weight.by_row) | set(first.position.by_row)
    for index, layer in enumerate(middle):
        average = _average(layer)
        if average is not None:
            means = [
                lanes.mean(_columns(average.W_V, row), _rows(average.W_O, row))
                for row in range(average.W_V.rows)
            ]
            layers.append(hard_attention(lanes.width, means, layer.stage))
            live |= set(average.W_O.by_row)
            continue
        if isinstance(layer, exact.FeedForward):
            units, constant = _block(layer, lanes), _rows(layer.b2, 0)
            live |= set(layer.W2.by_row) | set(constant)
        elif isinstance(layer, exact.Relu):
            units, constant = _relu(layer, lanes, live), {}
            live = set(range(layer.weight.rows))
        else:
            raise AssumptionError(f"A3 fails: a layer of the kind {layer.kind} has no such form.")
        every = index < meeting and reads.length > 1
        heads = [lanes.unit(*unit, every) for unit in units]
        if constant:
            heads.append(lanes.mean({lanes.one: 1}, constant))
        if heads:
            layers.append(hard_attention(lanes.width, heads, layer.stage))
    weights = {(0, c): v.fraction for _, c, v in last.weight.entries}
    output = exact.Linear(exact.matrix(1, lanes.width, weights), last.bias, last.stage)
    new = first.weight.columns
    spec = replace(reads, positions=True, extra=(exact.dyadic(new),))
    if reads.padding[0].fraction >= new:  # no column of the matrix: it stays none
        spec = replace(spec, padding=(exact.dyadic(new + 1),))
    return exact.Network(spec, (*layers, output))


class _Lanes:
    """The lanes of the network, and those of the heads behind them."""

    def __init__(self, own: int, length: int):
        self.own, self.length = own, length
        self.one, self.extra, self.place, self.square = range(own, own + 4)
        self.width = own + 4

    def unit(self, x: Form, writes: Form, every: bool) -> Head:
        if not every:
            queries: list[Form] = [{**x, self.extra: -1}, {self.one: 1}]
            return queries, [{self.one: 1}, {self.place: 1}], x, writes
        n = self.length
        queries = [
            {**x, self.square: -1, self.extra: -1},
            {self.place: 2, self.extra: -2 * (n - 1)},
            {self.one: 1},
        ]
        keys: list[Form] = [{self.one: 1}, {self.place: 1, self.extra: -(n - 1)}, {self.square: -1}]
        return queries, keys, x, writes

    def mean(self, value: Form, writes: Form) -> Head:
        return [{self.one: 1}, {self.extra: -1}], [{self.extra: -1}, {self.one: 1}], value, writes

    def squares(self) -> exact.HardAttention:
        heads: list[Head] = []
        for j in range(self.length - 1):
            ask: Form = {self.place: 1, self.extra: -self.length, self.one: -Fraction(2 * j + 1, 2)}
            heads.append(([ask], [{self.place: 1}], {self.extra: 1}, {self.square: 4 * j + 2}))
        return hard_attention(self.width, heads, "squares")


def hard_attention(width: int, heads: Sequence[Head], stage: str = "attend") -> exact.HardAttention:
    """The heads as one layer of a stream with this many lanes."""
    size = max(len(queries) for queries, *_ in heads)
    q, k, v, o = Entries(), Entries(), Entries(), Entries()
    for head, (asks, offers, value, writes) in enumerate(heads):
        for i, (query, key) in enumerate(zip(asks, offers, strict=True), size * head):
            q |= {(i, lane): w for lane, w in query.items()}
            k |= {(i, lane): w for lane, w in key.items()}
        v |= {(size * head, lane): w for lane, w in value.items()}
        o |= {(lane, size * head): w for lane, w in writes.items()}
    rows = size * len(heads)
    queries, keys, values = (exact.matrix(rows, width, x) for x in (q, k, v))
    outputs = exact.matrix(width, rows, o)
    return exact.HardAttention(queries, keys, values, outputs, len(heads), stage)


def _embed(
    old: exact.Embedding, lanes: _Lanes, positions: bool, ids: Iterable[int] | None
) -> exact.Embedding:
    """The matrix with one column more, and the lanes `one`, `extra` and `place`."""
    new, n = old.weight.columns, lanes.length
    weights = {(r, c): v.fraction for r, c, v in old.weight.entries}
    known = range(new) if ids is None else [x for x in ids if x < new]
    weights |= {(lanes.one, x): Fraction(1) for x in known}
    weights[lanes.extra, new] = Fraction(1)
    weights[lanes.place, new] = Fraction(-1)  # its position is n
    position: dict[int, exact.Number] = {lanes.place: 1}
    for row, _, v in old.position.entries if positions else ():
        position[row] = v.fraction
        weights[row, new] = -n * v.fraction
    return exact.Embedding(
        exact.matrix(lanes.width, new + 1, weights), exact.vector(position, lanes.width), "embed"
    )


def _average(layer: exact.Layer) -> exact.UniformAttention | None:
    if isinstance(layer, exact.HardAttention):
        return layer.uniform
    return layer if isinstance(layer, exact.UniformAttention) else None


def _block(layer: exact.FeedForward, lanes: _Lanes) -> list[Unit]:
    """Its units that are written somewhere."""
    each = range(layer.W1.rows)
    units = [(_input(layer.W1, layer.b1, i, lanes), _rows(layer.W2, i)) for i in each]
    return [(x, writes) for x, writes in units if x and writes]


def _relu(layer: exact.Relu, lanes: _Lanes, live: set[int]) -> list[Unit]:
    """The rows, and units that clear what the lanes held: h = relu(h) - relu(-h)."""
    each = range(layer.weight.rows)
    units: list[Unit] = [(_input(layer.weight, layer.bias, i, lanes), {i: 1}) for i in each]
    for lane in sorted(live):
        units += [({lane: 1}, {lane: -1}), ({lane: -1}, {lane: 1})]
    return [(x, writes) for x, writes in units if x]


def _input(weights: exact.Matrix, bias: exact.Matrix, row: int, lanes: _Lanes) -> Form:
    """What goes into a unit; its bias stands on the lane `one`."""
    constant = bias[row, 0]
    return {**_columns(weights, row), **({lanes.one: constant} if constant else {})}


def _columns(weights: exact.Matrix, row: int) -> Form:
    return {c: v.fraction for c, v in weights.by_row.get(row, ())}


def _rows(weights: exact.Matrix, column: int) -> Form:
    return {r: v.fraction for r, c, v in weights.entries if c == column}
