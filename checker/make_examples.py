"""Write `good/` and `bad/`: small model folders that the checker must accept and must refuse.

    python checker/make_examples.py

Standard library only, with a writer of its own: it shares no code with check.py (so that a
misreading of FORMAT.md in one shows up against the other) nor with the package. Running it again
gives the same bytes.
"""

import hashlib
import json
import math
import shutil
import struct
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
HASHED = ("config.json", "weights.safetensors", "vocabulary.json")
Files = dict[str, bytes]


# ---------------------------------------------------------------- a writer of folders


def dyadic(value: float | Fraction) -> tuple[int, int]:
    """The canonical (mantissa, exponent) of a number whose denominator is a power of two."""
    value, exponent = Fraction(value), 0
    if not value:
        return 0, 0
    while value.denominator > 1:
        value, exponent = value * 2, exponent - 1
    while value.numerator % 2 == 0:
        value, exponent = value / 2, exponent + 1
    return value.numerator, exponent


def entries(tensors: list[list[list]]) -> list[list[int]]:
    """[tensor, row, column, mantissa, exponent] of every nonzero number of the dense tensors."""
    return [
        [t, r, c, *dyadic(x)]
        for t, tensor in enumerate(tensors)
        for r, row in enumerate(tensor)
        for c, x in enumerate(row)
        if x
    ]


def weights(
    parameters: list[list[int]],
    connections: list | None = None,
    spare: int = 0,
    hole: int = 0,
    minus: int = 1,
) -> bytes:
    """The safetensors file of these parameters, as they are: sorted and odd or not, and of the
    connections of all sparse layers if there are such layers. For bad files: `spare` zero limbs on
    top of each mantissa, a hole of that many bytes before the limbs (an overlap if it is negative),
    another mark of negative numbers."""
    limbs, start = [], [0]
    for *_, mantissa, _ in parameters:
        size = max(1, -(-abs(mantissa).bit_length() // 64)) + spare
        limbs += [abs(mantissa) >> (64 * i) & (2**64 - 1) for i in range(size)]
        start.append(len(limbs))
    columns = [list(column) for column in zip(*parameters, strict=True)]
    parts = [
        ("tensor", "I32", "i", columns[0]),
        ("row", "I32", "i", columns[1]),
        ("column", "I32", "i", columns[2]),
        ("exponent", "I32", "i", columns[4]),
        ("negative", "U8", "B", [minus if m < 0 else 0 for m in columns[3]]),
        ("start", "I64", "q", start),
        ("limbs", "U64", "Q", limbs),
    ]
    if connections is not None:
        parts.append(("target", "I32", "i", [target for target, _ in connections]))
        parts.append(("source", "I32", "i", [source for _, source in connections]))
    header, data = {}, b""
    for name, dtype, code, numbers in parts:
        if name == "limbs":
            data = data[:hole] if hole < 0 else data + bytes(hole)
        data = append(header, data, name, dtype, [len(numbers)], code, numbers)
    return container(header, data)


def append(header: dict, data: bytes, name: str, dtype: str, shape: list, code: str, numbers: list):
    """The data with one array more, which the header then describes."""
    packed = struct.pack(f"<{len(numbers)}{code}", *numbers)
    place = [len(data), len(data) + len(packed)]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
    return data + packed


def container(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def doubles(layers: list[dict], tensors: list[list[list]]) -> bytes:
    """The safetensors file of a float64 network: one array a tensor."""
    names = {
        "linear": ("weight", "bias"),
        "relu": ("weight", "bias"),
        "feed_forward": ("W1", "b1", "W2", "b2"),
        "uniform_attention": ("W_V", "W_O"),
    }
    header, data, rest = {}, b"", iter(tensors)
    for number, layer in enumerate(layers):
        for name in names[layer["kind"]]:
            tensor = next(rest)
            vector = name in ("bias", "b1", "b2")
            shape = [len(tensor)] if vector else [len(tensor), len(tensor[0])]
            numbers = [float(x) for row in tensor for x in row]
            data = append(header, data, f"layers.{number}.{name}", "F64", shape, "d", numbers)
    return container(header, data)


def counts(parameters: list[list[int]], tensors: list[list[list]]) -> dict:
    """Section 4: sizes, and the lengths in binary digits."""
    outside = sum(p[0] in (0, 1, len(tensors) - 2, len(tensors) - 1) for p in parameters)
    total, fixed = 0, []
    for *_, mantissa, exponent in parameters:
        digits = len(f"{abs(mantissa):b}")
        total += 1 + digits + (1 + len(f"{abs(exponent):b}") if exponent else 0)
        fixed.append(digits + exponent if exponent >= 0 else max(digits, -exponent))
    return {
        "parameters": {
            "nonzero": len(parameters),
            "counted": len(parameters) - outside,
            "dense": sum(len(t) * len(t[0]) for t in tensors),
            "outside": outside,
        },
        "bits": {
            "total": total,
            "fixed": sum(fixed),
            "encoded": 0,
            "largest": max(fixed),
            "information": 0,
        },
    }


def data_hash(kind: str, rows: list[dict], mark: str = " every") -> str:
    """Section 6, for tokens that are strings or doubles; `mark` is for bad files."""

    def key(token):
        return token if kind == "string" else tuple(token) if kind == "vector" else (token,)

    every = isinstance(rows[0]["label"], list)
    answers = [label for row in rows for label in (row["label"] if every else [row["label"]])]
    tokens = sorted({key(token) for row in rows for token in row["input"]})
    labels = sorted(set(answers))
    content = f"byheart-data-1\n{kind}{mark if every else ''}\n".encode()
    if kind == "string":
        content += b"".join(json.dumps(token).encode() + b"\n" for token in tokens)
    else:
        content += b"float64 %d\n" % len(tokens[0])
        content += b"".join(struct.pack("<d", x + 0.0) for token in tokens for x in token)
    content += b"".join(json.dumps(label).encode() + b"\n" for label in labels)
    for numbers in (
        [len(row["input"]) for row in rows],
        [tokens.index(key(token)) for row in rows for token in row["input"]],
        [labels.index(label) for label in answers],
        [row.get("count", 1) for row in rows],
    ):
        content += struct.pack(f"<{len(numbers)}q", *numbers)
    return hashlib.sha256(content).hexdigest()


def encode(value: dict) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def lines(rows: list[dict]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def build(example: dict) -> Files:
    """The files of an example: {input, labels, layers, tensors, tokens, rows} and, where they are
    not the usual ones, {unknown, every, number, connections, sampled}."""
    parameters = entries(example["tensors"])
    tensors, rows, layers = example["tensors"], example["rows"], example["layers"]
    sha256 = data_hash(example["input"]["kind"], rows)
    output = {"labels": len(example["labels"]), "unknown": example.get("unknown")}
    answers = len(rows)
    if example.get("every"):
        output["every"] = True
        answers = sum(len(row["input"]) for row in rows)
    checked = example.get("sampled", answers)
    number = example.get("number", "dyadic")
    packed = weights(parameters, example.get("connections"))
    config = {
        "format": "byheart-model",
        "version": 1,
        "number": number,
        "method": "by hand",
        "form": None,
        "paper": None,
        "item": None,
        "input": example["input"],
        "output": output,
        "width": max(layer.get("rows", 0) for layer in layers),
        "layers": layers,
        "loading": {},
        "data": {"sha256": sha256, "sequences": len(rows)},
        **counts(parameters, tensors),
    }
    certificate = {
        "format": "byheart-certificate",
        "version": 1,
        "claim": "labels",
        "files": {},
        "data": {"sha256": sha256, "sequences": len(rows)},
        "verified": {
            "checked": checked,
            "correct": checked,
            "evidence": "sampled" if "sampled" in example else "proved",
            "engine": "exact",
        },
    }
    return seal(
        {
            "config.json": encode(config),
            "weights.safetensors": packed if number == "dyadic" else doubles(layers, tensors),
            "vocabulary.json": encode({"tokens": example["tokens"], "labels": example["labels"]}),
            "certificate.json": encode(certificate),
            "data.jsonl": lines(rows),
        }
    )


def seal(files: Files) -> Files:
    """The same files with the hashes of the certificate made to agree."""
    certificate = json.loads(files["certificate.json"])
    certificate["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in HASHED}
    return {**files, "certificate.json": encode(certificate)}


def write(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True)
    for name, content in sorted(files.items()):
        (folder / name).write_bytes(content)


# ---------------------------------------------------------------- good


def linear(rows: int, columns: int, stage: str) -> dict:
    return {"kind": "linear", "rows": rows, "columns": columns, "stage": stage}


def feed_forward(hidden: int, stage: str) -> dict:
    return {"kind": "feed_forward", "hidden": hidden, "stage": stage}


def attention(head: int) -> dict:
    return {"kind": "uniform_attention", "head_dimension": head, "stage": "attend"}


def relu(rows: int, columns: int, stage: str) -> dict:
    return {"kind": "relu", "rows": rows, "columns": columns, "stage": stage}


def reads(kind: str, length: int, padding: list | None, **others) -> dict:
    """What stands under `input`; padding and extra are vectors of numbers."""
    vectors = {"padding": padding, **others}
    given = {"kind": kind, "dimension": 1, "length": length, "positions": False, **vectors}
    for key in ("padding", "extra"):
        if given.get(key) is not None:
            given[key] = [dyadic(x) for x in given[key]]
    return given


def zeros(rows: int, columns: int = 1) -> list[list[int]]:
    return [[0] * columns for _ in range(rows)]


def words() -> dict:
    """Are two words the same? Worked out by hand.

    The words are no = 1 and yes = 2, padding is 0. Lanes: x the token, k the key, y the answer.
    embed      x = token, k = 2 token, y = 0
    attention  k = k + 2 mean(x) = k + sum of the tokens (n = 2)
    The last column then holds       no no: k = 2 + 2 = 4      yes no: k = 2 + 3 = 5
                                     no yes: k = 4 + 3 = 7    yes yes: k = 4 + 4 = 8
    and for one word alone            no: k = 2 + 1 = 3            yes: k = 4 + 2 = 6
    step       y = r(k - 4) - r(k - 5) - r(k - 7) + r(k - 8), where r(t) = max(0, t):
               k   3  4  5          6          7          8
               y   0  0  1 - 0 = 1  2 - 1 = 1  3 - 2 = 1  4 - 3 - 1 + 0 = 0
    Label 0 is "same", label 1 is "differ"; "yes" alone has k = 6: it differs from the padding.
    """
    step = [[0, 1, 0]] * 4
    tensors = [
        [[1], [2], [0]],
        zeros(3),
        [[1, 0, 0]],
        [[0], [2], [0]],
        step,
        [[-4], [-5], [-7], [-8]],
        [[0] * 4, [0] * 4, [1, -1, -1, 1]],
        zeros(3),
        [[0, 0, 1]],
        [[0]],
    ]
    rows = [
        {"input": ["no", "no"], "label": "same"},
        {"input": ["yes", "no"], "label": "differ"},
        {"input": ["no", "yes"], "label": "differ", "count": 3},
        {"input": ["yes", "yes"], "label": "same"},
        {"input": ["yes"], "label": "differ"},
    ]
    return {
        "input": {
            "kind": "string",
            "dimension": 1,
            "length": 2,
            "positions": False,
            "padding": [[0, 0]],
        },
        "labels": ["same", "differ"],
        "tokens": ["no", "yes"],
        "rows": rows,
        "tensors": tensors,
        "layers": [
            linear(3, 1, "embed"),
            attention(1),
            feed_forward(4, "step"),
            linear(1, 3, "output"),
        ],
    }


def lookup(pairs: dict[int, int], width: int, lane: int, answer: int) -> list[list[list]]:
    """The four tensors of a feed-forward layer that adds pairs[key] to the lane `answer`, where
    key is the integer in `lane`: a unit step before each key at which the value changes."""
    keys = sorted(pairs)
    rises = [(b, pairs[b] - pairs[a]) for a, b in pairwise(keys) if pairs[a] != pairs[b]]
    reads = [int(i == lane) for i in range(width)]
    first, bias, second = [], [], zeros(width, 2 * len(rises))
    for number, (key, rise) in enumerate(rises):
        first += [reads, reads]
        bias += [[1 - key], [-key]]
        second[answer][2 * number : 2 * number + 2] = [rise, -rise]
    constants = zeros(width)
    constants[answer][0] = pairs[keys[0]]
    return [first, bias, second, constants]


def vectors() -> dict:
    """Vectors in the plane with positions, three to a sequence (3 is the odd part of n).

    Lanes: u, f the fold, k the key, y the answer; r(t) = max(0, t).
    embed      u = 4 a + 8 b + 16 i for the vector (a, b) at position i
    fold       f = r(u - 5) - r(-u) / 2 - 1/2
    attention  f = f + 4 sum f + 128 sum u, with W_O = 3 * 4 and 3 * 128 because n = 3
    scale      k = r(2 f) - r(-2 f) = 2 f, an integer
    lookup     y = the number of the label that belongs to k
    """
    inputs = [
        ([[0.5, -1.25], [2.0, 0.25], [-3, 0.125]], -7),
        ([[2.0, 0.25], [0.5, -1.25], [-3, 0.125]], 12),
        ([[-3, 0.125], [2.0, 0.25]], 0),
        ([[2.0, 0.25], [-3, 0.125]], 12),
        ([[0.5, -1.25]], -7),
        ([[-3, 0.125]], 12),
        ([[0, 0], [0, 0], [0, 0]], 0),
    ]
    padding, labels = [-0.5, 0.75], [-7, 0, 12]
    keys = {}
    for tokens, label in inputs:
        columns = [padding] * (3 - len(tokens)) + tokens
        u = [4 * Fraction(a) + 8 * Fraction(b) + 16 * i for i, (a, b) in enumerate(columns)]
        f = [max(0, x - 5) - max(0, -x) / 2 - Fraction(1, 2) for x in u]
        keys[int(2 * (f[-1] + 4 * sum(f) + 128 * sum(u)))] = labels.index(label)
    assert len(keys) == len(inputs)
    half = Fraction(1, 2)
    tensors = [
        [[4, 8, 16], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
        zeros(4),
        [[1, 0, 0, 0], [-1, 0, 0, 0]],
        [[-5], [0]],
        [[0, 0], [1, -half], [0, 0], [0, 0]],
        [[0], [-half], [0], [0]],
        [[0, 1, 0, 0], [1, 0, 0, 0]],
        [[0, 0], [3 * 4, 3 * 128], [0, 0], [0, 0]],
        [[0, 2, 0, 0], [0, -2, 0, 0]],
        zeros(2),
        [[0, 0], [0, 0], [1, -1], [0, 0]],
        zeros(4),
        *lookup(keys, 4, 2, 3),
        [[0, 0, 0, 1]],
        [[0]],
    ]
    return {
        "input": {
            "kind": "vector",
            "dimension": 2,
            "length": 3,
            "positions": True,
            "padding": [dyadic(x) for x in padding],
        },
        "labels": labels,
        "unknown": 3,
        "tokens": None,
        "tensors": tensors,
        "rows": [{"input": tokens, "label": label} for tokens, label in inputs],
        "layers": [
            linear(4, 3, "embed"),
            feed_forward(2, "fold"),
            attention(2),
            feed_forward(2, "scale"),
            feed_forward(len(tensors[12]), "lookup"),
            linear(1, 4, "output"),
        ],
    }


def spread() -> dict:
    """Numbers, up to six to a sequence, and two attention layers.

    Lanes: x, s the sum, e the excess, y the answer. The first attention gives every column
    s = sum x = 6 mean x; the feed-forward part e = r(6 x - s), how far six times this number lies
    above the sum; the second attention y = sum e. The label tells small, middle and great y.
    """
    inputs = [
        [1.0],
        [2.0, 2.0, 2.0],
        [1, 1, 1, 1, 1, 1],
        [-1.5, 3],
        [3, -1.5],
        [0.25, 0.5, 4],
        [5, 5, 5, 5, 5, 4.75],
        [-2, -2],
    ]
    keys, rows = {}, []
    for tokens in inputs:
        x = [Fraction(0)] * (6 - len(tokens)) + [Fraction(t) for t in tokens]
        key = sum(max(0, 6 * value - sum(x)) for value in x) * 4
        keys[int(key)] = (key > 20) + (key > 70)
        rows.append({"input": tokens, "label": ["flat", "uneven", "steep"][keys[int(key)]]})
    tensors = [
        [[1], [0], [0], [0]],
        zeros(4),
        [[1, 0, 0, 0]],
        [[0], [6], [0], [0]],
        [[6, -1, 0, 0]],
        [[0]],
        [[0], [0], [1], [0]],
        zeros(4),
        [[0, 0, 1, 0]],
        [[0], [0], [0], [6 * 4]],
        *lookup_in_place(keys),
        [[0, 0, 0, 1]],
        [[0]],
    ]
    return {
        "input": {
            "kind": "number",
            "dimension": 1,
            "length": 6,
            "positions": False,
            "padding": [["0", "0"]],
        },
        "labels": ["flat", "uneven", "steep"],
        "tokens": None,
        "rows": rows,
        "tensors": tensors,
        "layers": [
            linear(4, 1, "embed"),
            attention(1),
            feed_forward(1, "excess"),
            attention(1),
            feed_forward(len(tensors[10]), "lookup"),
            linear(1, 4, "output"),
        ],
    }


def lookup_in_place(keys: dict[int, int]) -> list[list[list]]:
    """The lookup of `spread`, whose keys are >= 0: the answer replaces the key in its lane."""
    first, bias, second, constants = lookup(keys, 4, 3, 3)
    for row in second:
        row.append(0)
    second[3][-1] = -1
    return [[*first, [0, 0, 0, 1]], [*bias, [0]], second, constants]


def larger() -> dict:
    """The larger of two numbers by layers without skip connection: max(a, b) = r(a - b) + b.

    The second layer is r(a - b), r(b), r(-b); the third their sum 1, 1, -1 if that is positive. The
    answer to two vectors is that to the last.
    """
    inputs = [([0, 2], 2), ([3, 1], 3), ([-1, 0], 0), ([1, -5], 1), ([-2.5, -0.5], 0), ([2, 2], 2)]
    rows = [{"input": [pair], "label": label} for pair, label in inputs]
    return {
        "input": reads("vector", 2, [0, 0], dimension=2),
        "labels": [0, 1, 2, 3],
        "tokens": None,
        "rows": [*rows, {"input": [[3, 3], [0.5, 1]], "label": 1}],
        "tensors": [
            [[1, 0], [0, 1]],
            zeros(2),
            [[1, -1], [0, 1], [0, -1]],
            zeros(3),
            [[1, 1, -1]],
            [[0]],
            [[1]],
            [[0]],
        ],
        "layers": [
            linear(2, 2, "embed"),
            relu(3, 2, "differ"),
            relu(1, 3, "add"),
            linear(1, 1, "output"),
        ],
    }


def phrases() -> dict:
    """An embedding with positions: words a, b, c are 1, 2, 3, padding is 0.

    Lanes: u = code + 2 i with codes 0, 5, -3, 8 for the word at position i; f, k = 64 code, y.
    fold       f = r(u - 4)
    attention  k = k + sum f + 16 sum u, with W_O = 3 * 1 and 3 * 16 because n = 3
    lookup     y = the number of the label that belongs to k
    """
    codes = [0, 5, -3, 8]
    inputs = [("abc", "x"), ("bac", "y"), ("cab", "z"), ("a", "x"), ("b", "y"), ("cc", "z")]
    labels, keys = ["x", "y", "z"], {}
    for text, label in inputs:
        numbers = [0] * (3 - len(text)) + [" abc".index(letter) for letter in text]
        u = [codes[number] + 2 * i for i, number in enumerate(numbers)]
        key = 64 * codes[numbers[-1]] + sum(max(0, x - 4) for x in u) + 16 * sum(u)
        keys[key] = labels.index(label)
    assert len(keys) == len(inputs)
    tensors = [
        [codes, [0] * 4, [64 * code for code in codes], [0] * 4],
        [[2], [0], [0], [0]],
        [[1, 0, 0, 0]],
        [[-4]],
        [[0], [1], [0], [0]],
        zeros(4),
        [[0, 1, 0, 0], [1, 0, 0, 0]],
        [[0, 0], [0, 0], [3, 3 * 16], [0, 0]],
        *lookup(keys, 4, 2, 3),
        [[0, 0, 0, 1]],
        [[0]],
    ]
    return {
        "input": reads("string", 3, [0], positions=True),
        "labels": labels,
        "tokens": ["a", "b", "c"],
        "rows": [{"input": list(text), "label": label} for text, label in inputs],
        "tensors": tensors,
        "layers": [
            {"kind": "embedding", "rows": 4, "columns": 4, "stage": "embed"},
            feed_forward(1, "fold"),
            attention(2),
            feed_forward(len(tensors[8]), "lookup"),
            linear(1, 4, "output"),
        ],
    }


def sparse(head: int, connections: list) -> dict:
    return {
        "kind": "sparse_attention",
        "head_dimension": head,
        "connections": len(connections),
        "stage": "attend",
    }


def tags() -> dict:
    """Sparse attention with an extra column, and a label for every token.

    Numbers, three to a sequence, padding -1, extra column 7. Lanes: x, s, k = 64 x, y.
    first      the extra column is connected to the three others: its s = sum x, W_O = 3
    second     column 1 is connected to the extra column, columns 2 and 3 to it and to the one
               before them: k = k + 4 mean s + 2 mean x over these
    lookup     y = the number of the label that belongs to k: whether x is above, equal to or below
               the number before it, and a peak if it is above and the sum exceeds 4
    """
    one, two = [(0, 1), (0, 2), (0, 3)], [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2)]
    names, keys, rows = ["fall", "level", "peak", "rise"], {}, []
    for tokens in ([0, 1, 3], [3, 1, 1], [2, 2], [1], [1, 0, 2], [3, 0]):
        x = [7] + [-1] * (3 - len(tokens)) + tokens
        total, labels = sum(x[1:]), []
        for place in range(4 - len(tokens), 4):
            sources = [source for target, source in two if target == place]
            mean = Fraction(4 * total + 2 * sum(x[source] for source in sources), len(sources))
            before = x[place - 1] if place > 1 else -1
            label = "level" if x[place] == before else "fall" if x[place] < before else "rise"
            labels.append("peak" if label == "rise" and total > 4 else label)
            number = names.index(labels[-1])
            assert keys.setdefault(int(64 * x[place] + mean), number) == number
        rows.append({"input": tokens, "label": labels})
    tensors = [
        [[1], [0], [64], [0]],
        zeros(4),
        [[1, 0, 0, 0]],
        [[0], [3], [0], [0]],
        [[0, 1, 0, 0], [1, 0, 0, 0]],
        [[0, 0], [0, 0], [4, 2], [0, 0]],
        *lookup(keys, 4, 2, 3),
        [[0, 0, 0, 1]],
        [[0]],
    ]
    return {
        "input": reads("number", 3, [-1], extra=[7]),
        "every": True,
        "labels": names,
        "tokens": None,
        "rows": rows,
        "tensors": tensors,
        "connections": [*one, *two],
        "layers": [
            linear(4, 1, "embed"),
            sparse(1, one),
            sparse(2, two),
            feed_forward(len(tensors[6]), "lookup"),
            linear(1, 4, "output"),
        ],
    }


def sets() -> dict:
    """A deep set: how many of the numbers are greater than 2? They are whole numbers, so each
    counts r(x - 2) - r(x - 3); the sum of nothing is 0."""
    inputs = [[], [5], [1, 2, 3, 4, 5, 0, 9], [3, 3], [-1], [3, -7, 3]]
    rows = [{"input": x, "label": sum(number > 2 for number in x)} for x in inputs]
    return {
        "input": reads("number", 7, None),
        "labels": [0, 1, 2, 3, 4],
        "tokens": None,
        "rows": rows,
        "tensors": [
            [[1]],
            [[0]],
            [[1], [1]],
            [[-2], [-3]],
            [[1, -1]],
            [[0]],
            [[1]],
            [[0]],
        ],
        "layers": [
            linear(1, 1, "embed"),
            relu(2, 1, "count"),
            {"kind": "sum", "stage": "sum"},
            relu(1, 2, "differ"),
            linear(1, 1, "output"),
        ],
    }


def extremes() -> dict:
    """Hard attention with two heads that are not uniform: vectors (a, b), three to a sequence.

    Lanes: a, b, 1, y. The score of a column is its a in the first head and -a in the second, the
    value its b: y = b at the largest a + 4 b at the smallest a. Padding has a = -1/2, b = 3. Where
    several columns have the largest score their b are averaged: 1 and 3 to 2; 0, 1 and 5 to 2.
    """
    inputs = [
        ([[1, 0], [2, 1], [3, 2]], 2 + 4 * 0),
        ([[1, 1], [5, 3], [5, 1]], 2 + 4 * 1),
        ([[0.25, 0], [0.25, 1], [0.25, 5]], 2 + 4 * 2),
        ([[4, 3], [-1, 2], [0, 0]], 3 + 4 * 2),
        ([[2, 1]], 1 + 4 * 3),
        ([[-2, 0], [7, 0]], 0),
    ]
    return {
        "input": reads("vector", 3, [-0.5, 3], dimension=2),
        "labels": list(range(14)),
        "tokens": None,
        "rows": [{"input": tokens, "label": label} for tokens, label in inputs],
        "tensors": [
            [[1, 0], [0, 1], [0, 0], [0, 0]],
            [[0], [0], [1], [0]],
            [[0, 0, 1, 0], [0, 0, -1, 0]],
            [[1, 0, 0, 0], [1, 0, 0, 0]],
            [[0, 1, 0, 0], [0, 1, 0, 0]],
            [[0, 0], [0, 0], [0, 0], [1, 4]],
            [[0, 0, 0, 1]],
            [[0]],
        ],
        "layers": [
            linear(4, 2, "embed"),
            {"kind": "hard_attention", "heads": 2, "head_dimension": 1, "stage": "attend"},
            linear(1, 4, "output"),
        ],
    }


def floats() -> dict:
    """Doubles: is the sum of four halves at least 0, and is the last one below 0?

    Lanes: x, s. attention s = 4 mean x = sum x; feed-forward s = s + r(x) - r(x), that is s; then
    r(2 s + 1), r(2 s), r(-2 x), r(-2 x - 1), of which 1, -1, 2, -2 times make the answer.
    """
    inputs = [[0.5, -1, 0.5, 0], [-0.5], [1.5, -0.5], [-1, 0.5], [2.0**40, -(2.0**40), -0.5]]
    rows = [{"input": x, "label": (sum(x) >= 0) + 2 * (x[-1] < 0)} for x in inputs]
    return {
        "number": "float64",
        "input": reads("number", 4, [0]),
        "labels": [0, 1, 2, 3],
        "tokens": None,
        "rows": rows,
        "tensors": [
            [[1], [0]],
            zeros(2),
            [[1, 0]],
            [[0], [4]],
            [[1, 0], [1, 0]],
            zeros(2),
            [[0, 0], [1, -1]],
            zeros(2),
            [[0, 2], [0, 2], [-2, 0], [-2, 0]],
            [[1], [0], [0], [-1]],
            [[1, -1, 2, -2]],
            [[0]],
        ],
        "layers": [
            linear(2, 1, "embed"),
            attention(1),
            feed_forward(2, "nothing"),
            relu(4, 2, "step"),
            linear(1, 4, "output"),
        ],
    }


def sampled() -> dict:
    """`words` with a certificate that claims only to have looked at two sequences."""
    return {**words(), "sampled": 2}


GOOD = {
    "words": words,
    "vectors": vectors,
    "spread": spread,
    "larger": larger,
    "phrases": phrases,
    "tags": tags,
    "sets": sets,
    "extremes": extremes,
    "floats": floats,
    "sampled": sampled,
}


# ---------------------------------------------------------------- decoders (section 9)


def decoder_tensors(example: dict) -> list[list[list]]:
    """The tensors as matrices; a vector is a column."""
    tensors = example["tensors"].values()
    return [[row if isinstance(row, list) else [row] for row in tensor] for tensor in tensors]


def decoder_doubles(tensors: dict[str, list]) -> bytes:
    header, data = {}, b""
    for name, tensor in tensors.items():
        vector = not isinstance(tensor[0], list)
        shape = [len(tensor)] if vector else [len(tensor), len(tensor[0])]
        numbers = [float(x) for row in tensor for x in ([row] if vector else row)]
        data = append(header, data, name, "F64", shape, "d", numbers)
    return container(header, data)


def build_decoder(example: dict) -> Files:
    """The files of an example: {decoder, tensors, words, rows, gap} and, where they are not the
    usual ones, {number, sampled, evidence}."""
    tensors, rows = decoder_tensors(example), example["rows"]
    parameters = entries(tensors)
    number = example.get("number", "float64")
    contexts = len({tuple(row["input"]) for row in rows})
    checked = example.get("sampled", contexts)
    sizes = counts(parameters, tensors)
    sizes["parameters"] |= {"counted": sizes["parameters"]["dense"], "outside": 0}
    data = {
        "sha256": data_hash(example["decoder"]["kind"], rows),
        "sequences": len(rows),
    }
    config = {
        "format": "byheart-model",
        "version": 1,
        "number": number,
        "method": "by hand",
        "form": None,
        "paper": None,
        "item": None,
        "decoder": example["decoder"],
        "loading": {},
        "data": {**data, "contexts": contexts},
        **sizes,
    }
    certificate = {
        "format": "byheart-certificate",
        "version": 1,
        "claim": "distributions",
        "gap": example["gap"],
        "files": {},
        "data": data,
        "verified": {
            "checked": checked,
            "correct": checked,
            "evidence": example.get("evidence", "sampled" if "sampled" in example else "proved"),
            "engine": "by hand",
        },
    }
    packed = decoder_doubles(example["tensors"]) if number == "float64" else weights(parameters)
    return seal(
        {
            "config.json": encode(config),
            "weights.safetensors": packed,
            "vocabulary.json": encode({"tokens": example["words"], "labels": None}),
            "certificate.json": encode(certificate),
            "data.jsonl": lines(rows),
        }
    )


def decoder_shape(kind: str, words: list, length: int, dimension: int, **others) -> dict:
    """What stands under `decoder`: one head, unless `others` says otherwise."""
    shape = {"kind": kind, "vocabulary": len(words), "length": length, "dimension": dimension}
    heads = {"mixing": "attention", "heads": 1, "key_dimension": 1, "value_dimension": 1}
    return {**shape, **heads, "skip": False, **others}


TOKEN_SUM = {"mixing": "token_sum", "heads": 0, "key_dimension": 0, "value_dimension": 0}


def targets(rows: list[dict]) -> dict[tuple, dict]:
    """What follows each context, and how often."""
    found: dict[tuple, dict] = {}
    for row in rows:
        following = found.setdefault(tuple(row["input"]), {})
        following[row["label"]] = following.get(row["label"], 0) + row.get("count", 1)
    return found


def wanted_logits(following: dict, words: list, floor: float) -> list[float]:
    """floor + log p on the support and 0 elsewhere, on a grid so that sums of them are exact."""
    total = sum(following.values())
    logs = {word: math.log(count / total) + floor for word, count in following.items()}
    return [round(logs.get(word, 0) * 2**36) / 2**36 for word in words]


def front(shape: dict, words: list) -> dict[str, list]:
    """Embedding and mixing with rows of equal coordinates, so that everything is about scalars."""
    d, rows = shape["dimension"], shape["heads"] * shape["key_dimension"]
    columns, places = shape["heads"] * shape["value_dimension"], range(shape["length"])
    found = {"embedding.weight": [[math.sqrt(3 * i + 2) % 1 + 0.25] * d for i in range(len(words))]}
    if shape["mixing"] == "token_sum":
        return found | {"token_sum.weight": [math.sqrt(7 * t + 3) % 1 + 0.5 for t in places]}
    return found | {
        "positions.weight": [[math.sqrt(7 * t + 3) % 1 + 0.25] * d for t in places],
        "attention.query.weight": [[0.75] * d for _ in range(rows)],
        "attention.key.weight": [[0.5] * d for _ in range(rows)],
        "attention.value.weight": [[0.5] * d for _ in range(columns)],
        "attention.out.weight": [[1.25] * columns for _ in range(d)],
    }


def coordinate_sum(shape: dict, tensors: dict[str, list], numbers: list[int]) -> float:
    """s, the sum of the coordinates of g, in doubles."""
    d, z = shape["dimension"], [tensors["embedding.weight"][i][0] for i in numbers]
    if shape["mixing"] == "token_sum":
        return d * sum(c * x for c, x in zip(tensors["token_sum.weight"], z, strict=False))
    x = [a + b[0] for a, b in zip(z, tensors["positions.weight"], strict=False)]
    score = 0.75 * 0.5 * d * d * shape["key_dimension"] * x[-1]
    powers = [math.exp(score * (y - max(x))) for y in x]
    mean = sum(p * y for p, y in zip(powers, x, strict=True)) / sum(powers)
    heads = shape["heads"] * shape["value_dimension"] * 0.5 * 1.25 * d * d
    return heads * mean + (d * x[-1] if shape["skip"] else 0)


def steep(rows: list[dict], words: list, activation: str, gamma: float = 40, **others) -> dict:
    """The sorted steep decoder: neuron k switches between the contexts k - 1 and k in the order of
    s, with arguments -gamma and gamma there (gelu: -9 and 51), and the output rows are differences
    of wanted logits."""
    floor, dimension = others.pop("floor", 30), others.pop("dimension", 1)
    found, length = targets(rows), max(len(row["input"]) for row in rows)
    kind = "string" if isinstance(rows[0]["input"][0], str) else "number"
    neurons = {"neurons": len(found), "activation": activation}
    shape = decoder_shape(kind, words, length, dimension, **others, **neurons)
    tensors = front(shape, words)
    sums = {c: coordinate_sum(shape, tensors, [words.index(t) for t in c]) for c in found}
    order = sorted(found, key=sums.__getitem__)
    x = [sums[context] for context in order]
    x = [x[0] - 0.5, *x]
    y = [[0.0] * len(words), *(wanted_logits(found[c], words, floor) for c in order)]
    parts = (ramps if activation == "gelu" else steps)(x, y, activation, gamma)
    slopes, biases, output = parts
    tensors["hidden.weight"] = [[w] * dimension for w in slopes]
    tensors["hidden.bias"] = biases
    tensors["output.weight"] = [list(row) for row in zip(*output, strict=True)]
    return {"decoder": shape, "tensors": tensors, "words": words, "rows": rows, "gap": "1e-9"}


def steps(x: list, y: list, activation: str, gamma: float) -> tuple[list, list, list]:
    """Slopes, biases and output rows of neurons that switch halfway between x[k] and x[k + 1]."""
    slopes = [2 * gamma / (b - a) for a, b in pairwise(x)]
    biases = [-w * (a + b) / 2 for w, (a, b) in zip(slopes, pairwise(x), strict=True)]
    rises = [[q - p for p, q in zip(a, b, strict=True)] for a, b in pairwise(y)]
    if activation == "logistic":
        return slopes, biases, rises
    first = [(p + q) / 2 for p, q in zip(y[1], y[-1], strict=True)]
    return slopes, biases, [first, *([v / 2 for v in row] for row in rises[1:])]


def ramps(x: list, y: list, activation: str, gamma: float) -> tuple[list, list, list]:
    """The same for gelu, with kinks just right of x[k]: the logits are piecewise linear in s."""
    slopes = [60 / (b - a) for a, b in pairwise(x)]
    kinks = [a + 9 / w for w, a in zip(slopes, x, strict=False)]
    before, output = [0.0] * len(y[0]), []
    for k, (w, c) in enumerate(zip(slopes, kinks, strict=True)):
        pairs = zip(y[k], y[k + 1], before, strict=True)
        after = [(q - p - s * (c - x[k])) / (x[k + 1] - c) for p, q, s in pairs]
        after = [s if abs(s * (x[k + 1] - x[k])) > 1e-25 else 0.0 for s in after]
        output.append([(q - p) / w + 0.0 for p, q in zip(before, after, strict=True)])
        before = after
    return slopes, [-w * c for w, c in zip(slopes, kinks, strict=True)], output


def short(x: float) -> float:
    """x on a grid that is coarse enough for every platform's exp and log to give the same."""
    return round(x * 2**10) / 2**10


def next_word() -> dict:
    """A sorted steep decoder with attention: which word comes next, and how often."""
    texts = ["a b c", "a b a", "a b c", "b c b", "c a b", "b a a", "c c c", "a a b"]
    rows = []
    for text in texts:
        first, second, third = text.split()
        rows += [{"input": [first], "label": second}, {"input": [first, second], "label": third}]
    rows[0]["count"] = 3
    words, others = ["c", "a", "b", "end", 7], {"dimension": 2, "heads": 2, "skip": True}
    example = steep(rows, words, "logistic", **others)
    tensors = example["tensors"]
    tensors["hidden.weight"] = [[short(x) for x in row] for row in tensors["hidden.weight"]]
    tensors["hidden.bias"] = [short(x) for x in tensors["hidden.bias"]]
    return example


def ramp() -> dict:
    """gelu on a weighted sum of the tokens, which are numbers; 3.0 is the token 3."""
    inputs = [([3], 1), ([3.0, 1], 2), ([1], 2), ([2, 2], 3), ([2], 1), ([2], 3), ([1, 3], 9)]
    rows = [{"input": tokens, "label": label} for tokens, label in inputs]
    return {**steep(rows, [1, 2, 3, 9], "gelu", **TOKEN_SUM), "evidence": "observed"}


def heads() -> dict:
    """Two heads of two keys in the plane, arctan, and no structure at all: the weights are eighths
    and the distributions are not close to the targets, which a large gap allows."""
    words, numbers = ["u", "v", "w"], iter(range(1, 1000))

    def some(rows: int, columns: int) -> list[list[float]]:
        return [[(37 * next(numbers) % 23 - 11) / 8 for _ in range(columns)] for _ in range(rows)]

    shape = decoder_shape(
        "string", words, 3, 2, neurons=4, activation="arctan", heads=2, key_dimension=2
    )
    sizes = {
        "embedding.weight": (3, 2),
        "positions.weight": (3, 2),
        "attention.query.weight": (4, 2),
        "attention.key.weight": (4, 2),
        "attention.value.weight": (2, 2),
        "attention.out.weight": (2, 2),
        "hidden.weight": (4, 2),
    }
    tensors: dict = {name: some(*sides) for name, sides in sizes.items()}
    tensors["hidden.bias"] = [row[0] for row in some(4, 1)]
    tensors["output.weight"] = some(3, 4)
    rows = [{"input": list(text), "label": text[-1]} for text in ("u", "vu", "uvw", "wwv", "vu")]
    rows.append({"input": ["u"], "label": "w", "count": 5})
    return {"decoder": shape, "tensors": tensors, "words": words, "rows": rows, "gap": "2.2"}


def digits() -> dict:
    """Dyadic weights of hundreds of digits that cancel: erf(x) / 3 to 100 digits times 2^300, and
    the difference of two such neurons, is what tells the words apart."""
    third, large = Fraction(2**333 // 3, 2**333), 2**300
    output = [[large, -large], [0, 0], [-large * third, large * third]]
    tensors = {
        "embedding.weight": [[1], [-1], [third]],
        "token_sum.weight": [1, Fraction(1, 2)],
        "hidden.weight": [[1], [1]],
        "hidden.bias": [0, Fraction(3, 2**300)],
        "output.weight": output,
    }
    shape = decoder_shape("string", ["x", "y", "z"], 2, 1, neurons=2, activation="erf", **TOKEN_SUM)
    rows = [{"input": list(text), "label": "z"} for text in ("x", "y", "zx", "z", "yy")]
    example = {"decoder": shape, "tensors": tensors, "words": ["x", "y", "z"], "rows": rows}
    return {**example, "gap": "0.93", "number": "dyadic", "sampled": 2}


def attend() -> dict:
    """No neurons: one of the tokens that were read comes next, each equally likely. The first head
    looks at both places alike, the second at the last one, and takes away what `skip` adds. The
    fourth coordinate is the place; a context of one token is filled up in front."""
    words, letters = ["x", "y", "z", "<pad>"], range(3)
    heads = {"heads": 2, "key_dimension": 1, "value_dimension": 3, "skip": True}
    others = {**heads, "neurons": 0, "activation": "none", "padding": 3}
    unit = [[float(i == j) for j in range(4)] for i in range(4)]
    tensors = {
        "embedding.weight": [*unit[:3], [0.0] * 4],
        "positions.weight": [[0.0] * 4, unit[3]],
        "attention.query.weight": [[0.0] * 4, unit[3]],
        "attention.key.weight": [[0.0] * 4, [0.0, 0.0, 0.0, 60.0]],
        "attention.value.weight": [*unit[:3], *unit[:3]],
        "attention.out.weight": [
            *([60.0 * unit[i][j] for j in letters] + [0.0 - unit[i][j] for j in letters]
              for i in letters),
            [0.0] * 6,
        ],
        "output.weight": [*unit[:3], [0.0, 0.0, 0.0, -40.0]],
    }  # fmt: skip
    rows = [
        {"input": list(text), "label": label, "count": 3}
        for text in ("x", "z", "xy", "yx", "zz", "yz")
        for label in sorted(set(text))
    ]
    shape = decoder_shape("string", words, 2, 4, **others)
    return {"decoder": shape, "tensors": tensors, "words": words, "rows": rows, "gap": "1e-12"}


GOOD_DECODERS = {
    "next-word": next_word,
    "ramp": ramp,
    "heads": heads,
    "digits": digits,
    "attend": attend,
}


# ---------------------------------------------------------------- bad


def config(files: Files, change) -> Files:
    """The files with `change` done to the config and the hashes made to agree."""
    value = json.loads(files["config.json"])
    change(value)
    return seal({**files, "config.json": encode(value)})


def put(*path):
    """A change: the last item becomes the value at the place that the others name."""
    *places, key, new = path

    def change(value) -> None:
        for place in places:
            value = value[place]
        value[key] = new

    return change


def certificate(files: Files, change) -> Files:
    value = json.loads(files["certificate.json"])
    change(value)
    return {**files, "certificate.json": encode(value)}


def with_number(make, tensor: int, row: int, column: int, number) -> Files:
    """The example with one weight changed; counts and hashes all agree with the new weight."""
    example = make()
    example["tensors"][tensor][row] = list(example["tensors"][tensor][row])
    example["tensors"][tensor][row][column] = number
    return build(example)


def with_entries(change, **options: int) -> Files:
    parameters = entries(words()["tensors"])
    change(parameters)
    return seal({**build(words()), "weights.safetensors": weights(parameters, **options)})


def swap(parameters: list) -> None:
    parameters[3], parameters[4] = parameters[4], parameters[3]


def relabelled() -> Files:
    example = words()
    example["rows"][0] = {"input": ["no", "no"], "label": "differ"}
    return build(example)


def with_data(make_rows) -> Files:
    return {**build(words()), "data.jsonl": lines(make_rows(words()["rows"]))}


def with_vocabulary(**changes) -> Files:
    files = build(words())
    value = {**json.loads(files["vocabulary.json"]), **changes}
    return seal({**files, "vocabulary.json": encode(value)})


def with_rows(make, rows: list[dict]) -> Files:
    """The example with other data; the hash and the number of sequences agree with it."""
    return build({**make(), "rows": rows})


def with_connections(make, change) -> Files:
    """The example with other connections, which config.json does not know of."""
    example = make()
    connections = change(example["connections"])
    packed = weights(entries(example["tensors"]), connections)
    return seal({**build(example), "weights.safetensors": packed})


def with_config(make, *path) -> Files:
    return config(build(make()), put(*path))


def with_layer(make, place: int, layer: dict, remove: int = 0) -> Files:
    """The example with another layer in the list; for refusals that come before the weights."""
    layers = make()["layers"]
    layers[place : place + remove] = [layer]
    return with_config(make, "layers", layers)


def with_double(tensor: int, row: int, column: int, number: float) -> Files:
    """`floats` with one number changed in the weights only."""
    example = floats()
    example["tensors"][tensor][row][column] = number
    return seal(
        {**build(floats()), "weights.safetensors": doubles(example["layers"], example["tensors"])}
    )


def wide_span() -> Files:
    """`floats` with two lanes more that are 1: the output gains 2^60 - 2^60, which exact
    arithmetic does not notice."""
    example = floats()
    tensors = example["tensors"]
    tensors[8] += [[0, 0], [0, 0]]
    tensors[9] += [[1], [1]]
    tensors[10][0] += [2**60, -(2**60)]
    example["layers"][3:] = [relu(6, 2, "step"), linear(1, 6, "output")]
    return build(example)


def without_every(files: Files) -> Files:
    """`tags` with the hash of the data taken without the word every."""
    sha256 = data_hash("number", tags()["rows"], mark="")
    changed = config(files, put("data", "sha256", sha256))
    return certificate(changed, put("data", "sha256", sha256))


def lettered() -> dict:
    """`phrases` without attention: what stands in other columns does not change the answer."""
    example = phrases()
    layers, tensors = example["layers"], example["tensors"]
    rows = [{"input": ["a", letter], "label": "x"} for letter in "abc"]
    first, *_, last = layers
    ends = [*tensors[:2], *tensors[-2:]]
    return {**example, "layers": [first, last], "tensors": ends, "rows": rows}


# refused because of what the data holds: without data they can be read
ONLY_WITH_DATA = ("mean-not-dyadic", "label-list", "mixed-label-lists")


def new_bad_folders() -> dict[str, tuple[Files, int, str]]:
    """The same for the rules on relu layers, embeddings, attention of other kinds and doubles."""
    short = phrases()
    short["layers"][0] = {**short["layers"][0], "columns": 3}
    short["tensors"][0] = [row[:3] for row in short["tensors"][0]]
    thirds = [*extremes()["rows"], {"input": [[0, 0], [0, 0.5], [0, 0.5]], "label": 0}]
    two = [*tags()["rows"][:-1], {"input": [3, 0], "label": ["rise"]}]
    single = [{"input": row["input"], "label": "rise"} for row in tags()["rows"]]
    none = [*words()["rows"], {"input": [], "label": "same"}]
    lone = [*sets()["rows"], {"input": [3] * 8, "label": 4}]
    mixed = [*tags()["rows"], {"input": [1], "label": "rise"}]
    arrays = weights(entries(tags()["tensors"]))
    more = weights(entries(words()["tensors"]), [])
    every = build(tags())
    return {
        "unsorted-connections": (
            with_connections(tags, lambda c: [c[1], c[0], *c[2:]]),
            2,
            "not distinct and sorted",
        ),
        "repeated-connection": (
            with_connections(tags, lambda c: [c[0], c[0], *c[2:]]),
            2,
            "not distinct and sorted",
        ),
        "connection-outside": (
            with_connections(tags, lambda c: [*c[:-1], (3, 4)]),
            2,
            "outside the columns",
        ),
        "negative-connection": (
            with_connections(tags, lambda c: [(0, -1), *c[1:]]),
            2,
            "outside the columns",
        ),
        "connection-count": (with_connections(tags, lambda c: c[:-1]), 2, "7 targets"),
        "connections-missing": (
            seal({**every, "weights.safetensors": arrays}),
            2,
            "names the tensors",
        ),
        "connections-unasked": (
            seal({**build(words()), "weights.safetensors": more}),
            2,
            "names the tensors",
        ),
        "huge-connections": (
            with_config(tags, "layers", 1, "connections", 2**24 + 1),
            2,
            "not between 0 and 2^24",
        ),
        "changed-connection": (
            with_connections(tags, lambda c: [*c[:-1], (3, 1)]),
            1,
            "the network",
        ),
        "odd-connections": (
            with_number(tags, 3, 1, 0, 1),
            2,
            "the odd part of the number of connections",
        ),
        "id-outside": (build(short), 1, "a column is 3, the embedding has 0 to 2"),
        "padding-outside": (
            with_config(phrases, "input", "padding", [[1, 2]]),
            1,
            "a column is 1 * 2^2, the embedding has 0 to 3",
        ),
        "extra-outside": (
            with_config(lettered, "input", "extra", [[-1, 0]]),
            1,
            "a column is -1, the embedding has 0 to 3",
        ),
        "half-an-id": (
            with_config(lettered, "input", "extra", [[1, -1]]),
            1,
            "a column is 1 * 2^-1, the embedding has 0 to 3",
        ),
        "embedding-of-vectors": (
            with_layer(
                larger, 0, {"kind": "embedding", "rows": 2, "columns": 2, "stage": ""}, remove=1
            ),
            2,
            "tokens of dimension 1",
        ),
        "mean-not-dyadic": (with_rows(extremes, thirds), 2, "the mean of 3 columns is not dyadic"),
        "many-heads": (with_config(extremes, "layers", 1, "heads", 2**20 + 1), 2, '"heads"'),
        "sum-with-padding": (
            with_config(sets, "input", "padding", [[0, 0]]),
            2,
            "a sum layer needs input.padding null",
        ),
        "no-padding-no-sum": (
            with_config(words, "input", "padding", None),
            2,
            "one sum is the only layer",
        ),
        "two-sums": (
            with_layer(sets, 3, {"kind": "sum", "stage": ""}),
            2,
            "one sum is the only layer",
        ),
        "sum-with-positions": (
            with_layer(
                lambda: {**sets(), "input": {**sets()["input"], "positions": True}},
                0,
                linear(1, 2, ""),
                remove=1,
            ),
            2,
            "neither positions",
        ),
        "sum-with-extra": (with_config(sets, "input", "extra", [[1, 0]]), 2, "nor extra"),
        "sum-every": (with_config(sets, "output", "every", True), 2, "an answer to every token"),
        "set-too-large": (with_rows(sets, lone), 1, "the network reads 0 to 7"),
        "nothing-to-read": (with_rows(words, none), 1, "it has 0 tokens"),
        "relu-width": (with_config(larger, "layers", 2, "columns", 2), 2, '"columns" is 2'),
        "output-width": (with_config(larger, "layers", 3, "columns", 3), 2, '"columns" is 3'),
        "total-width": (with_config(larger, "width", 4), 2, "not that of the widest layer"),
        "relu-at-the-end": (with_config(larger, "layers", 3, "kind", "relu"), 2, '"kind" is'),
        "linear-inside": (
            with_config(larger, "layers", 1, "kind", "linear"),
            2,
            "cannot stand here",
        ),
        "float64-nan": (with_double(8, 0, 0, float("nan")), 2, "not finite"),
        "float64-infinite": (with_double(3, 1, 0, float("-inf")), 2, "not finite"),
        "float64-minus-zero": (with_double(1, 0, 0, -0.0), 2, "-0.0"),
        "float64-span": (wide_span(), 1, "spans more than 53 bits"),
        "float64-token": (
            with_rows(floats, [*floats()["rows"], {"input": [2.0**60, 0.5], "label": 1}]),
            1,
            "spans more than 53 bits",
        ),
        "float64-range": (
            with_rows(floats, [*floats()["rows"], {"input": [2.0**-1001], "label": 1}]),
            1,
            "from 2^-1000 to 2^1000",
        ),
        "float64-length": (with_config(floats, "input", "length", 6), 2, "not a power of two"),
        "float64-extra": (with_config(floats, "input", "extra", [[0, 0]]), 2, "5 columns"),
        "float64-shape": (with_config(floats, "layers", 2, "hidden", 3), 2, "has shape"),
        "float64-dyadics": (
            with_config(words, "number", "float64"),
            2,
            "names the tensors",
        ),
        "float64-sparse": (
            with_config(tags, "number", "float64"),
            2,
            "no layers of kind sparse_attention",
        ),
        "other-number": (with_config(words, "number", "float32"), 2, "is not known"),
        "label-list": ({**every, "data.jsonl": lines(two)}, 2, "1 labels for 2 tokens"),
        "mixed-label-lists": ({**every, "data.jsonl": lines(mixed)}, 2, "a label a token"),
        "every-missing": (
            {**every, "data.jsonl": lines(single)},
            1,
            "the data has one label a sequence",
        ),
        "every-unasked": (
            with_config(tags, "output", "every", False),
            1,
            "the data has a label for every token",
        ),
        "every-hash": (without_every(every), 1, "sha256 of the data"),
        "every-label": (
            with_rows(tags, [{"input": [1], "label": ["fall"]}, *tags()["rows"]]),
            1,
            'token 0 [1]: the label is "fall", the network answers "rise"',
        ),
        "every-checked": (
            certificate(every, put("verified", {"checked": 6, "correct": 6, "evidence": "proved"})),
            1,
            "does not claim that all labels",
        ),
        "every-incorrect": (
            certificate(every, put("verified", "correct", 13)),
            1,
            "does not claim that all labels",
        ),
        "sampled-all": (build({**words(), "sampled": 5}), 1, "does not claim that all labels"),
        "sampled-none": (build({**words(), "sampled": 0}), 1, "does not claim that all labels"),
        "sampled-and-wrong": (
            build({**words(), "sampled": 2, "rows": [{"input": ["no"], "label": "differ"}] * 3}),
            1,
            'the label is "differ", the network',
        ),
    }


def bad_folders() -> dict[str, tuple[Files, int, str]]:
    """Name: the files, the exit code, a part of the sentence."""
    files = build(words())
    raw, text = files["weights.safetensors"], files["config.json"]
    other_label = [{"input": ["no", "no"], "label": "differ"}, *words()["rows"][1:]]
    upward = {"../config.json" if n == "config.json" else n: "0" * 64 for n in HASHED}
    far, long_header = 2**31 - 2, struct.pack("<Q", 2**60) + raw[8:]
    not_a_number = text.replace(b'"width": 3', b'"width": NaN')
    return {
        "changed-weight": (with_number(words, 5, 2, 0, -5), 1, "the network answers"),
        "hashes-agree-labels-wrong": (relabelled(), 1, 'the label is "differ", the network'),
        "changed-label": (with_data(lambda rows: other_label), 1, "sha256 of the data"),
        "missing-item": (with_data(lambda rows: rows[:-1]), 1, "the data has 4 sequences"),
        "unknown-token": (
            with_data(lambda rows: [*rows, {"input": ["maybe"], "label": "same"}]),
            1,
            '"maybe" is not in the vocabulary',
        ),
        "too-long": (
            with_data(lambda rows: [*rows, {"input": ["no"] * 3, "label": "same"}]),
            1,
            "it has 3 tokens",
        ),
        "wrong-hash": (
            certificate(files, put("files", "config.json", "0" * 64)),
            1,
            "the sha256 of config.json",
        ),
        "wrong-counts": (
            config(files, put("parameters", "nonzero", 3)),
            1,
            "parameters.nonzero is 3",
        ),
        "wrong-bits": (config(files, put("bits", "largest", 99)), 1, "bits.largest is 99"),
        "non-integer-output": (
            with_number(words, 8, 0, 2, Fraction(1, 2)),
            1,
            "output 1 * 2^-1 is no label",
        ),
        # in Python labels[-1] is the last label, which is the right one here
        "negative-output": (with_number(words, 8, 0, 2, -1), 1, "output -1 is no label"),
        "output-outside-labels": (with_number(words, 8, 0, 2, 3), 1, "output 3 is no label"),
        "truncated-weights": (seal({**files, "weights.safetensors": raw[:-5]}), 2, "bytes of data"),
        "header-length": (seal({**files, "weights.safetensors": long_header}), 2, "is truncated"),
        "trailing-weights": (
            seal({**files, "weights.safetensors": raw + b"\0"}),
            2,
            "bytes of data",
        ),
        "wrong-version": (config(files, put("version", 2)), 2, '"version" is 2'),
        "huge-length": (config(files, put("input", "length", 2**31)), 2, '"length" is 2147483648'),
        "huge-exponent": (
            with_entries(lambda p: p[0].__setitem__(4, far)),
            2,
            "an exponent above 2^22",
        ),
        "path-in-files": (certificate(files, put("files", upward)), 2, '"../config.json"'),
        "odd-part": (with_number(vectors, 7, 1, 0, 4), 2, "not divisible by 3"),
        "unsorted": (with_entries(swap), 2, "out of order"),
        "repeated-entry": (with_entries(lambda p: p.insert(1, p[0])), 2, "out of order"),
        "top-limb-zero": (with_entries(list, spare=1), 2, "a top limb of zero"),
        "hole": (with_entries(list, hole=8), 2, "a hole or an overlap before limbs"),
        "overlap": (with_entries(list, hole=-8), 2, "a hole or an overlap before limbs"),
        "sign-two": (with_entries(list, minus=2), 2, "neither 0 nor 1"),
        "missing-tensor": (
            seal({**files, "weights.safetensors": raw.replace(b"limbs", b"limbo")}),
            2,
            "names the tensors",
        ),
        "even-mantissa": (
            with_entries(lambda p: p[1].__setitem__(slice(3, 5), [2, 0])),
            2,
            "an even mantissa",
        ),
        "outside-tensor": (
            with_entries(lambda p: p[-1].__setitem__(2, 3)),
            2,
            "outside its tensor",
        ),
        "duplicate-tokens": (with_vocabulary(tokens=["no", "no"]), 2, "not distinct and sorted"),
        "duplicate-labels": (with_vocabulary(labels=["same", "same"]), 2, "1 distinct labels"),
        "mixed-labels": (with_vocabulary(labels=["same", 1]), 2, "all strings or all integers"),
        "duplicate-key": (
            seal({**files, "config.json": b'{"version": 1, ' + text.lstrip()[1:]}),
            2,
            '"version" occurs twice',
        ),
        "not-a-number": (
            seal({**files, "config.json": not_a_number}),
            2,
            "NaN is not a JSON number",
        ),
        "not-utf8": (seal({**files, "vocabulary.json": b"\xff\xfe{}"}), 2, "is not UTF-8"),
        "missing-file": (
            {n: c for n, c in files.items() if n != "vocabulary.json"},
            2,
            "cannot be read",
        ),
    }


def changed(make, name: str, *path) -> Files:
    """The decoder with one number of a tensor changed; counts and hashes agree with it."""
    example = make()
    put(*path)(example["tensors"][name])
    return build_decoder(example)


def with_decoder(*path) -> Files:
    """`next_word` with a change of what stands under `decoder`."""
    return config(build_decoder(next_word()), put("decoder", *path))


def swapped() -> Files:
    example = next_word()
    rows = example["tensors"]["embedding.weight"]
    rows[0], rows[1] = rows[1], rows[0]
    return build_decoder(example)


def with_words(make, words: list, labels: list | None = None) -> Files:
    value = encode({"tokens": words, "labels": labels})
    return seal({**build_decoder(make()), "vocabulary.json": value})


def with_sequences(change) -> Files:
    """`next_word` with other data; hashes and the number of contexts agree."""
    example = next_word()
    change(example["rows"])
    return build_decoder(example)


def with_claim(*path) -> Files:
    return certificate(build_decoder(next_word()), put(*path))


def raw_double(make, name: str, *path) -> Files:
    """A change that only the file of weights knows of: a number that is none has no digits."""
    example = make()
    put(*path)(example["tensors"][name])
    return seal(
        {**build_decoder(make()), "weights.safetensors": decoder_doubles(example["tensors"])}
    )


def bad_decoders() -> dict[str, tuple[Files, int, str]]:
    """The same for section 9."""
    example = next_word()
    files, rows = build_decoder(example), example["rows"]
    output = example["tensors"]["output.weight"]
    token, neuron = next(
        (j, k) for j, row in enumerate(output) for k, x in enumerate(row) if k and x
    )
    nudged = output[token][neuron] + 1e-3
    slope = example["tensors"]["hidden.weight"][3][0]
    long = next(row for row in rows if len(row["input"]) == 2)["input"] + ["a"]
    tags = [{**row, "label": row["input"]} for row in rows]
    return {
        "next-label": (
            with_sequences(lambda rows: rows[0].update(label="end")),
            1,
            "the divergence is",
        ),
        "next-count": (
            with_sequences(lambda rows: rows[0].update(count=4)),
            1,
            "the divergence is",
        ),
        "next-data": (
            {**files, "data.jsonl": lines([{**rows[0], "count": 4}, *rows[1:]])},
            1,
            "the sha256 of the data",
        ),
        "next-output": (
            changed(next_word, "output.weight", token, neuron, nudged),
            1,
            "the divergence is",
        ),
        "next-swapped": (swapped(), 1, "the divergence is"),
        "next-slope": (
            changed(next_word, "hidden.weight", 3, [-slope] * 2),
            1,
            "the divergence is",
        ),
        "next-gap": (with_claim("gap", "1e-13"), 1, "the gap 1e-13"),
        "next-contexts": (
            certificate(
                config(files, put("data", "contexts", 8)),
                put("verified", {"checked": 8, "correct": 8, "evidence": "proved"}),
            ),
            1,
            "9 contexts, config.json says 8",
        ),
        "next-checked": (with_claim("verified", "checked", 5), 1, "does not claim that all"),
        "next-evidence": (
            with_claim("verified", "evidence", "refuted"),
            1,
            "does not claim that all",
        ),
        "next-hash": (with_claim("files", "weights.safetensors", "0" * 64), 1, "the sha256 of"),
        "next-counted": (
            config(files, put("parameters", "counted", 1)),
            1,
            "parameters.counted is 1",
        ),
        "next-unknown-token": (
            with_sequences(lambda rows: rows.append({"input": ["d"], "label": "a"})),
            1,
            '"d" is not in the vocabulary',
        ),
        "next-unknown-label": (
            with_sequences(lambda rows: rows.append({"input": ["b"], "label": "d"})),
            1,
            '"d" is not in the vocabulary',
        ),
        "next-too-long": (
            with_sequences(lambda rows: rows.append({"input": long, "label": "a"})),
            1,
            "it has 3 tokens, the decoder reads 1 to 2",
        ),
        "next-empty": (
            with_sequences(lambda rows: rows.append({"input": [], "label": "a"})),
            1,
            "it has 0 tokens, the decoder reads 1 to 2",
        ),
        "next-every": ({**files, "data.jsonl": lines(tags)}, 1, "a label for every token"),
        "next-kind": (with_decoder("kind", "number"), 1, "the decoder reads numbers"),
        "next-claim": (with_claim("claim", "labels"), 2, '"claim" is "labels"'),
        "words-claim": (
            certificate(build(words()), put("claim", "distributions")),
            2,
            '"claim" is "distributions"',
        ),
        "next-gap-zero": (with_claim("gap", "0.0"), 2, "not between 1e-300 and 1e300"),
        "next-gap-tiny": (with_claim("gap", "1e-999"), 2, "not between 1e-300 and 1e300"),
        "next-gap-minus": (with_claim("gap", "-1e-9"), 2, "not a decimal number"),
        "next-gap-nan": (with_claim("gap", "nan"), 2, "not a decimal number"),
        "next-gap-number": (with_claim("gap", 1e-9), 2, '"gap" is'),
        "next-nan": (
            raw_double(next_word, "hidden.bias", 0, float("nan")),
            2,
            "hidden.bias: a number is not finite",
        ),
        "next-infinite": (
            raw_double(next_word, "output.weight", 1, 1, float("inf")),
            2,
            "output.weight: a number is not finite",
        ),
        "next-minus-zero": (
            raw_double(next_word, "output.weight", 3, 0, -0.0),
            2,
            "output.weight: a number is -0.0",
        ),
        "next-neurons": (with_decoder("neurons", 3), 2, "has shape"),
        "next-huge": (with_decoder("neurons", 2**20 + 1), 2, '"neurons" is 1048577'),
        "next-heads": (
            config(with_decoder("heads", 2**11), put("decoder", "value_dimension", 2**10)),
            2,
            "more than 2^20 rows together",
        ),
        "next-one-word": (with_decoder("vocabulary", 1), 2, "a vocabulary of 1"),
        "next-activation": (with_decoder("activation", "relu"), 2, '"relu" is not known'),
        "next-mixing": (with_decoder("mixing", "mean"), 2, '"mean" is not known'),
        "next-skip": (with_decoder("skip", 1), 2, '"skip" is 1'),
        "next-layers": (config(files, put("layers", [])), 2, "both decoder and layers"),
        "next-labels": (with_words(next_word, example["words"], []), 2, "labels must be null"),
        "next-same-words": (
            with_words(next_word, ["c", "a", "b", "end", "a"]),
            2,
            "4 distinct tokens, not 5",
        ),
        "next-true": (
            with_words(next_word, ["c", "a", "b", "end", True]),
            2,
            "neither a string nor an integer",
        ),
        "ramp-heads": (
            config(build_decoder(ramp()), put("decoder", "heads", 1)),
            2,
            '"heads" is 1',
        ),
        "ramp-skip": (
            config(build_decoder(ramp()), put("decoder", "skip", True)),
            2,
            '"skip" is true',
        ),
        "ramp-output": (
            changed(ramp, "output.weight", 0, 2, 1.0),
            1,
            "the divergence is",
        ),
        "ramp-half": (
            build_decoder({**ramp(), "rows": [*ramp()["rows"], {"input": [2.5], "label": 1}]}),
            1,
            "2.5 is not in the vocabulary",
        ),
        "heads-query": (
            changed(heads, "attention.query.weight", 1, 0, 9.0),
            1,
            "the divergence is",
        ),
        "digits-last": (
            changed(digits, "hidden.bias", 1, Fraction(-3, 2**300)),
            1,
            "the divergence is",
        ),
    }


def bad_attention() -> dict[str, tuple[Files, int, str]]:
    """The same for decoders without neurons, and with padding."""
    files, example = build_decoder(attend()), attend()

    def declared(**changes) -> Files:
        return config(files, put("decoder", {**example["decoder"], **changes}))

    def read_also(row: dict) -> Files:
        return build_decoder({**example, "rows": [*example["rows"], row]})

    none = TOKEN_SUM | {"skip": False}
    return {
        "attend-out": (
            changed(attend, "attention.out.weight", 0, 1, 2.0),
            1,
            "the divergence is",
        ),
        "attend-key": (
            changed(attend, "attention.key.weight", 1, 3, 1.0),
            1,
            "the divergence is",
        ),
        "attend-place": (
            changed(attend, "positions.weight", 0, 0, 1.0),
            1,
            "the divergence is",
        ),
        "attend-count": (
            read_also({"input": ["x", "y"], "label": "x"}),
            1,
            "the divergence is",
        ),
        "attend-padding-read": (
            read_also({"input": ["<pad>", "x"], "label": "x"}),
            1,
            '"<pad>" is not in the vocabulary',
        ),
        "attend-padding-next": (
            read_also({"input": ["x"], "label": "<pad>"}),
            1,
            '"<pad>" is not in the vocabulary',
        ),
        "attend-padding-word": (declared(padding=0), 1, '"x" is not in the vocabulary'),
        "attend-padding-large": (declared(padding=4), 2, "the padding 4 is the number of no token"),
        "attend-padding-minus": (declared(padding=-1), 2, "the padding -1 is the number"),
        "attend-padding-true": (declared(padding=True), 2, '"padding" is true'),
        "attend-padding-text": (declared(padding="<pad>"), 2, '"padding" is "<pad>"'),
        "attend-neurons": (declared(neurons=1), 2, '"neurons" is 1'),
        "attend-activation": (declared(activation="tanh"), 2, '"neurons" is 0'),
        "attend-sum": (declared(**none), 2, "a token sum without neurons"),
        "next-none": (with_decoder("activation", "none"), 2, '"neurons" is 9'),
        "next-no-neurons": (with_decoder("neurons", 0), 2, '"neurons" is 0'),
    }


def main() -> None:
    for name in ("good", "bad"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))
    for name, make in GOOD_DECODERS.items():
        write(HERE / "good" / name, build_decoder(make()))
    bad = {**bad_folders(), **new_bad_folders(), **bad_decoders(), **bad_attention()}
    for name, (files, exit_code, message) in bad.items():
        expected = encode({"exit": exit_code, "message": message, "data": name in ONLY_WITH_DATA})
        write(HERE / "bad" / name, {**files, "EXPECT.json": expected})


if __name__ == "__main__":
    main()
