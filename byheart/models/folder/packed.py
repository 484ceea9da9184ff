"""A model that gives labels in one file of few bytes, both ways (checker/FORMAT.md, section 11).

The network is its code word (codeword.py), tokens and labels are front-coded (vocabulary.py); the
rest of config.json and certificate.json, the names of stages, and a tokenizer are streams. What the
code word says is not said again.
"""

import hashlib
import json
from collections.abc import Mapping
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...claims.claim import Labels, Words
from ...claims.model import ModelData
from ...claims.notes import VERSION, read_record
from ...data.readers.text import SPACED
from ...exact import codeword, config, vocabulary
from ...exact.answer import ExactModel
from ...exact.coder import SIZE
from ...gadgets.blocks import digit_order
from ...machine.names import MAGIC
from ...machine.streams import Source, number, stream
from ...machine.strict import Object

DIGEST = 32  # bytes of SHA-256, at the end
# of config.json and certificate.json, what is found again in the file
FOUND = ("format", "version", "input", "output", "width", "layers", "parameters")
ALSO = ("format", "version", "claim", "files", "data")
COUNTED = ("total", "fixed", "largest")  # of the bits


class Unpacked(NamedTuple):
    """The content of a packed file: the model, what its certificate says, and its tokenizer."""

    model: ExactModel
    certificate: Object
    tokenizer: str | None


def pack(model: ExactModel, described: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The file of a model, of which config.json and certificate.json would say this."""
    code, names = codeword.encode(model.network), [layer.stage for layer in model.network.layers]
    tokens, labels = list(map(str, model.tokens or ())), model.labels
    orders = [list(range(len(labels))), digit_order(len(labels))]
    runs = [sum(b < a for a, b in pairwise(labels[i] for i in order)) for order in orders]  # type: ignore[operator]
    order = runs.index(min(runs))
    cuts = (None, SPACED.findall)
    words = min((vocabulary.encode(tokens, labels, orders[order], cut) for cut in cuts), key=len)
    notes: dict[str, Any] = {
        "kind": model.kind,
        "unknown": model.claim.unknown is not None,
        "stages": [[name, len(list(run))] for name, run in groupby(names)],
        "config": {x: y for x, y in described.items() if x not in FOUND},
        "certificate": {x: y for x, y in certificate.items() if x not in ALSO},
    }
    counted = described.get("bits", {}).items()
    notes["config"]["bits"] = {x: y for x, y in counted if x not in COUNTED}
    text = json.dumps(notes, separators=(",", ":"), allow_nan=False).encode()
    tokenizer = (model.record.tokenizer or "").encode()
    parts = number(len(code)) + code, number(order) + words, stream(text), stream(tokenizer)
    content = MAGIC + b"".join(parts)
    return content + hashlib.sha256(content).digest()


def unpack(data: bytes, where: str) -> Unpacked:
    """The model of a packed file from anywhere; ByheartError in one sentence if it is none."""
    source = Source(data[:-DIGEST], where)
    if data[: len(MAGIC)] != MAGIC:
        source.refuse("it is not a packed model")
    source.take(len(MAGIC))
    if hashlib.sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
        source.refuse("its SHA-256 is not the one at its end: it is damaged or cut off")
    network = codeword.decode(source.take(source.number()))
    order = source.number()
    tokens, ranked = vocabulary.decode(source)
    places = range(len(ranked)) if order == 0 else np.argsort(digit_order(len(ranked))).tolist()
    labels = [ranked[place] for place in places]
    notes = Object.parse(source.stream(), where)
    tokenizer = source.stream()
    source.end()
    if order > 1:
        source.refuse("its labels are in no known order")
    kind, unknown = notes.choice("kind", config.KINDS), notes.get("unknown", bool)
    if kind != "string" and tokens:
        source.refuse(f"there are strings among the tokens, which are of the kind {kind}")
    named = config.describe(network, kind, len(labels), len(labels) if unknown else None)
    names = [name for name, count in _stages(notes) for _ in range(count)]
    for layer, name in zip(named["layers"], names, strict=False):
        layer["stage"] = name
    own = {"format": "byheart-model", "version": VERSION}
    given = Object({**notes.get("config", dict), **named, **own}, where)
    settings = config.read(given)
    tensors = [tensor for layer in network.layers for tensor in layer.tensors.values()]
    pairs = [pair for layer in network.layers for pair in getattr(layer, "connections", ())]
    if max((max(pair) for pair in pairs), default=0) >= network.input.columns:
        source.refuse("a connection leads to a column that there is not")
    found = (entry.value for tensor in tensors for entry in tensor.entries)
    doubles = (x.digits <= 53 and -1074 <= x.exponent <= 1024 - x.digits for x in found)
    if settings.number == "float64" and not all(doubles):
        source.refuse("a number is no double, and it says that all are")
    claim = Labels(tuple(labels), settings.unknown, settings.number)
    words = Words(kind, tuple(tokens) if kind == "string" else None)
    model = ModelData(settings.network(tensors, tuple(pairs)), words, claim, read_record(given))
    certificate = {**notes.get("certificate", dict), "data": given.get("data", dict)}
    return Unpacked(model, Object(certificate, where), tokenizer.decode(errors="replace") or None)


def _stages(notes: Object) -> list[tuple[str, int]]:
    """Names of layers, for people, and of how many layers in a row: nothing depends on them."""
    listed = notes.note("stages", list, [])
    pairs = [pair for pair in listed if isinstance(pair, list) and len(pair) == 2]
    named = [(x, y) for x, y in pairs if type(x) is str and type(y) is int and 0 < y < SIZE]
    return named if len(named) == len(listed) and sum(y for _, y in named) <= SIZE else []
