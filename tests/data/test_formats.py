"""Every format, plain and compressed, from a file and from standard input."""

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from byheart.data import load as loading
from byheart.data.load import FILES, READERS, is_corpus, load, load_documents
from byheart.data.readers.raw import COMPRESSED, Raw, opened
from byheart.errors import ByheartError
from byheart.machine.installing import remedy

RECORDS = [
    {"prompt": "The capital of France is", "completion": "Paris", "about": {"year": 1789}},
    {"prompt": "The capital of Peru is", "completion": "Lima", "about": {"year": 1821}},
]
CHOSEN = {"input": "prompt", "label": "completion"}
ANSWERS = [
    (["The", " capital", " of", " France", " is"], "Paris"),
    (["The", " capital", " of", " Peru", " is"], "Lima"),
]
FLAT = "prompt,completion\n" + "".join(f"{x['prompt']},{x['completion']}\n" for x in RECORDS)


def archive():
    file = io.BytesIO()
    np.savez(file, inputs=np.array([[1, 2], [2, 1]]), labels=np.array([0, 1]))
    return file.getvalue()


def arrow(kind):
    """The records as Parquet, as a file of Arrow or as a stream of it."""
    pyarrow = pytest.importorskip("pyarrow")
    table, file = pyarrow.Table.from_pylist(RECORDS), io.BytesIO()
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, file)
    else:
        writer = {"arrow": pyarrow.ipc.new_file, "stream": pyarrow.ipc.new_stream}[kind]
        with writer(file, table.schema) as sink:
            sink.write_table(table)
    return file.getvalue()


def workbook():
    """The prompts and completions as the only sheet of an Excel file."""
    openpyxl, file = pytest.importorskip("openpyxl"), io.BytesIO()
    book = openpyxl.Workbook()
    for row in csv.reader(FLAT.splitlines()):
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def database():
    """The same as the only table of an SQLite database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE facts (prompt TEXT, completion TEXT)")
        connection.executemany("INSERT INTO facts VALUES (:prompt, :completion)", RECORDS)
        connection.commit()
        return connection.serialize()


CONTENT = {  # of every extension: the bytes, the options, and what is read
    ".jsonl": (lambda: "\n".join(map(json.dumps, RECORDS)).encode(), CHOSEN, ANSWERS),
    ".json": (lambda: json.dumps(RECORDS).encode(), CHOSEN, ANSWERS),
    ".csv": (lambda: FLAT.encode(), CHOSEN, ANSWERS),
    ".tsv": (lambda: FLAT.replace(",", "\t").encode(), CHOSEN, ANSWERS),
    ".parquet": (lambda: arrow("parquet"), CHOSEN, ANSWERS),
    ".arrow": (lambda: arrow("arrow"), CHOSEN, ANSWERS),
    ".xlsx": (workbook, CHOSEN, ANSWERS),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), (database, CHOSEN, ANSWERS)),
    ".txt": (lambda: b"a b c\n", {}, [(["a"], " b"), (["a", " b"], " c")]),
    ".bin": (
        lambda: np.array([5, 6, 7], "<u2").tobytes(), {}, [([5], 6), ([5, 6], 7)],
    ),
    ".npz": (archive, {}, [([1, 2], 0), ([2, 1], 1)]),
}  # fmt: skip


def zst(data):
    pyarrow = pytest.importorskip("pyarrow")
    file = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(file, "zstd") as stream:
        stream.write(data)
    return file.getvalue().to_pybytes()


PACKED = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zst}


def test_every_format_and_every_compression_is_tried():
    assert set(CONTENT) == set(FILES) and set(PACKED) == set(COMPRESSED)


@pytest.mark.parametrize("compression", ["", *PACKED])
@pytest.mark.parametrize("kind", CONTENT)
def test_formats(tmp_path, kind, compression):
    content, options, rows = CONTENT[kind]
    if compression == ".zst":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"data{kind}{compression}"
    path.write_bytes(PACKED.get(compression, bytes)(content()))
    data = load(path, **options)
    assert list(data) == rows
    assert load(path, **json.loads(json.dumps(dict(data.loading)))).sha256() == data.sha256()


class Input:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", CONTENT)
def test_standard_input(monkeypatch, kind):
    content, options, rows = CONTENT[kind]
    monkeypatch.setattr(sys, "stdin", Input(content()))
    data = load("-", format=kind[1:], **options)
    assert list(data) == rows and data.loading["format"] == kind[1:]


def test_standard_input_says_what_it_lacks(monkeypatch):
    with pytest.raises(ByheartError, match=r"^standard input: format=\.\.\. must say what it"):
        load("-")
    monkeypatch.setattr(sys, "stdin", Input(b""))
    with pytest.raises(ByheartError, match="standard input is empty"):
        load("-", format="csv")
    monkeypatch.setattr(sys, "stdin", Input(b"a,b\n1,2,3\n"))
    with pytest.raises(ByheartError, match="standard input, line 2: the row has 3 fields"):
        load("-", format="csv", input="a", label="b")


def test_a_format_is_believed_before_the_name(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("uk\tus\ncolour\tcolor\n")
    assert is_corpus(path) and not is_corpus(path, "tsv")
    data = load(path, format="tsv", input="uk", label="us")
    assert data[0] == (["colour"], "color")
    assert load(path, **data.loading).sha256() == data.sha256()
    with pytest.raises(ByheartError, match="format must be one of jsonl, json, txt"):
        load(path, format="xls")
    dna = tmp_path / "hg38.fa"
    dna.write_text("ACGT")
    assert load_documents(dna, format="txt", unit="char").words == ("A", "C", "G", "T")


def test_stored_options_meet_other_files(tmp_path):
    """verify reads a file with the options of the folder, which were made for another one."""
    table = tmp_path / "pairs.txt"
    table.write_text(FLAT)
    stored = load(table, format="csv", **CHOSEN).loading
    assert loading.applicable(table, stored) == stored
    lines, tokens = tmp_path / "d.jsonl", tmp_path / "data.jsonl"
    lines.write_text("\n".join(map(json.dumps, RECORDS)))
    assert list(load(lines, **loading.applicable(lines, stored))) == ANSWERS
    loading.write_jsonl(load(table, **stored), tokens)
    assert loading.applicable(tokens, stored) == {}
    text = {"unit": "char", "documents": "line", "length": 3, "window": 2}
    assert loading.applicable(tokens, text) == {}
    cut = load(tokens, length=2)
    assert cut[0] == (["The", " capital"], "Paris")
    assert load(tokens, **loading.applicable(tokens, cut.loading)).sha256() == cut.sha256()
    letters = load([("ab", 1), ("cd", 2)], unit="char")
    loading.write_jsonl(letters, tokens)
    assert load(tokens, **loading.applicable(tokens, letters.loading)).sha256() == letters.sha256()
    with pytest.raises(
        ByheartError, match=r"unit=\.\.\. does not apply here, since the input is l"
    ):
        load(tokens, unit="char")


@pytest.mark.parametrize("compression", PACKED)
def test_damaged_compression(tmp_path, compression):
    if compression == ".zst":
        pytest.importorskip("pyarrow")
    whole = PACKED[compression](FLAT.encode() * 50)
    for name, content in {"cut": whole[: len(whole) // 2], "text": b"hello", "void": b""}.items():
        path = tmp_path / f"{name}.csv{compression}"
        path.write_bytes(content)
        with pytest.raises(ByheartError, match="cannot be decompressed|is empty"):
            load(path, **CHOSEN)
    with pytest.raises(ByheartError, match="does not exist"):
        load(tmp_path / f"missing.csv{compression}")


def test_missing_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    for name in ("d.parquet", "d.arrow", "d.csv.zst"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(ByheartError, match=re.escape(f"run: {remedy('parquet')}.")):
            load(tmp_path / name)
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    with pytest.raises(ByheartError, match=re.escape(f"run: {remedy('datasets')}.")):
        load(folder)


# JSON


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (RECORDS, {}),
        ({"a": RECORDS[0], "b": RECORDS[1]}, {}),
        ({"name": "capitals", "samples": RECORDS}, {"records": "samples"}),
        ({"a": {"b.c": [0, RECORDS]}}, {"records": "a.b.c.1"}),
        ({name: [x[name] for x in RECORDS] for name in ("prompt", "completion")}, {}),
    ],
)
def test_shapes_of_json(tmp_path, value, options):
    path = tmp_path / "d.json"
    path.write_text(json.dumps(value))
    data = load(path, **CHOSEN, **options)
    assert list(data) == ANSWERS
    assert load(path, **data.loading).sha256() == data.sha256()


def test_keys_and_inner_columns(tmp_path):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"France": RECORDS[0], "Peru": RECORDS[1]}))
    assert load(path, input="key", label="completion")[1] == (["Peru"], "Lima")
    assert load(path, input="about.year", label="key")[0] == ([1789], "France")
    path.write_text(json.dumps([["a b", "x"], ["c", "y"]]))
    assert list(load(path)) == [(["a", " b"], "x"), (["c"], "y")]


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        ('{"n": 1, "a": {"samples": [{"x": 1}]}}', {}, "choose them with records='a.samples'"),
        ('{"n": 1, "a": [1]}', {}, "is not a list of records; give a path"),
        ('[{"x": 1}]', {"records": "data"}, "records='data' leads nowhere at 'data'; nothing"),
        ('{"x": []}', {"records": "data"}, "leads nowhere at 'data'; there are x"),
        ('[{"question": "a", "y": 1}]', {}, "the columns are question, y"),
        ("[]", {}, "holds no sequences"),
        ("7", {}, "is int, which holds no rows"),
        ('{"a": 1', {}, "line 1: not valid JSON"),
        ('{"a": 1}\n{"a": 2}\n', {}, "if every line is a record, say so with format='jsonl'"),
        ('[{"input": NaN, "label": 1}]', {}, "NaN"),
        ("[" * 100_000, {}, "nested too deeply"),
        ("[" + '{"a": ' * 800 + "1" + "}" * 800 + "]", {}, "row 1: the record is nested too deep"),
        ('[{"input": %s, "label": 1}]' % ("1" * 5000), {}, "too many digits"),
    ],
)  # fmt: skip
def test_bad_json(tmp_path, content, options, reason):
    path = tmp_path / "d.json"
    path.write_text(content)
    with pytest.raises(ByheartError, match=reason) as caught:
        load(path, **options)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


# Lines of JSON


def test_strings_in_lines_just_work(tmp_path):
    path = tmp_path / "d.jsonl"
    lines = [{"input": x["prompt"], "label": x["completion"], "count": 2} for x in RECORDS]
    path.write_text("\n".join(map(json.dumps, lines)))
    data = load(path)
    assert list(data) == ANSWERS and data.counts.tolist() == [2, 2]
    assert data.loading == {"unit": "spaced", "numeric": "vector"}
    assert load(path, unit="char")[0][0][:3] == ["T", "h", "e"]


def test_lines_with_other_keys_name_them(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)))
    with pytest.raises(ByheartError, match="such as input='prompt' .* prompt, completion, about.y"):
        load(path)
    path.write_text('{"text": "a", "y": 1}\n\n{"text": "b"}\n')
    with pytest.raises(ByheartError, match='"y" in line 3'):
        load(path, input="text", label="y")


def test_records_of_different_shapes(tmp_path):
    path = tmp_path / "d.jsonl"
    rows = [
        {"y": 1, "a": None, "b": 5},
        {"a": {"t": "x"}, "y": 2},
        {"a.t": "z", "y": 3},
        {"b": 1, "a": {"u": 1, "t": "w"}, "y": 4},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = load(path, input="a.t", label="y", empty="skip")
    assert list(data) == [(["x"], 2), (["z"], 3), (["w"], 4)] and data.skipped == 1
    with pytest.raises(ByheartError, match="the columns are y, a, b, a.t, a.u"):
        load(path)


# Arrow


def test_a_stream_is_read_too(tmp_path):
    path = tmp_path / "data.arrow"
    path.write_bytes(arrow("stream"))
    assert list(load(path, **CHOSEN)) == ANSWERS


def test_columns_inside_columns_of_parquet(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_bytes(arrow("parquet"))
    assert load(path, input="about.year", label="completion")[0] == ([1789], "Paris")
    with pytest.raises(ByheartError, match="the columns are prompt, completion, about.year"):
        load(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_damaged_arrow(tmp_path, kind):
    whole = arrow(kind)
    path = tmp_path / f"d.{kind}"
    for content in (b"hello", whole[: len(whole) // 2], whole[len(whole) // 2 :]):
        path.write_bytes(content)
        with pytest.raises(ByheartError, match=f"cannot be read .* not a .{kind} file") as caught:
            load(path, **CHOSEN)
        assert "\n" not in str(caught.value)
    for place in range(0, len(whole), 5):  # whatever the damage, never a traceback or a crash
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            load(path, **CHOSEN)
        except ByheartError as error:
            assert "\n" not in str(error)


# Folders


def test_a_folder_of_datasets(tmp_path):
    datasets = pytest.importorskip("datasets")
    split = datasets.Dataset.from_list(RECORDS)
    split.save_to_disk(tmp_path / "one")
    data = load(tmp_path / "one", **CHOSEN)
    assert list(data) == ANSWERS and not is_corpus(tmp_path / "one")
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "two")
    with pytest.raises(ByheartError, match="several splits, train, test; .* records='train'"):
        load(tmp_path / "two", **CHOSEN)
    data = load(tmp_path / "two", records="test", **CHOSEN)
    assert list(data) == ANSWERS
    assert load(tmp_path / "two", **data.loading).sha256() == data.sha256()
    (tmp_path / "one" / "state.json").write_text("{}")
    with pytest.raises(ByheartError, match="one cannot be read"):
        load(tmp_path / "one", **CHOSEN)


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.txt").write_text("c d\n\ne")
    (tmp_path / "1.TXT.gz").write_bytes(gzip.compress(b"a b"))
    (tmp_path / ".notes").write_text("not read")
    data = load(tmp_path)
    assert list(data) == [(["a"], " b"), (["c"], " d"), (["c", " d"], "\n\ne")]
    assert data.loading == {"unit": "spaced", "documents": "whole", "include": ["*"]}
    assert data.unused == (".notes",)
    assert load(tmp_path, **data.loading).sha256() == data.sha256()
    assert len(load(tmp_path, documents="blank")) == 2
    (tmp_path / "b" / "2.txt").write_bytes(b"\xff")
    with pytest.raises(ByheartError, match="2.txt, line 1: not UTF-8"):
        load(tmp_path)
    assert len(load(tmp_path, include="*.txt", encoding="latin-1")) == 1


@pytest.mark.parametrize("more", ["stream", "zeros", "one byte", "text"])
def test_bytes_after_the_end_of_a_stream_are_refused(tmp_path, more):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"text": ["a b", "b a"], "label": ["x", "y"]})
    path = tmp_path / "d.arrow"
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    stream = path.read_bytes()
    assert len(load(path, input="text", label="label")) == 2
    path.write_bytes(stream[:-8])  # the mark at the end may be missing: then the file ends there
    assert len(load(path, input="text", label="label")) == 2
    rest = {"stream": stream, "zeros": bytes(64), "one byte": b"x", "text": b"more rows"}[more]
    path.write_bytes(stream + rest)
    with pytest.raises(ByheartError, match=f"ends after {len(stream):,} of {len(stream + rest):,}"):
        load(path, input="text", label="label")
    path.write_bytes(gzip.compress(stream + rest))
    with pytest.raises(ByheartError, match="the stream ends after"):
        load(path.rename(tmp_path / "d.arrow.gz"), input="text", label="label")


# The table of readers


def test_a_new_format_is_one_line(tmp_path, monkeypatch):
    """A reader gets bytes that it can seek in, whatever the compression."""

    def read(raw: Raw):
        assert raw.size() == 3 and raw.file.seek(1) == 1
        return SimpleNamespace(content=raw.file.read())

    monkeypatch.setitem(READERS, ".new", read)
    monkeypatch.setitem(loading.OPTIONS, ".new", ())
    path = tmp_path / "d.new.gz"
    path.write_bytes(gzip.compress(b"abc"))
    assert load(path).content == b"bc"


def test_a_mapped_file_outlives_its_copy(tmp_path):
    path = tmp_path / "ids.bin.xz"
    path.write_bytes(lzma.compress(np.arange(1000, dtype="<u2").tobytes()))
    documents = load_documents(path)
    assert isinstance(documents.ids, np.memmap) and documents.ids.sum() == 499_500


def test_a_plain_file_is_not_copied(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("a b")
    with opened(path, ".txt") as raw:
        assert raw.file.name == str(path) or raw.file.name == path
