"""config.json, both ways: what the network reads and writes, and the shapes of its tensors."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, get_args

from ..claims.notes import read_number
from ..errors import ByheartError
from ..machine.strict import SIZE_LIMIT, Object, integer, shown
from . import network as exact

DYADIC_LIMIT = 1 << 22  # exponents, and bits of a mantissa
CONNECTION_LIMIT = 1 << 24
KINDS = ("string", "number", "vector")
FLOAT64_KINDS = ("linear", "relu", "feed_forward", "uniform_attention")

Shape = tuple[int, int]
Pairs = tuple[tuple[int, int], ...]
LAYERS: dict[str, Any] = {layer.kind: layer for layer in get_args(exact.Layer)}
MIXING = {layer.kind for layer in get_args(exact.Mixing)}


class Plan(NamedTuple):
    """A layer without its weights: the shape of each tensor, by name."""

    kind: str
    stage: str
    shapes: dict[str, Shape]
    heads: int = 1
    connections: int = 0

    def build(self, tensors: list[exact.Matrix], connections: Pairs) -> exact.Layer:
        given: dict[str, Any] = dict(zip(self.shapes, tensors, strict=True), stage=self.stage)
        if self.kind == "hard_attention":
            given["heads"] = self.heads
        if self.kind == "sparse_attention":
            given["connections"] = connections
        return LAYERS[self.kind](**given)


@dataclass(frozen=True)
class Config:
    kind: str
    input: exact.Input
    labels: int
    unknown: int | None
    plans: tuple[Plan, ...]
    every: bool
    number: str

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the parameter tensors, in the order of their numbers."""
        return [shape for plan in self.plans for shape in plan.shapes.values()]

    @property
    def names(self) -> list[str]:
        """The names of the parameter tensors in a file of plain tensors."""
        return [f"layers.{i}.{name}" for i, plan in enumerate(self.plans) for name in plan.shapes]

    def network(self, tensors: list[exact.Matrix], connections: Pairs) -> exact.Network:
        """The network with these parameter tensors; refused if its mean would not be exact."""
        rest, pairs = iter(tensors), iter(connections)
        layers = [
            plan.build([next(rest) for _ in plan.shapes], tuple(islice(pairs, plan.connections)))
            for plan in self.plans
        ]
        for layer in layers:
            averaged: set[int] = set()  # how many columns it takes averages of
            if isinstance(layer, exact.UniformAttention):
                averaged = {self.input.columns}
            elif isinstance(layer, exact.SparseAttention):
                averaged = set(Counter(target for target, _ in layer.connections).values())
            for number in averaged:
                if not exact.divides(number, layer.tensors["W_O"]):
                    raise ByheartError(
                        f"an entry of W_O is not divisible by the odd part of {number}."
                    )
        return exact.Network(self.input, tuple(layers), self.every)


def read(given: Object) -> Config:
    number = read_number(given)
    kind, reads = _input(given.object("input"))
    output = given.object("output")
    labels, unknown = output.get("labels", int), output.optional("unknown", int)
    if labels < 1:
        output.refuse(f"there are {shown(labels)} labels")
    if unknown not in (None, labels):
        output.refuse(f"unknown is {shown(unknown)}, not null or the number of labels")
    every = bool(output.optional("every", bool))
    plans = _plans(given, reads)
    # a deep set: one sum and nothing else where columns meet, no padding
    mixing = [plan.kind for plan in plans if plan.kind in MIXING]
    if ("sum" in mixing) != (reads.padding is None):
        given.refuse("a network has a sum layer if and only if padding is null")
    if "sum" in mixing and (len(mixing) > 1 or reads.positions or reads.extra or every):
        given.refuse("a sum is the only layer where columns meet, without positions or extra")
    if number == "float64":
        for index, plan in enumerate(plans):
            if plan.kind not in FLOAT64_KINDS:
                given.refuse(f"layer {index} is of the kind {plan.kind}, which float64 has not")
        if every:
            given.refuse("a float64 network has one answer, and every is true")
        if mixing and reads.columns & (reads.columns - 1):
            given.refuse(f"{reads.columns} columns are not a power of two, as float64 needs")
    return Config(kind, reads, labels, unknown, plans, every, number)


def _input(given: Object) -> tuple[str, exact.Input]:
    kind = given.choice("kind", KINDS)
    dimension, length = given.size("dimension"), given.size("length")
    if kind != "vector" and dimension != 1:
        given.refuse(f"a {kind} has one coordinate, not {dimension}")
    if "padding" not in given.values:
        given.refuse("padding is missing")
    padding, extra = _vector(given, "padding", dimension), _vector(given, "extra", dimension)
    return kind, exact.Input(dimension, length, given.get("positions", bool), padding, extra)


def _vector(given: Object, name: str, dimension: int) -> tuple[exact.Dyadic, ...] | None:
    vector = given.optional(name, list)
    if vector is None:
        return None
    if len(vector) != dimension:
        given.refuse(f"{name} has {len(vector)} coordinates, not {dimension}")
    return tuple(_dyadic(pair, given) for pair in vector)


def _dyadic(pair: object, given: Object) -> exact.Dyadic:
    """The canonical form of a pair [mantissa, exponent]."""
    if not isinstance(pair, list) or len(pair) != 2:
        given.refuse("a vector is made of pairs [mantissa, exponent]")
    numbers = []
    for part in pair:
        if type(part) is not int:
            if not isinstance(part, str) or not re.fullmatch(r"-?[0-9]+", part):
                given.refuse(f"a vector holds {shown(part)}, which is not an integer")
            part = integer(part)
        numbers.append(part)
    mantissa, exponent = numbers
    if mantissa.bit_length() > DYADIC_LIMIT or abs(exponent) > DYADIC_LIMIT:
        given.refuse("a number of a vector is beyond 2^22 bits")
    if mantissa == 0:
        return exact.Dyadic(0, 0)
    zeros = (mantissa & -mantissa).bit_length() - 1
    return exact.Dyadic(mantissa >> zeros, exponent + zeros)


def _plans(config: Object, reads: exact.Input) -> tuple[Plan, ...]:
    """The layers in order, each fitting the stream that the one before it leaves."""
    width, layers = config.size("width"), config.get("layers", list)
    last = len(layers) - 1
    if not 1 <= last < SIZE_LIMIT:
        config.refuse(f"there are {len(layers)} layers, not between 2 and 2^20")
    plans: list[Plan] = []
    lanes = widest = 0
    for number, layer in enumerate(layers):
        where = f"{config.where}, layer {number}"
        if not isinstance(layer, dict):
            raise ByheartError(f"{where}: not a JSON object.")
        given = Object(layer, where)
        plans.append(_first(given, reads) if number == 0 else _plan(given, lanes, number == last))
        if "weight" in plans[-1].shapes:
            lanes = plans[-1].shapes["weight"][0]
            widest = widest if number == last else max(widest, lanes)
    if widest != width:
        config.refuse(f"width is {width}, and the widest stream has {widest} lanes")
    if sum(plan.connections for plan in plans) > CONNECTION_LIMIT:
        config.refuse("there are more than 2^24 connections")
    return tuple(plans)


def _first(layer: Object, reads: exact.Input) -> Plan:
    kind, stage = layer.get("kind", str), layer.note("stage", str, "")
    rows, columns = layer.size("rows"), layer.size("columns")
    if kind == "linear":
        layer.expect("columns", reads.coordinates)
        return Plan(kind, stage, exact.shapes_of(kind, columns, rows))
    if kind != "embedding" or reads.dimension != 1:
        layer.refuse("the first layer is linear, or an embedding for tokens of one coordinate")
    return Plan(kind, stage, {"weight": (rows, columns), "position": (rows, 1)})


def _plan(layer: Object, width: int, last: bool) -> Plan:
    kind, stage = layer.get("kind", str), layer.note("stage", str, "")
    if (kind == "linear") != last:
        layer.refuse("the last layer is linear, and none before it but the first")
    size, heads, count = 0, 1, 0
    match kind:
        case "linear" | "relu":
            layer.expect("columns", width)
            size = layer.size("rows")
            if last:
                layer.expect("rows", 1)
        case "feed_forward":
            size = layer.size("hidden")
        case "uniform_attention" | "sparse_attention":
            size = layer.size("head_dimension")
            count = layer.get("connections", int) if kind == "sparse_attention" else 0
            if not 0 <= count <= CONNECTION_LIMIT:
                layer.refuse(f"there are {shown(count)} connections, not between 0 and 2^24")
        case "hard_attention":
            heads = layer.size("heads")
            size = heads * layer.size("head_dimension")
            if size > SIZE_LIMIT:
                layer.refuse("the heads together have more than 2^20 lanes")
        case other if other != "sum":
            layer.refuse(f"the kind {shown(kind)} is not known")
    return Plan(kind, stage, exact.shapes_of(kind, width, size), heads, count)


def describe(network: exact.Network, kind: str, labels: int, unknown: int | None) -> dict[str, Any]:
    """The part of config.json that describes an exact network."""
    reads = network.input

    def listed(vector: tuple[exact.Dyadic, ...] | None) -> list | None:
        return None if vector is None else [list(number) for number in vector]

    sizes = {name: getattr(reads, name) for name in ("dimension", "length", "positions")}
    vectors = {name: listed(getattr(reads, name)) for name in ("padding", "extra")}
    return {
        "input": {"kind": kind, **sizes, **vectors},
        "output": {"labels": labels, "unknown": unknown, "every": network.every},
        "width": network.width,
        "layers": [_describe_layer(layer) for layer in network.layers],
    }


def _describe_layer(layer: exact.Layer) -> dict[str, Any]:
    sizes: dict[str, int] = {}
    match layer:
        case exact.Linear() | exact.Embedding() | exact.Relu():
            sizes = {"rows": layer.weight.rows, "columns": layer.weight.columns}
        case exact.FeedForward():
            sizes = {"hidden": layer.W1.rows}
        case exact.UniformAttention():
            sizes = {"head_dimension": layer.W_V.rows}
        case exact.SparseAttention():
            sizes = {"head_dimension": layer.W_V.rows, "connections": len(layer.connections)}
        case exact.HardAttention():
            sizes = {"heads": layer.heads, "head_dimension": layer.W_V.rows // layer.heads}
    return {"kind": layer.kind, **sizes, "stage": layer.stage}
