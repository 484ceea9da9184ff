"""What the checker reads as data, and its hash."""

import hashlib
import json
import random
import struct
import zipfile
from pathlib import Path

import pytest

import check

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
GOOD = sorted((EXAMPLES / "good").iterdir())


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


# ---------------------------------------------------------------- the data and its hash


CODES = {"<f8": "d", "<f4": "f", "<f2": "e", "<i8": "q", "|i1": "b", "<u2": "H", "<u8": "Q"}
CODES |= {">i8": "q", ">f4": "f"}


def npy(kind: str, shape: tuple, values: list, version: int = 1, fortran: bool = False) -> bytes:
    header = repr({"descr": kind, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    order = ">" if kind.startswith(">") else "<"
    body = struct.pack(f"{order}{len(values)}{CODES.get(kind, 'q')}", *values)
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + body


def write_npz(path: Path, inputs: bytes, labels: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inputs.npy", inputs)
        archive.writestr("labels.npy", labels)


def sha256_of(path: Path, *rows: dict) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return check.read_data(str(path)).sha256


def integers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def test_the_hash_of_strings_by_hand(tmp_path):
    """Tokens sort to " a, e-acute, U+FFFF, grin: by code point, not by UTF-16 unit."""
    expected = hashlib.sha256(
        b"byheart-data-1\nstring\n"
        + b'"\\" a"\n"\\u00e9"\n"\\uffff"\n"\\ud83d\\ude00"\n'
        + b"-3\n10\n"
        + integers(2, 3)
        + integers(3, 1, 0, 2, 0)
        + integers(1, 0)
        + integers(1, 4)
    ).hexdigest()
    assert expected == sha256_of(
        tmp_path / "d.jsonl",
        {"input": ["\U0001f600", "\u00e9"], "label": 10},
        {"input": ['" a', "\uffff", '" a'], "label": -3, "count": 4},
    )


def test_the_hash_of_vectors_by_hand(tmp_path):
    """-0.0 counts as 0.0, 1 as 1.0; the order is lexicographic."""
    expected = hashlib.sha256(
        b"byheart-data-1\nvector\nfloat64 2\n"
        + struct.pack("<6d", -1.5, 2.0, 0.0, 0.25, 0.0, 1.0)
        + b'"x"\n'
        + integers(2, 1, 1)
        + integers(2, 0, 1, 2)
        + integers(0, 0, 0, 1, 1, 1)
    ).hexdigest()
    assert expected == sha256_of(
        tmp_path / "d.jsonl",
        {"input": [[-0.0, 1], [-1.5, 2]], "label": "x"},
        {"input": [[0, 0.25]], "label": "x"},
        {"input": [[0, 1.0]], "label": "x"},
    )


def test_the_hash_of_a_label_for_every_token(tmp_path):
    """The word every after the kind, and the labels of all tokens one after another."""
    expected = hashlib.sha256(
        b"byheart-data-1\nstring every\n"
        + b'"a"\n"b"\n'
        + b'"x"\n"y"\n'
        + integers(3, 0, 1)
        + integers(1, 0, 0, 1)
        + integers(0, 1, 1, 0)
        + integers(1, 2, 1)
    ).hexdigest()
    assert expected == sha256_of(
        tmp_path / "d.jsonl",
        {"input": ["b", "a", "a"], "label": ["x", "y", "y"]},
        {"input": [], "label": [], "count": 2},
        {"input": ["b"], "label": ["x"]},
    )


def test_the_hash_of_an_empty_input(tmp_path):
    expected = hashlib.sha256(
        b"byheart-data-1\nnumber\nfloat64 1\n"
        + struct.pack("<d", 2.5)
        + b"0\n1\n"
        + integers(0, 1)
        + integers(0)
        + integers(1, 0)
        + integers(1, 1)
    ).hexdigest()
    rows = [{"input": [], "label": 1}, {"input": [2.5], "label": 0}]
    assert expected == sha256_of(tmp_path / "d.jsonl", *rows)


def test_an_array_of_labels_for_every_token(tmp_path):
    write_npz(
        tmp_path / "d.npz",
        npy("<f8", (2, 3), [0.5, 1, 2, 3, 4, 0.5]),
        npy("<i8", (2, 3), [7, 8, 9, 7, 7, 8]),
    )
    data = check.read_data(str(tmp_path / "d.npz"))
    assert data.every and data.size == 6
    assert data.sha256 == sha256_of(
        tmp_path / "d.jsonl",
        {"input": [0.5, 1, 2], "label": [7, 8, 9]},
        {"input": [3, 4, 0.5], "label": [7, 7, 8]},
    )


def test_the_hash_of_integers_that_are_no_doubles(tmp_path):
    big = 2**53 + 1
    expected = hashlib.sha256(
        b"byheart-data-1\nnumber\nint64 1\n"
        + integers(-2, big)
        + b"0\n"
        + integers(2)
        + integers(1, 0)
        + integers(0)
        + integers(1)
    ).hexdigest()
    path = tmp_path / "d.jsonl"
    assert expected == sha256_of(path, {"input": [big, -2], "label": 0})
    for other in (0.5, 2**63 + 1, 1e300):
        with pytest.raises(check.Refusal):
            sha256_of(path, {"input": [big, other], "label": 0})


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", "<i8", "|i1", ">i8", ">f4"])
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2)])
def test_npz_and_jsonl_of_the_same_data_agree(kind, version, fortran, shape, tmp_path):
    whole = 1 if "i" in kind else 0.5
    numbers = (3, -1, 4, 1, -5, 9, 2, 6, 5, 3, 5, 8)[: 6 if len(shape) == 2 else 12]
    values = [whole * number for number in numbers]
    if len(shape) == 2:
        nested = [values[:3], values[3:]]
        turned = [values[3 * i + j] for j in range(3) for i in range(2)]
    else:
        nested = [[values[6 * i + 2 * j : 6 * i + 2 * j + 2] for j in range(3)] for i in range(2)]
        turned = [values[6 * i + 2 * j + k] for k in range(2) for j in range(3) for i in range(2)]
    write_npz(
        tmp_path / "d.npz",
        npy(kind, shape, turned if fortran else values, version, fortran),
        npy("<u2", (2,), [7, 2]),
    )
    assert check.read_data(str(tmp_path / "d.npz")).sha256 == sha256_of(
        tmp_path / "d.jsonl", {"input": nested[0], "label": 7}, {"input": nested[1], "label": 2}
    )


def test_npz_written_by_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    inputs = numpy.random.default_rng(1).normal(size=(4, 3, 2)).astype("f4")
    numpy.savez_compressed(
        tmp_path / "d.npz", inputs=numpy.asfortranarray(inputs), labels=numpy.arange(4, dtype="u1")
    )
    rows = [{"input": x, "label": i} for i, x in enumerate(inputs.astype(float).tolist())]
    assert check.read_data(str(tmp_path / "d.npz")).sha256 == sha256_of(tmp_path / "d.jsonl", *rows)
    numpy.savez(tmp_path / "o.npz", inputs=numpy.array([[{}]]), labels=numpy.arange(1))
    assert run(GOOD[0], tmp_path / "o.npz") == 2


def test_the_weights_are_what_the_safetensors_library_reads():
    numpy = pytest.importorskip("safetensors.numpy")
    found = numpy.load((EXAMPLES / "good" / "words" / "weights.safetensors").read_bytes())
    assert found["limbs"].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 7, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "inputs, labels",
    [
        (npy("<f8", (1, 2), [0.5, float("nan")]), npy("<i8", (1,), [0])),
        (npy("<f8", (1, 2), [0.5]), npy("<i8", (1,), [0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<f8", (1,), [0.0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<i8", (2,), [0, 0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<i8", (1, 1), [0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<i8", (1, 2, 1), [0, 0])),
        (npy("<f8", (2**40, 2**40), []), npy("<i8", (1,), [0])),
        (npy("|O", (1, 1), [0]), npy("<i8", (1,), [0])),
        (npy("<c8", (1, 1), [0]), npy("<i8", (1,), [0])),
        (npy("<f8", (0, 2), []), npy("<i8", (0,), [])),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, npy("<i8", (1,), [0])),
        (b"", b""),
    ],
)
def test_bad_arrays_are_refused(inputs, labels, tmp_path, capsys):
    write_npz(tmp_path / "d.npz", inputs, labels)
    assert run(EXAMPLES / "good" / "spread", tmp_path / "d.npz") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


BAD_LINES = """
{"input": ["a"]}
{"label": 1}
{"input": "a", "label": 1}
[["a"], 1]
nonsense
{"input": ["a", 1], "label": 1}
{"input": [[1], [1, 2]], "label": 1}
{"input": [], "label": 1}
{"input": [[]], "label": 1}
{"input": [[[1]]], "label": 1}
{"input": [true], "label": 1}
{"input": [1e999], "label": 1}
{"input": [NaN], "label": 1}
{"input": ["a"], "label": 1.5}
{"input": ["a"], "label": true}
{"input": ["a"], "label": [1, 2]}
{"input": ["a"], "label": []}
{"input": ["a"], "label": [[1]]}
{"input": ["a", "b"], "label": [1, "x"]}
{"input": ["a", "b"], "label": [1, true]}
{"input": [], "label": []}
{"input": ["a"], "label": null}
{"input": ["\\ud800"], "label": 1}
{"input": ["a"], "label": "\\udfff"}
{"input": ["a"], "label": 1, "count": 0}
{"input": ["a"], "label": 1, "count": 1.0}
{"input": ["a"], "label": 1, "count": 9223372036854775808}
{"input": ["a"], "input": [], "label": 1}
""".strip().split("\n")
BAD_LINES += [
    '{"input": ["a"], "label": 1}\n{"input": ["a"], "label": "b"}',
    '{"input": ["a"], "label": 1}\n{"input": ["a"], "label": [1]}',
    '{"input": ["a"], "label": [1]}\n{"input": [], "label": 1}',
    "",
    "\n\n",
    '{"input": [' + "9" * 400 + '], "label": 1}',
    '{"input": ["a"], "label": ' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_lines_are_refused(line, tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text(line)
    assert run(EXAMPLES / "good" / "words", tmp_path / "d.jsonl") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_data_of_another_kind_does_not_hold(tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text('{"input": [1.0], "label": "same"}')
    assert run(EXAMPLES / "good" / "words", tmp_path / "d.jsonl") == 1
    assert "the data holds numbers" in capsys.readouterr().out


def test_random_bytes_in_the_data_never_raise(copy, tmp_path):
    folder, rng = copy("vectors"), random.Random(3)
    archive = tmp_path / "data.npz"
    write_npz(archive, npy("<f8", (2, 3, 2), [0.5] * 12), npy("<i8", (2,), [0, 12]))
    for path in (folder / "data.jsonl", archive):
        original = path.read_bytes()
        for _ in range(400):
            changed = bytearray(original)
            changed[rng.randrange(len(changed))] = rng.randrange(256)
            path.write_bytes(changed)
            code = run(folder, path)
            assert (
                code in (1, 2)
                or check.read_data(str(path)).sha256
                == json.loads((folder / "certificate.json").read_bytes())["data"]["sha256"]
            )
        path.write_bytes(original)
