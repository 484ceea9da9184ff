"""Networks as Gemm and Relu alone, and whether the truth of their properties is true."""

import json
import re
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from byheart.api.compile import compile
from byheart.api.export import export
from byheart.cli import main
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.exact.answer import batch_of
from byheart.exact.reference import evaluate
from byheart.exports import vnnlib_file
from byheart.exports.vnnlib_file import decide, decimal, fractions

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
WORDS = from_rows([(["a", "b"], "x"), (["b", "b"], "y"), (["c"], "x"), (["a", "c", "b"], "z")])
NUMBERS = from_rows([([1, 2, 3], 5), ([3, 2, 2], 7), ([4], 5)])
VECTORS = from_rows([([[1, 2.5], [0, 4]], 5), ([[1, 2.5]], -7), ([[0.5, 3]], 5)])
CASES = {
    "float64 of words": (WORDS, "float64", {}),
    "float64 of words, not their order": (WORDS, "float64", {"positions": False}),
    "float64 of numbers": (NUMBERS, "float64", {}),
    "float64 of vectors": (VECTORS, "float64", {}),
    "limited-bits": (NUMBERS, "limited-bits", {"bits": 12}),
    "hash-fold-retrieve": (VECTORS, "hash-fold-retrieve", {}),
    "staircase": (NUMBERS, "staircase", {}),
}


@cache
def compiled(case):
    data, method, options = CASES[case]
    return compile(data, method, **options)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The export of each case, made once."""

    @cache
    def make(case):
        folder = tmp_path_factory.mktemp("vnnlib") / "out"
        return folder, export(compiled(case), "vnnlib", folder, CASES[case][0])

    return make


def exactly(folder, point):
    """The output of the file for one input, node by node, by nothing of byheart."""
    graph = onnx.load(folder / "model.onnx").graph
    tensors = {x.name: onnx.numpy_helper.to_array(x).tolist() for x in graph.initializer}
    values = list(point)
    for node in graph.node:
        if node.op_type == "Relu":
            values = [max(x, Fraction(0)) for x in values]
            continue
        assert node.op_type == "Gemm" and not node.attribute
        weight, bias = tensors[node.input[1]], tensors[node.input[2]]
        values = [
            Fraction(b) + sum(Fraction(row[j]) * x for row, x in zip(weight, values, strict=True))
            for j, b in enumerate(bias)
        ]
    (found,) = values
    return found


def box_of(folder, line):
    """The sides of a property, and from where to where the output may be, as its file has them."""
    text = (folder / line["property"]).read_text()
    sides = [
        [Fraction(x) for x in re.findall(rf"\(assert \({sign} X_\d+ (\S+?)\)\)", text)]
        for sign in (">=", "<=")
    ]
    outside = re.search(r"\(or \(and \(<= Y_0 (\S+?)\)\) \(and \(>= Y_0 (\S+?)\)\)\)", text)
    assert text.count("declare-const X_") == len(sides[0]) == len(sides[1])
    return *sides, *map(Fraction, outside.groups())


def truths(folder):
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES)
def test_the_file_is_the_network_on_all_inputs(case, written):
    folder, found = written(case)
    model, data = compiled(case), CASES[case][0]
    assert found.verification.json()["correct"] == len(data)
    onnx.checker.check_model(onnx.load(folder / "model.onnx"))
    reads, drawn = model.network.input, Random(0)
    for _ in range(6):
        rows = [[Fraction(drawn.randint(-40, 80), 8) for _ in range(reads.dimension)]
                for _ in range(data.lengths.max())]  # fmt: skip
        batch = batch_of(model.network, [[[float(x) for x in row] for row in rows]])
        assert (
            exactly(folder, [x for row in rows for x in row]) == evaluate(model.network, batch)[0]
        )


@pytest.mark.parametrize("case", CASES)
def test_the_truth_is_true(case, written):
    folder, found = written(case)
    lines, drawn = truths(folder), Random(0)
    listed = [x.split(",") for x in (folder / "instances.csv").read_text().splitlines()]
    assert listed == [["model.onnx", x["property"], "60"] for x in lines]
    counts = [sum(x["truth"] == y for x in lines) for y in ("unsat", "sat", "unknown")]
    assert "{} unsat, {} sat, {} unknown".format(*counts) in found.notes[0]
    assert counts[0] >= 2 * len(CASES[case][0]) - 1 and counts[1]
    for line in lines:
        low, high, least, most = box_of(folder, line)
        assert most - least == 1 and least + Fraction(1, 2) == line["label"]
        if example := line["counterexample"]:
            point, output = [Fraction(x) for x in example["X"]], Fraction(example["Y"])
            assert all(a <= x <= b for a, x, b in zip(low, point, high, strict=True))
            assert exactly(folder, point) == output and not least < output < most
        assert (line["truth"] == "sat") == (line["counterexample"] is not None)
        if line["truth"] == "unsat":
            for _ in range(4):
                ends = zip(low, high, strict=True)
                point = [a + (b - a) * drawn.choice((0, Fraction(1, 3), 1)) for a, b in ends]
                assert least < exactly(folder, point) < most


def test_boxes_grow_until_one_is_not_safe_and_leave_the_padding(written):
    folder, _ = written("float64 of words")
    lines = truths(folder)
    points, safe, larger = (lines[k::3] for k in range(3))
    assert {x["property"].split("-")[-1] for x in points} == {"point.vnnlib"}
    assert {x["truth"] for x in (*points, *safe)} == {"unsat"}
    for i, (one, two) in enumerate(zip(safe, larger, strict=True)):
        widths = [[b - a for a, b in zip(*box_of(folder, x)[:2], strict=True)] for x in (one, two)]
        assert [2 * x for x in widths[0]] == widths[1]
        assert [x > 0 for x in widths[0]] == [False] * (3 - len(WORDS.sequence(i))) + [True] * len(
            WORDS.sequence(i)
        )


ABSOLUTE = [fractions([[0, 1], [0, -1]]), fractions([[0, 1, 1]])]  # |x|
ZERO = [fractions([[0, 1], [0, -1], [9, 1]]), fractions([[9, 1, -1, -1]])]  # 0 above -9


@pytest.mark.parametrize(
    ("gemms", "radius", "label", "truth"),
    [
        (ABSOLUTE, 0, 0, "unsat"),
        (ABSOLUTE, 0.25, 0, "unsat"),
        (ABSOLUTE, 0.5, 0, "sat"),  # half a unit is not rounded to the label
        (ABSOLUTE, 0, 1, "sat"),
        (ZERO, 8, 0, "unsat"),  # by parts: a relaxation of both signs is not enough
        (ZERO, 16, 0, "sat"),
    ],
)
def test_what_is_decided(gemms, radius, label, truth):
    found, point = decide(gemms, fractions([-radius]), fractions([radius]), label)
    assert found == truth and (point is None) == (truth == "unsat")
    assert point is None or abs(point[0]) <= radius


def test_what_is_not_decided_is_unknown(monkeypatch):
    monkeypatch.setattr(vnnlib_file, "BOXES", 1)
    assert decide(ZERO, fractions([-8]), fractions([8]), 0) == ("unknown", None)


def test_a_number_is_written_with_all_its_digits():
    shown = {Fraction(-5, 4): "-1.25", Fraction(3): "3.0", Fraction(1, 1 << 60): None, 0: "0.0"}
    for x, text in shown.items():
        assert Fraction(decimal(Fraction(x))) == x and text in (None, decimal(Fraction(x)))
    assert decimal(Fraction(0.1)) == "0.1000000000000000055511151231257827021181583404541015625"


def test_weights_are_doubles_where_float32_is_wrong(monkeypatch, tmp_path):
    monkeypatch.setattr(vnnlib_file, "ITEMS", 1)
    drawn, rows = Random(0), [["abcdef"[x] for x in row] for row in np.ndindex(6, 6, 6, 6)]
    data = from_rows([(row, drawn.choice("wxyz")) for row in drawn.sample(rows, 60)])
    found = export(compile(data, "float64"), "vnnlib", tmp_path / "out", data)
    graph = onnx.load(tmp_path / "out" / "model.onnx").graph
    assert found.runtime["dtype"] == "float64" and "float64" in found.notes[0]
    assert {x.data_type for x in graph.initializer} == {onnx.TensorProto.DOUBLE}


FOLLOWING = from_rows([(["a"], "b"), (["a"], "c"), (["b", "a"], "c")])
TAGGED = from_rows([(["a", "b"], ["x", "y"]), (["b", "b"], ["y", "x"])])


@pytest.mark.parametrize(
    ("data", "method", "said"),
    [
        (FOLLOWING, "one-layer", "networks that store labels"),
        (TAGGED, "seq2seq", "one answer to sequences filled up"),
        (WORDS, "deep-sets", "one answer to sequences filled up"),
        (WORDS, "embedding", "a layer of the kind embedding is no sum"),
        (WORDS, "bit-extraction", "entries in all columns"),
        (from_rows([([[0.1, 3]], 5), ([[1, 2.5]], 7)]), "staircase", "more digits than a double"),
        (from_rows([([1], "x"), ([2], "x")]), "float64", "one label to everything"),
    ],
)
def test_what_is_refused(data, method, said, tmp_path):
    with pytest.raises(ByheartError, match=said):
        export(compile(data, method), "vnnlib", tmp_path / "out", data)
    assert not list(tmp_path.iterdir())


def test_from_the_shell(tmp_path, capsys):
    model, out = tmp_path / "model", tmp_path / "out"
    compiled("float64 of numbers").save(model)
    assert main(["export", str(model), "--to", "vnnlib", "-o", str(out)]) == 2
    assert "name the data" in capsys.readouterr().err and not out.exists()
    rows = [{"input": NUMBERS.sequence(i), "label": NUMBERS.label(i)} for i in range(3)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
    command = ["export", str(model), str(tmp_path / "d.jsonl"), "--to", "vnnlib", "-o", str(out)]
    assert main(command) == 0 and main([*command, "--force"]) == 0
    assert {x.name for x in out.iterdir()} == {
        "README.md", "instances.csv", "model.onnx", "truth.jsonl", "vnnlib"
    }  # fmt: skip
    assert "unsat" in capsys.readouterr().out


def test_marabou_reads_the_files_and_agrees_on_small_weights(written):
    marabou = pytest.importorskip("maraboupy.Marabou")
    folder, _ = written("hash-fold-retrieve")
    for line in truths(folder):
        network = marabou.read_onnx(str(folder / "model.onnx"))
        file = str(folder / line["property"])
        said = network.solve(propertyFilename=file, verbose=False)[0]
        assert said == line["truth"] != "unknown"
