"""Packed files: section 11 of FORMAT.md. What the files of a folder would say, from one file.

`check.py` hands a regular file to `read_packed`, and judges what that returns as it judges a
folder. Standard library only, and no code shared with the package that writes these files.
"""

import bz2
import hashlib
import json
import lzma
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

try:
    from . import check
except ImportError:  # this folder is no package, but on the path
    import check

refuse = check.refuse

MAGIC = b"byheart\x01"
DIGEST = 32
STREAM_LIMIT = 2**27  # bytes of a stream once unpacked, letters of all names
LIST_LIMIT = 2**24  # entries of a list
LARGEST = 2**20  # a size in a code word
TOP = 2**64
LOWERED = {  # capital letter -> small letter
    capital: capital + distance
    for first, last, step, distance in (
        (0x41, 0x5A, 1, 32), (0xC0, 0xD6, 1, 32), (0xD8, 0xDE, 1, 32), (0x100, 0x12E, 2, 1),
        (0x132, 0x136, 2, 1), (0x139, 0x147, 2, 1), (0x14A, 0x176, 2, 1), (0x179, 0x17D, 2, 1),
        (0x391, 0x3A1, 1, 32), (0x3A3, 0x3A9, 1, 32), (0x400, 0x40F, 1, 80),
        (0x410, 0x42F, 1, 32), (0x531, 0x556, 1, 48), (0x1EA0, 0x1EFE, 2, 1),
    )
    for capital in range(first, last + 1, step)
}  # fmt: skip
RAISED = {small: capital for capital, small in LOWERED.items()}
INNER = (
    "feed_forward",
    "uniform_attention",
    "relu",
    "sparse_attention",
    "hard_attention",
    "sum",
)


@dataclass
class Packed:
    """What the folder's files would say; `certificate` has hashes that are those of the file."""

    config: dict[str, Any]
    tensors: list[list[tuple[int, int, int, int]]]
    connections: dict[str, array]
    vocabulary: dict[str, Any]
    certificate: dict[str, Any]
    digest: str


def read_packed(content: bytes) -> Packed:
    if not content.startswith(MAGIC):
        refuse("it is neither a model folder nor a packed model")
    body, digest = content[:-DIGEST], content[-DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        refuse("the SHA-256 at its end is not that of what stands before: it is damaged")
    rest = Bytes(body[len(MAGIC) :])
    network = CodeWord(rest.take(rest.number())).network()
    order = rest.number()
    tokens, ranked = read_names(rest)
    notes = check.parse_object(rest.stream(), "packed model")
    rest.stream()  # a tokenizer, for people
    if rest.place != len(rest.content):
        refuse("packed model: something stands behind its last stream")
    if order not in (0, 1):
        refuse("packed model: its labels are in no known order")
    labels = list(ranked)
    if order:
        for rank, output in enumerate(gray_order(len(ranked))):
            labels[output] = ranked[rank]
    where = "packed model"
    kind, config = check.get(notes, "kind", str, where), check.get(notes, "config", dict, where)
    if kind != "string" and tokens:
        refuse("packed model: its tokens are no strings, and there are strings among them")
    unknown = len(labels) if check.get(notes, "unknown", bool, where) else None
    config = {**config, "format": "byheart-model", "version": 2, **network.described(kind)}
    config["output"] = {"labels": len(labels), "unknown": unknown, "every": network.every}
    name = digest.hex()
    certificate = {
        **check.get(notes, "certificate", dict, where),
        "format": "byheart-certificate",
        "version": 2,
        "claim": "labels",
        "files": dict.fromkeys(check.FILES, name),
        "data": config.get("data"),
    }
    vocabulary = {"tokens": tokens if kind == "string" else None, "labels": labels}
    pairs = [pair for layer in network.layers for pair in layer.connections]
    ends = {
        "target": array("i", (x for x, _ in pairs)),
        "source": array("i", (y for _, y in pairs)),
    }
    return Packed(config, network.tensors, ends, vocabulary, certificate, name)


def gray_order(count: int) -> list[int]:
    """The output that stands for rank 0, 1, ... (section 11)."""
    numbers = [0]
    sizes = []
    while count > 1:
        sizes.append(count)
        count = (count + 1) // 2
    for size in reversed(sizes):
        above = [size // 2 + number for number in reversed(numbers[size % 2 :])]
        numbers = numbers + above
    return numbers


# ---------------------------------------------------------------- numbers, streams, lists


@dataclass
class Bytes:
    content: bytes
    place: int = 0

    def take(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self.content):
            refuse("packed model: it is cut off")
        return self.content[self.place - size : self.place]

    def number(self) -> int:
        value = 0
        for shift in range(0, 63, 7):
            byte = self.take(1)[0]
            value += (byte & 127) << shift
            if byte < 128:
                return value
        refuse("packed model: a number has more than 63 bits")

    def limited(self) -> int:
        value = self.number()
        if value > STREAM_LIMIT:
            refuse(f"packed model: {value} is above 2^27")
        return value

    def stream(self) -> bytes:
        size = self.limited()
        packed = self.take(self.number())
        how, packed = packed[:1], packed[1:]
        if how == b"\0":
            found = packed
        elif how in (b"\1", b"\3", b"\5", b"\7"):
            found = inflated(how[0], packed, size)
        else:
            refuse("packed model: a stream is packed in no known way")
        if len(found) != size:
            refuse("packed model: a stream has another length than it says")
        return found

    def numbers(self, count: int) -> list[int]:
        planes = self.number()
        if count > LIST_LIMIT:
            refuse(f"packed model: a list has {count} entries, more than 2^24")
        if planes > 4:
            refuse("packed model: a number of a list has more than 32 bits")
        values = [0] * count
        for plane in range(planes):
            digits = self.stream()
            if len(digits) != count:
                refuse(f"packed model: a list has {len(digits)} entries, not {count}")
            values = [
                value + (digit << 8 * plane) for value, digit in zip(values, digits, strict=True)
            ]
        return values


def inflated(how: int, packed: bytes, size: int) -> bytes:
    """At most one byte more than the size."""
    options = {"id": lzma.FILTER_LZMA2, "dict_size": 2**24, "lc": how - 1, "lp": 0, "pb": 0}
    opener: Any = bz2.BZ2Decompressor()
    if how != 7:
        opener = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[options])
    try:
        found = opener.decompress(packed, size + 1)
    except (lzma.LZMAError, OSError, EOFError):
        refuse("packed model: a stream cannot be unpacked")
    if not opener.eof or opener.unused_data:
        refuse("packed model: a stream has another length than it says")
    return found


# ---------------------------------------------------------------- tokens and labels


def read_names(rest: Bytes) -> tuple[list[str], list[str | int]]:
    """Tokens in order, labels by rank."""
    words = sorted(read_words(rest))
    steps = read_json(rest.stream(), "integers")
    if not isinstance(steps, list) or any(type(step) is not int for step in steps):
        refuse("packed model: its integers are not written as a list")
    integers, last = [], 0
    for step in steps:
        last += step
        integers.append(last)
    levels = [rest.limited() for _ in range(rest.limited())]
    lefts, rights = rest.numbers(sum(levels)), rest.numbers(sum(levels))
    uses = rest.numbers(len(words))
    built = build(words, uses, levels, lefts, rights)
    uses += rest.numbers(len(built)) + rest.numbers(len(integers))
    names: list[str | int] = [*words, *built, *integers]
    if len(set(names)) != len(names):
        refuse("packed model: a name stands twice")
    tokens = [name for name, use in zip(names, uses, strict=True) if use % 2]
    if any(isinstance(name, int) for name in tokens):
        refuse("packed model: an integer is a token")
    pairs = [(use // 2, name) for name, use in zip(names, uses, strict=True) if use > 1]
    if not check.one_type(name for _, name in pairs):
        refuse("packed model: the labels are not all strings or all integers")
    return sorted(tokens), [name for _, name in sorted(pairs)]


def read_json(content: bytes, what: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        refuse(f"packed model: its {what} are no JSON")


def read_words(rest: Bytes) -> Iterator[str]:
    count = rest.limited()
    shared, mark = rest.numbers(count), rest.limited()
    try:
        joined, separator = rest.stream().decode(), chr(mark)
    except (ValueError, OverflowError):
        refuse("packed model: its words are no UTF-8")
    tails = joined.split(separator)
    variants = read_json(rest.stream(), "variants")
    if len(tails) != max(1, count) or not isinstance(variants, list):
        refuse("packed model: its words are not as many as it says")
    for each in chain.from_iterable(x if isinstance(x, list) else [None] for x in variants):
        kinds = [type(part) for part in each] if isinstance(each, list) else []
        if kinds != [str, int] or not 0 <= each[1] <= 2:
            refuse("packed model: a variant is not white space and a case")
    form, letters = "", 0
    for size, tail, which in zip(shared, tails, rest.numbers(count), strict=False):
        if size > min(255, len(form)) or which >= len(variants):
            refuse("packed model: a form refers to what is not there")
        form = form[:size] + tail
        for white, case in variants[which]:
            letters += len(white) + len(form)
            if letters > STREAM_LIMIT:
                refuse("packed model: its names have more than 2^27 letters")
            raised = len(form) if case == 2 else case
            yield white + form[:raised].translate(RAISED) + form[raised:]


def build(
    words: list[str], uses: list[int], levels: list[int], lefts: list[int], rights: list[int]
) -> list[str]:
    """The names of several words, each made of two shorter names by a rule."""
    ranked = sorted((use // 2 or 2**40, word) for word, use in zip(words, uses, strict=True))
    names, letters, rule = [word for _, word in ranked], 0, 0
    for level in levels:
        below, left, right = len(names), 0, 0
        for _ in range(level):
            right = rights[rule] + (0 if lefts[rule] else right)
            left += lefts[rule]
            rule += 1
            if left >= below or right >= below:
                refuse("packed model: a rule names a part that is not there")
            names.append(names[left] + names[right])
            letters += len(names[-1])
            if letters > STREAM_LIMIT:
                refuse("packed model: its names have more than 2^27 letters")
    return names[len(words) :]


# ---------------------------------------------------------------- the code word


@dataclass
class CodedLayer:
    kind: str
    sizes: dict[str, int]
    connections: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class CodedNetwork:
    dimension: int
    length: int
    positions: bool
    padding: list[list[int]] | None
    extra: list[list[int]] | None
    every: bool
    layers: list[CodedLayer]
    tensors: list[list[tuple[int, int, int, int]]]

    def described(self, kind: str) -> dict[str, Any]:
        """The keys of config.json."""
        given = {"kind": kind, "dimension": self.dimension, "length": self.length}
        ends = {"positions": self.positions, "padding": self.padding, "extra": self.extra}
        wide = [layer.sizes["rows"] for layer in self.layers[:-1] if "rows" in layer.sizes]
        layers = [{"kind": layer.kind, **layer.sizes} for layer in self.layers]
        return {"input": {**given, **ends}, "width": max(wide), "layers": layers}


class CodeWord:
    """The decisions of a code word, one after another."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.offset = int.from_bytes(content[:8].ljust(8, b"\0"), "big")  # from the lower end
        self.range = TOP - 1
        self.read = 64  # bits, zeros behind the end included
        self.counts: dict[Any, tuple[int, int]] = {}
        self.runs: dict[str, list[tuple[int, int]]] = {}
        self.before: dict[str, tuple[int, int]] = {}
        self.values: dict[tuple[str, int, int], tuple[int, int]] = {}
        self.tensors: list[list[tuple[int, int, int, int]]] = []

    def shrink(self, start: int, size: int) -> None:
        """Only [start, start + size) of the interval is left; it is doubled up to 2^63."""
        doublings = 64 - size.bit_length()
        first, skip = divmod(self.read, 8)
        window = int.from_bytes(self.content[first : first + 9].ljust(9, b"\0"), "big")
        digits = window >> 72 - skip - doublings & (1 << doublings) - 1
        self.offset = (self.offset - start << doublings) + digits
        self.range = size << doublings
        self.read += doublings
        if self.read - 62 > 8 * len(self.content):
            refuse("packed model: its code word is cut off")

    def bit(self, *context: Any) -> int:
        zeros, ones = self.counts.get(context, (1, 1))
        split = self.range * zeros // (zeros + ones)
        if self.offset < split:
            bit, zeros = 0, zeros + 2
            self.shrink(0, split)
        else:
            bit, ones = 1, ones + 2
            self.shrink(split, self.range - split)
        if zeros + ones > 63:
            zeros, ones = (zeros + 1) // 2, (ones + 1) // 2
        self.counts[context] = zeros, ones
        return bit

    def plain(self, width: int) -> int:
        found = 0
        for size in [width % 32, *[32] * (width // 32)]:
            unit = self.range >> size
            value = self.offset // unit
            if value >> size:
                refuse("packed model: its code word leaves its interval")
            self.shrink(value * unit, unit)
            found = found << size | value
        return found

    def number(self, *field: Any) -> int:
        digits = 0
        while self.bit(field, digits):
            digits += 1
            if digits > 48:
                refuse("packed model: a number of its code word has more than 48 digits")
        value = 1
        for _ in range(digits):
            value = 2 * value + self.bit(field, digits, value)
        return value - 1

    def signed(self, *field: Any) -> int:
        value = self.number(*field)
        return value // 2 + 1 if value % 2 else -(value // 2)

    def size(self, field: str) -> int:
        value = self.number(field)
        if value > LARGEST:
            refuse(f"packed model: a {field} of {value} is above 2^20")
        return value

    def network(self) -> CodedNetwork:
        dimension, length = self.size("dimension"), self.size("length")
        positions = bool(self.bit("positions"))
        padding, extra = self.vector("padding", dimension), self.vector("extra", dimension)
        every, blocks = bool(self.bit("every")), self.size("number of blocks")
        coordinates, embedding = dimension + positions, self.bit("embedding")
        width = self.size("width")
        layers = []
        if embedding:
            columns = self.size("vocabulary")
            layers.append(CodedLayer("embedding", {"rows": width, "columns": columns}))
            self.tensor("weight", width, columns)
            self.tensor("position", width, 1)
        else:
            layers.append(self.linear(width, coordinates))
        for _ in range(blocks):
            layers.append(self.block(width))
            width = layers[-1].sizes.get("rows", width)
        layers.append(self.linear(1, width))
        self.end()
        return CodedNetwork(
            dimension, length, positions, padding, extra, every, layers, self.tensors
        )

    def end(self) -> None:
        """The word is the shortest of its interval, filled up with zeros to a byte."""
        length = self.read - 62
        first, skip = divmod(self.read - 64, 8)
        window = int.from_bytes(self.content[first : first + 9].ljust(9, b"\0"), "big")
        shown = window >> 8 - skip & TOP - 1
        if len(self.content) != -(-length // 8) or shown % 2**62 or self.offset >= 2**62:
            refuse("packed model: its code word does not end where it should")

    def linear(self, rows: int, columns: int, kind: str = "linear") -> CodedLayer:
        self.tensor("weight", rows, columns)
        self.tensor("bias", rows, 1)
        return CodedLayer(kind, {"rows": rows, "columns": columns})

    def block(self, width: int) -> CodedLayer:
        number = self.number("kind")
        if number >= len(INNER):
            refuse("packed model: a layer is of no known kind")
        kind = INNER[number]
        if kind == "sum":
            return CodedLayer(kind, {})
        heads = self.size("heads") if kind == "hard_attention" else 1
        own = self.size("rows" if kind == "relu" else "hidden")
        if heads * own > LARGEST:
            refuse("packed model: its heads are too large")
        if kind == "relu":
            return self.linear(own, width, kind)
        if kind == "feed_forward":
            shapes = ("W1", own, width), ("b1", own, 1), ("W2", width, own), ("b2", width, 1)
            sizes = {"hidden": own}
        else:
            names = ("W_Q", "W_K", "W_V") if kind == "hard_attention" else ("W_V",)
            shapes = *((name, heads * own, width) for name in names), ("W_O", width, heads * own)
            sizes = {"head_dimension": own}
            sizes |= {"heads": heads} if kind == "hard_attention" else {}
        for name, rows, columns in shapes:
            self.tensor(name, rows, columns)
        layer = CodedLayer(kind, sizes)
        if kind == "sparse_attention":
            layer.connections = self.connections()
            sizes["connections"] = len(layer.connections)
        return layer

    def connections(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        target = source = 0
        for i in range(self.size("number of connections")):
            step = self.number("target")
            target += step
            new = step or not i
            source = self.number("source") if new else source + 1 + self.number("next source")
            if max(target, source) > LARGEST:
                refuse("packed model: a connection leads too far")
            found.append((target, source))
        return found

    def vector(self, name: str, size: int) -> list[list[int]] | None:
        if not self.bit(name):
            return None
        self.tensor(name, size, 1)
        entries = {row: [mantissa, exponent] for row, _, mantissa, exponent in self.tensors.pop()}
        return [entries.get(row, [0, 0]) for row in range(size)]

    def tensor(self, name: str, rows: int, columns: int) -> None:
        """The nonzero entries, row by row."""
        by_column = name in ("W1", "W_V")
        runs = self.places(name)
        if runs and sum(runs[-1]) > rows * columns:
            refuse(f"packed model: {name} has a place outside its shape")
        entries = []
        for start, length in runs:
            for place in range(start, start + length):
                row, column = divmod(place, columns)
                if by_column:
                    column, row = divmod(place, rows)
                entries.append((row, column, *self.value(name, row, column)))
        self.tensors.append(sorted(entries))

    def places(self, name: str) -> list[tuple[int, int]]:
        known = self.runs.get(name, [])
        if self.bit(name, "same"):
            return known
        runs, free = [], 0
        for i in range(self.number(name, "runs")):
            start = free + self.number(name, "gap" if i else "first")
            length = 1 + self.number(name, "length")
            runs.append((start, length))
            free = start + length + 1
        if runs == known:
            refuse("packed model: its code word is not the shortest one")
        self.runs[name] = runs
        return runs

    def value(self, name: str, row: int, column: int) -> tuple[int, int]:
        before = self.before.get(name, (1, 0))
        again = self.values.get((name, row, column), before)
        value = again
        if not self.bit(name, "again"):
            value = self.new_value(name, before)
            if value == again:
                refuse("packed model: its code word is not the shortest one")
        self.before[name] = self.values[name, row, column] = value
        return value

    def new_value(self, name: str, before: tuple[int, int]) -> tuple[int, int]:
        digits = before[0].bit_length()
        field = name, digits >= 16
        minus = self.bit(field, "sign")
        top = digits + before[1] + self.signed(field, "top")
        exponent = before[1] + self.signed(field, "exponent")
        digits = top - exponent
        if abs(exponent) > check.DYADIC_LIMIT or not 0 < digits <= check.DYADIC_LIMIT:
            refuse("packed model: a number has no digits or too many")
        mantissa = self.mantissa(digits, field) if digits > 1 else 1
        return -mantissa if minus else mantissa, exponent

    def mantissa(self, digits: int, field: tuple[str, bool]) -> int:
        ones = self.number(field, "ones")
        if ones == digits - 1:
            return (1 << digits) - 1
        found, rest = (2 << ones) - 1, digits - ones - 2
        if ones != 1023:
            found, rest = 2 * found, rest - 1
        if rest < 0 or ones > 1023:
            refuse("packed model: a mantissa is not written as it should be")
        return (found << rest | self.plain(rest)) << 1 | 1
