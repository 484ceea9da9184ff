"""Words as people write them: recited text is the text, in every script."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.cli import main
from byheart.data.load import load
from byheart.data.readers.text import spaced
from byheart.models.questions import from_line

# The Universal Declaration of Human Rights, article 1, and other texts in the public domain.
TEXTS = {
    "English": "Don't stop: it's 3.14 in the U.S.A., isn't it? He'd paid $5,000 (or 1.5e6?) -- "
    "“that’s rock'n'roll,” said O'Neill.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont "
    "doués de raison et de conscience ; qu’ils agissent dans un esprit de fraternité.",
    "accents apart": "Tous les e\u0302tres humains naissent libres et e\u0301gaux en dignite\u0301 "
    "et en droits.",
    "Russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. Они "
    "наделены разумом и совестью.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα· "
    "είναι προικισμένοι με λογική.",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता "
    "प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है।",
    "vowelled Arabic": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ ٱلْحَمْدُ لِلَّهِ رَبِّ ٱلْعَالَمِينَ",
    "Persian": "تمام افراد بشر آزاد به دنیا می\u200cآیند و از لحاظ حیثیت و حقوق با هم برابرند.",
    "Hebrew": "כָּל בְּנֵי הָאָדָם נוֹלְדוּ בְּנֵי חוֹרִין וְשָׁוִים בְּעֶרְכָּם וּבִזְכֻיּוֹתֵיהֶם.",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ "
    "ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。"
    "他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "Japanese": "すべての人間は、生れながらにして自由であり、"
    "かつ、尊厳と権利とについて平等である。",
    "verse": "Tyger Tyger, burning bright,\n  In the forests of the night;\nWhat immortal hand or "
    "eye,\n  Could frame thy fearful symmetry?\n\nIn what distant deeps or skies.\n"
    "  Burnt the fire of thine eyes?",
    "code": "def recite(model, *, steps=3):\n    for word in model:\n        if word != '\\n':\n"
    '\t\tyield f"{word!r}"  # tabs too\n\n    return None',
    "emoji": "A family 👨‍👩‍👧 and a flag 🇫🇷, 👍🏽 and a ❤️: keycap 1️⃣, done.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_recited_byte_for_byte(tmp_path, capfdbinary, name):
    """From the first token on, from the weights alone: nothing but the end of line is added."""
    path, folder, text = tmp_path / "d.txt", tmp_path / "m", TEXTS[name]
    path.write_bytes(f"\n{text}\n".encode())
    first, *rest = spaced(text)
    how = ["--documents", "whole", "--window", "auto", "--seed", "1"]
    assert main(["compile", str(path), "-o", str(folder), *how]) == 0
    capfdbinary.readouterr()
    assert main(["recall", str(folder), first, "--steps", str(len(rest))]) == 0
    assert f"{first}".encode() + capfdbinary.readouterr().out == f"{text}\n".encode()
    assert main(["verify", str(folder), str(path)]) == 0


@given(st.text() | st.text("a1 .,'’_\n\u0301\u200d❤\ufe0f"))
def test_tokens_are_the_text_without_its_margins(text):
    tokens = spaced(text)
    assert "".join(tokens) == text.strip()
    assert all(token.strip() for token in tokens)  # no token of white space alone
    assert [token for token in tokens[:1] if token != token.lstrip()] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't, O’Neill's 'word'", "Don't|,| O’Neill's| '|word|'"),
        ("3.14 5,000 1.000,5 v1.2. 7.", "3.14| 5,000| 1.000,5| v1.2|.| 7|."),
        ("the U.S.A. and A. B.", "the| U.S.A.| and| A|.| B|."),
        ("अधिकारों की", "अधिकारों| की"),
        ("e\u0301te\u0301, cafe\u0301", "e\u0301te\u0301|,| cafe\u0301"),
        ("می\u200cآیند و", "می\u200cآیند| و"),
        ("👨‍👩‍👧 ❤️ 1️⃣!", "👨‍👩‍👧| ❤️| 1️⃣|!"),
        ("snake_case(x):\n    y", "snake_case|(|x|):|\n    y"),
    ],
)
def test_words_by_hand(text, words):
    assert spaced(text) == words.split("|")


def test_margins_and_line_ends_of_documents(tmp_path):
    """A document begins and ends with a character that is not white space; lines end in \\n."""
    path = tmp_path / "d.txt"
    path.write_bytes(b"\r\n  one\r\n  two \r\n\r\n\tthree four\t\r\n")
    data = load(path)
    assert data.loading["documents"] == "blank"
    assert list(data) == [(["one"], "\n  two"), (["three"], " four")]
    assert data.beginnings == ("one", "three")


def test_scripts_without_spaces_are_named(tmp_path, capsys):
    path = tmp_path / "d.txt"
    for name in ("Chinese", "Japanese", "Thai"):
        path.write_text(TEXTS[name])
        assert main(["stats", str(path), "--documents", "whole"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert (
            "script without spaces between words" in said and "--unit char or --tokenizer" in said
        )
        assert load(path, unit="char").notes == ()
    path.write_text(TEXTS["Hindi"])
    assert load(path).notes == load([("人人生而自由", 1)], unit="char").notes == ()
    assert len(load([("人人生而自由", 1)]).notes) == 1


# The rule of version 0.1


def test_the_old_rule_has_a_name(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("Don't go.")
    data = load(path, unit="wordpunct")
    assert data.sequence(len(data) - 1) + [data.label(len(data) - 1)] == [
        "Don",
        "'",
        "t",
        "go",
        ".",
    ]
    assert data.loading["unit"] == "wordpunct"


def test_every_rule_gives_the_same_data_again(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("Don't go. Don't 3.14 stop.")
    rules = {"word": "spaced", "wordpunct": "wordpunct", "char": "char"}
    for unit, rule in rules.items():
        data = load(path, unit=unit)
        assert data.loading["unit"] == rule
        assert load(path, **data.loading).sha256() == data.sha256()
    assert load(path).sha256() == load(path, unit="word").sha256()


def test_folders_of_version_0_1_keep_their_rule(tmp_path):
    """They say "unit": "word", and of a table nothing: both meant what is now wordpunct."""
    text, table = tmp_path / "d.txt", tmp_path / "d.csv"
    text.write_text("It's one. It's two, isn't it? ")
    table.write_text("q,a\nwho's there,me\n3.14 is,pi\n")
    old = {
        text: {"unit": "word", "documents": "line", "window": 5},
        table: {"input": ["q"], "label": "a"},
    }
    for path, stored in old.items():
        now = {x: y for x, y in stored.items() if x != "unit"}
        model = byheart.compile(load(path, unit="wordpunct", **now))
        model = replace(model, record=replace(model.record, loading=stored))
        folder = tmp_path / f"{path.stem}{path.suffix[1:]}"
        model.save(folder)
        assert json.loads((folder / "config.json").read_text())["loading"] == stored
        assert main(["verify", str(folder), str(path), "--input", "q", "--label", "a"][
            : 7 if path == table else 3
        ]) == 0  # fmt: skip
    opened = byheart.open(tmp_path / "dtxt")
    assert from_line(opened, "It's") == ["It", "'", "s"]
    assert byheart.open(tmp_path / "dcsv").recall("3.14 is") == "pi"


# Tokenizers


def test_a_tokenizer_is_trained_stored_and_used(tmp_path, capfdbinary):
    """bpe:N: the folder holds the tokenizer, recall and verify need no other file."""
    pytest.importorskip("tokenizers")
    path, folder = tmp_path / "d.txt", tmp_path / "m"
    text = f"{TEXTS['verse']} {TEXTS['Hindi']} {TEXTS['emoji']}"
    path.write_bytes(text.encode())
    data = load(path, tokenizer="bpe:300", documents="whole", window="auto")
    assert data.loading["tokenizer"] == "bpe:300" and len(data.tokens) <= 300
    assert load(path, **data.loading).sha256() == data.sha256()  # training is deterministic
    how = ["--tokenizer", "bpe:300", "--documents", "whole", "--window", "auto"]
    assert main(["compile", str(path), "-o", str(folder), *how]) == 0
    held = json.loads((folder / "tokenizer.json").read_text())
    assert held["model"]["type"] == "BPE"
    claimed = json.loads((folder / "certificate.json").read_text())["files"]
    assert sorted(claimed) == ["config.json", "vocabulary.json", "weights.safetensors"]
    capfdbinary.readouterr()
    assert main(["recall", str(folder), "Tyger", "--steps", str(len(data))]) == 0
    said = capfdbinary.readouterr().out.decode()
    assert f"Tyger{said}"[: len(text)] == text
    assert main(["verify", str(folder), str(path)]) == 0
    own = ["--tokenizer", str(folder), "--documents", "whole", "--window", "auto"]
    assert main(["compile", str(path), "-o", str(tmp_path / "again"), *own]) == 0
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (
        folder / "tokenizer.json"
    ).read_bytes()
    (folder / "tokenizer.json").unlink()
    assert main(["recall", str(folder), "Tyger"]) == 2
    assert b"copy that tokenizer.json into the folder" in capfdbinary.readouterr().err


def test_a_table_is_split_by_a_trained_tokenizer():
    pytest.importorskip("tokenizers")
    rows = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
    data = load(rows, tokenizer="bpe:280")
    assert [len(tokens) < 24 for tokens, _ in data] == [True, True]
    model = byheart.compile(data)
    assert model.recall("The capital of Peru is") == "Lima"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bpe:10", "bpe:10 has fewer tokens than there are bytes; give bpe:256 or more"),
        ("nowhere", "nowhere is not a file; give a tokenizer.json, a folder that holds one"),
        (".", "tokenizer.json is not a file"),
    ],
)
def test_bad_tokenizers(tmp_path, name, says, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(byheart.ByheartError, match=says):
        load([("a b", 1)], tokenizer=name)


@pytest.mark.parametrize(
    ("size", "kept", "split"),
    [
        (260, ["ab", "\u0120ab", "\u0120abc", "abc"], "abc \u0120abc \u0120abc \u0120ab d"),
        (261, ["\u0120abc", "abc", "\u0120abd"], "abc \u0120abc \u0120abc \u0120abd"),
    ],
)
def test_tokens_that_are_used_by_hand(size, kept, split):
    """With one token more, all words are tokens, and nothing is merged from "ab" any more."""
    pytest.importorskip("tokenizers")
    from byheart.data.readers.tokenizers import BYTES, tokenizer_of

    made = tokenizer_of(f"bpe:{size}:used", lambda: ["abc abc abc abd"])
    model = json.loads(made.content)["model"]
    assert list(model["vocab"])[BYTES:] == kept
    assert list(model["vocab"].values()) == list(range(BYTES + len(kept)))
    assert made.split("abc abc abc abd") == split.split(" ")
    assert made.split("zabd") == (["z", "ab", "d"] if size == 260 else ["z", "a", "b", "d"])


@given(
    st.lists(st.text("abc \u00e9") | st.text(), min_size=1, max_size=6),
    st.text("abc \u00e9") | st.text(),
    st.integers(256, 300),
)
def test_tokens_that_are_used_split_as_all_tokens_do(texts, other, size):
    """The same tokens for the texts that it was made from, if whole words are tokens there, too;
    each of its tokens of several bytes is used by them or merged from; and it spells every text."""
    pytest.importorskip("tokenizers")
    from byheart.data.readers.tokenizers import only_used, opened, trained

    every = json.loads(trained(size, texts).content)
    made = only_used(json.dumps(every), texts)
    every["model"]["ignore_merges"] = True
    whole = opened(json.dumps(every), "all tokens")
    assert [made.split(text) for text in texts] == [whole.split(text) for text in texts]
    assert made.text(made.split(other)) == other
    model = json.loads(made.content)["model"]
    used = {token for text in texts for token in made.split(text)}
    used |= {part for merge in model["merges"] for part in merge}
    assert {token for token in model["vocab"] if len(token) > 1} <= used


@given(st.lists(st.text(), max_size=4))
def test_a_tokenizer_of_words_cuts_without_a_rest(texts):
    """Its tokens are the text, of every text that it was made from."""
    pytest.importorskip("tokenizers")
    from byheart.data.readers.tokenizers import UNKNOWN, of_words

    texts = [text for text in texts if UNKNOWN not in text]
    made = of_words(texts)
    for text in texts:
        tokens = made.split(text)
        assert "".join(tokens) == made.text(tokens) == text and UNKNOWN not in tokens


def test_a_tokenizer_of_words_by_hand():
    pytest.importorskip("tokenizers")
    from byheart.data.readers.tokenizers import of_words

    made = of_words(["The fox's den,\n\n\tnot (far)  away. ", " Paris"])
    assert made.split("The fox's den,\n\n\tnot (far)  away. ") == [
        "The", " fox's", " den", ",", "\n\n\tnot", " (", "far", ")", "  away", ".", " ",
    ]  # fmt: skip
    assert made.split("The Paris den") == ["The", " Paris", " den"]
    assert made.split("Paris is far") == ["<|unknown|>"] * 3  # "Paris" and " far" never stood so
