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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NoReturn

FILES = ("config.json", "weights.safetensors", "vocabulary.json")
SIZE_LIMIT = 2**20  # length, dimension, width, hidden, head_dimension, number of layers
DYADIC_LIMIT = 2**22  # exponents, and bits of a mantissa
VALUE_LIMIT = 2**23  # bits of a value met while evaluating
JSON_LIMIT = 2**30  # bytes
ARRAY_LIMIT = 2**32  # bytes of an array in .npz once unpacked: a small file can swell
INT64 = range(-(2**63), 2**63)
SHOWN = 10  # failures that are told one by one

Dyadic = tuple[int, int]  # (mantissa, exponent), canonical: odd mantissa, or (0, 0)
Entry = tuple[int, int, int]  # (row or column, mantissa, exponent)
Parameter = tuple[int, int, int, int]  # (row, column, mantissa, exponent)
Column = dict[int, Dyadic]  # one column of the matrix; a lane that is zero is absent
ZERO: Dyadic = (0, 0)


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


@dataclass
class Config:
    raw: dict[str, Any]
    kind: str
    dimension: int
    length: int
    positions: bool
    padding: tuple[Dyadic, ...]
    labels: int
    unknown: int | None
    width: int
    layers: list[str] = field(default_factory=list)  # the kind of each layer
    shapes: list[tuple[int, int, int]] = field(default_factory=list)  # layer, rows, columns


def read_config(content: bytes) -> Config:
    raw = parse_object(content, "config.json")
    expect(raw, "format", "byheart-model", "config.json")
    expect(raw, "version", 1, "config.json")
    expect(raw, "number", "dyadic", "config.json")
    config = Config(
        raw,
        *read_input(get(raw, "input", dict, "config.json")),
        *read_output(get(raw, "output", dict, "config.json")),
        get_size(raw, "width", "config.json"),
    )
    read_layers(config, get(raw, "layers", list, "config.json"))
    return config


def read_input(given: dict[str, Any]) -> tuple[str, int, int, bool, tuple[Dyadic, ...]]:
    where = "config.json, input"
    kind = get(given, "kind", str, where)
    if kind not in ("string", "number", "vector"):
        refuse(f"{where}: the kind {show(kind)} is not known")
    dimension, length = get_size(given, "dimension", where), get_size(given, "length", where)
    if kind != "vector" and dimension != 1:
        refuse(f"{where}: a {kind} has dimension 1, not {dimension}")
    padding = get(given, "padding", list, where)
    if len(padding) != dimension:
        refuse(f"{where}: padding has {len(padding)} coordinates, not {dimension}")
    numbers = tuple(read_dyadic(pair, f"{where}, padding") for pair in padding)
    return kind, dimension, length, get(given, "positions", bool, where), numbers


def read_output(given: dict[str, Any]) -> tuple[int, int | None]:
    labels = get(given, "labels", int, "config.json, output")
    if labels < 1:
        refuse(f"config.json, output: {show(labels)} labels")
    if given.get("unknown") is None:
        return labels, None
    expect(given, "unknown", labels, "config.json, output")
    return labels, labels


def read_layers(config: Config, layers: list[Any]) -> None:
    """Fill in the kinds of the layers and the shapes of the parameter tensors, in their order."""
    if not 2 <= len(layers) <= SIZE_LIMIT:
        refuse(f"config.json: {len(layers)} layers, not between 2 and 2^20")
    first, last = (config.width, config.dimension + config.positions), (1, config.width)
    ends = {0: first, len(layers) - 1: last}
    for number, layer in enumerate(layers):
        where = f"config.json, layer {number}"
        if not isinstance(layer, dict):
            refuse(f"{where} is not an object")
        kind = get(layer, "kind", str, where)
        if (kind == "linear") != (number in ends):
            refuse(f"{where}: the first and the last layer, and no other, are linear")
        config.layers.append(kind)
        config.shapes += [
            (number, *shape) for shape in layer_shapes(layer, config.width, ends.get(number), where)
        ]


def layer_shapes(
    layer: dict[str, Any], width: int, end: tuple[int, int] | None, where: str
) -> list[tuple[int, int]]:
    """The shapes of one layer's tensors, in the order of the table of section 3."""
    if end:
        expect(layer, "rows", end[0], where)
        expect(layer, "columns", end[1], where)
        return [end, (end[0], 1)]
    if layer["kind"] == "feed_forward":
        hidden = get_size(layer, "hidden", where)
        return [(hidden, width), (hidden, 1), (width, hidden), (width, 1)]
    if layer["kind"] == "uniform_attention":
        head = get_size(layer, "head_dimension", where)
        return [(head, width), (width, head)]
    refuse(f"{where}: the kind {show(layer['kind'])} is not known")


# ---------------------------------------------------------------- weights (section 4)

TENSORS = {
    "tensor": ("I32", "i", 4),
    "row": ("I32", "i", 4),
    "column": ("I32", "i", 4),
    "exponent": ("I32", "i", 4),
    "negative": ("U8", "B", 1),
    "start": ("I64", "q", 8),
    "limbs": ("U64", "Q", 8),
}


def read_safetensors(content: bytes) -> dict[str, bytes]:
    """The bytes of each tensor of the table; together they fill the file without holes."""
    name = "weights.safetensors"
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        refuse(f"{name} is truncated: its header does not fit into {len(content)} bytes")
    header, data = parse_object(content[8 : 8 + length], f"{name}, header"), content[8 + length :]
    header.pop("__metadata__", None)
    if set(header) != set(TENSORS):
        refuse(f"{name} names the tensors {show(sorted(header))}, not {show(sorted(TENSORS))}")
    places = {key: read_place(header[key], key) for key in TENSORS}
    end = 0
    for key, (begin, stop) in sorted(places.items(), key=lambda item: item[1]):
        if begin != end:
            refuse(f"{name}: there is a hole or an overlap before {key}")
        end = stop
    if end != len(data):
        refuse(f"{name} holds {len(data)} bytes of data, its header says {show(end)}")
    return {key: data[begin:stop] for key, (begin, stop) in places.items()}


def read_place(given: Any, key: str) -> tuple[int, int]:
    where = f"weights.safetensors, {key}"
    if not isinstance(given, dict):
        refuse(f"{where} is not described by an object")
    expect(given, "dtype", TENSORS[key][0], where)
    shape, place = get(given, "shape", list, where), get(given, "data_offsets", list, where)
    whole_numbers = all(type(n) is int and n >= 0 for n in shape + place)
    if len(shape) != 1 or len(place) != 2 or not whole_numbers:
        refuse(f"{where} has shape {show(shape)} and place {show(place)}")
    if place[1] - place[0] != shape[0] * TENSORS[key][2]:
        refuse(f"{where}: shape {show(shape)} does not fill the place {show(place)}")
    return place[0], place[1]


def little_endian(code: str, content: bytes) -> array:
    numbers = array(code, content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


@dataclass
class Parameters:
    """The nonzero entries of each parameter tensor as (row, column, mantissa, exponent)."""

    tensors: list[list[Parameter]]
    counts: dict[str, dict[str, int]]


def read_parameters(content: bytes, config: Config) -> Parameters:
    parts = read_safetensors(content)
    arrays = {key: little_endian(TENSORS[key][1], part) for key, part in parts.items()}
    check_lengths(arrays)
    tensors: list[list[Parameter]] = [[] for _ in config.shapes]
    before = (-1, -1, -1)
    places = zip(arrays["tensor"], arrays["row"], arrays["column"], strict=True)
    for index, place in enumerate(places):
        if place <= before:
            refuse(f"weights.safetensors: parameter {index} is out of order")
        before = place
        tensor, row, column = place
        if not (
            0 <= tensor < len(tensors)
            and 0 <= row < config.shapes[tensor][1]
            and 0 <= column < config.shapes[tensor][2]
        ):
            refuse(f"weights.safetensors: parameter {index} lies outside its tensor")
        tensors[tensor].append((row, column, *read_number(index, arrays, parts["limbs"])))
    return Parameters(tensors, count(tensors, config))


def check_lengths(arrays: dict[str, array]) -> None:
    size, start = len(arrays["tensor"]), arrays["start"]
    if any(len(arrays[key]) != size for key in ("row", "column", "exponent", "negative")):
        refuse("weights.safetensors: the tensors have different lengths")
    if len(start) != size + 1 or start[0] != 0 or start[-1] != len(arrays["limbs"]):
        refuse("weights.safetensors: start does not run from 0 to the length of limbs")
    if any(begin >= end for begin, end in pairwise(start)):
        refuse("weights.safetensors: start does not increase")


def read_number(index: int, arrays: dict[str, array], limbs: bytes) -> Dyadic:
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


def count(tensors: list[list[Parameter]], config: Config) -> dict:
    """The counts of section 4."""
    ends = (0, len(config.layers) - 1)
    sizes = [len(entries) for entries in tensors]
    outside = sum(s for s, shape in zip(sizes, config.shapes, strict=True) if shape[0] in ends)
    numbers = [(m.bit_length(), e) for entries in tensors for _, _, m, e in entries]
    fixed = [fixed_bits(digits, e) for digits, e in numbers]
    total = sum(1 + digits + (1 + abs(e).bit_length() if e else 0) for digits, e in numbers)
    return {
        "parameters": {
            "nonzero": sum(sizes),
            "counted": sum(sizes) - outside,
            "outside": outside,
            "dense": sum(rows * columns for _, rows, columns in config.shapes),
        },
        "bits": {"total": total, "fixed": sum(fixed), "largest": max(fixed, default=0)},
    }


# ---------------------------------------------------------------- vocabulary and certificate


def read_vocabulary(content: bytes, config: Config) -> tuple[list[str], list[str | int]]:
    name = "vocabulary.json"
    raw = parse_object(content, name)
    tokens: list[str] = []
    if config.kind == "string":
        tokens = get(raw, "tokens", list, name)
        if not all(isinstance(token, str) for token in tokens):
            refuse(f"{name}: a token is not a string")
        if any(first >= second for first, second in pairwise(tokens)):
            refuse(f"{name}: the tokens are not distinct and sorted by code point")
    elif "tokens" not in raw or raw["tokens"] is not None:
        refuse(f"{name}: tokens must be null for kind {config.kind}")
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
    tokens: list[Any]  # distinct, sorted: strings, or tuples of numbers
    labels: list[Any]  # distinct, sorted
    sequences: list[list[int]]  # places in tokens
    answers: list[int]  # places in labels
    counts: list[int]
    sha256: str = ""

    def input(self, index: int) -> list[Any]:
        """The tokens of one sequence, as the file spells them."""
        tokens = (self.tokens[place] for place in self.sequences[index])
        return [token[0] if self.kind == "number" else token for token in tokens]


Row = tuple[list[Any], Any, int]  # tokens, label, count


def read_data(path: str) -> Data:
    readers = {".jsonl": read_jsonl, ".npz": read_npz}
    reader = readers.get(os.path.splitext(path)[1])
    if reader is None:
        refuse(f"{show(path)}: the checker reads .jsonl and .npz")
    kind, dimension, rows = reader(path)
    if not rows:
        refuse(f"{show(path)} holds no sequences")
    labels = [label for _, label, _ in rows]
    if not one_type(labels):
        refuse(f"{show(path)}: the labels are not all strings or all integers")
    if isinstance(labels[0], int) and max(map(abs, labels)).bit_length() > 2**13:
        refuse(f"{show(path)}: a label has more than 2^13 bits")
    tokens, labels = sorted(set(chain(*(row[0] for row in rows)))), sorted(set(labels))
    place = {token: index for index, token in enumerate(tokens)}
    answer = {label: index for index, label in enumerate(labels)}
    data = Data(
        kind,
        dimension,
        tokens,
        labels,
        [[place[t] for t in row[0]] for row in rows],
        [answer[row[1]] for row in rows],
        [row[2] for row in rows],
    )
    data.sha256 = data_hash(data)
    return data


def read_jsonl(path: str) -> tuple[str, int, list[Row]]:
    rows: list[Row] = []
    kinds: set[tuple[str, int]] = set()
    for number, line in enumerate(read_bytes(path, follow=True).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{os.path.basename(path)!a}, line {number}"
        raw = parse_object(line, where)
        tokens = [read_token(token, where) for token in get(raw, "input", list, where)]
        kinds.update((kind, dimension) for kind, dimension, _ in tokens)
        if type(raw.get("label")) not in (str, int):
            refuse(f"{where}: the label {show(raw.get('label'))} is not a string or an integer")
        times = get(raw, "count", int, where) if "count" in raw else 1
        if not 1 <= times < 2**63:
            refuse(f"{where}: the count is {show(times)}")
        rows.append(([token for _, _, token in tokens], raw["label"], times))
    if rows and len(kinds) != 1:
        refuse(f"{show(path)}: the tokens are not all strings, all numbers or vectors of one size")
    return (*(kinds.pop() if kinds else ("string", 1)), rows)


def read_token(token: Any, where: str) -> tuple[str, int, Any]:
    """The kind, the dimension and the token itself; a number becomes a tuple of one number."""
    if isinstance(token, str):
        return "string", 1, token
    vector = tuple(token) if isinstance(token, list) else (token,)
    if not vector or not all(type(x) in (int, float) and is_finite(x) for x in vector):
        refuse(f"{where}: {show(token)} is no string, finite number or vector of such numbers")
    return "vector" if isinstance(token, list) else "number", len(vector), vector


def is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def read_npz(path: str) -> tuple[str, int, list[Row]]:
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
    if len(shape) not in (2, 3) or labels_shape != shape[:1] or 0 in shape:
        refuse(f"{show(path)}: inputs {shape} and labels {labels_shape} do not fit together")
    if not all(map(is_finite, values)):
        refuse(f"{show(path)}: inputs holds a value that is not finite")
    size, dimension = shape[1], shape[2] if len(shape) == 3 else 1
    vectors = list(zip(*[iter(values)] * dimension, strict=True))
    rows = [(vectors[i * size : (i + 1) * size], label, 1) for i, label in enumerate(labels)]
    return "number" if len(shape) == 2 else "vector", dimension, rows


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
    digest = hashlib.sha256(f"byheart-data-1\n{data.kind}\n".encode())
    for part in chain(token_bytes(data), ((json.dumps(x) + "\n").encode() for x in data.labels)):
        digest.update(part)
    for numbers in (map(len, data.sequences), chain(*data.sequences), data.answers, data.counts):
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


def accumulate(column: Column, lane: int, mantissa: int, exponent: int) -> None:
    """Add to one lane; the caller makes the lane canonical when all is added."""
    total, low = column.get(lane, ZERO)
    if not total:
        column[lane] = mantissa, exponent
    elif exponent >= low:
        column[lane] = total + (mantissa << (exponent - low)), low
    else:
        column[lane] = (total << (low - exponent)) + mantissa, exponent


def settle(column: Column, lanes: Iterable[int]) -> None:
    for lane in lanes:
        column[lane] = canonical(*column[lane])
        if not column[lane][0]:
            del column[lane]


def by_row(entries: list[Parameter]) -> dict[int, list[Entry]]:
    rows = defaultdict(list)
    for row, column, mantissa, exponent in entries:
        rows[row].append((column, mantissa, exponent))
    return rows


def by_column(entries: list[Parameter]) -> dict[int, list[Entry]]:
    return by_row([(column, row, m, e) for row, column, m, e in entries])


def vector(entries: list[Parameter]) -> Column:
    return {row: (mantissa, exponent) for row, _, mantissa, exponent in entries}


class Linear:
    def __init__(self, weight: list, bias: list) -> None:
        rows, constants = by_row(weight), vector(bias)
        self.rows = [
            (row, rows.get(row, []), constants.get(row, ZERO))
            for row in sorted({*rows, *constants})
        ]

    def apply(self, column: Column) -> Column:
        found = {row: affine(entries, bias, column) for row, entries, bias in self.rows}
        return {row: value for row, value in found.items() if value[0]}


class FeedForward:
    def __init__(self, first: list, bias: list, second: list, constants: list) -> None:
        rows, biases = by_row(first), vector(bias)
        self.units = [
            (rows.get(unit, []), biases.get(unit, ZERO), outgoing)
            for unit, outgoing in by_column(second).items()
        ]
        self.constants = vector(constants)

    def apply(self, column: Column) -> Column:
        """The column changed in place: every hidden unit is read before any lane is written."""
        active = []
        for entries, bias, outgoing in self.units:
            hidden, power = affine(entries, bias, column)
            if hidden > 0:
                active.append((hidden, power, outgoing))
        touched = set(self.constants)
        for lane, constant in self.constants.items():
            accumulate(column, lane, *constant)
        for hidden, power, outgoing in active:
            for lane, mantissa, exponent in outgoing:
                accumulate(column, lane, mantissa * hidden, exponent + power)
                touched.add(lane)
        settle(column, touched)
        return column


class UniformAttention:
    """h + W_O W_V mean. W_V is linear, so W_V mean is the sum of the W_V h divided by n."""

    def __init__(self, values: list, output: list, length: int) -> None:
        twos = (length & -length).bit_length() - 1
        odd = length >> twos
        if any(mantissa % odd for _, _, mantissa, _ in output):
            refuse(f"an entry of a W_O is not divisible by {odd}, the odd part of {length}")
        self.values = sorted(by_row(values).items())
        self.output = by_row([(r, c, m // odd, e - twos) for r, c, m, e in output])

    def read(self, column: Column) -> list[tuple[int, Dyadic]]:
        return [(row, affine(entries, ZERO, column)) for row, entries in self.values]

    def change(self, groups: Iterable[tuple[list[tuple[int, Dyadic]], int]]) -> Column:
        """What every column gains, from what each group of equal columns shows and its size."""
        total: Column = {}
        for shown, size in groups:
            for row, (mantissa, exponent) in shown:
                accumulate(total, row, mantissa * size, exponent)
        settle(total, list(total))
        return {lane: affine(entries, ZERO, total) for lane, entries in self.output.items()}


class Network:
    """The layers cut at each attention, and what has been computed once already."""

    def __init__(self, config: Config, tensors: list) -> None:
        self.config = config
        self.attentions: list[UniformAttention] = []
        self.blocks: list[list[Linear | FeedForward]] = [[]]
        of_layer = defaultdict(list)
        for (layer, _, _), entries in zip(config.shapes, tensors, strict=True):
            of_layer[layer].append(entries)
        for layer, kind in enumerate(config.layers):
            if kind == "uniform_attention":
                values, output = of_layer[layer]
                self.attentions.append(UniformAttention(values, output, config.length))
                self.blocks.append([])
            else:
                block = Linear if kind == "linear" else FeedForward
                self.blocks[-1].append(block(*of_layer[layer]))
        self.entered: dict[tuple, int] = {}  # (token vector, position) -> number of its column
        self.numbers: dict[tuple, int] = {}
        self.columns: list[Column] = []
        self.shown: list[list[tuple[int, Dyadic]]] = []  # what the first attention reads of each
        self.outputs: dict[bytes, Dyadic] = {}  # a context -> the output

    def output(self, tokens: list[tuple[Dyadic, ...]]) -> Dyadic:
        """The last column's single coordinate. It depends on the last column and the multiset of
        columns that reach the first attention, so it is computed once for each such context."""
        pads = self.config.length - len(tokens)
        last = self.enter(tokens[-1], self.config.length - 1)
        if not self.attentions:
            return self.columns[last].get(0, ZERO)
        groups = Counter(self.enter(token, pads + i) for i, token in enumerate(tokens))
        if pads and self.config.positions:
            groups.update(self.enter(self.config.padding, i) for i in range(pads))
        elif pads:
            groups[self.enter(self.config.padding, 0)] += pads
        context = array("I", [last, *chain(*sorted(groups.items()))]).tobytes()  # compact
        if context not in self.outputs:
            self.outputs[context] = self.mix(last, groups)
        return self.outputs[context]

    def enter(self, token: tuple[Dyadic, ...], position: int) -> int:
        """The number of the column that this token becomes before the first attention."""
        key = (token, position if self.config.positions else 0)
        if key not in self.entered:
            coordinates = (*token, canonical(position, 0)) if self.config.positions else token
            self.entered[key] = self.intern(
                self.run(0, {lane: x for lane, x in enumerate(coordinates) if x[0]})
            )
        return self.entered[key]

    def intern(self, column: Column) -> int:
        number = self.numbers.setdefault(tuple(sorted(column.items())), len(self.columns))
        if number == len(self.columns):
            self.columns.append(column)
            self.shown.append(self.attentions[0].read(column) if self.attentions else [])
        return number

    def run(self, block: int, column: Column) -> Column:
        for layer in self.blocks[block]:
            column = layer.apply(column)
        return column

    def mix(self, last: int, groups: Counter) -> Dyadic:
        """The output, from the columns before the first attention; after the last attention only
        the last column is carried on."""
        final, others = self.columns[last], [(self.columns[i], size) for i, size in groups.items()]
        shown: Iterable = [(self.shown[i], size) for i, size in groups.items()]
        for stage, attention in enumerate(self.attentions, 1):
            change = attention.change(shown)
            final = self.run(stage, shifted(final, change))
            if stage < len(self.attentions):
                others = [(self.run(stage, shifted(c, change)), size) for c, size in others]
                following = self.attentions[stage]
                shown = [(following.read(column), size) for column, size in others]
        return final.get(0, ZERO)


def shifted(column: Column, change: Column) -> Column:
    column = dict(column)
    for lane, amount in change.items():
        accumulate(column, lane, *amount)
    settle(column, change)
    return column


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
        Network(config, parameters.tensors),
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
    verified = certificate["verified"]
    if [verified[key] for key in ("checked", "correct", "evidence")] != [claim[1]] * 2 + ["proved"]:
        found.append(f"certificate.json does not claim that all {show(claim[1])} are proved")
    return found


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
    config = model.config
    if (data.kind, data.dimension) != (config.kind, config.dimension):
        found.append(
            f"the data holds {data.kind}s of dimension {data.dimension}, the network "
            f"reads {config.kind}s of dimension {config.dimension}"
        )
    return found


def exact(value: float) -> Dyadic:
    numerator, denominator = value.as_integer_ratio()
    return canonical(numerator, 1 - denominator.bit_length())


def token_vectors(model: Model, data: Data) -> list[tuple[Dyadic, ...] | None]:
    """The vector of each token of the data; None for a string outside the vocabulary."""
    if data.kind != "string":
        return [tuple(map(exact, token)) for token in data.tokens]
    number = {token: index for index, token in enumerate(model.tokens, 1)}
    return [(exact(number[t]),) if t in number else None for t in data.tokens]


def label_failure(model: Model, data: Data, vectors: list, index: int) -> str | None:
    """Why the network does not answer this sequence with its label, or None if it does."""
    places, wanted = data.sequences[index], data.labels[data.answers[index]]
    if not 1 <= len(places) <= model.config.length:
        return f"it has {len(places)} tokens, the network reads 1 to {model.config.length}"
    tokens = [vectors[place] for place in places]
    if None in tokens:
        return f"{show(data.tokens[places[tokens.index(None)]])} is not in the vocabulary"
    output = model.network.output(tokens)
    number = whole(output)
    if number is not None and number < len(model.labels):
        answer = model.labels[number]
        if answer == wanted:
            return None
        return f"the label is {show(wanted)}, the network answers {show(answer)}"
    if number is not None and number == model.config.unknown:
        return f"the label is {show(wanted)}, the network answers that it is unknown"
    value = show(output[0]) + (f" * 2^{output[1]}" if output[1] else "")
    return f"the label is {show(wanted)}, the network's output {value} is no label"


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
        if (data.kind, data.dimension) == (model.config.kind, model.config.dimension):
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
        failure = label_failure(model, data, vectors, index)
        report.checked += 1
        report.correct += failure is None
        if failure is not None and report.checked - report.correct <= SHOWN:
            report.failures.append(f"sequence {index} {show(data.input(index))}: {failure}")
        if sys.stderr.isatty() and time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            print(f"{report.checked} sequences", end="\r", file=sys.stderr, flush=True)


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
            "NOT VERIFIED": labels if report.checked else ": no sequence was evaluated",
        }[report.verdict]
    )
    for failure in report.failures[:SHOWN]:
        print(f"  {failure}")
    if report.checked - report.correct > SHOWN or len(report.failures) > SHOWN:
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
