"""Check a byheart model folder against its data, in integers.

    python checker/check.py DIR DATA [--sample K] [--seed S] [--json]

Standard library only, and no code shared with the package that writes the folders: `FORMAT.md`
beside this file is all it was written from. The order here is the order there. Labels are compared
in exact arithmetic; divergences are bounded from above with integers that are rounded outwards.
With --base MODEL, taught checkpoints (section 12) are judged by `check_taught.py`.
Stock checkpoints (section 10) are judged by `check_stock.py` beside this file, and packed files
(section 11) are read by `packed.py`.

Exit codes: 0 the claim holds; 1 readable, but a label, a divergence, a count or a hash disagrees;
2 refused.
"""

import argparse
import ast
import bisect
import dataclasses
import functools
import hashlib
import importlib
import io
import json
import math
import operator
import os
import random
import re
import stat
import struct
import sys
import time
import zipfile
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, compress, pairwise
from types import ModuleType
from typing import Any, BinaryIO, NoReturn

TEXTS = ("config.json", "vocabulary.json")
FILES = ("config.json", "weights.safetensors", "vocabulary.json")
SIZE_LIMIT = 2**20  # length, dimension, every side of a tensor, number of layers
CONNECTION_LIMIT = 2**24  # of all sparse layers together
DYADIC_LIMIT = 2**22  # exponents, and bits of a mantissa
DIGITS_OF_A_NUMBER = 1_262_612  # decimal ones, of DYADIC_LIMIT bits
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


@contextmanager
def open_regular(path: str, follow: bool = False) -> Iterator[BinaryIO]:
    """A regular file. A link in a model folder could point anywhere: refused."""
    try:
        status = os.stat(path) if follow else os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            refuse(f"{show(path)} is not a regular file")
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        refuse(f"{show(path)} cannot be read: {error.strerror or error}")


def read_bytes(path: str, limit: float = math.inf, follow: bool = False) -> bytes:
    """The content of a regular file that is not too large."""
    with open_regular(path, follow) as file:
        if os.fstat(file.fileno()).st_size > limit:
            refuse(f"{show(path)} is larger than {limit} bytes")
        return file.read()


def decimal(text: str) -> int:
    """The integer that the digits spell, by halves: int() itself stops at 4300 digits."""
    if len(text) <= 4000:
        return int(text)
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    if len(digits) > DIGITS_OF_A_NUMBER:
        refuse(f"a number has {len(digits)} digits")
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


def whole(text: str) -> int:
    if text == "-0":
        refuse("-0 is not an integer")
    return decimal(text)


READER, LIBRARY_READER = (
    json.JSONDecoder(object_pairs_hook=distinct_keys, parse_int=read, parse_constant=no_constant)
    for read in (decimal, whole)
)


def parse_object(content: bytes, name: str, library: bool = False) -> dict[str, Any]:
    """The object of a text; -0 is refused in one that a library reads."""
    try:
        found = (LIBRARY_READER if library else READER).decode(content.decode("utf-8"))
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


def expect_version(parent: dict[str, Any], where: str) -> None:
    """Versions 1 and 2 differ only in the notes for people."""
    if get(parent, "version", int, where) not in (1, 2):
        refuse(f'{where}: "version" is {show(parent["version"])}, known are 1 and 2')


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


def read_raw_config(content: bytes) -> dict[str, Any]:
    raw = parse_object(content, "config.json")
    expect(raw, "format", "byheart-model", "config.json")
    expect_version(raw, "config.json")
    return raw


def read_number_kind(raw: dict[str, Any]) -> str:
    number = get(raw, "number", str, "config.json")
    if number not in ("dyadic", "float64"):
        refuse(f"config.json: the number {show(number)} is not known")
    return number


def read_config(raw: dict[str, Any]) -> Config:
    number = read_number_kind(raw)
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
    if config.every:
        refuse("config.json: a float64 network has one answer, and every is true")
    if config.mixing and halvings(config.input.columns)[0] != 1:
        refuse(f"config.json: {config.input.columns} columns, not a power of two as float64 needs")


# ---------------------------------------------------------------- weights (section 4)

DTYPES = {
    "I32": ("i", 4),
    "U8": ("B", 1),
    "I64": ("q", 8),
    "U64": ("Q", 8),
    "F64": ("d", 8),
    "F32": ("f", 4),
    "F16": ("H", 2),
    "BF16": ("H", 2),
}
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
PYTORCH = {"format": "pt"}  # what a header without `__metadata__` stands for


class Weights:
    """A safetensors file: what its header says is checked before its data is read."""

    def __init__(self, path: str, library: bool = False) -> None:
        self.path, self.library = path, library
        self.sha256 = ""  # known after `arrays`, like what the header says for people
        self.metadata: Any = PYTORCH

    def arrays(self, dtypes: dict[str, str], shapes: dict[str, list], entries: int = 0) -> Arrays:
        """The arrays with these names and types; together they fill the file without holes. An
        array that is not in `shapes` has one side, for at most so many entries."""
        name = os.path.basename(self.path)
        with open_regular(self.path) as file:
            size, start = os.fstat(file.fileno()).st_size, file.read(8)
            length = int.from_bytes(start, "little")
            if size < 8 or length > min(size - 8, JSON_LIMIT):
                refuse(f"{name} is truncated: its header does not fit into {size} bytes")
            text = file.read(length)
            header = parse_object(text, f"{name}, header", self.library)
            self.metadata = header.pop("__metadata__", PYTORCH)
            if header.keys() != dtypes.keys():
                told = f"{show(sorted(header))}, not {show(sorted(dtypes))}"
                refuse(f"{name} names the tensors {told}")
            places = {
                key: read_place(header[key], f"{name}, {key}", dtypes[key], shapes.get(key))
                for key in dtypes
            }
            end = 0
            for key, (begin, stop) in sorted(places.items(), key=lambda item: item[1]):
                if begin != end:
                    refuse(f"{name}: there is a hole or an overlap before {key}")
                end = stop
            if end != size - 8 - length:
                refuse(
                    f"{name} holds {size - 8 - length} bytes of data, its header says {show(end)}"
                )
            if "tensor" in header and header["tensor"]["shape"][0] > entries:
                refuse(f"{name} has more entries than the {entries} of all tensors")
            data = file.read()
        digest = hashlib.sha256(start + text)
        digest.update(data)
        self.sha256 = digest.hexdigest()
        return {
            key: little_endian(DTYPES[dtypes[key]][0], data[begin:stop])
            for key, (begin, stop) in places.items()
        }


def read_place(given: Any, where: str, dtype: str, wanted: list[int] | None) -> tuple[int, int]:
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


def read_parameters(file: Weights, config: Config) -> Parameters:
    if config.number == "float64":
        tensors, connections = read_doubles(file, config), []
    else:
        sparse = "sparse_attention" in config.mixing
        dtypes = {**DYADIC_ARRAYS, **CONNECTION_ARRAYS} if sparse else DYADIC_ARRAYS
        shapes = [shape for layer in config.layers for shape in layer.shapes]
        arrays = file.arrays(dtypes, {}, sum(rows * columns for rows, columns in shapes))
        tensors = read_dyadics(arrays, shapes)
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


def read_doubles(file: Weights, config: Config) -> list[list[Parameter]]:
    """One array of doubles a tensor, row after row."""
    shapes = {
        f"layers.{number}.{name}": [rows] if name in VECTORS else [rows, columns]
        for number, layer in enumerate(config.layers)
        for name, (rows, columns) in zip(TENSORS[layer.kind], layer.shapes, strict=True)
    }
    arrays = file.arrays(dict.fromkeys(shapes, "F64"), shapes)
    for name, values in arrays.items():
        check_doubles(values, name)
    return [
        [
            (*divmod(place, math.prod(shape[1:])), *exact(value))
            for place, value in enumerate(arrays[name])
            if value
        ]
        for name, shape in shapes.items()
    ]


def check_doubles(values: array, name: str) -> None:
    if not all(map(math.isfinite, values)):
        refuse(f"weights.safetensors, {name}: a number is not finite")
    if -(2**63) in array("q", values.tobytes()):  # the bits of -0.0
        refuse(f"weights.safetensors, {name}: a number is -0.0")


def exact(value: float) -> Dyadic:
    numerator, denominator = value.as_integer_ratio()
    return canonical(numerator, 1 - denominator.bit_length())


def count(tensors: list[list[Parameter]], config: Config) -> dict:
    """The counts of section 4."""
    sizes = [len(entries) for entries in tensors]
    outside = sum(sizes[:2]) + sum(sizes[-2:])  # the first and the last layer have two tensors
    return {
        "parameters": {
            "nonzero": sum(sizes),
            "counted": sum(sizes) - outside,
            "outside": outside,
            "dense": sum(
                rows * columns for layer in config.layers for rows, columns in layer.shapes
            ),
        },
        "bits": count_bits((m.bit_length(), e) for entries in tensors for _, _, m, e in entries),
    }


def count_bits(numbers: Iterable[tuple[int, int]]) -> dict[str, int]:
    """`bits` of parameters of so many digits and with these exponents."""
    total = fixed = largest = 0
    for digits, exponent in numbers:
        plain = fixed_bits(digits, exponent)
        total += 1 + digits + (1 + abs(exponent).bit_length() if exponent else 0)
        fixed += plain
        largest = max(largest, plain)
    return {"total": total, "fixed": fixed, "largest": largest}


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
    for text in (x for x in (*tokens, *labels) if isinstance(x, str)):
        check_text(text, name)
    if not one_type(labels):
        refuse(f"{name}: the labels are not all strings or all integers")
    if len(labels) != config.labels or len(set(labels)) != len(labels):
        refuse(f"{name} has {len(set(labels))} distinct labels, not {show(config.labels)}")
    return tokens, labels


def one_type(labels: Iterable[Any]) -> bool:
    return {type(label) for label in labels} in ({str}, {int})


def read_certificate(content: bytes, claim: str) -> dict[str, Any]:
    name = "certificate.json"
    raw = parse_object(content, name)
    expect(raw, "format", "byheart-certificate", name)
    expect_version(raw, name)
    expect(raw, "claim", claim, name)
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
    read_change(raw, name)
    return raw


def read_change(raw: dict[str, Any], name: str) -> str | None:
    """The data that the folder's change speaks of; None if it was not made from another folder."""
    if "change" not in raw:
        return None
    change, where = get(raw, "change", dict, name), f"{name}, change"
    if get(change, "kind", str, where) not in ("edit", "forget"):
        refuse(f'{where}: "kind" is {show(change["kind"])}, not edit or forget')
    get(change, "rebuilt", bool, where)
    for key in change:
        if key not in ("kind", "data", "rebuilt"):
            refuse(f"{where}: {show(key)} may not stand there")
    return get(change, "data", str, where)


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
    reader = readers.get(os.path.splitext(path)[1].lower())
    if reader is None:
        refuse(f"{show(path)}: the checker reads .jsonl and .npz")
    return data_of(path, *reader(path))


def data_of(path: str, kind: str, dimension: int, every: bool, rows: list[Row]) -> Data:
    """The data of these rows, with its hash."""
    if not one_type(chain.from_iterable(row[1] for row in rows)):
        refuse(f"{show(path)}: the labels are not all strings or all integers")
    labels = set(chain.from_iterable(row[1] for row in rows))
    if any(isinstance(label, int) and label not in INT64 for label in labels):
        refuse(f"{show(path)}: a label is an integer beyond signed 64 bits")
    if sum(row[2] for row in rows) >= 2**63:
        refuse(f"{show(path)}: the counts add up to 2^63 or more")
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
        if not line.strip(b" \t\r"):
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
        content = read_bytes(path, follow=True)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            check_archive(archive, content)
            shape, values = read_npy(unpacked(archive, "inputs", content), "inputs")
            labels_shape, labels = read_npy(unpacked(archive, "labels", content), "labels")
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


def check_archive(archive: zipfile.ZipFile, content: bytes) -> None:
    """No name may stand twice, and every byte must belong to a member or to the directory."""
    names = archive.namelist()
    if len(set(names)) < len(names) or {"inputs", "labels"} & set(names):
        refuse("two members have one name")
    end = 0
    for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
        if member.header_offset != end:
            refuse(f"byte {end} belongs to no member")
        end = begin_of(member, content) + member.compress_size
        if member.flag_bits & 8:  # CRC-32 and sizes once more, of 4 or 8 bytes, perhaps marked
            end += 4 if content[end : end + 4] == b"PK\7\x08" else 0
            if content[end : end + 4] != member.CRC.to_bytes(4, "little"):
                refuse(f"byte {end} belongs to no member")
            sizes = member.compress_size, member.file_size
            forms = [
                x for x in ("<QQ", "<LL") if content.startswith(struct.pack(x, *sizes), end + 4)
            ]
            end += 4 + struct.calcsize(forms[0])
    for _ in names:
        if content[end : end + 4] != b"PK\1\2":
            refuse(f"byte {end} belongs to no member and not to the directory")
        end += 46 + sum(struct.unpack_from("<3H", content, end + 28))
    end += 76 if content[end : end + 4] == b"PK\6\6" else 0  # two records of large archives
    if end + 22 != len(content):
        refuse(f"byte {end} belongs to no member and not to the directory")


def begin_of(member: zipfile.ZipInfo, content: bytes) -> int:
    """Where what a member holds begins."""
    lengths = struct.unpack_from("<2H", content, member.header_offset + 26)
    return member.header_offset + 30 + sum(lengths)


def unpacked(archive: zipfile.ZipFile, name: str, content: bytes) -> bytes:
    """What a member holds: as it is, or one deflate stream without anything behind it."""
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > ARRAY_LIMIT:
        refuse("an array is larger than 2^32 bytes")
    begin = begin_of(member, content)
    packed = content[begin : begin + member.compress_size]
    if member.compress_type == zipfile.ZIP_DEFLATED:
        stream = zlib.decompressobj(-15)
        found = stream.decompress(packed, member.file_size + 1)
        if not stream.eof or stream.unused_data:
            refuse(f"{name} is not one deflate stream")
    elif member.compress_type == zipfile.ZIP_STORED:
        found = packed
    else:
        refuse(f"{name} is neither stored nor deflated")
    if found != archive.read(member):
        refuse(f"{name} is longer than the directory says")
    return found


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
    order, code = kind[:1], codes.get(kind[1:]) if isinstance(kind, str) else None
    if order not in ("<", ">") and not (order == "|" and kind[1:] in ("i1", "u1")):
        code = None
    if code is None or (name == "labels" and code in "efd"):
        refuse(f"{name} has the type {show(kind)}, which the checker does not read")
    if not all(type(side) is int and side >= 0 for side in shape):
        refuse(f"{name} has the shape {show(shape)}")
    size, body = math.prod(shape), content[begin + length :]
    order = "<" if order == "|" else order
    if len(body) != size * struct.calcsize(order + code):
        refuse(f"{name} holds {len(body)} bytes, its shape {show(shape)} asks for another number")
    values = list(struct.unpack(f"{order}{size}{code}", body))
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


# ---------------------------------------------------------------- decoders (section 9)

ACTIVATIONS = ("logistic", "tanh", "erf", "arctan", "gelu")
DIGITS_LIMIT = 2**33  # binary digits of one tensor, its numbers written with a common exponent
DENSE_LIMIT = 2**24  # parameters of a dyadic decoder, zeros included
SECONDS = 45.0  # what bounding the divergences may take, as estimated beforehand


@dataclass
class Shape:
    """The sizes of a decoder. keys and values are d1 and d0 of section 9. There may be no neurons:
    then the activation is "none". padding is a token that fills up shorter contexts, or None."""

    number: str
    kind: str
    vocabulary: int
    length: int
    dimension: int
    attention: bool
    heads: int
    keys: int
    values: int
    skip: bool
    neurons: int
    activation: str
    padding: int | None

    @property
    def tensors(self) -> dict[str, list[int]]:
        """The sides of each tensor, in the order of section 9."""
        d, keys, values = self.dimension, self.heads * self.keys, self.heads * self.values
        mixing = {
            "positions.weight": [self.length, d],
            "attention.query.weight": [keys, d],
            "attention.key.weight": [keys, d],
            "attention.value.weight": [values, d],
            "attention.out.weight": [d, values],
        }
        hidden = {"hidden.weight": [self.neurons, d], "hidden.bias": [self.neurons]}
        return {
            "embedding.weight": [self.vocabulary, d],
            **(mixing if self.attention else {"token_sum.weight": [self.length]}),
            **(hidden if self.neurons else {}),
            "output.weight": [self.vocabulary, self.neurons or d],
        }


def read_shape(raw: dict[str, Any]) -> Shape:
    for key in ("input", "output", "width", "layers"):
        if key in raw:
            refuse(f"config.json has both decoder and {key}")
    where, given = "config.json, decoder", get(raw, "decoder", dict, "config.json")
    attention = read_choice(given, "mixing", ("attention", "token_sum"), where) == "attention"
    heads, keys, values = read_heads(given, attention, where)
    shape = Shape(
        read_number_kind(raw),
        read_choice(given, "kind", ("string", "number"), where),
        get_size(given, "vocabulary", where),
        get_size(given, "length", where),
        get_size(given, "dimension", where),
        attention,
        heads,
        keys,
        values,
        get(given, "skip", bool, where),
        *read_neurons(given, attention, where),
        get(given, "padding", int, where) if given.get("padding") is not None else None,
    )
    if shape.vocabulary < 2:
        refuse(f"{where}: a vocabulary of 1")
    if shape.number == "dyadic" and sum(map(math.prod, shape.tensors.values())) > DENSE_LIMIT:
        refuse(f"{where}: a dyadic decoder with more than 2^24 parameters")
    if shape.padding is not None and not 0 <= shape.padding < shape.vocabulary:
        refuse(f"{where}: the padding {show(shape.padding)} is the number of no token")
    return shape


def read_neurons(given: dict[str, Any], attention: bool, where: str) -> tuple[int, str]:
    """The number of neurons, and their activation; both, or none of both."""
    activation = read_choice(given, "activation", (*ACTIVATIONS, "none"), where)
    if activation != "none":
        return get_size(given, "neurons", where), activation
    expect(given, "neurons", 0, where)
    if not attention:
        refuse(f"{where}: a token sum without neurons")
    return 0, activation


def read_heads(given: dict[str, Any], attention: bool, where: str) -> list[int]:
    """The number of heads and the dimensions of their keys and values."""
    names = ("heads", "key_dimension", "value_dimension")
    if not attention:
        for name in names:
            expect(given, name, 0, where)
        expect(given, "skip", False, where)
        return [0, 0, 0]
    heads, keys, values = (get_size(given, name, where) for name in names)
    if heads * max(keys, values) > SIZE_LIMIT:
        refuse(f"{where}: the heads have more than 2^20 rows together")
    return [heads, keys, values]


def read_choice(given: dict[str, Any], key: str, known: Sequence[str], where: str) -> str:
    found = get(given, key, str, where)
    if found not in known:
        refuse(f"{where}: the {key} {show(found)} is not known")
    return found


SparseRow = tuple[list[int], list[int]]  # columns, and the integers that stand there
NO_ROW: SparseRow = ([], [])


@dataclass
class Matrix:
    """A tensor as integers times 2**exponent: of each row that is not all 0 the columns where it
    is not 0, and the integers that stand there."""

    rows: dict[int, SparseRow]
    exponent: int
    sides: tuple[int, int]

    @property
    def size(self) -> int:
        """How many entries are not 0."""
        return sum(len(numbers) for _, numbers in self.rows.values())

    @property
    def digits(self) -> int:
        """The binary digits of the longest integer."""
        return max((x.bit_length() for _, row in self.rows.values() for x in row), default=0)

    @property
    def norm(self) -> int:
        """An exponent b such that the absolute values of every row add up to at most 2**b."""
        sums = (sum(map(abs, row)).bit_length() for _, row in self.rows.values())
        return max((total + self.exponent for total in sums), default=0)

    def sums(self) -> dict[int, int]:
        """The sum of every row that is not all 0."""
        return {row: sum(numbers) for row, (_, numbers) in self.rows.items()}

    def row(self, row: int) -> list[int]:
        """All integers of a row, zeros as well."""
        found = [0] * self.sides[1]
        for column, number in zip(*self.rows.get(row, NO_ROW), strict=True):
            found[column] = number
        return found

    def times(self, vector: Sequence[int]) -> list[int]:
        """The product with a vector, in units of 2**exponent times those of the vector."""
        found = [0] * self.sides[0]
        for row, (columns, numbers) in self.rows.items():
            found[row] = dot(numbers, chosen_from(vector, columns))
        return found


def chosen_from(vector: Sequence[int], columns: Sequence[int]) -> Sequence[int]:
    return vector if len(columns) == len(vector) else [vector[column] for column in columns]


def dot(numbers: Iterable[int], others: Iterable[int]) -> int:
    return sum(map(operator.mul, numbers, others))


def shifted(number: int, places: int) -> int:
    """number * 2**places, rounded down."""
    return number << places if places >= 0 else number >> -places


@dataclass
class Decoder:
    shape: Shape
    matrices: dict[str, Matrix]
    counts: dict[str, dict[str, int]]

    def __getitem__(self, name: str) -> Matrix:
        """The tensor of that name; ".weight" may be left out."""
        return self.matrices[name if name in self.matrices else f"{name}.weight"]


def read_decoder(file: Weights, shape: Shape) -> Decoder:
    sides = {name: (side[0], math.prod(side[1:])) for name, side in shape.tensors.items()}
    if shape.number == "float64":
        arrays = file.arrays(dict.fromkeys(sides, "F64"), shape.tensors)
        for name, values in arrays.items():
            check_doubles(values, name)
        bits = count_bits(chain(*(double_sizes(values) for values in arrays.values())))
        matrices = {name: double_matrix(arrays[name], name, side) for name, side in sides.items()}
    else:
        entries = sum(rows * columns for rows, columns in sides.values())
        tensors = read_dyadics(file.arrays(DYADIC_ARRAYS, {}, entries), list(sides.values()))
        bits = count_bits((m.bit_length(), e) for entries in tensors for _, _, m, e in entries)
        named = zip(sides.items(), tensors, strict=True)
        matrices = {name: dyadic_matrix(entries, name, side) for (name, side), entries in named}
    dense = sum(map(math.prod, sides.values()))
    nonzero = sum(matrix.size for matrix in matrices.values())
    parameters = {"nonzero": nonzero, "counted": dense, "outside": 0, "dense": dense}
    return Decoder(shape, matrices, {"parameters": parameters, "bits": bits})


def double_sizes(values: array) -> Iterator[Dyadic]:
    """The binary digits of the odd mantissa, and the exponent, of every nonzero number."""
    for value in filter(None, values):
        numerator, denominator = value.as_integer_ratio()  # in lowest terms
        twos = 1 - denominator.bit_length() or (numerator & -numerator).bit_length() - 1
        yield numerator.bit_length() - max(twos, 0), twos


def double_matrix(values: array, name: str, sides: tuple[int, int]) -> Matrix:
    size = sum(map(bool, values))
    top = math.frexp(max(map(abs, values)))[1]
    low = max((x.as_integer_ratio()[1] for x in filter(None, values)), default=1).bit_length()
    check_digits(size, low + max(top, 0), name)
    rows: dict[int, SparseRow] = {}
    for row in range(sides[0]):
        part = values[row * sides[1] : (row + 1) * sides[1]]
        columns = list(compress(range(sides[1]), part))
        ratios = (x.as_integer_ratio() for x in filter(None, part))
        if columns:
            rows[row] = columns, [n << (low - over.bit_length()) for n, over in ratios]
    return Matrix(rows, 1 - low, sides)


def dyadic_matrix(entries: list[Parameter], name: str, sides: tuple[int, int]) -> Matrix:
    low = min((e for *_, e in entries), default=0)
    span = max((m.bit_length() + e for _, _, m, e in entries), default=0) - low
    check_digits(len(entries), span, name)
    rows: dict[int, SparseRow] = {}
    for row, column, mantissa, exponent in entries:
        columns, numbers = rows.setdefault(row, ([], []))
        columns.append(column)
        numbers.append(mantissa << (exponent - low))
    return Matrix(rows, low, sides)


def check_digits(numbers: int, digits: int, name: str) -> None:
    if numbers * digits > DIGITS_LIMIT:
        refuse(f"weights.safetensors, {name}: {numbers} numbers of {digits} binary digits each")


def read_words(content: bytes, shape: Shape) -> list[str | int]:
    """The vocabulary of a decoder."""
    name = "vocabulary.json"
    raw = parse_object(content, name)
    words = get(raw, "tokens", list, name)
    if not all(type(word) in (str, int) for word in words):
        refuse(f"{name}: a token is neither a string nor an integer")
    for text in (word for word in words if isinstance(word, str)):
        check_text(text, name)
    if len(words) != shape.vocabulary or len(set(words)) != len(words):
        refuse(f"{name} has {len(set(words))} distinct tokens, not {shape.vocabulary}")
    if "labels" not in raw or raw["labels"] is not None:
        refuse(f"{name}: labels must be null for a decoder")
    return words


def read_gap(certificate: dict[str, Any]) -> Fraction:
    name = "certificate.json"
    text = get(certificate, "gap", str, name)
    if len(text) > 100 or not re.fullmatch(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?", text):
        refuse(f"{name}: the gap {show(text)} is not a decimal number")
    gap = Fraction(text)
    if not Fraction(1, 10**300) <= gap <= 10**300:
        refuse(f"{name}: the gap {show(text)} is not between 1e-300 and 1e300")
    return gap


# ---------------------------------------------------------------- functions in integers

# A fixed-point number is an integer x that stands for x / 2**bits; its unit, or ulp, is 2**-bits.
# Every function says how far its answer is from the true value. >> and // round down.


def log_two(bits: int) -> int:
    """log 2, within 1 ulp: 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749).

    Each artanh(1/n) = sum of n^-(2i + 1) / (2i + 1) is within 2 ulp a term and a tail below 1; with
    less than `guard` terms, so all of it is within 28 * 3 * guard < 2^32 ulp of the inner unit.
    """
    guard = bits + 32
    total = 0
    for factor, n in ((18, 26), (-2, 4801), (8, 8749)):
        power, place = (1 << guard) // n, 1
        while power:
            total += factor * (power // place)
            power //= n * n
            place += 2
    return total >> 32


def pi(bits: int) -> int:
    """pi, within 1 ulp: 16 arctan(1/5) - 4 arctan(1/239), by the same count."""
    guard = bits + 32
    return sum(f * arctan_of_one_over(n, guard) for f, n in ((16, 5), (-4, 239))) >> 32


def arctan_of_one_over(n: int, bits: int) -> int:
    """arctan(1/n) for n > 1, within 3 ulp a term: at most 3 * bits ulp."""
    power, place, total = (1 << bits) // n, 1, 0
    while power:
        total += power // place if place % 4 == 1 else -(power // place)
        power //= n * n
        place += 2
    return total


class Exponential:
    """e^x of fixed-point numbers with `bits` bits.

    x = (k + j/256) log 2 + r with integers k and 0 <= j < 256 and |r| < 2^-9, so that
    e^x = 2^k 2^(j/256) e^r; the root is from a table and e^r is Taylor's polynomial.
    The mantissa 2^(j/256) e^r, between 0.99 and 2, is found within ERROR ulp:
    r is within 2 ulp (one rounding, and the step log 2 / 256, of which there are less than 2^50, is
    known to 64 bits more): 2.01 in e^r. Horner's rule rounds twice a step, which adds less than
    2 / (1 - 2^-9) < 2.01; the terms left out are below 1.01. That makes 5.1 in e^r < 1.002. The
    root is below 2 and within 2 ulp: 5.1 * 2 + 2 * 1.002 + 1 < 14.
    """

    ERROR = 16

    def __init__(self, bits: int) -> None:
        self.bits, self.one = bits, 1 << bits
        self.step = log_two(bits + 72) >> 16  # log 2 / 256 in units of 2^-(bits + 64)
        self.rate = int(256 / math.log(2) * 2**32)  # only a hint: r is looked at
        self.roots = self.powers_of_two()
        terms = 1
        while 9 * terms + math.lgamma(terms + 1) / math.log(2) < bits:
            terms += 1
        self.coefficients = [self.one // math.factorial(i) for i in range(terms, -1, -1)]
        self.logarithms: dict[int, tuple[int, int]] = {}

    def powers_of_two(self) -> list[int]:
        """2^(j/256), within 2 ulp. With 16 bits more, each square root is within 2 ulp (that of a
        number within 2 is within 1, and rounded), and a product within twice the error of the one
        before it, plus 5: at most 5 * 255 in the last one, which is less than 1 ulp in the end."""
        guard = self.bits + 16
        root, found = 2 << guard, [1 << guard]
        for _ in range(8):
            root = math.isqrt(root << guard)
            found = [x for whole in found for x in (whole, whole * root >> guard)]
        return [x >> 16 for x in found]

    def parts(self, x: int) -> tuple[int, int]:
        """(mantissa, k): e^x is mantissa * 2^k ulp, the mantissa within ERROR."""
        i = (shifted(x, 32 - self.bits) * self.rate + 2**63) >> 64
        r = x - (i * self.step >> 64)
        if abs(r) << 9 >= self.one or abs(i) >= 2**50:  # ERROR holds for smaller ones only
            refuse("a logit or a score is too large: its exponential has no proved error")
        total = 0
        for coefficient in self.coefficients:
            total = coefficient + (r * total >> self.bits)
        return self.roots[i & 255] * total >> self.bits, i >> 8

    def up(self, x: int) -> int:
        """At least e^x, by at most 2 ERROR 2^k + 1 ulp."""
        if x < -self.bits << self.bits:
            return 1
        mantissa, k = self.parts(x)
        return shifted(mantissa + self.ERROR, k) + 1

    def near(self, x: int) -> int:
        """e^x for x <= 0, within ERROR + 2 ulp."""
        if x < -self.bits << self.bits:
            return 0
        return shifted(*self.parts(x))

    def log_up(self, x: int) -> int:
        """At least log x for a fixed-point x > 0: log x <= y + x e^-y - 1 for every y, and with y
        within u of log x that is too much by less than u^2; y is improved until u is small."""
        y = self.hint(x)
        while True:
            mantissa, k = self.parts(-y)
            rest = shifted(x * (mantissa + self.ERROR), k - self.bits) + 1 - self.one
            if abs(rest) << self.bits // 2 - 4 < self.one:
                return y + rest
            y += rest

    def log_down(self, x: int) -> int:
        """At most log x: log x >= y + 1 - e^y / x for every y."""
        y = self.log_up(x)
        mantissa, k = self.parts(y)
        return y + self.one - shifted(mantissa + self.ERROR, k + self.bits) // x - 2

    def hint(self, x: int) -> int:
        guess = math.log(x) - self.bits * math.log(2)
        return shifted(int(guess * 2**50), self.bits - 50)

    def log_of_count(self, number: int) -> tuple[int, int]:
        """Bounds of log(number), remembered."""
        if number not in self.logarithms:
            x = number << self.bits
            self.logarithms[number] = self.log_down(x), self.log_up(x)
        return self.logarithms[number]


@functools.lru_cache(maxsize=8)
def exponential(bits: int) -> Exponential:
    return Exponential(bits)


class Activation:
    """The five functions, on fixed-point numbers with self.bits bits.

    Each answer is within 2^-precision of the function of the very argument (`reach`: arguments of
    gelu are at most 2^reach). All have slopes between -2 and 2. There are 32 spare bits: an error
    of 2^31 ulp is allowed, that of every function below is at most 8 N + 64 with N < 2^20 terms.
    """

    SPARE = 32

    def __init__(self, name: str, precision: int, reach: int) -> None:
        spare = self.SPARE + (max(reach, 0) + 1 if name == "gelu" else 0)
        self.bits = bits = precision + spare
        self.one = 1 << bits
        self.exponential = exponential(bits)
        self.apply: Callable[[int], int] = getattr(self, name)
        if name == "arctan":
            self.pi, self.angles = pi(bits), self.angle_table()
        if name in ("erf", "gelu"):
            parts = 4 if name == "erf" else Fraction(1, 2)  # 2 / sqrt(pi), 1 / sqrt(2 pi)
            self.factor = math.isqrt(int(parts * (1 << 3 * bits)) // pi(bits))

    def logistic(self, x: int) -> int:
        """1 / (1 + e), e = e^-|x|, for x >= 0; both change by less than e does."""
        found = (self.one << self.bits) // (self.one + self.exponential.near(-abs(x)))
        return found if x >= 0 else self.one - found

    def tanh(self, x: int) -> int:
        """(1 - e) / (1 + e), e = e^-2|x|, for x >= 0: it changes by less than twice what e does."""
        power = self.exponential.near(-2 * abs(x))
        found = ((self.one - power) << self.bits) // (self.one + power)
        return found if x >= 0 else -found

    def erf(self, x: int) -> int:
        """2 / sqrt(pi) e^-x^2 times the sum of x (2 x^2)^n / (2n + 1)!!"""
        found = self.bell(abs(x), 2 * x * x >> self.bits)
        return found if x >= 0 else -found

    def gelu(self, x: int) -> int:
        """x (1/2 + F), F = e^(-x^2/2) / sqrt(2 pi) times the sum of x x^2n / (2n + 1)!!: an error
        in F counts |x| times, for which there are the bits of `reach`."""
        half, found = self.one >> 1, self.bell(abs(x), x * x >> self.bits, half=True)
        return x * (half + (found if x >= 0 else -found)) >> self.bits

    def bell(self, x: int, y: int, half: bool = False) -> int:
        """factor e^(-y/2) times the sum of x h_n, h_n = y^n / (2n + 1)!!, for x >= 0; y is rounded
        down by less than 1 ulp.

        Let e_n be the error of term n. Two roundings, and that of y, give
        e_(n+1) <= e_n y / (2n + 3) + x h_n / (2n + 3) + 2. With h_(i+j) / h_i <= h_j and
        H = sum of h_n <= e^(y/2) the twos add up to at most 2 N H in all terms, and the middle
        parts to x / y times the sum of n h_n <= x H / 2, because n h_n <= y h_(n-1) / 2. It ends
        when a term is rounded to 0 and y / (2n + 3) <= 1/2: the rest is at most twice that term,
        which is its error. So the sum's error is at most 3 (x H / 2 + 2 N H); e^(-y/2) makes it
        3 (0.7 + 2 N), and the exponential's own 18 ulp add 1.3 * 18; the factor is at most 1.13.
        Where y / 2 >= 0.7 bits the answer is the limit, within e^(-y/2) < 1 ulp.
        """
        if 5 * y > 7 * (self.bits + 2) << self.bits:
            return self.one >> half
        term, total, place = x, x, 3
        while term or place * self.one < 2 * y:
            term = (term * y >> self.bits) // place
            total += term
            place += 2
        if place >= 2**21:  # the error above is for fewer terms
            refuse("the series of erf needs more than 2^20 terms")
        mantissa, k = self.exponential.parts(-(y >> 1))
        return (total * mantissa >> (self.bits - k)) * self.factor >> self.bits

    def arctan(self, x: int) -> int:
        """For 0 <= x <= 1, arctan(j/64) + arctan((x - j/64) / (1 + x j/64)), the last below 1/100
        in absolute value, by its series: 3 ulp a term. For x > 1, pi/2 - arctan(1/x)."""
        size = abs(x)
        small = size if size <= self.one else (self.one << self.bits) // size
        j = (small * 64 + self.one // 2) >> self.bits
        rest = ((64 * small - j * self.one) << self.bits) // (64 * self.one + j * small)
        found = self.angles[j] + self.small_arctan(rest)
        found = found if size <= self.one else (self.pi >> 1) - found
        return found if x >= 0 else -found

    def small_arctan(self, x: int) -> int:
        power, square, place, total = abs(x), x * x >> self.bits, 1, 0
        while power:
            total += power // place if place % 4 == 1 else -(power // place)
            power = power * square >> self.bits
            place += 2
        return total if x >= 0 else -total

    def angle_table(self) -> list[int]:
        """arctan(j/64), j = 0 ... 64, within 1 ulp: arctan(j/64) - arctan((j - 1)/64) is
        arctan(64 / (4096 + j (j - 1))), and 32 more bits hold the errors of 64 such sums."""
        guard = self.bits + 32
        total, found = 0, [0]
        for j in range(1, 65):
            power, place = (64 << guard) // (4096 + j * (j - 1)), 1
            square = power * power >> guard
            while power:
                total += power // place if place % 4 == 1 else -(power // place)
                power = power * square >> guard
                place += 2
            found.append(total >> 32)
        return found


# ---------------------------------------------------------------- divergences


@dataclass
class Context:
    """Sequences with the same tokens; tokens and labels as numbers of the vocabulary."""

    first: int  # place of the first of these sequences
    tokens: list[int]
    counts: dict[int, int]  # of each label
    failure: str | None = None  # why the decoder has no distribution, or none to compare with


class Divergence:
    """Bounds from above of the divergence between targets and the softmax of logits.

    precision  2^-precision is at most 2^-32 times the gap (and times 1)
    bits       of logits and exponentials
    """

    def __init__(self, gap: Fraction, vocabulary: int, more: int = 0) -> None:
        self.precision = max(0, -floor_log(gap)) + 32
        self.bits = self.precision + vocabulary.bit_length() + 32 + more
        self.exponential = exponential(self.bits)

    def bound(
        self, total: int, logits: list[int], powers: list[int], counts: list[int], radius: int
    ) -> Fraction:
        """At least the divergence, if each true logit is within `radius` of logits c with these
        properties: those of the labels that occur are `logits`, of which `powers` are at least the
        exponentials (as Exponential.up gives them), and `total` is the sum of those and of
        all the other exponentials. Logits of labels that do not occur may be too high.

        The divergence D is log(sum e^c) - sum p_j c_j + sum p_j log p_j, convex in c, with gradient
        q - p and as second derivative the covariance under q. A change of the logits by at most r
        each therefore adds at most r sum |q_j - p_j| + r^2 / 2, a variance being at most r^2.
        D grows with logits off the support, which may so be too high. With counts c_j and their sum
        N, p_j log p_j = (c_j log c_j) / N - p_j log N.
        """
        exp, times = self.exponential, sum(counts)
        logs = (exp.log_of_count(count)[1] for count in counts)
        mean = sum(n * (log - c) for n, log, c in zip(counts, logs, logits, strict=True))
        exact = exp.log_up(total) - exp.log_of_count(times)[0] - (-mean // times)
        change = radius * self.distance(total, powers, counts, times) >> self.bits
        return Fraction(exact + change + (radius * radius >> self.bits + 1) + 2, exp.one)

    def distance(self, total: int, powers: list[int], counts: list[int], times: int) -> int:
        """At least sum |q_j - p_j|. With powers that are too large by s in all, every q_j computed
        here is off by what adds up to at most 2 s / total; s is at most 64 ulp of the total and 2
        for each power. Roundings add 2 a label."""
        one, size = self.exponential.one, len(powers)
        shares = ((power << self.bits) // total for power in powers)
        pairs = zip(shares, counts, strict=True)
        found = sum(abs(share - (count << self.bits) // times) for share, count in pairs)
        rest = ((total - sum(powers)) << self.bits) // total
        return found + rest + 2 * size + 1 + 128 + 4 * size * one // total + 1


def floor_log(value: Fraction) -> int:
    """An integer at most log2(value), by less than 2."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1


# ---------------------------------------------------------------- any decoder


def price(first: int, second: int) -> float:
    """Seconds that multiplying, adding and shifting integers of so many binary digits take."""
    return 2e-7 + 1.7e-12 * max(first, 0) * max(second, 0)


def exponential_price(bits: int) -> float:
    terms = bits / (9 + math.log2(max(bits, 32)) / 2)
    return 1e-6 + terms * price(bits, bits)


class Dense:
    """Every divergence by evaluating every neuron, with precisions chosen beforehand.

    Let t be Divergence.precision and 2^v, 2^w, 2^h, 2^x be bounds of the row sums of |output|, of
    |hidden.weight| and of |out| |value|, and of the |x_t|. Read upwards, each step's error is what
    the next one can take (p, g, a, e: bits of the values, of g, of the averages, of the powers):
    logits  within 2^-t: activations within 1.25 * 2^-p, p = t + v + 2, and one rounding
    values  within 1.25 * 2^-p: Activation within 2^-p, arguments within 2^-(p + 3), slopes below 2
    argument  2^w times the error of g, and two roundings of 2^-(p + 31)
    g       within 2^-(p + 4 + w): two roundings at g = p + 6 + w bits, and averages within
            2^-(p + 5 + w + h)
    average of the x_t, each coordinate: with weights E_t in place of e_t, each within d, it is off
            by the sum of E_t (x_t - average) / sum E_t = sum (E_t - e_t) (x_t - average) / sum E_t,
            at most 2 T d 2^(x + 1) because the largest weight is 1; d = 20 ulp (Exponential.near,
            and the argument's rounding); then two roundings at a = p + 8 + w + h bits
    """

    def __init__(self, decoder: Decoder, gap: Fraction) -> None:
        self.decoder, shape = decoder, decoder.shape
        self.shape = shape
        self.divergence = Divergence(gap, shape.vocabulary)
        self.output, self.hidden = decoder["output"], decoder["hidden"]
        names = ("embedding", "positions") if shape.attention else ("embedding",)
        self.reach = max(decoder[name].norm for name in names) + 1
        if shape.attention:
            heard = decoder["attention.out"].norm + decoder["attention.value"].norm
        else:
            heard = decoder["token_sum"].norm + shape.length.bit_length()
        self.precision = max(self.divergence.precision + self.output.norm + 2, 32)
        inner = self.precision + max(self.hidden.norm, 0)
        self.bits = inner + 6
        self.average_bits = inner + 8 + max(heard, 0)
        self.weight_bits = (
            self.average_bits + max(self.reach, 0) + 1 + (40 * shape.length).bit_length()
        )
        steps = max(heard, 0) + self.reach + 1 + self.hidden.norm
        self.argument = max(steps, decoder["hidden.bias"].norm, 0) + 1
        self.used = sorted(set(chain(*(columns for columns, _ in self.output.rows.values()))))

    def seconds(self, contexts: list[Context]) -> float:
        """About how long `bounds` of these contexts will take."""
        shape, activation = self.shape, self.shape.activation
        d, heads = shape.dimension, shape.heads
        tokens = sum(len(context.tokens) for context in contexts)
        x = max(self.reach, 0) - self.decoder["embedding"].exponent
        values = self.precision + Activation.SPARE + (self.argument if activation == "gelu" else 0)
        f = exponential_price(values)
        if activation in ("erf", "gelu"):
            f += 0.5 * values * price(2 * values, values)
        one = self.hidden.size * price(self.bits, self.hidden.digits)
        one += len(self.used) * (f + price(values, values))
        one += self.output.size * price(values, self.output.digits)
        one += len(self.output.rows) * exponential_price(self.divergence.bits)
        if not shape.attention:
            return one * len(contexts) + tokens * d * price(x, x)
        one += heads * (d + 2 * shape.values * d) * price(self.average_bits, 64)
        pairs = len({pair for context in contexts for pair in enumerate(context.tokens)})
        pairs += len(contexts)
        key = self.decoder["attention.key"]
        some = heads * (shape.keys * price(2 * x, x) + exponential_price(self.weight_bits))
        some += heads * d * price(self.weight_bits, x)
        return one * len(contexts) + some * tokens + pairs * key.size * price(x, key.digits)

    def prepare(self) -> None:
        """What is worth computing only when it is affordable."""
        shape, decoder = self.shape, self.decoder
        self.activation = Activation(shape.activation, self.precision, self.argument)
        bits, bias = self.activation.bits, decoder["hidden.bias"]
        rows = bias.rows
        self.bias = [
            shifted(rows[k][1][0], bias.exponent + bits) if k in rows else 0 for k in self.used
        ]
        place = {k: i for i, k in enumerate(self.used)}
        self.logit_rows = [
            (token, [place[column] for column in columns], numbers)
            for token, (columns, numbers) in self.output.rows.items()
        ]
        self.known: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        if shape.attention:
            exponents = [decoder[name].exponent for name in ("embedding", "positions")]
            self.exponent = min(exponents)
            self.exponential = exponential(self.weight_bits)

    def bounds(self, contexts: list[Context]) -> list[Fraction]:
        self.prepare()
        return [self.bound(context) for context in contexts]

    def bound(self, context: Context) -> Fraction:
        logits = self.logits(self.values(self.mixed(context.tokens)))
        exp = self.divergence.exponential
        spare = self.shape.vocabulary - len(logits)  # tokens whose logit is 0
        top = max(logits.values(), default=0)
        top = max(top, 0) if spare else top
        powers = {token: exp.up(logit - top) for token, logit in logits.items()}
        zero = exp.up(-top) if spare else 0
        total = sum(powers.values()) + spare * zero
        return self.divergence.bound(
            total,
            [logits.get(label, 0) - top for label in context.counts],
            [powers.get(label, zero) for label in context.counts],
            list(context.counts.values()),
            1 << self.divergence.bits - self.divergence.precision,
        )

    def logits(self, values: list[int]) -> dict[int, int]:
        """Of the tokens whose row of the output is not all 0."""
        places = self.output.exponent - self.activation.bits + self.divergence.bits
        return {
            token: shifted(dot(numbers, chosen_from(values, columns)), places)
            for token, columns, numbers in self.logit_rows
        }

    def values(self, mixed: list[int]) -> list[int]:
        """Of the neurons in use."""
        places = self.hidden.exponent - self.bits + self.activation.bits
        found, rows = [], self.hidden.rows
        for k, bias in zip(self.used, self.bias, strict=True):
            columns, numbers = rows.get(k, NO_ROW)
            argument = dot(numbers, chosen_from(mixed, columns)) if numbers else 0
            found.append(self.activation.apply(shifted(argument, places) + bias))
        return found

    def mixed(self, tokens: list[int]) -> list[int]:
        """g, with self.bits bits."""
        shape = self.shape
        if not shape.attention:
            return self.token_sum(tokens)
        seen = [self.seen(token, place) for place, token in enumerate(tokens)]
        vectors, last = [vector for vector, _ in seen], seen[-1][0]
        query = self.decoder["attention.query"].times(last)
        columns = list(zip(*vectors, strict=True))
        heard: list[int] = []
        for head in range(shape.heads):
            rows = slice(head * shape.keys, (head + 1) * shape.keys)
            average = self.average([dot(query[rows], key[rows]) for _, key in seen], columns)
            heard += self.spoken(head, average)
        out, value = self.decoder["attention.out"], self.decoder["attention.value"]
        places = out.exponent + value.exponent - self.average_bits + self.bits
        found = [shifted(x, places) for x in out.times(heard)]
        if shape.skip:
            shift = self.exponent + self.bits
            return [x + shifted(y, shift) for x, y in zip(found, last, strict=True)]
        return found

    def token_sum(self, tokens: list[int]) -> list[int]:
        embedding, weights = self.decoder["embedding"], self.decoder["token_sum"]
        total = [0] * self.shape.dimension
        for place, token in enumerate(tokens):
            weight = sum(weights.rows.get(place, NO_ROW)[1])
            for column, x in zip(*embedding.rows.get(token, NO_ROW), strict=True):
                total[column] += weight * x
        shift = embedding.exponent + weights.exponent + self.bits
        return [shifted(x, shift) for x in total]

    def seen(self, token: int, place: int) -> tuple[list[int], list[int]]:
        """x_t and the keys of all heads, exactly."""
        found = self.known.get((token, place))
        if found is None:
            size = self.shape.dimension + self.shape.heads * self.shape.keys
            if len(self.known) * size > 2**22:
                self.known.clear()
            embedding, positions = self.decoder["embedding"], self.decoder["positions"]
            shifts = embedding.exponent - self.exponent, positions.exponent - self.exponent
            rows = zip(embedding.row(token), positions.row(place), strict=True)
            vector = [(x << shifts[0]) + (y << shifts[1]) for x, y in rows]
            found = vector, self.decoder["attention.key"].times(vector)
            self.known[token, place] = found
        return found

    def weights(self, scores: list[int]) -> list[int]:
        """The exponentials of the scores less the largest."""
        query, key = self.decoder["attention.query"], self.decoder["attention.key"]
        shift = query.exponent + key.exponent + 2 * self.exponent + self.weight_bits
        best, near = max(scores), self.exponential.near
        return [near(shifted(score - best, shift)) for score in scores]

    def average(self, scores: list[int], columns: list[tuple[int, ...]]) -> list[int]:
        """The mean of the x_t under the softmax of the scores, with average_bits bits."""
        weights = self.weights(scores)
        total, places = sum(weights), self.exponent + self.average_bits
        return [shifted(dot(weights, column), places) // total for column in columns]

    def spoken(self, head: int, average: list[int]) -> list[int]:
        """value_r times the average, exactly."""
        size, rows = self.shape.values, self.decoder["attention.value"].rows
        found = []
        for row in range(head * size, (head + 1) * size):
            columns, numbers = rows.get(row, NO_ROW)
            found.append(dot(numbers, chosen_from(average, columns)) if numbers else 0)
        return found


@dataclass
class Seen:
    """What the heads make of a token at a place, exactly: its vector x, and of each head key x and
    query x, and out value x, whose unit is 2**(out.exponent + value.exponent) times that of x."""

    vector: list[int]
    keys: list[list[int]]
    queries: list[list[int]]
    said: list[list[int]]


class Heads(Dense):
    """Every divergence of a decoder without neurons.

    A head adds the mean of what it makes of the tokens, f_t = out value x_t, an exact integer. Let
    t, 2^v, 2^h, 2^x be as in Dense and H the number of heads.
    logits  within 2^-t: 2^v times the error of g, and one rounding
    g       within 2^-(t + v + 2), by two errors of half of that:
            the weights, each within 20 ulp, put the mean of one head off by at most 2 T 20 ulp
            times twice the largest |f_t|, as in Dense, and these largest of the heads add up to at
            most 2^(h + x); two roundings a head, and one of the last x_t
    """

    def __init__(self, decoder: Decoder, gap: Fraction) -> None:
        self.decoder, self.shape, self.output = decoder, decoder.shape, decoder["output"]
        self.divergence = Divergence(gap, self.shape.vocabulary)
        self.out, self.value = decoder["attention.out"], decoder["attention.value"]
        self.reach = max(decoder[name].norm for name in ("embedding", "positions")) + 1
        said = self.out.norm + self.value.norm + self.reach
        precision = max(self.divergence.precision + self.output.norm + 3, 32)
        self.bits = precision + (2 * self.shape.heads + 1).bit_length()
        spare = (40 * self.shape.length).bit_length() + 1
        self.weight_bits = precision + max(said, 0) + spare
        self.exponent = min(decoder[name].exponent for name in ("embedding", "positions"))

    def seconds(self, contexts: list[Context]) -> float:
        """About how long `bounds` of these contexts will take."""
        shape, d = self.shape, self.shape.dimension
        key, query = self.decoder["attention.key"], self.decoder["attention.query"]
        x = max(self.reach - self.exponent, 0)
        said = x + self.value.digits + self.out.digits
        tokens = sum(len(context.tokens) for context in contexts)
        pairs = len({pair for context in contexts for pair in enumerate(context.tokens)})
        one = self.output.size * price(self.bits, self.output.digits)
        one += len(self.output.rows) * exponential_price(self.divergence.bits)
        one += shape.heads * (1e-6 + d * price(self.weight_bits + said, self.weight_bits))
        some = 1e-6 + shape.keys * price(x + key.digits, x + query.digits)
        some += exponential_price(self.weight_bits) + d * price(self.weight_bits, said)
        new = (key.size + query.size + self.value.size) * price(x, key.digits)
        new += self.out.size * price(x + self.value.digits, self.out.digits)
        return one * len(contexts) + some * tokens * shape.heads + new * pairs

    def prepare(self) -> None:
        self.logit_rows = [(token, *row) for token, row in self.output.rows.items()]
        self.tokens: dict[tuple[int, int], Seen] = {}
        self.exponential = exponential(self.weight_bits)

    def values(self, mixed: list[int]) -> list[int]:
        return mixed

    def logits(self, values: list[int]) -> dict[int, int]:
        places = self.output.exponent - self.bits + self.divergence.bits
        return {
            token: shifted(dot(numbers, chosen_from(values, columns)), places)
            for token, columns, numbers in self.logit_rows
        }

    def mixed(self, tokens: list[int]) -> list[int]:
        """g, with self.bits bits."""
        seen = [self.met(token, place) for place, token in enumerate(tokens)]
        last = seen[-1]
        skipped = last.vector if self.shape.skip else [0] * self.shape.dimension
        found = [shifted(x, self.exponent + self.bits) for x in skipped]
        places = self.out.exponent + self.value.exponent + self.exponent + self.bits
        for head, query in enumerate(last.queries):
            weights = self.weights([dot(query, one.keys[head]) for one in seen])
            total = sum(weights)
            for i, column in enumerate(zip(*(one.said[head] for one in seen), strict=True)):
                found[i] += shifted(dot(weights, column), places) // total
        return found

    def met(self, token: int, place: int) -> Seen:
        """What the heads make of a token, remembered."""
        found = self.tokens.get((token, place))
        if found is None:
            shape = self.shape
            size = shape.heads * (2 * shape.keys + shape.dimension) + shape.dimension
            if len(self.tokens) * size > 2**22:
                self.tokens.clear()
            found = self.tokens[token, place] = self.read(token, place)
        return found

    def read(self, token: int, place: int) -> Seen:
        decoder, shape = self.decoder, self.shape
        embedding, positions = decoder["embedding"], decoder["positions"]
        shifts = embedding.exponent - self.exponent, positions.exponent - self.exponent
        rows = zip(embedding.row(token), positions.row(place), strict=True)
        vector = [(x << shifts[0]) + (y << shifts[1]) for x, y in rows]
        keys, queries = (decoder[f"attention.{name}"].times(vector) for name in ("key", "query"))
        value, said = self.value.times(vector), [[0] * shape.dimension for _ in range(shape.heads)]
        for i, (columns, numbers) in self.out.rows.items():
            for column, number in zip(columns, numbers, strict=True):
                said[column // shape.values][i] += number * value[column]
        return Seen(vector, parts(keys, shape.keys), parts(queries, shape.keys), said)


def parts(numbers: list[int], size: int) -> list[list[int]]:
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


# ---------------------------------------------------------------- sorted steep decoders


class NotSteep(Exception):
    """The decoder does not have the form that the short proof needs; the message says why."""


@dataclass
class Scalars:
    """A decoder whose embedding, positions and hidden weights have rows of equal coordinates is one
    of scalars: with x_t = x 1, x real, every score of head r is kappa_r x_t x_k, where kappa_r is
    the sum over its rows of (sum of key)(sum of query), and s, the sum of the coordinates of g,
    is the sum over r of nu_r times the average of the x_t, plus d x_k with skip; nu_r is the sum
    over its rows of (sum of value)(sum of out's column). Neuron k has the argument w_k s + b_k.

    tokens, positions  the scalars, in units of 2**exponent
    heads              {kappa: nu}, in units of 2**kappa_exponent and 2**nu_exponent
    weights, biases    w_k and b_k of the neurons in use, in the units of their matrices
    """

    tokens: list[int]
    positions: list[int]
    exponent: int
    heads: dict[int, int]
    kappa_exponent: int
    nu_exponent: int
    weights: dict[int, int]
    biases: dict[int, int]


STEEP = ("logistic", "tanh", "erf", "gelu")
STEEP_DIGITS = 2**12  # more than doubles ever need


def scalars(decoder: Decoder) -> Scalars:
    shape = decoder.shape
    if shape.activation not in STEEP:
        raise NotSteep(f"{shape.activation} has no steep form")
    for name, matrix in decoder.matrices.items():
        if max(abs(matrix.exponent), matrix.digits) > STEEP_DIGITS:
            raise NotSteep(f"{name} has numbers of more than {STEEP_DIGITS} binary digits")
    embedding, hidden, bias = (decoder[name] for name in ("embedding", "hidden", "hidden.bias"))
    tokens, weights = equal_rows(embedding, "embedding.weight"), equal_rows(hidden, "hidden.weight")
    used = set(chain(*(columns for columns, _ in decoder["output"].rows.values())))
    if not all(weights.get(k, 0) > 0 for k in used):
        raise NotSteep("a hidden weight is not positive")
    found = Scalars(
        [tokens.get(token, 0) for token in range(shape.vocabulary)],
        [0] * shape.length,
        embedding.exponent,
        {},
        0,
        0,
        {k: weights[k] for k in used},
        {k: bias.rows[k][1][0] if k in bias.rows else 0 for k in used},
    )
    return with_heads(found, decoder) if shape.attention else found


def equal_rows(matrix: Matrix, name: str) -> dict[int, int]:
    """The one number of each row that is not 0."""
    for columns, numbers in matrix.rows.values():
        if len(columns) < matrix.sides[1] or any(x != numbers[0] for x in numbers):
            raise NotSteep(f"a row of {name} has coordinates that differ")
    return {row: numbers[0] for row, (_, numbers) in matrix.rows.items()}


def with_heads(found: Scalars, decoder: Decoder) -> Scalars:
    positions, value, out = (
        decoder[name] for name in ("positions", "attention.value", "attention.out")
    )
    low = min(found.exponent, positions.exponent)
    places = equal_rows(positions, "positions.weight")
    lift = positions.exponent - low
    return dataclasses.replace(
        found,
        tokens=[x << found.exponent - low for x in found.tokens],
        positions=[places.get(place, 0) << lift for place in range(decoder.shape.length)],
        exponent=low,
        heads=head_scalars(decoder),
        kappa_exponent=decoder["attention.query"].exponent + decoder["attention.key"].exponent,
        nu_exponent=value.exponent + out.exponent,
    )


def head_scalars(decoder: Decoder) -> dict[int, int]:
    """{kappa: nu}; heads with equal kappa have equal averages, so their nu add up."""
    shape = decoder.shape
    found: dict[int, int] = {}
    queries, keys, values = (
        decoder[f"attention.{name}"].sums() for name in ("query", "key", "value")
    )
    outs: Counter[int] = Counter()
    for columns, numbers in decoder["attention.out"].rows.values():
        for column, number in zip(columns, numbers, strict=True):
            outs[column] += number
    for head in range(shape.heads):
        rows = range(head * shape.keys, (head + 1) * shape.keys)
        kappa = sum(queries.get(row, 0) * keys.get(row, 0) for row in rows)
        rows = range(head * shape.values, (head + 1) * shape.values)
        nu = sum(values.get(row, 0) * outs[row] for row in rows)
        found[kappa] = found.get(kappa, 0) + nu
    return found


@dataclass
class Line:
    """The s of all contexts, sorted: true values are within `radius` of these integers, all in
    units of 2**exponent. `order` has the contexts' places in that order."""

    values: list[int]
    order: list[int]
    radius: int
    exponent: int


def line(given: Scalars, decoder: Decoder, contexts: list[Context], bits: int) -> Line:
    if decoder.shape.attention:
        found, radius, exponent = attended(given, decoder, contexts, bits)
    else:
        weights, radius = decoder["token_sum"], 0
        sums, d = weights.sums(), decoder.shape.dimension
        exponent = given.exponent + weights.exponent
        found = [
            d * sum(sums.get(t, 0) * given.tokens[a] for t, a in enumerate(context.tokens))
            for context in contexts
        ]
    order = sorted(range(len(found)), key=found.__getitem__)
    return Line([found[i] for i in order], order, radius, exponent)


def attended(
    given: Scalars, decoder: Decoder, contexts: list[Context], bits: int
) -> tuple[list[int], int, int]:
    """s of each context. The softmax average is off by at most 2 T 20 ulp times the spread of the
    x_t, as `Dense` has it, and one rounding."""
    exp, skip = exponential(bits), decoder.shape.dimension * decoder.shape.skip
    shift = given.kappa_exponent + 2 * given.exponent + bits
    exponent = min(given.exponent, given.exponent - bits + given.nu_exponent)
    lift, last = given.exponent - bits + given.nu_exponent - exponent, given.exponent - exponent
    found, radius = [], 0
    for context in contexts:
        x = [given.tokens[a] + given.positions[t] for t, a in enumerate(context.tokens)]
        total, error, spread = 0, 0, max(x) - min(x)
        for kappa, nu in given.heads.items():
            scores = [kappa * x[-1] * y for y in x]
            best = max(scores)
            weights = [exp.near(shifted(score - best, shift)) for score in scores]
            total += nu * ((dot(weights, x) << bits) // sum(weights))
            error += abs(nu) * (40 * len(x) * spread + 1)
        found.append((total << lift) + (skip * x[-1] << last))
        radius = max(radius, error << lift)
    return found, radius, exponent


class Steep:
    """Divergences of a decoder of scalars whose neurons are saturated at every context.

    All w_k > 0, so w_k s + b_k grows with s. If it is at most -A at sorted context p - 1 and at
    least A at context p, then so it is at all contexts before and after: neuron k is "off" before
    p and "on" from p on, and its value is within tail(A) of that of a step (0 and 1), of a sign (-1
    and 1) or, for gelu, of max(0, w_k s + b_k). The logit of a token is therefore, up to the sum of
    tails times |V|, constant between two switches of its own neurons (linear in s for gelu): a
    segment. All such sums are exact integers.
    """

    def __init__(self, decoder: Decoder, contexts: list[Context], gap: Fraction) -> None:
        self.decoder, self.contexts, self.gap = decoder, contexts, gap
        self.ramps = decoder.shape.activation == "gelu"
        self.given = scalars(decoder)
        self.output, self.hidden = decoder["output"], decoder["hidden"]
        self.check_seconds()
        precision = Divergence(gap, decoder.shape.vocabulary).bits
        bits = precision + max(self.hidden.norm, 0) + max(self.output.norm, 0) + 64
        self.line = line(self.given, decoder, contexts, bits)
        self.exponent = self.line.exponent + self.hidden.exponent  # of arguments
        self.bias_shift = decoder["hidden.bias"].exponent - self.exponent
        if self.bias_shift < 0:
            self.exponent += self.bias_shift
        self.switches = {k: self.switch(k) for k in self.given.weights}

    def check_seconds(self) -> None:
        tokens = sum(len(context.tokens) for context in self.contexts)
        steps = 1e-5 * max(1, len(self.given.heads)) * tokens + 1.2e-5 * self.output.size
        if steps > SECONDS:
            raise NotSteep(f"even the short proof would take about {steps:.0f} seconds")

    def argument(self, k: int, s: int) -> int:
        """w_k s + b_k, in units of 2**self.exponent."""
        lift = -min(self.bias_shift, 0)
        product = self.given.weights[k] * s << lift
        return product + (self.given.biases[k] << max(self.bias_shift, 0))

    def switch(self, k: int) -> tuple[int, int]:
        """The place p where neuron k switches on, and the tail of its values in units of
        2**-TAIL. Whatever p is, the arguments on both sides of it are looked at."""
        values, weight = self.line.values, self.given.weights[k]
        lift = -min(self.bias_shift, 0)
        root = -(self.given.biases[k] << max(self.bias_shift, 0)) // (weight << lift)
        p = bisect.bisect_right(values, root)
        radius = weight * self.line.radius << lift
        sides = [-self.argument(k, values[p - 1])] if p else []
        sides += [self.argument(k, values[p])] if p < len(values) else []
        far = shifted(min(sides) - radius, self.exponent + 6)
        if far <= 0:
            raise NotSteep("a neuron is not saturated at a context")
        return p, tail(self.decoder.shape.activation, min(far, FAR))

    def segments(self) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
        """Of every token whose row is not all 0: (first place, A, B) for each of its segments, at
        which its logit is A s + B, in units of 2**(output.exponent + self.exponent) for gelu and
        2**output.exponent otherwise."""
        two = 1 if self.decoder.shape.activation == "logistic" else 2
        for token, (columns, numbers) in self.output.rows.items():
            changes: dict[int, list[int]] = {0: [0, 0]}
            for k, number in zip(columns, numbers, strict=True):
                change = changes.setdefault(self.switches[k][0], [0, 0])
                if self.ramps:
                    change[0] += number * self.argument(k, 1)
                    change[1] += number * self.argument(k, 0)
                else:
                    change[1] += two * number
            slope, height = 0, 0 if self.ramps or two == 1 else -sum(numbers)
            found = []
            for place, (more, higher) in sorted(changes.items()):
                slope, height = slope + more, height + higher
                found.append((place, slope - height if self.ramps else 0, height))
            yield token, [part for part in found if part[0] < len(self.contexts)]

    def bounds(self) -> list[Fraction]:
        """Of each context, in the order given."""
        segments = dict(self.segments())
        self.shift = self.output.exponent + (self.exponent if self.ramps else 0)
        support = [self.support(place, segments) for place in range(len(self.contexts))]
        divergence = self.divergence(support)
        bits, exp = divergence.bits, divergence.exponential
        radius, steps, known = self.radius(segments, bits), [0] * (len(self.contexts) + 1), {}
        highest: dict[int, tuple[list[int], list[int]]] = {}
        for token, parts in segments.items():
            starts = [place for place, _, _ in parts]
            powers = []
            for (begin, slope, height), end in zip(
                parts, [*starts[1:], len(steps) - 1], strict=True
            ):
                logit = self.highest(begin, end, slope, height, bits)
                if logit >> bits > STEEP_DIGITS:  # of a label that does not occur here
                    raise NotSteep("the logits are far from 0")
                if logit not in known:
                    known[logit] = exp.up(logit)
                powers.append(known[logit])
                steps[begin] += powers[-1]
                steps[end] -= powers[-1]
            highest[token] = starts, powers
        return self.sweep(divergence, support, steps, highest, radius)

    def highest(self, begin: int, end: int, slope: int, height: int, bits: int) -> int:
        """The largest logit at the contexts of a segment: one of its ends, since it is linear."""
        values = self.line.values
        top = max(slope * values[begin], slope * values[end - 1]) if slope else 0
        return shifted(top + height, self.shift + bits)

    def support(self, place: int, segments: dict) -> list[int]:
        """The logits of the labels that occur, exactly, in units of 2**self.shift."""
        s, found = self.line.values[place], []
        for label in self.contexts[self.line.order[place]].counts:
            parts = segments.get(label)
            if parts is None:
                found.append(0)
                continue
            _, slope, height = parts[bisect.bisect_right(parts, place, key=first_of) - 1]
            found.append(slope * s + height)
        return found

    def divergence(self, support: list[list[int]]) -> Divergence:
        """With bits enough for the context whose exponentials are the smallest."""
        lows = shifted(min(map(max, support)), self.shift)
        highs = shifted(max(map(max, support)), self.shift)
        if max(-lows, highs) > STEEP_DIGITS:
            raise NotSteep("the logits are far from 0")
        more = 3 * max(0, -lows) // 2
        return Divergence(self.gap, self.decoder.shape.vocabulary, more)

    def radius(self, segments: dict, bits: int) -> int:
        """How far logits can be from those of the segments: tails, the enclosure of s, rounding."""
        tails = max(
            (
                sum(abs(v) * self.switches[k][1] for k, v in zip(columns, numbers, strict=True))
                for columns, numbers in self.output.rows.values()
            ),
            default=0,
        )
        steepest = max((abs(a) for parts in segments.values() for _, a, _ in parts), default=0)
        enclosed = shifted(steepest * self.line.radius, self.shift + bits)
        return shifted(tails, self.output.exponent - TAIL + bits) + enclosed + 3

    def sweep(
        self,
        divergence: Divergence,
        support: list[list[int]],
        steps: list[int],
        highest: dict[int, tuple[list[int], list[int]]],
        radius: int,
    ) -> list[Fraction]:
        """The bounds, with the sum of all exponentials kept from context to context: `steps` are
        its changes. A label that occurs counts with its own exponential, not its segment's."""
        exp, found = divergence.exponential, [Fraction(0)] * len(self.contexts)
        idle = self.decoder.shape.vocabulary - len(highest)  # tokens with logit 0
        one = exp.up(0)
        total = idle * one
        for place, index in enumerate(self.line.order):
            total += steps[place]
            counts = self.contexts[index].counts
            logits = [shifted(x, self.shift + divergence.bits) for x in support[place]]
            powers = [exp.up(logit) for logit in logits]
            others = total - sum(power_at(highest, label, place, one) for label in counts)
            found[index] = divergence.bound(
                others + sum(powers), logits, powers, list(counts.values()), radius
            )
        return found


def first_of(part: tuple[int, int, int]) -> int:
    return part[0]


def power_at(highest: dict[int, tuple[list[int], list[int]]], token: int, at: int, one: int) -> int:
    """What the token counts with in the sum of all exponentials at this place."""
    if token not in highest:
        return one
    starts, powers = highest[token]
    return powers[bisect.bisect_right(starts, at) - 1]


TAIL = 512  # bits of tails
FAR = 2**14  # arguments, in 64ths, beyond which a tail is not made smaller


@functools.lru_cache(maxsize=2**15)
def tail(activation: str, far: int) -> int:
    """At least the distance between the activation and its limit where |x| >= A = far / 64, in
    units of 2**-TAIL: logistic e^-A, as 1 / (1 + e^A) is less; tanh 2 e^-2A, as 2 / (1 + e^2A) is;
    erf e^-A^2, as erfc(A) = 2 / sqrt(pi) times the integral of e^-(A + t)^2 from 0 is, which is at
    most that of e^-A^2 e^-t^2; gelu e^(-A^2/2) / sqrt(2 pi), as x Phi(-x) is for x > 0 (Mills), and
    0.4 > 1 / sqrt(2 pi)."""
    exp = exponential(TAIL)
    a = far << TAIL - 6
    if activation == "logistic":
        return exp.up(-a)
    if activation == "tanh":
        return 2 * exp.up(-2 * a)
    square = far * far << TAIL - 12
    return exp.up(-square) if activation == "erf" else 2 * exp.up(-square // 2) // 5 + 1


# ---------------------------------------------------------------- all divergences


@dataclass
class Bound:
    """A bound of a context's divergence; `sharp` if the divergence itself is not much smaller."""

    value: Fraction
    sharp: bool


def divergence_bounds(decoder: Decoder, contexts: list[Context], gap: Fraction) -> list[Bound]:
    """A bound for each context, by the short proof if the decoder is steep; what that leaves above
    the gap is bounded neuron by neuron, as far as the time allows."""
    reason = "the short proof does not reach the gap"
    found: dict[int, Bound] = {}
    try:
        if not decoder.shape.neurons:
            raise NotSteep("the short proof is for neurons")
        short = Steep(decoder, contexts, gap).bounds()
        found = {i: Bound(value, False) for i, value in enumerate(short)}
    except NotSteep as why:
        reason = str(why)
    left = [i for i in range(len(contexts)) if i not in found or found[i].value > gap]
    if not left:
        return list(found.values())
    dense = Dense(decoder, gap) if decoder.shape.neurons else Heads(decoder, gap)
    seconds = dense.seconds([contexts[i] for i in left])
    if seconds > SECONDS:
        if not found:
            refuse(
                f"bounding {len(left)} divergences would take about {duration(seconds)} "
                f"({reason}); --sample K checks K contexts"
            )
        left = left[: int(len(left) * SECONDS / seconds)]
    values = dense.bounds([contexts[i] for i in left]) if left else []
    for i, value in zip(left, values, strict=True):
        found[i] = Bound(value, True)
    return [found[i] for i in range(len(contexts))]


def duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.3g} minutes"


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

    @property
    def raw(self) -> dict[str, Any]:
        return self.config.raw

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return self.parameters.counts


@dataclass
class LanguageModel:
    """A folder that holds a decoder."""

    raw: dict[str, Any]
    decoder: Decoder
    words: list[str | int]
    gap: Fraction
    contexts: int  # as config.json says
    certificate: dict[str, Any]
    hashes: dict[str, str]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return self.decoder.counts


def read_model(directory: str) -> Model | LanguageModel:
    """Everything in the folder, or a refusal."""
    if os.path.isfile(directory):
        return read_packed_model(read_bytes(directory, JSON_LIMIT, follow=True))
    if not os.path.isdir(directory):
        refuse(f"{show(directory)} is not a folder")
    content = {
        name: read_bytes(os.path.join(directory, name), JSON_LIMIT)
        for name in (*TEXTS, "certificate.json")
    }
    raw = read_raw_config(content["config.json"])
    file = Weights(os.path.join(directory, "weights.safetensors"))
    if "decoder" in raw:
        return read_language_model(raw, content, file)
    certificate = read_certificate(content["certificate.json"], "labels")
    config = read_config(raw)
    parameters = read_parameters(file, config)
    return Model(
        config,
        parameters,
        Network(config, parameters),
        *read_vocabulary(content["vocabulary.json"], config),
        certificate,
        hashes_of(content, file),
    )


def read_packed_model(content: bytes) -> Model:
    """The model of a packed file (section 11), judged as that of a folder."""
    packed = beside("packed").read_packed(content)
    config = read_config(packed.config)
    sparse = "sparse_attention" in config.mixing
    connections = read_connections(packed.connections, config) if sparse else []
    for entries in packed.tensors if config.number == "float64" else ():
        for _, _, mantissa, exponent in entries:
            digits = mantissa.bit_length()
            if digits > 53 or exponent < -1074 or digits + exponent > 1024:
                refuse("packed model: a number is no double, and it says that all are")
    parameters = Parameters(packed.tensors, connections, count(packed.tensors, config))
    config.raw.update(parameters.counts)  # nothing is said of them
    words = read_vocabulary(json.dumps(packed.vocabulary).encode(), config)
    certificate = read_certificate(json.dumps(packed.certificate).encode(), "labels")
    hashes = dict.fromkeys(FILES, packed.digest)
    return Model(config, parameters, Network(config, parameters), *words, certificate, hashes)


def hashes_of(content: dict[str, bytes], file: Weights) -> dict[str, str]:
    found = {name: hashlib.sha256(content[name]).hexdigest() for name in TEXTS}
    return {**found, "weights.safetensors": file.sha256}


def read_language_model(
    raw: dict[str, Any], content: dict[str, bytes], file: Weights
) -> LanguageModel:
    certificate = read_certificate(content["certificate.json"], "distributions")
    gap, shape = read_gap(certificate), read_shape(raw)
    data = get(raw, "data", dict, "config.json")
    contexts = get(data, "contexts", int, "config.json, data")
    words = read_words(content["vocabulary.json"], shape)
    decoder = read_decoder(file, shape)
    hashes = hashes_of(content, file)
    return LanguageModel(raw, decoder, words, gap, contexts, certificate, hashes)


def structure_failures(model: Model | LanguageModel) -> list[str]:
    """Where the certificate and the config disagree with the files and with each other."""
    certificate, raw = model.certificate, model.raw
    found = [
        f"the sha256 of {name} is not the one in certificate.json"
        for name in FILES
        if certificate["files"][name] != model.hashes[name]
    ]
    for group, counts in model.counts.items():
        given = get(raw, group, dict, "config.json")
        for key, number in counts.items():
            if get(given, key, int, f"config.json, {group}") != number:
                found.append(f"config.json: {group}.{key} is {show(given[key])}, counted {number}")
    claim = read_data_claim(certificate, "certificate.json")
    if read_data_claim(raw, "config.json") != claim:
        found.append("config.json and certificate.json name different data")
    if read_change(certificate, "certificate.json") not in (None, claim[0]):
        found.append("certificate.json names different data for its change")
    if isinstance(model, LanguageModel):
        return found + context_evidence_failures(certificate, model.contexts)
    return found + evidence_failures(certificate, None if model.config.every else claim[1])


def context_evidence_failures(certificate: dict[str, Any], contexts: int) -> list[str]:
    """Whether the certificate claims that all contexts are proved or observed, or that some were
    sampled."""
    verified = certificate["verified"]
    checked, correct, evidence = (verified[key] for key in ("checked", "correct", "evidence"))
    whole = evidence in ("proved", "observed") and checked == contexts
    if 1 <= checked == correct and (whole or (evidence == "sampled" and checked < contexts)):
        return []
    return [
        "certificate.json does not claim that all contexts are proved or observed, or that some "
        "are sampled"
    ]


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


def identity_failures(certificate: dict[str, Any], data: Data) -> list[str]:
    """Where the data is not what the certificate speaks of."""
    sha256, sequences = read_data_claim(certificate, "certificate.json")
    found = []
    if data.sha256 != sha256:
        found.append(f"the sha256 of the data is {data.sha256}, not the one in certificate.json")
    if len(data.sequences) != sequences:
        found.append(
            f"the data has {len(data.sequences)} sequences, certificate.json says {show(sequences)}"
        )
    return found


def data_failures(model: Model, data: Data) -> list[str]:
    """Where the data is not what the certificate and the network speak of."""
    found, given = identity_failures(model.certificate, data), model.config.input
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


UNKNOWN = -1  # the number of a word that the vocabulary lacks


def contexts_of(model: LanguageModel, data: Data) -> list[Context]:
    """The distinct sequences, with what follows them and how often."""
    shape = model.decoder.shape
    number: dict[Any, int] = {word: place for place, word in enumerate(model.words)}
    if shape.padding is not None:
        del number[model.words[shape.padding]]  # it is no word
    words = [token if data.kind == "string" else token[0] for token in data.tokens]
    tokens = [number.get(word, UNKNOWN) for word in words]
    labels = [number.get(label, UNKNOWN) for label in data.labels]
    found: dict[tuple[int, ...], Context] = {}
    for index, (sequence, (answer,)) in enumerate(zip(data.sequences, data.answers, strict=True)):
        key, label = tuple(sequence), labels[answer]
        if key not in found:
            found[key] = Context(index, [tokens[place] for place in key], {})
            found[key].failure = token_failure(model, [words[place] for place in key], found[key])
            if shape.padding is not None:
                found[key].tokens[:0] = [shape.padding] * (shape.length - len(key))
        context = found[key]
        if label == UNKNOWN and context.failure is None:
            context.failure = f"{show(data.labels[answer])} is not in the vocabulary"
        context.counts[label] = context.counts.get(label, 0) + data.counts[index]
    return list(found.values())


def token_failure(model: LanguageModel, words: list, context: Context) -> str | None:
    """Why the decoder cannot read these words, or None if it can."""
    if not 1 <= len(words) <= model.decoder.shape.length:
        reads = f"the decoder reads 1 to {model.decoder.shape.length}"
        return f"it has {len(words)} tokens, {reads}"
    if UNKNOWN in context.tokens:
        return f"{show(words[context.tokens.index(UNKNOWN)])} is not in the vocabulary"
    return None


@dataclass
class Report:
    """settled  whether the failures are facts, and not only what could not be shown
    unit     what is checked: labels, contexts, or answers of a stock checkpoint
    largest  the largest bound of a divergence
    about    of a stock checkpoint: whether the data was texts or tokens
    skipped  texts of fewer than two tokens, which hold no prediction
    model    of executions, which FORMAT.md describes in section 10"""

    checked: int = 0
    correct: int = 0
    failures: list[str] = field(default_factory=list)
    verdict: str = "NOT VERIFIED"
    settled: bool = True
    unit: str = "labels"
    largest: Fraction | None = None
    about: str | None = None
    skipped: int = 0
    model: str = "error model"

    @property
    def evidence(self) -> str | None:
        if self.verdict == "NOT VERIFIED" and not self.settled:
            return None
        words = {"VERIFIED": "proved", "SAMPLED": "sampled", "NOT VERIFIED": "refuted"}
        return words.get(self.verdict)


def check(
    directory: str, path: str | None = None, sample: int | None = None, seed: int = 0
) -> Report:
    """The verdict on a folder and its data. Raises Refusal for what is not readable."""
    if recites(directory):
        report = beside("check_stock").check_stock(directory, path, sample, seed)
    else:
        model = read_model(directory)
        report = Report(failures=structure_failures(model))
        if path is not None:
            data = read_data(path)
            if isinstance(model, LanguageModel):
                report.unit = "contexts"
                check_distributions(model, data, report, sample, seed)
            else:
                check_labels(model, data, report, sample, seed)
    if not report.failures:
        report.verdict = (
            "STRUCTURE OK" if path is None else "VERIFIED" if sample is None else "SAMPLED"
        )
    return report


def recites(directory: str) -> bool:
    """Whether the folder holds a stock checkpoint (section 10)."""
    try:
        content = read_bytes(os.path.join(directory, "certificate.json"), JSON_LIMIT)
        claim = parse_object(content, "certificate.json").get("claim")
    except Refusal:  # it is told again, in its turn
        return False
    if claim == "taught":
        refuse("a taught checkpoint is checked against its base: add --base MODEL (section 12)")
    return claim in ("recites", "draws")


def beside(name: str) -> ModuleType:
    """A file beside this one, which needs this very module under its name: a script runs under
    another one, and `python -I` leaves its folder out of the path."""
    if __package__:
        return importlib.import_module(f".{name}", __package__)
    if __name__ == "__main__":
        sys.modules["check"] = sys.modules["__main__"]
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    return importlib.import_module(name)


def check_labels(model: Model, data: Data, report: Report, sample: int | None, seed: int) -> None:
    report.failures += data_failures(model, data)
    if fits(model, data):
        evaluate(model, data, report, chosen(len(data.sequences), sample, seed))


def check_distributions(
    model: LanguageModel, data: Data, report: Report, sample: int | None, seed: int
) -> None:
    report.failures += identity_failures(model.certificate, data)
    kind = model.decoder.shape.kind
    if data.every:
        report.failures.append("the data has a label for every token, a decoder has one a sequence")
        return
    if data.kind != kind:
        report.failures.append(f"the data holds {data.kind}s, the decoder reads {kind}s")
        return
    contexts = contexts_of(model, data)
    if len(contexts) != model.contexts:
        report.failures.append(
            f"the data has {len(contexts)} contexts, config.json says {show(model.contexts)}"
        )
    bound_contexts(model, data, report, [contexts[i] for i in chosen(len(contexts), sample, seed)])


def bound_contexts(
    model: LanguageModel, data: Data, report: Report, contexts: list[Context]
) -> None:
    """Bound the divergences; a context without one counts as a failure."""
    asked = [context for context in contexts if context.failure is None]
    bounds = divergence_bounds(model.decoder, asked, model.gap) if asked else []
    unsettled = 0
    for context, bound in zip(asked, bounds, strict=True):
        if bound.value > model.gap:
            context.failure = divergence_failure(bound, model.certificate["gap"])
            unsettled += not bound.sharp
    wrong = [context for context in contexts if context.failure is not None]
    report.checked, report.correct = len(contexts), len(contexts) - len(wrong)
    report.largest = max((bound.value for bound in bounds), default=None)
    report.settled = bool(report.failures) or len(wrong) > unsettled
    for context in wrong[: SHOWN + 1]:
        tokens = show(data.input(context.first))
        report.failures.append(f"sequence {context.first} {tokens}: {context.failure}")


def divergence_failure(bound: Bound, gap: str) -> str:
    if bound.sharp:
        return f"the divergence is {about(bound.value)}, the gap {gap}"
    return f"the divergence cannot be shown to be at most {gap}, only {about(bound.value)}"


def about(value: Fraction) -> str:
    return f"{float(value):.6g}" if value < 10**300 else "more than 1e300"


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
        answer = {
            "verdict": report.verdict,
            "checked": report.checked,
            "correct": report.correct,
            "evidence": report.evidence,
            "failures": report.failures[:SHOWN],
        }
        if report.largest is not None:
            answer["divergence"] = rounded_up(report.largest)
        if report.about is not None:
            answer |= {"about": report.about, "skipped": report.skipped}
        print(json.dumps(answer))
        return
    print(report.verdict + sentence(report))
    for failure in report.failures[:SHOWN]:
        print(f"  {failure}")
    if len(report.failures) > SHOWN:
        print("  and more")


def sentence(report: Report) -> str:
    if report.verdict == "STRUCTURE OK":
        return ", no data checked"
    if not report.checked:
        return f": no {report.unit.removesuffix('s')} was checked"
    if report.unit == "labels":
        right, all_of_them = "labels are right", "every sequence was evaluated in exact integers"
    elif report.unit == "answers":
        right = f"answers are right in every execution within the {report.model} of FORMAT 10"
        all_of_them = "every logit was enclosed in integers"
        if report.about == "tokens":
            all_of_them += "; this is about tokens, the text was not checked"
        if report.skipped:
            all_of_them += f"; texts of fewer than two tokens, not claimed: {report.skipped}"
    else:
        right = "contexts are within the gap"
        if report.about is not None:  # of a stock checkpoint
            right += f" in every execution within the {report.model} of FORMAT 10"
        largest = None if report.largest is None else rounded_up(report.largest)
        all_of_them = f"every divergence was bounded in integers, the largest by {largest} nats"
        if report.about == "tokens":
            all_of_them += "; this is about tokens, the text was not checked"
    others = "contexts" if report.unit == "contexts" else "sequences"
    rest = {
        "VERIFIED": f", {all_of_them}",
        "SAMPLED": f"; the other {others} were not evaluated, this is no proof",
        "NOT VERIFIED": "",
    }
    return f": {report.correct} of {report.checked} {right}{rest[report.verdict]}"


def rounded_up(value: Fraction) -> float | None:
    """A double that is at least the value; None if it is beyond them."""
    try:
        return math.nextafter(float(value), math.inf)
    except OverflowError:
        return None


def positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Check a byheart model folder in integers.")
    parser.add_argument("directory", metavar="DIR", help="the model folder, or a packed file")
    parser.add_argument("data", metavar="DATA", nargs="?", help="its data, .jsonl or .npz")
    parser.add_argument(
        "--sample", metavar="K", type=positive, help="only K random sequences or contexts"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="which K of them")
    parser.add_argument(
        "--base", metavar="MODEL", help="of a taught checkpoint: what it was before"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    given = parser.parse_args(argv)
    if given.sample and not given.data:
        parser.error("--sample needs DATA")
    return given


def main(argv: list[str] | None = None) -> int:
    try:
        given = arguments(argv)
        if given.base:
            words = [given.directory, "--base", given.base, *(["--json"] if given.json else [])]
            return int(beside("check_taught").main(words))
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
        try:
            print_report(report, given.json)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read it has seen enough; Python must not complain again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1 if report.failures else 0
    print(f"check: {sentence}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
