"""Phrases as tokens: which words are joined, texts, models, and prompts that end inside."""

import pytest

import byheart
from byheart.api.compile import compile
from byheart.data.load import load
from byheart.data.readers.phrases import joined
from byheart.data.readers.tokenizers import of_phrases, tokenizer_of
from byheart.models.recall import continued

VERSE = "old king log sat by the sea; {} came by, and old king log sat by the sea again.\n"
TEXT = "".join(VERSE.format(name) for name in "a crow|the wind|one ship|no man|a child".split("|"))


def test_a_pair_is_joined_where_it_saves_more_than_its_rule():
    often = [["a", "b", f"w{i}"] for i in range(60)]
    found = joined(often)
    assert found["ab"] == 60 and found["a"] == found["b"] == 0
    rare = joined([["a", "b"], ["a", "b"], ["b", "a", "c", "d"]])
    assert set(rare) == {"a", "b", "c", "d"}
    assert set(joined(often, 0)) == {x for text in often for x in text}


def test_no_phrase_goes_on_in_the_next_text():
    found = joined([["x", "y"]] * 50, None)
    assert not any(name.startswith("y") and len(name) > 1 for name in found)


@pytest.mark.parametrize("text", [TEXT * 3, "e\u0301 \n\t two  spaces " * 40, "ein Wort"])
def test_the_tokens_of_a_text_are_the_text(text):
    tokenizer = of_phrases([text], None)
    tokens = tokenizer.split(text)
    assert "".join(tokens) == text == tokenizer.text(tokens)
    assert len(tokens) <= len(of_phrases([text], 0).split(text))


def test_at_most_so_many():
    def phrases(size):
        vocabulary = tokenizer_of(f"phrases:{size}", lambda: [TEXT * 20]).split(TEXT * 20)
        return {x for x in vocabulary if len(x.split()) > 1}

    assert len(phrases(0)) == 0 < len(phrases(3)) <= 3 < len(phrases(1000))


def test_a_model_recites_and_says_where_it_answers(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT * 2)
    data = load(path, tokenizer="phrases", documents="whole", window="auto")
    words = load(path, tokenizer="word", documents="whole", window="auto")
    model, plain = compile(data), compile(words)
    assert model.verification.evidence == "proved"
    assert len(data) < len(words) and model.parameters.nonzero <= plain.parameters.nonzero
    model.save(tmp_path / "model")
    again = byheart.open(tmp_path / "model")
    tokens = [data[0][0][0], *(data.label(i) for i in range(len(data)))]
    said = [
        answer.label for answer, _ in zip(continued(again, tokens[:1]), tokens[1:], strict=False)
    ]
    assert "".join([tokens[0], *said]) == (TEXT * 2).strip()
    phrase = max(tokens, key=lambda x: len(x.split()))
    inside = phrase.rsplit(" ", 1)[0]
    assert len(phrase.split()) > 1
    (answer,) = again.answers(["".join(tokens[: tokens.index(phrase)]) + inside])
    assert "at the ends of its phrases only" in answer.note
    (unknown,) = again.answers(["old king of"])
    assert unknown.label is None and "inside a phrase" in unknown.note
