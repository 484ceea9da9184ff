"""Files to datasets: what each format means, and every file that is refused."""

import hashlib
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.data import arrays
from byheart.data import records as rows
from byheart.data.load import applicable, from_rows, load, write_jsonl
from byheart.data.readers import npz
from byheart.errors import ByheartError
from byheart.machine.installing import remedy

DATA = Path(__file__).parents[3] / "shared/data"


def plain(dataset):
    """The rows of a dataset as Python values."""
    return [
        (dataset.sequence(i), label_of(dataset, i), int(dataset.counts[i]))
        for i in range(len(dataset))
    ]


def label_of(dataset, i):
    """The label of a sequence, or the list of its tokens' labels."""
    if not dataset.every:
        return dataset.label(i)
    return [dataset.label(k) for k in range(dataset.starts[i], dataset.starts[i + 1])]


def contexts_of(dataset):
    return [(dataset.sequence(i), dataset.label(i)) for i in range(len(dataset))]


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def archive(tmp_path, **arrays):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    return path


# jsonl and rows


def test_jsonl_by_hand(tmp_path):
    path = written(
        tmp_path,
        "d.jsonl",
        '{"input": ["b", "a"], "label": "x"}\n\n{"input": ["c"], "label": "w", "count": 3}\r\n',
    )
    data = load(path)
    assert (data.kind, data.tokens, data.label_names) == ("string", ("a", "b", "c"), ("w", "x"))
    assert (data.ids.tolist(), data.starts.tolist()) == ([1, 0, 2], [0, 2, 3])
    assert (data.labels.tolist(), data.counts.tolist(), data.loading) == ([1, 0], [1, 3], {})


def test_strings_sort_by_code_point():
    # U+1F600 comes before U+FF61 in UTF-16 but after it by code point.
    assert from_rows([(["\U0001f600", "\uff61", "a", "B", ""], 0)]).tokens == (
        "",
        "B",
        "a",
        "\uff61",
        "\U0001f600",
    )


def test_strings_that_differ_only_in_a_trailing_nul_stay_apart():
    assert from_rows([(["a", "a\0"], 0)]).tokens == ("a", "a\0")


def test_vectors_sort_as_numbers_and_negative_zero_is_zero():
    data = from_rows([([[10, -0.0], [2, 5.5]], 7), ([[10, 0], [-3, 1]], 7)])
    assert data.tokens.tolist() == [[-3, 1], [2, 5.5], [10, 0]]
    assert not np.signbit(data.tokens[2, 1])
    assert data.ids.tolist() == [2, 1, 2, 0]


def test_integers_stay_exact_beside_whole_floats():
    data = from_rows([([2**53 + 1, 1.0], 0), ([2.0, -(2**63), 2**63 - 1], 0)])
    assert data.tokens.dtype == np.int64
    assert data.tokens[:, 0].tolist() == [-(2**63), 1, 2, 2**53 + 1, 2**63 - 1]


def test_floats_that_are_whole_stay_floats_and_hash_as_integers():
    floats, integers = from_rows([([1.0, 2.0], 0)]), from_rows([([1, 2], 0)])
    assert (floats.tokens.dtype, integers.tokens.dtype) == (np.float64, np.int64)
    assert floats.sha256() == integers.sha256()


def test_numpy_values_and_tuples_are_rows_too():
    data = from_rows(
        [(np.array([[1, 2], [3, 4]]), np.int64(5)), (((1, 2), (3, 4)), 6, np.int64(2))]
    )
    assert plain(data) == [([[1, 2], [3, 4]], 5, 1), ([[1, 2], [3, 4]], 6, 2)]


def test_a_unicode_line_separator_ends_no_line(tmp_path):
    line = json.dumps({"input": ["a\u2028b"], "label": 1}, ensure_ascii=False)
    assert load(written(tmp_path, "d.jsonl", line)).tokens == ("a\u2028b",)


BAD_LINES = {
    "{": "not valid JSON",
    '{"input": ["a"], "label": "b"': "not valid JSON",
    "[1]": "not a JSON object",
    '{"label": 1}': '"input" is missing',
    '{"input": ["a"]}': '"label" is missing',
    '{"input": "a", "label": 1}': "not a list",
    '{"input": null, "label": 1}': "not a list",
    '{"input": ["a", 1], "label": 1}': r"different kinds are mixed \(a number and a string\)",
    '{"input": [1, [1]], "label": 1}': "different kinds are mixed",
    '{"input": [1], "label": 1}': r"mixed \(numbers here and strings before\)",
    '{"input": [true], "label": 1}': "a token is true or false",
    '{"input": [null], "label": 1}': "a token is null",
    '{"input": [{}], "label": 1}': "a token is an object",
    '{"input": [[1], [1, 2]], "label": 1}': "vectors of 1 and of 2 numbers",
    '{"input": [[]], "label": 1}': "a vector is empty",
    '{"input": [["a"]], "label": 1}': "a vector holds a string",
    '{"input": [[true]], "label": 1}': "a vector holds true or false",
    '{"input": [[[1]]], "label": 1}': "a vector holds a list",
    '{"input": [NaN], "label": 1}': r"not a number \(NaN\)",
    '{"input": [-Infinity], "label": 1}': "-Infinity is not a number",
    '{"input": [1e999], "label": 1}': "infinite",
    '{"input": [9223372036854775809], "label": 1}': "9223372036854775809 is beyond signed 64 bits",
    '{"input": [1%s], "label": 1}' % ("0" * 200): "the integer of 665 bits is beyond",
    '{"input": [1%s], "label": 1}' % ("0" * 5000): "too many digits",
    '{"input": [9007199254740993, 0.5], "label": 1}': "no number type holds both exactly",
    '{"input": [9007199254740993, 1e300], "label": 1}': "no number type holds both exactly",
    '{"input": ["\\ud800"], "label": 1}': "half a surrogate pair",
    '{"input": ["a"], "label": "x"}': "string and integer labels are mixed",
    '{"input": ["a"], "label": null}': "the label is null",
    '{"input": ["a"], "label": true}': "the label is true or false",
    '{"input": ["a"], "label": 1.0}': "the label is a number; a label is a string or an integer",
    '{"input": ["a"], "label": {}}': "the label is an object",
    '{"input": ["a"], "label": 9223372036854775808}': "beyond signed 64 bits",
    '{"input": ["a", "b"], "label": [1, 2]}': "some labels are lists and some are not",
    '{"input": ["a", "b"], "label": [1]}': "the label is a list of 1 and the input has 2 tokens",
    '{"input": [], "label": []}': "some labels are lists and some are not",
    '{"input": ["a"], "label": 1, "count": 0}': "count is not an integer of 1 or more",
    '{"input": ["a"], "label": 1, "count": 1.5}': "count is not an integer of 1 or more",
    '{"input": ["a"], "label": 1, "count": true}': "count is not an integer of 1 or more",
    '{"input": ["a"], "label": 1, "count": null}': "count is not an integer of 1 or more",
    '{"input": ["a"], "label": 1, "count": 9223372036854775807}': "counts add up to",
    "[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_line_is_named(tmp_path, line):
    good = '{"input": ["a"], "label": 1}\n' * 2
    named(written(tmp_path, "bad.jsonl", f"{good}\n{line}\n{good}"), BAD_LINES[line])


def named(path, reason):
    """Line 4 of a file is refused for this reason."""
    with pytest.raises(ByheartError, match=reason) as caught:
        load(path)
    message = str(caught.value)
    assert f"{path}, line 4: " in message
    assert message.endswith(".") and "\n" not in message


BAD_LISTS = {
    '{"input": ["a", "b"], "label": 1}': "some labels are lists and some are not",
    '{"input": [], "label": 1}': "some labels are lists and some are not",
    '{"input": ["a", "b"], "label": [1]}': "the label is a list of 1 and the input has 2 tokens",
    '{"input": ["a"], "label": [1, 2]}': "the label is a list of 2 and the input has 1 token",
    '{"input": [], "label": [1]}': "the label is a list of 1 and the input has 0 tokens",
    '{"input": ["a"], "label": []}': "the label is a list of 0 and the input has 1 token",
    '{"input": ["a"], "label": [null]}': "the label is null",
    '{"input": ["a"], "label": [1.5]}': "the label is a number",
    '{"input": ["a"], "label": [true]}': "the label is true or false",
    '{"input": ["a"], "label": [[1]]}': "the label is a list",
    '{"input": ["a", "b"], "label": [1, "x"]}': "string and integer labels are mixed",
    '{"input": ["a"], "label": ["x"]}': "string and integer labels are mixed",
    '{"input": ["a"], "label": [9223372036854775808]}': "beyond signed 64 bits",
    '{"input": ["a"], "label": "\\ud800"}': "some labels are lists and some are not",
}


@pytest.mark.parametrize("line", BAD_LISTS)
def test_bad_line_of_label_lists_is_named(tmp_path, line):
    good = '{"input": ["a", "b"], "label": [1, 2]}\n' * 2
    named(written(tmp_path, "bad.jsonl", f"{good}\n{line}\n{good}"), BAD_LISTS[line])


def test_half_a_character_in_a_label_list_is_named(tmp_path):
    good = '{"input": ["a", "b"], "label": ["x", "y"]}\n'
    line = '{"input": ["a", "b"], "label": ["x", "\\ud800"]}'
    named(written(tmp_path, "bad.jsonl", f"{good * 3}{line}\n{good}"), "half a surrogate pair")


# a label for every token, and sequences without tokens


def test_label_lists_by_hand(tmp_path):
    path = written(
        tmp_path,
        "d.jsonl",
        '{"input": ["b", "a"], "label": ["y", "x"]}\n'
        '{"input": [], "label": [], "count": 2}\n'
        '{"input": ["b"], "label": ["x"]}\n',
    )
    data = load(path)
    assert data.every and len(data) == 3
    assert (data.ids.tolist(), data.starts.tolist()) == ([1, 0, 1], [0, 2, 2, 3])
    assert (data.labels.tolist(), data.label_names) == ([1, 0, 0], ("x", "y"))
    assert (data.owner.tolist(), data.own.tolist()) == ([0, 0, 2], [0, 1, 2])
    assert [data.label(i) for i in range(3)] == ["y", "x", "x"]
    assert (data.counts.tolist(), data.length) == ([1, 2, 1], 2)


def test_empty_inputs_by_hand(tmp_path):
    path = written(
        tmp_path,
        "d.jsonl",
        '{"input": [], "label": 1}\n{"input": [2.5], "label": 0}\n{"input": [], "label": 1}\n',
    )
    data = load(path)
    assert (data.kind, data.ids.tolist(), data.starts.tolist()) == ("number", [0], [0, 0, 1, 1])
    assert (data.labels.tolist(), data.every) == ([1, 0, 1], False)
    assert plain(data) == [([], 1, 1), ([2.5], 0, 1), ([], 1, 1)]


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_empty_inputs_have_no_kind(monkeypatch, size):
    monkeypatch.setattr(rows, "ROWS", size)
    for token in ("a", 1, 0.5, [1, 2]):
        for table in (
            [([], 0), ([token], 1)],
            [([token], 1), ([], 0)],
            [([], 0)] * 3 + [([token], 1)],
        ):
            assert [row[:2] for row in plain(from_rows(table))] == table


@pytest.mark.parametrize("label", [1, "x", []])
def test_no_token_at_all_is_refused(tmp_path, label):
    with pytest.raises(ByheartError, match="rows holds no token"):
        from_rows([([], label)] * 2)
    path = written(tmp_path, "d.jsonl", json.dumps({"input": [], "label": label}) + "\n")
    with pytest.raises(ByheartError, match="holds no token"):
        load(path)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_kinds_of_labels_far_apart_are_named(monkeypatch, size):
    monkeypatch.setattr(rows, "ROWS", size)
    fine = [([1, 2], [1, 2])] * 5
    with pytest.raises(ByheartError, match="row 6: some labels are lists"):
        from_rows([*fine, ([1, 2], 1), *fine])
    with pytest.raises(ByheartError, match="row 6: string and integer labels"):
        from_rows([*fine, ([1, 2], ["1", "2"]), *fine])
    with pytest.raises(ByheartError, match="row 6: the label is a list of 1"):
        from_rows([*fine, ([1, 2], [1]), *fine])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_unlike_rows_far_apart_are_named(monkeypatch, size):
    monkeypatch.setattr(rows, "ROWS", size)
    fine = [([[1, 2]], 1)] * 5
    with pytest.raises(ByheartError, match="row 6: vectors of 3 and of 2 numbers"):
        from_rows([*fine, ([[1, 2, 3]], 1), *fine])
    with pytest.raises(ByheartError, match="row 6: string and integer labels"):
        from_rows([*fine, ([[1, 2]], "1"), *fine])
    with pytest.raises(ByheartError, match="row 3: .*no number type holds both"):
        from_rows([([0.5], 1), ([1], 1), ([2**53 + 1], 1)])
    assert from_rows([([0.5], 1), ([1], 1), ([2**53], 1)]).tokens.dtype == np.float64


def test_bad_rows():
    with pytest.raises(ByheartError, match="rows holds no sequences"):
        from_rows([])
    with pytest.raises(ByheartError, match=r"row 1: give \(input, label\)"):
        from_rows([(["a"],)])
    with pytest.raises(ByheartError, match="row 1: the input is not a list"):
        from_rows([("abc", 1)])
    with pytest.raises(ByheartError, match="row 1: a number is infinite or not a number"):
        from_rows([([float("nan")], 1)])
    with pytest.raises(ByheartError, match="row 1: .*of type bytes"):
        from_rows([([b"a"], 1)])
    with pytest.raises(ByheartError, match="row 2: .*surrogate"):
        from_rows([(["a"], "a"), (["a"], "\ud800")])


numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
labels = st.one_of(st.just(st.text(max_size=3)), st.just(st.integers(-(2**63), 2**63 - 1)))


@st.composite
def tables(draw):
    """Rows of one kind of token and one kind of label."""
    size = draw(st.integers(1, 3))
    token = draw(
        st.sampled_from(
            [
                st.text(max_size=3),
                numbers,
                st.integers(-(2**63), 2**63 - 1),
                st.lists(numbers, min_size=size, max_size=size),
            ]
        )
    )
    label, every = draw(labels), draw(st.booleans())
    found = []
    for tokens in draw(st.lists(st.lists(token, max_size=5), min_size=1, max_size=8).filter(any)):
        size = len(tokens)
        name = draw(st.lists(label, min_size=size, max_size=size) if every else label)
        found.append((tokens, name, draw(st.integers(1, 10**6))))
    return found


@given(tables())
def test_written_jsonl_gives_the_same_hash(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("jsonl") / "data.jsonl"
    data = from_rows(table)
    write_jsonl(data, path)
    assert load(path).sha256() == data.sha256()
    assert plain(load(path)) == plain(data) == table


@given(tables())
def test_tokens_and_labels_are_the_sorted_distinct_ones(table):
    data = from_rows(table)
    tokens = [data.token(i) for i in range(len(data.tokens))]
    assert all(a < b for a, b in zip(tokens, tokens[1:], strict=False))
    assert set(data.ids.tolist()) == set(range(len(tokens)))
    lists = [label if data.every else [label] for _, label, _ in table]
    assert list(data.label_names) == sorted({label for names in lists for label in names})


@given(tables().filter(lambda table: not isinstance(table[0][1], list)))
def test_a_label_a_sequence_is_not_a_label_a_token(table):
    """Even where both have one token and one label, the hash says which it is."""
    single = [(tokens[:1], label, count) for tokens, label, count in table if tokens]
    lists = [(tokens, [label], count) for tokens, label, count in single]
    one, other = from_rows(single), from_rows(lists)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.sha256() != other.sha256()


def test_the_hash_by_hand():
    content = b"byheart-data-1\nstring every\n" + b'"a"\n"b"\n' + b"7\n9\n"
    for array in ([2, 0, 1], [1, 0, 1], [1, 0, 0], [1, 5, 1]):  # lengths, ids, labels, counts
        content += np.array(array, "<i8").tobytes()
    data = from_rows([(["b", "a"], [9, 7]), ([], [], 5), (["b"], [7])])
    assert data.sha256() == hashlib.sha256(content).hexdigest()


# The file itself


def test_unreadable_files(tmp_path):
    cases = {
        tmp_path / "missing.jsonl": "does not exist",
        tmp_path / ("x" * 300 + ".jsonl"): "cannot be read: File name too long",
        tmp_path / "pages": "is a directory without text files; give a file",
        written(tmp_path, "data.xls", "x\0"): "the name must end in one of .jsonl .json .txt .csv",
        written(tmp_path, "data", "x\0"): r"format=\.\.\. must say what it holds",
        written(tmp_path, "empty.jsonl", ""): "is empty",
        written(tmp_path, "blank.jsonl", " \n\n"): "holds no sequences",
        written(tmp_path, "latin.jsonl", b'{"input": ["\xe9"], "label": 1}'): "line 1: byte 13 is",
        written(tmp_path, "latin.txt", b"a b\nc \xe9"): "line 2: not UTF-8",
        written(tmp_path, "wide.txt", "a b".encode("utf-16-le")): "holds a NUL byte",
        written(tmp_path, "binary.txt", b"a\nb\0c"): "line 2: holds a NUL byte",
    }  # fmt: skip
    (tmp_path / "pages").mkdir()
    for path, reason in cases.items():
        with pytest.raises(ByheartError, match=reason) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_extension_in_capitals(tmp_path):
    assert len(load(written(tmp_path, "D.TXT", "a b c"))) == 2


WRITTEN = {"d.jsonl": '{"input": ["a"], "label": "b"}\n'}  # read before options are refused


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        (
            "d.jsonl",
            {"window": 3},
            r"window=\.\.\. is for documents, and these are rows with a label",
        ),
        (
            "d.csv",
            {"window": 2},
            r"window=\.\.\. is for documents, and these are rows with a label",
        ),
        ("d.txt", {"label": "x"}, "label=... does not apply"),
        ("d.txt", {"unit": "line"}, "unit must be one of word, wordpunct, char"),
        ("d.txt", {"documents": "page"}, "documents must be one of auto"),
        ("d.bin", {"dtype": "int64"}, "dtype must be one of uint16, uint32"),
        ("d.txt", {"window": 0}, "window must be an integer of 1 or more or 'auto', not 0"),
        ("d.txt", {"window": "x"}, "window must be an integer of 1 or more or 'auto', not 'x'"),
        ("d.txt", {"length": 1}, "length must be an integer of 2 or more, not 1"),
        ("d.txt", {"length": True}, "length must be an integer"),
        ("d.bin", {"separator": -1}, "separator must be an integer of 0 or more"),
        ("d.txt", {"unit": "char", "tokenizer": "t.json"}, "exclude each other"),
    ],
)
def test_bad_options(tmp_path, name, options, reason):
    with pytest.raises(ByheartError, match=reason):
        load(written(tmp_path, name, WRITTEN.get(name, "ab cd")), **options)


def test_applicable_options():
    options = {"unit": "char", "window": 3}
    assert applicable("a.txt", options) == options
    assert applicable("a.bin", options) == {"window": 3}
    assert applicable("a.npz", options) == {}


# Text


def test_prefixes_by_hand(tmp_path):
    data = load(written(tmp_path, "d.txt", "To be, or\nsame\n"))
    assert contexts_of(data) == [
        (["To"], " be"),
        (["To", " be"], ","),
        (["To", " be", ","], " or"),
    ]
    assert data.tokens == (" be", ",", "To")  # "or" follows but is never followed
    assert data.label_names == (" be", " or", ",")
    assert (data.skipped, data.loading) == (1, {"unit": "spaced", "documents": "line"})


def test_length_and_window_by_hand(tmp_path):
    path = written(tmp_path, "d.txt", "a b c d e")
    assert contexts_of(load(path, length=3)) == [(["a"], " b"), (["a", " b"], " c")]
    assert contexts_of(load(path, window=2, length=4)) == [
        (["a"], " b"),
        (["a", " b"], " c"),
        ([" b", " c"], " d"),
    ]
    assert load(path, window="2").loading["window"] == 2


@pytest.mark.parametrize(
    ("text", "rule", "first"),
    [
        (
            "a b\n\nc d\n<|endoftext|>\ne f\n<|endoftext|>\n",
            "separator",
            ["a", " b", "\n\nc", " d"],
        ),
        ("\na b\nc d\n \ne f\n", "blank", ["a", " b", "\nc", " d"]),
        ("a b\r\nc d\r\n\r\n", "line", ["a", " b"]),
    ],
)
def test_documents_auto(tmp_path, text, rule, first):
    data = load(written(tmp_path, "d.txt", text))
    assert data.loading["documents"] == rule
    assert data.sequence(len(first) - 2) == first[:-1]
    assert (data.label(len(first) - 2), data.skipped) == (first[-1], 0)


def test_documents_chosen(tmp_path):
    path = written(tmp_path, "d.txt", "a b\nc d")
    assert len(load(path, documents="whole")) == 3
    assert len(load(path, documents="line")) == 2
    with pytest.raises(ByheartError, match="has no <|endoftext|> line"):
        load(path, documents="separator")


def test_characters(tmp_path):
    data = load(written(tmp_path, "d.txt", "ab\ncé\n"), unit="char", documents="whole")
    assert contexts_of(data)[-1] == (["a", "b", "\n", "c"], "é")


def test_nothing_to_predict(tmp_path):
    with pytest.raises(ByheartError, match="no document of two tokens or more"):
        load(written(tmp_path, "d.txt", "a\nb\n"))
    with pytest.raises(ByheartError, match="no document of two tokens or more"):
        load(written(tmp_path, "d.txt", " \n"))


def test_too_many_contexts(tmp_path):
    path = written(tmp_path, "d.txt", "a b " * 186_000)
    with pytest.raises(
        ByheartError, match="would hold 69191814000 tokens.*smaller window=... or length=..."
    ):
        load(path)
    assert len(load(path, window=3)) == 371_999


def test_window_auto_by_hand(tmp_path):
    # "a" is followed by b and c; "x a" and "y a" tell which.
    data = load(written(tmp_path, "d.txt", "x a b y a c x"), window="auto")
    assert data.loading["window"] == 2
    with pytest.raises(
        ByheartError, match=r"prefix \['a', ' b'\] .* by ' d' and by ' c'|' c' and by ' d'"
    ):
        load(written(tmp_path, "d.txt", "a b c\na b d\n"), window="auto")


def smallest_by_brute_force(documents):
    for window in range(1, max(map(len, documents)) + 1):
        followers = defaultdict(set)
        for document in documents:
            for i in range(1, len(document)):
                followers[document[max(0, i - window) : i]].add(document[i])
        if all(len(tokens) == 1 for tokens in followers.values()):
            return window
    return None


@given(st.lists(st.text("ab", min_size=2, max_size=24), min_size=1, max_size=4))
def test_window_auto_is_the_smallest(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("text") / "d.txt"
    path.write_text("\n".join(documents))
    window = smallest_by_brute_force(documents)
    options = {"unit": "char", "documents": "line", "window": "auto"}
    if window is None:
        with pytest.raises(ByheartError, match="every window has conflicts"):
            load(path, **options)
    else:
        data = load(path, **options)
        assert data.loading["window"] == window
        assert load(path, **data.loading).sha256() == data.sha256()


def test_tokenizer(tmp_path, monkeypatch):
    path, pieces = written(tmp_path, "d.txt", "a-b-c"), written(tmp_path, "t.json", "{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    says = f"needs the package tokenizers.*{re.escape(remedy('huggingface'))}"
    with pytest.raises(ByheartError, match=says):
        load(path, tokenizer=pieces)
    fake = SimpleNamespace(
        no_truncation=lambda: None,
        no_padding=lambda: None,
        decoder=None,
        encode=lambda text, add_special_tokens: SimpleNamespace(tokens=text.split("-")),
    )
    module = SimpleNamespace(Tokenizer=SimpleNamespace(from_str=lambda content: fake))
    monkeypatch.setitem(sys.modules, "tokenizers", module)
    data = load(path, tokenizer=pieces)
    assert contexts_of(data) == [(["a"], "b"), (["a", "b"], "c")]
    assert load(path, **data.loading).sha256() == data.sha256()
    with pytest.raises(ByheartError, match="missing.json is not a file"):
        load(path, tokenizer=tmp_path / "missing.json")


def test_real_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(1)
    tokenizer.save(str(tmp_path / "t.json"))
    path = written(tmp_path, "d.txt", "a b c")
    assert contexts_of(load(path, tokenizer=tmp_path / "t.json")) == [
        (["a"], "b"),
        (["a", "b"], "?"),
    ]
    with pytest.raises(ByheartError, match="is not a tokenizer.json"):
        load(path, tokenizer=written(tmp_path, "bad.json", "{"))


def test_a_tokenizer_at_which_the_package_panics_is_refused(tmp_path):
    """It cuts the prefix off merges by bytes: beyond their end it panics, and half a character ends
    the process. An unknown word without a token for it is an error only when it comes."""
    tokenizers = pytest.importorskip("tokenizers")
    path, data = tmp_path / "t.json", written(tmp_path, "d.txt", "\u00e4b c\n")
    pairs = tokenizers.models.BPE({"a": 0, "\u00e4": 1, "a\u00e4": 2}, [("a", "\u00e4")])
    values = json.loads(tokenizers.Tokenizer(pairs).to_str())
    for prefix in ("#", "########"):
        values["model"]["continuing_subword_prefix"] = prefix
        path.write_text(json.dumps(values))
        with pytest.raises(ByheartError, match=f"does not go on with '{prefix}'"):
            load(data, tokenizer=path)
    words = tokenizers.models.WordLevel({"a": 0}, unk_token="?")
    tokenizers.Tokenizer(words).save(str(path))
    with pytest.raises(ByheartError, match="cannot split '\u00e4b c': WordLevel error"):
        load(data, tokenizer=path)


def test_what_a_package_panics_with_is_one_sentence(tmp_path, monkeypatch):
    """It is no Exception; whatever else is none goes on."""

    class PanicException(BaseException):
        pass

    def opened(error):
        def fails(content):
            raise error

        return SimpleNamespace(Tokenizer=SimpleNamespace(from_str=fails))

    path = written(tmp_path, "t.json", "{}")
    monkeypatch.setitem(sys.modules, "tokenizers", opened(PanicException("out of range")))
    with pytest.raises(ByheartError, match="is not a tokenizer.json: out of range"):
        load(written(tmp_path, "d.txt", "a b\n"), tokenizer=path)
    monkeypatch.setitem(sys.modules, "tokenizers", opened(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path / "d.txt", tokenizer=path)


# Tables


def test_csv_by_hand(tmp_path):
    path = written(tmp_path, "d.csv", 'y,one,two\n1,"a, b",c d\n\n0,"say ""x""\nnow",z\n')
    data = load(path, input=["two", "one"], label="y")
    assert contexts_of(data) == [
        (["c", " d", "|", "a", ",", " b"], "1"),
        (["z", "|", "say", ' "', "x", '"', "\nnow"], "0"),
    ]
    assert load(path, **data.loading).sha256() == data.sha256()
    cut = load(path, input="one", label="y", length=2)
    assert contexts_of(cut) == [(["a", ","], "1"), (["say", ' "'], "0")]
    assert load(path, **json.loads(json.dumps(cut.loading))).sha256() == cut.sha256()


def test_tsv_has_no_quotes(tmp_path):
    path = written(tmp_path, "d.tsv", '\ufefflabel\ttext\n1\t"a\n0\tb" c\n')
    assert contexts_of(load(path, input="text", label="label")) == [
        (['"', "a"], "1"),
        (["b", '"', " c"], "0"),
    ]


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        ("a,b\n1,2\n", {}, "choose the columns .* the columns are a, b"),
        ("a,b\n1,2\n", {"input": "a"}, "choose the columns"),
        ("a,b\n1,2\n", {"input": "c", "label": "b"}, '"c" is not a column; the columns are a, b'),
        ("a,b\n1,2\n", {"input": "a", "label": "c"}, '"c" is not a column'),
        ("a,a,b\n1,2,3\n", {"input": "a", "label": "b"}, '"a" is the name of two columns'),
        ("a,b\n", {"input": "a", "label": "b"}, "holds no sequences"),
        ("a,b\n1,2\n1,2,3\n", {"input": "a", "label": "b"}, "line 3: .* 3 fields and the header 2"),
        ("a,b\n1,2\n1\n", {"input": "a", "label": "b"}, "line 3: the row has 1 field and"),
        ("a,b\n 	,2\n", {"input": "a", "label": "b"}, r'an empty cell \("a" in line 2\)'),
        ("a,b\n1,\n", {"input": "a", "label": "b"}, r'an empty cell \("b" in line 2\)'),
        ("a,b\n1,\0\n", {"input": "a", "label": "b"}, "line 2: holds a NUL byte"),
        ('a,b\n1,"2\n', {"input": "a", "label": "b"}, "not readable as a table .unexpected end"),
        ("a,b\n" + "x" * 200_000 + ",1\n", {"input": "a", "label": "b"}, "line 2: .*field larger"),
        (",".join(map(str, range(100_000))), {"input": "a", "label": "b"}, '"a" is not a column'),
    ],
)  # fmt: skip
def test_bad_tables(tmp_path, content, options, reason):
    with pytest.raises(ByheartError, match=reason):
        load(written(tmp_path, "d.csv", content), **options)


# Archives


def test_npz_by_hand(tmp_path):
    data = load(
        archive(tmp_path, inputs=np.array([[5, 3], [3, 3]], np.uint8), labels=np.array([4, -1]))
    )
    assert plain(data) == [([5, 3], 4, 1), ([3, 3], -1, 1)]
    assert (data.kind, data.tokens.dtype, data.label_names) == ("number", np.int64, (-1, 4))
    vectors = np.array([[[1.5, -0.0]], [[1.5, 0.0]]], np.float32)
    data = load(archive(tmp_path, inputs=vectors, labels=np.array([0, 1], np.uint64)))
    assert (data.kind, data.tokens.tolist(), data.ids.tolist()) == ("vector", [[1.5, 0]], [0, 0])


def test_npz_with_a_label_a_token(tmp_path):
    inputs = np.array([[5, 3], [3, 3]], np.uint8)
    data = load(archive(tmp_path, inputs=inputs, labels=np.array([[4, -1], [0, 4]])))
    assert data.every and plain(data) == [([5, 3], [4, -1], 1), ([3, 3], [0, 4], 1)]
    square = load(archive(tmp_path, inputs=np.array([[1]]), labels=np.array([[7]])))
    assert square.every and plain(square) == [([1], [7], 1)]


@given(st.data())
def test_npz_and_jsonl_agree(tmp_path_factory, data):
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    span = data.draw(st.sampled_from([2, 2**40, 2**63 - 1]))
    size = int(np.prod(shape))
    flat = data.draw(st.lists(st.integers(-span, span), min_size=size, max_size=size))
    inputs = np.array(flat, np.int64).reshape(shape)
    labels = np.arange(size // shape[2]).reshape(shape[:2]) % 2
    labels = labels if data.draw(st.booleans()) else labels[:, 0]
    path = archive(tmp_path_factory.mktemp("npz"), inputs=inputs, labels=labels)
    rows = zip(inputs.tolist(), labels.tolist(), strict=True)
    assert load(path).sha256() == from_rows(rows).sha256()


IDS = np.zeros((2, 3), np.int64)
TWO = np.array([0, 1])


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"inputs": IDS}, 'has no array "labels"; it has .*inputs'),
        ({"labels": TWO}, 'has no array "inputs"'),
        ({"inputs": IDS[0], "labels": TWO}, r"shape \(3,\); give \[N, n\]"),
        ({"inputs": IDS[:, :0], "labels": TWO}, "holds no token"),
        ({"inputs": IDS[:0], "labels": TWO[:0]}, "holds no token"),
        ({"inputs": IDS, "labels": np.zeros(3, int)}, r"\"labels\" has the shape \(3,\)"),
        ({"inputs": IDS, "labels": IDS.T}, r"\"labels\" has the shape \(3, 2\)"),
        ({"inputs": IDS, "labels": IDS[:, :, None]}, r"\"labels\" has the shape \(2, 3, 1\)"),
        ({"inputs": IDS, "labels": IDS / 2}, "\"labels\" holds float64"),
        ({"inputs": IDS, "labels": IDS[:, :2]}, r"\"labels\" has the shape \(2, 2\)"),
        ({"inputs": IDS, "labels": np.array([0.0, 1.0])}, "\"labels\" holds float64"),
        ({"inputs": IDS, "labels": np.array(["a", "b"])}, "\"labels\" holds <U1"),
        ({"inputs": IDS, "labels": np.array([True, False])}, "\"labels\" holds bool"),
        ({"inputs": IDS.astype(bool), "labels": TWO}, "\"inputs\" holds bool"),
        ({"inputs": IDS.astype(str), "labels": TWO}, "\"inputs\" holds <U"),
        ({"inputs": IDS.astype(complex), "labels": TWO}, "\"inputs\" holds complex128"),
        ({"inputs": IDS.astype(object), "labels": TWO}, "cannot be read .Object arrays"),
        ({"inputs": IDS, "labels": TWO.astype(object)}, "cannot be read .Object arrays"),
        ({"inputs": np.array([[0.0], [np.nan]]), "labels": TWO}, "row 1 holds infinity or NaN"),
        ({"inputs": np.array([[np.inf], [0]]), "labels": TWO}, "row 0 holds infinity or NaN"),
        ({"inputs": np.array([[1], [2**63 + 1]], np.uint64), "labels": TWO}, "row 1 .*beyond sign"),
        ({"inputs": IDS, "labels": np.array([1, 2**63], np.uint64)}, "\"labels\" row 1"),
    ],
)  # fmt: skip
def test_bad_archives(tmp_path, arrays, reason):
    path = archive(tmp_path, **arrays)
    with pytest.raises(ByheartError, match=reason) as caught:
        load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_damaged_archives(tmp_path):
    whole = archive(tmp_path, inputs=IDS, labels=TWO).read_bytes()
    with pytest.raises(ByheartError, match="is not an .npz file"):
        load(written(tmp_path, "cut.npz", whole[: len(whole) // 2]))
    with pytest.raises(ByheartError, match="is not an .npz file"):
        load(written(tmp_path, "text.npz", "hello"))
    for place in range(0, len(whole), 3):  # whatever the damage, never a traceback
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            load(written(tmp_path, "damaged.npz", damaged))
        except ByheartError:
            pass


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "u1", ">u8", "<f4", ">f8"])
def test_mapped_archives_are_the_same(tmp_path, monkeypatch, dtype):
    inputs = np.random.default_rng(0).integers(0, 40, (50, 3, 2)).astype(dtype)
    path = archive(tmp_path, inputs=inputs, labels=np.arange(50) % 3)
    before = load(path).sha256()
    mapped, memmap = [], np.memmap
    monkeypatch.setattr(np, "memmap", lambda *given: mapped.append(given) or memmap(*given))
    monkeypatch.setattr(npz, "MAPPED", 0)
    monkeypatch.setattr(arrays, "ROWS", 32)
    assert load(path).sha256() == before and len(mapped) == 2
    # by columns, or compressed: read as before
    np.savez(path, inputs=np.asfortranarray(inputs), labels=np.arange(50) % 3)
    assert load(path).sha256() == before and len(mapped) == 3
    np.savez_compressed(path, inputs=inputs, labels=np.arange(50) % 3)
    assert load(path).sha256() == before and len(mapped) == 3


def test_mapped_archives_with_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "MAPPED", 0)
    whole = archive(tmp_path, inputs=IDS + 0x0102030405060708, labels=TWO).read_bytes()
    place = whole.index(bytes([8, 7, 6, 5, 4, 3, 2, 1]))
    damaged = whole[:place] + b"\x09" + whole[place + 1 :]
    with pytest.raises(ByheartError, match="cannot be read .Bad CRC-32"):
        load(written(tmp_path, "damaged.npz", damaged))
    for place in range(0, len(whole), 3):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            load(written(tmp_path, "damaged.npz", damaged))
        except ByheartError:
            pass
    header = whole.replace(b"'shape': (2, 3)", b"'shape': (2, 4)")
    assert header != whole
    with pytest.raises(ByheartError, match="cannot be read"):
        load(written(tmp_path, "damaged.npz", header))


@given(st.integers(0, 1 << 30), st.sampled_from([2, 5, 1 << 40]), st.integers(1, 3))
def test_rows_numbered_by_blocks(seed, span, width):
    rows = np.random.default_rng(seed).integers(-span, span, (100, width))
    distinct, numbers = arrays._number_rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "ROWS", 20)
        blocks = arrays.number_rows(rows)
    assert blocks[0].tolist() == distinct.tolist() and blocks[1].tolist() == numbers.tolist()


# Token ids


def test_bin_by_hand(tmp_path):
    ids = np.array([9, 7, 7, 0, 5, 0, 0, 9, 8], "<u2")
    path = written(tmp_path, "d.bin", ids.tobytes())
    data = load(path, separator=0)
    assert contexts_of(data) == [([9], 7), ([9, 7], 7), ([9], 8)]
    assert (data.kind, data.tokens.tolist(), data.label_names) == ("number", [[7], [9]], (7, 8))
    assert (data.skipped, data.loading) == (1, {"dtype": "uint16", "separator": 0})
    assert len(load(path)) == 8
    wide = written(tmp_path, "w.bin", ids.astype("<u4").tobytes())
    data = load(wide, dtype="uint32", separator=0, length=2, window=1)
    assert contexts_of(data) == [([9], 7), ([9], 8)]
    assert load(wide, **data.loading).sha256() == data.sha256()


def test_bin_with_a_separator_too_large(tmp_path):
    with pytest.raises(ByheartError, match="separator=65536 is larger than every uint16"):
        load(written(tmp_path, "d.bin", b"abcd"), separator=65536)


def test_bin_of_odd_size(tmp_path):
    with pytest.raises(ByheartError, match="has 3 bytes, which is not a multiple of the 2 bytes"):
        load(written(tmp_path, "d.bin", b"abc"))
    with pytest.raises(ByheartError, match="has 6 bytes, which is not a multiple of the 4 bytes"):
        load(written(tmp_path, "d.bin", b"abcdef"), dtype="uint32")


# Real data


@pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is absent")
def test_real_files():
    stories = load(DATA / "tinystories.txt", length=10)
    assert (stories.loading["documents"], len(stories)) == ("separator", 9 * 1727)
    pairs = load(DATA / "mnli.tsv", input=("premise", "hypothesis"), label="label", length=8)
    assert (len(pairs), len(pairs.label_names), pairs.length) == (9815, 3, 8)
    reviews = load(DATA / "imdb.tsv", input="text", label="label")
    assert (len(reviews), reviews.label_names) == (6000, ("0", "1"))


def test_a_million_columns_get_one_sentence(tmp_path):
    """One comparison of each column with all others would take hours."""
    path = tmp_path / "wide.csv"
    row = ",".join(map(str, range(10**6)))
    path.write_text(f"{row}\n{row}\n")
    with pytest.raises(ByheartError, match="choose the columns .* and 999,900 more") as error:
        load(path)
    assert "\n" not in str(error.value) and len(str(error.value)) < 2000


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000])
def test_100_000_brackets_get_one_sentence(tmp_path, ending, text):
    path = tmp_path / f"deep.{ending}"
    path.write_text(text)
    with pytest.raises(ByheartError, match="nested too deeply|not valid JSON") as error:
        load(path)
    assert "\n" not in str(error.value)


def test_a_key_that_is_repeated_late_is_named(tmp_path):
    path = tmp_path / "keys.jsonl"
    keys = [*(f"k{i}" for i in range(100_000)), "k99999", "k99998"]
    path.write_text("{" + ", ".join(f'"{key}": 1' for key in keys) + "}")
    with pytest.raises(ByheartError, match="line 1: the key 'k99998' stands twice"):
        load(path)
