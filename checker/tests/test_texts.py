"""Texts of stock checkpoints: their tokens, what they spell, and the sequences they stand for."""

import json
import random
import unicodedata
from pathlib import Path

import pytest

import check
import stock_examples
import texts

GOOD = Path(__file__).resolve().parent.parent / "examples" / "stock" / "good"
ODD = [9, 10, 11, 12, 13, 0x1C, 0x1F, 0x85, 0xA0, 0x1680, 0x180E, 0x200B, 0x2028, 0x202F, 0x205F]
ODD += [0x3000, 0xFEFF, 0x660, 0xB2, 0xBD, 0x2160, 0x0E33, 0x300, 0x1F600, 0x4E2D, 0x5D0, 0x939]
RANGES = [*range(32, 127)] * 2 + [*range(0x80, 0x250), *range(0x400, 0x440), *range(0x900, 0x940)]
LETTERS = [chr(x) for x in RANGES + ODD * 8 if unicodedata.category(chr(x)) not in ("Cn", "Cs")]
PARTS = (" ", "  ", "'s", "\u2019t", " the", "the", "<x>", "<x>y", "<", "\n\n", "'ll", "12", " _a")


def verdict(capsys, folder, lines, tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code = check.main([str(folder), str(file), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else err


def test_the_text_of_an_example(capsys, tmp_path):
    code, answer = verdict(capsys, GOOD / "text", [{"text": "aab"}], tmp_path)
    assert (code, answer["verdict"], answer["about"]) == (0, "VERIFIED", "texts")
    code, answer = verdict(capsys, GOOD / "text", [{"text": "aab"}, {"text": "b"}], tmp_path)
    assert (code, answer["verdict"], answer["skipped"]) == (0, "VERIFIED", 1)
    for lines, part in (
        ([{"text": "aaa"}], "sha256 of the data"),
        ([{"text": "aab"}, {"text": "abc"}], "line 2: the tokens of a text do not spell it"),
        ([{"text": "aab<s>"}], "line 1: the tokens of a text do not spell it"),
    ):
        code, answer = verdict(capsys, GOOD / "text", lines, tmp_path)
        assert code == 1 and part in " ".join(answer["failures"])
    for lines, part in (
        ([{"text": "aab", "more": 1}], 'has the key "more"'),
        ([{"text": "aab"}, {"prompt": "a", "answer": "b"}], "some lines are texts and some"),
        ([{"text": "aab", "count": 0}], "the count is 0"),
        ([{"text": "a\U000e0080"}], "is not in Unicode"),
    ):
        code, message = verdict(capsys, GOOD / "text", lines, tmp_path)
        assert code == 2 and part in message


def test_tokens_are_said_to_be_tokens(capsys):
    assert check.main([str(GOOD / "text"), str(GOOD / "text" / "data.jsonl")]) == 0
    assert "about tokens, the text was not checked" in capsys.readouterr().out


@pytest.mark.parametrize("note", ["text", "prompt"])
def test_tokens_with_a_note_are_tokens(note, capsys, tmp_path):
    rows = map(json.loads, (GOOD / "text" / "data.jsonl").read_text().splitlines())
    code, answer = verdict(capsys, GOOD / "text", [row | {note: "aab"} for row in rows], tmp_path)
    assert (code, answer["verdict"], answer["about"]) == (0, "VERIFIED", "tokens")


def test_sequences_by_hand():
    """An end stands after a text only where nothing else may follow."""
    lines = [texts.Text(1, ["a", "b"], 1, 2), texts.Text(2, ["a", "b", "c"], 1, 1)]
    assert texts.sequences(lines, "E") == [
        (["a"], "b", 2),
        (["a"], "b", 1),
        (["a", "b"], "c", 1),
        (["a", "b", "c"], "E", 1),
    ]


def test_pieces_by_hand():
    cut = list(texts.byte_pieces("I'll go  to 3 x²\n\n."))
    assert cut == ["I", "'ll", " go", " ", " to", " 3", " x", "²", "\n", "\n", "."]
    assert list(texts.word_pieces("it’s  _a1 ...b' ")) == ["it’s", "  _a1", " ...", "b", "'", " "]


@pytest.mark.parametrize("kind", ["pairs", "words"])
def test_tokens_are_those_of_the_library(kind):
    """Another program splits and joins 800 texts alike."""
    library = pytest.importorskip("tokenizers")
    rng = random.Random(0)
    written = ["".join(rng.choice(PARTS + ("a", "b", "é")) for _ in range(40)) for _ in range(50)]
    example = stock_examples.words()
    raw = stock_examples.tokenizer(example)
    if kind == "pairs":
        trainer = library.trainers.BpeTrainer(
            vocab_size=400,
            initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        trained = library.Tokenizer(library.models.BPE())
        trained.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trained.train_from_iterator(written, trainer)
        raw["model"] = json.loads(trained.to_str())["model"]
    else:
        pattern = {"Regex": texts.WORD}
        raw["pre_tokenizer"] = {"type": "Split", "pattern": pattern}
        raw["pre_tokenizer"] |= {"behavior": "Isolated", "invert": False}
        raw["decoder"] = {"type": "Fuse"}
        cut = library.pre_tokenizers.Split(library.Regex(texts.WORD), "isolated")
        names = {piece for text in written for piece, _ in cut.pre_tokenize_str(text)}
        vocabulary = {name: i for i, name in enumerate(["<u>", *sorted(names)])}
        raw["model"] = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<u>"}
    count = len(raw["model"]["vocab"])
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    raw["added_tokens"] = [
        {"id": count + i, "content": content, "special": content == "<s>", **flags}
        for i, content in enumerate(("<s>", "<x>", "<x>y"))
    ]
    if kind == "words":
        raw["added_tokens"].append({"id": 0, "content": "<u>", "special": True, **flags})
    content = json.dumps(raw)
    other = library.Tokenizer.from_str(content)
    own = texts.read_tokenizer(content.encode(), "gpt2", 10**6, "<s>")
    spelled = 0
    for _ in range(800):
        size = rng.randrange(1, 12)
        text = "".join(
            rng.choice(LETTERS) if rng.random() < 0.4 else rng.choice(PARTS) for _ in range(size)
        )
        encoded = other.encode(text, add_special_tokens=False)
        tokens = [
            token
            for part, added in own.cut(text)
            for token in ([part] if added else own.split(part))
        ]
        assert tokens == encoded.tokens
        right = other.decode(encoded.ids, skip_special_tokens=True) == text
        assert (own.tokens(text) == tokens) == right
        spelled += right
    assert spelled > 20


def test_newer_tables_of_unicode_refuse_what_may_have_come_later(monkeypatch):
    """A character that libraries do not know is a letter in newer tables: it splits otherwise."""
    tokenizer = texts.read_tokenizer(
        (GOOD / "text" / "tokenizer.json").read_bytes(), "gpt2", 3, "<s>"
    )
    for letter in "é中א":  # of Unicode 3.2, and so of all tables
        assert tokenizer.tokens(letter) is None
    assert tokenizer.tokens("\U0001f600") is None
    monkeypatch.setattr(texts.unicodedata, "unidata_version", "17.0.0")
    for letter in "é中א":
        assert tokenizer.tokens(letter) is None
    with pytest.raises(check.Refusal, match="U[+]1F600 is not in Unicode 3.2.0"):
        tokenizer.tokens("\U0001f600")


def test_answers_that_are_one_text_after_a_prompt_are_refused(capsys, tmp_path):
    for one, other in (("b", " b"), (" b", "b"), ("", " ")):
        lines = [{"prompt": "a", "answer": one}, {"prompt": "b", "answer": other}]
        code, message = verdict(capsys, GOOD / "text", lines, tmp_path)
        assert code == 2 and "line 2: the answer is that of another line but for a space" in message
    lines = [{"prompt": "a", "answer": "b"}, {"prompt": "b", "answer": "b"}]
    assert verdict(capsys, GOOD / "text", lines, tmp_path)[0] == 1


def test_a_long_word_is_split_in_good_time():
    """Pairs are not looked for again from the beginning of the word."""
    raw = json.loads((GOOD / "text" / "tokenizer.json").read_text())
    raw["model"]["vocab"] |= {"ab": 3, "abab": 4, "ba": 5}
    raw["model"]["merges"] = [["b", "a"], ["a", "b"], ["ab", "ab"]]
    tokenizer = texts.read_tokenizer(json.dumps(raw).encode(), "gpt2", 6, "<s>")
    assert tokenizer.tokens("ab" * 40_000) == ["a", *["ba"] * 39_999, "b"]
    raw["model"]["merges"].reverse()
    tokenizer = texts.read_tokenizer(json.dumps(raw).encode(), "gpt2", 6, "<s>")
    assert tokenizer.tokens("ab" * 40_001) == [*["abab"] * 20_000, "ab"]
