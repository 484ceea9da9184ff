"""Run checker/check.py, which shares no code with byheart, as a process of its own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ..data.load import applicable, holds_tokens, write_jsonl
from ..errors import ByheartError
from .model import Model
from .source import load_for, on_conflict, stored

READS = (".jsonl", ".npz")


def script() -> Path:
    """Where the checker is: installed as byheart_checker, or in a checkout's checker folder."""
    home = Path(__file__).resolve().parents[2]
    for place in (home / "byheart_checker" / "check.py", home / "checker" / "check.py"):
        if place.is_file():
            return place
    raise ByheartError("the independent checker is not installed; install byheart again.")


def check(
    model: Model, directory: Path, data: str | Path | None, sample: int | None, seed: int
) -> dict:
    """The checker's answer; data that it does not read is handed over in canonical form."""
    if data is None:
        return _run(directory, [])
    options = [] if sample is None else ["--sample", str(sample), "--seed", str(seed)]
    data = Path(data)
    # whether the checker reads the file itself, and finds in it what the model was compiled on
    plain = holds_tokens(data) and data.suffix.lower() in READS
    plain = plain and not applicable(data, stored(model)) and on_conflict(model) == "refuse"
    if plain and data.is_file():
        return _run(directory, [str(data.resolve()), *options])
    with tempfile.TemporaryDirectory(prefix="byheart-") as folder:
        canonical = Path(folder) / "data.jsonl"
        write_jsonl(load_for(model, data), canonical)
        return _run(directory, [str(canonical), *options])


def _run(directory: Path, arguments: list[str]) -> dict:
    command = [sys.executable, "-I", str(script()), str(directory.resolve()), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 1):
        lines = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
        raise ByheartError(f"the checker refuses: {lines[-1].removeprefix('check: ')}")
    return json.loads(done.stdout)
