"""What files of text hold beside their tokens: kept, written as text, read from strangers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.data.layout import Layout, changed, hashed, no_contexts
from byheart.errors import ByheartError

MIXED = b"\xef\xbb\xbfHello big world\r\nand you\n\n\n  one\n  two three  \r\rfour five six"


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_bytes(MIXED)
    return path


def pieces(data, joined):
    """The documents of a dataset of predictions, as `restored` takes them."""
    labels = iter([data.label(i) for i in range(len(data))])
    layout = data.layout
    tokens = [
        [first, *(next(labels) for _ in range(size - 1))]
        for first, size in zip(layout.firsts, layout.lengths, strict=True)
    ]
    return [["".join(x)] for x in tokens] if joined else tokens


@pytest.mark.parametrize("documents", ["whole", "line", "blank"])
@pytest.mark.parametrize("unit", ["word", "wordpunct", "char"])
def test_a_file_is_restored_byte_for_byte(mixed, unit, documents):
    data = byheart.load(mixed, unit=unit, documents=documents)
    layout = Layout.read(data.layout.text)
    assert layout == data.layout
    ((file, content),) = layout.restored(pieces(data, unit != "wordpunct"))
    assert content == MIXED and file.size == len(MIXED) and file.encoding == "utf-8-sig"


@given(st.text("ab ,\n\r\t\u2028", min_size=1, max_size=40))
def test_any_text_is_restored(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "text.txt"
    path.write_bytes(text.encode())
    try:
        data = byheart.load(path)
    except ByheartError:  # without two tokens
        return
    ((_, content),) = data.layout.restored(pieces(data, True))
    assert content == text.encode()


def test_a_part_of_a_text_has_no_files(mixed):
    assert byheart.load(mixed, length=2).layout.files == ()
    assert byheart.load(mixed, documents="line")[:2].layout is None


def test_what_is_no_layout_is_none():
    good = {"files": [], "names": ["a"], "firsts": [0], "lengths": [3], "endings": []}
    assert Layout.read(json.dumps(good)).firsts == ("a",)
    runs, empty = [["\n"], [[0, 2]]], [[], []]
    file = [None, "utf-8", 1, runs, None, empty, 9, None]
    assert Layout.read(json.dumps({**good, "files": [file]})) is not None
    names = ["../up", "/root", "a\\b", "a//b", "c:d", "."]
    hostile = [
        {"firsts": [1]}, {"firsts": [-1]}, {"lengths": [1]}, {"lengths": [3, 3]},
        {"names": [[]]}, {"lengths": [True]}, {"files": [[]]},
        *({"files": [[name, *file[1:]]]} for name in names),
        {"files": [[None, "zip", *file[2:]]]}, {"files": [[None, "utf-8", 2, *file[3:]]]},
        {"files": [[*file[:3], [["\n"], [[1, 2]]], *file[4:]]]},
    ]  # fmt: skip
    for change in hostile:
        assert Layout.read(json.dumps(good | change)) is None, change
    for text in (None, "", "[]", "{", "[" * 10**5):
        assert Layout.read(text) is None


def test_what_would_fill_the_memory_is_refused():
    runs = (("x" * 1000,), ((0, 2**39),))
    bomb = [None, "utf-8", 1, runs, None, [[], []], 9, None]
    values = {"files": [bomb], "names": ["a"], "firsts": [0], "lengths": [2], "endings": []}
    layout = Layout.read(json.dumps(values))
    with pytest.raises(ByheartError, match="memory"):
        list(layout.restored([["a b"]]))


def test_the_end_of_a_document_is_listed_if_it_is_no_context():
    ids = np.array([0, 1, 2, 1, 2])  # one document; with a window of 2, (1, 2) is a context
    back = np.arange(5)
    assert [no_contexts(ids, back, w).tolist() for w in (1, 2, 3)] == [[False], [False], [True]]
    two, begins = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])
    assert no_contexts(two, begins, 2).tolist() == [True, True]


def test_ends_are_found_by_their_last_tokens(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_text("the cat sat on the mat")
    layout = byheart.load(path, documents="whole", window=2).layout
    assert layout.endings == {hashed([" the", " mat"])}


def test_documents_after_a_change():
    layout = changed([["a", " b"], ["c"], ["d", " e"]], "blank")
    ((file, content),) = layout.restored([["a b"], ["d e"]])
    assert content == b"a b\n\nd e\n" and file.sha256 is None
    assert changed([[1, 2]], "None").files == ()
