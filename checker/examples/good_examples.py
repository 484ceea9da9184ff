"""Write `good/`: small model folders that the checker must accept, worked out by hand.

    python checker/examples/good_examples.py

Standard library only, with a writer of its own: it shares no code with check.py (so that a
misreading of FORMAT.md in one shows up against the other) nor with the package. Running it again
gives the same bytes. The folders that the checker must refuse are written by bad_examples.py.
"""

import hashlib
import json
import math
import shutil
import struct
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
HASHED = ("config.json", "weights.safetensors", "vocabulary.json")
CODES = {"I32": "i", "I64": "q", "U8": "B", "U64": "Q", "F16": "e", "F32": "f", "F64": "d"}
Files = dict[str, bytes]


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


def weights(parameters: list[list[int]], connections: list | None = None) -> bytes:
    """The safetensors file of these parameters, whether or not they are sorted and odd, and of the
    connections of all sparse layers if there are any."""
    limbs, start = [], [0]
    for *_, mantissa, _ in parameters:
        size = max(1, -(-abs(mantissa).bit_length() // 64))
        limbs += [abs(mantissa) >> (64 * i) & (2**64 - 1) for i in range(size)]
        start.append(len(limbs))
    tensor, row, column, mantissas, exponent = zip(*parameters, strict=True)
    arrays = [
        ("tensor", "I32", tensor),
        ("row", "I32", row),
        ("column", "I32", column),
        ("exponent", "I32", exponent),
        ("negative", "U8", [int(mantissa < 0) for mantissa in mantissas]),
        ("start", "I64", start),
        ("limbs", "U64", limbs),
    ]
    if connections is not None:
        arrays.append(("target", "I32", [target for target, _ in connections]))
        arrays.append(("source", "I32", [source for _, source in connections]))
    return safetensors((name, dtype, list(array)) for name, dtype, array in arrays)


def safetensors(arrays: Iterable[tuple[str, str, list]]) -> bytes:
    """The file of these arrays: name, type and nested lists of numbers."""
    header, data = {}, b""
    for name, dtype, array in arrays:
        numbers = flat(array)
        packed = struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)
        place = [len(data), len(data) + len(packed)]
        header[name] = {"dtype": dtype, "shape": sides(array), "data_offsets": place}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def sides(array: list) -> list[int]:
    return [len(array), *(sides(array[0]) if array and isinstance(array[0], list) else [])]


def flat(array: list) -> list:
    return [x for part in array for x in (flat(part) if isinstance(part, list) else [part])]


def doubles(layers: list[dict], tensors: list[list[list]]) -> bytes:
    """The safetensors file of a float64 network: one array per tensor."""
    names = {
        "linear": ("weight", "bias"),
        "relu": ("weight", "bias"),
        "feed_forward": ("W1", "b1", "W2", "b2"),
        "uniform_attention": ("W_V", "W_O"),
    }
    places = [(i, name) for i, layer in enumerate(layers) for name in names[layer["kind"]]]
    return safetensors(
        (f"layers.{i}.{name}", "F64", flat(tensor) if name in ("bias", "b1", "b2") else tensor)
        for (i, name), tensor in zip(places, tensors, strict=True)
    )


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


def data_hash(kind: str, rows: list[dict]) -> str:
    """Section 6, for tokens that are strings or doubles."""

    def key(token):
        return token if kind == "string" else tuple(token) if kind == "vector" else (token,)

    every = isinstance(rows[0]["label"], list)
    answers = [label for row in rows for label in (row["label"] if every else [row["label"]])]
    tokens = sorted({key(token) for row in rows for token in row["input"]})
    labels = sorted(set(answers))
    content = f"byheart-data-1\n{kind}{' every' if every else ''}\n".encode()
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
        "version": example.get("version", 2),
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
        "version": example.get("version", 2),
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
        "version": 1,  # of the format: it is still read
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
    arrays = ((name, "F64", tensor) for name, tensor in example["tensors"].items())
    packed = weights(parameters) if exact else safetensors(arrays)
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
    shape_and_data = {"decoder": shape, "tensors": tensors, "words": words, "rows": rows}
    return {**shape_and_data, "gap": "1e-12", "version": 1}  # of the format: it is still read


DECODERS = (next_word, ramp, heads, digits, attend)
GOOD_DECODERS = {make.__name__.replace("_", "-"): make for make in DECODERS}


def main() -> None:
    shutil.rmtree(HERE / "good", ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))
    for name, make in GOOD_DECODERS.items():
        write(HERE / "good" / name, build_decoder(make()))


if __name__ == "__main__":
    main()
