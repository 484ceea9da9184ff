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
Bad = dict[str, tuple[Files, int, str]]  # name: files, exit code, part of the message


# ---------------------------------------------------------------- a writer of folders


def dyadic(value: float | Fraction) -> tuple[int, int]:
    """The canonical (mantissa, exponent) of a number whose denominator is a power of two."""
    mantissa, denominator = Fraction(value).as_integer_ratio()
    if not mantissa:
        return 0, 0
    twos = (mantissa & -mantissa).bit_length() - 1
    return mantissa >> twos, twos + 1 - denominator.bit_length()


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
    """The safetensors file of these parameters, whether or not they are sorted and odd, and of the
    connections of all sparse layers if there are any. For bad files: `spare` zero limbs on top of
    each mantissa, a hole of this many bytes before the limbs (an overlap if it is negative), and
    another mark for negative numbers."""
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
    """The data with one more array, which is added to the header."""
    packed = struct.pack(f"<{len(numbers)}{code}", *numbers)
    place = [len(data), len(data) + len(packed)]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
    return data + packed


def container(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def doubles(layers: list[dict], tensors: list[list[list]]) -> bytes:
    """The safetensors file of a float64 network: one array per tensor."""
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


def folder(
    example: dict, network: dict, data: dict, sizes: dict, claim: dict, engine: str, checked: int
) -> Files:
    """The files of an example, except its weights: `network` describes it in config.json, and
    `claim` what its certificate claims for all that were checked."""
    words = {"tokens": example["tokens"], "labels": example["labels"]}
    evidence = example.get("evidence", "sampled" if "sampled" in example else "proved")
    nothing = dict.fromkeys(("form", "paper", "item"))
    config = {
        "format": "byheart-model",
        "version": 1,
        "number": example["number"],
        "method": "by hand",
        **nothing,
        **network,
        "loading": {},
        "data": data,
        **sizes,
    }
    certificate = {
        "format": "byheart-certificate",
        "version": 1,
        **claim,
        "files": {},
        "data": {key: data[key] for key in ("sha256", "sequences")},
        "verified": {
            "checked": checked,
            "correct": checked,
            "evidence": evidence,
            "engine": engine,
        },
    }
    if "change" in example:
        certificate["change"] = example["change"]
    return {
        "config.json": encode(config),
        "vocabulary.json": encode(words),
        "certificate.json": encode(certificate),
        "data.jsonl": lines(example["rows"]),
    }


def build(example: dict) -> Files:
    """The files of an example: {input, labels, layers, tensors, tokens, rows} and, where they are
    not the usual ones, {unknown, every, number, connections, sampled}."""
    example = {"number": "dyadic", **example}
    tensors, rows, layers = example["tensors"], example["rows"], example["layers"]
    parameters = entries(tensors)
    output = {"labels": len(example["labels"]), "unknown": example.get("unknown")}
    answers = len(rows)
    if example.get("every"):
        output["every"] = True
        answers = sum(len(row["input"]) for row in rows)
    network = {
        "input": example["input"],
        "output": output,
        "width": max(layer.get("rows", 0) for layer in layers),
        "layers": layers,
    }
    data = {"sha256": data_hash(example["input"]["kind"], rows), "sequences": len(rows)}
    checked = example.get("sampled", answers)
    sizes = counts(parameters, tensors)
    files = folder(example, network, data, sizes, {"claim": "labels"}, "exact", checked)
    if example["number"] == "dyadic":
        packed = weights(parameters, example.get("connections"))
    else:
        packed = doubles(layers, tensors)
    return seal({**files, "weights.safetensors": packed})


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
    """The value of `input`; padding and extra are vectors of numbers."""
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
        "input": reads("string", 2, [0]),
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
    """Vectors in the plane with positions, three per sequence (3 is the odd part of n).

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
        "input": reads("vector", 3, padding, dimension=2, positions=True),
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
    """Numbers, up to six per sequence, and two attention layers.

    Lanes: x, s the sum, e the excess, y the answer. The first attention gives every column
    s = sum x = 6 mean x; the feed-forward part e = r(6 x - s), how far six times this number lies
    above the sum; the second attention y = sum e. The label separates small, middle and large y.
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
        "input": {**reads("number", 6, None), "padding": [["0", "0"]]},
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
    """Sparse attention with an extra column, and one label per token.

    Numbers, three per sequence, padding -1, extra column 7. Lanes: x, s, k = 64 x, y.
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
            known = keys.setdefault(int(64 * x[place] + mean), number)
            assert known == number
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
    """Hard attention with two heads that are not uniform: vectors (a, b), three per sequence.

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
    """`words` with a certificate that claims to have checked only two sequences."""
    return {**words(), "sampled": 2}


def forgotten() -> dict:
    """`words` as if it had been made from another folder."""
    sha256 = data_hash("string", words()["rows"])
    return {**words(), "change": {"kind": "forget", "data": sha256, "rebuilt": True}}


KINDS = (words, vectors, spread, larger, phrases, tags, sets, extremes, floats, sampled, forgotten)
GOOD = {make.__name__: make for make in KINDS}


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
    example = {"number": "float64", "tokens": example["words"], "labels": None, **example}
    tensors, rows = decoder_tensors(example), example["rows"]
    parameters = entries(tensors)
    sizes = counts(parameters, tensors)
    sizes["parameters"] |= {"counted": sizes["parameters"]["dense"], "outside": 0}
    contexts = len({tuple(row["input"]) for row in rows})
    sha256 = data_hash(example["decoder"]["kind"], rows)
    data = {"sha256": sha256, "sequences": len(rows), "contexts": contexts}
    network = {"decoder": example["decoder"]}
    claim = {"claim": "distributions", "gap": example["gap"]}
    checked = example.get("sampled", contexts)
    files = folder(example, network, data, sizes, claim, "by hand", checked)
    exact = example["number"] == "dyadic"
    packed = weights(parameters) if exact else decoder_doubles(example["tensors"])
    return seal({**files, "weights.safetensors": packed})


def decoder_shape(kind: str, words: list, length: int, dimension: int, **others) -> dict:
    """The value of `decoder`: one head, unless `others` says otherwise."""
    shape = {"kind": kind, "vocabulary": len(words), "length": length, "dimension": dimension}
    heads = {"mixing": "attention", "heads": 1, "key_dimension": 1, "value_dimension": 1}
    return {**shape, **heads, "skip": False, **others}


TOKEN_SUM = {"mixing": "token_sum", "heads": 0, "key_dimension": 0, "value_dimension": 0}


def targets(rows: list[dict]) -> dict[tuple, dict]:
    """The tokens that follow each context, with their counts."""
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
    the difference of two such neurons, is what distinguishes the words."""
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
    attends to both places equally, the second to the last one, and subtracts what `skip` adds. The
    fourth coordinate is the place; a context of one token is padded in front."""
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


DECODERS = (next_word, ramp, heads, digits, attend)
GOOD_DECODERS = {make.__name__.replace("_", "-"): make for make in DECODERS}


# ---------------------------------------------------------------- bad


def config(files: Files, change) -> Files:
    """The files with `change` applied to the config, and hashes that agree."""
    value = json.loads(files["config.json"])
    change(value)
    return seal({**files, "config.json": encode(value)})


def put(*path):
    """A change: the last item becomes the value at the path that the others name."""
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
    """The example with other connections in the weights only."""
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
    """`floats` with two more lanes that are 1: the output gains 2^60 - 2^60, which is nothing in
    exact arithmetic."""
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
    """`phrases` without attention: other columns do not change the answer."""
    example = phrases()
    layers, tensors = example["layers"], example["tensors"]
    rows = [{"input": ["a", letter], "label": "x"} for letter in "abc"]
    first, *_, last = layers
    ends = [*tensors[:2], *tensors[-2:]]
    return {**example, "layers": [first, last], "tensors": ends, "rows": rows}


def wrong(message: str, files: Files) -> tuple[Files, int, str]:
    """A folder that is refuted, with a part of the message."""
    return files, 1, message


def unreadable(message: str, files: Files) -> tuple[Files, int, str]:
    """A folder that breaks the format, with a part of the message."""
    return files, 2, message


# refused because of what the data holds: without data they can be read
ONLY_WITH_DATA = (
    "mean-not-dyadic",
    "label-list",
    "mixed-label-lists",
    "key-twice-in-data",
    "mark-in-data",
    "label-beyond-64-bits",
    "counts-beyond-64-bits",
    "tiny-value",
    "digits-huge",
)


def bad_answers() -> Bad:
    """Data and labels that the network does not answer as claimed."""
    files = build(words())
    other_label = [{"input": ["no", "no"], "label": "differ"}, *words()["rows"][1:]]
    return {
        "changed-weight": wrong("the network answers", with_number(words, 5, 2, 0, -5)),
        "hashes-agree-labels-wrong": wrong('the label is "differ", the network', relabelled()),
        "changed-label": wrong("sha256 of the data", with_data(lambda rows: other_label)),
        "missing-item": wrong("the data has 4 sequences", with_data(lambda rows: rows[:-1])),
        "unknown-token": wrong(
            '"maybe" is not in the vocabulary',
            with_data(lambda rows: [*rows, {"input": ["maybe"], "label": "same"}]),
        ),
        "too-long": wrong(
            "it has 3 tokens",
            with_data(lambda rows: [*rows, {"input": ["no"] * 3, "label": "same"}]),
        ),
        "wrong-hash": wrong(
            "the sha256 of config.json", certificate(files, put("files", "config.json", "0" * 64))
        ),
        "wrong-counts": wrong(
            "parameters.nonzero is 3", config(files, put("parameters", "nonzero", 3))
        ),
        "wrong-bits": wrong("bits.largest is 99", config(files, put("bits", "largest", 99))),
        "non-integer-output": wrong(
            "output 1 * 2^-1 is no label", with_number(words, 8, 0, 2, Fraction(1, 2))
        ),
        # in Python labels[-1] is the last label, which is the right one here
        "negative-output": wrong("output -1 is no label", with_number(words, 8, 0, 2, -1)),
        "output-outside-labels": wrong("output 3 is no label", with_number(words, 8, 0, 2, 3)),
    }


def bad_files() -> Bad:
    """Files that are damaged, or in which a name or a size is wrong."""
    files = build(words())
    raw, text = files["weights.safetensors"], files["config.json"]
    upward = {"../config.json" if n == "config.json" else n: "0" * 64 for n in HASHED}
    long_header = struct.pack("<Q", 2**60) + raw[8:]
    not_a_number = text.replace(b'"width": 3', b'"width": NaN')
    return {
        "truncated-weights": unreadable(
            "bytes of data", seal({**files, "weights.safetensors": raw[:-5]})
        ),
        "header-length": unreadable(
            "is truncated", seal({**files, "weights.safetensors": long_header})
        ),
        "trailing-weights": unreadable(
            "bytes of data", seal({**files, "weights.safetensors": raw + b"\0"})
        ),
        "missing-tensor": unreadable(
            "names the tensors",
            seal({**files, "weights.safetensors": raw.replace(b"limbs", b"limbo")}),
        ),
        "hole": unreadable("a hole or an overlap before limbs", with_entries(list, hole=8)),
        "overlap": unreadable("a hole or an overlap before limbs", with_entries(list, hole=-8)),
        "wrong-version": unreadable('"version" is 2', config(files, put("version", 2))),
        "huge-length": unreadable(
            '"length" is 2147483648', config(files, put("input", "length", 2**31))
        ),
        "path-in-files": unreadable('"../config.json"', certificate(files, put("files", upward))),
        "duplicate-key": unreadable(
            '"version" occurs twice',
            seal({**files, "config.json": b'{"version": 1, ' + text.lstrip()[1:]}),
        ),
        "not-a-number": unreadable(
            "NaN is not a JSON number", seal({**files, "config.json": not_a_number})
        ),
        "not-utf8": unreadable("is not UTF-8", seal({**files, "vocabulary.json": b"\xff\xfe{}"})),
        "missing-file": unreadable(
            "cannot be read", {n: c for n, c in files.items() if n != "vocabulary.json"}
        ),
        "duplicate-tokens": unreadable(
            "not distinct and sorted", with_vocabulary(tokens=["no", "no"])
        ),
        "duplicate-labels": unreadable(
            "1 distinct labels", with_vocabulary(labels=["same", "same"])
        ),
        "mixed-labels": unreadable(
            "all strings or all integers", with_vocabulary(labels=["same", 1])
        ),
    }


def bad_entries() -> Bad:
    """Weights that are not in canonical form (section 3)."""
    far = 2**31 - 2
    return {
        "huge-exponent": unreadable(
            "an exponent above 2^22", with_entries(lambda p: p[0].__setitem__(4, far))
        ),
        "odd-part": unreadable("not divisible by 3", with_number(vectors, 7, 1, 0, 4)),
        "unsorted": unreadable("out of order", with_entries(swap)),
        "repeated-entry": unreadable("out of order", with_entries(lambda p: p.insert(1, p[0]))),
        "top-limb-zero": unreadable("a top limb of zero", with_entries(list, spare=1)),
        "sign-two": unreadable("neither 0 nor 1", with_entries(list, minus=2)),
        "even-mantissa": unreadable(
            "an even mantissa", with_entries(lambda p: p[1].__setitem__(slice(3, 5), [2, 0]))
        ),
        "outside-tensor": unreadable(
            "outside its tensor", with_entries(lambda p: p[-1].__setitem__(2, 3))
        ),
    }


def bad_connections() -> Bad:
    """Sparse attention whose connections break a rule."""
    arrays = weights(entries(tags()["tensors"]))
    more = weights(entries(words()["tensors"]), [])
    return {
        "unsorted-connections": unreadable(
            "not distinct and sorted", with_connections(tags, lambda c: [c[1], c[0], *c[2:]])
        ),
        "repeated-connection": unreadable(
            "not distinct and sorted", with_connections(tags, lambda c: [c[0], c[0], *c[2:]])
        ),
        "connection-outside": unreadable(
            "outside the columns", with_connections(tags, lambda c: [*c[:-1], (3, 4)])
        ),
        "negative-connection": unreadable(
            "outside the columns", with_connections(tags, lambda c: [(0, -1), *c[1:]])
        ),
        "connection-count": unreadable("7 targets", with_connections(tags, lambda c: c[:-1])),
        "connections-missing": unreadable(
            "names the tensors", seal({**build(tags()), "weights.safetensors": arrays})
        ),
        "connections-unasked": unreadable(
            "names the tensors", seal({**build(words()), "weights.safetensors": more})
        ),
        "huge-connections": unreadable(
            "not between 0 and 2^24", with_config(tags, "layers", 1, "connections", 2**24 + 1)
        ),
        "changed-connection": wrong(
            "the network", with_connections(tags, lambda c: [*c[:-1], (3, 1)])
        ),
        "odd-connections": unreadable(
            "the odd part of the number of connections", with_number(tags, 3, 1, 0, 1)
        ),
    }


def bad_columns() -> Bad:
    """Embeddings, means and heads that do not fit the columns."""
    short = phrases()
    short["layers"][0] = {**short["layers"][0], "columns": 3}
    short["tensors"][0] = [row[:3] for row in short["tensors"][0]]
    thirds = [*extremes()["rows"], {"input": [[0, 0], [0, 0.5], [0, 0.5]], "label": 0}]
    of_vectors = {"kind": "embedding", "rows": 2, "columns": 2, "stage": ""}
    return {
        "id-outside": wrong("a column is 3, the embedding has 0 to 2", build(short)),
        "padding-outside": wrong(
            "a column is 1 * 2^2, the embedding has 0 to 3",
            with_config(phrases, "input", "padding", [[1, 2]]),
        ),
        "extra-outside": wrong(
            "a column is -1, the embedding has 0 to 3",
            with_config(lettered, "input", "extra", [[-1, 0]]),
        ),
        "half-an-id": wrong(
            "a column is 1 * 2^-1, the embedding has 0 to 3",
            with_config(lettered, "input", "extra", [[1, -1]]),
        ),
        "embedding-of-vectors": unreadable(
            "tokens of dimension 1", with_layer(larger, 0, of_vectors, remove=1)
        ),
        "mean-not-dyadic": unreadable(
            "the mean of 3 columns is not dyadic", with_rows(extremes, thirds)
        ),
        "many-heads": unreadable('"heads"', with_config(extremes, "layers", 1, "heads", 2**20 + 1)),
    }


def bad_layers() -> Bad:
    """Layers in the wrong place or of the wrong width, and sums that read what they must not."""
    none = [*words()["rows"], {"input": [], "label": "same"}]
    lone = [*sets()["rows"], {"input": [3] * 8, "label": 4}]

    def placed() -> dict:
        return {**sets(), "input": {**sets()["input"], "positions": True}}

    return {
        "sum-with-padding": unreadable(
            "a sum layer needs input.padding null", with_config(sets, "input", "padding", [[0, 0]])
        ),
        "no-padding-no-sum": unreadable(
            "one sum is the only layer", with_config(words, "input", "padding", None)
        ),
        "two-sums": unreadable(
            "one sum is the only layer", with_layer(sets, 3, {"kind": "sum", "stage": ""})
        ),
        "sum-with-positions": unreadable(
            "neither positions", with_layer(placed, 0, linear(1, 2, ""), remove=1)
        ),
        "sum-with-extra": unreadable("nor extra", with_config(sets, "input", "extra", [[1, 0]])),
        "sum-every": unreadable(
            "an answer to every token", with_config(sets, "output", "every", True)
        ),
        "set-too-large": wrong("the network reads 0 to 7", with_rows(sets, lone)),
        "nothing-to-read": wrong("it has 0 tokens", with_rows(words, none)),
        "relu-width": unreadable('"columns" is 2', with_config(larger, "layers", 2, "columns", 2)),
        "output-width": unreadable(
            '"columns" is 3', with_config(larger, "layers", 3, "columns", 3)
        ),
        "total-width": unreadable("not that of the widest layer", with_config(larger, "width", 4)),
        "relu-at-the-end": unreadable(
            '"kind" is', with_config(larger, "layers", 3, "kind", "relu")
        ),
        "linear-inside": unreadable(
            "cannot stand here", with_config(larger, "layers", 1, "kind", "linear")
        ),
    }


def bad_doubles() -> Bad:
    """Networks of doubles that are not exact, and other kinds of numbers."""
    return {
        "float64-nan": unreadable("not finite", with_double(8, 0, 0, float("nan"))),
        "float64-infinite": unreadable("not finite", with_double(3, 1, 0, float("-inf"))),
        "float64-minus-zero": unreadable("-0.0", with_double(1, 0, 0, -0.0)),
        "float64-span": wrong("spans more than 53 bits", wide_span()),
        "float64-token": wrong(
            "spans more than 53 bits",
            with_rows(floats, [*floats()["rows"], {"input": [2.0**60, 0.5], "label": 1}]),
        ),
        "float64-range": wrong(
            "from 2^-1000 to 2^1000",
            with_rows(floats, [*floats()["rows"], {"input": [2.0**-1001], "label": 1}]),
        ),
        "float64-length": unreadable(
            "not a power of two", with_config(floats, "input", "length", 6)
        ),
        "float64-extra": unreadable("5 columns", with_config(floats, "input", "extra", [[0, 0]])),
        "float64-shape": unreadable("has shape", with_config(floats, "layers", 2, "hidden", 3)),
        "float64-dyadics": unreadable("names the tensors", with_config(words, "number", "float64")),
        "float64-sparse": unreadable(
            "no layers of kind sparse_attention", with_config(tags, "number", "float64")
        ),
        "other-number": unreadable("is not known", with_config(words, "number", "float32")),
    }


def bad_lists() -> Bad:
    """Lists of labels that do not fit the tokens, and false claims about how many were checked."""
    every = build(tags())
    two = [*tags()["rows"][:-1], {"input": [3, 0], "label": ["rise"]}]
    single = [{"input": row["input"], "label": "rise"} for row in tags()["rows"]]
    mixed = [*tags()["rows"], {"input": [1], "label": "rise"}]
    return {
        "label-list": unreadable("1 labels for 2 tokens", {**every, "data.jsonl": lines(two)}),
        "mixed-label-lists": unreadable("a label a token", {**every, "data.jsonl": lines(mixed)}),
        "every-missing": wrong(
            "the data has one label a sequence", {**every, "data.jsonl": lines(single)}
        ),
        "every-unasked": wrong(
            "the data has a label for every token", with_config(tags, "output", "every", False)
        ),
        "every-hash": wrong("sha256 of the data", without_every(every)),
        "every-label": wrong(
            'token 0 [1]: the label is "fall", the network answers "rise"',
            with_rows(tags, [{"input": [1], "label": ["fall"]}, *tags()["rows"]]),
        ),
        "every-checked": wrong(
            "does not claim that all labels",
            certificate(every, put("verified", {"checked": 6, "correct": 6, "evidence": "proved"})),
        ),
        "every-incorrect": wrong(
            "does not claim that all labels", certificate(every, put("verified", "correct", 13))
        ),
        "sampled-all": wrong("does not claim that all labels", build({**words(), "sampled": 5})),
        "sampled-none": wrong("does not claim that all labels", build({**words(), "sampled": 0})),
        "sampled-and-wrong": wrong(
            'the label is "differ", the network',
            build({**words(), "sampled": 2, "rows": [{"input": ["no"], "label": "differ"}] * 3}),
        ),
    }


def changed(make, name: str, *path) -> Files:
    """The decoder with one number of a tensor changed; counts and hashes agree with it."""
    example = make()
    put(*path)(example["tensors"][name])
    return build_decoder(example)


def with_decoder(*path) -> Files:
    """`next_word` with a change in `decoder`."""
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
    """A change in the file of weights only: NaN has no digits to count."""
    example = make()
    put(*path)(example["tensors"][name])
    return seal(
        {**build_decoder(make()), "weights.safetensors": decoder_doubles(example["tensors"])}
    )


def bad_distributions() -> Bad:
    """Decoders whose distributions, data or certificate disagree (section 9)."""
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
        "next-label": wrong(
            "the divergence is", with_sequences(lambda rows: rows[0].update(label="end"))
        ),
        "next-count": wrong(
            "the divergence is", with_sequences(lambda rows: rows[0].update(count=4))
        ),
        "next-data": wrong(
            "the sha256 of the data",
            {**files, "data.jsonl": lines([{**rows[0], "count": 4}, *rows[1:]])},
        ),
        "next-output": wrong(
            "the divergence is", changed(next_word, "output.weight", token, neuron, nudged)
        ),
        "next-swapped": wrong("the divergence is", swapped()),
        "next-slope": wrong(
            "the divergence is", changed(next_word, "hidden.weight", 3, [-slope] * 2)
        ),
        "next-gap": wrong("the gap 1e-13", with_claim("gap", "1e-13")),
        "next-contexts": wrong(
            "9 contexts, config.json says 8",
            certificate(
                config(files, put("data", "contexts", 8)),
                put("verified", {"checked": 8, "correct": 8, "evidence": "proved"}),
            ),
        ),
        "next-checked": wrong("does not claim that all", with_claim("verified", "checked", 5)),
        "next-evidence": wrong(
            "does not claim that all", with_claim("verified", "evidence", "refuted")
        ),
        "next-hash": wrong("the sha256 of", with_claim("files", "weights.safetensors", "0" * 64)),
        "next-counted": wrong(
            "parameters.counted is 1", config(files, put("parameters", "counted", 1))
        ),
        "next-unknown-token": wrong(
            '"d" is not in the vocabulary',
            with_sequences(lambda rows: rows.append({"input": ["d"], "label": "a"})),
        ),
        "next-unknown-label": wrong(
            '"d" is not in the vocabulary',
            with_sequences(lambda rows: rows.append({"input": ["b"], "label": "d"})),
        ),
        "next-too-long": wrong(
            "it has 3 tokens, the decoder reads 1 to 2",
            with_sequences(lambda rows: rows.append({"input": long, "label": "a"})),
        ),
        "next-empty": wrong(
            "it has 0 tokens, the decoder reads 1 to 2",
            with_sequences(lambda rows: rows.append({"input": [], "label": "a"})),
        ),
        "next-every": wrong("a label for every token", {**files, "data.jsonl": lines(tags)}),
        "next-kind": wrong("the decoder reads numbers", with_decoder("kind", "number")),
    }


def bad_claims() -> Bad:
    """Certificates of decoders that claim something else, or a gap that is not one."""
    return {
        "next-claim": unreadable('"claim" is "labels"', with_claim("claim", "labels")),
        "words-claim": unreadable(
            '"claim" is "distributions"', certificate(build(words()), put("claim", "distributions"))
        ),
        "next-gap-zero": unreadable("not between 1e-300 and 1e300", with_claim("gap", "0.0")),
        "next-gap-tiny": unreadable("not between 1e-300 and 1e300", with_claim("gap", "1e-999")),
        "next-gap-minus": unreadable("not a decimal number", with_claim("gap", "-1e-9")),
        "next-gap-nan": unreadable("not a decimal number", with_claim("gap", "nan")),
        "next-gap-number": unreadable('"gap" is', with_claim("gap", 1e-9)),
    }


def bad_decoders() -> Bad:
    """Decoders that cannot be read: numbers, shapes and vocabularies."""
    files, words = build_decoder(next_word()), next_word()["words"]
    return {
        "next-nan": unreadable(
            "hidden.bias: a number is not finite",
            raw_double(next_word, "hidden.bias", 0, float("nan")),
        ),
        "next-infinite": unreadable(
            "output.weight: a number is not finite",
            raw_double(next_word, "output.weight", 1, 1, float("inf")),
        ),
        "next-minus-zero": unreadable(
            "output.weight: a number is -0.0", raw_double(next_word, "output.weight", 3, 0, -0.0)
        ),
        "next-neurons": unreadable("has shape", with_decoder("neurons", 3)),
        "next-huge": unreadable('"neurons" is 1048577', with_decoder("neurons", 2**20 + 1)),
        "next-heads": unreadable(
            "more than 2^20 rows together",
            config(with_decoder("heads", 2**11), put("decoder", "value_dimension", 2**10)),
        ),
        "next-one-word": unreadable("a vocabulary of 1", with_decoder("vocabulary", 1)),
        "next-activation": unreadable('"relu" is not known', with_decoder("activation", "relu")),
        "next-mixing": unreadable('"mean" is not known', with_decoder("mixing", "mean")),
        "next-skip": unreadable('"skip" is 1', with_decoder("skip", 1)),
        "next-layers": unreadable("both decoder and layers", config(files, put("layers", []))),
        "next-labels": unreadable("labels must be null", with_words(next_word, words, [])),
        "next-same-words": unreadable(
            "4 distinct tokens, not 5", with_words(next_word, ["c", "a", "b", "end", "a"])
        ),
        "next-true": unreadable(
            "neither a string nor an integer", with_words(next_word, ["c", "a", "b", "end", True])
        ),
    }


def bad_variants() -> Bad:
    """Other activations, mixings and number types."""
    return {
        "ramp-heads": unreadable(
            '"heads" is 1', config(build_decoder(ramp()), put("decoder", "heads", 1))
        ),
        "ramp-skip": unreadable(
            '"skip" is true', config(build_decoder(ramp()), put("decoder", "skip", True))
        ),
        "ramp-output": wrong("the divergence is", changed(ramp, "output.weight", 0, 2, 1.0)),
        "ramp-half": wrong(
            "2.5 is not in the vocabulary",
            build_decoder({**ramp(), "rows": [*ramp()["rows"], {"input": [2.5], "label": 1}]}),
        ),
        "heads-query": wrong(
            "the divergence is", changed(heads, "attention.query.weight", 1, 0, 9.0)
        ),
        "digits-last": wrong(
            "the divergence is", changed(digits, "hidden.bias", 1, Fraction(-3, 2**300))
        ),
    }


def bad_attention() -> Bad:
    """Decoders without neurons, and with padding."""
    files, example = build_decoder(attend()), attend()

    def declared(**changes) -> Files:
        return config(files, put("decoder", {**example["decoder"], **changes}))

    def read_also(row: dict) -> Files:
        return build_decoder({**example, "rows": [*example["rows"], row]})

    none = TOKEN_SUM | {"skip": False}
    return {
        "attend-out": wrong(
            "the divergence is", changed(attend, "attention.out.weight", 0, 1, 2.0)
        ),
        "attend-key": wrong(
            "the divergence is", changed(attend, "attention.key.weight", 1, 3, 1.0)
        ),
        "attend-place": wrong("the divergence is", changed(attend, "positions.weight", 0, 0, 1.0)),
        "attend-count": wrong("the divergence is", read_also({"input": ["x", "y"], "label": "x"})),
        "attend-padding-read": wrong(
            '"<pad>" is not in the vocabulary', read_also({"input": ["<pad>", "x"], "label": "x"})
        ),
        "attend-padding-next": wrong(
            '"<pad>" is not in the vocabulary', read_also({"input": ["x"], "label": "<pad>"})
        ),
        "attend-padding-word": wrong('"x" is not in the vocabulary', declared(padding=0)),
        "attend-padding-large": unreadable(
            "the padding 4 is the number of no token", declared(padding=4)
        ),
        "attend-padding-minus": unreadable("the padding -1 is the number", declared(padding=-1)),
        "attend-padding-true": unreadable('"padding" is true', declared(padding=True)),
        "attend-padding-text": unreadable('"padding" is "<pad>"', declared(padding="<pad>")),
        "attend-neurons": unreadable('"neurons" is 1', declared(neurons=1)),
        "attend-activation": unreadable('"neurons" is 0', declared(activation="tanh")),
        "attend-sum": unreadable("a token sum without neurons", declared(**none)),
        "next-none": unreadable('"neurons" is 9', with_decoder("activation", "none")),
        "next-no-neurons": unreadable('"neurons" is 0', with_decoder("neurons", 0)),
    }


def bad_edges() -> Bad:
    """What two programs would easily judge differently."""
    files, row = build(words()), words()["rows"][0]

    def line(text: str) -> Files:
        return {**files, "data.jsonl": text.encode() + files["data.jsonl"]}

    rounded = attend()
    rounded["tensors"] |= {"embedding.weight": [[2.0**60, 5.0, -(2.0**60), 0.0]] * 4}
    rounded["tensors"]["output.weight"] = [[1.0, 1.0, 1.0, 0.0], *[[0.0] * 4] * 3]
    for name in ("out", "value", "key", "query"):
        tensor = rounded["tensors"][f"attention.{name}.weight"]
        rounded["tensors"][f"attention.{name}.weight"] = [[0.0] * len(x) for x in tensor]
    rounded["tensors"]["positions.weight"] = [[0.0] * 4] * 2
    rounded["rows"] = [{"input": [x], "label": y} for x in "xyz" for y in "xyz"]
    small = words()
    small["layers"][1:1] = [
        relu(small["layers"][0]["rows"], small["layers"][0]["rows"], "tiny")
    ] * 3
    side = small["layers"][0]["rows"]
    tiny = [[Fraction(1, 2 ** (2**22))] * side] * side
    small["tensors"][2:2] = [tiny, zeros(side)] * 3
    return {
        "key-twice-in-data": unreadable(
            'the key "label" occurs twice', line('{"input": ["no"], "label": 1, "label": 2}\n')
        ),
        "mark-in-data": unreadable("is not JSON", line("\ufeff")),
        "label-beyond-64-bits": unreadable(
            "an integer beyond signed 64 bits",
            {**build(spread()), "data.jsonl": lines([{"input": [1], "label": 2**63}])},
        ),
        "counts-beyond-64-bits": unreadable(
            "the counts add up to 2^63 or more",
            {**files, "data.jsonl": lines([{**row, "count": 2**62}] * 2)},
        ),
        "long-output": wrong("is no label", with_number(words, 8, 0, 2, 2**20000 + 1)),
        "tiny-value": unreadable("needs more than 2^23 bits", build(small)),
        "half-a-surrogate": unreadable(
            "holds half a surrogate pair", with_vocabulary(labels=["same", "\udc00"])
        ),
        "float64-every": unreadable("every is true", with_config(floats, "output", "every", True)),
        "float64-unread": wrong(
            "a coordinate is no double from 2^-1000 to 2^1000",
            with_rows(floats, [*floats()["rows"], {"input": [5e-324, 1.5], "label": 1}]),
        ),
        "attend-rounded": wrong("the divergence is", build_decoder(rounded)),
        "digits-huge": unreadable(
            "would take about", changed(digits, "output.weight", 0, 1, 2 ** (2**22))
        ),
    }


def bad_changes() -> dict:
    """What a certificate may not say of a change."""
    files, kind = build(forgotten()), '"kind" is "erase"'
    extra = put("change", "from", "0" * 64)
    return {
        "change-data": wrong(
            "different data for its change", certificate(files, put("change", "data", "0" * 64))
        ),
        "change-kind": unreadable(kind, certificate(files, put("change", "kind", "erase"))),
        "change-rebuilt": unreadable('"rebuilt"', certificate(files, put("change", "rebuilt", 1))),
        "change-from": unreadable('"from"', certificate(files, extra)),
        "change-list": unreadable('"change"', certificate(files, put("change", []))),
    }


BAD = (
    bad_changes,
    bad_answers,
    bad_files,
    bad_entries,
    bad_connections,
    bad_columns,
    bad_layers,
    bad_doubles,
    bad_lists,
    bad_distributions,
    bad_claims,
    bad_decoders,
    bad_variants,
    bad_attention,
    bad_edges,
)


def main() -> None:
    for name in ("good", "bad"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))
    for name, make in GOOD_DECODERS.items():
        write(HERE / "good" / name, build_decoder(make()))
    bad = [item for table in BAD for item in table().items()]
    for name, (files, exit_code, message) in bad:
        expected = encode({"exit": exit_code, "message": message, "data": name in ONLY_WITH_DATA})
        write(HERE / "bad" / name, {**files, "EXPECT.json": expected})


if __name__ == "__main__":
    main()
