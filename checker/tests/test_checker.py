"""The checker accepts `good/`, refuses each folder of `bad/`, and never accepts a false claim."""

import ast
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

import check
import make_examples

CHECKER = Path(__file__).resolve().parent.parent
GOOD = sorted((CHECKER / "good").iterdir())
BAD = sorted((CHECKER / "bad").iterdir())
FILES = ("config.json", "weights.safetensors", "vocabulary.json", "certificate.json")


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


@pytest.fixture
def copy(tmp_path: Path):
    """A function that gives a fresh copy of a good folder."""

    def make(name: str) -> Path:
        return Path(shutil.copytree(CHECKER / "good" / name, tmp_path / name))

    return make


def reseal(folder: Path) -> None:
    certificate = json.loads((folder / "certificate.json").read_bytes())
    for name in FILES[:3]:
        certificate["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(certificate))


# ---------------------------------------------------------------- the two folders


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_good_folders_are_verified(folder, capsys):
    assert run(folder, folder / "data.jsonl") == 0
    assert capsys.readouterr().out.startswith("VERIFIED")
    assert check.failures(folder, folder / "data.jsonl") == []


@pytest.mark.parametrize("folder", BAD, ids=lambda folder: folder.name)
def test_bad_folders_fail_with_their_own_sentence(folder, capsys):
    expected = json.loads((folder / "EXPECT.json").read_text())
    assert run(folder, folder / "data.jsonl") == expected["exit"]
    out, err = capsys.readouterr()
    told = out if expected["exit"] == 1 else err
    assert expected["message"] in told
    assert (out == "") == (expected["exit"] == 2) and "Traceback" not in err
    assert len(err.splitlines()) == (expected["exit"] == 2)


def test_the_examples_are_what_their_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(make_examples, "HERE", tmp_path)
    make_examples.main()
    for kind in ("good", "bad"):
        written = {
            p.relative_to(tmp_path): p.read_bytes()
            for p in (tmp_path / kind).rglob("*.*")
            if p.is_file()
        }
        kept = {
            p.relative_to(CHECKER): p.read_bytes()
            for p in (CHECKER / kind).rglob("*.*")
            if p.is_file()
        }
        assert written == kept and written


# ---------------------------------------------------------------- independence


def test_the_checker_imports_only_the_standard_library():
    tree = ast.parse((CHECKER / "check.py").read_text())
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_checker_runs_without_site_packages():
    folder = CHECKER / "good" / "words"
    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECKER / "check.py", folder, folder / "data.jsonl", "--json"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == b""
    assert json.loads(done.stdout) == {
        "verdict": "VERIFIED",
        "checked": 5,
        "correct": 5,
        "evidence": "proved",
        "failures": [],
    }


# ---------------------------------------------------------------- the command


def test_without_data_only_the_structure_is_checked(capsys):
    assert run(CHECKER / "good" / "words") == 0
    assert capsys.readouterr().out == "STRUCTURE OK, no data checked\n"
    assert run(CHECKER / "good" / "words", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "verdict": "STRUCTURE OK",
        "checked": 0,
        "correct": 0,
        "evidence": None,
        "failures": [],
    }
    assert run(CHECKER / "bad" / "wrong-hash") == 1


@pytest.mark.parametrize("size, checked", [(2, 2), (5, 5), (99, 5)])
def test_a_sample_is_never_called_verified(size, checked, capsys):
    folder = CHECKER / "good" / "words"
    assert run(folder, folder / "data.jsonl", "--sample", size, "--seed", 3, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "SAMPLED" and answer["evidence"] == "sampled"
    assert answer["checked"] == answer["correct"] == checked


def test_a_refutation_says_so_in_json(capsys):
    folder = CHECKER / "bad" / "hashes-agree-labels-wrong"
    assert run(folder, folder / "data.jsonl", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "NOT VERIFIED" and answer["evidence"] == "refuted"
    assert (answer["checked"], answer["correct"], len(answer["failures"])) == (5, 4, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nowhere"],
        ["--sample", "2"],
        [GOOD[0], "--sample", "0"],
        [GOOD[0], "--sample", "2"],
        [GOOD[0], GOOD[0] / "config.json"],
        [GOOD[0], "nowhere.jsonl"],
        [GOOD[0], "nowhere.npz"],
        [GOOD[0] / "config.json"],
    ],
)
def test_bad_usage_is_two(arguments, capsys):
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err and "Traceback" not in err


# ---------------------------------------------------------------- hostile folders


@pytest.mark.parametrize("name", FILES)
def test_links_and_folders_in_place_of_files_are_refused(copy, name, capsys):
    folder = copy("words")
    (folder / name).rename(folder / "elsewhere")
    os.symlink(folder / "elsewhere", folder / name)
    assert run(folder) == 2 and "not a regular file" in capsys.readouterr().err
    (folder / name).unlink()
    (folder / name).mkdir()
    assert run(folder) == 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"{}" * 2,
        b"[" * 200000,
        b'{"a":' * 200000,
        b'{"version": ' + b"9" * 3000000 + b"}",
        b'{"format": "\\ud800\x9b"}',
    ],
)
def test_any_content_is_refused_in_one_sentence(copy, name, content, capsys):
    folder = copy("words")
    (folder / name).write_bytes(content)
    assert run(folder, folder / "data.jsonl") == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and err.isascii()


def places(value: object, path: tuple = ()):
    """Every place in a JSON value."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else (enumerate(value) if isinstance(value, list) else ())
    )
    for key, part in items:
        yield from places(part, (*path, key))


def test_every_value_of_every_json_file_may_have_any_type(copy):
    """A wrong type is refused or a failure; nothing that is read may be accepted unread."""
    folder = copy("words")
    free = {
        "method",
        "form",
        "paper",
        "item",
        "stage",
        "loading",
        "engine",
        "encoded",
        "information",
    }
    for name in ("config.json", "vocabulary.json", "certificate.json"):
        original = (folder / name).read_bytes()
        for path in places(json.loads(original)):
            for new in (None, True, -1, 10**30, 1.5, "x", [], {}, [[]]):
                value = {"": json.loads(original)}
                target, keys = value, ("", *path)
                for key in keys[:-1]:
                    target = target[key]
                if target[keys[-1]] == new and type(target[keys[-1]]) is type(new):
                    continue
                target[keys[-1]] = new
                (folder / name).write_text(json.dumps(value[""]))
                if name != "certificate.json":
                    reseal(folder)
                if run(folder, folder / "data.jsonl") == 0 and keys[-1] not in free:
                    assert "padding" in path and naive_holds(folder), (name, path, new)
        (folder / name).write_bytes(original)
        reseal(folder)


def test_a_value_beyond_the_limit_is_refused(tmp_path, capsys):
    """Repeated squaring by layers is impossible, repeated scaling is not: 2^(4 * 2^22)."""
    example = make_examples.words()
    example["tensors"][0] = [[2**100], [2], [0]]
    parameters = make_examples.entries(example["tensors"])
    parameters[0][4] = parameters[2][4] = 2**22
    parameters[3][4] = 2**22
    files = make_examples.seal(
        {**make_examples.build(example), "weights.safetensors": make_examples.weights(parameters)}
    )
    make_examples.write(tmp_path / "m", files)
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 2
    assert "more than 2^23 bits" in capsys.readouterr().err


# ---------------------------------------------------------------- a second evaluator


def naive_tensors(folder: Path) -> list[list[list[Fraction]]]:
    """The dense parameter tensors as fractions, read in the plainest way."""
    config = json.loads((folder / "config.json").read_bytes())
    width, shapes = config["width"], []
    for layer in config["layers"]:
        if layer["kind"] == "linear":
            shapes += [(layer["rows"], layer["columns"]), (layer["rows"], 1)]
        elif layer["kind"] == "feed_forward":
            hidden = layer["hidden"]
            shapes += [(hidden, width), (hidden, 1), (width, hidden), (width, 1)]
        else:
            shapes += [(layer["head_dimension"], width), (width, layer["head_dimension"])]
    tensors = [[[Fraction(0)] * columns for _ in range(rows)] for rows, columns in shapes]
    content = (folder / "weights.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    codes = {"I32": "i", "U8": "B", "I64": "q", "U64": "Q"}
    parts = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            code = f"<{about['shape'][0]}{codes[about['dtype']]}"
            parts[name] = struct.unpack(code, data[begin:end])
    for i, place in enumerate(zip(parts["tensor"], parts["row"], parts["column"], strict=True)):
        limbs = parts["limbs"][parts["start"][i] : parts["start"][i + 1]]
        mantissa = sum(limb << (64 * j) for j, limb in enumerate(limbs))
        value = mantissa * Fraction(2) ** parts["exponent"][i]
        tensors[place[0]][place[1]][place[2]] = -value if parts["negative"][i] else value
    return tensors


def times(matrix: list, vector: list) -> list:
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


def plus(*vectors: list) -> list:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def flat(matrix: list) -> list:
    return [row[0] for row in matrix]


def naive_output(config: dict, tensors: list, tokens: list[list[Fraction]]) -> Fraction:
    """Section 3, every column through every layer."""
    given = config["input"]
    padding = [int(m) * Fraction(2) ** int(e) for m, e in given["padding"]]
    columns = [padding] * (given["length"] - len(tokens)) + tokens
    if given["positions"]:
        columns = [[*column, Fraction(i)] for i, column in enumerate(columns)]
    rest = iter(tensors)
    for layer in config["layers"]:
        if layer["kind"] == "linear":
            weight, bias = next(rest), flat(next(rest))
            columns = [plus(times(weight, h), bias) for h in columns]
        elif layer["kind"] == "feed_forward":
            w1, b1, w2, b2 = next(rest), flat(next(rest)), next(rest), flat(next(rest))
            hidden = [[max(Fraction(0), z) for z in plus(times(w1, h), b1)] for h in columns]
            columns = [plus(h, times(w2, z), b2) for h, z in zip(columns, hidden, strict=True)]
        else:
            values, output = next(rest), next(rest)
            mean = [sum(lane) / len(columns) for lane in zip(*columns, strict=True)]
            columns = [plus(h, times(output, times(values, mean))) for h in columns]
    return columns[-1][0]


def naive_holds(folder: Path) -> bool:
    """Are all labels right and the counts true?"""
    config = json.loads((folder / "config.json").read_bytes())
    vocabulary = json.loads((folder / "vocabulary.json").read_bytes())
    tensors = naive_tensors(folder)
    counts = make_examples.counts(make_examples.entries(tensors), tensors)
    for group, key in [("parameters", k) for k in ("nonzero", "dense", "counted", "outside")] + [
        ("bits", k) for k in ("total", "fixed", "largest")
    ]:
        if config[group][key] != counts[group][key]:
            return False
    for line in (folder / "data.jsonl").read_text().splitlines():
        row = json.loads(line)
        y = naive_output(config, tensors, [naive_vector(t, vocabulary) for t in row["input"]])
        number = {Fraction(i): label for i, label in enumerate(vocabulary["labels"])}
        if number.get(y) != row["label"]:
            return False
    return True


def naive_vector(token: object, vocabulary: dict) -> list[Fraction]:
    if isinstance(token, str):
        return [Fraction(vocabulary["tokens"].index(token) + 1)]
    return [Fraction(x) for x in (token if isinstance(token, list) else [token])]


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_the_good_folders_hold_for_the_naive_evaluator(folder):
    assert naive_holds(folder)


def random_number(rng: random.Random) -> Fraction:
    if rng.random() < 0.4:
        return Fraction(0)
    big = rng.choice([7, 7, 100, 2**70, 2**200])
    return rng.randint(-big, big) * Fraction(2) ** rng.randint(-6, 6)


def random_tensor(rng: random.Random, rows: int, columns: int = 1, factor: int = 1) -> list:
    return [[factor * random_number(rng) for _ in range(columns)] for _ in range(rows)]


def random_example(rng: random.Random) -> dict:
    """A network of random shape whose labels mean nothing: only its output is looked at."""
    width, length, positions = rng.randint(1, 5), rng.randint(1, 7), rng.random() < 0.5
    kind = rng.choice(["string", "number", "vector"])
    dimension = rng.randint(1, 3) if kind == "vector" else 1
    tensors = [random_tensor(rng, width, dimension + positions), random_tensor(rng, width)]
    layers = [make_examples.linear(width, dimension + positions, "embed")]
    for _ in range(rng.randint(0, 6)):
        size = rng.randint(1, 3)
        if rng.random() < 0.5:
            layers.append(make_examples.attention(size))
            tensors += [random_tensor(rng, size, width), random_tensor(rng, width, size, length)]
        else:
            layers.append(make_examples.feed_forward(size, ""))
            tensors += [
                random_tensor(rng, size, width),
                random_tensor(rng, size),
                random_tensor(rng, width, size),
                random_tensor(rng, width),
            ]
    layers.append(make_examples.linear(1, width, "output"))
    tensors += [random_tensor(rng, 1, width), [[Fraction(1)]]]
    tokens = {
        "string": ["a", "b", "c"],
        "number": [-0.5, 0.0, 3.0, 1e-9],
        "vector": [[rng.uniform(-2, 2) for _ in range(dimension)] for _ in range(3)],
    }[kind]
    rows = [
        {"input": rng.choices(tokens, k=rng.randint(1, length)), "label": rng.randint(0, 1)}
        for _ in range(6)
    ]
    padding = [make_examples.dyadic(random_number(rng)) for _ in range(dimension)]
    return {
        "input": {
            "kind": kind,
            "dimension": dimension,
            "length": length,
            "positions": positions,
            "padding": padding,
        },
        "labels": [0, 1],
        "tokens": tokens if kind == "string" else None,
        "rows": rows,
        "tensors": tensors,
        "layers": layers,
    }


@pytest.mark.parametrize("seed", range(150))
def test_random_networks_agree_with_the_naive_evaluator(seed, tmp_path):
    example = random_example(random.Random(seed))
    folder = tmp_path / "model"
    make_examples.write(folder, make_examples.build(example))
    model, data = check.read_model(str(folder)), check.read_data(str(folder / "data.jsonl"))
    assert check.structure_failures(model) == [] and check.data_failures(model, data) == []
    vectors = check.token_vectors(model, data)
    config = json.loads((folder / "config.json").read_bytes())
    tensors = naive_tensors(folder)
    assert tensors == example["tensors"]
    for row, sequence in zip(example["rows"], data.sequences, strict=True):
        tokens = [naive_vector(token, {"tokens": example["tokens"]}) for token in row["input"]]
        mantissa, exponent = model.network.output([vectors[place] for place in sequence])
        assert mantissa * Fraction(2) ** exponent == naive_output(config, tensors, tokens)


# ---------------------------------------------------------------- mutations


@pytest.mark.parametrize("name", ["words", "vectors", "spread"])
def test_a_flipped_weight_byte_is_accepted_only_if_the_claim_is_true(copy, name):
    """Every byte of the weights of `words`, every fourth of the others; hashes repaired."""
    folder, rng, accepted = copy(name), random.Random(name), 0
    path = folder / "weights.safetensors"
    original = path.read_bytes()
    for place in range(0, len(original), 1 if name == "words" else 4):
        changed = bytearray(original)
        changed[place] ^= rng.choice([1, 2, 4, 128, rng.randint(1, 255)])
        path.write_bytes(changed)
        reseal(folder)
        if run(folder, folder / "data.jsonl") == 0:
            accepted += 1
            assert naive_holds(folder), place
    assert accepted < len(original) / 10


def test_random_bytes_never_raise_and_never_pass(copy):
    """Damage anywhere in the four files, hashes left alone: exit 1 or 2, except in the free text
    of the certificate, which nothing hashes."""
    folder, rng = copy("vectors"), random.Random(2025)
    original = {name: (folder / name).read_bytes() for name in FILES}
    for case in range(1500):
        name = rng.choice(FILES)
        changed = bytearray(original[name])
        for _ in range(rng.choice([1, 1, 2, 8])):
            place = rng.randrange(len(changed))
            action = rng.randrange(3)
            if action == 0:
                changed[place] = rng.randrange(256)
            elif action == 1:
                del changed[place : place + rng.randint(1, 20)]
            else:
                changed[place:place] = bytes(rng.choices(b'0123456789[]{}",:-e\\ \xff', k=3))
        (folder / name).write_bytes(changed)
        code = run(folder, folder / "data.jsonl")
        assert code in (0, 1, 2)
        if code == 0 and name != "certificate.json":
            assert bytes(changed) == original[name], (case, name)
        (folder / name).write_bytes(original[name])


def test_random_bytes_in_config_with_repaired_hashes(copy):
    """The same with hashes repaired: only a config that is still true may pass."""
    folder, rng = copy("words"), random.Random(7)
    for name in ("config.json", "vocabulary.json"):
        original = (folder / name).read_bytes()
        for _ in range(700):
            changed = bytearray(original)
            changed[rng.randrange(len(changed))] = rng.choice(b'0123456789[]{}",:-e \xff')
            (folder / name).write_bytes(changed)
            reseal(folder)
            code = run(folder, folder / "data.jsonl")
            assert code in (1, 2) or naive_holds(folder)
        (folder / name).write_bytes(original)


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


# ---------------------------------------------------------------- the data and its hash


CODES = {"<f8": "d", "<f4": "f", "<f2": "e", "<i8": "q", "|i1": "b", "<u2": "H", "<u8": "Q"}


def npy(kind: str, shape: tuple, values: list, version: int = 1, fortran: bool = False) -> bytes:
    header = repr({"descr": kind, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    body = struct.pack(f"<{len(values)}{CODES.get(kind, 'q')}", *values)
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


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", "<i8", "|i1"])
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
    found = numpy.load((CHECKER / "good" / "words" / "weights.safetensors").read_bytes())
    assert found["limbs"].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 7, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "inputs, labels",
    [
        (npy("<f8", (1, 2), [0.5, float("nan")]), npy("<i8", (1,), [0])),
        (npy("<f8", (1, 2), [0.5]), npy("<i8", (1,), [0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<f8", (1,), [0.0])),
        (npy("<f8", (1, 2), [0.5, 1]), npy("<i8", (2,), [0, 0])),
        (npy("<f8", (2**40, 2**40), []), npy("<i8", (1,), [0])),
        (npy("|O", (1, 1), [0]), npy("<i8", (1,), [0])),
        (npy(">i8", (1, 1), [0]), npy("<i8", (1,), [0])),
        (npy("<f8", (0, 2), []), npy("<i8", (0,), [])),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, npy("<i8", (1,), [0])),
        (b"", b""),
    ],
)
def test_bad_arrays_are_refused(inputs, labels, tmp_path, capsys):
    write_npz(tmp_path / "d.npz", inputs, labels)
    assert run(CHECKER / "good" / "spread", tmp_path / "d.npz") == 2
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
{"input": ["a"], "label": [1]}
{"input": ["a"], "label": null}
{"input": ["a"], "label": 1, "count": 0}
{"input": ["a"], "label": 1, "count": 1.0}
{"input": ["a"], "label": 1, "count": 9223372036854775808}
{"input": ["a"], "input": [], "label": 1}
""".strip().split("\n")
BAD_LINES += [
    '{"input": ["a"], "label": 1}\n{"input": ["a"], "label": "b"}',
    "",
    "\n\n",
    '{"input": [' + "9" * 400 + '], "label": 1}',
    '{"input": ["a"], "label": ' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_lines_are_refused(line, tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text(line)
    assert run(CHECKER / "good" / "words", tmp_path / "d.jsonl") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_data_of_another_kind_does_not_hold(tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text('{"input": [1.0], "label": "same"}')
    assert run(CHECKER / "good" / "words", tmp_path / "d.jsonl") == 1
    assert "the data holds numbers" in capsys.readouterr().out


# ---------------------------------------------------------------- small parts


def test_long_decimals_are_read_exactly():
    for number in (10**5000 + 7, -(3**20000), 10**4000, -5):
        digits = hex(abs(number))
        text, rest = "", abs(number)
        while rest:
            rest, low = divmod(rest, 10**1000)
            text = (f"{low:01000d}" if rest else str(low)) + text
        assert hex(abs(check.decimal("-" * (number < 0) + text))) == digits
        assert (check.decimal("-" * (number < 0) + text) < 0) == (number < 0)


def test_padding_may_be_strings_and_need_not_be_canonical():
    assert check.read_dyadic(["-6", "-2"], "") == (-3, -1) == check.read_dyadic([-6, -2], "")
    for pair in ([1], [1, 2, 3], "12", [1.0, 0], ["1_0", 0], [" 1", 0], [True, 0], [1, 2**22 + 1]):
        with pytest.raises(check.Refusal):
            check.read_dyadic(pair, "")


def test_unknown_is_no_label(tmp_path, capsys):
    """`vectors` has unknown = 3: an output of 3 says so instead of naming a label."""
    example = make_examples.vectors()
    example["tensors"][-1] = [[1]]
    make_examples.write(tmp_path / "m", make_examples.build(example))
    assert run(tmp_path / "m", tmp_path / "m" / "data.jsonl") == 1
    assert "the network answers that it is unknown" in capsys.readouterr().out


def test_a_terminal_never_sees_raw_control_characters(copy, capsys):
    folder = copy("words")
    (folder / "data.jsonl").write_text('{"input": ["\\u001b[2J\\u009b\\ud800"], "label": "same"}')
    assert run(folder, folder / "data.jsonl") == 1
    out = capsys.readouterr().out
    assert out.isascii() and "\x1b" not in out
