"""explain for decoders: stages that add up, the formula before eq. (3), and ratio (3)."""

import json

import pytest

from byheart import pictures
from byheart.api.compile import compile
from byheart.api.explain import explain
from byheart.cli import main
from byheart.constructions import ALL
from byheart.data.load import from_rows, write_jsonl
from byheart.exact.stages import PARTS
from byheart.softmax.show import ratio
from byheart.views.network import draw

ROWS = [
    (["a"], "b"), (["a"], "c"), (["a", "b"], "c"), (["b", "a"], "a"), (["b", "a"], "c"),
    (["c", "c", "c"], "b"), (["c", "a", "b"], "d"), (["d"], "a"), (["d"], "d"),
]  # fmt: skip
DECODERS = [c for c in ALL if c.header.paper == "madden2024"]
each = pytest.mark.parametrize("construction", DECODERS, ids=lambda c: c.name)


@pytest.fixture
def data(tmp_path):
    write_jsonl(from_rows(ROWS), tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


@each
def test_stages_add_up(construction):
    model = compile(from_rows(ROWS), method=construction.name)
    answer, record = explain(model).json(), model.record
    found, totals = answer["stages"], answer["totals"]
    for key in ("nonzero", "dense"):
        assert sum(x[key] for x in found) == getattr(record.parameters, key) == totals[key]
    assert sum(x["bits"] for x in found) == record.bits.total == totals["bits"]
    assert max(x["largest"] for x in found) == record.bits.largest == totals["largest"]
    assert sum(x["depth"] for x in found) == model.network.depth == totals["depth"] == 1
    assert totals["counted"] == totals["dense"] and totals["outside"] == 0
    assert abs(sum(x["share"] for x in found) - 1) < 1e-9
    assert [PARTS.index(x["part"]) for x in found] == sorted(PARTS.index(x["part"]) for x in found)
    assert [x["layers"] for x in found] == [[[i, i]] for i in range(len(found))]
    json.dumps(answer, allow_nan=False)


def test_every_tensor_is_in_one_stage():
    for method in ("one-layer", "token-averaging"):
        model = compile(from_rows(ROWS), method=method)
        sizes = [x.size for x in model.network.tensors.values()]
        assert sum(x.dense for x in explain(model).stages) == sum(sizes)


@pytest.mark.parametrize(
    "options",
    [{}, {"dimension": 3, "heads": 2, "head_dimension": 5}, {"dimension": 4, "skip": True}],
    ids=str,
)
def test_the_formula_and_the_ratio(options):
    """The letters of the paper, put into the formula that is shown and into eq. (3)."""
    model = compile(from_rows(ROWS), method="one-layer", **options)
    answer, shape = explain(model).json(), model.network.shape
    omega, T, d, m = shape.vocabulary, shape.length, shape.dimension, shape.neurons
    m_0, d_0, d_1 = shape.heads, shape.value_dimension, shape.key_dimension
    names = {"omega": omega, "T": T, "d": d, "m": m, "m_0": m_0, "d_0": d_0, "d_1": d_1}
    formula = answer["formula"]
    for space, product in ((" m", "*m"), (" d", "*d"), (" (", "*("), ("+*", "+ ")):
        formula = formula.replace(space, product)
    assert eval(formula, {}, names) == answer["totals"]["dense"]
    third = 1 + (d + 2) / (omega - 1) + 2 * m_0 * (d_0 + d_1) * d / ((omega - 1) * m)
    third += (omega + T) * d / ((omega - 1) * m)
    assert (
        answer["ratio"]
        == pytest.approx(third, rel=1e-12)
        == ratio(shape.parameters, shape.vocabulary, shape.neurons)
    )


def test_the_token_sum_has_its_own_formula():
    model = compile(from_rows(ROWS), method="token-averaging", dimension=2)
    answer, shape = explain(model).json(), model.network.shape
    omega, T, d, m = shape.vocabulary, shape.length, shape.dimension, shape.neurons
    assert answer["formula"] == "omega m + m (d + 1) + omega d + T"
    assert omega * m + m * (d + 1) + omega * d + T == answer["totals"]["dense"]
    assert [x["stage"] for x in answer["stages"]] == ["embed", "sum", "neurons", "output"]


@each
def test_sentences_are_short(construction):
    for sentence in construction.stages.values():
        assert sentence.endswith(".") and len(sentence) <= 75


def test_the_command(capsys, data):
    arguments = ("explain", "one-layer", str(data), "--heads", "2", "--dimension", "3")
    assert main([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["shape"]["heads"] == 2 and answer["shape"]["dimension"] == 3
    assert answer["verified"]["checked"] == answer["dataset"]["contexts"] == 6
    assert answer["paper"] == "madden2024" and answer["picture"] is None
    assert main(list(arguments)) == 0
    output = capsys.readouterr().out
    for word in ("embed", "attend", "neurons", "output", "omega m + m (d + 1)", "ratio (3)", "m_0"):
        assert word in output


@pytest.mark.parametrize("method", ["one-layer", "token-averaging"])
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures(data, tmp_path, method, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{ending}"
    result = explain(method, data)
    pictures.write(draw, result, path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n" if ending == "png" else b"<?xml")
    pictures.write(draw, result, path)
    assert path.read_bytes() == content  # one drawing, one file


def test_a_method_for_labels_takes_no_option_of_decoders(capsys, data):
    code = main(["explain", "hash-fold-retrieve", str(data), "--heads", "2"])
    captured = capsys.readouterr()
    assert (code, captured.out, captured.err.count("\n")) == (2, "", 1)
    assert "does not take --heads" in captured.err
