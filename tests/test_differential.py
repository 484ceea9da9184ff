"""Three programs, one verdict: `byheart verify`, checker/check.py and checker/small_check.py.

Small networks (compiled from random data, and the good examples of the checker) are changed in one
place, sometimes with all hashes and counts repaired, and so is the data. Whatever comes out, the
three programs must agree that it holds (0), does not hold (1) or is not readable (2).
"""

import contextlib
import hashlib
import io
import json
import random
import shlex
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import check
import small_check
from byheart.cli import main

GOOD = Path(__file__).parents[1] / "checker/examples/good"
BY_HAND = ("extremes", "floats", "larger", "phrases", "sampled", "sets", "spread", "tags")
BY_HAND += ("vectors", "words")
FILES = ("config.json", "weights.safetensors", "vocabulary.json")
LETTERS = {"I32": "i", "I64": "q", "U8": "B", "U64": "Q", "F64": "d"}
WORDS = ["a", "b", "ab", "é", "e\u0301", "日本", "𝔹", "\u2028", "\x7f", "\n", '"', "\\", "", " "]
FLOATS = [0.5, -0.25, 1e-3, 2.0, -7.0, 1e15, 3, 0, -1, 2**53]


@dataclass(frozen=True)
class Case:
    """A model folder and its data, both in memory."""

    name: str
    files: dict[str, bytes]
    data: bytes


# ---------------------------------------------------------------- random data


def draw_labels(rng: random.Random, number: int) -> list:
    kinds = [["x", "y", "é", "", "label\n"], [0, 1, -5, 7, 2**40]]
    return rng.choices(rng.choice(kinds), k=number)


def draw_tokens(rng: random.Random, kind: str) -> list:
    """A few distinct tokens of one kind."""
    if kind == "strings":
        return rng.sample(WORDS, 5)
    if kind == "integers":
        return rng.sample(range(-20, 20), 5)
    if kind == "long integers":
        return [2**53 + 1, -(2**60) - 1, 0, 5, -7]
    if kind == "vectors":
        return [[rng.choice(FLOATS), rng.choice(FLOATS), index] for index in range(5)]
    return rng.sample(FLOATS, 5)


def draw_data(seed: int, kind: str, every: bool) -> bytes:
    """Lines of data without conflicts: each multiset of tokens once, then some lines again."""
    rng = random.Random(f"{seed} {kind} {every}")
    tokens = draw_tokens(rng, kind)
    seen: dict[str, list] = {}
    for _ in range(8):
        chosen = rng.choices(tokens, k=rng.randint(1, 3))
        seen[json.dumps(sorted(map(str, chosen)))] = chosen
    items = []
    labels = draw_labels(rng, 3)
    for chosen in seen.values():
        per_token = {str(token): rng.choice(labels) for token in chosen}
        label = [per_token[str(token)] for token in chosen] if every else rng.choice(labels)
        items.append({"input": chosen, "label": label})
    items += rng.choices(items, k=2)
    items[0] = items[0] | {"count": 3}
    return "".join(
        json.dumps(item, ensure_ascii=rng.random() < 0.5) + "\n" for item in items
    ).encode()


COMPILED = [
    ("strings", False, ["--method", "hash-fold-retrieve"]),
    ("integers", False, ["--method", "float64"]),
    ("floats", True, ["--method", "seq2seq"]),
    ("vectors", False, ["--method", "hash-fold-retrieve", "--positions"]),
    ("long integers", False, ["--method", "hash-fold-retrieve"]),
]
MORE = [
    ("strings", False, ["--method", "deep-sets"]),
    ("floats", False, ["--method", "deep-sets"]),
    ("strings", False, ["--method", "float64"]),
    ("strings", True, ["--method", "seq2seq"]),
    ("strings", False, ["--method", "sparse-attention"]),
    ("integers", False, ["--method", "limited-bits"]),
    ("strings", False, ["--method", "embedding"]),
    ("strings", False, ["--method", "hash-fold-retrieve", "--positions"]),
]


def quietly(
    program: Callable[[list[str]], int], *arguments: object, output: io.StringIO | None = None
) -> int | str:
    """The exit code of a program in this process, or the name of the error that it ended with."""
    silence = io.StringIO()
    with contextlib.redirect_stdout(output or silence), contextlib.redirect_stderr(silence):
        try:
            return program([str(argument) for argument in arguments])
        except Exception as error:  # a traceback is a disagreement with everybody
            return f"{type(error).__name__}: {error}"[:200]


def read_case(name: str, folder: Path, data: Path) -> Case:
    files = {file: (folder / file).read_bytes() for file in (*FILES, "certificate.json")}
    return Case(name, files, data.read_bytes())


def compiled(home: Path, seed: int, kind: str, every: bool, options: list[str]) -> Case:
    name = " ".join([f"seed {seed}:", kind, "every" if every else "", *options])
    home.mkdir(parents=True)
    (home / "data.jsonl").write_bytes(draw_data(seed, kind, every))
    code = quietly(main, "compile", home / "data.jsonl", "-o", home / "model", *options)
    assert code == 0, f"{name}: compile ends with {code}"
    return read_case(name, home / "model", home / "data.jsonl")


# ---------------------------------------------------------------- changes


def walk(value: object, path: tuple = ()) -> list[tuple]:
    """The paths of all values inside a JSON value."""
    inside: list[tuple] = []
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        inside += [(*path, key), *walk(value[key], (*path, key))]
    return inside


def other_value(rng: random.Random, value: object) -> object:
    """Another value: near this one, or of another type."""
    choices: list[object] = [None, True, False, 0, 1, -1, 2**20 + 1, 1.0, "", "0", [], {}, [[1, 0]]]
    if isinstance(value, int) and not isinstance(value, bool):
        choices += [value + 1, value - 1, -value, float(value), str(value), value + 2**24] * 2
    if isinstance(value, str):
        choices += [value.upper(), value + " ", value[::-1], "\x1b[31m" + value] * 2
    if isinstance(value, list):
        choices += [value[::-1], value[:-1], value * 2] * 2
    if isinstance(value, bool):
        choices += [not value] * 6
    return rng.choice(choices)


def change_json(rng: random.Random, raw: bytes) -> tuple[bytes, str]:
    """One value of a JSON object is changed, or removed."""
    found = json.loads(raw)
    path = rng.choice(walk(found))
    *parents, key = path
    place = found
    for parent in parents:
        place = place[parent]
    if rng.random() < 0.15:
        del place[key]
        return json.dumps(found).encode(), f"{path} removed"
    place[key] = other_value(rng, place[key])
    return json.dumps(found).encode(), f"{path} = {place[key]!r}"


def change_byte(rng: random.Random, raw: bytes) -> tuple[bytes, str]:
    """One byte is replaced, inserted, removed, or added at the end."""
    place = rng.randrange(len(raw))
    byte = bytes([rng.choice([rng.randrange(256), *b'01 "-'])])
    how = rng.choice(["replaced", "replaced", "inserted", "removed", "added"])
    place = len(raw) if how == "added" else place
    new = b"" if how == "removed" else byte
    rest = raw[place + (how in ("replaced", "removed")) :]
    return raw[:place] + new + rest, f"byte {place} {how}: {new!r}"


def change_weight(rng: random.Random, raw: bytes) -> tuple[bytes, str]:
    """One number of one array of a safetensors file."""
    size = int.from_bytes(raw[:8], "little")
    header, body = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    header.pop("__metadata__", None)
    name, entry = rng.choice([item for item in header.items() if item[1]["shape"] != [0]])
    begin, end = entry["data_offsets"]
    letter = LETTERS[entry["dtype"]]
    width = struct.calcsize(letter)
    index = rng.randrange((end - begin) // width)
    place = begin + index * width
    (value,) = struct.unpack_from(f"<{letter}", body, place)
    if letter == "d":
        value = rng.choice([value + 1, -value, value * 2, value / 3, 0.0, 2.0**1000, 5e-324])
    else:
        value = rng.choice([value + 1, value - 1, value ^ 2, value + 2, 0, 1, 2 * value + 1])
    try:
        changed = struct.pack(f"<{letter}", value)
    except struct.error:
        changed = b"\xff" * width
    body = body[:place] + changed + body[place + width :]
    return raw[: 8 + size] + body, f"{name}[{index}] = {value}"


def change_data(rng: random.Random, raw: bytes) -> tuple[bytes, str]:
    """One thing about the data: a line, a label, a token, or how it is written."""
    lines = raw.decode().split("\n")[:-1]
    index = rng.randrange(len(lines))
    item = json.loads(lines[index])
    kind = rng.choice(
        ["label", "token", "value", "byte", "remove", "repeat", "swap", "same key", "no label"]
        + ["byte order mark", "CRLF", "blank", "unknown key", "count", "key twice", "spelling"]
    )
    if kind == "label":
        others = [json.loads(line)["label"] for line in lines]
        item["label"] = rng.choice([*others, "never seen", 10**6, 2**70, None, 1.0, True])
    elif kind == "token" and item["input"]:
        others = [token for line in lines for token in json.loads(line)["input"]]
        others += ["\ud800", 2**70, 2**53 + 1, -0.0, 1e400, 5e-324, [1.0], [], True, None, "new"]
        item["input"][rng.randrange(len(item["input"]))] = rng.choice(others)
    elif kind == "value":
        item["input"] = rng.choice([[], item["input"] * 2, None, "ab", item["input"][:-1]])
    elif kind == "byte":
        return change_byte(rng, raw)
    elif kind in ("unknown key", "count"):
        key = "note" if kind == "unknown key" else "count"
        item[key] = rng.choice([1, 2, 0, 2**63 - 1, 2**63, True, None, 1.0, "1"])
    elif kind == "no label":
        del item["label"]
    if kind == "remove":
        del lines[index]
    elif kind == "repeat":
        lines.insert(rng.randrange(len(lines)), lines[index])
    elif kind == "swap":
        lines.reverse()
    elif kind == "key twice":
        lines[index] = lines[index].replace("{", '{"label": "x", ', 1)
    elif kind == "same key":
        lines[index] = lines[index].replace("{", '{"note": 1, "note": 2, ', 1)
    elif kind == "blank":
        lines.insert(index, rng.choice(["", " ", "\t\r", "\u00a0", "\x0c", "\u2028"]))
    elif kind == "spelling":
        lines[index] = json.dumps(item, ensure_ascii=rng.random() < 0.5, indent=None).replace(
            " ", "\t "
        )
    elif kind not in ("byte order mark", "CRLF"):
        lines[index] = json.dumps(item)
    text = ("\r\n" if kind == "CRLF" else "\n").join([*lines, ""])
    changed = text.encode("utf-8", "surrogatepass")
    changed = b"\xef\xbb\xbf" + changed if kind == "byte order mark" else changed
    return (
        changed,
        f"{kind}: {changed.splitlines()[min(index, len(lines) - 1)][:200]!r}" if lines else kind,
    )


def rehashed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the hashes in the certificate as they should be, if it can be read."""
    try:
        certificate = json.loads(files["certificate.json"])
        for name in FILES:
            certificate["files"][name] = hashlib.sha256(files[name]).hexdigest()
    except (ValueError, LookupError, TypeError):
        return files
    return files | {"certificate.json": json.dumps(certificate).encode()}


def restated(files: dict[str, bytes], data: bytes) -> dict[str, bytes]:
    """The files with what they state about the data as it is, if it can be read."""
    config, certificate = (json.loads(files[name]) for name in ("config.json", "certificate.json"))
    try:
        inputs, labels, _, sha256 = small_check.read_data(data)
    except Exception:  # whatever is wrong with the data, the three programs will say so
        return files
    for stated in (config["data"], certificate["data"]):
        stated |= {"sha256": sha256, "sequences": len(inputs)}
    total = sum(map(len, labels))
    if certificate["verified"]["evidence"] == "proved":
        certificate["verified"] |= {"checked": total, "correct": total}
    written = {"config.json": config, "certificate.json": certificate}
    return rehashed(files | {name: json.dumps(value).encode() for name, value in written.items()})


def changed(case: Case, seed: int) -> Case:
    """The case with one change, which the seed decides."""
    rng = random.Random(f"{case.name} {seed}")
    files, data = case.files, case.data
    kind = rng.choice(
        ["nothing", "json", "json", "json", "byte", "weight", "weight", "data", "data", "data"]
    )
    told = ""
    if kind == "json":
        name = rng.choice(["config.json", "config.json", "vocabulary.json", "certificate.json"])
        content, told = change_json(rng, files[name])
        files = files | {name: content}
    elif kind == "byte":
        name = rng.choice([*files])
        content, told = change_byte(rng, files[name])
        files = files | {name: content}
    elif kind == "weight":
        name = "weights.safetensors"
        content, told = change_weight(rng, files[name])
        files = files | {name: content}
    elif kind == "data":
        name = "data.jsonl"
        data, told = change_data(rng, data)
    else:
        name = ""
    mended = rng.random() < 0.7
    if mended:
        files = restated(files, data) if kind == "data" else rehashed(files)
    description = f"{case.name} | {seed} | {name} {told}{', hashes repaired' if mended else ''}"
    return Case(description, files, data)


# ---------------------------------------------------------------- the comparison


def verified(home: Path, data: Path) -> int | str:
    """byheart's verdict. Keys of the data that no claim is about are ignored by the format; byheart
    wants them to be accepted, by the command that it prints."""
    output = io.StringIO()
    code = quietly(main, "verify", home, data, "--json", output=output)
    answer = json.loads(output.getvalue() or "{}") if code == 1 else {}
    if "verify" not in answer:
        return code
    accepting = answer["verify"]
    return quietly(main, "verify", home, data, *shlex.split(accepting)[4:], "--json")


def verdicts(case: Case, home: Path) -> dict[str, int | str]:
    home.mkdir(exist_ok=True)
    for name, content in case.files.items():
        (home / name).write_bytes(content)
    data = home.parent / "data.jsonl"
    data.write_bytes(case.data)
    return {
        "byheart": verified(home, data),
        "check": quietly(check.main, home, data, "--json"),
        "small": quietly(small_check.main, home, data, "--json"),
    }


def disagreements(cases: list[Case], seeds: range, home: Path) -> tuple[list[str], list[object]]:
    """A sentence for each change about which the programs disagree, and all verdicts."""
    found, codes = [], []
    for case in cases:
        for seed in seeds:
            other = changed(case, seed)
            told = verdicts(other, home / "model")
            codes.append(told["small"])
            if len(set(told.values())) > 1:
                found.append(f"{other.name}: {told}")
    return found, codes


def judge(cases: list[Case], seeds: range, home: Path) -> None:
    found, codes = disagreements(cases, seeds, home)
    if found:
        told = "\n".join(sorted(found, key=len))
        pytest.fail(
            f"{len(found)} of {len(codes)} disagree, the shortest first:\n{told}", pytrace=False
        )
    assert set(codes) == {0, 1, 2}  # the changes were not all of one kind


@pytest.fixture(scope="module")
def by_hand() -> list[Case]:
    return [read_case(name, GOOD / name, GOOD / name / "data.jsonl") for name in BY_HAND]


def test_examples_changed_in_one_place(by_hand, tmp_path):
    judge(by_hand, range(20), tmp_path)


def test_compiled_networks_changed_in_one_place(tmp_path):
    cases = [compiled(tmp_path / str(i), 0, *given) for i, given in enumerate(COMPILED)]
    judge(cases, range(20), tmp_path)


@pytest.mark.slow
def test_examples_changed_in_very_many_places(by_hand, tmp_path):
    judge(by_hand, range(1000, 1200), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_compiled_networks_changed_in_many_places(seed, tmp_path):
    given = [*COMPILED, *MORE]
    cases = [compiled(tmp_path / str(i), seed, *options) for i, options in enumerate(given)]
    judge(cases, range(1000 * seed, 1000 * seed + 40), tmp_path)
