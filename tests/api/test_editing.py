"""edit and forget: what they return is what compile makes of the changed data, and nothing else."""

import random as chance
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.claims.record import Search
from byheart.data.dataset import Dataset
from byheart.exact.network import dyadic
from byheart.softmax.decoder import Decoder

EXAMPLES = Path(__file__).parents[2] / "checker/examples/stock/good"
METHODS = ("hash-fold-retrieve", "embedding", "deep-sets", "one-layer", "token-averaging")
CITIES = {"france": "paris", "italy": "rome", "spain": "madrid", "peru": "lima", "japan": "tokyo"}
ROWS = [(["capital", "of", country], city) for country, city in CITIES.items()]
TEXT = "one cat sat on a mat\ntwo dogs ran to the door\nthree birds sang\n"


def data(rows=ROWS):
    return Dataset.from_rows(rows)


def compiled(rows=ROWS, method="hash-fold-retrieve", **options):
    return byheart.compile(data(rows), method, editable=True, **options)


def files(model, folder):
    model.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---------------------------------------------------------------- the same bytes as compile


@pytest.mark.parametrize("method", METHODS)
def test_an_edit_is_a_compile_of_the_edited_data(method):
    model = compiled(method=method)
    changed = [(["capital", "of", "france"], "lyon"), *ROWS[1:]]
    found = byheart.edit(model, data(), change=[("capital of france", "lyon")])
    assert found.model.network == compiled(changed, method).network
    assert found.model.recall("capital of france") == "lyon"
    assert found.model.verification.evidence == "proved"
    assert found.data.sha256() == data(changed).sha256()


@pytest.mark.parametrize("method", METHODS)
def test_adding_and_removing_is_a_compile_of_the_edited_data(method):
    model = compiled(method=method)
    more = [(["capital", "of", "chile"], "santiago")]
    found = byheart.edit(model, data(), add=more, remove=["capital of peru"])
    rows = [row for row in ROWS if row[0][2] != "peru"] + more
    assert found.model.network == compiled(rows, method).network
    assert (found.added, found.removed, found.rebuilt) == (1, 1, True)
    assert found.data.sha256() == data(rows).sha256()


def test_a_label_edit_takes_the_structure_of_the_model(monkeypatch):
    from byheart.constructions.retrieval import editable

    model = compiled()

    def refuse(*_):
        raise AssertionError("searched")

    monkeypatch.setattr(editable, "find", refuse)
    found = byheart.edit(model, data(), change=[("capital of france", "lyon")])
    assert found.same and not found.rebuilt and found.model.record.change["rebuilt"] is False
    with pytest.raises(AssertionError, match="searched"):
        byheart.edit(model, data(), change=[("capital of france", "lyon")], rebuild=True)
    with pytest.raises(AssertionError, match="searched"):
        byheart.forget(model, data(), ["capital of france"], label_only=True)


def test_every_token_of_a_sequence_has_a_label():
    rows = [(["a", "b"], ["x", "y"]), (["b", "c"], ["y", "x"]), (["c", "c"], ["x", "x"])]
    model = byheart.compile(data(rows), "seq2seq", editable=True, positions=True)
    found = byheart.edit(model, data(rows), change=[(["b", "c"], ["x", "x"])])
    other = [rows[0], (["b", "c"], ["x", "x"]), rows[2]]
    fresh = byheart.compile(data(other), "seq2seq", editable=True, positions=True)
    assert found.model.network == fresh.network
    with pytest.raises(byheart.ByheartError, match="every token of this data has a label"):
        byheart.edit(model, data(rows), change=[(["b", "c"], "x")])


def test_where_order_does_not_count_all_rows_of_a_context_are_one_item():
    rows = [([1, 2, 3], 0), ([2, 1, 3], 0), ([3, 1, 2], 1), ([4, 4, 4], 1)]
    model = byheart.compile(data(rows), editable=True)
    found = byheart.forget(model, data(rows), [[1, 2, 3]])
    assert found.rows == 2 and [list(x) for x, _ in found.data] == [[3, 1, 2], [4, 4, 4]]
    changed = byheart.edit(model, data(rows), change=[([1, 2, 3], 1)])
    assert [y for _, y in changed.data] == [1, 1, 1, 1]


def test_a_document_is_an_item_of_a_text(tmp_path):
    (tmp_path / "all.txt").write_text(TEXT)
    (tmp_path / "rest.txt").write_text(TEXT.replace("two dogs ran to the door\n", ""))
    whole, rest = (byheart.load(tmp_path / name, window=3) for name in ("all.txt", "rest.txt"))
    model = byheart.compile(whole, editable=True)
    found = byheart.forget(model, whole, ["two dogs ran to the door"])
    assert found.data.sha256() == rest.sha256() and found.data.beginnings == rest.beginnings
    assert found.model.network == byheart.compile(rest, editable=True).network
    added = byheart.edit(found.model, rest, add=byheart.load(tmp_path / "all.txt", window=3)[5:10])
    assert sorted(map(repr, added.data)) == sorted(map(repr, whole))
    with pytest.raises(byheart.ByheartError, match="is not a document of the data"):
        byheart.forget(model, whole, ["two dogs ran"])
    with pytest.raises(byheart.ByheartError, match="the labels are the words themselves"):
        byheart.edit(model, whole, change=[("three birds sang", "x")])


def test_a_window_of_one_token_keeps_no_documents_apart(tmp_path):
    (tmp_path / "t.txt").write_text("a b c\nd e f\n")
    whole = byheart.load(tmp_path / "t.txt", window=1)
    with pytest.raises(byheart.ByheartError, match="with window=1"):
        byheart.forget(byheart.compile(whole, editable=True), whole, ["a b c"])


# ---------------------------------------------------------------- history, and what is forgotten


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6))
def test_a_history_of_edits_leaves_no_trace(seed):
    """Whatever the order of edits, the weights are those of a fresh compile of what is left."""
    rng = chance.Random(seed)
    pool = [([a, b], rng.choice("xyz")) for a in "abcd" for b in "abcd"]
    rng.shuffle(pool)
    rows, spare = pool[:8], pool[8:]
    model, now = compiled(rows), data(rows)
    for _ in range(4):
        kind = rng.choice(("change", "add", "remove"))
        tokens, _ = now[rng.randrange(len(now))]
        if kind == "change":
            found = byheart.edit(model, now, change=[(tokens, rng.choice("xyz"))])
        elif kind == "add":
            found = byheart.edit(model, now, add=[spare.pop()])
        else:
            found = byheart.edit(model, now, remove=[tokens])
        model, now = found.model, found.data
    left = list(now)
    rng.shuffle(left)
    assert compiled(left).network == model.network


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("label_only", [False, True])
def test_two_worlds_end_in_the_same_files(method, label_only, tmp_path):
    """Whatever the label of a forgotten item was: every file of the folder is the same."""
    worlds = []
    for label in ("paris", "rome", "nowhere"):
        rows = [(["capital", "of", "france"], label), *ROWS[1:]]
        found = byheart.forget(
            compiled(rows, method), data(rows), ["capital of france"], label_only=label_only
        )
        assert found.rebuilt
        worlds.append(files(found.model, tmp_path / label))
    assert worlds[0] == worlds[1] == worlds[2]


def test_forgetting_takes_nothing_from_the_old_model():
    """Not even a structure that a stranger recorded."""
    model = compiled()
    strange = replace(model, record=replace(model.record, search=Search(0, structure={"x": 1})))
    one, other = (byheart.forget(x, data(), ["capital of peru"]) for x in (model, strange))
    assert one.model.network == other.model.network
    assert one.model.record.search == other.model.record.search


def test_only_the_label_is_forgotten():
    found = byheart.forget(compiled(), data(), ["capital of france"], label_only=True)
    assert found.data[0] == (["capital", "of", "france"], "lima")  # the first of the others
    assert (found.changed, found.removed) == (1, 0)


def test_a_rule_for_conflicts_is_kept():
    rows = [*ROWS, (["capital", "of", "peru"], "cusco"), (["capital", "of", "peru"], "lima")]
    model = byheart.compile(data(rows), editable=True, on_conflict="majority")
    found = byheart.forget(model, data(rows), ["capital of italy"])
    rest = [row for row in rows if row[0][2] != "italy"]
    fresh = byheart.compile(data(rest), editable=True, on_conflict="majority")
    assert found.model.network == fresh.network


def test_one_layer_changes_few_parameters():
    rng = chance.Random(0)
    words = [f"w{i}" for i in range(12)]
    keys = {tuple(rng.choices(words, k=4)) for _ in range(120)}
    rows = [(list(key), rng.choice(words)) for key in sorted(keys)]
    model = byheart.compile(data(rows), "one-layer")
    tokens, label = rows[60]
    other = next(word for word in words if word != label)
    found = byheart.edit(model, data(rows), change=[(tokens, other)])
    assert found.same and 1 <= found.difference.parameters <= 10
    assert {place.tensor for place in found.difference.places} == {"output.weight"}


# ---------------------------------------------------------------- what differs


def test_models_of_the_same_parameters_may_differ():
    model = compiled()
    claim = replace(model.claim, labels=model.claim.labels[::-1])
    found = byheart.diff(model, replace(model, claim=claim))
    assert (found.parameters, found.besides) == (0, ("labels",))
    padded = replace(model.network.input, padding=(dyadic(7),))
    network = replace(model.network, input=padded)
    assert byheart.diff(model, replace(model, network=network)).besides == ("input.padding",)
    assert byheart.diff(model, model).besides == ()
    decoder = compiled(method="one-layer")
    shape = decoder.network.shape._replace(activation="erf")
    network = Decoder(shape, decoder.network.tensors)
    assert byheart.diff(decoder, replace(decoder, network=network)).besides == (
        "decoder.activation",
    )


def test_other_connections_are_another_shape():
    model = byheart.compile(data([(["a", "b"], "x"), (["b", "b"], "y")]), "sparse-attention")
    place, layer = next((i, x) for i, x in enumerate(model.network.layers) if "sparse" in x.kind)
    layers = list(model.network.layers)
    layers[place] = replace(layer, connections=layer.connections[:-1])
    other = replace(model, network=replace(model.network, layers=tuple(layers)))
    with pytest.raises(byheart.ByheartError, match="different shapes"):
        byheart.diff(model, other)


def test_another_configuration_of_a_checkpoint_is_another_shape():
    model = byheart.open(EXAMPLES / "gpt2")
    config = model.network.config | {"layer_norm_epsilon": 1e-3}
    other = replace(model, network=replace(model.network, config=config))
    assert byheart.diff(model, model).parameters == 0
    with pytest.raises(byheart.ByheartError, match="different shapes"):
        byheart.diff(model, other)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "there is nothing to edit"),
        ({"change": [("capital of mars", "x")]}, "is not an item of the data"),
        ({"change": [(["capital"], "x")]}, "is not an item of the data"),
        ({"remove": ["capital of peru", "capital of peru"]}, "is named twice"),
        ({"change": [("capital of peru", "x")], "remove": ["capital of peru"]}, "is named twice"),
        ({"change": [("capital of peru", 3)]}, "the labels of this data are of type str"),
        ({"change": [("capital of peru", "\ud800")]}, "half a surrogate pair"),
        ({"change": "capital of peru"}, "changes are pairs"),
        ({"remove": [5]}, "a question is text or a list of tokens"),
        ({"add": [(["capital", "of", "peru"], "x")]}, "is in the data already"),
        ({"add": [([1, 2], "x")]}, "tokens of kind string"),
        ({"add": [(["a"], 1)]}, "integers as labels"),
        ({"add": [(["a"], ["x"])]}, "a label for every token"),
    ],
)
def test_what_cannot_be_edited_is_said(given, message):
    with pytest.raises(byheart.ByheartError, match=message):
        byheart.edit(compiled(), data(), **given)


def test_what_no_file_of_data_can_hold_is_refused():
    rows = [([1], 1, 2**62), ([2], 2)]
    model = compiled(rows)
    with pytest.raises(byheart.ByheartError, match="beyond signed 64 bits"):
        byheart.edit(model, data(rows), change=[([1], 2**63)])
    with pytest.raises(byheart.ByheartError, match="counts would add up to 2\\^63"):
        byheart.edit(model, data(rows), add=data([([3], 2, 2**62)]))


@pytest.mark.parametrize("item", [[True], [[1]], [[1, [2]]], ["1"]])
def test_an_item_is_named_by_tokens_of_its_kind(item):
    rows = [([1], "x"), ([2], "y")]
    with pytest.raises(byheart.ByheartError, match="this model reads numbers"):
        byheart.forget(compiled(rows), data(rows), [item])


def test_other_data_is_refused():
    for rows in (ROWS[:4], [*ROWS[:4], (["capital", "of", "japan"], "kyoto")]):
        with pytest.raises(byheart.ByheartError, match="its hash differs"):
            byheart.forget(compiled(), data(rows), ["capital of peru"])


def test_a_model_that_is_not_editable_is_refused():
    for method, instead in (("hash-fold-retrieve", "editable=True"), ("bit-extraction", "method=")):
        model = byheart.compile(data(), method)
        with pytest.raises(byheart.ByheartError, match=f"not editable.*{instead}"):
            byheart.forget(model, data(), ["capital of peru"])


def test_nothing_to_forget_and_nothing_left():
    with pytest.raises(byheart.ByheartError, match="nothing to forget"):
        byheart.forget(compiled(), data(), [])
    everything = [tokens for tokens, _ in ROWS]
    with pytest.raises(byheart.ByheartError, match="nothing would be left"):
        byheart.forget(compiled(), data(), everything)


def test_a_tokenizer_that_was_trained_on_the_text_is_refused():
    model = compiled()
    loading = {"tokenizer": "bpe:300"}
    strange = replace(model, record=replace(model.record, loading=loading))
    with pytest.raises(byheart.ByheartError, match="trained on all of this text"):
        byheart.forget(strange, data(), ["capital of peru"])


@pytest.mark.parametrize("options", [{"minimise": 3}, {"reject_unknown": -1}, {"editable": "yes"}])
def test_strange_options_of_a_folder_are_refused(options):
    model = compiled()
    recorded = {**model.record.options, **options}
    strange = replace(model, record=replace(model.record, options=recorded))
    with pytest.raises(byheart.ByheartError):
        byheart.forget(strange, data(), ["capital of peru"])


def test_the_data_is_in_place_before_the_folder(tmp_path, monkeypatch):
    """A run that is killed while it saves leaves data without a folder, not the reverse."""
    data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y"), (["c"], "x")])
    model, written = byheart.compile(data, editable=True), tmp_path / "left.jsonl"

    def killed(model, place, before, **how):
        before()
        assert len(byheart.load(written)) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr("byheart.api.change.save", killed)
    with pytest.raises(KeyboardInterrupt):
        byheart.forget(model, data, ["a b"], output=tmp_path / "m", write_data=written)
    assert [path.name for path in tmp_path.iterdir()] == ["left.jsonl"]
