"""Does this network give the labels of this data? The evaluation is a program that is proved.

Usage: python verified_check.py FOLDER DATA.jsonl|DATA.npz [--json]. Exit code 0: CHECKED; 1:
readable, but the claim does not hold; 2: not readable, not for this checker, or the program is not
built (python build.py). Standard library only; it shares no code with the other checkers.

This file reads a folder and its data (sections 2 to 6 of ../FORMAT.md), and writes them as numbers
for the program, which Sound.v proves to be right about Spec.v. It also compares the hashes of the
files and of the data with the certificate. It does not judge counts of parameters, nor the rules
of float64 runs: those are the other checkers'. What the program read is printed as it counted it.
"""

import ast
import hashlib
import json
import math
import re
import resource
import struct
import subprocess
import sys
import zipfile
import zlib
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(__file__).resolve().parent / "build" / "verified"
SIZE = 2**20  # the largest size that section 2 allows
DIGITS = 1_262_612  # of an integer in JSON
MEMORY = 2**33  # bytes that the program may take
NAMES = ("config.json", "weights.safetensors", "vocabulary.json")
READ = ("layers", "parameters", "sequences", "tokens", "labels")
KINDS = "linear embedding relu feed_forward uniform_attention sparse_attention hard_attention sum"


class Refusal(Exception):
    """Not readable, or not for this checker: exit code 2."""


class Failure(Exception):
    """Readable, and something does not hold: exit code 1."""


def demand(holds, sentence):
    if not holds:
        raise Refusal(sentence)


# ---------- JSON and numbers


def parse(raw, what):
    """A JSON object; a key that stands twice, NaN and Infinity are refused."""

    def once(pairs):
        keys = [key for key, _ in pairs]
        demand(len(keys) == len(set(keys)), f"{what}: a key stands twice")
        return dict(pairs)

    def constant(word):
        raise Refusal(f"{what}: {word} is no number of JSON")

    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=once, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{what} is not JSON in UTF-8") from error
    demand(isinstance(value, dict), f"{what} holds no object")
    return value


def integer(parent, key, low=1, high=SIZE):
    value = parent.get(key)
    demand(type(value) is int and low <= value <= high, f"{key} is not an integer of its range")
    return value


def boolean(parent, key, default=None):
    value = parent.get(key, default)
    demand(type(value) is bool, f"{key} is neither true nor false")
    return value


def section(parent, key):
    demand(isinstance(parent.get(key), dict), f"{key} is missing, or no object")
    return parent[key]


class Number(NamedTuple):
    """mantissa * 2**exponent."""

    mantissa: int
    exponent: int


def number(value):
    """An int or a finite float."""
    top, bottom = value.as_integer_ratio()
    return Number(top, 1 - bottom.bit_length())


def from_pair(pair):
    demand(isinstance(pair, list) and len(pair) == 2, "a dyadic number is not a pair")
    for part in pair:
        text = isinstance(part, str) and len(part) <= DIGITS and re.fullmatch("-?[0-9]+", part)
        demand(type(part) is int or text, "a part of a dyadic number is no integer")
    mantissa, exponent = map(int, pair)
    demand(mantissa.bit_length() <= 2**22 and abs(exponent) <= 2**22, "a number is too long")
    return Number(mantissa, exponent)


# ---------- The folder


class Layer(NamedTuple):
    kind: str
    before: int  # rows
    rows: int  # after it
    inner: int  # hidden units, or rows of a head
    heads: int
    connections: int
    shapes: tuple  # of its tensors, in order


class Shape(NamedTuple):
    """What config.json says of a network."""

    kind: str
    dimension: int
    length: int
    positions: bool
    padding: list | None
    extra: list | None
    every: bool
    labels: int
    doubles: bool
    layers: list

    @property
    def columns(self):
        return self.length + (self.extra is not None)


def read_layer(entry, before):
    demand(isinstance(entry, dict) and entry.get("kind") in KINDS.split(), "a layer has no kind")
    kind, rows, inner, heads, connections = entry["kind"], before, 1, 1, 0
    if kind in ("linear", "embedding", "relu"):
        rows, columns = integer(entry, "rows"), integer(entry, "columns")
        demand(kind != "relu" or columns == before, "columns differ from the rows before")
        before = columns
        shapes = ((rows, columns), (rows, 1))
    elif kind == "feed_forward":
        inner = integer(entry, "hidden")
        shapes = ((inner, rows), (inner, 1), (rows, inner), (rows, 1))
    elif kind == "sum":
        shapes = ()
    else:
        inner = integer(entry, "head_dimension")
        if kind == "hard_attention":
            heads = integer(entry, "heads", high=SIZE // inner)
        if kind == "sparse_attention":
            connections = integer(entry, "connections", low=0, high=2**24)
        wide = (inner * heads, rows)
        shapes = (wide,) * (3 if kind == "hard_attention" else 1) + (wide[::-1],)
    return Layer(kind, before, rows, inner, heads, connections, shapes)


def read_config(config):
    demand(config.get("format") == "byheart-model", "config.json is of another format")
    demand(integer(config, "version", high=2), "another version")
    demand("decoder" not in config, "this is a decoder; the program evaluates exact networks")
    demand(
        "stock" not in config, "this is a stock checkpoint; the program evaluates exact networks"
    )
    demand(config.get("number") in ("dyadic", "float64"), "number is neither dyadic nor float64")
    given, output = section(config, "input"), section(config, "output")
    kind, dimension = given.get("kind"), integer(given, "dimension")
    demand(kind in ("string", "number", "vector"), "the kind of the input is unknown")
    demand(kind == "vector" or dimension == 1, "only vectors have a dimension above 1")

    def column(key):
        pairs = given.get(key)
        fits = pairs is None or isinstance(pairs, list) and len(pairs) == dimension
        demand(fits, f"{key} is no vector of this dimension")
        return None if pairs is None else [from_pair(pair) for pair in pairs]

    demand("padding" in given, "padding is missing")
    labels = integer(output, "labels", high=math.inf)
    demand(output.get("unknown") in (None, labels), "unknown is not the number after the labels")
    demand(type(output.get("unknown")) in (int, type(None)), "unknown is no integer")
    entries = config.get("layers")
    demand(isinstance(entries, list) and 2 <= len(entries) <= SIZE, "there are too few layers")
    positions = boolean(given, "positions")
    layers, rows = [], 0
    for entry in entries:
        layers.append(read_layer(entry, rows))
        rows = layers[-1].rows
    every = False if output.get("every") is None else boolean(output, "every")
    doubles = config["number"] == "float64"
    shape = Shape(
        *(kind, dimension, integer(given, "length"), positions, column("padding")),
        *(column("extra"), every, labels, doubles, layers),
    )
    demand(integer(config, "width") == max(layer.rows for layer in layers), "width is wrong")
    demand(sum(layer.connections for layer in layers) <= 2**24, "there are too many connections")
    in_order(shape)
    return shape


def in_order(shape):
    """Refuses layers that stand where section 2 has no place for them."""
    first, *inside, last = shape.layers
    kinds = [layer.kind for layer in inside]
    if first.kind == "embedding":
        fits = shape.dimension == 1
    else:
        fits = first.kind == "linear" and first.before == shape.dimension + shape.positions
    fits = fits and last.kind == "linear" and last.rows == 1
    fits = fits and last.before == (inside or [first])[-1].rows
    fits = fits and "linear" not in kinds and "embedding" not in kinds
    demand(fits, "the first or the last layer does not fit")
    attention = any("attention" in kind for kind in kinds)
    demand(kinds.count("sum") == (shape.padding is None), "sum is for networks without padding")
    alone = not (attention or shape.positions or shape.every or shape.extra is not None)
    demand(shape.padding is not None or alone, "a sum stands beside what it excludes")
    if shape.doubles:
        plain = {first.kind, *kinds} <= {"linear", "relu", "feed_forward", "uniform_attention"}
        power = not attention or shape.columns & (shape.columns - 1) == 0
        demand(plain and power and not shape.every, "float64 is not for such a network")


def read_arrays(raw):
    """Section 4: every array of weights.safetensors by its name, as (type, shape, memory)."""
    demand(len(raw) >= 8, "weights.safetensors is cut")
    (size,) = struct.unpack_from("<Q", raw)
    demand(size <= min(2**30, len(raw) - 8), "the header of weights.safetensors is too long")
    header, body = (
        parse(raw[8 : 8 + size], "the header of the weights"),
        memoryview(raw)[8 + size :],
    )
    header.pop("__metadata__", None)
    widths, places, arrays = {"U8": 1, "I32": 4, "I64": 8, "U64": 8, "F64": 8}, [], {}
    for name, entry in header.items():
        demand(isinstance(entry, dict), "an array has no description")
        kind, shape, span = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        whole = isinstance(shape, list) and isinstance(span, list) and len(span) == 2
        whole = whole and all(type(x) is int and 0 <= x <= len(raw) for x in [*shape, *span])
        demand(whole and kind in widths and len(shape) <= 2, "an array has no type, shape or place")
        demand(span[1] - span[0] == widths[kind] * math.prod(shape), "an array has another length")
        places.append(tuple(span))
        arrays[name] = (kind, shape, body[span[0] : span[1]])
    ends = [0, *(stop for _, stop in sorted(places))]
    demand([start for start, _ in sorted(places)] == ends[:-1], "there is a hole, or an overlap")
    demand(ends[-1] == len(body), "something follows the last array")
    return arrays


def take(arrays, name, kind, shape=None):
    demand(name in arrays, f"the array {name} is missing")
    found, size, memory = arrays[name]
    demand(found == kind and size == (shape or size), f"the array {name} has another type or shape")
    letter = {"U8": "B", "I32": "i", "I64": "q", "U64": "Q", "F64": "d"}[kind]
    return struct.unpack(f"<{math.prod(size)}{letter}", memory)


def read_weights(shape, raw):
    """The nonzero entries {(tensor, row): {column: Number}}, and each layer's connections."""
    arrays = read_arrays(raw)
    tensors = [size for layer in shape.layers for size in layer.shapes]
    if shape.doubles:
        return read_doubles(shape, arrays), {}
    count = arrays.get("tensor", ("", [0]))[1]
    demand(len(count) == 1, "the array tensor is missing")
    names = {"tensor": "I32", "row": "I32", "column": "I32", "exponent": "I32", "negative": "U8"}
    columns = [take(arrays, name, kind, count) for name, kind in names.items()]
    start, limbs = take(arrays, "start", "I64", [count[0] + 1]), take(arrays, "limbs", "U64")
    demand(start[0] == 0 and start[-1] == len(limbs), "start does not span the limbs")
    sparse = any(layer.kind == "sparse_attention" for layer in shape.layers)
    expected = {*names, "start", "limbs", *(("target", "source") if sparse else ())}
    demand(set(arrays) == expected, "there is an array too many")
    entries, before = {}, (-1, 0, 0)
    for i, (tensor, row, column, exponent, negative) in enumerate(zip(*columns, strict=True)):
        a, b = start[i], start[i + 1]
        demand(0 <= a < b <= len(limbs) and b - a <= 2**16, "start is not increasing")
        mantissa = int.from_bytes(struct.pack(f"<{b - a}Q", *limbs[a:b]), "little")
        canonical = mantissa & 1 and limbs[b - 1] and negative in (0, 1)
        demand(canonical and mantissa.bit_length() <= 2**22, "a mantissa is not canonical")
        demand(abs(exponent) <= 2**22, "an exponent is too large")
        demand(before < (tensor, row, column), "the parameters are out of order")
        inside = tensor < len(tensors) and 0 <= row < tensors[tensor][0]
        demand(inside and 0 <= column < tensors[tensor][1], "a parameter is outside its tensor")
        before = (tensor, row, column)
        signed = Number(-mantissa if negative else mantissa, exponent)
        entries.setdefault((tensor, row), {})[column] = signed
    return entries, read_connections(shape, arrays) if sparse else {}


def read_doubles(shape, arrays):
    entries, tensor, names = {}, 0, set()
    keys = {"feed_forward": "W1 b1 W2 b2", "uniform_attention": "W_V W_O"}
    for i, layer in enumerate(shape.layers):
        for key, (rows, columns) in zip(
            keys.get(layer.kind, "weight bias").split(), layer.shapes, strict=True
        ):
            size = [rows] if key in ("bias", "b1", "b2") else [rows, columns]
            names.add(name := f"layers.{i}.{key}")
            for k, value in enumerate(take(arrays, name, "F64", size)):
                good = math.isfinite(value) and (value or math.copysign(1, value) > 0)
                demand(good, "a weight is -0.0, or not finite")
                if value:
                    entries.setdefault((tensor, k // columns), {})[k % columns] = number(value)
            tensor += 1
    demand(set(arrays) == names, "there is an array too many")
    return entries


def read_connections(shape, arrays):
    """{layer: {target: sources}}."""
    total = [sum(layer.connections for layer in shape.layers)]
    targets, sources = (take(arrays, name, "I32", total) for name in ("target", "source"))
    pairs, connected = iter(zip(targets, sources, strict=True)), {}
    for i, layer in enumerate(shape.layers):
        own, before = connected.setdefault(i, {}), (-1, -1)
        for _ in range(layer.connections):
            pair = next(pairs)
            demand(before < pair, "connections are out of order")
            demand(0 <= min(pair) and max(pair) < shape.columns, "a connection is outside")
            own.setdefault(pair[0], []).append(pair[1])
            before = pair
    return connected


def are_words(values):
    """Whether these are all strings without half a surrogate pair, or all integers."""
    if all(type(value) is int for value in values):
        return True
    whole = all(isinstance(value, str) for value in values)
    return whole and not any("\ud800" <= c <= "\udfff" for value in values for c in value)


def read_vocabulary(vocabulary, shape):
    """The numbers of the words that are read, and of the labels."""
    demand("tokens" in vocabulary, "tokens are missing")
    tokens, labels = vocabulary["tokens"], vocabulary.get("labels")
    if shape.kind == "string":
        fits = isinstance(tokens, list) and all(isinstance(word, str) for word in tokens)
        demand(fits and are_words(tokens), "tokens are no strings")
        demand(all(a < b for a, b in pairwise(tokens)), "tokens are out of order")
    else:
        demand(tokens is None, "tokens are for strings")
    demand(isinstance(labels, list) and are_words(labels), "labels are of several kinds")
    demand(len(set(labels)) == len(labels) == shape.labels, "labels are not as many as stated")
    return [{word: i for i, word in enumerate(words or ())} for words in (tokens, labels)]


# ---------- The data


class Data(NamedTuple):
    """Sequences of strings, or of tuples of numbers; a list of labels for each; their counts."""

    kind: str
    dimension: int
    every: bool
    inputs: list
    labels: list
    counts: list


def read_lines(raw):
    inputs, labels, counts, lists = [], [], [], set()
    for i, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        item = parse(line, f"line {i}")
        demand(isinstance(item.get("input"), list) and "label" in item, f"line {i} is no sequence")
        counts.append(integer({"count": 1, **item}, "count", high=2**63 - 1))
        lists.add(isinstance(item["label"], list))
        inputs.append(item["input"])
        labels.append(item["label"] if isinstance(item["label"], list) else [item["label"]])
    demand(len(lists) == 1, "there are no sequences, or labels and lists of labels")
    return data_of(inputs, labels, counts, lists.pop())


def data_of(inputs, labels, counts, every):
    tokens = [token for sequence in inputs for token in sequence]
    demand(tokens, "the data has no token")
    kind = {str: "string", list: "vector"}.get(type(tokens[0]), "number")
    if kind == "string":
        demand(all(isinstance(token, str) for token in tokens), "tokens are of several kinds")
        demand(are_words(tokens), "a token has half a surrogate pair")
        dimension = 1
    else:
        if kind == "number":
            inputs = [[[token] for token in sequence] for sequence in inputs]
        inputs = [[plain(token) for token in sequence] for sequence in inputs]
        sizes = {len(token) for sequence in inputs for token in sequence}
        demand(len(sizes) == 1 and 0 not in sizes, "vectors are of several dimensions")
        dimension = sizes.pop()
    values = [label for own in labels for label in own]
    demand(are_words(values), "labels are of several kinds")
    fits = all(type(x) is str or -(2**63) <= x < 2**63 for x in values)
    demand(fits, "a label is too large")
    if every:
        same = all(len(a) == len(b) for a, b in zip(inputs, labels, strict=True))
        demand(same, "a list of labels has another length than its input")
    demand(sum(counts) < 2**63, "the counts are too large")
    return Data(kind, dimension, every, inputs, labels, counts)


def plain(token):
    """A vector with integers for whole numbers."""
    demand(isinstance(token, list), "tokens are of several kinds")
    for x in token:
        fits = type(x) is int or type(x) is float and math.isfinite(x)
        demand(fits, "a coordinate is no finite number")
    return tuple(int(x) if x == x // 1 else x for x in token)


def read_archive(path):
    """Section 6, `.npz`: every byte of the archive belongs to a member or to its directory."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.header_offset)
            names = [member.filename for member in members]
            short = [name.removesuffix(".npy") for name in names]
            for name in ("inputs", "labels"):
                demand(
                    short.count(name) == 1 and f"{name}.npy" in names, f"{name} is not there once"
                )
            demand(len(set(names)) == len(names) and not archive.comment, "a name stands twice")
            end = 0
            for member in members:
                demand(member.header_offset == end, "something stands between two members")
                end = after(file, member)
            file.seek(end)
            demand(archive.start_dir == end, "something stands before the directory")
            demand(is_directory(file.read(), len(members)), "something stands in the directory")
            inputs, labels = (array(archive.read(f"{name}.npy")) for name in ("inputs", "labels"))
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError) as error:
        raise Refusal("the archive is damaged") from error
    except (ValueError, SyntaxError, KeyError, TypeError, RuntimeError) as error:
        raise Refusal("an array of the archive cannot be read") from error
    (_, sizes, values), (label_letter, label_sizes, label_values) = inputs, labels
    demand(label_letter in "iu", "labels are no integers")
    demand(len(sizes) in (2, 3) and 0 not in sizes, "inputs have another shape")
    every = len(label_sizes) == 2
    demand(label_sizes == sizes[: 1 + every], "labels have another shape")
    rows = parted(parted(values, sizes[2]) if len(sizes) == 3 else values, sizes[1])
    own = parted(label_values, sizes[1] if every else 1)
    return data_of(rows, own, [1] * sizes[0], every)


def parted(values, size):
    """Lists of this size."""
    return [list(values[i : i + size]) for i in range(0, len(values), size)]


def is_directory(raw, members):
    """Whether this is a central directory of so many members, its end records, and nothing else."""
    place = 0
    for _ in range(members):
        if raw[place : place + 4] != b"PK\1\2":
            return False
        place += 46 + sum(struct.unpack_from("<3H", raw, place + 28))
    if raw[place : place + 4] == b"PK\6\6":  # ZIP64: a record and its locator
        place += 12 + struct.unpack_from("<Q", raw, place + 4)[0] + 20
    return raw[place : place + 4] == b"PK\5\6" and len(raw) == place + 22


def after(file, member):
    """Where a member ends: behind its local header, its content and its data descriptor."""
    file.seek(member.header_offset)
    local = struct.unpack("<4s5H3I2H", file.read(30))
    demand(local[0] == b"PK\3\4" and member.compress_type in (0, 8), "a member is not stored")
    end = member.header_offset + 30 + local[9] + local[10]
    if member.compress_type == 8:
        file.seek(end)
        inflater = zlib.decompressobj(-15)
        size, left = 0, member.compress_size
        while left and (block := file.read(min(left, 1 << 20))):
            left -= len(block)
            size += len(inflater.decompress(block))
        demand(
            inflater.eof and not inflater.unused_data and size == member.file_size, "bad deflate"
        )
    else:
        demand(member.compress_size == member.file_size, "a stored member has another length")
    end += member.compress_size
    if member.flag_bits & 8:
        file.seek(end)
        block = file.read(24)
        wide = member.file_size >= 2**32 or member.compress_size >= 2**32
        signed = block[:4] == b"PK\7\10"
        end += 4 * signed + (20 if wide else 12)
    return end


def array(raw):
    """(letter of the type, shape, values in C order) of a .npy file."""
    demand(raw[:6] == b"\x93NUMPY" and raw[6:8] in (b"\1\0", b"\2\0", b"\3\0"), "no NumPy format")
    start = 10 if raw[6] == 1 else 12
    size = int.from_bytes(raw[8:start], "little")
    demand(start + size <= len(raw) and size <= 2**16, "the header of an array is too long")
    header = ast.literal_eval(raw[start : start + size].decode("utf-8"))
    match = re.fullmatch(r"([<>|=])([iuf])([1248])", header["descr"])
    demand(match and match.group(2, 3) != ("f", "1"), "an array is of another type")
    order, letter, width = match.groups()
    shape = header["shape"]
    demand(isinstance(shape, tuple) and all(type(x) is int and x >= 0 for x in shape), "no shape")
    code = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I"}
    code |= {"u8": "Q", "f2": "e", "f4": "f", "f8": "d"}
    body = raw[start + size :]
    demand(len(body) == math.prod(shape) * int(width), "an array has another length")
    kind = f"{'>' if order == '>' else '<'}{math.prod(shape)}{code[letter + width]}"
    values = struct.unpack(kind, body)
    if header["fortran_order"] and len(shape) > 1:
        steps = [math.prod(shape[:i]) for i in range(len(shape))]
        places = [0]
        for size, step in zip(shape, steps, strict=True):
            places = [place + k * step for place in places for k in range(size)]
        values = tuple(values[place] for place in places)
    return letter, list(shape), values


def data_hash(data):
    """Section 6: data.sha256."""
    flat = [token for sequence in data.inputs for token in sequence]
    tokens, values = sorted(set(flat)), [label for own in data.labels for label in own]
    labels = sorted(set(values))
    parts = [f"byheart-data-1\n{data.kind}{' every' if data.every else ''}\n".encode()]
    if data.kind == "string":
        parts += [f"{json.dumps(token)}\n".encode() for token in tokens]
    else:
        numbers = [x for token in tokens for x in token]
        doubles = all(is_double(x) for x in numbers)
        whole = all(type(x) is int and -(2**63) <= x < 2**63 for x in numbers)
        demand(doubles or whole, "numbers are neither doubles nor 64-bit integers")
        name, letter = ("float64", "d") if doubles else ("int64", "q")
        parts.append(f"{name} {data.dimension}\n".encode())
        parts.append(struct.pack(f"<{len(numbers)}{letter}", *numbers))
    parts += [f"{json.dumps(label)}\n".encode() for label in labels]
    token_number = {token: i for i, token in enumerate(tokens)}
    label_number = {label: i for i, label in enumerate(labels)}
    for row in (
        [len(sequence) for sequence in data.inputs],
        [token_number[token] for token in flat],
        [label_number[label] for label in values],
        data.counts,
    ):
        parts.append(struct.pack(f"<{len(row)}q", *row))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def is_double(x):
    try:
        return float(x) == x
    except OverflowError:
        return False


# ---------- The numbers for the program

ZERO = Number(0, 0)


def spelled(x):
    return f"{'-' if x.mantissa < 0 else ''}0x{abs(x.mantissa):x} {x.exponent}"


def listed(parts):
    parts = list(parts)
    return f"{len(parts)} {' '.join(parts)}"


def optional(vector):
    return "0" if vector is None else f"1 {listed(map(spelled, vector))}"


class Writer(NamedTuple):
    """Spells the tensors of a network; rows and columns may be a part of a tensor."""

    entries: dict

    def row(self, tensor, i, columns=None):
        own = self.entries.get((tensor, i), {})
        low, high = columns or (0, SIZE)
        return listed(f"{j - low} {spelled(x)}" for j, x in own.items() if low <= j < high)

    def rows(self, tensor, rows, columns=None):
        return listed(self.row(tensor, i, columns) for i in rows)

    def biased(self, tensor, rows):
        biases = [self.entries.get((tensor + 1, i), {}).get(0, ZERO) for i in range(rows)]
        return listed(f"{spelled(b)} {self.row(tensor, i)}" for i, b in enumerate(biases))

    def layer(self, layer, tensor, shape, sources):
        """One layer, whose first tensor has this number."""
        parts, D = [layer.kind, str(layer.before)], layer.before
        if layer.kind in ("linear", "relu"):
            parts.append(self.biased(tensor, layer.rows))
        elif layer.kind == "embedding":
            parts = [layer.kind, str(layer.rows)]
            table = ([ZERO] * layer.rows for _ in range(D))
            table = list(table)
            for i in range(layer.rows):
                for j, x in self.entries.get((tensor, i), {}).items():
                    table[j][i] = x
            parts.append(listed(listed(map(spelled, column)) for column in table))
            position = [
                self.entries.get((tensor + 1, i), {}).get(0, ZERO) for i in range(layer.rows)
            ]
            demand(
                shape.positions or not any(x.mantissa for x in position), "no column is numbered"
            )
            parts.append(optional(position if shape.positions else None))
        elif layer.kind == "feed_forward":
            parts += [self.biased(tensor, layer.inner), self.biased(tensor + 2, D)]
        elif layer.kind == "uniform_attention":
            parts += [self.rows(tensor, range(layer.inner)), self.rows(tensor + 1, range(D))]
        elif layer.kind == "sparse_attention":
            parts.append(listed(listed(map(str, sources.get(c, ()))) for c in range(shape.columns)))
            parts += [self.rows(tensor, range(layer.inner)), self.rows(tensor + 1, range(D))]
        elif layer.kind == "hard_attention":
            heads = []
            for a in range(layer.heads):
                own = range(a * layer.inner, (a + 1) * layer.inner)
                three = [self.rows(tensor + k, own) for k in range(3)]
                heads.append(
                    " ".join([*three, self.rows(tensor + 3, range(D), (own[0], own[-1] + 1))])
                )
            parts.append(listed(heads))
        return " ".join(parts)


def written(shape, entries, connections):
    """The lines for a network, as driver.ml reads them."""
    writer, tensor = Writer(entries), 0
    yield f"{shape.dimension} {shape.length} {optional(shape.padding)} {optional(shape.extra)}"
    yield f"{int(shape.positions)} {int(shape.every)} {shape.labels} {len(shape.layers)}"
    for i, layer in enumerate(shape.layers):
        yield writer.layer(layer, tensor, shape, connections.get(i, {}))
        tensor += len(layer.shapes)


def asked(data, tokens, labels):
    """The lines for the items: the vectors of a sequence, and the numbers of its labels."""
    yield str(len(data.inputs))
    for sequence, own in zip(data.inputs, data.labels, strict=True):
        if data.kind == "string":
            vectors = [f"1 {tokens[word] + 1} 0" for word in sequence]
        else:
            vectors = [listed(spelled(number(x)) for x in vector) for vector in sequence]
        yield f"{listed(vectors)} {listed(str(labels[label]) for label in own)}"
    yield "end"


def limits():
    """For the program: its memory ends in a sentence, and lists may be as long as they are."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))


def evaluated(lines):
    """What the program printed, as a dictionary of lists of numbers."""
    text = "\n".join(lines) + "\n"
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, preexec_fn=limits)
    if done.returncode not in (0, 1):
        reason = done.stderr.strip() or f"it ended with code {done.returncode}"
        raise Refusal(f"the program refuses: {reason}")
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: list(map(int, values)) for name, *values in rows}


# ---------- The claim


def stated(certificate, key, hashes):
    """The failures of section 7 that are about hashes."""
    files = section(certificate, "files")
    demand(set(files) == set(NAMES), "files names other files")
    demand(all(isinstance(value, str) for value in files.values()), "a hash is no text")
    return [f"the hash of {name} is not as stated" for name in NAMES if files[name] != hashes[name]]


def check(folder, path):
    """The answer, as `--json` prints it."""
    demand(PROGRAM.is_file(), "the verified checker is not built; run: python build.py")
    for name in (*NAMES, "certificate.json"):
        file = folder / name
        demand(file.is_file() and not file.is_symlink(), f"{name} is not a regular file")
        demand(name == NAMES[1] or file.stat().st_size <= 2**30, f"{name} is too large")
    raw = {name: (folder / name).read_bytes() for name in (*NAMES, "certificate.json")}
    hashes = {name: hashlib.sha256(raw[name]).hexdigest() for name in NAMES}
    config, certificate = (
        parse(raw[NAMES[0]], NAMES[0]),
        parse(raw["certificate.json"], "certificate"),
    )
    demand(
        certificate.get("format") == "byheart-certificate", "the certificate is of another format"
    )
    demand(certificate.get("claim") == "labels", "the claim is not about labels")
    shape = read_config(config)
    entries, connections = read_weights(shape, raw[NAMES[1]])
    tokens, labels = read_vocabulary(parse(raw[NAMES[2]], NAMES[2]), shape)
    if path.suffix.lower() == ".npz":
        data = read_archive(path)
    else:
        demand(path.suffix.lower() == ".jsonl", "the data is neither .jsonl nor .npz")
        data = read_lines(path.read_bytes())
    found = data_hash(data)
    failures = stated(certificate, "files", hashes)
    for own in (section(config, "data"), section(certificate, "data")):
        if own.get("sha256") != found or own.get("sequences") != len(data.inputs):
            failures.append("the data is not the data of the claim")
    form = (data.kind, data.dimension, data.every)
    known = form == (shape.kind, shape.dimension, shape.every)
    if known and shape.kind == "string":
        known = all(word in tokens for word in chain(*data.inputs))
    known = known and all(label in labels for label in chain(*data.labels))
    if known:
        counts = evaluated([*written(shape, entries, connections), *asked(data, tokens, labels)])
    else:
        failures.append("the data has a token or a label that the network does not know")
        counts = {"sequences": [len(data.inputs)], "right": [0], "correct": [0], "wrong": []}
    failures += [f"sequence {i} does not get its labels" for i in counts["wrong"]]
    read = {name: counts[name][0] for name in READ if name in counts}
    return {
        "verdict": "NOT CHECKED" if failures else "CHECKED",
        "about": "evaluation",
        "right": counts["right"][0],
        "checked": sum(map(len, data.labels)),
        "correct": counts["correct"][0],
        "evidence": "refuted" if failures else "proved",
        "read": {**read, "weights": hashes[NAMES[1]], "data": found},
        "failures": list(dict.fromkeys(failures))[:10],
    }


def main(arguments):
    paths = [Path(word) for word in arguments if word != "--json"]
    sys.set_int_max_str_digits(DIGITS)
    try:
        demand(len(paths) == 2, "usage: verified_check.py FOLDER DATA.jsonl|DATA.npz [--json]")
        answer = check(*paths)
    except (Refusal, OSError, MemoryError, OverflowError, ValueError) as error:
        print(f"verified_check: {error}", file=sys.stderr)
        return 2
    if "--json" in arguments:
        print(json.dumps(answer))
    else:
        read = answer["read"]
        sentence = f"{answer['right']} of {read['sequences']} sequences get their labels"
        print(f"{answer['verdict']}: {sentence} in the specification Spec.v")
        print("read by the program:", ", ".join(f"{read[k]} {k}" for k in READ if k in read))
        print(f"SHA-256 of the weights: {read['weights']}\nSHA-256 of the data: {read['data']}")
        print(*answer["failures"], "not judged: counts of parameters, float64 rules", sep="\n")
    return 1 if answer["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
