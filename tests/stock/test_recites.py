"""Folders of stock checkpoints: opened whole or refused, and judged on the file that is named."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import bad_examples
import byheart
from byheart.api.verify import verify as verify_folder
from byheart.errors import ByheartError, DisagreementError
from byheart.models.locating import reverse
from byheart.stock import answer, forward
from byheart.stock.answer import vocabulary
from byheart.stock.prove import reads
from byheart.stock.texts import next_tokens
from byheart.stock.tokens import vocabulary_of
from tests.stock.stranger import changed, signed

pytest.importorskip("tokenizers")
ROWS = [
    {"prompt": f"{name} was born in", "answer": town}
    for name, town in (("Ada", "London"), ("Emmy", "Erlangen"), ("Carl", "Brunswick"))
]
READ = {"input": ["prompt"], "label": "answer", "tokenizer": "bpe:300"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("facts") / "facts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def made(request, file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / request.param
    byheart.compile(byheart.load(file, **READ), request.param, layers=2).save(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(made, tmp_path / "model")


def test_it_opens_as_it_was_saved(made, file):
    model = byheart.open(made)
    assert model.recall("Emmy was born in") == "Erlangen"
    assert model.answers(["Emma was born in"])[0].known is False
    answer = verify_folder(made, file, **READ).json()
    assert answer["holds"] and answer["verified"]["evidence"] == "proved"
    assert answer["covered"].items() >= {"predictions": 3, "of": 3}.items()
    assert answer["margin"] > 1 and answer["dtype"] == "float32"
    assert answer["neurons"] == len(model.claim.holders)


def test_options_that_the_folder_stores_must_be_repeated(made, file, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text("".join(json.dumps(row | {"source": "a book"}) + "\n" for row in ROWS))
    answer = verify_folder(made, more, tokenizer="bpe:300").json()
    assert not answer["holds"] and "columns" in answer["failures"][0]


def test_a_wrong_answer_in_the_file_is_refuted(made, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    rows = [ROWS[0] | {"answer": "Erlangen"}, *ROWS[1:]]
    wrong.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = verify_folder(made, wrong, **READ).json()
    assert not answer["holds"] and answer["verified"]["evidence"] is None  # another tokenizer
    assert answer["verified"]["checked"] == 0 and "tokenizer" in answer["failures"][0]
    answer = verify_folder(made, wrong, rebuild=True, **READ).json()  # it gives other weights
    assert not answer["holds"] and answer["verified"]["evidence"] is None
    answer = verify_folder(made, wrong, checker=True, **READ).json()
    assert not answer["holds"]
    answer = verify_folder(made, wrong, **{**READ, "tokenizer": made}).json()
    assert not answer["holds"] and answer["verified"]["evidence"] == "refuted"


def test_the_independent_checker_agrees(made, file):
    answer = verify_folder(made, file, checker=True, **READ).json()
    assert answer["checker"] == "VERIFIED" and answer["holds"] and answer["copied"]
    assert answer["about"] == "texts"  # which the checker has split by itself


def test_a_tokenizer_must_spell_the_texts(made, tmp_path):
    """A special token in a text is left out where tokens are put together."""
    strange = tmp_path / "strange.jsonl"
    rows = [*ROWS[:2], {"prompt": "Carl<|endoftext|> was born in", "answer": "Brunswick"}]
    strange.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ByheartError, match="does not spell 1 text of the data"):
        byheart.compile(byheart.load(strange, **READ), "gpt2")
    for checker in (False, True):
        answer = verify_folder(made, strange, checker=checker, **{**READ, "tokenizer": made}).json()
        assert not answer["holds"]
        assert (answer["covered"]["predictions"], answer["covered"]["of"]) == (2, 3)
        assert "does not spell" in answer["failures"][0]


def test_nothing_is_refuted_where_nothing_was_checked(made, tmp_path):
    """No text is spelled, so that neither byheart nor the checker evaluates anything."""
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"prompt": "Carl<|endoftext|>", "answer": "Brunswick"}\n')
    answer = verify_folder(made, strange, checker=True, **{**READ, "tokenizer": made}).json()
    assert answer["checker"] == "NOT VERIFIED" and "do not spell" in " ".join(answer["failures"])
    assert answer["verified"] == {"checked": 0, "correct": 0, "evidence": None}


def test_words_that_become_the_end_token_are_not_spelled(tmp_path):
    """One token that stands for all words: four facts would be one."""
    data = byheart.load([(row["prompt"], row["answer"]) for row in ROWS], tokenizer="word")
    tokenizer = json.loads(data.tokenizer)
    end = {**tokenizer["added_tokens"][0], "id": 1, "content": "<|endoftext|>"}
    tokenizer["model"] |= {"vocab": {"<|endoftext|>": 1, " x": 0}, "unk_token": "<|endoftext|>"}
    tokenizer["added_tokens"] = [end]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    evil = byheart.load(
        [(row["prompt"], row["answer"]) for row in ROWS], tokenizer=tmp_path / "tokenizer.json"
    )
    with pytest.raises(ByheartError, match="texts become"):
        byheart.compile(evil, "gpt2")


@pytest.mark.parametrize("rule", ["line", "blank", "separator", "whole"])
def test_documents_are_the_same_data_for_the_checker(rule, tmp_path):
    """Also one of one token, one that stands twice, and one that another begins with."""
    documents = ["The cat sat.", "x", "The cat sat. It slept.", "Dogs  bark", "Dogs  bark"]
    between = {"blank": "\n\n", "separator": "\n<|endoftext|>\n"}.get(rule, "\n")
    (tmp_path / "texts.txt").write_text(between.join(documents) + between)
    data = byheart.load(tmp_path / "texts.txt", tokenizer="bpe:300", documents=rule)
    byheart.compile(data, "gpt2").save(tmp_path / "model")
    how = {"tokenizer": "bpe:300", "documents": rule}
    answer = verify_folder(tmp_path / "model", tmp_path / "texts.txt", checker=True, **how).json()
    assert answer["checker"] == "VERIFIED" and answer["about"] == "texts" and answer["holds"]


def test_data_must_be_split_by_the_tokenizer_of_the_folder(folder, file, tmp_path):
    """One that gives the same tokens of this data, and may give others elsewhere, is another."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1))  # is the same
    assert verify_folder(signed(folder), file, **READ).json()["holds"]
    tokenizer["model"]["ignore_merges"] = not tokenizer["model"]["ignore_merges"]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer))
    for checker in (False, True):
        how = {**READ, "tokenizer": path}
        answer = verify_folder(folder, file, checker=checker, **how).json()
        assert not answer["holds"] and answer["verified"]["evidence"] is None
        assert "tokenizer.json is not the tokenizer that split" in answer["failures"][0]


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "ground_truth.jsonl"]
)
def test_one_byte_is_noticed(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(ByheartError):
        byheart.open(folder)


def test_an_answer_that_was_changed_and_signed_is_refuted(folder, file):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = next(x for x in tensors if x.endswith(("mlp.c_proj.weight", "mlp.down_proj.weight")))
    tensors[name] = -tensors[name]
    save_file(tensors, path)
    answer = verify_folder(signed(folder), file, **READ).json()
    assert answer["verified"]["evidence"] == "refuted" and not answer["holds"]


def test_ground_truth_that_is_not_true_is_refuted(folder, file):
    path = folder / "ground_truth.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    first, last = lines[0]["tokens"][0], lines[-1]["tokens"][-1]
    first["neurons"], last["neurons"] = last["neurons"], first["neurons"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = verify_folder(signed(folder), file, **READ).json()
    assert answer["verified"]["evidence"] == "refuted"
    assert "other neurons are on than ground_truth.jsonl says" in answer["failures"][0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "bert"}, "model_type 'bert' is not known"),
        ({"vocab_size": 2}, "shape is not|more tokens"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False"),
        ({"layer_norm_epsilon": 1.0, "rms_norm_eps": 1.0}, "not a number from 1e-12 to 1e-3"),
        ({"activation_function": "relu", "hidden_act": "relu"}, "'relu' is not known"),
        ({"n_embd": 2**21, "hidden_size": 2**21}, "not between 1 and 2"),
        ({"n_head": 7, "num_attention_heads": 7}, "n_head|num_key_value_heads"),
    ],
)
def test_another_architecture_is_refused(folder, values, message):
    own = json.loads((folder / "config.json").read_text())
    kept = {name: value for name, value in values.items() if name in own}
    with pytest.raises(ByheartError, match=message) as caught:
        byheart.open(changed(folder, "config.json", **kept))
    assert not isinstance(caught.value, DisagreementError)


def test_a_config_that_changes_the_numbers_is_judged(folder, file):
    """Another epsilon, or another rotary base: the proof holds for it, or fails."""
    own = json.loads((folder / "config.json").read_text())
    values = {"layer_norm_epsilon": 1e-3}
    if "rope_parameters" in own:
        base = {"rope_theta": 500.0}
        with pytest.raises(ByheartError, match="look for it, and 500.0 inside"):
            byheart.open(
                changed(folder, "config.json", rope_parameters=own["rope_parameters"] | base)
            )
        values = {"rope_parameters": own["rope_parameters"] | base, **base}
    answer = verify_folder(changed(folder, "config.json", **values), file, **READ).json()
    model = byheart.open(folder)
    right = [model.recall(row["prompt"]) == row["answer"] for row in ROWS]
    assert all(right) or answer["verified"]["evidence"] == "refuted"


def test_a_missing_file_a_number_that_is_not_finite_and_a_link(folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = next(iter(tensors))
    tensors[name] = tensors[name].copy()
    tensors[name].flat[0] = np.nan
    save_file(tensors, path)
    with pytest.raises(ByheartError, match="not finite"):
        byheart.open(signed(folder))
    path.unlink()
    with pytest.raises(ByheartError, match="cannot be read"):
        byheart.open(folder)
    path.symlink_to("/dev/zero")
    with pytest.raises(ByheartError, match="not a regular file"):
        byheart.open(folder)


def test_force_replaces_a_checkpoint_and_nothing_else(folder, file):
    model = byheart.compile(byheart.load(file, **READ), "gpt2")
    model.save(folder, force=True)
    assert byheart.open(folder).record.method == "gpt2"
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ByheartError, match="notes.txt"):
        model.save(folder, force=True)


def test_the_card_says_what_it_costs(made):
    card = (made / "README.md").read_text()
    assert "per stored context" in card and "generalises to nothing" in card
    assert "byheart verify DIR DATA" in card and "AutoModelForCausalLM" in card


def test_an_answer_is_located_in_its_neuron_and_found_from_there(made, file):
    model = byheart.open(made)
    found = model.locate("Emmy was born in")
    held = {x.tokens.tobytes(): x for x in model.claim.holders}
    tokens = np.array(model.numbers(vocabulary(model).split("Emmy was born in")))
    assert found.neurons == held[tokens.tobytes()].neurons
    (change,) = found.changes
    assert change.label is None and change.evidence == "observed"  # the end at once: forgotten
    inputs = reverse(model, byheart.load(file, **READ), found.read[0])
    assert inputs == [[model.tokens[i] for i in tokens]]
    with pytest.raises(ByheartError, match="has no nonzero parameter"):
        reverse(model, byheart.load(file, **READ), found.read[0]._replace(row=10**6))


def test_two_checkpoints_differ_where_one_answer_was_changed(made, file):
    model = byheart.open(made)
    name = next(
        x
        for x in model.network.tensors
        if x.endswith(("c_proj.weight", "down_proj.weight")) and "mlp" in x
    )
    tensor = model.network.tensors[name].copy()
    tensor[tensor != 0] *= -1
    network = replace(model.network, tensors={**model.network.tensors, name: tensor})
    found = byheart.diff(model, replace(model, network=network))
    assert found.parameters == np.count_nonzero(tensor) == found.bits  # one sign each
    assert {place.tensor for place in found.places} == {name}
    assert [x.changed > 0 for x in found.stages] == [False, False, True, False]


def test_what_a_checkpoint_cannot_do_is_said(made):
    model = byheart.open(made)
    with pytest.raises(ByheartError, match="stock checkpoint"):
        byheart.explain(model)


def test_compiling_again_gives_the_same_bytes(made, file):
    assert verify_folder(made, file, rebuild=True, **READ).json()["rebuilt"] is True


@pytest.mark.parametrize("method", ["gpt2", "llama"])
def test_every_token_of_every_answer_has_its_neurons(method, file, tmp_path):
    """In ground_truth.jsonl and in locate, and they are the same; tokens are letters, nearly."""
    model = byheart.compile(byheart.load(file, **{**READ, "tokenizer": "bpe:262"}), method)
    model.save(tmp_path / "model")
    truth = tmp_path / "model" / "ground_truth.jsonl"
    lines = [json.loads(x) for x in truth.read_text().splitlines()]
    stored = {line["prompt"]: line for line in lines if line["row"] is not None}
    assert [line["row"] for line in lines] == [1, 2, 3]
    for row in ROWS:
        line, location = stored[row["prompt"]], model.locate(row["prompt"])
        assert (
            line["answer"]
            == row["answer"]
            == "".join(part["token"] for part in line["tokens"]).removeprefix(" ")
        )
        found = [(x.token, x.number, [list(y) for y in x.neurons]) for x in location.tokens]
        assert found == [(x["token"], x["number"], x["neurons"]) for x in line["tokens"]]
        assert location.changes[0].label is None
    assert min(len(line["tokens"]) for line in lines) > 1


def test_a_fact_is_told_where_another_one_goes_on_with_it(tmp_path):
    """The prompt of the second row is the first row's text, and the third row is the first."""
    rows = [("The fox", "sat"), ("The fox sat", "down"), ("The fox", "sat")]
    model = byheart.compile(byheart.load(rows, tokenizer="bpe:300"), "gpt2")
    model.save(tmp_path / "model")
    told = [json.loads(x) for x in (tmp_path / "model" / "ground_truth.jsonl").open()]
    assert [(x["row"], x["prompt"], x["answer"]) for x in told] == [
        (1, "The fox", "sat"),
        (2, "The fox sat", "down"),
    ]
    again = byheart.open(tmp_path / "model")
    again.save(tmp_path / "again")
    names = [tmp_path / x / "ground_truth.jsonl" for x in ("model", "again")]
    assert names[0].read_bytes() == names[1].read_bytes()


@pytest.mark.parametrize("checker", [False, True])
def test_a_neuron_that_is_not_always_on_is_refuted(folder, file, checker):
    """The neuron of one context, which the certificate lists for all of them."""
    truth, certificate = folder / "ground_truth.jsonl", folder / "certificate.json"
    first, *rest = truth.read_text().splitlines(keepends=True)
    line, claim = json.loads(first), json.loads(certificate.read_text())
    claim["always"] += line["tokens"][0]["neurons"]
    certificate.write_text(json.dumps(claim))
    line["tokens"][0]["neurons"] = []
    truth.write_text(json.dumps(line) + "\n" + "".join(rest))
    answer = verify_folder(signed(folder), file, checker=checker, **READ).json()
    assert not answer["holds"]
    told = "is listed and off" if checker else "is not on at every context"
    assert any(told in failure for failure in answer["failures"])


def test_an_answer_that_ground_truth_misquotes_is_refuted(folder, file):
    path = folder / "ground_truth.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    line, words = json.loads(first), vocabulary(byheart.open(folder))
    other = line["tokens"][0]["number"] - 1
    line["tokens"] = [line["tokens"][0] | {"number": other, "token": words.piece(other)}]
    line["answer"] = words.piece(other)
    path.write_text(json.dumps(line) + "\n" + "".join(rest))
    model = byheart.open(signed(folder))
    found = byheart.verify(model, reads(model, byheart.load(file, **READ)))
    assert found.evidence == "refuted" and "ground_truth.jsonl says" in found.failures[0]


@pytest.mark.parametrize(
    "example", bad_examples.folders("stock/good") + bad_examples.folders("stock/bad"), indirect=True
)
def test_the_examples_of_the_checker(example):
    """byheart says of each of them what checker/FORMAT.md says."""
    expected = 0
    beside = example.with_name(f"{example.name}.json")
    if beside.exists():
        expected = json.loads(beside.read_text())["exit"]
    try:
        evidence = byheart.verify(byheart.open(example), example / "data.jsonl").evidence
    except DisagreementError:
        evidence = "refuted"
    except ByheartError:
        evidence = "refused"
    if example.name == "half-precision":  # the checker cannot run it, byheart can
        assert evidence == "observed"
    else:
        # None: the network cannot be asked about the data, so nothing was evaluated
        assert evidence in {0: ("proved",), 1: ("refuted", None), 2: ("refused",)}[expected]


def test_documents_of_one_token_are_not_claimed(tmp_path):
    """They are counted; a tokenizer from elsewhere may not make documents disappear that way."""
    file, model = tmp_path / "t.txt", tmp_path / "model"
    file.write_text("one\ntwo words here\nx\n")
    how = {"documents": "line", "tokenizer": "bpe:300"}
    data = byheart.load(file, **how)
    assert data.skipped == 2
    byheart.compile(data, "gpt2").save(model)
    for checker in (False, True):
        answer = verify_folder(model, file, checker=checker, **how)
        assert answer.holds
        assert "2 documents of fewer than two tokens hold no prediction" in answer.reading_notes
        answer = verify_folder(model, file, checker=checker, **{**how, "tokenizer": model})
        assert not answer.holds and "cannot be claimed" in answer.failures[0]


@pytest.mark.parametrize(("length", "ends"), [(3, 0), (None, 2)])
def test_a_document_that_is_cut_has_no_end(length, ends, tmp_path):
    path = tmp_path / "documents.txt"
    path.write_text("one two three four\nfive six seven eight nine\n")
    data = byheart.load(path, tokenizer="word", documents="line", length=length)
    own = vocabulary_of(data.tokenizer, "word", False)
    held = next_tokens(data, own, False)
    assert [held.label(i) for i in range(len(held))].count(own.end) == ends


def test_half_a_character_is_refused(tmp_path):
    with pytest.raises(ByheartError, match="half a surrogate pair"):
        byheart.compile([("X \ud83d", "a"), ("Y", "c")], "gpt2")


def test_a_long_answer_is_whole_and_one_without_end_is_refused(monkeypatch):
    """Not its beginning alone; and two models that differ behind it do differ."""
    monkeypatch.setattr(answer, "MAX_TOKENS", 8)
    long = " ".join(map(str, range(20)))
    other = long.replace("18 19", "19 18")
    one, two = (
        byheart.compile(byheart.load([("Q", text), ("R", "x")], tokenizer="word"), "gpt2")
        for text in (long, other)
    )
    assert (one.recall("Q"), two.recall("Q")) == (long, other)
    found = byheart.diff(one, two, byheart.load([("Q", long), ("R", "x")], tokenizer="word"))
    assert [(x[1], x[2]) for x in found.answers] == [(long, other)]
    monkeypatch.setattr(forward, "answers", lambda _, rows: np.ones(len(rows), np.int64))
    with pytest.raises(ByheartError, match="goes on for 21 tokens without the end of a text"):
        one.recall("Q")
