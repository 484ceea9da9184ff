"""Write the hostile examples: model folders that the checker must refuse.

    python checker/examples/bad_examples.py DIR

writes DIR/bad and DIR/stock/bad, and beside them DIR/good and DIR/stock/good, which it copies. Each
bad folder is a good one with a few edits; bad_examples.txt lists them all and explains how an edit
is written. The file NAME.json beside the folder NAME has the exit code and a part of the message.
Standard library only; no code is shared with check.py.
"""

import hashlib
import json
import re
import shutil
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from good_examples import CODES, Files, data_hash, encode, lines, safetensors, write

HERE = Path(__file__).resolve().parent
HEADING = re.compile(r"(\S+) \((\S+)\) exits ([12])(, readable without data)?: (.+)")


@dataclass(frozen=True)
class Example:
    """One entry of the table."""

    name: str
    base: str
    exit_code: int
    only_with_data: bool  # refused because of its data: without data it can be read
    message: str
    edits: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Where it is written: bad/NAME or stock/bad/NAME."""
        return place("bad", self.name)


def place(kind: str, name: str) -> str:
    """The folder of a good or bad example, whose name starts with stock/ if it is a checkpoint."""
    stock, _, last = name.rpartition("/")
    return f"{stock}/{kind}/{last}" if stock else f"{kind}/{last}"


def read_table() -> list[Example]:
    examples: list[Example] = []
    for line in (HERE / "bad_examples.txt").read_text(encoding="ascii").splitlines():
        if line.startswith("    "):
            last = examples.pop()
            examples.append(Example(**{**vars(last), "edits": (*last.edits, line.strip())}))
        elif line and not line.startswith("#"):
            name, base, code, data, message = HEADING.fullmatch(line).groups()
            examples.append(Example(name, base, int(code), data is not None, message, ()))
    return examples


def rebuild(example: Example) -> Files:
    """The files of a bad example."""
    base = HERE / place("good", example.base)
    files = {path.name: path.read_bytes() for path in base.iterdir()}
    for line in example.edits:
        files = edit(files, line)
    return files


def expected(example: Example) -> bytes:
    """What a checker says of it."""
    answer = {"exit": example.exit_code, "message": example.message}
    return encode({**answer, "data": example.only_with_data})


# ---------------------------------------------------------------- edits


def edit(files: Files, line: str) -> Files:
    """The files after one edit. The certificate's hash of the edited file agrees with it again."""
    if line == "claim the data":
        return claim_data(files)
    target, sign, *value = line.split(" ", 2)
    name = re.split("[/@]", target)[0]
    path = target[len(name) :]
    if sign == "-" and not path:
        return {key: content for key, content in files.items() if key != name}
    if path.startswith("@"):
        changed = splice(files.get(name, b""), path[1:], json.loads(value[0]).encode("latin-1"))
    elif sign == "as":
        _, arrays = read_arrays(files[name])
        changed = write_arrays(dict.fromkeys(arrays, value[0]), arrays)
    elif not path:
        changed = lines(json.loads(value[0]))
    else:
        change = put(path.split("/")[1:], sign, *(json.loads(text) for text in value))
        changed = change_values(name, files[name], change)
    return rehash({**files, name: changed}, name)


def splice(content: bytes, place: str, new: bytes) -> bytes:
    """The content with the bytes of a slice START:STOP replaced."""
    start, stop, _ = slice(*(int(x) if x else None for x in place.split(":"))).indices(len(content))
    return content[:start] + new + content[stop:]


def put(path: list[str], sign: str, new: object = None):
    """A function that replaces (=), inserts (+) or removes (-) the value at the path."""

    def change(value) -> None:
        *parents, last = path
        for step in parents:
            value = value[int(step) if isinstance(value, list) else step]
        if sign == "+":
            value.insert(len(value) if last == "end" else int(last), new)
            return
        key = int(last) if isinstance(value, list) else last
        if sign == "=":
            value[key] = new
        else:
            del value[key]

    return change


def change_values(name: str, content: bytes, change) -> bytes:
    """The file with `change` applied to what it holds."""
    if name.endswith(".safetensors"):
        types, arrays = read_arrays(content)
        change(arrays)
        return write_arrays(types, arrays)
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in content.splitlines()]
        change(rows)
        return lines(rows)
    value = json.loads(content)
    change(value)
    return encode(value)


def read_arrays(content: bytes) -> tuple[dict[str, str], dict[str, list]]:
    """The types and the nested lists of numbers of a safetensors file."""
    start = 8 + int.from_bytes(content[:8], "little")
    types, arrays = {}, {}
    for name, entry in json.loads(content[8:start]).items():
        first, last = entry["data_offsets"]
        code = CODES[entry["dtype"]]
        numbers = [x for (x,) in struct.iter_unpack("<" + code, content[start:][first:last])]
        for side in reversed(entry["shape"][1:]):
            numbers = [numbers[i : i + side] for i in range(0, len(numbers), side)]
        types[name], arrays[name] = entry["dtype"], numbers
    return types, arrays


def write_arrays(types: dict[str, str], arrays: dict[str, list]) -> bytes:
    """The safetensors file; an array that was added has the type of the first one."""
    usual = next(iter(types.values()))
    return safetensors((name, types.get(name, usual), array) for name, array in arrays.items())


def rehash(files: Files, name: str) -> Files:
    """The files with the hash of this one in the certificate, if it has one there."""
    certificate = json.loads(files["certificate.json"])
    if name not in certificate["files"]:
        return files
    certificate["files"][name] = hashlib.sha256(files[name]).hexdigest()
    return {**files, "certificate.json": encode(certificate)}


def claim_data(files: Files) -> Files:
    """The files with hashes and counts of the data as it is now, as if it had been verified."""
    config, certificate = (json.loads(files[name]) for name in ("config.json", "certificate.json"))
    rows = [json.loads(line) for line in files["data.jsonl"].splitlines()]
    described = config.get("input") or config.get("decoder") or {"kind": "string"}
    data = {"sha256": data_hash(described["kind"], rows), "sequences": len(rows)}
    certificate["data"] |= data
    checked = len(rows)
    if config.get("output", {}).get("every"):
        checked = sum(len(row["input"]) for row in rows)
    if "decoder" in config:
        checked = len({tuple(row["input"]) for row in rows})
        data["contexts"] = checked
    certificate["verified"] |= {"checked": checked, "correct": checked}
    files = {**files, "certificate.json": encode(certificate)}
    if "data" not in config:  # a checkpoint
        return files
    config["data"] |= data
    return rehash({**files, "config.json": encode(config)}, "config.json")


def folders(kind: str) -> list[str]:
    """The folders of all examples of a kind: good, bad, stock/good or stock/bad."""
    if kind.endswith("good"):
        return sorted(f"{kind}/{path.name}" for path in (HERE / kind).iterdir())
    return [x.folder for x in read_table() if x.folder.startswith(kind + "/")]


def write_all(root: Path) -> None:
    """Write the good and the bad examples."""
    for good in ("good", "stock/good"):
        shutil.copytree(HERE / good, root / good)
    for example in read_table():
        write(root / example.folder, rebuild(example))
        (root / f"{example.folder}.json").write_bytes(expected(example))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python checker/examples/bad_examples.py DIR")
    write_all(Path(sys.argv[1]))
