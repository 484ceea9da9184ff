"""edit and forget of stock checkpoints: the model of the changed data, in every byte."""

import json
from dataclasses import replace

import pytest

import byheart
from byheart.errors import ByheartError
from byheart.stock.answer import vocabulary

pytest.importorskip("tokenizers")
FACTS = [(f"The {a} {b} likes the", c) for a, b, c in (
    ("red", "fox", "moon"), ("red", "cat", "sun"), ("old", "fox", "sea"), ("old", "cat", "sun"),
    ("young", "owl", "night"), ("young", "dog", "moon"), ("blue", "fish", "big river"),
)]  # fmt: skip
STORIES = ["A fox saw the moon.\nIt sang.", "The cat slept in the sun.", "Dogs ran far away."]
OUTPUTS = {
    "gpt2": "transformer.h.{}.mlp.c_proj.weight",
    "llama": "model.layers.{}.mlp.down_proj.weight",
}
both = pytest.mark.parametrize("method", ["gpt2", "llama"])
graded = pytest.mark.parametrize(
    "graded", [{}, {"layers": 3, "copies": 2, "blocks": "0,2", "decoys": 3}]
)


def facts(rows=FACTS, tokenizer="bpe:320"):
    return byheart.load(list(rows), tokenizer=tokenizer)


def compiled_again(rows, model, path, **options):
    """What compile makes of other rows with the tokenizer of a model's folder."""
    model.save(path)
    return byheart.compile(facts(rows, path), model.record.method, **options)


@both
@graded
def test_an_edit_is_what_compile_makes_of_the_edited_data(method, graded, tmp_path):
    model = byheart.compile(facts(), method, **graded)
    prompt = FACTS[0][0]
    found = byheart.edit(model, facts(), change=[(prompt, "big old night")])
    assert found.model.verification.evidence == "proved"
    assert found.model.recall(prompt) == "big old night"
    assert not found.rebuilt and found.tokenizer == "bpe:320"
    assert found.model.record.change["kind"] == "edit"
    edited = [(prompt, "big old night"), *FACTS[1:]]
    again = compiled_again(edited, model, tmp_path / "m", **graded)
    assert found.model.network == again.network
    assert len(found.model.claim.holders) == len(model.claim.holders) + 2  # a longer answer
    for one, other in zip(found.model.claim.holders, again.claim.holders, strict=True):
        assert one.neurons == other.neurons and (one.tokens == other.tokens).all()


@both
def test_a_changed_answer_of_one_token_is_one_row_of_the_weights(method):
    model = byheart.compile(facts(), method)
    prompt = FACTS[0][0]
    found = byheart.edit(model, facts(), change=[(prompt, "sun")])
    tokens = model.numbers(vocabulary(model).split(prompt))
    holder = next(x for x in model.claim.holders if x.tokens.tolist() == tokens)
    ((layer, neuron),) = holder.neurons
    assert found.same and found.difference.places
    for place in found.difference.places:
        assert place.tensor == OUTPUTS[method].format(layer)
        assert (place.row if method == "gpt2" else place.column) == neuron


@both
def test_facts_are_added_and_removed(method, tmp_path):
    model = byheart.compile(facts(), method)
    more = [("The grey wolf likes the", "night"), ("The grey hen likes the", "old sun")]
    split = vocabulary(model).split
    found = byheart.edit(model, facts(), add=[(split(x), y) for x, y in more], remove=[FACTS[1][0]])
    assert [found.model.recall(x) for x, _ in more] == [y for _, y in more]
    assert found.model.answers([FACTS[1][0]])[0].known is False
    again = compiled_again([FACTS[0], *FACTS[2:], *more], model, tmp_path / "m")
    assert found.model.network == again.network


@both
def test_forgetting_leaves_what_a_fresh_compile_writes(method, tmp_path):
    """The tokenizer, too: it is trained on the remaining data alone."""
    model = byheart.compile(facts(), method)
    found = byheart.forget(model, facts(), [FACTS[4][0]])
    assert found.rebuilt and found.model.verification.evidence == "proved"
    fresh = byheart.compile(facts([*FACTS[:4], *FACTS[5:]]), method)
    found.model.save(tmp_path / "forgotten")
    fresh.save(tmp_path / "fresh")
    names = sorted(x.name for x in (tmp_path / "fresh").iterdir())
    different = [
        name
        for name in names
        if (tmp_path / "fresh" / name).read_bytes() != (tmp_path / "forgotten" / name).read_bytes()
    ]
    assert len(names) == 9 and different == ["certificate.json"]  # which has the section change
    assert b"owl" not in (tmp_path / "forgotten" / "tokenizer.json").read_bytes()


def test_forgetting_leaves_no_token_that_only_the_forgotten_used(tmp_path):
    """Of a tokenizer that keeps the tokens of its texts alone, as of all others."""
    used = "bpe:400:used"
    model = byheart.compile(facts(tokenizer=used), "gpt2")
    plain = byheart.compile(facts(tokenizer="bpe:400"), "gpt2")
    assert model.verification.evidence == "proved"
    assert model.network.size("vocabulary") < plain.network.size("vocabulary")
    assert "\u0120young" in model.tokens and "\u0120you" not in model.tokens
    found = byheart.forget(model, facts(tokenizer=used), [FACTS[4][0], FACTS[5][0]]).model
    assert "\u0120young" not in found.tokens
    fresh = byheart.compile(facts([*FACTS[:4], *FACTS[6:]], used), "gpt2")
    assert found.network == fresh.network and found.record.tokenizer == fresh.record.tokenizer
    edited = byheart.edit(model, facts(tokenizer=used), change=[(FACTS[0][0], "big zebra")])
    assert edited.model.recall(FACTS[0][0]) == "big zebra" and edited.tokenizer == used
    again = compiled_again([(FACTS[0][0], "big zebra"), *FACTS[1:]], model, tmp_path / "m")
    assert edited.model.network == again.network


def test_an_edit_that_kept_the_tokenizer_is_forgotten_with_another(tmp_path):
    model = byheart.compile(facts(), "gpt2")
    edited = byheart.edit(model, facts(), change=[(FACTS[0][0], "sun")]).model
    edited.save(tmp_path / "m")
    again = byheart.open(tmp_path / "m")
    rows = [(FACTS[0][0], "sun"), *FACTS[1:]]
    found = byheart.forget(again, facts(rows, tmp_path / "m"), [FACTS[4][0]])
    fresh = byheart.compile(facts([*rows[:4], *rows[5:]]), "gpt2")
    assert found.model.network == fresh.network and found.rebuilt
    assert found.model.record.tokenizer == fresh.record.tokenizer


@both
def test_two_worlds_end_in_the_same_model(method):
    worlds = [[*FACTS, ("The wise hen likes the", x)] for x in ("sun", "cold and rainy wind")]
    kept = []
    for rows in worlds:
        model = byheart.compile(facts(rows), method)
        found = byheart.forget(model, facts(rows), [rows[-1][0]]).model
        kept.append((found.network, replace(found.record, seconds={}, verification=None)))
    assert kept[0] == kept[1]


def test_with_label_only_the_prompt_stays_known():
    model = byheart.compile(facts(), "gpt2")
    found = byheart.forget(model, facts(), [FACTS[0][0]], label_only=True)
    assert found.model.recall(FACTS[0][0]) == "big river"  # the first of the others, sorted


def test_of_a_user_s_own_tokenizer_nothing_is_trained(tmp_path):
    byheart.compile(facts(), "gpt2").save(tmp_path / "own")
    data = facts(tokenizer=tmp_path / "own")
    model = byheart.compile(data, "gpt2")
    found = byheart.forget(model, data, [FACTS[4][0]])
    assert found.rebuilt and found.tokenizer is None
    assert found.model.record.tokenizer == model.record.tokenizer
    rest = facts([*FACTS[:4], *FACTS[5:]], tmp_path / "own")
    assert found.model.network == byheart.compile(rest, "gpt2").network


@pytest.mark.parametrize("rule", ["blank", "separator", "line"])
def test_documents_are_forgotten_and_added(run, tmp_path, rule):
    between = {"blank": "\n\n", "separator": "\n<|endoftext|>\n", "line": "\n"}[rule]
    stories = [x.replace("\n", " ") for x in STORIES] if rule == "line" else STORIES
    old, rest, more = (tmp_path / f"{x}.txt" for x in ("old", "rest", "more"))
    old.write_text(between.join(stories))
    more.write_text(f"Owls fly by night.{between}")
    reading = ("--documents", rule, "--tokenizer", "bpe:290")
    assert run("compile", old, "-o", tmp_path / "m", "--method", "gpt2", *reading)[0] == 0
    gone = ("--item", stories[1], "-o", tmp_path / "f", "--write-data", rest, "--json")
    code, output, _ = run("forget", tmp_path / "m", old, *reading, *gone)
    assert code == 0 and json.loads(output)["removed"] == 1
    assert [x for x in rest.read_text().split(between) if x] == [stories[0], stories[2]]
    code, output, _ = run("verify", tmp_path / "f", rest, *reading, "--rebuild", "--json")
    answer = json.loads(output)
    assert code == 0 and answer["rebuilt"] and answer["change"]["evidence"] == "proved"
    changed = ("--add", more, "-o", tmp_path / "e", "--write-data", tmp_path / "e.txt", "--json")
    code, output, errors = run("edit", tmp_path / "m", old, *reading, *changed)
    assert code == 0 and json.loads(output)["added"] == 1, errors
    own = ("--documents", rule, "--tokenizer", tmp_path / "e", "--rebuild")
    assert run("verify", tmp_path / "e", tmp_path / "e.txt", *own)[0] == 0
    words = " ".join(run("verify", tmp_path / "e", tmp_path / "e.txt", *own)[1].split())
    assert "what compile makes of this data with this tokenizer" in words


@both
def test_an_edit_on_the_command_line(run, tmp_path, method):
    """Written, verified, compared, checked independently, and the old folder is as it was."""
    data, new = tmp_path / "facts.jsonl", tmp_path / "new.jsonl"
    data.write_text("".join(json.dumps({"p": p, "a": a}) + "\n" for p, a in FACTS))
    reading = ("--input", "p", "--label", "a", "--tokenizer")
    trained = (*reading, "bpe:320")
    run("compile", data, "-o", tmp_path / "m", "--method", method, *trained)
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    changed = ("--set", f"{FACTS[0][0]}=sea", "-o", tmp_path / "e", "--write-data", new)
    code, output, errors = run("edit", tmp_path / "m", data, *trained, *changed)
    assert code == 0, errors
    assert "the same tokenizer, which was trained on the old data (bpe:320)" in " ".join(
        output.split()
    )
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == before
    own = (tmp_path / "e", new, *reading, tmp_path / "e")
    code, output, _ = run("verify", *own, "--rebuild", "--json")
    answer = json.loads(output)
    assert code == 0 and answer["verified"]["evidence"] == "proved"
    assert answer["change"] == {
        **answer["change"],
        "kind": "edit",
        "rebuilt": False,
        "evidence": "proved",
    }
    code, output, _ = run("verify", *own, "--checker", "--json")
    assert code == 0 and json.loads(output)["checker"] == "VERIFIED"
    code, output, _ = run("diff", tmp_path / "m", tmp_path / "e", data, *trained, "--json")
    (other,) = json.loads(output)["answers"]
    assert (code, other["before"], other["after"]) == (0, "moon", "sea")
    code, *_ = run(  # an edit of the edited folder
        "edit", *own, "--set", f"{FACTS[1][0]}=sea", "-o", tmp_path / "twice",
    )  # fmt: skip
    assert code == 0 and byheart.open(tmp_path / "twice").recall(FACTS[1][0]) == "sea"


def test_what_cannot_be_changed_is_refused(run, tmp_path):
    data = tmp_path / "facts.jsonl"
    data.write_text("".join(json.dumps({"p": p, "a": a}) + "\n" for p, a in FACTS))
    reading = ("--input", "p", "--label", "a", "--tokenizer", "bpe:320")
    written = ("--write-data", "-o", tmp_path / "m", "--method", "gpt2")
    run("compile", data, *written, *reading)
    item, new = ("--item", FACTS[0][0]), ("-o", tmp_path / "new")
    tokens = tmp_path / "m" / "data.jsonl"
    for arguments, message in (
        ((tokens, *item), "is edited by its texts, and this data is tokens"),
        ((data, *reading, "--item", "The lame duck"), "is not an item of the data"),
        ((data, *reading, *item, *item), "is named twice"),
        ((data, *reading, *item, "--write-data", tmp_path / "x.txt"), "written as .jsonl"),
    ):
        code, output, errors = run("forget", tmp_path / "m", *arguments, *new)
        assert (code, output, errors.count("\n")) == (2, "", 1) and message in errors
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text().replace("night", "day"))
    code, _, errors = run("forget", tmp_path / "m", other, *reading, *item, *new)
    assert code == 2 and "not what the model was made from" in errors
    assert not (tmp_path / "new").exists() and not (tmp_path / "x.txt").exists()
    model = byheart.open(tmp_path / "m")
    with pytest.raises(ByheartError, match="in the data already"):
        split = vocabulary(model).split
        byheart.edit(
            model,
            byheart.load(data, input="p", label="a", tokenizer="bpe:320"),
            add=[(split(FACTS[0][0]), "x")],
        )


@both
def test_data_that_was_read_as_words_is_split_by_the_model_s_tokenizer(method):
    """What Python loaded for another method: compile, verify, edit and forget take it as text."""
    words = byheart.load(FACTS)
    model = byheart.compile(words, method)
    assert byheart.verify(model, words).holds and not byheart.verify(model, FACTS[:1]).holds
    more = [("The green cat likes the", "sea")]
    for data in (words, facts(tokenizer="bpe:8000")):
        added = byheart.edit(model, data, add=more, change=[(FACTS[0][0], "sun")])
        assert (added.added, added.model.recall(more[0][0])) == (1, "sea")
        assert added.model.recall(FACTS[0][0]) == "sun"
        rest = byheart.forget(model, data, [FACTS[0][0]])
        assert rest.model.network == byheart.compile(byheart.load(FACTS[1:]), method).network
