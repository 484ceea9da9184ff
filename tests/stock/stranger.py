"""What a stranger does to a model folder: files are changed, and the hashes are made again."""

import hashlib
import json
from pathlib import Path


def signed(folder: Path) -> Path:
    """Hashes of the files as they are now: what a stranger would write."""
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    for name in certificate["files"]:
        certificate["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(certificate))
    return folder


def changed(folder: Path, name: str, **values: object) -> Path:
    """Keys of a JSON file are set."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return signed(folder)


def held_in(folder: Path) -> list[tuple[list[int], int]]:
    """Every context of ground_truth.jsonl with the token that follows it."""
    found = []
    for line in map(json.loads, (folder / "ground_truth.jsonl").read_text().splitlines()):
        tokens = [part["number"] for part in line.get("tokens", ())] or [line["answer"]]
        found += [([*line["context"], *tokens[:i]], token) for i, token in enumerate(tokens)]
    return found
