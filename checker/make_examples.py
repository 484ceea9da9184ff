"""Write `good/` and `bad/`: small model folders that the checker must accept and must refuse.

    python checker/make_examples.py

Standard library only, with a writer of its own: it shares no code with check.py (so that a
misreading of FORMAT.md in one shows up against the other) nor with the package. Running it again
gives the same bytes.
"""

import hashlib
import json
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


def weights(parameters: list[list[int]], spare: int = 0, hole: int = 0, minus: int = 1) -> bytes:
    """The safetensors file of these parameters, as they are: sorted and odd or not. For bad files:
    `spare` zero limbs on top of each mantissa, a hole of that many bytes before the limbs (an
    overlap if it is negative), another mark of negative numbers."""
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
    header, data = {}, b""
    for name, dtype, code, numbers in parts:
        if name == "limbs":
            data = data[:hole] if hole < 0 else data + bytes(hole)
        packed = struct.pack(f"<{len(numbers)}{code}", *numbers)
        header[name] = {
            "dtype": dtype,
            "shape": [len(numbers)],
            "data_offsets": [len(data), len(data) + len(packed)],
        }
        data += packed
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


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

    tokens = sorted({key(token) for row in rows for token in row["input"]})
    labels = sorted({row["label"] for row in rows})
    content = b"byheart-data-1\n" + kind.encode() + b"\n"
    if kind == "string":
        content += b"".join(json.dumps(token).encode() + b"\n" for token in tokens)
    else:
        content += b"float64 %d\n" % len(tokens[0])
        content += b"".join(struct.pack("<d", x + 0.0) for token in tokens for x in token)
    content += b"".join(json.dumps(label).encode() + b"\n" for label in labels)
    for numbers in (
        [len(row["input"]) for row in rows],
        [tokens.index(key(token)) for row in rows for token in row["input"]],
        [labels.index(row["label"]) for row in rows],
        [row.get("count", 1) for row in rows],
    ):
        content += struct.pack(f"<{len(numbers)}q", *numbers)
    return hashlib.sha256(content).hexdigest()


def encode(value: dict) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def lines(rows: list[dict]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def build(example: dict) -> Files:
    """The files of an example: {input, labels, unknown, layers, tensors, tokens, rows}."""
    parameters = entries(example["tensors"])
    tensors, rows = example["tensors"], example["rows"]
    sha256 = data_hash(example["input"]["kind"], rows)
    config = {
        "format": "byheart-model",
        "version": 1,
        "number": "dyadic",
        "method": "by hand",
        "form": None,
        "paper": None,
        "item": None,
        "input": example["input"],
        "output": {"labels": len(example["labels"]), "unknown": example.get("unknown")},
        "width": len(tensors[0]),
        "layers": example["layers"],
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
            "checked": len(rows),
            "correct": len(rows),
            "evidence": "proved",
            "engine": "exact",
        },
    }
    return seal(
        {
            "config.json": encode(config),
            "weights.safetensors": weights(parameters),
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


GOOD = {"words": words, "vectors": vectors, "spread": spread}


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


def main() -> None:
    for name in ("good", "bad"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))
    for name, (files, exit_code, message) in bad_folders().items():
        expected = encode({"exit": exit_code, "message": message})
        write(HERE / "bad" / name, {**files, "EXPECT.json": expected})


if __name__ == "__main__":
    main()
