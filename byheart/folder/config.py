"""config.json, both ways: what the network reads and writes, and the shapes of its tensors."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ByheartError
from ..model import Model
from ..network import Dyadic, FeedForward, Input, Layer, Linear, Matrix, Network, UniformAttention
from .strict import SIZE_LIMIT, Object, integer, shown

DYADIC_LIMIT = 1 << 22  # exponents, and bits of a mantissa
KINDS = ("string", "number", "vector")
NAMES = ("method", "form", "paper", "item")  # strings or null
RECORDS = ("options", "loading", "data", "parameters", "bits", "search")  # objects

Shape = tuple[int, int]


class Plan(NamedTuple):
    """A layer without its weights."""

    kind: str
    stage: str
    shapes: tuple[Shape, ...]

    def build(self, tensors: list[Matrix]) -> Layer:
        if self.kind == "feed_forward":
            first, bias, second, constant = tensors
            return FeedForward(first, bias, second, constant, self.stage)
        one, other = tensors
        kind = Linear if self.kind == "linear" else UniformAttention
        return kind(one, other, self.stage)


@dataclass(frozen=True)
class Config:
    """What config.json says; `about` is what a Model keeps of it for people."""

    kind: str
    input: Input
    labels: int
    unknown: int | None
    plans: tuple[Plan, ...]
    about: dict[str, Any]

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the parameter tensors, in the order of their numbers."""
        return [shape for plan in self.plans for shape in plan.shapes]

    def network(self, tensors: list[Matrix]) -> Network:
        """The network with these parameter tensors; refused if its mean would not be exact."""
        rest = iter(tensors)
        layers = [plan.build([next(rest) for _ in plan.shapes]) for plan in self.plans]
        length = self.input.length
        odd = length // (length & -length)
        for layer in layers:
            if isinstance(layer, UniformAttention):
                if any(entry.value.mantissa % odd for entry in layer.W_O.entries):
                    raise ByheartError(f"an entry of W_O is not divisible by {odd}.")
        return Network(self.input, tuple(layers))


def read(content: bytes, where: str) -> Config:
    given = Object.parse(content, where)
    given.expect("format", "byheart-model")
    given.expect("version", 1)
    given.expect("number", "dyadic")
    kind, reads = _input(given.object("input"))
    labels, unknown = _output(given.object("output"))
    plans = _plans(given, reads.coordinates)
    about: dict[str, Any] = {name: given.optional(name, str) for name in NAMES}
    about |= {name: given.optional(name, dict, {}) for name in RECORDS}
    return Config(kind, reads, labels, unknown, plans, about)


def _input(given: Object) -> tuple[str, Input]:
    kind = given.get("kind", str)
    if kind not in KINDS:
        given.refuse(f"the kind {shown(kind)} is not known")
    dimension, length = given.size("dimension"), given.size("length")
    if kind != "vector" and dimension != 1:
        given.refuse(f"a {kind} has one coordinate, not {dimension}")
    padding = given.get("padding", list)
    if len(padding) != dimension:
        given.refuse(f"padding has {len(padding)} coordinates, not {dimension}")
    pairs = tuple(_dyadic(pair, given) for pair in padding)
    return kind, Input(dimension, length, given.get("positions", bool), pairs)


def _dyadic(pair: object, given: Object) -> Dyadic:
    """The canonical form of a pair [mantissa, exponent]."""
    if not isinstance(pair, list) or len(pair) != 2:
        given.refuse("padding is made of pairs [mantissa, exponent]")
    mantissa, exponent = (_integer(part, given) for part in pair)
    if mantissa.bit_length() > DYADIC_LIMIT or abs(exponent) > DYADIC_LIMIT:
        given.refuse("a number of padding is beyond 2^22 bits")
    if mantissa == 0:
        return Dyadic(0, 0)
    zeros = (mantissa & -mantissa).bit_length() - 1
    return Dyadic(mantissa >> zeros, exponent + zeros)


def _integer(part: object, given: Object) -> int:
    if type(part) is int:
        return part
    if not isinstance(part, str) or not re.fullmatch(r"-?[0-9]+", part):
        given.refuse(f"padding holds {shown(part)}, which is no integer")
    return integer(part)


def _output(given: Object) -> tuple[int, int | None]:
    labels, unknown = given.get("labels", int), given.optional("unknown", int)
    if labels < 1:
        given.refuse(f"there are {shown(labels)} labels")
    if unknown not in (None, labels):
        given.refuse(f"unknown is {shown(unknown)}, not null or the number of labels")
    return labels, unknown


def _plans(config: Object, coordinates: int) -> tuple[Plan, ...]:
    """The layers in order: linear at both ends and nowhere else."""
    width, layers = config.size("width"), config.get("layers", list)
    last = len(layers) - 1
    if not 1 <= last < SIZE_LIMIT:
        config.refuse(f"there are {len(layers)} layers, not between 2 and 2^20")
    ends = {0: (width, coordinates), last: (1, width)}
    plans = []
    for number, layer in enumerate(layers):
        where = f"{config.where}, layer {number}"
        if not isinstance(layer, dict):
            raise ByheartError(f"{where}: not a JSON object.")
        plans.append(_plan(Object(layer, where), width, ends.get(number)))
    return tuple(plans)


def _plan(layer: Object, width: int, end: Shape | None) -> Plan:
    kind, stage = layer.get("kind", str), layer.optional("stage", str, "") or ""
    if (kind == "linear") != (end is not None):
        layer.refuse("the first and the last layer, and no others, are linear")
    if end is not None:
        layer.expect("rows", end[0])
        layer.expect("columns", end[1])
        return Plan(kind, stage, (end, (end[0], 1)))
    if kind == "feed_forward":
        hidden = layer.size("hidden")
        return Plan(kind, stage, ((hidden, width), (hidden, 1), (width, hidden), (width, 1)))
    if kind == "uniform_attention":
        head = layer.size("head_dimension")
        return Plan(kind, stage, ((head, width), (width, head)))
    layer.refuse(f"the kind {shown(kind)} is not known")


def describe(model: Model) -> dict[str, Any]:
    """The content of config.json."""
    reads, about = model.network.input, model.about
    return {
        "format": "byheart-model",
        "version": 1,
        "number": "dyadic",
        **{name: about.get(name) for name in NAMES},
        "input": {
            "kind": model.kind,
            "dimension": reads.dimension,
            "length": reads.length,
            "positions": reads.positions,
            "padding": [list(number) for number in reads.padding],
        },
        "output": {"labels": len(model.labels), "unknown": model.unknown},
        "width": model.network.width,
        "layers": [_describe_layer(layer) for layer in model.network.layers],
        **{name: about.get(name, {}) for name in RECORDS},
    }


def _describe_layer(layer: Layer) -> dict[str, Any]:
    match layer:
        case Linear():
            sizes = {"rows": layer.weight.rows, "columns": layer.weight.columns}
        case FeedForward():
            sizes = {"hidden": layer.W1.rows}
        case UniformAttention():
            sizes = {"head_dimension": layer.W_V.rows}
    return {"kind": layer.kind, **sizes, "stage": layer.stage}
