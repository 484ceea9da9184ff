"""The checker's evaluator against a naive one, and against changes of every kind."""

import hashlib
import json
import math
import random
import struct
import time
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import check
import good_examples

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
GOOD = [EXAMPLES / "good" / name for name in sorted(good_examples.GOOD)]
FILES = ("config.json", "weights.safetensors", "vocabulary.json", "certificate.json")


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


def reseal(folder: Path) -> None:
    certificate = json.loads((folder / "certificate.json").read_bytes())
    for name in FILES[:3]:
        certificate["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(certificate))


# ---------------------------------------------------------------- a second evaluator


def naive_shapes(config: dict) -> list[dict[str, tuple[int, int]]]:
    """The names and shapes of each layer's tensors."""
    found, width = [], 0
    for layer in config["layers"]:
        rows, kind = layer.get("rows"), layer["kind"]
        if kind in ("linear", "relu", "embedding"):
            width = rows
            second = "position" if kind == "embedding" else "bias"
            found.append({"weight": (rows, layer["columns"]), second: (rows, 1)})
        elif kind == "feed_forward":
            hidden = layer["hidden"]
            pairs = [(hidden, width), (hidden, 1), (width, hidden), (width, 1)]
            found.append(dict(zip(("W1", "b1", "W2", "b2"), pairs, strict=True)))
        elif kind == "sum":
            found.append({})
        else:
            rows = layer["head_dimension"] * layer.get("heads", 1)
            names = ("W_Q", "W_K", "W_V") if kind == "hard_attention" else ("W_V",)
            found.append({**dict.fromkeys(names, (rows, width)), "W_O": (width, rows)})
    return found


def naive_arrays(folder: Path) -> dict[str, tuple]:
    content = (folder / "weights.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    codes = {"I32": "i", "U8": "B", "I64": "q", "U64": "Q", "F64": "d"}
    parts = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            code = f"<{math.prod(about['shape'])}{codes[about['dtype']]}"
            parts[name] = struct.unpack(code, data[begin:end])
    return parts


def naive_tensors(folder: Path) -> list[list[list[Fraction]]]:
    """The dense parameter tensors as fractions, read in the plainest way."""
    config = json.loads((folder / "config.json").read_bytes())
    shapes, parts = naive_shapes(config), naive_arrays(folder)
    if config["number"] == "float64":
        flat_tensors = [
            ([Fraction(x) for x in parts[f"layers.{number}.{name}"]], shape[1])
            for number, layer in enumerate(shapes)
            for name, shape in layer.items()
        ]
        return [[v[i : i + w] for i in range(0, len(v), w)] for v, w in flat_tensors]
    tensors = [
        [[Fraction(0)] * columns for _ in range(rows)]
        for layer in shapes
        for rows, columns in layer.values()
    ]
    for i, place in enumerate(zip(parts["tensor"], parts["row"], parts["column"], strict=True)):
        limbs = parts["limbs"][parts["start"][i] : parts["start"][i + 1]]
        mantissa = sum(limb << (64 * j) for j, limb in enumerate(limbs))
        value = mantissa * Fraction(2) ** parts["exponent"][i]
        tensors[place[0]][place[1]][place[2]] = -value if parts["negative"][i] else value
    return tensors


def naive_connections(folder: Path) -> list[tuple[int, int]]:
    parts = naive_arrays(folder)
    return list(zip(parts.get("target", ()), parts.get("source", ()), strict=True))


def times(matrix: list, vector: list) -> list:
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


def plus(*vectors: list) -> list:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def flat(matrix: list) -> list:
    return [row[0] for row in matrix]


def positive(vector: list) -> list:
    return [max(Fraction(0), x) for x in vector]


def mean(columns: list) -> list:
    return [sum(lane) / len(columns) for lane in zip(*columns, strict=True)]


def naive_attention(layer: dict, own: dict, columns: list, connections: list) -> list:
    """Each column's new value, from all columns; a head at a time."""
    size, found = layer["head_dimension"], []
    for k, h in enumerate(columns):
        new = h
        for head in range(layer.get("heads", 1)):
            rows = slice(head * size, (head + 1) * size)
            chosen = columns
            if layer["kind"] == "sparse_attention":
                chosen = [columns[source] for target, source in connections if target == k]
            if layer["kind"] == "hard_attention":
                query = times(own["W_Q"][rows], h)
                scores = [times([query], times(own["W_K"][rows], other))[0] for other in columns]
                chosen = [c for c, x in zip(columns, scores, strict=True) if x == max(scores)]
            if chosen:
                value = times(own["W_V"][rows], mean(chosen))
                new = plus(new, times([row[rows] for row in own["W_O"]], value))
        found.append(new)
    return found


def naive_outputs(config: dict, tensors: list, connections: list, tokens: list) -> list[Fraction]:
    """Section 3, every column through every layer; one output for each answer."""
    given, rest = config["input"], iter(tensors)
    padding, extra = (
        [[int(m) * Fraction(2) ** int(e) for m, e in vector]] if vector is not None else []
        for vector in (given["padding"], given.get("extra"))
    )
    columns = padding * (given["length"] - len(tokens)) + tokens
    if given["positions"]:
        columns = [[*column, Fraction(i)] for i, column in enumerate(columns)]
        extra = [[*column, Fraction(given["length"])] for column in extra]
    columns = extra + columns
    for layer, shapes in zip(config["layers"], naive_shapes(config), strict=True):
        own = {name: next(rest) for name in shapes}
        if layer["kind"] in ("linear", "relu"):
            columns = [plus(times(own["weight"], h), flat(own["bias"])) for h in columns]
            if layer["kind"] == "relu":
                columns = [positive(h) for h in columns]
        elif layer["kind"] == "embedding":
            position = [(h[1] if given["positions"] else 0, flat(own["position"])) for h in columns]
            vectors = [[row[int(h[0])] for row in own["weight"]] for h in columns]
            columns = [
                plus(v, [i * x for x in step])
                for v, (i, step) in zip(vectors, position, strict=True)
            ]
        elif layer["kind"] == "feed_forward":
            hidden = [positive(plus(times(own["W1"], h), flat(own["b1"]))) for h in columns]
            second = [plus(times(own["W2"], z), flat(own["b2"])) for z in hidden]
            columns = [plus(h, z) for h, z in zip(columns, second, strict=True)]
        elif layer["kind"] == "sum":
            width = layer_width(config, layer)
            columns = [plus([Fraction(0)] * width, *columns)]
        else:
            size = layer.get("connections", 0)
            mine, connections = connections[:size], connections[size:]
            columns = naive_attention(layer, own, columns, mine)
    count = len(tokens) if config["output"].get("every") else 1
    return [h[0] for h in columns[len(columns) - count :]]


def layer_width(config: dict, layer: dict) -> int:
    """The width before this layer."""
    place = next(i for i, other in enumerate(config["layers"]) if other is layer)
    return next(x["rows"] for x in config["layers"][place::-1] if "rows" in x)


def naive_holds(folder: Path) -> bool:
    """Are all labels right and the counts true?"""
    config = json.loads((folder / "config.json").read_bytes())
    vocabulary = json.loads((folder / "vocabulary.json").read_bytes())
    tensors, connections = naive_tensors(folder), naive_connections(folder)
    counts = good_examples.counts(good_examples.entries(tensors), tensors)
    for group, key in [("parameters", k) for k in ("nonzero", "dense", "counted", "outside")] + [
        ("bits", k) for k in ("total", "fixed", "largest")
    ]:
        if config[group][key] != counts[group][key]:
            return False
    number = {Fraction(i): label for i, label in enumerate(vocabulary["labels"])}
    for line in (folder / "data.jsonl").read_text().splitlines():
        row = json.loads(line)
        tokens = [naive_vector(token, vocabulary) for token in row["input"]]
        answers = [number.get(y) for y in naive_outputs(config, tensors, connections, tokens)]
        if answers != (row["label"] if isinstance(row["label"], list) else [row["label"]]):
            return False
    return True


def naive_vector(token: object, vocabulary: dict) -> list[Fraction]:
    if isinstance(token, str):
        return [Fraction(vocabulary["tokens"].index(token) + 1)]
    return [Fraction(x) for x in (token if isinstance(token, list) else [token])]


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_the_good_folders_hold_for_the_naive_evaluator(folder):
    assert naive_holds(folder)


# ---------------------------------------------------------------- random networks


def random_number(rng: random.Random) -> Fraction:
    if rng.random() < 0.4:
        return Fraction(0)
    big = rng.choice([2, 7, 7, 100, 2**70, 2**200])
    return rng.randint(-big, big) * Fraction(2) ** rng.randint(-6, 6)


def random_tensor(rng: random.Random, rows: int, columns: int = 1, factor: int = 1) -> list:
    return [[factor * random_number(rng) for _ in range(columns)] for _ in range(rows)]


def small_tensor(rng: random.Random, rows: int, columns: int) -> list:
    """Small whole numbers, so that scores tie."""
    return [[Fraction(rng.randint(-1, 1)) for _ in range(columns)] for _ in range(rows)]


def random_layer(rng: random.Random, kind: str, width: int, columns: int) -> tuple[dict, list]:
    """A layer, its tensors, and its connections under a key of their own."""
    size, exact = rng.randint(1, 3), math.lcm(*range(1, columns + 1))
    if kind == "relu":
        tensors = [random_tensor(rng, size, width), random_tensor(rng, size)]
        return good_examples.relu(size, width, ""), tensors
    if kind == "feed_forward":
        shapes = [(size, width), (size, 1), (width, size), (width, 1)]
        return good_examples.feed_forward(size, ""), [random_tensor(rng, *s) for s in shapes]
    if kind == "sum":
        return {"kind": "sum", "stage": ""}, []
    layer = {"kind": kind, "head_dimension": size, "stage": ""}
    if kind == "hard_attention":
        layer["heads"] = rng.randint(1, 3)
        rows = size * layer["heads"]
        tensors = [small_tensor(rng, rows, width), small_tensor(rng, rows, width)]
    else:
        rows, tensors = size, []
    if kind == "sparse_attention":
        share = rng.random()
        pairs = [(k, j) for k in range(columns) for j in range(columns) if rng.random() < share]
        layer["connections"], layer["pairs"] = len(pairs), pairs
    tensors += [random_tensor(rng, rows, width), random_tensor(rng, width, rows, exact)]
    return layer, tensors


def random_input(rng: random.Random, embedding: bool, deep_set: bool) -> tuple[dict, list]:
    """What the network reads, and some tokens."""
    kind = rng.choice(["string", "number"] if embedding else ["string", "number", "vector"])
    dimension = rng.randint(1, 3) if kind == "vector" else 1
    tokens = {
        "string": ["a", "b", "c"],
        "number": [0, 1, 3] if embedding else [-0.5, 0.0, 3.0, 1e-9],
        "vector": [[rng.uniform(-2, 2) for _ in range(dimension)] for _ in range(3)],
    }[kind]

    def vector() -> list:
        return [rng.randint(0, 3) if embedding else random_number(rng) for _ in range(dimension)]

    given = good_examples.reads(kind, rng.randint(1, 6), None if deep_set else vector())
    given["dimension"] = dimension
    if not deep_set:
        given["positions"] = rng.random() < 0.5
        if rng.random() < 0.4:
            given["extra"] = [good_examples.dyadic(x) for x in vector()]
    return given, tokens


def random_example(rng: random.Random) -> dict:
    """A network of random shape whose labels mean nothing: only its output is looked at."""
    embedding, deep_set = rng.random() < 0.3, rng.random() < 0.2
    given, tokens = random_input(rng, embedding, deep_set)
    columns, width = given["length"] + (given.get("extra") is not None), rng.randint(1, 5)
    sides = 4 if embedding else given["dimension"] + given["positions"]
    layers = [good_examples.linear(width, sides, "embed")]
    layers[0]["kind"] = "embedding" if embedding else "linear"
    tensors = [random_tensor(rng, width, sides), random_tensor(rng, width)]
    kinds = ["relu", "feed_forward"]
    if not deep_set:
        kinds += ["uniform_attention", "sparse_attention", "hard_attention"]
    inner = rng.choices(kinds, k=rng.randint(0, 5))
    if deep_set:
        inner.insert(rng.randint(0, len(inner)), "sum")
    connections = []
    for kind in inner:
        layer, own = random_layer(rng, kind, width, columns)
        connections += layer.pop("pairs", [])
        width = layer.get("rows", width)
        layers.append(layer)
        tensors += own
    layers.append(good_examples.linear(1, width, "output"))
    tensors += [random_tensor(rng, 1, width), [[Fraction(1)]]]
    every, shortest = not deep_set and rng.random() < 0.4, 0 if deep_set else 1
    rows = [
        {"input": rng.choices(tokens, k=rng.randint(shortest, given["length"])), "label": i % 2}
        for i in range(5)
    ]
    rows.append({"input": tokens[:1], "label": 0})
    if every:
        rows = [{**row, "label": [row["label"]] * len(row["input"])} for row in rows]
    return {
        "input": given,
        "every": every,
        "labels": [0, 1],
        "tokens": tokens if given["kind"] == "string" else None,
        "rows": rows,
        "tensors": tensors,
        "layers": layers,
        "connections": connections if "sparse_attention" in inner else None,
    }


def compare(example: dict, folder: Path) -> None:
    """Every output of the checker's network is the naive one."""
    good_examples.write(folder, good_examples.build(example))
    model, data = check.read_model(str(folder)), check.read_data(str(folder / "data.jsonl"))
    assert check.structure_failures(model) == [] and check.data_failures(model, data) == []
    vectors = check.token_vectors(model, data)
    config = json.loads((folder / "config.json").read_bytes())
    tensors, connections = naive_tensors(folder), naive_connections(folder)
    assert tensors == example["tensors"] and connections == (example.get("connections") or [])
    for row, sequence in zip(example["rows"], data.sequences, strict=True):
        tokens = [naive_vector(token, {"tokens": example["tokens"]}) for token in row["input"]]
        found = model.network.outputs([vectors[place] for place in sequence])
        expected = naive_outputs(config, tensors, connections, tokens)
        assert [m * Fraction(2) ** e for m, e in found] == expected


@settings(max_examples=300, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**40))
def test_random_networks_agree_with_the_naive_evaluator(seed, tmp_path_factory):
    compare(random_example(random.Random(seed)), tmp_path_factory.mktemp("random") / "model")


def test_forgetting_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "COLUMNS_KEPT", 2)
    for seed in range(30):
        compare(random_example(random.Random(seed)), tmp_path / str(seed))


# ---------------------------------------------------------------- doubles


def random_floats(rng: random.Random) -> dict:
    """A small network of doubles; some of them span too much."""
    width, length = rng.randint(1, 3), rng.choice([1, 2, 4])
    scale = rng.choice([3, 2**10, 2**20])

    def tensor(rows: int, columns: int = 1) -> list:
        return [
            [Fraction(rng.randint(-scale, scale), 2 ** rng.randint(0, 4)) for _ in range(columns)]
            for _ in range(rows)
        ]

    layers, tensors = [good_examples.linear(width, 1, "")], [tensor(width), tensor(width)]
    for kind in rng.choices(["relu", "feed_forward", "uniform_attention"], k=rng.randint(0, 3)):
        size = rng.randint(1, 3)
        if kind == "relu":
            layers.append(good_examples.relu(size, width, ""))
            tensors += [tensor(size, width), tensor(size)]
            width = size
        elif kind == "feed_forward":
            layers.append(good_examples.feed_forward(size, ""))
            tensors += [tensor(size, width), tensor(size), tensor(width, size), tensor(width)]
        else:
            layers.append(good_examples.attention(size))
            tensors += [tensor(size, width), tensor(width, size)]
    layers.append(good_examples.linear(1, width, ""))
    tensors += [tensor(1, width), [[Fraction(1)]]]
    rows = [
        {"input": [rng.randint(-9, 9) / 4 for _ in range(rng.randint(1, length))], "label": i % 2}
        for i in range(4)
    ]
    return {
        "number": "float64",
        "input": good_examples.reads("number", length, [rng.randint(-3, 3)]),
        "labels": [0, 1],
        "tokens": None,
        "rows": rows,
        "tensors": tensors,
        "layers": layers,
    }


def shuffled_sum(rng: random.Random, terms: list[float]) -> float:
    total = 0.0
    for term in rng.sample(terms, len(terms)):
        total += term
    return total


def float_output(example: dict, tokens: list[float], rng: random.Random) -> float:
    """The output in floats, every sum in a random order."""
    rest = ([[float(x) for x in row] for row in tensor] for tensor in example["tensors"])
    length, (padding,) = example["input"]["length"], example["input"]["padding"]
    columns = [[math.ldexp(*padding)]] * (length - len(tokens)) + [[x] for x in tokens]

    def products(row: list, h: list) -> list:
        return [a * b for a, b in zip(row, h, strict=True)]

    def weigh(weight: list, h: list, *more: list) -> list:
        return [
            shuffled_sum(rng, products(row, h) + [m[i] for m in more])
            for i, row in enumerate(weight)
        ]

    for layer in example["layers"]:
        if layer["kind"] == "feed_forward":
            w1, b1, w2, b2 = (next(rest) for _ in range(4))
            hidden = [[max(0.0, x) for x in weigh(w1, h, flat(b1))] for h in columns]
            columns = [weigh(w2, z, flat(b2), h) for h, z in zip(columns, hidden, strict=True)]
        elif layer["kind"] == "uniform_attention":
            values, output = next(rest), next(rest)
            middle = [shuffled_sum(rng, list(lane)) / length for lane in zip(*columns, strict=True)]
            columns = [weigh(output, weigh(values, middle), h) for h in columns]
        else:
            weight, bias = next(rest), flat(next(rest))
            columns = [weigh(weight, h, bias) for h in columns]
            if layer["kind"] == "relu":
                columns = [[max(0.0, x) for x in h] for h in columns]
    return columns[-1][0]


def test_doubles_are_exact_in_any_order_where_the_checker_says_so(tmp_path):
    """Random networks of doubles: what is not refused has the exact output in floats."""
    exact = refused = 0
    for seed in range(200):
        rng = random.Random(seed)
        example, folder = random_floats(rng), tmp_path / str(seed)
        good_examples.write(folder, good_examples.build(example))
        config, tensors = json.loads((folder / "config.json").read_bytes()), naive_tensors(folder)
        model = check.read_model(str(folder))
        for row in example["rows"]:
            try:
                ((m, e),) = model.network.outputs([(check.exact(x),) for x in row["input"]])
            except check.NoAnswer:
                refused += 1
                continue
            exact += 1
            tokens = [[Fraction(x)] for x in row["input"]]
            assert [m * Fraction(2) ** e] == naive_outputs(config, tensors, [], tokens)
            for _ in range(3):
                assert float_output(example, row["input"], rng) == m * Fraction(2) ** e
    assert exact > 200 and refused > 50


@pytest.mark.parametrize(
    "terms, holds",
    [
        ([2**53 - 1, 1], True),
        ([2**53, 1], False),
        ([2**52, 2**52], True),
        ([2**53 + 2, 2], True),
        ([Fraction(2) ** -1000], True),
        ([Fraction(2) ** -1001], False),
        ([Fraction(2) ** 999, Fraction(2) ** 999], True),
        ([Fraction(2) ** 1000, Fraction(2) ** 999], False),
        ([Fraction(2) ** 1001, -(Fraction(2) ** 1001)], False),
        ([], True),
    ],
)
def test_the_span_condition_at_its_edges(terms, holds):
    entries = [(i, *good_examples.dyadic(x)) for i, x in enumerate(terms)]
    column = dict.fromkeys(range(len(terms)), (1, 0))
    if holds:
        m, e = check.float64_affine(entries, (0, 0), column)
        assert m * Fraction(2) ** e == sum(terms)
    else:
        with pytest.raises(check.NoAnswer):
            check.float64_affine(entries, (0, 0), column)


def test_which_coordinates_are_doubles_in_the_range():
    for value in (0, 1, -(2**53), Fraction(2) ** 1000, -(Fraction(2) ** -1000), 2**53 - 1):
        assert check.is_normal(good_examples.dyadic(value)), value
    for value in (2**53 + 1, Fraction(2) ** 1000 + 2**990, Fraction(2) ** -1001, 3 * 2**1000):
        assert not check.is_normal(good_examples.dyadic(value)), value


# ---------------------------------------------------------------- large networks


def test_a_long_sequence_of_sparse_attention(tmp_path, capsys):
    """10,000 tokens, the extra column connected to all and all to it: y = x + sum x - sum x."""
    size = 10_000
    one, two = [(0, k) for k in range(1, size + 1)], [(k, 0) for k in range(1, size + 1)]
    odd = 625
    rng = random.Random(1)
    tokens = [rng.randint(0, 3) for _ in range(size)]
    total = sum(tokens)
    example = {
        "input": good_examples.reads("number", size, [0], extra=[0], positions=True),
        "every": True,
        "labels": [0, 1, 2, 3],
        "tokens": None,
        "rows": [{"input": tokens, "label": tokens}],
        "tensors": [
            [[1, 0], [0, 1], [0, 0]],
            good_examples.zeros(3),
            [[1, 0, 0]],
            [[0], [0], [16 * odd]],
            [[0, 0, 1]],
            [[1], [0], [0]],
            [[1, 0, 0]],
            [[-total]],
        ],
        "connections": one + two,
        "layers": [
            good_examples.linear(3, 2, ""),
            good_examples.sparse(1, one),
            good_examples.sparse(1, two),
            good_examples.linear(1, 3, ""),
        ],
    }
    good_examples.write(tmp_path / "m", good_examples.build(example))
    started = time.monotonic()
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 0
    assert time.monotonic() - started < 20
    assert capsys.readouterr().out.startswith("VERIFIED: 10000 of 10000 labels")


def test_thousands_of_relu_layers_and_bits(tmp_path, capsys):
    """Each layer adds a number of 3,000 bits in one lane and takes it away in the next."""
    depth, big = 3000, 3**1900
    tensors, layers = [[[1], [0]], good_examples.zeros(2)], [good_examples.linear(2, 1, "")]
    for number in range(depth):
        bias = [[0], [big]] if number % 2 == 0 else [[0], [-big]]
        tensors += [[[1, 0], [0, 1]], bias]
        layers.append(good_examples.relu(2, 2, ""))
    example = {
        "input": good_examples.reads("number", 1, [0]),
        "labels": [0, 1, 2],
        "tokens": None,
        "rows": [{"input": [x], "label": x} for x in (0, 1, 2)],
        "tensors": [*tensors, [[1, 1]], [[0]]],
        "layers": [*layers, good_examples.linear(1, 2, "")],
    }
    good_examples.write(tmp_path / "m", good_examples.build(example))
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 0
    assert capsys.readouterr().out.startswith("VERIFIED: 3 of 3 labels")


def test_equal_columns_are_evaluated_once(tmp_path):
    """A sequence of a thousand equal tokens with a label each runs its columns once."""
    example = good_examples.tags()
    example["input"]["length"] = 1000
    example["connections"] = []
    for layer in example["layers"][1:3]:
        layer["connections"] = 0
    example["rows"] = [{"input": [1] * 1000, "label": ["fall"] * 1000}]
    good_examples.write(tmp_path / "m", good_examples.build(example))
    network, calls = check.read_model(str(tmp_path / "m")).network, []
    original = network.run
    network.run = lambda block, column: calls.append(block) or original(block, column)
    assert len(network.outputs([((1, 0),)] * 1000)) == 1000
    assert [(block, len(list(same))) for block, same in groupby(sorted(calls))] == [
        (0, 2),
        (1, 2),
        (2, 1),
    ]


# ---------------------------------------------------------------- hostile values


def places(value: object, path: tuple = ()):
    """Every place in a JSON value."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else (enumerate(value) if isinstance(value, list) else ())
    )
    for key, part in items:
        yield from places(part, (*path, key))


@pytest.mark.parametrize("name", ["words", "tags", "sets", "extremes", "floats"])
def test_every_value_of_every_json_file_may_have_any_type(copy, name):
    """A wrong type is refused or a failure; nothing that is read may be accepted unread."""
    folder = copy(name)
    free = {
        "method",
        "form",
        "paper",
        "item",
        "stage",
        "loading",
        "engine",
        "encoded",
        "information",
    }
    for name in ("config.json", "vocabulary.json", "certificate.json"):
        original = (folder / name).read_bytes()
        for path in places(json.loads(original)):
            for new in (None, True, -1, 10**30, 1.5, "x", [], {}, [[]]):
                value = {"": json.loads(original)}
                target, keys = value, ("", *path)
                for key in keys[:-1]:
                    target = target[key]
                if target[keys[-1]] == new and type(target[keys[-1]]) is type(new):
                    continue
                target[keys[-1]] = new
                (folder / name).write_text(json.dumps(value[""]))
                if name != "certificate.json":
                    reseal(folder)
                if run(folder, folder / "data.jsonl") == 0 and keys[-1] not in free:
                    assert "padding" in path or name == "vocabulary.json", (name, path, new)
                    assert naive_holds(folder), (name, path, new)
        (folder / name).write_bytes(original)
        reseal(folder)


# ---------------------------------------------------------------- mutations


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_a_flipped_weight_byte_is_accepted_only_if_the_claim_is_true(copy, folder):
    """Every byte of the weights of `words`, every fourth of the others; hashes repaired."""
    name = folder.name
    folder, rng, accepted = copy(name), random.Random(name), 0
    path = folder / "weights.safetensors"
    original = path.read_bytes()
    for place in range(0, len(original), 1 if name == "words" else 4):
        changed = bytearray(original)
        changed[place] ^= rng.choice([1, 2, 4, 128, rng.randint(1, 255)])
        path.write_bytes(changed)
        reseal(folder)
        if run(folder, folder / "data.jsonl") == 0:
            accepted += 1
            assert naive_holds(folder), place
    assert accepted < len(original) / 10


def test_random_bytes_never_raise_and_never_pass(copy):
    """Damage anywhere in the four files, hashes left alone: exit 1 or 2, except in the free text
    of the certificate, which nothing hashes."""
    folder, rng = copy("vectors"), random.Random(2025)
    original = {name: (folder / name).read_bytes() for name in FILES}
    for case in range(1500):
        name = rng.choice(FILES)
        changed = bytearray(original[name])
        for _ in range(rng.choice([1, 1, 2, 8])):
            place = rng.randrange(len(changed))
            action = rng.randrange(3)
            if action == 0:
                changed[place] = rng.randrange(256)
            elif action == 1:
                del changed[place : place + rng.randint(1, 20)]
            else:
                changed[place:place] = bytes(rng.choices(b'0123456789[]{}",:-e\\ \xff', k=3))
        (folder / name).write_bytes(changed)
        code = run(folder, folder / "data.jsonl")
        assert code in (0, 1, 2)
        if code == 0 and name != "certificate.json":
            assert bytes(changed) == original[name], (case, name)
        (folder / name).write_bytes(original[name])


@pytest.mark.parametrize("example", ["words", "tags", "floats"])
def test_random_bytes_in_config_with_repaired_hashes(copy, example):
    """The same with hashes repaired: only a config that is still true may pass."""
    folder, rng = copy(example), random.Random(7)
    for name in ("config.json", "vocabulary.json"):
        original = (folder / name).read_bytes()
        for _ in range(400):
            changed = bytearray(original)
            changed[rng.randrange(len(changed))] = rng.choice(b'0123456789[]{}",:-e \xff')
            (folder / name).write_bytes(changed)
            reseal(folder)
            code = run(folder, folder / "data.jsonl")
            assert code in (1, 2) or naive_holds(folder)
        (folder / name).write_bytes(original)


@pytest.mark.parametrize("name", ["larger", "phrases", "tags", "sets", "extremes", "floats"])
def test_a_changed_parameter_is_noticed_or_harmless(name, tmp_path):
    """Every parameter in turn tripled, negated or moved by one; counts and hashes repaired."""
    make, noticed, total = good_examples.GOOD[name], 0, 0
    rng, changes = random.Random(name), (lambda x: 3 * x, lambda x: -x, lambda x: x + 1)
    for tensor, matrix in enumerate(make()["tensors"]):
        for row, numbers in enumerate(matrix):
            for column in range(len(numbers)):
                new = rng.choice(changes)(numbers[column])
                folder = tmp_path / str(total)
                example = make()
                example["tensors"][tensor][row] = list(numbers)
                example["tensors"][tensor][row][column] = new
                good_examples.write(folder, good_examples.build(example))
                total += 1
                code = run(folder, folder / "data.jsonl")
                noticed += code != 0
                assert code != 0 or naive_holds(folder), (tensor, row, column)
    assert noticed > total / 5


def test_a_changed_connection_is_noticed_or_harmless(tmp_path):
    example, noticed = good_examples.tags(), 0
    files, entries = good_examples.build(example), good_examples.entries(example["tensors"])
    pairs = [(k, j) for k in range(4) for j in range(4)]
    for place in range(len(example["connections"])):
        for number, pair in enumerate(pairs):
            connections = [*example["connections"]]
            connections[place] = pair
            packed = good_examples.weights(entries, connections)
            folder = tmp_path / f"{place}-{number}"
            changed = good_examples.seal({**files, "weights.safetensors": packed})
            good_examples.write(folder, changed)
            if run(folder, folder / "data.jsonl") == 0:
                assert naive_holds(folder)
            else:
                noticed += 1
    assert noticed > 100


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_a_changed_label_is_noticed(folder, copy):
    """Each label of the data in turn becomes another one; then also with the hash repaired."""
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]
    labels = json.loads((folder / "vocabulary.json").read_bytes())["labels"]
    kind = json.loads((folder / "config.json").read_bytes())["input"]["kind"]
    changed = copy(folder.name)
    for place, row in enumerate(rows):
        for token in range(len(row["label"]) if isinstance(row["label"], list) else 1):
            new = json.loads(json.dumps(rows))
            given = row["label"][token] if isinstance(row["label"], list) else row["label"]
            other = next(label for label in labels if label != given)
            if isinstance(row["label"], list):
                new[place]["label"][token] = other
            else:
                new[place]["label"] = other
            (changed / "data.jsonl").write_bytes(good_examples.lines(new))
            assert run(changed, changed / "data.jsonl") == 1
            for name in ("config.json", "certificate.json"):
                value = json.loads((folder / name).read_bytes())
                value["data"]["sha256"] = good_examples.data_hash(kind, new)
                (changed / name).write_bytes(good_examples.encode(value))
            reseal(changed)
            assert run(changed, changed / "data.jsonl") == 1
            for name in ("config.json", "certificate.json"):
                (changed / name).write_bytes((folder / name).read_bytes())
