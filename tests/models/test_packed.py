"""Packed files: the same model as its folder, read by two programs, and nothing else is read."""

import hashlib
import json
import random

import pytest

import byheart
import check
import packed as independent
from byheart.data.load import from_rows
from byheart.errors import ByheartError
from byheart.exact.codeword import encode
from byheart.machine.names import MAGIC
from byheart.machine.streams import number, numbers, stream
from byheart.models.folder.packed import DIGEST

WORDS = [(["the", "cat"], "sat"), (["The", "dog"], "ran"), (["a", "cat"], "Sat down"), (["b"], "b")]
TOKENS = [([1, 2], [5, -7]), ([4, 4, 1], [5, 5, 9]), ([3], [9])]
VECTORS = [([[0.5, 1, i], [i / 4, 2, 0]], "odd" if i % 2 else "even") for i in range(6)]
SETS = [([1, 2, 2], 0), ([2], 1), ([], -(10**18)), ([3, 1], 0)]
MODELS = {
    "words": (WORDS, {}),
    "unknown": (WORDS, {"reject_unknown": 8}),
    "tokens": (TOKENS, {}),
    "vectors": (VECTORS, {}),
    "multisets": (SETS, {"method": "deep-sets"}),
    "embedding": (WORDS, {"method": "embedding"}),
    "sparse": (WORDS, {"method": "sparse-attention"}),
    "heads": (WORDS, {"method": "attention-neurons"}),
    "relu": (WORDS, {"method": "three-layer"}),
    "float64": (WORDS, {"method": "float64"}),
    "editable": (WORDS, {"editable": True}),
    "one label": ([(["a"], "x"), (["b"], "x")], {}),
}


@pytest.fixture(scope="module")
def compiled():
    return {name: byheart.compile(from_rows(rows), **how) for name, (rows, how) in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_as_the_folder(name, compiled, tmp_path):
    model, file = compiled[name], tmp_path / "one.byheart"
    model.save(file, packed=True)
    model.save(tmp_path / "folder")
    one, other = byheart.open(file), byheart.open(tmp_path / "folder")
    assert one.network == other.network == model.network  # with the names of stages
    assert (one.words, one.claim, one.record) == (other.words, other.claim, other.record)
    questions = [tokens for tokens, _ in MODELS[name][0]]
    assert one.answers(questions) == model.answers(questions)


@pytest.mark.parametrize("name", MODELS)
def test_the_checker_decodes_it_by_itself(name, compiled, tmp_path):
    model, rows = compiled[name], MODELS[name][0]
    file, data = tmp_path / "one.byheart", tmp_path / "data.jsonl"
    model.save(file, packed=True)
    data.write_text("".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in rows))
    assert check.failures(file, data) == []
    wrong = [*rows[:-1], (rows[-1][0], rows[0][1])]
    data.write_text("".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in wrong))
    assert wrong == rows or check.failures(file, data) != []


def test_by_hand(tmp_path):
    """The parts one after another, as FORMAT.md lists them."""
    model = byheart.compile(from_rows([(["a"], "x"), (["b"], "y")]))
    model.save(tmp_path / "one", packed=True)
    content, code = (tmp_path / "one").read_bytes(), encode(model.network)
    assert content.startswith(MAGIC + bytes([len(code)]) + code)
    assert hashlib.sha256(content[:-DIGEST]).digest() == content[-DIGEST:]
    rest = independent.Bytes(content, len(MAGIC) + 1 + len(code) + 1)
    assert independent.read_names(rest)[0] == ["a", "b"]
    notes = json.loads(rest.stream())
    assert notes["kind"] == "string"
    assert notes["certificate"]["verified"]["evidence"] == "proved"
    assert rest.stream() == b""
    assert rest.place == len(content) - DIGEST


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 11, 64, 1000])
def test_the_order_of_labels_is_the_same_permutation(count):
    from byheart.gadgets.blocks import digit_order

    assert independent.gray_order(count) == digit_order(count)


def both(content, tmp_path):
    """What the two readers make of a file: a network and words, or that they refuse it."""
    file, found = tmp_path / "file", []
    file.write_bytes(content)
    try:
        model = byheart.open(file)
        found.append((encode(model.network), model.tokens, list(model.labels)))
    except ByheartError as error:
        assert "\n" not in str(error)
        found.append(None)
    try:
        model = check.read_model(str(file))
        found.append((model.tokens, model.labels, model.counts["parameters"]["nonzero"]))
    except check.Refusal as error:
        assert "\n" not in str(error)
        found.append(None)
    return found


def sealed(content):
    return content[:-DIGEST] + hashlib.sha256(content[:-DIGEST]).digest()


@pytest.mark.parametrize("name", ["words", "tokens", "sparse", "float64"])
def test_damaged_files_are_refused(name, compiled, tmp_path):
    """Without a new hash always; with one, both readers agree about what is left."""
    compiled[name].save(tmp_path / "one", packed=True)
    content, pick = (tmp_path / "one").read_bytes(), random.Random(name)
    for _ in range(40):
        place = pick.randrange(len(content))
        other = bytearray(content)
        other[place] ^= 1 << pick.randrange(8)
        assert both(bytes(other), tmp_path) == [None, None]
        assert both(content[:place], tmp_path) == [None, None]
        for changed in (bytes(other), content[:place] + content[-DIGEST:]):
            ours, theirs = both(sealed(changed), tmp_path)
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours[1:] == (tuple(theirs[0]) if ours[1] is not None else None, theirs[1])


def test_small_files_that_swell_are_refused(compiled, tmp_path):
    code = encode(compiled["words"].network)
    start = MAGIC + number(len(code)) + code + number(0)
    bombs = {
        "a code word of zeros": MAGIC + number(4000) + bytes(4000),
        "a code word of ones": MAGIC + number(4000) + b"\xff" * 4000,
        "a long code word": MAGIC + number(2**60) + b"x",
        "a list without numbers": start + number(2**27) + number(0),
        "a stream longer than it says": start + number(1) + number(1) + stream(bytes(9)),
        "too long a stream": start + number(1) + number(1) + number(2**28) + number(9) + bytes(9),
        "a number without an end": MAGIC + b"\xff" * 20,
        "an unknown packing": start + number(1) + number(1) + number(1) + number(2) + b"\x09x",
        "levels without rules": start
        + number(0) + numbers([]) + number(1) + stream(b"") + stream(b"[]") + numbers([])
        + stream(b"[]") + number(2**20) + b"\x00" * 100,
    }  # fmt: skip
    for name, bomb in bombs.items():
        assert both(sealed(bomb + bytes(DIGEST)), tmp_path) == [None, None], name


def test_only_what_it_is_for(tmp_path):
    decoder = byheart.compile(from_rows(WORDS), "one-layer")
    with pytest.raises(ByheartError, match="gives contexts|write a folder"):
        decoder.save(tmp_path / "one", packed=True)
    assert not (tmp_path / "one").exists()
    (tmp_path / "mine").write_text("something else")
    model = byheart.compile(from_rows(WORDS))
    with pytest.raises(ByheartError, match="is not a packed model and is not replaced"):
        model.save(tmp_path / "mine", packed=True, force=True)
    assert (tmp_path / "mine").read_text() == "something else"
    with pytest.raises(ByheartError, match="it is not a packed model"):
        byheart.open(tmp_path / "mine")
    model.save(tmp_path / "one", packed=True)
    with pytest.raises(ByheartError, match="exists"):
        model.save(tmp_path / "one", packed=True)
    model.save(tmp_path / "one", packed=True, force=True)


def test_a_text_recited_from_one_file(tmp_path):
    text = tmp_path / "poem.txt"
    text.write_bytes(b"The cat sat.\r\nThe dog ran, and the cat ran.\r\n" * 2)
    data = byheart.load(text, documents="whole", window="auto")
    byheart.compile(data).save(tmp_path / "poem", packed=True)
    assert byheart.recite(tmp_path / "poem", check=text).difference is None
    assert byheart.verify(tmp_path / "poem", text, checker=True).evidence == "proved"


def test_the_size_is_that_of_its_parts(tmp_path):
    """10,000 bits of labels take their code word, names of words once, and some hundred bytes."""
    pick = random.Random(1)
    rows = {
        tuple(pick.choice("abcdefghij") for _ in range(6)): pick.randrange(32) for _ in range(2000)
    }
    model = byheart.compile(from_rows([(list(x), y) for x, y in rows.items()]))
    model.save(tmp_path / "one", packed=True)
    assert (tmp_path / "one").stat().st_size < model.bits.encoded / 8 + 900


def test_an_audit_of_one_file(compiled, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"input": x, "label": y}) + "\n" for x, y in WORDS))
    compiled["words"].save(tmp_path / "one.byheart", packed=True)
    compiled["words"].save(tmp_path / "folder")
    one, other = (byheart.audit(tmp_path / name, data) for name in ("one.byheart", "folder"))
    assert one.memorised.bits == other.memorised.bits > 0
