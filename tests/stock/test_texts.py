"""What is proved of a stock folder is proved of the text that the user wrote, as the folder's
tokenizer splits it and as `generate()` ends it: not of other tokens."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import byheart
import check
from byheart.api import verify as verify_module
from byheart.api.verify import verify as verify_folder
from byheart.claims.verification import PROVED, Verification
from byheart.cli import main
from byheart.data.load import write_jsonl
from byheart.errors import ByheartError
from byheart.models.checker import Outcome
from byheart.stock import prove
from byheart.stock.prove import reads, texts
from tests.stock.stranger import changed

pytest.importorskip("tokenizers")
ROWS = [
    {"prompt": "The capital of France is", "answer": "Paris"},
    {"prompt": "The capital of Peru is", "answer": "Lima"},
    {"prompt": "The river of Rome is the", "answer": "Tiber"},
]
COLUMNS = {"input": ["prompt"], "label": "answer"}
WORDS, PAIRS = {**COLUMNS, "tokenizer": "word"}, {**COLUMNS, "tokenizer": "bpe:300"}


def written(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("facts") / "facts.jsonl", ROWS)


@pytest.fixture(scope="module")
def made(file, tmp_path_factory):
    """Folders of words and of pairs of bytes."""
    home = tmp_path_factory.mktemp("models")
    for name, how in (("words", WORDS), ("pairs", PAIRS)):
        byheart.compile(byheart.load(file, **how), "gpt2").save(home / name)
    return home


@pytest.fixture
def folder(made, tmp_path):
    """A function that copies a folder, which a test may damage."""
    return lambda name: shutil.copytree(made / name, tmp_path / name)


def verdicts(folder, data, **how):
    """What `verify` answers without and with the checker."""
    return [verify_folder(folder, data, checker=checker, **how) for checker in (False, True)]


# --- which tokens


def test_text_is_split_by_the_tokenizer_whatever_the_folder_says(folder, file):
    """A folder claims that its data was split by a unit: into words that its tokens name, and that
    its tokenizer does not make of this text."""
    copy = folder("words")
    path = copy / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    for row in ROWS:
        vocabulary[row["answer"]] = vocabulary.pop(f" {row['answer']}")
    path.write_text(json.dumps(tokenizer))
    data = byheart.load(file, **COLUMNS)  # of words, with one of them as the label
    truth = copy / "ground_truth.jsonl"
    truth.write_text(truth.read_text().replace('"token": " ', '"token": "'))
    lines = [json.loads(x) for x in truth.read_text().splitlines()]
    assert {vocabulary[row["answer"]] for row in ROWS} == {
        line["tokens"][0]["number"] for line in lines
    }
    notes = json.loads((copy / "byheart.json").read_text())
    about = {"sha256": data.sha256(), "sequences": len(data)}
    changed(
        copy,
        "byheart.json",
        loading={"input": ["prompt"], "label": "answer", "unit": "spaced", "numeric": "vector"},
        data=notes["data"] | about | {"contexts": 3, "labels": 3, "vocabulary": len(data.tokens)},
    )
    certificate = json.loads((copy / "certificate.json").read_text())
    verified = certificate["verified"] | {"checked": len(data), "correct": len(data)}
    changed(copy, "certificate.json", data=about, verified=verified)
    model = byheart.open(copy)
    assert byheart.verify(model, byheart.Dataset.from_rows(data)).evidence == PROVED
    for given in ({}, COLUMNS, {"unit": "char", **COLUMNS}):
        for checker in (False, True):
            with pytest.raises(ByheartError, match=r"split by unit .*name the tokenizer"):
                verify_folder(copy, file, checker=checker, **given)
    with pytest.raises(ByheartError, match="split by unit"):  # no answers, and so no differences
        byheart.diff(copy, copy, file)
    with pytest.raises(ByheartError, match="has a word that the tokenizer does not have"):
        verify_folder(copy, file, **COLUMNS, tokenizer=copy)
    for loading in ({}, {"unit": "char", "numeric": "vector"}):  # a question is split by it, too
        changed(copy, "byheart.json", loading=loading)
        assert byheart.open(copy).recall(ROWS[0]["prompt"]) == "Paris"


def test_the_end_of_a_text_is_the_one_that_stops_generate(file, tmp_path):
    """A tokenizer with two ends: the data is read with that of the folder."""
    data = byheart.load(file, **PAIRS)
    tokenizer = json.loads(byheart.compile(data, "gpt2").record.tokenizer)
    (end,) = tokenizer["added_tokens"]
    other = {**end, "id": end["id"] + 1, "content": "</s>"}
    tokenizer["added_tokens"].append(other)
    path, copy = tmp_path / "tokenizer.json", tmp_path / "model"
    path.write_text(json.dumps(tokenizer))
    how = {**COLUMNS, "tokenizer": path}
    byheart.compile(byheart.load(file, **how), "gpt2").save(copy)
    assert all(answer.holds for answer in verdicts(copy, file, **how))
    numbers = dict.fromkeys(("bos_token_id", "eos_token_id"), other["id"])
    changed(copy, "config.json", **numbers)
    changed(copy, "generation_config.json", **numbers, pad_token_id=other["id"])
    names = ("bos_token", "eos_token", "pad_token", "unk_token")
    changed(copy, "tokenizer_config.json", **dict.fromkeys(names, "</s>"))
    changed(copy, "byheart.json", end="</s>")
    for answer in verdicts(copy, file, **how):  # it says the old end, and generate() goes on
        assert answer.evidence == "refuted" and not answer.holds


def test_the_checker_is_not_believed_about_other_sequences(made, file, tmp_path, monkeypatch):
    """If the checker split texts into other tokens than the library does, its verdict would be
    about them: so the data must have the hash that the folder names, as byheart splits it."""
    other = written(tmp_path / "other.jsonl", [*ROWS[:2], ROWS[2] | {"answer": "Tagus"}])
    lenient = Outcome(Verification(6, 6, PROVED, "checker"), "VERIFIED", True, "texts")
    monkeypatch.setattr(verify_module, "check", lambda *_: lenient)
    how = {**PAIRS, "tokenizer": made / "pairs"}
    assert verify_folder(made / "pairs", file, checker=True, **how).holds
    answer = verify_folder(made / "pairs", other, checker=True, **how)
    assert not answer.holds and answer.evidence is None


def test_a_number_without_a_token_is_none(file, tmp_path):
    """Not even one with the name that it used to have."""
    tokenizer = json.loads(byheart.load(file, **WORDS).tokenizer)
    vocabulary = tokenizer["model"]["vocab"]
    (unknown,) = tokenizer["added_tokens"]
    last = max(vocabulary.values())
    vocabulary |= {"<|endoftext|>": last + 1, "<|unused 99|>": last + 3}
    end = {**unknown, "id": last + 1, "content": "<|endoftext|>"}
    path, copy = tmp_path / "tokenizer.json", tmp_path / "model"
    path.write_text(json.dumps(tokenizer | {"added_tokens": [unknown, end]}))
    byheart.compile(byheart.load(file, **COLUMNS, tokenizer=path), "gpt2").save(copy)
    model = byheart.open(copy)
    assert (model.tokens[last + 2], model.places["<|unused 99|>"]) == (last + 2, last + 3)
    assert f"<|unused {last + 2}|>" not in model.places
    assert all(x.holds for x in verdicts(copy, file, **COLUMNS, tokenizer=path))


def test_rows_of_the_embedding_without_a_token_may_be_answers(folder):
    """Of a stranger's network: they have no word, but a number."""
    copy = folder("words")
    model, path = byheart.open(copy), copy / "model.safetensors"
    tensors = load_file(path)
    rows = tensors["transformer.wte.weight"]
    loudest = 100 * rows[model.places[" Paris"]]
    tensors["transformer.wte.weight"] = np.vstack([rows, loudest])
    save_file(tensors, path)
    changed(copy, "config.json", vocab_size=len(rows) + 1)
    network = replace(
        model.network,
        config={**model.network.config, "vocab_size": len(rows) + 1},
        tensors={**model.network.tensors, "transformer.wte.weight": np.vstack([rows, loudest])},
    )
    parameters, bits = network.counts()
    notes = json.loads((copy / "byheart.json").read_text())
    bits = notes["bits"] | bits | {"encoded": bits["total"]}
    changed(copy, "byheart.json", parameters=parameters, bits=bits)
    assert str(len(rows)) in byheart.open(copy).recall(ROWS[0]["prompt"])


def test_newer_tables_of_unicode_leave_characters_to_the_library(made, monkeypatch):
    """The checker is given no text with a character that only its own tables may know."""
    model = byheart.open(made / "pairs")
    data = byheart.load([("caf\u00e9", "one"), ("\U0001f600", "two")], tokenizer="bpe:300")
    assert len(texts(model, data) or ()) == 2
    monkeypatch.setattr(prove.unicodedata, "unidata_version", "17.0.0")
    assert texts(model, data) is None
    assert len(texts(model, byheart.load([("caf\u00e9", "one")], tokenizer="bpe:300")) or ()) == 1


def test_a_verdict_about_tokens_says_so(made, file, tmp_path, capsys):
    copy = made / "pairs"
    data = reads(byheart.open(copy), byheart.load(file, **PAIRS))
    write_jsonl(data, tmp_path / "tokens.jsonl")
    for data, how, about in (
        (file, PAIRS, "texts"),
        (tmp_path / "tokens.jsonl", {}, "tokens"),
    ):
        for answer in verdicts(copy, data, **how):
            assert answer.holds and answer.json()["about"] == about
    capsys.readouterr()
    assert main(["verify", str(copy), str(tmp_path / "tokens.jsonl")]) == 0
    assert "predictions right, about tokens and no text," in flowing(capsys)
    assert main(["verify", str(copy), str(tmp_path / "tokens.jsonl"), "--checker"]) == 0
    assert "says VERIFIED, about the tokens of the file" in flowing(capsys)


def flowing(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_the_error_model_is_named_in_json(made, file):
    found = verify_folder(made / "pairs", file, **PAIRS).json()
    assert found["within"].startswith("the error model of FORMAT section 10 (any order of")


# --- which texts


def test_edits_must_be_spelled(made, file):
    """What is added and what is set, also where nothing else of the data is text."""
    model, data = byheart.open(made / "pairs"), byheart.load(file, **PAIRS)
    special = "<|endoftext|>"
    with pytest.raises(ByheartError, match="does not spell 1 text"):
        byheart.edit(model, data, add=[(f"The capital{special} of Chile is", "Santiago")])
    with pytest.raises(ByheartError, match="does not spell 1 text"):
        byheart.edit(model, data, add=[("The capital of Chile is", f"Santi{special}ago")])
    with pytest.raises(ByheartError, match="does not spell 1 text"):
        byheart.edit(model, data, change=[(ROWS[0]["prompt"], f"Par{special}is")])
    found = byheart.edit(model, data, add=[("The capital of Chile is", "Santiago")]).model
    assert found.recall("The capital of Chile is") == "Santiago"


def test_added_tokens_must_be_those_of_their_text(made, file):
    """Whoever adds tokens may not add some that no text is split into."""
    model, data = byheart.open(made / "pairs"), byheart.load(file, **PAIRS)
    with pytest.raises(ByheartError, match="does not spell 1 text of the data, such as 'The'"):
        byheart.edit(model, data, add=[(["T", "h", "e"], "end")])


def test_documents_that_are_added_must_be_spelled(tmp_path):
    path, more = tmp_path / "texts.txt", tmp_path / "more.txt"
    path.write_text("The cat sat.\nA dog ran.\n")
    how = {"documents": "line", "tokenizer": "bpe:300"}
    data = byheart.load(path, **how)
    model = byheart.compile(data, "gpt2")
    more.write_text("My <|endoftext|> cat.\n")
    with pytest.raises(ByheartError, match="does not spell 1 text"):
        byheart.edit(model, data, remove=["A dog ran."], add=more)
    more.write_text("My cat sat.\n")
    found = byheart.edit(model, data, remove=["A dog ran."], add=more)
    assert reads(found.model, found.data).left_out == {}


def test_columns_are_one_text(tmp_path):
    """That the user can type: what stands between them is a part of it."""
    path = tmp_path / "pairs.csv"
    path.write_text("city,land,river\nParis,France,Seine\nRome,Italy,Tiber\n")
    how = {"input": ["city", "land"], "label": "river", "tokenizer": "bpe:300"}
    data = byheart.load(path, **how)
    model = byheart.compile(data, "gpt2")
    assert texts(model, data)[0] == {"prompt": "Paris|France", "answer": "Seine", "count": 1}
    model.save(tmp_path / "model")
    assert model.recall("Rome|Italy") == "Tiber"
    for answer in verdicts(tmp_path / "model", path, **how):
        assert answer.holds and answer.about == "texts"
    with pytest.raises(ByheartError, match="does not spell 1 text of the data, such as 'RomeItaly"):
        path.write_text("city,land,river\nRome,Italy,Tiber\nRome,RomeItaly,Tiber\n")
        byheart.compile(byheart.load(path, **how, between=""), "gpt2")


def test_answers_that_differ_by_a_space_are_one_text(tmp_path, capsys):
    rows = [ROWS[0], ROWS[1] | {"answer": " Paris"}]
    path = written(tmp_path / "alike.jsonl", rows)
    with pytest.raises(ByheartError, match="answers .* are one text after a prompt"):
        byheart.compile(byheart.load(path, **PAIRS), "gpt2")
    data = byheart.load([(row["prompt"], row["answer"]) for row in ROWS], tokenizer="bpe:300")
    byheart.compile(data, "gpt2").save(tmp_path / "model")
    assert check.main([str(tmp_path / "model"), str(path)]) == 2
    assert "line 2: the answer is that of another line but for a space" in capsys.readouterr().err


def test_ends_that_are_not_claimed_are_counted(tmp_path):
    """Where another text begins with a text, the model goes on."""
    path = tmp_path / "texts.txt"
    path.write_text("one two three\none two\nfour five\none two\n")
    how = {"documents": "line", "tokenizer": "bpe:300"}
    byheart.compile(byheart.load(path, **how), "gpt2").save(tmp_path / "model")
    (note,) = verify_folder(tmp_path / "model", path, **how).reading_notes
    assert note == "nothing is claimed about the end of 2 texts, with which others begin"
    rows = [ROWS[0], ROWS[0] | {"answer": "Paris of course"}]
    facts = written(tmp_path / "facts.jsonl", rows)
    (note,) = reads(
        byheart.compile(byheart.load(facts, **PAIRS), "gpt2"), byheart.load(facts, **PAIRS)
    ).notes
    assert str(note) == "nothing is claimed about the end of 1 text, with which another one begins"


# --- a stranger's tokenizer.json


def test_a_tokenizer_in_which_a_key_stands_twice_is_refused(made, file, tmp_path):
    content = (made / "pairs" / "tokenizer.json").read_text().rstrip()
    path = tmp_path / "tokenizer.json"
    path.write_text(f'{content[:-1]}, "normalizer": null}}')
    with pytest.raises(ByheartError, match="'normalizer' is given twice"):
        byheart.compile(byheart.load(file, **COLUMNS, tokenizer=path), "gpt2")


def test_a_tokenizer_of_another_reading_is_noticed_in_documents(tmp_path):
    """Documents whose tokens are not those that the model's tokenizer makes of them."""
    path = tmp_path / "texts.txt"
    path.write_text("The cat sat.\nA dog ran.\n")
    data = byheart.load(path, documents="line", tokenizer="bpe:300")
    other = json.loads(data.tokenizer)
    other["model"]["merges"] = []
    with pytest.raises(ByheartError, match="does not spell 2 texts"):
        byheart.compile(replace(data, tokenizer=json.dumps(other)), "gpt2")
    path.write_text("ox\nA cat.\nThe ox.\n")  # the first is one token, and so holds no prediction
    data = byheart.load(path, documents="line", tokenizer="bpe:300")
    other = json.loads(data.tokenizer)
    other["model"]["merges"] = [x for x in other["model"]["merges"] if x != ["o", "x"]]
    assert len(other["model"]["merges"]) < len(json.loads(data.tokenizer)["model"]["merges"])
    with pytest.raises(ByheartError, match="does not spell 3 texts"):
        byheart.compile(replace(data, tokenizer=json.dumps(other)), "gpt2")
