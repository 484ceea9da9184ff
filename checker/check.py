"""Check a byheart model folder against its data, in exact integers.

    python checker/check.py DIR DATA [--sample K] [--seed S] [--json]

Standard library only, and no code shared with the package that writes the folders: `FORMAT.md`
beside this file is all it was written from. The order here is the order there.

Exit codes: 0 the claim holds; 1 readable, but a label, a count or a hash disagrees; 2 refused.
"""

import argparse
import ast
import hashlib
import io
import json
import math
import os
import random
import re
import stat
import struct
import sys
import time
import zipfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NoReturn

FILES = ("config.json", "weights.safetensors", "vocabulary.json")
SIZE_LIMIT = 2**20  # length, dimension, every side of a tensor, number of layers
CONNECTION_LIMIT = 2**24  # of all sparse layers together
DYADIC_LIMIT = 2**22  # exponents, and bits of a mantissa
VALUE_LIMIT = 2**23  # bits of a value met while evaluating
JSON_LIMIT = 2**30  # bytes
ARRAY_LIMIT = 2**32  # bytes of an array in .npz once unpacked: a small file can swell
COLUMNS_KEPT = 2**18  # columns that are remembered from one sequence to the next
INT64 = range(-(2**63), 2**63)
SHOWN = 10  # failures that are told one by one

Dyadic = tuple[int, int]  # (mantissa, exponent), canonical: odd mantissa, or (0, 0)
Entry = tuple[int, int, int]  # (row or column, mantissa, exponent)
Parameter = tuple[int, int, int, int]  # (row, column, mantissa, exponent)
Column = dict[int, Dyadic]  # one column of the matrix; a lane that is zero is absent
ZERO: Dyadic = (0, 0)
ONE: Dyadic = (1, 0)


class Refusal(Exception):
    """The input is not readable as a model or as data; the message is the sentence to print."""


def refuse(sentence: str) -> NoReturn:
    raise Refusal(sentence)


def show(value: Any) -> str:
    """The value as short ASCII JSON: nothing a hostile file holds reaches a terminal raw."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return "(a value too large to show)"
    return text if len(text) <= 80 else text[:60] + "..." + text[-15:]


# ---------------------------------------------------------------- files and JSON


def read_bytes(path: str, limit: float = math.inf, follow: bool = False) -> bytes:
    """The content of a regular file. A link in a model folder could point anywhere: refused."""
    try:
        status = os.stat(path) if follow else os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            refuse(f"{show(path)} is not a regular file")
        if status.st_size > limit:
            refuse(f"{show(path)} is larger than {limit} bytes")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        refuse(f"{show(path)} cannot be read: {error.strerror or error}")


def decimal(text: str) -> int:
    """The integer that the digits spell, by halves: int() itself stops at 4300 digits."""
    if len(text) <= 4000:
        return int(text)
    if len(text) > DYADIC_LIMIT * 0.30103 + 3:
        refuse(f"a number has {len(text)} digits")
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    half = len(digits) // 2
    return sign * (decimal(digits[:-half]) * 10**half + decimal(digits[-half:]))


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. A key given twice means two things to two readers: refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        refuse(f"the key {show(twice)} occurs twice in one object")
    return found


def no_constant(text: str) -> NoReturn:
    refuse(f"{text} is not a JSON number")


DECODER = json.JSONDecoder(
    object_pairs_hook=distinct_keys, parse_int=decimal, parse_constant=no_constant
)


def parse_object(content: bytes, name: str) -> dict[str, Any]:
    try:
        found = DECODER.decode(content.decode("utf-8"))
    except UnicodeDecodeError:
        refuse(f"{name} is not UTF-8")
    except RecursionError:
        refuse(f"{name} is nested too deeply")
    except Refusal as reason:
        refuse(f"{name}: {reason}")
    except ValueError as error:
        refuse(f"{name} is not JSON: {error}")
    if not isinstance(found, dict):
        refuse(f"{name} is not a JSON object")
    return found


def get(parent: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """parent[key], whose type is exactly `kind`: true is no integer, 1.0 is no version."""
    if key not in parent:
        refuse(f"{where} has no {show(key)}")
    if type(parent[key]) is not kind:
        refuse(f"{where}: {show(key)} is {show(parent[key])}, not of type {kind.__name__}")
    return parent[key]


def get_size(parent: dict[str, Any], key: str, where: str) -> int:
    size = get(parent, key, int, where)
    if not 1 <= size <= SIZE_LIMIT:
        refuse(f"{where}: {show(key)} is {show(size)}, not between 1 and 2^20")
    return size


def expect(parent: dict[str, Any], key: str, wanted: Any, where: str) -> None:
    if get(parent, key, type(wanted), where) != wanted:
        refuse(f"{where}: {show(key)} is {show(parent[key])}, known is {show(wanted)}")


# ---------------------------------------------------------------- numbers (section 1)


def canonical(mantissa: int, exponent: int) -> Dyadic:
    """The canonical pair of the same value; refuses what needs more than 2^23 bits."""
    if not mantissa:
        return ZERO
    if not mantissa & 1:
        zeros = (mantissa & -mantissa).bit_length() - 1
        mantissa >>= zeros
        exponent += zeros
    if fixed_bits(mantissa.bit_length(), exponent) > VALUE_LIMIT:
        refuse("a value met while evaluating needs more than 2^23 bits")
    return mantissa, exponent


def fixed_bits(digits: int, exponent: int) -> int:
    """The length in plain binary notation of a number whose mantissa has that many digits."""
    return digits + exponent if exponent >= 0 else max(digits, -exponent)


def read_dyadic(pair: Any, where: str) -> Dyadic:
    if not isinstance(pair, list) or len(pair) != 2:
        refuse(f"{where}: {show(pair)} is not a pair [mantissa, exponent]")
    numbers = [read_integer(part, where) for part in pair]
    if numbers[0].bit_length() > DYADIC_LIMIT or abs(numbers[1]) > DYADIC_LIMIT:
        refuse(f"{where}: a number is beyond the limit of 2^22 bits")
    return canonical(*numbers)


def read_integer(part: Any, where: str) -> int:
    if type(part) is int:
        return part
    if isinstance(part, str) and re.fullmatch("-?[0-9]+", part):
        return decimal(part)
    refuse(f"{where}: {show(part)} is not an integer")


# ---------------------------------------------------------------- config.json (section 2)

# the tensors of each kind, in the order of section 3
TENSORS = {
    "linear": ("weight", "bias"),
    "embedding": ("weight", "position"),
    "relu": ("weight", "bias"),
    "feed_forward": ("W1", "b1", "W2", "b2"),
    "uniform_attention": ("W_V", "W_O"),
    "sparse_attention": ("W_V", "W_O"),
    "hard_attention": ("W_Q", "W_K", "W_V", "W_O"),
    "sum": (),
}
VECTORS = ("bias", "b1", "b2", "position")
MIXING = ("uniform_attention", "sparse_attention", "hard_attention", "sum")
FLOAT64_KINDS = ("linear", "feed_forward", "relu", "uniform_attention")


@dataclass
class Layer:
    kind: str
    shapes: list[tuple[int, int]]  # of its tensors
    width: int  # rows of the matrix after it
    connections: int = 0  # of sparse attention
    head: int = 0  # head dimension of hard attention


@dataclass
class Input:
    kind: str
    dimension: int
    length: int
    positions: bool
    padding: tuple[Dyadic, ...] | None
    extra: tuple[Dyadic, ...] | None

    @property
    def columns(self) -> int:
        """The columns of a padded sequence."""
        return self.length + (self.extra is not None)


@dataclass
class Config:
    raw: dict[str, Any]
    number: str
    input: Input
    labels: int
    unknown: int | None
    every: bool
    layers: list[Layer]

    @property
    def mixing(self) -> list[str]:
        """The kinds of the layers where columns meet."""
        return [layer.kind for layer in self.layers if layer.kind in MIXING]


def read_config(content: bytes) -> Config:
    raw = parse_object(content, "config.json")
    expect(raw, "format", "byheart-model", "config.json")
    expect(raw, "version", 1, "config.json")
    number = get(raw, "number", str, "config.json")
    if number not in ("dyadic", "float64"):
        refuse(f"config.json: the number {show(number)} is not known")
    given = read_input(get(raw, "input", dict, "config.json"))
    layers = read_layers(get(raw, "layers", list, "config.json"), given)
    output = read_output(get(raw, "output", dict, "config.json"))
    config = Config(raw, number, given, *output, layers)
    width = get_size(raw, "width", "config.json")
    if width != max(layer.width for layer in layers):
        refuse(f"config.json: the width is {width}, but not that of the widest layer")
    check_sum(config)
    if number == "float64":
        check_float64(config)
    return config


def read_input(given: dict[str, Any]) -> Input:
    where = "config.json, input"
    kind = get(given, "kind", str, where)
    if kind not in ("string", "number", "vector"):
        refuse(f"{where}: the kind {show(kind)} is not known")
    dimension, length = get_size(given, "dimension", where), get_size(given, "length", where)
    if kind != "vector" and dimension != 1:
        refuse(f"{where}: a {kind} has dimension 1, not {dimension}")
    if "padding" not in given:
        refuse(f"{where} has no padding")
    positions = get(given, "positions", bool, where)
    padding, extra = (read_vector(given, key, dimension, where) for key in ("padding", "extra"))
    return Input(kind, dimension, length, positions, padding, extra)


def read_vector(
    given: dict[str, Any], key: str, dimension: int, where: str
) -> tuple[Dyadic, ...] | None:
    if given.get(key) is None:
        return None
    pairs = get(given, key, list, where)
    if len(pairs) != dimension:
        refuse(f"{where}: {key} has {len(pairs)} coordinates, not {dimension}")
    return tuple(read_dyadic(pair, f"{where}, {key}") for pair in pairs)


def read_output(given: dict[str, Any]) -> tuple[int, int | None, bool]:
    where = "config.json, output"
    labels = get(given, "labels", int, where)
    if labels < 1:
        refuse(f"{where}: {show(labels)} labels")
    every = given.get("every") is not None and get(given, "every", bool, where)
    if given.get("unknown") is None:
        return labels, None, every
    expect(given, "unknown", labels, where)
    return labels, labels, every


def read_layers(given: list[Any], reads: Input) -> list[Layer]:
    """The layers, each of them fitting on the one before it."""
    if not 2 <= len(given) <= SIZE_LIMIT:
        refuse(f"config.json: {len(given)} layers, not between 2 and 2^20")
    layers: list[Layer] = []
    for number, layer in enumerate(given):
        where = f"config.json, layer {number}"
        if not isinstance(layer, dict):
            refuse(f"{where} is not an object")
        if number == 0:
            layers.append(first_layer(layer, reads, where))
        elif number == len(given) - 1:
            layers.append(last_layer(layer, layers[-1].width, where))
        else:
            layers.append(inner_layer(layer, layers[-1].width, where))
    if sum(layer.connections for layer in layers) > CONNECTION_LIMIT:
        refuse("config.json: the layers have more than 2^24 connections")
    return layers


def first_layer(layer: dict[str, Any], reads: Input, where: str) -> Layer:
    kind = get(layer, "kind", str, where)
    rows, columns = get_size(layer, "rows", where), get_size(layer, "columns", where)
    if kind == "linear":
        expect(layer, "columns", reads.dimension + reads.positions, where)
    elif kind != "embedding":
        refuse(f"{where}: the first layer is linear or an embedding, not {show(kind)}")
    elif reads.dimension != 1:
        refuse(f"{where}: an embedding reads tokens of dimension 1, not {reads.dimension}")
    return Layer(kind, [(rows, columns), (rows, 1)], rows)


def last_layer(layer: dict[str, Any], width: int, where: str) -> Layer:
    expect(layer, "kind", "linear", where)
    expect(layer, "rows", 1, where)
    expect(layer, "columns", width, where)
    return Layer("linear", [(1, width), (1, 1)], 1)


def inner_layer(layer: dict[str, Any], width: int, where: str) -> Layer:
    kind = get(layer, "kind", str, where)
    if kind == "relu":
        rows = get_size(layer, "rows", where)
        expect(layer, "columns", width, where)
        return Layer(kind, [(rows, width), (rows, 1)], rows)
    if kind == "feed_forward":
        hidden = get_size(layer, "hidden", where)
        return Layer(kind, [(hidden, width), (hidden, 1), (width, hidden), (width, 1)], width)
    if kind == "sum":
        return Layer(kind, [], width)
    if kind not in MIXING:
        refuse(f"{where}: the kind {show(kind)} cannot stand here")
    head = get_size(layer, "head_dimension", where)
    if kind == "uniform_attention":
        return Layer(kind, [(head, width), (width, head)], width)
    if kind == "sparse_attention":
        connections = get(layer, "connections", int, where)
        if not 0 <= connections <= CONNECTION_LIMIT:
            refuse(f"{where}: {show(connections)} connections, not between 0 and 2^24")
        return Layer(kind, [(head, width), (width, head)], width, connections)
    rows = get_size(layer, "heads", where) * head
    if rows > SIZE_LIMIT:
        refuse(f"{where}: the heads have {rows} rows together, more than 2^20")
    return Layer(kind, [(rows, width)] * 3 + [(width, rows)], width, head=head)


def check_sum(config: Config) -> None:
    """A sum and sequences that are not filled up go together."""
    given = config.input
    if given.padding is not None:
        if "sum" in config.mixing:
            refuse("config.json: a sum layer needs input.padding null")
    elif config.mixing != ["sum"]:
        refuse("config.json: without padding one sum is the only layer where columns meet")
    elif given.positions or given.extra is not None or config.every:
        refuse("config.json: a sum has neither positions nor extra nor an answer to every token")


def check_float64(config: Config) -> None:
    for number, layer in enumerate(config.layers):
        if layer.kind not in FLOAT64_KINDS:
            refuse(f"config.json, layer {number}: float64 has no layers of kind {layer.kind}")
    if config.mixing and halvings(config.input.columns)[0] != 1:
        refuse(f"config.json: {config.input.columns} columns, not a power of two as float64 needs")


# ---------------------------------------------------------------- weights (section 4)

DTYPES = {"I32": ("i", 4), "U8": ("B", 1), "I64": ("q", 8), "U64": ("Q", 8), "F64": ("d", 8)}
DYADIC_ARRAYS = {
    "tensor": "I32",
    "row": "I32",
    "column": "I32",
    "exponent": "I32",
    "negative": "U8",
    "start": "I64",
    "limbs": "U64",
}
CONNECTION_ARRAYS = {"target": "I32", "source": "I32"}
Arrays = dict[str, array]


def read_safetensors(content: bytes, dtypes: dict[str, str], shapes: dict[str, list]) -> Arrays:
    """The arrays with these names and types; together they fill the file without holes. An array
    that is not in `shapes` has one side, of any length."""
    name = "weights.safetensors"
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        refuse(f"{name} is truncated: its header does not fit into {len(content)} bytes")
    header, data = parse_object(content[8 : 8 + length], f"{name}, header"), content[8 + length :]
    header.pop("__metadata__", None)
    if header.keys() != dtypes.keys():
        refuse(f"{name} names the tensors {show(sorted(header))}, not {show(sorted(dtypes))}")
    places = {key: read_place(header[key], key, dtypes[key], shapes.get(key)) for key in dtypes}
    end = 0
    for key, (begin, stop) in sorted(places.items(), key=lambda item: item[1]):
        if begin != end:
            refuse(f"{name}: there is a hole or an overlap before {key}")
        end = stop
    if end != len(data):
        refuse(f"{name} holds {len(data)} bytes of data, its header says {show(end)}")
    return {
        key: little_endian(DTYPES[dtypes[key]][0], data[begin:stop])
        for key, (begin, stop) in places.items()
    }


def read_place(given: Any, key: str, dtype: str, wanted: list[int] | None) -> tuple[int, int]:
    where = f"weights.safetensors, {key}"
    if not isinstance(given, dict):
        refuse(f"{where} is not described by an object")
    expect(given, "dtype", dtype, where)
    shape, place = get(given, "shape", list, where), get(given, "data_offsets", list, where)
    whole_numbers = all(type(n) is int and n >= 0 for n in shape + place)
    fits = len(shape) == 1 if wanted is None else shape == wanted
    if not fits or len(place) != 2 or not whole_numbers:
        refuse(f"{where} has shape {show(shape)} and place {show(place)}")
    if place[1] - place[0] != math.prod(shape) * DTYPES[dtype][1]:
        refuse(f"{where}: shape {show(shape)} does not fill the place {show(place)}")
    return place[0], place[1]


def little_endian(code: str, content: bytes) -> array:
    numbers = array(code, content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


@dataclass
class Parameters:
    """tensors      the nonzero entries of each parameter tensor, in the order of their numbers
    connections  (targets, sources) of each sparse layer"""

    tensors: list[list[Parameter]]
    connections: list[tuple[array, array]]
    counts: dict[str, dict[str, int]]


def read_parameters(content: bytes, config: Config) -> Parameters:
    if config.number == "float64":
        tensors, connections = read_doubles(content, config), []
    else:
        sparse = "sparse_attention" in config.mixing
        dtypes = {**DYADIC_ARRAYS, **CONNECTION_ARRAYS} if sparse else DYADIC_ARRAYS
        arrays = read_safetensors(content, dtypes, {})
        tensors = read_dyadics(arrays, [shape for layer in config.layers for shape in layer.shapes])
        connections = read_connections(arrays, config) if sparse else []
    return Parameters(tensors, connections, count(tensors, config))


def read_dyadics(arrays: Arrays, shapes: list[tuple[int, int]]) -> list[list[Parameter]]:
    check_lengths(arrays)
    tensors: list[list[Parameter]] = [[] for _ in shapes]
    before = (-1, -1, -1)
    limbs = little_endian("Q", arrays["limbs"].tobytes()).tobytes()  # again as in the file
    places = zip(arrays["tensor"], arrays["row"], arrays["column"], strict=True)
    for index, place in enumerate(places):
        if place <= before:
            refuse(f"weights.safetensors: parameter {index} is out of order")
        before = place
        tensor, row, column = place
        if not (
            0 <= tensor < len(tensors)
            and 0 <= row < shapes[tensor][0]
            and 0 <= column < shapes[tensor][1]
        ):
            refuse(f"weights.safetensors: parameter {index} lies outside its tensor")
        tensors[tensor].append((row, column, *read_number(index, arrays, limbs)))
    return tensors


def check_lengths(arrays: Arrays) -> None:
    size, start = len(arrays["tensor"]), arrays["start"]
    if any(len(arrays[key]) != size for key in ("row", "column", "exponent", "negative")):
        refuse("weights.safetensors: the tensors have different lengths")
    if len(start) != size + 1 or start[0] != 0 or start[-1] != len(arrays["limbs"]):
        refuse("weights.safetensors: start does not run from 0 to the length of limbs")
    if any(begin >= end for begin, end in pairwise(start)):
        refuse("weights.safetensors: start does not increase")


def read_number(index: int, arrays: Arrays, limbs: bytes) -> Dyadic:
    begin, end = arrays["start"][index], arrays["start"][index + 1]
    where = f"weights.safetensors: parameter {index}"
    if not arrays["limbs"][end - 1]:
        refuse(f"{where} has a top limb of zero")
    if not arrays["limbs"][begin] & 1:
        refuse(f"{where} has an even mantissa")
    if arrays["negative"][index] > 1:
        refuse(f"{where} has a sign that is neither 0 nor 1")
    mantissa = int.from_bytes(limbs[8 * begin : 8 * end], "little")
    if mantissa.bit_length() > DYADIC_LIMIT:
        refuse(f"{where} has a mantissa longer than 2^22 bits")
    if abs(arrays["exponent"][index]) > DYADIC_LIMIT:
        refuse(f"{where} has an exponent above 2^22")
    return -mantissa if arrays["negative"][index] else mantissa, arrays["exponent"][index]


def read_connections(arrays: Arrays, config: Config) -> list[tuple[array, array]]:
    """The connections of each sparse layer: sorted, distinct, between columns that exist."""
    target, source = arrays["target"], arrays["source"]
    sizes = [layer.connections for layer in config.layers if layer.kind == "sparse_attention"]
    if not len(target) == len(source) == sum(sizes):
        refuse(
            f"weights.safetensors: {len(target)} targets and {len(source)} sources for the "
            f"{sum(sizes)} connections of config.json"
        )
    for places in (target, source):
        if places and not 0 <= min(places) <= max(places) < config.input.columns:
            refuse("weights.safetensors: a connection leads outside the columns")
    found, begin = [], 0
    for size in sizes:
        part = target[begin : begin + size], source[begin : begin + size]
        if any(one >= other for one, other in pairwise(zip(*part, strict=True))):
            refuse("weights.safetensors: the connections of a layer are not distinct and sorted")
        found.append(part)
        begin += size
    return found


def read_doubles(content: bytes, config: Config) -> list[list[Parameter]]:
    """One array of doubles a tensor, row after row."""
    shapes = {
        f"layers.{number}.{name}": [rows] if name in VECTORS else [rows, columns]
        for number, layer in enumerate(config.layers)
        for name, (rows, columns) in zip(TENSORS[layer.kind], layer.shapes, strict=True)
    }
    arrays = read_safetensors(content, dict.fromkeys(shapes, "F64"), shapes)
    for name, values in arrays.items():
        if not all(map(math.isfinite, values)):
            refuse(f"weights.safetensors, {name}: a number is not finite")
        if any(x == 0 and math.copysign(1, x) < 0 for x in values):
            refuse(f"weights.safetensors, {name}: a number is -0.0")
    return [
        [
            (*divmod(place, math.prod(shape[1:])), *exact(value))
            for place, value in enumerate(arrays[name])
            if value
        ]
        for name, shape in shapes.items()
    ]


def exact(value: float) -> Dyadic:
    numerator, denominator = value.as_integer_ratio()
    return canonical(numerator, 1 - denominator.bit_length())


def count(tensors: list[list[Parameter]], config: Config) -> dict:
    """The counts of section 4."""
    sizes = [len(entries) for entries in tensors]
    outside = sum(sizes[:2]) + sum(sizes[-2:])  # the first and the last layer have two tensors
    numbers = [(m.bit_length(), e) for entries in tensors for _, _, m, e in entries]
    fixed = [fixed_bits(digits, e) for digits, e in numbers]
    total = sum(1 + digits + (1 + abs(e).bit_length() if e else 0) for digits, e in numbers)
    return {
        "parameters": {
            "nonzero": sum(sizes),
            "counted": sum(sizes) - outside,
            "outside": outside,
            "dense": sum(
                rows * columns for layer in config.layers for rows, columns in layer.shapes
            ),
        },
        "bits": {"total": total, "fixed": sum(fixed), "largest": max(fixed, default=0)},
    }


# ---------------------------------------------------------------- vocabulary and certificate


def read_vocabulary(content: bytes, config: Config) -> tuple[list[str], list[str | int]]:
    name = "vocabulary.json"
    raw = parse_object(content, name)
    tokens: list[str] = []
    if config.input.kind == "string":
        tokens = get(raw, "tokens", list, name)
        if not all(isinstance(token, str) for token in tokens):
            refuse(f"{name}: a token is not a string")
        if any(first >= second for first, second in pairwise(tokens)):
            refuse(f"{name}: the tokens are not distinct and sorted by code point")
    elif "tokens" not in raw or raw["tokens"] is not None:
        refuse(f"{name}: tokens must be null for kind {config.input.kind}")
    labels = get(raw, "labels", list, name)
    if not one_type(labels):
        refuse(f"{name}: the labels are not all strings or all integers")
    if len(labels) != config.labels or len(set(labels)) != len(labels):
        refuse(f"{name} has {len(set(labels))} distinct labels, not {show(config.labels)}")
    return tokens, labels


def one_type(labels: Iterable[Any]) -> bool:
    return {type(label) for label in labels} in ({str}, {int})


def read_certificate(content: bytes) -> dict[str, Any]:
    name = "certificate.json"
    raw = parse_object(content, name)
    expect(raw, "format", "byheart-certificate", name)
    expect(raw, "version", 1, name)
    expect(raw, "claim", "labels", name)
    files = get(raw, "files", dict, name)
    for key in files:
        if key not in FILES:
            refuse(f"{name}: files names {show(key)}; only {', '.join(FILES)} may stand there")
    for key in FILES:
        get(files, key, str, f"{name}, files")
    verified = get(raw, "verified", dict, name)
    for key, kind in (("checked", int), ("correct", int), ("evidence", str)):
        get(verified, key, kind, f"{name}, verified")
    read_data_claim(raw, name)
    return raw


def read_data_claim(raw: dict[str, Any], name: str) -> tuple[str, int]:
    data = get(raw, "data", dict, name)
    return get(data, "sha256", str, f"{name}, data"), get(data, "sequences", int, f"{name}, data")


# ---------------------------------------------------------------- the data (section 6)


@dataclass
class Data:
    kind: str
    dimension: int
    every: bool  # whether each token has a label
    tokens: list[Any]  # distinct, sorted: strings, or tuples of numbers
    labels: list[Any]  # distinct, sorted
    sequences: list[list[int]]  # places in tokens
    answers: list[list[int]]  # places in labels: of each sequence, one or one a token
    counts: list[int]
    sha256: str = ""

    @property
    def size(self) -> int:
        """How many labels there are."""
        return sum(map(len, self.answers))

    def input(self, index: int) -> list[Any]:
        """The tokens of one sequence, as the file spells them."""
        tokens = (self.tokens[place] for place in self.sequences[index])
        return [token[0] if self.kind == "number" else token for token in tokens]


Row = tuple[list[Any], list[Any], int]  # tokens, labels, count
Rows = tuple[str, int, bool, list[Row]]  # kind, dimension, whether each token has a label, rows


def read_data(path: str) -> Data:
    readers = {".jsonl": read_jsonl, ".npz": read_npz}
    reader = readers.get(os.path.splitext(path)[1])
    if reader is None:
        refuse(f"{show(path)}: the checker reads .jsonl and .npz")
    kind, dimension, every, rows = reader(path)
    if not one_type(chain.from_iterable(row[1] for row in rows)):
        refuse(f"{show(path)}: the labels are not all strings or all integers")
    labels = set(chain.from_iterable(row[1] for row in rows))
    if any(isinstance(label, int) and label.bit_length() > 2**13 for label in labels):
        refuse(f"{show(path)}: a label has more than 2^13 bits")
    tokens, names = sorted(set(chain.from_iterable(row[0] for row in rows))), sorted(labels)
    place = {token: index for index, token in enumerate(tokens)}
    answer = {label: index for index, label in enumerate(names)}
    data = Data(
        kind,
        dimension,
        every,
        tokens,
        names,
        [[place[t] for t in row[0]] for row in rows],
        [[answer[label] for label in row[1]] for row in rows],
        [row[2] for row in rows],
    )
    data.sha256 = data_hash(data)
    return data


def read_jsonl(path: str) -> Rows:
    rows: list[Row] = []
    kinds: set[tuple[str, int]] = set()
    manners: set[bool] = set()
    for number, line in enumerate(read_bytes(path, follow=True).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{os.path.basename(path)!a}, line {number}"
        raw = parse_object(line, where)
        tokens = [read_token(token, where) for token in get(raw, "input", list, where)]
        kinds.update((kind, dimension) for kind, dimension, _ in tokens)
        labels = read_labels(raw.get("label"), len(tokens), where)
        manners.add(isinstance(raw["label"], list))
        times = get(raw, "count", int, where) if "count" in raw else 1
        if not 1 <= times < 2**63:
            refuse(f"{where}: the count is {show(times)}")
        rows.append(([token for _, _, token in tokens], labels, times))
    if not kinds:
        refuse(f"{show(path)} holds no tokens")
    if len(kinds) > 1:
        refuse(f"{show(path)}: the tokens are not all strings, all numbers or vectors of one size")
    if len(manners) > 1:
        refuse(f"{show(path)}: some sequences have one label and some a label a token")
    return (*kinds.pop(), manners.pop(), rows)


def read_labels(given: Any, tokens: int, where: str) -> list[Any]:
    """The labels of a sequence: one, or a list as long as the sequence."""
    labels = given if isinstance(given, list) else [given]
    if isinstance(given, list) and len(given) != tokens:
        refuse(f"{where}: {len(given)} labels for {tokens} tokens")
    if any(type(label) not in (str, int) for label in labels):
        refuse(f"{where}: the label {show(given)} is not a string or an integer")
    for label in labels:
        if isinstance(label, str):
            check_text(label, where)
    return labels


def check_text(text: str, where: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        refuse(f"{where}: {show(text)} holds half a surrogate pair")


def read_token(token: Any, where: str) -> tuple[str, int, Any]:
    """The kind, the dimension and the token itself; a number becomes a tuple of one number."""
    if isinstance(token, str):
        check_text(token, where)
        return "string", 1, token
    vector = tuple(token) if isinstance(token, list) else (token,)
    if not vector or not all(type(x) in (int, float) and is_finite(x) for x in vector):
        refuse(f"{where}: {show(token)} is no string, finite number or vector of such numbers")
    return "vector" if isinstance(token, list) else "number", len(vector), vector


def is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def read_npz(path: str) -> Rows:
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path, follow=True))) as archive:
            if any(member.file_size > ARRAY_LIMIT for member in archive.infolist()):
                refuse("an array is larger than 2^32 bytes")
            shape, values = read_npy(archive.read("inputs.npy"), "inputs")
            labels_shape, labels = read_npy(archive.read("labels.npy"), "labels")
    except KeyError:
        refuse(f"{show(path)} does not hold inputs and labels")
    except Refusal as reason:
        refuse(f"{show(path)}: {reason}")
    except Exception as error:  # noqa: BLE001  zipfile raises a dozen kinds on a damaged archive
        refuse(f"{show(path)} is not readable as .npz: {error}")
    every = labels_shape == shape[:2]
    if len(shape) not in (2, 3) or not (every or labels_shape == shape[:1]) or 0 in shape:
        refuse(f"{show(path)}: inputs {shape} and labels {labels_shape} do not fit together")
    if not all(map(is_finite, values)):
        refuse(f"{show(path)}: inputs holds a value that is not finite")
    size, dimension = shape[1], shape[2] if len(shape) == 3 else 1
    vectors = list(zip(*[iter(values)] * dimension, strict=True))
    answers = size if every else 1
    rows = [
        (vectors[i * size : (i + 1) * size], labels[i * answers : (i + 1) * answers], 1)
        for i in range(shape[0])
    ]
    return "number" if len(shape) == 2 else "vector", dimension, every, rows


def read_npy(content: bytes, name: str) -> tuple[tuple[int, ...], list[int | float]]:
    """The shape and the values, in C order, of an array of integers or floats."""
    if content[:6] != b"\x93NUMPY" or content[6:7] not in (b"\1", b"\2", b"\3"):
        refuse(f"{name} is not an .npy array of version 1, 2 or 3")
    wide = 2 if content[6] == 1 else 4
    length, begin = int.from_bytes(content[8 : 8 + wide], "little"), 8 + wide
    header = ast.literal_eval(content[begin : begin + min(length, 10000)].decode("utf-8").strip())
    kind, shape, fortran = header["descr"], header["shape"], header["fortran_order"]
    codes = {
        "i1": "b",
        "u1": "B",
        "i2": "h",
        "u2": "H",
        "i4": "i",
        "u4": "I",
        "i8": "q",
        "u8": "Q",
        "f2": "e",
        "f4": "f",
        "f8": "d",
    }
    code = codes.get(kind[1:]) if isinstance(kind, str) and kind[:1] in ("<", "|") else None
    if code is None or (name == "labels" and code in "efd"):
        refuse(f"{name} has the type {show(kind)}, which the checker does not read")
    if not all(type(side) is int and side >= 0 for side in shape):
        refuse(f"{name} has the shape {show(shape)}")
    size, body = math.prod(shape), content[begin + length :]
    if len(body) != size * struct.calcsize("<" + code):
        refuse(f"{name} holds {len(body)} bytes, its shape {show(shape)} asks for another number")
    values = list(struct.unpack(f"<{size}{code}", body))
    return shape, c_order(values, shape) if fortran else values


def c_order(values: list, shape: tuple[int, ...]) -> list:
    """Values in Fortran order (first index fastest) put in C order (last index fastest)."""
    if len(shape) < 2:
        return values
    return list(chain(*(c_order(values[i :: shape[0]], shape[1:]) for i in range(shape[0]))))


def data_hash(data: Data) -> str:
    """The SHA-256 of the canonical bytes of section 6."""
    digest = hashlib.sha256(f"byheart-data-1\n{data.kind}{' every' * data.every}\n".encode())
    for part in chain(token_bytes(data), ((json.dumps(x) + "\n").encode() for x in data.labels)):
        digest.update(part)
    tokens, answers = map(chain.from_iterable, (data.sequences, data.answers))
    for numbers in (map(len, data.sequences), tokens, answers, data.counts):
        digest.update(little_endian("q", array("q", numbers).tobytes()).tobytes())
    return digest.hexdigest()


def token_bytes(data: Data) -> Iterator[bytes]:
    if data.kind == "string":
        yield from ((json.dumps(token) + "\n").encode() for token in data.tokens)
    elif all(is_double(x) for vector in data.tokens for x in vector):
        yield f"float64 {data.dimension}\n".encode()
        pack = struct.Struct(f"<{data.dimension}d").pack
        yield from (pack(*(float(x) + 0.0 for x in vector)) for vector in data.tokens)  # no -0.0
    else:
        if not all(x == int(x) and int(x) in INT64 for vector in data.tokens for x in vector):
            refuse("the data holds an integer that is no double beside what is no 64-bit integer")
        yield f"int64 {data.dimension}\n".encode()
        pack = struct.Struct(f"<{data.dimension}q").pack
        yield from (pack(*map(int, vector)) for vector in data.tokens)


def is_double(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


# ---------------------------------------------------------------- the network (section 3)


class NoAnswer(Exception):
    """The network has no answer to a sequence; the message says why."""


def affine(entries: list[Entry], bias: Dyadic, column: Column) -> Dyadic:
    """bias + the sum of entries times the column."""
    total, low = bias
    for lane, mantissa, exponent in entries:
        value = column.get(lane)
        if value is not None:
            mantissa *= value[0]
            exponent += value[1]
            if not total:
                total, low = mantissa, exponent
            elif exponent >= low:
                total += mantissa << (exponent - low)
            else:
                total = (total << (low - exponent)) + mantissa
                low = exponent
    return canonical(total, low)


def float64_affine(entries: list[Entry], bias: Dyadic, column: Column) -> Dyadic:
    """The same, for a sum that doubles must get right in any order: what section 4 asks of it.

    Mantissas are odd, so that the least exponent is that of g. (The sizes of groups of columns may
    be even; then the exponent is that of one column, which is the term that g speaks of.) The sum
    is also computed with floats, to see that it is the same.
    """
    factors = [(m, e, *column[lane]) for lane, m, e in entries if lane in column]
    terms = [(m * n, e + f) for m, e, n, f in factors] + [bias] * (bias[0] != 0)
    low = min((exponent for _, exponent in terms), default=0)
    size = sum(abs(mantissa) << (exponent - low) for mantissa, exponent in terms)
    if size > 2**53:
        raise NoAnswer("a weighted sum spans more than 53 bits")
    if not -1000 <= low <= 1000 or size > 2 ** (1000 - low):
        raise NoAnswer("a weighted sum leaves the range from 2^-1000 to 2^1000")
    total = sum(mantissa << (exponent - low) for mantissa, exponent in terms)
    plain = math.ldexp(*bias)
    for m, e, n, f in factors:
        plain += math.ldexp(m, e) * math.ldexp(n, f)
    if plain != math.ldexp(total, low):
        raise NoAnswer("a weighted sum in floats is not the exact one")
    return canonical(total, low)


Total = Callable[[list[Entry], Dyadic, Column], Dyadic]  # affine or float64_affine


def accumulate(column: Column, lane: int, mantissa: int, exponent: int) -> None:
    """Add to one lane; the caller makes the lane canonical when all is added."""
    total, low = column.get(lane, ZERO)
    if not total:
        column[lane] = mantissa, exponent
    elif exponent >= low:
        column[lane] = total + (mantissa << (exponent - low)), low
    else:
        column[lane] = (total << (low - exponent)) + mantissa, exponent


def settle(column: Column) -> Column:
    """The column with canonical lanes, those that are zero left out."""
    found = {lane: canonical(*value) for lane, value in column.items()}
    return {lane: value for lane, value in found.items() if value[0]}


def total_of(groups: Iterable[tuple[Column, int]]) -> Column:
    """The sum of columns, each taken so many times."""
    total: Column = {}
    for column, times in groups:
        for lane, (mantissa, exponent) in column.items():
            accumulate(total, lane, mantissa * times, exponent)
    return settle(total)


def halvings(number: int) -> tuple[int, int]:
    """The odd part of a number, and how often 2 divides it."""
    twos = (number & -number).bit_length() - 1
    return number >> twos, twos


def divided(column: Column, count: int) -> Column:
    """column / count; refused if that is not dyadic."""
    odd, twos = halvings(count)
    if any(mantissa % odd for mantissa, _ in column.values()):
        refuse(f"the mean of {count} columns is not dyadic")
    return {lane: (m // odd, e - twos) for lane, (m, e) in column.items()}


def by_row(entries: list[Parameter]) -> dict[int, list[Entry]]:
    rows = defaultdict(list)
    for row, column, mantissa, exponent in entries:
        rows[row].append((column, mantissa, exponent))
    return rows


class Linear:
    """weight h + bias"""

    def __init__(
        self, total: Total, weight: list[Parameter], bias: Sequence[Parameter] = ()
    ) -> None:
        rows, constants = by_row(weight), {row: (m, e) for row, _, m, e in bias}
        self.total = total
        self.rows = [
            (row, rows.get(row, []), constants.get(row, ZERO))
            for row in sorted({*rows, *constants})
        ]

    def apply(self, column: Column) -> Column:
        found = {}
        for row, entries, bias in self.rows:
            value = self.total(entries, bias, column)
            if value[0]:
                found[row] = value
        return found


class Relu(Linear):
    """max(0, weight h + bias)"""

    def apply(self, column: Column) -> Column:
        found = {}
        for row, entries, bias in self.rows:
            value = self.total(entries, bias, column)
            if value[0] > 0:
                found[row] = value
        return found


class Skip:
    """h + weight z + bias, as one weighted sum: the bias is the weight of a lane -1 that is 1."""

    def __init__(
        self, total: Total, weight: list[Parameter], bias: Sequence[Parameter] = ()
    ) -> None:
        self.total = total
        self.rows = by_row([*weight, *((row, -1, m, e) for row, _, m, e in bias)])
        self.one = {-1: ONE} if bias else {}

    def add(self, column: Column, hidden: Column) -> Column:
        if self.one:
            hidden = hidden | self.one
        if not hidden:
            return column
        column = column.copy()
        for row, entries in self.rows.items():
            value = self.total(entries, column.get(row, ZERO), hidden)
            if value[0]:
                column[row] = value
            else:
                column.pop(row, None)
        return column


class FeedForward:
    """h + W2 max(0, W1 h + b1) + b2"""

    def __init__(self, total: Total, first: list, bias: list, second: list, constants: list):
        self.hidden, self.skip = Relu(total, first, bias), Skip(total, second, constants)

    def apply(self, column: Column) -> Column:
        return self.skip.add(column, self.hidden.apply(column))


class Embedding:
    """weight[:, x] + i position; a column is {0: x, 1: i} when it comes."""

    def __init__(self, total: Total, weight: list[Parameter], position: list[Parameter]) -> None:
        self.vectors = by_row([(column, row, m, e) for row, column, m, e in weight])
        self.position = {row: (m, e) for row, _, m, e in position}

    def apply(self, column: Column) -> Column:
        found = {row: (m, e) for row, m, e in self.vectors.get(whole(column.get(0, ZERO)), ())}
        step, power = column.get(1, ZERO)
        for row, (mantissa, exponent) in self.position.items():
            accumulate(found, row, mantissa * step, exponent + power)
        return settle(found)


TOKEN_WISE = {"linear": Linear, "relu": Relu, "feed_forward": FeedForward, "embedding": Embedding}


class Mixing:
    """A layer where columns meet. A sequence is given as its distinct columns and `at`, the number
    of the column at each place. Every such layer says what it reads of a column (`read`, done once
    for each distinct one) and what the column at each place gains from what was read."""

    def read(self, column: Column) -> Any:
        raise NotImplementedError

    def gains(self, shown: list[Any], at: list[int], kept: Sequence[int]) -> list[Column]:
        """What the column at each kept place gains; equal gains are one object."""
        raise NotImplementedError

    def add(self, column: Column, gain: Column) -> Column:
        if not gain:
            return column
        return total_of([(column, 1), (gain, 1)])

    def mix(
        self, columns: list[Column], shown: list[Any], at: list[int], kept: Sequence[int]
    ) -> tuple[list[Column], list[int]]:
        """The distinct columns afterwards, and the number of that at each kept place."""
        numbers: dict[tuple[int, int], int] = {}
        found: list[Column] = []
        after = []
        gains = self.gains(shown, at, kept)
        for place, gain in zip(kept, gains, strict=True):
            number = numbers.setdefault((at[place], id(gain)), len(found))
            if number == len(found):
                found.append(self.add(columns[at[place]], gain))
            after.append(number)
        return found, after


class UniformAttention(Mixing):
    """h + W_O W_V mean. W_V is linear, so W_V mean is the sum of the W_V h divided by n."""

    def __init__(self, values: list, output: list, columns: int) -> None:
        odd, twos = halvings(columns)
        if any(mantissa % odd for _, _, mantissa, _ in output):
            refuse(f"an entry of a W_O is not divisible by {odd}, the odd part of {columns}")
        self.values = Linear(affine, values)
        self.output = Linear(affine, [(r, c, m // odd, e - twos) for r, c, m, e in output])

    def read(self, column: Column) -> Column:
        return self.values.apply(column)

    def gains(self, shown: list[Column], at: list[int], kept: Sequence[int]) -> list[Column]:
        groups = Counter(at).items()
        return [self.output.apply(total_of((shown[i], n) for i, n in groups))] * len(kept)


class Float64Attention(Mixing):
    """The same with doubles: the sum of the columns, its mean, W_V, and then h + W_O as one sum."""

    def __init__(self, values: list, output: list, columns: int) -> None:
        self.twos = halvings(columns)[1]
        self.values = Linear(float64_affine, values)
        self.skip = Skip(float64_affine, output)

    def read(self, column: Column) -> Column:
        return column

    def gains(self, shown: list[Column], at: list[int], kept: Sequence[int]) -> list[Column]:
        sizes = [(i, n, 0) for i, n in Counter(at).items()]
        mean = {}
        for lane in set().union(*shown):
            values = {i: shown[i][lane] for i, _, _ in sizes if lane in shown[i]}
            mantissa, exponent = float64_affine(sizes, ZERO, values)
            if mantissa:
                mean[lane] = mantissa, exponent - self.twos
        return [self.values.apply(mean)] * len(kept)

    def add(self, column: Column, gain: Column) -> Column:
        return self.skip.add(column, gain)


class SparseAttention(Mixing):
    """h + W_O W_V mean of the columns that this one is connected to."""

    def __init__(self, values: list, output: list, connections: tuple[array, array]) -> None:
        targets, self.sources = connections
        self.values, self.output = Linear(affine, values), Linear(affine, output)
        self.spans: dict[int, tuple[int, int]] = {}  # of the sources of each target
        begin = 0
        for target, size in Counter(targets).items():
            self.spans[target] = begin, begin + size
            begin += size
        odd = math.lcm(*{halvings(end - begin)[0] for begin, end in self.spans.values()})
        if any(mantissa % odd for _, _, mantissa, _ in output):
            refuse(
                "an entry of a W_O is not divisible by the odd part of the number of connections "
                "of a column"
            )

    def read(self, column: Column) -> Column:
        return self.values.apply(column)

    def gains(self, shown: list[Column], at: list[int], kept: Sequence[int]) -> list[Column]:
        known: dict[tuple, Column] = {}
        return [self.gain(place, shown, at, known) for place in kept]

    def gain(self, place: int, shown: list[Column], at: list[int], known: dict) -> Column:
        begin, end = self.spans.get(place, (0, 0))
        total = total_of((shown[at[source]], 1) for source in self.sources[begin:end])
        key = end - begin, *sorted(total.items())
        if key not in known:
            known[key] = divided(self.output.apply(total), max(1, end - begin))
        return known[key]


class HardAttention(Mixing):
    """h + the sum over heads of W_O W_V mean of the columns with the largest score."""

    def __init__(self, queries: list, keys: list, values: list, output: list, size: int) -> None:
        self.size = size
        self.reads = [Linear(affine, entries) for entries in (queries, keys, values)]
        heads = defaultdict(list)
        for entry in output:
            heads[entry[1] // size].append(entry)
        self.output = {head: Linear(affine, entries) for head, entries in heads.items()}

    def read(self, column: Column) -> list[dict[int, Column]]:
        """Queries, keys and values of each head."""
        return [self.by_head(layer.apply(column)) for layer in self.reads]

    def by_head(self, column: Column) -> dict[int, Column]:
        found = defaultdict(dict)
        for row, value in column.items():
            found[row // self.size][row] = value
        return found

    def gains(self, shown: list, at: list[int], kept: Sequence[int]) -> list[Column]:
        sizes = Counter(at)
        of_column: dict[int, list[Column]] = {at[place]: [] for place in kept}
        for head, output in self.output.items():
            known: dict[tuple, Column] = {}
            for number, parts in of_column.items():
                query = shown[number][0].get(head, {})
                key = tuple(sorted(query.items()))
                if key not in known:
                    best = self.best(head, query, shown, sizes)
                    total = total_of((shown[i][2].get(head, {}), sizes[i]) for i in best)
                    known[key] = divided(output.apply(total), sum(sizes[i] for i in best))
                parts.append(known[key])
        gain = {i: total_of((part, 1) for part in parts) for i, parts in of_column.items()}
        return [gain[at[place]] for place in kept]

    def best(self, head: int, query: Column, shown: list, sizes: Iterable[int]) -> list[int]:
        """The columns with the largest score."""
        entries = [(row, *value) for row, value in query.items()]
        found: list[int] = []
        largest = ZERO
        for i in sizes:
            score = affine(entries, ZERO, shown[i][1].get(head, {}))
            ahead = sign(score, largest) if found else 1
            if ahead > 0:
                found, largest = [i], score
            elif ahead == 0:
                found.append(i)
        return found


def sign(one: Dyadic, other: Dyadic) -> int:
    """The sign of one - other, or that times a positive number."""
    return affine([(0, 1, 0)], one, {0: (-other[0], other[1])})[0]


class Sum(Mixing):
    """All columns become their sum."""

    def read(self, column: Column) -> None:
        return None

    def mix(
        self, columns: list[Column], shown: list[Any], at: list[int], kept: Sequence[int]
    ) -> tuple[list[Column], list[int]]:
        return [total_of((columns[i], size) for i, size in Counter(at).items())], [0]


class Network:
    """The layers cut where columns meet, and what has been computed once already."""

    def __init__(self, config: Config, parameters: Parameters) -> None:
        self.config, self.input = config, config.input
        self.mixing: list[Mixing] = []
        self.blocks: list[list] = [[]]
        self.build(iter(parameters.tensors), iter(parameters.connections))
        first = config.layers[0]
        self.ids = first.shapes[0][1] if first.kind == "embedding" else None
        self.forget()

    def build(self, tensors: Iterator, connections: Iterator) -> None:
        doubles = self.config.number == "float64"
        for layer in self.config.layers:
            own = [next(tensors) for _ in layer.shapes]
            if layer.kind == "uniform_attention":
                kind = Float64Attention if doubles else UniformAttention
                self.mixing.append(kind(*own, self.input.columns))
            elif layer.kind == "sparse_attention":
                self.mixing.append(SparseAttention(*own, next(connections)))
            elif layer.kind == "hard_attention":
                self.mixing.append(HardAttention(*own, layer.head))
            elif layer.kind == "sum":
                self.mixing.append(Sum())
            else:
                total = float64_affine if doubles else affine
                self.blocks[-1].append(TOKEN_WISE[layer.kind](total, *own))
                continue
            self.blocks.append([])

    def forget(self) -> None:
        self.entered: dict[tuple, int] = {}  # (token vector, position) -> number of its column
        self.numbers: dict[tuple, int] = {}
        self.columns: list[Column] = []
        self.shown: list[Any] = []  # what the first mixing layer reads of each
        self.known: dict[bytes, list[Dyadic]] = {}  # a context -> the outputs

    def outputs(self, tokens: list[tuple[Dyadic, ...]]) -> list[Dyadic]:
        """The output of each token's column, or of the last one: one for each answer.

        Columns that are equal before the first mixing layer are computed once for all sequences,
        columns that are equal afterwards once a sequence. If only the last column's output counts
        and no place is special, it depends on that column and the multiset of all of them.
        """
        self.check_ids(tokens)
        if len(self.columns) > COLUMNS_KEPT:
            self.forget()
        numbers = self.enter(tokens)
        if not self.mixing:
            return [self.columns[number].get(0, ZERO) for number in numbers]
        answers = len(tokens) if self.config.every else 1
        kept = range(len(numbers) - answers, len(numbers))
        if self.config.every or "sparse_attention" in self.config.mixing:
            return self.mix(numbers, kept)
        last = [] if self.input.padding is None else numbers[-1:]
        context = array("I", [*last, *chain(*sorted(Counter(numbers).items()))]).tobytes()
        if context not in self.known:
            self.known[context] = self.mix(numbers, kept)
        return self.known[context]

    def check_ids(self, tokens: list[tuple[Dyadic, ...]]) -> None:
        """With an embedding, every column must be a number that it knows."""
        if self.ids is None:
            return
        short = len(tokens) < self.input.length
        columns = {*tokens, self.input.padding if short else None, self.input.extra} - {None}
        for column in columns:
            number = whole(column[0])
            if number is None or number >= self.ids:
                raise NoAnswer(
                    f"a column is {spell(column[0])}, the embedding has 0 to {self.ids - 1}"
                )

    def enter(self, tokens: list[tuple[Dyadic, ...]]) -> list[int]:
        """The numbers of the columns before the first mixing layer, place by place. Without one,
        only the columns of answers are computed."""
        given = self.input
        if not self.mixing:
            tokens = tokens if self.config.every else tokens[-1:]
            begin = given.length - len(tokens)
            return [self.column(token, begin + i) for i, token in enumerate(tokens)]
        if given.padding is None:
            return [self.column(token, 0) for token in tokens]
        pads = given.length - len(tokens)
        numbers = [self.column(token, pads + i) for i, token in enumerate(tokens)]
        if pads and given.positions:
            numbers[:0] = [self.column(given.padding, i) for i in range(pads)]
        elif pads:
            numbers[:0] = [self.column(given.padding, 0)] * pads
        if given.extra is not None:
            numbers[:0] = [self.column(given.extra, given.length)]
        return numbers

    def column(self, token: tuple[Dyadic, ...], position: int) -> int:
        """The number of the column that this token becomes before the first mixing layer."""
        key = (token, position if self.input.positions else 0)
        number = self.entered.get(key)
        if number is None:
            coordinates = (*token, canonical(position, 0)) if self.input.positions else token
            if self.config.number == "float64" and not all(map(is_normal, coordinates)):
                raise NoAnswer("a coordinate is no double from 2^-1000 to 2^1000")
            column = {lane: x for lane, x in enumerate(coordinates) if x[0]}
            number = self.entered[key] = self.intern(self.run(0, column))
        return number

    def intern(self, column: Column) -> int:
        number = self.numbers.setdefault(tuple(sorted(column.items())), len(self.columns))
        if number == len(self.columns):
            self.columns.append(column)
            self.shown.append(self.mixing[0].read(column) if self.mixing else None)
        return number

    def run(self, block: int, column: Column) -> Column:
        for layer in self.blocks[block]:
            column = layer.apply(column)
        return column

    def mix(self, numbers: list[int], kept: Sequence[int]) -> list[Dyadic]:
        """The outputs at the kept places, from the columns before the first mixing layer; after
        the last one only these columns are carried on."""
        place = {number: i for i, number in enumerate(dict.fromkeys(numbers))}
        columns, shown = [self.columns[n] for n in place], [self.shown[n] for n in place]
        at = [place[number] for number in numbers]
        for stage, layer in enumerate(self.mixing, 1):
            final = stage == len(self.mixing)
            columns, at = layer.mix(columns, shown, at, kept if final else range(len(at)))
            columns = [self.run(stage, column) for column in columns]
            if not final:
                shown = [self.mixing[stage].read(column) for column in columns]
        return [columns[i].get(0, ZERO) for i in at]


def is_normal(value: Dyadic) -> bool:
    """Whether it is a double, and 0 or between 2^-1000 and 2^1000."""
    mantissa, exponent = abs(value[0]), value[1]
    top = mantissa.bit_length() + exponent  # the value is from 2^(top - 1) on, and below 2^top
    in_range = -1000 < top <= 1000 or (mantissa, exponent) == (1, 1000)
    return not mantissa or (mantissa < 2**53 and in_range)


# ---------------------------------------------------------------- the model and the verdict


@dataclass
class Model:
    config: Config
    parameters: Parameters
    network: Network
    tokens: list[str]
    labels: list[str | int]
    certificate: dict[str, Any]
    hashes: dict[str, str]


def read_model(directory: str) -> Model:
    """Everything in the folder, or a refusal."""
    if not os.path.isdir(directory):
        refuse(f"{show(directory)} is not a folder")
    certificate = read_certificate(
        read_bytes(os.path.join(directory, "certificate.json"), JSON_LIMIT)
    )
    content = {
        name: read_bytes(
            os.path.join(directory, name), JSON_LIMIT if name.endswith(".json") else math.inf
        )
        for name in FILES
    }
    config = read_config(content["config.json"])
    parameters = read_parameters(content["weights.safetensors"], config)
    return Model(
        config,
        parameters,
        Network(config, parameters),
        *read_vocabulary(content["vocabulary.json"], config),
        certificate,
        {name: hashlib.sha256(content[name]).hexdigest() for name in FILES},
    )


def structure_failures(model: Model) -> list[str]:
    """Where the certificate and the config disagree with the files and with each other."""
    certificate, raw = model.certificate, model.config.raw
    found = [
        f"the sha256 of {name} is not the one in certificate.json"
        for name in FILES
        if certificate["files"][name] != model.hashes[name]
    ]
    for group, counts in model.parameters.counts.items():
        given = get(raw, group, dict, "config.json")
        for key, number in counts.items():
            if get(given, key, int, f"config.json, {group}") != number:
                found.append(f"config.json: {group}.{key} is {show(given[key])}, counted {number}")
    claim = read_data_claim(certificate, "certificate.json")
    if read_data_claim(raw, "config.json") != claim:
        found.append("config.json and certificate.json name different data")
    return found + evidence_failures(certificate, None if model.config.every else claim[1])


def evidence_failures(certificate: dict[str, Any], labels: int | None) -> list[str]:
    """Whether the certificate claims that all labels are proved, or that some were sampled. How
    many there are is not known (None) if each token has one and the data is not there."""
    verified = certificate["verified"]
    checked, correct, evidence = (verified[key] for key in ("checked", "correct", "evidence"))
    if 1 <= checked == correct:
        if evidence == "proved" and labels in (None, checked):
            return []
        if evidence == "sampled" and (labels is None or checked < labels):
            return []
    return ["certificate.json does not claim that all labels are proved, or that some are sampled"]


def data_failures(model: Model, data: Data) -> list[str]:
    """Where the data is not what the certificate and the network speak of."""
    sha256, sequences = read_data_claim(model.certificate, "certificate.json")
    found = []
    if data.sha256 != sha256:
        found.append(f"the sha256 of the data is {data.sha256}, not the one in certificate.json")
    if len(data.sequences) != sequences:
        found.append(
            f"the data has {len(data.sequences)} sequences, certificate.json says {show(sequences)}"
        )
    given = model.config.input
    if (data.kind, data.dimension) != (given.kind, given.dimension):
        found.append(
            f"the data holds {data.kind}s of dimension {data.dimension}, the network "
            f"reads {given.kind}s of dimension {given.dimension}"
        )
    if data.every != model.config.every:
        manners = "one label a sequence", "a label for every token"
        found.append(f"the data has {manners[data.every]}, the network {manners[not data.every]}")
    elif data.every and not evidence_failures(model.certificate, None):  # else told already
        found += evidence_failures(model.certificate, data.size)
    return found


def fits(model: Model, data: Data) -> bool:
    """Whether the network can be asked about the data at all."""
    given = model.config.input
    return (data.kind, data.dimension, data.every) == (
        given.kind,
        given.dimension,
        model.config.every,
    )


def token_vectors(model: Model, data: Data) -> list[tuple[Dyadic, ...] | None]:
    """The vector of each token of the data; None for a string outside the vocabulary."""
    if data.kind != "string":
        return [tuple(map(exact, token)) for token in data.tokens]
    number = {token: index for index, token in enumerate(model.tokens, 1)}
    return [(exact(number[t]),) if t in number else None for t in data.tokens]


def wrong_answers(model: Model, data: Data, vectors: list, index: int) -> list[tuple[int, str]]:
    """The wrong answers to a sequence: the place of the label, and what the network says. If the
    network has no answer to a sequence, each of its labels is wrong."""
    places, answers = data.sequences[index], data.answers[index]
    wanted = [data.labels[answer] for answer in answers]
    try:
        outputs = model.network.outputs(read_tokens(model, data, vectors, places))
    except NoAnswer as reason:
        return [(place, str(reason)) for place in range(max(1, len(wanted)))]
    pairs = enumerate(zip(outputs, wanted, strict=True))
    found = [(place, label_failure(model, output, label)) for place, (output, label) in pairs]
    return [(place, failure) for place, failure in found if failure is not None]


def read_tokens(model: Model, data: Data, vectors: list, places: list[int]) -> list:
    """The vectors of a sequence that the network can read."""
    given = model.config.input
    shortest = 0 if given.padding is None else 1
    if not shortest <= len(places) <= given.length:
        raise NoAnswer(
            f"it has {len(places)} tokens, the network reads {shortest} to {given.length}"
        )
    tokens = [vectors[place] for place in places]
    if None in tokens:
        unknown = data.tokens[places[tokens.index(None)]]
        raise NoAnswer(f"{show(unknown)} is not in the vocabulary")
    return tokens


def label_failure(model: Model, output: Dyadic, wanted: str | int) -> str | None:
    """Why this output does not mean the label, or None if it does."""
    number = whole(output)
    if number is not None and number < len(model.labels):
        answer = model.labels[number]
        if answer == wanted:
            return None
        return f"the label is {show(wanted)}, the network answers {show(answer)}"
    if number is not None and number == model.config.unknown:
        return f"the label is {show(wanted)}, the network answers that it is unknown"
    return f"the label is {show(wanted)}, the network's output {spell(output)} is no label"


def spell(value: Dyadic) -> str:
    return show(value[0]) + (f" * 2^{value[1]}" if value[1] else "")


def whole(output: Dyadic) -> int | None:
    """The output as a label number could be: an integer from 0 below 2^64, or None."""
    mantissa, exponent = output
    if mantissa < 0 or exponent < 0 or mantissa.bit_length() + exponent > 64:
        return None
    return mantissa << exponent


@dataclass
class Report:
    checked: int = 0
    correct: int = 0
    failures: list[str] = field(default_factory=list)
    verdict: str = "NOT VERIFIED"

    @property
    def evidence(self) -> str | None:
        words = {"VERIFIED": "proved", "SAMPLED": "sampled", "NOT VERIFIED": "refuted"}
        return words.get(self.verdict)


def check(
    directory: str, path: str | None = None, sample: int | None = None, seed: int = 0
) -> Report:
    """The verdict on a folder and its data. Raises Refusal for what is not readable."""
    model = read_model(directory)
    report = Report(failures=structure_failures(model))
    if path is not None:
        data = read_data(path)
        report.failures += data_failures(model, data)
        if fits(model, data):
            evaluate(model, data, report, chosen(len(data.sequences), sample, seed))
    if not report.failures:
        report.verdict = (
            "STRUCTURE OK" if path is None else "VERIFIED" if sample is None else "SAMPLED"
        )
    return report


def chosen(size: int, sample: int | None, seed: int) -> Iterable[int]:
    if sample is None:
        return range(size)
    return sorted(random.Random(seed).sample(range(size), min(sample, size)))


def evaluate(model: Model, data: Data, report: Report, indices: Iterable[int]) -> None:
    vectors, shown = token_vectors(model, data), time.monotonic()
    for index in indices:
        labels, wrong = len(data.answers[index]), wrong_answers(model, data, vectors, index)
        report.checked += labels
        report.correct += max(0, labels - len(wrong))
        for place, failure in wrong:
            if len(report.failures) > SHOWN:
                break
            token = f", token {place}" if data.every else ""
            report.failures.append(f"sequence {index}{token} {show(data.input(index))}: {failure}")
        if sys.stderr.isatty() and time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            print(f"{report.checked} labels", end="\r", file=sys.stderr, flush=True)


def failures(directory: str, path: str | None = None) -> list[str]:
    """What does not hold, as sentences; a refusal is one of them. Empty means that all holds."""
    try:
        return check(os.fspath(directory), None if path is None else os.fspath(path)).failures
    except Refusal as reason:
        return [str(reason)]


def print_report(report: Report, as_json: bool) -> None:
    if as_json:
        print(
            json.dumps(
                {
                    "verdict": report.verdict,
                    "checked": report.checked,
                    "correct": report.correct,
                    "evidence": report.evidence,
                    "failures": report.failures[:SHOWN],
                }
            )
        )
        return
    labels = f": {report.correct} of {report.checked} labels are right"
    print(
        report.verdict
        + {
            "VERIFIED": f"{labels}, every sequence was evaluated in exact integers",
            "SAMPLED": f"{labels}; the other sequences were not evaluated, this is no proof",
            "STRUCTURE OK": ", no data checked",
            "NOT VERIFIED": labels if report.checked else ": no label was checked",
        }[report.verdict]
    )
    for failure in report.failures[:SHOWN]:
        print(f"  {failure}")
    if len(report.failures) > SHOWN:
        print("  and more")


def positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Check a byheart model folder in exact integers.")
    parser.add_argument("directory", metavar="DIR", help="the model folder")
    parser.add_argument("data", metavar="DATA", nargs="?", help="its data, .jsonl or .npz")
    parser.add_argument("--sample", metavar="K", type=positive, help="only K random sequences")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="which K sequences")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    given = parser.parse_args(argv)
    if given.sample and not given.data:
        parser.error("--sample needs DATA")
    return given


def main(argv: list[str] | None = None) -> int:
    try:
        given = arguments(argv)
        report = check(given.directory, given.data, given.sample, given.seed)
    except SystemExit as usage:
        return int(usage.code or 0)
    except Refusal as reason:
        sentence = str(reason)
    except MemoryError:
        sentence = "the folder or the data needs more memory than there is"
    except Exception as error:  # noqa: BLE001  whatever a file provokes is refused
        sentence = f"not readable as a model: {type(error).__name__}: {error}"
    else:
        print_report(report, given.json)
        return 1 if report.failures else 0
    print(f"check: {sentence}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
