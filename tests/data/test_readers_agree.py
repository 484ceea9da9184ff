"""byheart and the independent checker read the same data from the same file, or both refuse it."""

import io
import json
import warnings
import zipfile

import numpy as np
import pytest

from byheart.data.load import load
from byheart.errors import ByheartError

BOM = "\ufeff"
GOOD = '{"input": ["a"], "label": "x"}\n'


def line(token, label='"x"', count=""):
    return f'{{"input": [{token}], "label": {label}{count and ", "}{count}}}\n'


LINES = {  # text of a .jsonl file: whether it is data
    GOOD: True,
    BOM + GOOD: False,
    GOOD + BOM + GOOD: False,
    '{"input": ["a"], "label": "x", "label": "y"}\n': False,
    '{"input": ["a"], "input": ["a"], "label": "x"}\n': False,
    '{"input": ["a"], "label": "x", "more": {"k": 1, "k": 1}}\n': False,
    '{"input": ["a"], "label": "x", "more": {"k": 1}}\n': True,
    GOOD + " \t\r\n" + GOOD: True,
    GOOD + "\x0b\n" + GOOD: False,  # only the white space of JSON is blank
    GOOD + "\x0c\n" + GOOD: False,
    GOOD + "\u2003\n" + GOOD: False,
    GOOD.replace("\n", "\r\n") * 2: True,
    GOOD.strip(): True,
    line("NaN"): False,
    line("Infinity"): False,
    line("1e400"): False,
    line("-1e400"): False,
    line("1e-400"): True,  # rounds to 0
    line("-0"): True,
    line("-0.0") + line("0"): True,
    line("0.1"): True,
    line("9007199254740993") + line("9007199254740992.0"): True,  # whole numbers, however written
    line("9007199254740993") + line("0.5"): False,
    line("9007199254740992") + line("0.5"): True,
    line("9223372036854775808"): True,  # 2^63 is a double
    line("9223372036854775809"): False,
    line("-9223372036854775808") + line("9223372036854775807"): True,
    line("-9223372036854775809"): False,
    line("9007199254740993") + line("9223372036854775808"): False,
    line("9007199254740993") + line("9223372036854775808.0"): False,
    line("18446744073709551616") + line("0.5") + line("7"): True,
    line("[18446744073709551616, 0.5]"): True,
    line("1" + "0" * 308): False,
    line(str(2**1023)): True,
    line(str(2**1024)): False,
    line(str(2**1024 - 1)): False,
    line("1" * 5000): False,
    line("true"): False,
    line("null"): False,
    line('["a"]'): False,
    line("[]"): False,
    line("[1]") + line("[1, 2]"): False,
    line("1") + line('"a"'): False,
    line("1", "1.0"): False,
    line("1", "true"): False,
    line("1", "null"): False,
    line("1", "9223372036854775807"): True,
    line("1", "9223372036854775808"): False,
    line("1", "-9223372036854775809"): False,
    line("1", "1") + line("2", '"1"'): False,
    line("1", "[1]"): True,
    line("1", "[1, 2]"): False,
    line("1", "[1]") + line("1", "1"): False,
    line("1", "1", '"count": 0'): False,
    line("1", "1", '"count": -1'): False,
    line("1", "1", '"count": 1.0'): False,
    line("1", "1", '"count": true'): False,
    line("1", "1", '"count": 9223372036854775807'): True,
    line("1", "1", '"count": 9223372036854775808'): False,
    line("1", "1", '"count": 9223372036854775806') + line("2", "1"): True,
    line("1", "1", '"count": 9223372036854775807') + line("2", "1"): False,  # 2^63 together
    line(""): False,
    line("") + line("1"): True,
    line('"\\ud800"'): False,
    line('"a"', '"\\udfff"'): False,
    line('"\\ud83d\\ude00"'): True,
    "[1]\n": False,
    GOOD + "{}\n": False,
    GOOD * 2 + "{": False,
    "\n": False,
    "": False,
}


def same(checker, path) -> str | None:
    """The hash of the data by both, None if both refuse."""
    try:
        ours = load(path).sha256()
    except ByheartError:
        ours = None
    try:
        theirs = checker.read_data(str(path)).sha256
    except checker.Refusal:
        theirs = None
    assert ours == theirs
    return ours


@pytest.mark.parametrize("text", LINES, ids=lambda text: ascii(text[:60]))
def test_lines(checker, tmp_path, text):
    path = tmp_path / "d.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert (same(checker, path) is not None) == LINES[text]


def test_the_name_may_have_capitals(checker, tmp_path):
    (tmp_path / "DATA.JSONL").write_text(GOOD)
    np.savez(tmp_path / "d.npz", inputs=np.array([[1]]), labels=np.array([2]))
    (tmp_path / "d.npz").rename(tmp_path / "D.NpZ")
    assert same(checker, tmp_path / "DATA.JSONL") and same(checker, tmp_path / "D.NpZ")


def npy(array, version=(1, 0)):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


ONE, IDS = np.array([7], "<i8"), np.array([[1, 2]], "<i8")
LARGE = np.array([[2**63, 2**63 + 2048]], "<u8")
ARRAYS = {  # the members of an archive: whether it is data
    "integers": ([("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE))], True),
    "big-endian": ([("inputs.npy", npy(IDS.astype(">i4"))), ("labels.npy", npy(ONE))], True),
    "big-endian floats": ([("inputs.npy", npy(IDS / 4)), ("labels.npy", npy(ONE))], True),
    "big-endian labels": (
        [("inputs.npy", npy((IDS / 4).astype(">f8"))), ("labels.npy", npy(ONE.astype(">u2")))],
        True,
    ),
    "half floats": ([("inputs.npy", npy(IDS.astype("<f2"))), ("labels.npy", npy(ONE))], True),
    "bytes": ([("inputs.npy", npy(IDS.astype("|u1"))), ("labels.npy", npy(ONE))], True),
    "bool": ([("inputs.npy", npy(IDS == 1)), ("labels.npy", npy(ONE))], False),
    "bool labels": ([("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE == 7))], False),
    "text": ([("inputs.npy", npy(IDS.astype("<U1"))), ("labels.npy", npy(ONE))], False),
    "float labels": ([("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE / 1))], False),
    "unsigned doubles": ([("inputs.npy", npy(LARGE)), ("labels.npy", npy(ONE))], True),
    "big-endian unsigned": (
        [("inputs.npy", npy(LARGE.astype(">u8"))), ("labels.npy", npy(ONE))],
        True,
    ),
    "the largest": ([("inputs.npy", npy(LARGE * 0 - 1)), ("labels.npy", npy(ONE))], False),
    "unsigned, no doubles": ([("inputs.npy", npy(LARGE + 1)), ("labels.npy", npy(ONE))], False),
    "unsigned labels": (
        [("inputs.npy", npy(IDS)), ("labels.npy", npy(np.array([2**63], ">u8")))],
        False,
    ),
    "twice": (
        [("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE)), ("inputs.npy", npy(IDS + 1))],
        False,
    ),
    "labels twice": (
        [("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE)), ("labels.npy", npy(ONE))],
        False,
    ),
    "with and without ending": (
        [("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE)), ("inputs", npy(IDS + 1))],
        False,
    ),
    "without ending": ([("inputs", npy(IDS)), ("labels", npy(ONE))], False),
    "others": ([("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE)), ("x", b"1")], True),
    "others twice": (
        [("inputs.npy", npy(IDS)), ("labels.npy", npy(ONE)), ("x", b""), ("x", b"")],
        False,
    ),
    "version 4": (
        [("inputs.npy", npy(IDS).replace(b"Y\1", b"Y\4")), ("labels.npy", npy(ONE))],
        False,
    ),
    "bytes behind": ([("inputs.npy", npy(IDS) + b"x"), ("labels.npy", npy(ONE))], False),
    "bytes missing": ([("inputs.npy", npy(IDS)[:-1]), ("labels.npy", npy(ONE))], False),
    "fortran": (
        [("inputs.npy", npy(np.asfortranarray([[1, 2], [3, 4]]))), ("labels.npy", npy(IDS[0]))],
        True,
    ),
    "version 2": ([("inputs.npy", npy(IDS, (2, 0))), ("labels.npy", npy(ONE, (3, 0)))], True),
    "vectors": ([("inputs.npy", npy(IDS[:, :, None])), ("labels.npy", npy(ONE))], True),
    "every": ([("inputs.npy", npy(IDS)), ("labels.npy", npy(IDS))], True),
    "no token": ([("inputs.npy", npy(IDS[:, :0])), ("labels.npy", npy(ONE))], False),
    "nan": ([("inputs.npy", npy(IDS * np.nan)), ("labels.npy", npy(ONE))], False),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_archives(checker, tmp_path, name):
    members, accepted = ARRAYS[name]
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that stands twice
        for member, content in members:
            archive.writestr(member, content)
    assert (same(checker, path) is not None) == accepted


def packed(tmp_path, **how):
    """An archive of one sequence, and of one more array."""
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", **how) as archive:
        for name, content in (("inputs", npy(IDS)), ("labels", npy(ONE)), ("more", npy(IDS))):
            archive.writestr(f"{name}.npy", content)
    return path


def streamed(tmp_path):
    """The same, written to what cannot seek: its sizes stand behind each member."""

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *where):
            raise OSError("a pipe")

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inputs.npy", npy(IDS))
        archive.writestr("labels.npy", npy(ONE))
    (tmp_path / "d.npz").write_bytes(pipe.getvalue())
    return tmp_path / "d.npz"


def shifted(content, more, at, places):
    """The archive with bytes put in at a place, and its directory made to fit."""
    content = bytearray(content[:at] + more + content[at:])
    for place in places:
        place += len(more) if place >= at else 0
        number = int.from_bytes(content[place : place + 4], "little") + len(more)
        content[place : place + 4] = number.to_bytes(4, "little")
    return bytes(content)


UNSEEN = {
    "before": lambda data: ROWS + data,
    "before, and the directory knows": lambda data: shifted(data, ROWS, 0, offsets_of(data)),
    "between": lambda data: shifted(data, ROWS, data.index(b"PK\3\4", 1), offsets_of(data)[1:]),
    "before the directory": lambda data: shifted(
        data, ROWS, data.index(b"PK\1\2"), offsets_of(data)[-1:]
    ),
    "behind": lambda data: data + ROWS,
    "as a comment": lambda data: data[:-2] + len(ROWS).to_bytes(2, "little") + ROWS,
}  # fmt: skip
ROWS = npy(np.array([[9, 9]])) * 2


def offsets_of(data):
    """Where the directory says where members and it itself begin."""
    places, place = [], data.index(b"PK\1\2")
    while (place := data.find(b"PK\1\2", place)) >= 0:
        places.append(place + 42)
        place += 46
    return [*places, len(data) - 6]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("where", UNSEEN)
def test_no_byte_of_an_archive_is_passed_over(checker, tmp_path, where, method):
    path = packed(tmp_path, compression=method)
    assert same(checker, path) is not None
    path.write_bytes(UNSEEN[where](path.read_bytes()))
    with zipfile.ZipFile(path) as archive:  # and yet Python reads it as if nothing were there
        assert len(archive.read("inputs.npy")) == len(npy(IDS))
    assert same(checker, path) is None
    with pytest.raises(ByheartError, match="[0-9] bytes belong to none of its members"):
        load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_archives_are_packed_as_numpy_does(checker, tmp_path, method):
    assert same(checker, packed(tmp_path, compression=method)) is None


def test_archives_that_were_written_to_a_pipe(checker, tmp_path):
    path = streamed(tmp_path)
    assert same(checker, path) is not None
    content = path.read_bytes()
    place = content.index(b"PK\7\x08")
    path.write_bytes(content[: place + 5] + bytes([content[place + 5] ^ 1]) + content[place + 6 :])
    assert same(checker, path) is None


def test_what_follows_the_stream_of_a_member_is_seen(checker, tmp_path):
    """Behind the last block of deflate, inside the member: Python's reader stops before it."""
    path = packed(tmp_path, compression=zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("inputs.npy").compress_size
    sizes = [18, data.index(b"PK\1\2") + 20]  # of the first member, here and in the directory
    begin = data.index(b"PK\3\4", 1)
    path.write_bytes(shifted(data, ROWS, begin, [*sizes, *offsets_of(data)[1:]]))
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("inputs.npy").compress_size == size + len(ROWS)
        assert len(archive.read("inputs.npy")) == len(npy(IDS))
    assert same(checker, path) is None
    with pytest.raises(ByheartError, match="inputs.npy is damaged"):
        load(path)


def test_large_integers_are_the_doubles_that_they_are(tmp_path):
    """The same hash, whichever way the number is written."""
    for name, text in (("a", str(2**70)), ("b", repr(2.0**70))):
        (tmp_path / f"{name}.jsonl").write_text(line(text))
    one, other = load(tmp_path / "a.jsonl"), load(tmp_path / "b.jsonl")
    assert one.sha256() == other.sha256() and one.tokens.dtype == np.float64
    assert json.loads(str(2**70)) == one.tokens[0, 0]


def test_a_repeated_key_and_a_mark_are_named(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text('{"input": ["a"], "label": "x", "label": "y"}\n')
    with pytest.raises(ByheartError, match="line 1: the key 'label' stands twice"):
        load(path)
    path.write_text(BOM + GOOD)
    with pytest.raises(ByheartError, match="line 1: a byte order mark"):
        load(path)
