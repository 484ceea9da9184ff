"""Files of Apache Arrow: bounded before they are unpacked, and no byte of them passed over."""

import gzip
import io
import json
import shutil

import pytest

from byheart import ByheartError, load
from byheart.data.readers import arrow as reader
from byheart.data.readers import raw
from byheart.machine import memory

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
NAMED = {"input": "text", "label": "label"}
ROWS = [("the red fox", "run"), ("the old owl", "sit"), ("a wet cat", "run")]
ONE = pa.table({"text": [x for x, _ in ROWS], "label": [y for _, y in ROWS]})
TWO = pa.table({"text": ["the red fox"], "label": ["WRONG"]})


def arrow(*tables, kind="file", compression=None, batch=None):
    """An .arrow file, or a stream, of these tables, each in batches of so many rows."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(sink, tables[0].schema, options=options) as writer:
        for table in tables:
            writer.write_table(table, max_chunksize=batch)
    return sink.getvalue()


def parquet(table, **how):
    sink = io.BytesIO()
    pq.write_table(table, sink, **how)
    return sink.getvalue()


def written(path, content):
    path.write_bytes(content)
    return path


def labels(data):
    return [label for _, label in data]


# ---------------------------------------------------------------- bombs


def zeros(count):
    values = pa.array([0] * count, pa.int8())
    return pa.table({"text": values, "label": values})


def shared(size, count):
    """Very many cells of one long text, which the file holds once."""
    places = pa.array([0] * count, pa.int32())
    texts = pa.DictionaryArray.from_arrays(places, ["x " * (size // 2)])
    return pa.table({"text": texts, "label": pa.array([0] * count, pa.int8())})


BOMBS = {
    "zstd.arrow": lambda: arrow(zeros(1 << 20), compression="zstd"),
    "lz4.arrow": lambda: arrow(zeros(1 << 20), compression="lz4"),
    "stream.arrow": lambda: arrow(zeros(1 << 20), kind="stream", compression="zstd"),
    "text.arrow": lambda: arrow(shared(1 << 16, 1000)),
    "views.arrow": lambda: arrow(views(1 << 16, 1000)),
    "nothing.arrow": lambda: arrow(pa.table({"text": pa.nulls(10**6), "label": pa.nulls(10**6)})),
    "runs.parquet": lambda: parquet(zeros(1 << 20)),
    "zstd.parquet": lambda: parquet(zeros(1 << 20), use_dictionary=False, compression="zstd"),
    "text.parquet": lambda: parquet(shared(1 << 16, 1000)),
    "lists.parquet": lambda: parquet(lists(1 << 16, 1000)),
    "wide.parquet": lambda: parquet(wide(1 << 16, 1000)),
}


def views(size, count):
    """Texts that are views of one and the same bytes."""
    view = size.to_bytes(4, "little") + b"x x " + bytes(8)
    buffers = [None, pa.py_buffer(view * count), pa.py_buffer(b"x " * (size // 2))]
    texts = pa.Array.from_buffers(pa.string_view(), count, buffers)
    return pa.table({"text": texts, "label": pa.array([0] * count, pa.int8())})


def lists(size, count):
    texts = pa.array([["x" * size]] * count)
    return pa.table({"text": texts, "label": pa.array([0] * count, pa.int8())})


def wide(size, count):
    texts = pa.array([b"x" * size] * count, pa.binary(size))
    return pa.table({"text": texts, "label": pa.array([0] * count, pa.int8())})


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_very_much_is_refused(tmp_path, monkeypatch, name):
    path = written(tmp_path / name, BOMBS[name]())
    assert path.stat().st_size < 1 << 17
    monkeypatch.setattr(raw, "ALWAYS", 1 << 20)
    monkeypatch.setattr(raw, "RATIO", 10)
    monkeypatch.setattr(reader, "_cells", None)  # no cell is made
    with pytest.raises(ByheartError, match="unpacks to more than 1,[0-9,]* bytes, over .* times"):
        load(path, **NAMED)


@pytest.mark.parametrize("name", ["zstd.arrow", "stream.arrow", "runs.parquet", "zstd.parquet"])
def test_what_the_metadata_state_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, name):
    path = written(tmp_path / name, BOMBS[name]())
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    monkeypatch.setattr(reader, "_written", None)  # nothing is read
    with pytest.raises(ByheartError, match=f"{name}: its content needs .* and 1,048,576 are avail"):
        load(path, **NAMED)


def test_texts_that_cells_share_are_made_once(tmp_path, monkeypatch):
    """Each of very many cells is no copy of its own."""
    made, real = [], reader._cells
    monkeypatch.setattr(reader, "_cells", lambda column: made.append(real(column)) or made[-1])
    for name, content in {"a.arrow": arrow, "a.parquet": parquet}.items():
        load(written(tmp_path / name, content(shared(1 << 8, 1000))), **NAMED)
        assert len(made[-2]) == 1000 and len({id(cell) for cell in made[-2]}) == 1
    some = pa.array(["b", None, "a", "b"]).dictionary_encode()
    assert real(pa.chunked_array([some])) == ["b", None, "a", "b"]


def test_a_block_cannot_ask_for_more_memory_than_there_is(monkeypatch):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(memory, "available", lambda: 0)
    with memory.bounded(), memory.bounded():
        bytearray(1 << 20)
        with pytest.raises(MemoryError):
            bytearray(2 * memory.ALWAYS)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    bytearray(2 * memory.ALWAYS)


# ---------------------------------------------------------------- bytes that no reader sees


def hidden(content, more):
    """An .arrow file with the batches of another one, which its footer does not name."""
    size = int.from_bytes(content[-10:-6], "little")
    end = len(content) - 10 - size - 8  # of the last batch, before the mark of the end
    other = more[8 : len(more) - 10 - int.from_bytes(more[-10:-6], "little")]
    schema = 8 + int.from_bytes(other[4:8], "little")
    return content[:end] + other[schema:-8] + content[end:]


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_batches_that_the_footer_does_not_name(tmp_path, compression):
    one, two = arrow(ONE, compression=compression), arrow(TWO, compression=compression)
    path = written(tmp_path / "a.arrow", hidden(one, two))
    assert pa.ipc.open_file(path).read_all().equals(ONE)  # every library passes over them
    assert pa.ipc.open_stream(path.read_bytes()[8:]).read_all().num_rows == 4
    with pytest.raises(ByheartError, match="its footer does not name every batch of it once and"):
        load(path, **NAMED)
    written(path, one)
    assert labels(load(path, **NAMED)) == [y for _, y in ROWS]


def test_a_footer_that_names_a_batch_twice_or_in_another_order(tmp_path):
    content = arrow(ONE, batch=2)
    size = int.from_bytes(content[-10:-6], "little")
    footer = content[-10 - size : -10]
    places = [8 + i for i in range(0, len(content), 8)]
    blocks = [x for x in places if footer.count(x.to_bytes(8, "little")) == 1]
    starts = [x for x in blocks if content[x : x + 4] == b"\xff\xff\xff\xff"][-2:]
    first, second = (footer.index(x.to_bytes(8, "little")) for x in starts)
    cut = {first: footer[first : first + 24], second: footer[second : second + 24]}
    for new in ((second, second), (second, first)):
        changed = bytearray(footer)
        changed[first : first + 24], changed[second : second + 24] = cut[new[0]], cut[new[1]]
        path = written(tmp_path / "a.arrow", content[: -10 - size] + changed + content[-10:])
        assert not pa.ipc.open_file(path).read_all().equals(ONE)
        with pytest.raises(ByheartError, match="its footer does not name every batch of it once"):
            load(path, **NAMED)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_batches_and_texts_that_are_shared_are_read_alike(tmp_path, kind, compression):
    text = ONE["text"].combine_chunks()
    tables = {
        "shared": ONE.set_column(0, "text", text.dictionary_encode()),
        "large": ONE.set_column(0, "text", text.cast(pa.large_string())),
        "views": ONE.set_column(0, "text", text.cast(pa.string_view())),
        "plain": ONE,
    }
    hashes = set()
    for name, table in tables.items():
        content = arrow(table, table.slice(1, 1), kind=kind, compression=compression)
        data = load(written(tmp_path / f"{name}.arrow", content), **NAMED)
        assert labels(data) == ["run", "sit", "run", "sit"]
        hashes.add(data.sha256())
    assert len(hashes) == 1


def test_types_that_are_not_read(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"])
    path = written(tmp_path / "a.arrow", arrow(pa.table({"text": runs, "label": ["a", "b", "c"]})))
    with pytest.raises(ByheartError, match="a column has the type run_end_encoded.* is not read"):
        load(path, **NAMED)


def test_a_group_of_rows_that_the_footer_does_not_name(tmp_path):
    """The rows of another file, put in before the footer; every library passes over them."""
    one, two = parquet(ONE), parquet(TWO)
    size = int.from_bytes(one[-8:-4], "little")
    path = written(tmp_path / "a.parquet", one[: -8 - size] + two[4:-8] + one[-8 - size :])
    assert pq.read_table(path).equals(ONE)
    with pytest.raises(ByheartError, match="bytes belong to no column that its footer names"):
        load(path, **NAMED)
    padded = one[: -8 - size] + bytes(100) + one[-8 - size :]  # as blocks of other systems end
    assert load(written(path, padded), **NAMED).notes == ()
    indexed = parquet(ONE, write_page_index=True)
    (note,) = load(written(path, indexed), **NAMED).notes
    assert note.endswith("bytes of the file are indexes, or read by nobody")


@pytest.mark.parametrize("how", [{}, {"row_group_size": 1}, {"use_dictionary": False}])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_of_any_layout_is_read_alike(tmp_path, how, version):
    content = parquet(ONE, data_page_version=version, compression="zstd", **how)
    data = load(written(tmp_path / "a.parquet", content), **NAMED)
    assert data.sha256() == load(written(tmp_path / "a.arrow", arrow(ONE)), **NAMED).sha256()
    content = gzip.compress(content)
    assert load(written(tmp_path / "a.parquet.gz", content), **NAMED).sha256() == data.sha256()


# ---------------------------------------------------------------- folders of datasets


@pytest.fixture
def folder(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    split = datasets.Dataset.from_list([{"text": x, "label": y} for x, y in ROWS])
    split.save_to_disk(tmp_path / "one", num_shards=2)
    datasets.DatasetDict({"train": split}).save_to_disk(tmp_path / "splits")
    return tmp_path / "one"


def test_a_shard_that_the_folder_does_not_name(folder):
    assert labels(load(folder, **NAMED)) == [y for _, y in ROWS]
    more = folder / "data-00002-of-00003.arrow"
    shutil.copy(folder / "data-00000-of-00002.arrow", more)
    with pytest.raises(ByheartError, match="and the folder holds .*data-00002-of-00003.arrow"):
        load(folder, **NAMED)
    more.rename(folder / "cache-1.arrow")  # what the package keeps of its own work
    (folder / "README.md").write_text("more")
    (note,) = load(folder, **NAMED).notes
    assert note == "not read, since no rows stand there: 'README.md', 'cache-1.arrow'"
    train = folder.parent / "splits" / "train"
    shutil.copy(folder / "cache-1.arrow", train / "more.arrow")
    with pytest.raises(ByheartError, match="splits/train: state.json names"):
        load(train.parent, records="train", **NAMED)


@pytest.mark.parametrize("names", [["../one.arrow"], ["/etc/passwd"], [1], None])
def test_shards_from_elsewhere(folder, names):
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"] = names and [{"filename": name} for name in names]
    (folder / "state.json").write_text(json.dumps(state))
    with pytest.raises(ByheartError, match="names the shards|cannot be read"):
        load(folder, **NAMED)


def test_bytes_behind_a_shard(folder):
    with open(folder / "data-00001-of-00002.arrow", "ab") as file:
        file.write(arrow(TWO, kind="stream"))
    with pytest.raises(ByheartError, match="data-00001-of-00002.arrow: the stream ends after"):
        load(folder, **NAMED)


def test_no_file_that_a_picture_names_is_opened(tmp_path):
    """The package decodes pictures and sounds, and would fetch those with an address."""
    datasets = pytest.importorskip("datasets")
    secret = written(tmp_path / "secret.png", b"not a picture")
    features = {"text": datasets.Value("string"), "label": datasets.Value("string")}
    features = datasets.Features({**features, "seen": datasets.Image()})
    rows = {"text": ["a b", "b a"], "label": ["x", "y"], "seen": [None] * 2}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(tmp_path / "d")
    (shard,) = (tmp_path / "d").glob("*.arrow")
    table = pa.ipc.open_stream(shard.read_bytes()).read_all()
    seen = pa.array([{"bytes": None, "path": str(secret)}] * 2, table.schema.field("seen").type)
    written(shard, arrow(table.set_column(2, table.schema.field("seen"), seen), kind="stream"))
    with pytest.raises(Exception, match="cannot identify image file|No module named 'PIL'|Pillow"):
        datasets.load_from_disk(str(tmp_path / "d"))[0]
    with pytest.raises(ByheartError, match="the columns are text, label, seen.bytes, seen.path"):
        load(tmp_path / "d")
    (path, _), _ = load(tmp_path / "d", input="seen.path", label="label", unit="char")
    assert "".join(path) == str(secret)
