"""Shards counted by many tasks: equal, to the digit, to the same documents on one machine."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.cli import main
from byheart.data.documents import Documents
from byheart.data.load import read
from byheart.data.statistics import count, shards
from byheart.data.statistics.shards import keys, tasks
from byheart.errors import ByheartError
from byheart.machine.engines import Workers
from tests.stand_in import StandIn

MEMORY = 1 << 26


class Here(StandIn):
    """Tasks run in this process."""

    def row(self, task, job):
        return tasks.run(task, job)


class InProcess(Workers):
    """What starts an engine that is kept, so that a test sees what it ran."""

    def start(self, run):
        assert run is tasks.run
        found = Here(stop_after=self.__dict__.get("stop_after"))
        self.__dict__["engine_used"] = found
        return found


def counted(folder, work=None, stop_after=None, **options):
    workers = InProcess()
    workers.__dict__["stop_after"] = stop_after
    return shards.statistics(folder, workers, work, MEMORY, **options)[0].json()


def write(folder, rows, pieces, dtype=np.uint16, separator=0):
    """The rows in so many .bin files."""
    folder.mkdir()
    for i in range(pieces):
        ids = [number for row in rows[i::pieces] for number in [*row, separator]]
        np.array(ids, dtype).tofile(folder / f"{i}.bin")


def flat(rows, dtype=np.uint16):
    return np.array([number for row in rows for number in [*row, 0]], dtype)


rows = st.lists(st.lists(st.integers(1, 3), max_size=9), min_size=1, max_size=25).filter(
    lambda rows: len({n for row in rows if len(row) > 1 for n in row[:2]}) > 1
)
lengths = st.one_of(st.none(), st.integers(2, 7))
windows = st.one_of(st.none(), st.integers(1, 6))


def test_a_case_by_hand(tmp_path):
    """Contexts 5, 5 6, 6, 6 5: 5 6 is followed by 7 and by 8, which is one conflict of two.

    As multisets with a last token they are as many. 5 is followed by 6, twice; 6 by 5; 6 5 by 7.
    """
    write(tmp_path / "s", [[5, 6, 7], [6, 5, 7], [5, 6, 8], [9]], 3)
    found = counted(tmp_path / "s", separator=0)
    assert (found["sequences"], found["tokens"], found["contexts"], found["skipped"]) == (
        6,
        9,
        4,
        1,
    )
    assert found["conflicts"] == {"contexts": 1, "sequences": 2, "multisets": 1}
    assert (found["multisets"], found["vocabulary"], found["labels"]) == (4, 2, 4)
    assert found["entropy"]["total"] == pytest.approx(2 * np.log(2), rel=1e-15)
    assert found["best_accuracy"] == 5 / 6
    assert found["separation"] == {"radius": 6.0, "distance": 1.0}


@settings(max_examples=25)
@given(
    rows, lengths, windows, st.integers(1, 4), st.sampled_from([np.uint16, np.uint32]), st.data()
)
def test_shards_agree_with_one_machine(tmp_path_factory, rows, length, window, pieces, dtype, data):
    """Also where a block holds few predictions and a partition few records."""
    folder = tmp_path_factory.mktemp("shards") / "s"
    write(folder, rows, pieces, dtype)
    options = {"length": length, "window": window}
    here = count(Documents("d", flat(rows, dtype), 0, **options)).json()
    few = data.draw(st.integers(sum(map(len, rows)) + 8, 300))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "BLOCK", data.draw(st.integers(1, 9)))
        patch.setattr(tasks.Job, "records", few)
        patch.setattr(shards, "PER_PARTITION", 64)
        there = counted(folder, separator=0, dtype=np.dtype(dtype).name, **options)
    assert there == here


def test_large_numbers_and_no_separator(tmp_path):
    ids = np.array([2**32 - 1, 5, 2**32 - 1, 5, 7, 5], np.uint32)
    (tmp_path / "s").mkdir()
    ids.tofile(tmp_path / "s/a.bin")
    (tmp_path / "s/empty.bin").touch()
    here = count(Documents("d", ids, None)).json()
    assert counted(tmp_path / "s", dtype="uint32") == here


TEXTS = {"a.txt": "the cat sat\nthe dog ran", "b/c.txt": "a cat\n\nthe cat ran", "z.txt": "\n"}


def texts(folder):
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("how", [{}, {"documents": "line"}, {"unit": "char", "window": 4}])
def test_texts(tmp_path, how):
    folder = texts(tmp_path / "s")
    assert counted(folder, **how) == count(read(folder, **how)).json()


def test_parquet(tmp_path):
    """Texts, and lists of token numbers: as .txt and .bin files of the same documents."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lines = [line for text in TEXTS.values() for line in text.split("\n")]
    numbers = [[3, 4, 5], [4, 3, 9], [3, 4, 6], [7], []]
    for name, cells in (("text", lines), ("ids", numbers)):
        (tmp_path / name).mkdir()
        for i in range(2):
            table = pyarrow.table({"own": cells[i::2], "other": [None] * len(cells[i::2])})
            parquet.write_table(table, tmp_path / name / f"{i}.parquet")
    found = counted(tmp_path / "text", input="own")
    assert found == count(read(texts(tmp_path / "s"), documents="line")).json()
    found = counted(tmp_path / "ids", input="own")
    here = count(Documents("d", flat(numbers[:4]), 0)).json()
    assert found == {**here, "skipped": 2}  # a list of no numbers is a document without a token
    with pytest.raises(ByheartError, match="has no column 'text'; it has own, other"):
        counted(tmp_path / "ids", input="text")
    with pytest.raises(ByheartError, match="must name the one column"):
        counted(tmp_path / "ids")


# --- keys


def records(*fields):
    job = tasks.Job("", (), shards.reading.Reading(".bin"), MEMORY)
    found = np.zeros(len(fields), job.kinds[0])
    for i, values in enumerate(fields):
        for name, value in values.items():
            found[name][i] = value
    found["count"] = 1
    return found


def test_a_key_of_two_contexts_is_found():
    """They end differently: then they cannot be equal."""
    alike = {"high": 5, "low": 6, "size": 2, "tokens": 3}
    both, begins = tasks.combined(records(alike, alike | {"label": 1}, alike))
    assert both["count"].tolist() == [2, 1] and begins.tolist() == [True, False]
    tasks.combined(records(alike, alike | {"low": 7, "tokens": 4}))  # different keys
    for other in ({"tokens": 4}, {"size": 3}):
        with pytest.raises(ByheartError, match="same key of 128 bits"):
            tasks.combined(records(alike, alike | other))


def test_keys_can_be_undone():
    """For each token, the key of a context determines that of the context before it."""
    for token in (0, 1, 65_535):
        for step in (keys.high_of, keys.low_of):
            before = np.arange(1 << 12, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            assert len({int(step(x, token)) for x in before}) == len(before)


@pytest.mark.parametrize("window", [None, 2])
def test_sums_of_two_multisets_are_found(tmp_path, monkeypatch, window):
    """If all tokens have the same word, contexts of one length have one sum."""
    rows = [[1, 2, 3], [2, 1, 3], [3, 1, 2], [1, 1, 2]]
    write(tmp_path / "s", rows, 2)
    options = {"separator": 0, "window": window}
    assert (
        counted(tmp_path / "s", **options)
        == count(Documents("d", flat(rows), 0, window=window)).json()
    )
    real = keys.walk

    def weak(*arguments):
        made = real(*arguments)
        block = arguments[-1]
        block["sum_high"][:made] = block["sum_low"][:made] = block["size"][:made]
        return made

    monkeypatch.setattr(keys, "walk", weak)
    with pytest.raises(ByheartError, match="same key of 128 bits"):
        counted(tmp_path / "s", **options)


# --- resuming


def test_a_stopped_count_resumes(tmp_path):
    """Whenever it stops: what was done is not done again, and nothing is left in the end."""
    write(tmp_path / "s", [[1, 2, 3], [2, 1, 3], [3, 1, 2], [1, 1, 2]], 4)
    whole, work = counted(tmp_path / "s", separator=0), tmp_path / "work"
    for stop in (0, 1, 3, 4, 5):
        with pytest.raises(KeyboardInterrupt):
            counted(tmp_path / "s", work, stop, separator=0)
        workers = InProcess()
        found, _ = shards.statistics(tmp_path / "s", workers, work, MEMORY, separator=0)
        assert found.json() == whole and len(workers.engine_used.ran) == 6 - stop
        assert list(work.iterdir()) == []


def test_a_folder_of_another_count_is_refused(tmp_path):
    write(tmp_path / "s", [[1, 2, 3], [2, 1, 3]], 2)
    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        counted(tmp_path / "s", work, 1, separator=0)
    with pytest.raises(ByheartError, match="intermediate files of another count"):
        counted(tmp_path / "s", work, window=2, separator=0)
    np.array([1, 2, 0], np.uint16).tofile(tmp_path / "s/1.bin")
    with pytest.raises(ByheartError, match="intermediate files of another count"):
        counted(tmp_path / "s", work, separator=0)
    with pytest.raises(ByheartError, match="is not empty"):
        counted(tmp_path / "s", tmp_path, separator=0)


# --- what cannot be counted


@pytest.mark.parametrize(
    "name, content, options, message",
    [
        ("a.bin", b"abc", {}, "not a multiple of the 2 bytes"),
        ("a.bin", b"\1\0", {}, "no document of two tokens"),
        ("a.bin", b"\1\0\1\0", {}, "one token again and again"),
        ("a.bin", b"\1\0\2\0", {"unit": "char"}, "unit=... does not apply here; .bin shards take"),
        ("a.bin", b"\1\0\2\0", {"window": "auto"}, "give window a number"),
        ("a.bin", b"\1\0\2\0", {"window": 0}, "window must be an integer of 1"),
        ("a.bin.gz", b"", {}, "decompress"),
        ("a.txt", b"a b", {"tokenizer": "bpe:300"}, "trained on a whole text"),
        ("a.txt", b"a \xff", {}, "not UTF-8"),
        ("a.csv", b"a", {}, "has no .bin, .parquet, .txt files"),
    ],
)
def test_refusals(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ByheartError, match=message):
        counted(tmp_path, **options)


def test_more_refusals(tmp_path):
    with pytest.raises(ByheartError, match="is not a directory"):
        counted(tmp_path / "none")
    write(tmp_path / "s", [[1, 2]], 1)
    (tmp_path / "s/a.txt").write_text("a b")
    with pytest.raises(ByheartError, match="both .bin and .txt files"):
        counted(tmp_path / "s")
    with pytest.raises(ByheartError, match="memory must be"):
        byheart.stats(tmp_path / "s", workers=Workers(), memory=5)
    with pytest.raises(ByheartError, match="give its path"):
        byheart.stats([("a b", "c")], workers=Workers())
    with pytest.raises(ByheartError, match=r"engine='ray' needs work=\.\.\."):
        pytest.importorskip("ray")
        byheart.stats(tmp_path / "s", workers=Workers("ray"))


# --- as a user


def test_the_command(tmp_path, capsys):
    """By two processes; the answer is that of one file, and how it was counted."""
    rows = [[1, 2, 3], [2, 1, 3], [3, 1, 2], [1, 1, 2]]
    write(tmp_path / "s", rows, 2)
    flat(rows).tofile(tmp_path / "one.bin")
    plain = ["--separator", "0", "--json"]
    many = ["--engine", "processes", "--jobs", "2", "--work", str(tmp_path / "w")]
    assert main(["stats", str(tmp_path / "s"), *plain, *many]) == 0
    said = capsys.readouterr()
    assert "16 tokens in 2 shards; a worker needs at most 1,073,741,824 bytes" in said.err
    found = json.loads(said.out)
    assert main(["stats", str(tmp_path / "one.bin"), *plain]) == 0
    alone = json.loads(capsys.readouterr().out)
    how = found.pop("counted")
    assert {name: found[name] for name in alone if name != "reading"} == {
        name: alone[name] for name in alone if name != "reading"
    }
    assert (how["engine"], how["shards"], how["partitions"]) == ("processes", 2, [1, 1])
    assert (
        found["contexts"] == 7 and how["exchanged"] > 0 and list((tmp_path / "w").iterdir()) == []
    )
    for wrong, message in (
        (["--work", "w"], "--work is for shards: give --engine as well."),
        (["--engine", "nobody"], "--engine must be processes or ray, not 'nobody'."),
        (["--engine", "processes", "--show", "2"], "leave it out with --engine"),
    ):
        assert main(["stats", str(tmp_path / "s"), *wrong]) == 2
        assert message in capsys.readouterr().err


def test_more_records_than_memory_are_refused_with_what_to_do(tmp_path):
    write(tmp_path / "s", [[1, 2, 3], [2, 1, 3]], 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.Job, "records", 1)
        patch.setattr(shards, "PER_PARTITION", 1)
        with pytest.raises(ByheartError, match=r"a worker of .* bytes holds 1; give a larger mem"):
            counted(tmp_path / "s", separator=0)
        patch.setattr(shards, "MOST_SLOTS", 4)
        with pytest.raises(ByheartError, match="8 tokens take more than 4 partitions"):
            counted(tmp_path / "s", separator=0)
