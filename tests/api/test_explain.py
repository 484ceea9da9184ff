"""explain: stages that add up to the network, in words, as JSON and as a picture."""

import json
import random

import pytest

from byheart import pictures as picture
from byheart.api.compile import compile
from byheart.api.explain import explain
from byheart.constructions import ALL
from byheart.data.load import from_rows, write_jsonl
from byheart.errors import ByheartError
from byheart.exact.stages import PARTS
from byheart.views.network import draw

LABELS = [c for c in ALL if c.claim.name == "labels"]  # others: test_explain_decoder.py
each = pytest.mark.parametrize("construction", LABELS, ids=lambda c: f"{c.name}-{c.form}")
PNG = b"\x89PNG\r\n\x1a\n"


def rows(every, count=30, labels=3):
    """Sequences of words; equal multisets have equal labels."""
    pick, known = random.Random(0), {}
    found = []
    for _ in range(count):
        tokens = [f"w{pick.randrange(9)}" for _ in range(4)]
        label = known.setdefault(tuple(sorted(tokens)), pick.randrange(labels))
        found.append((tokens, [label] * len(tokens) if every else label))
    return found


def built(construction, **options):
    if "bits" in construction.options():
        options.setdefault("bits", 64)
    dataset = from_rows(rows(construction.every))
    return compile(dataset, method=construction.name, form=construction.form, **options)


def check(model, construction):
    """The stages cover every layer once, add up to the counts of config.json, and are in words."""
    answer = explain(model).json()
    found, totals, record = answer["stages"], answer["totals"], model.record
    layers = sorted(i for x in found for a, b in x["layers"] for i in range(a, b + 1))
    assert layers == list(range(len(model.network.layers)))
    assert sum(x["nonzero"] for x in found) == record.parameters.nonzero == totals["nonzero"]
    assert sum(x["dense"] for x in found) == record.parameters.dense == totals["dense"]
    assert sum(x["bits"] for x in found) == record.bits.total == totals["bits"]
    assert sum(x["depth"] for x in found) == model.network.depth == totals["depth"]
    assert max(x["largest"] for x in found) == record.bits.largest == totals["largest"]
    for key in ("counted", "outside"):
        assert totals[key] == getattr(record.parameters, key)
    assert totals["width"] == model.network.width
    assert abs(sum(x["share"] for x in found) - 1) < 1e-9
    places = [PARTS.index(x["part"]) for x in found]
    assert places == sorted(places) or construction.name == "kim2023"  # rounds of attention
    for layer in model.network.layers:
        said = construction.stage_sentence(layer.kind, layer.stage)
        assert said != layer.stage, f"the stage {layer.stage!r} of {layer.kind} has no sentence"
        assert said.endswith(".") and len(said) <= 75


@each
def test_stages_add_up(construction):
    check(built(construction), construction)


@each
def test_stages_add_up_with_positions(construction):
    if "positions" in construction.options() and construction.form != "faithful":
        check(built(construction, positions=True), construction)


@pytest.mark.parametrize(
    "options",
    [{"reject_unknown": 8}, {"minimise": "dense"}, {"attention": "hard"}, {"seed": 3}],
    ids=str,
)
def test_other_networks_add_up_too(options):
    (construction,) = [c for c in ALL if c.name == "hash-fold-retrieve"]
    check(built(construction, **options), construction)


def test_tables_and_lanes_add_up():
    pick = random.Random(3)
    data = from_rows([([pick.randrange(10**6)], pick.randrange(20)) for _ in range(600)])
    check(compile(data), ALL[0])


def test_one_label_needs_nothing():
    model = compile(from_rows([(["a"], "x"), (["b"], "x")]))
    answer = explain(model).json()
    assert answer["totals"]["counted"] + answer["totals"]["outside"] == answer["totals"]["nonzero"]
    assert [x["stage"] for x in answer["stages"]] == ["embed", "attend", "output"]


def test_pieces_of_a_stage_are_named():
    """A stage that is taken up again is one stage with several runs."""
    model = built(ALL[0])
    for stage in explain(model).stages:
        assert all(a <= b for a, b in stage.runs)
        assert all(b + 1 < c for (_, b), (c, _) in zip(stage.runs, stage.runs[1:], strict=False))


# --- the command


@pytest.fixture
def data(tmp_path):
    write_jsonl(from_rows(rows(False)), tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


def test_json_is_one_object(run, data):
    code, output, errors = run("explain", "hash-fold-retrieve", data, "--json")
    assert (code, errors, output.count("\n")) == (0, "", 1)
    answer = json.loads(output)
    assert answer["method"] == "hash-fold-retrieve" and answer["form"] is None
    assert answer["paper"] == "kajitsuka2025" and answer["item"].startswith("Theorem 4.1")
    assert answer["dataset"]["name"] == "data.jsonl" and answer["dataset"]["sequences"] == 30
    assert answer["verified"]["evidence"] == "proved" and answer["picture"] is None
    assert answer["input"]["padding"] == [0.0] and answer["input"]["columns"] == 4
    assert {"statement", "assumptions", "guarantee", "departures"} <= answer.keys()


def test_text_shows_stages_and_theorem(run, data):
    code, output, _ = run("explain", "sparse-attention", data)
    assert code == 0
    for word in ("gather", "connections", "extra token", "Remark 4.5", "D1", "E_out", "proved"):
        assert word in output


@pytest.mark.parametrize(
    ("method", "ending"),
    [("hash-fold-retrieve", "svg"), ("sparse-attention", "png"), ("deep-sets", "SVG")],
)
def test_pictures(data, tmp_path, method, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{ending}"
    result = explain(method, data)
    picture.write(draw, result, path)
    content = path.read_bytes()
    assert content.startswith(PNG if ending == "png" else b"<?xml")
    picture.write(draw, result, path)
    assert path.read_bytes() == content  # one drawing, one file


@pytest.mark.parametrize(
    ("method", "output", "said"),
    [
        ("hash-fold-retrieve", "picture.gif", ".svg, .png or .pdf"),
        ("hash-fold-retrieve", "nowhere/picture.svg", "not a directory"),
        ("no-such", "picture.svg", "no method"),
        ("seq2seq", "picture.svg", "one label"),
    ],
)
def test_refusals_write_nothing(run, data, tmp_path, method, output, said):
    code, answer, errors = run("explain", method, data, "-o", tmp_path / output)
    assert (code, answer, errors.count("\n")) == (2, "", 1) and said in errors
    assert [x.name for x in tmp_path.iterdir()] == ["data.jsonl"]


def test_a_picture_is_not_replaced_unasked(run, data, tmp_path):
    (tmp_path / "p.svg").write_text("mine")
    code, *_ = run("explain", "hash-fold-retrieve", data, "-o", tmp_path / "p.svg")
    assert code == 2 and (tmp_path / "p.svg").read_text() == "mine"


def test_without_matplotlib_pictures_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    with pytest.raises(ByheartError, match="pictures need matplotlib"):
        picture.checked(tmp_path / "p.svg", False)
    assert picture.checked(None, False) is None


def test_a_method_with_data_or_a_model_alone(data, tmp_path):
    model = built(ALL[0])
    model.save(tmp_path / "m")
    assert explain(tmp_path / "m").stages == explain(model).stages
    with pytest.raises(ByheartError, match="seed is for a method and its data"):
        explain(model, seed=3)
    with pytest.raises(ByheartError, match="a method by its name and data"):
        explain(model, data)
