"""Run the checkers of checker/, which share no code with byheart, as processes of their own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..claims.verification import Verification
from ..data.dataset import Dataset
from ..data.load import write_jsonl
from ..errors import ByheartError

READS = (".jsonl", ".npz")
CHECKERS = {"independent": "check.py", "verified": "verified/verified_check.py"}


class Outcome(NamedTuple):
    """What the checker answers."""

    verification: Verification
    verdict: str  # in its own word
    copied: bool  # whether it read a copy of the data, as byheart reads it
    # of a stock checkpoint: "texts", which it split itself, or "tokens"; "evaluation" if it is the
    # verified checker, which judges nothing else
    about: str | None = None


def script(name: str = "independent") -> Path:
    """Where a checker is: installed as byheart_checker, or in a checkout's checker folder."""
    home = Path(__file__).resolve().parents[2]
    for place in (home / folder / CHECKERS[name] for folder in ("byheart_checker", "checker")):
        if place.is_file():
            return place
    raise ByheartError(f"the {name} checker is not installed; install byheart again.")


def verified() -> Path:
    """The folder of the theories in Coq and of the checker that they prove."""
    return script("verified").parent


def check(
    directory: Path,
    data: Path | None,
    dataset: Dataset | None,
    texts: Iterable[dict[str, Any]] | None,
    sample: int | None,
    seed: int,
    checker: str = "independent",
) -> Outcome:
    """The checker's answer about a file as it is, or about a copy in a format that it reads.

    data     the file, if there is one
    dataset  what byheart reads there
    texts    the lines of a file of texts that stands for it; None if only tokens are known
    checker  one of CHECKERS
    """
    if checker == "verified":
        if dataset is None or sample is not None:
            raise ByheartError("the verified checker evaluates all of the data; name its file.")
        home = verified()
        if not (home / "build" / "verified").is_file():
            raise ByheartError(f"the verified checker is not built; run: python {home}/build.py")
    if dataset is None:
        return _run(checker, directory, [])
    options = [] if sample is None else ["--sample", str(sample), "--seed", str(seed)]
    # whether the checker reads the file itself, and finds in it what byheart does
    if (
        data is not None
        and data.is_file()
        and data.suffix.lower() in READS
        and not dataset.loading
        and texts is None
    ):
        return _run(checker, directory, [str(data.resolve()), *options])
    with tempfile.TemporaryDirectory(prefix="byheart-") as folder:
        canonical = Path(folder) / "data.jsonl"
        if texts is None:
            write_jsonl(dataset, canonical)
        else:
            with open(canonical, "w", encoding="utf-8", newline="") as file:
                file.writelines(f"{json.dumps(line)}\n" for line in texts)
        return _run(checker, directory, [str(canonical), *options], copied=True)


def _run(checker: str, directory: Path, arguments: list[str], copied: bool = False) -> Outcome:
    options = [str(directory.resolve()), *arguments, "--json"]
    command = [sys.executable, "-I", str(script(checker)), *options]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 1):
        lines = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
        reason = lines[-1].removeprefix("check: ").removeprefix("verified_check: ")
        raise ByheartError(f"the checker refuses: {reason}")
    answer = json.loads(done.stdout)
    checked, correct, evidence = (answer[name] for name in ("checked", "correct", "evidence"))
    failures = tuple(answer["failures"])
    verification = Verification(checked, correct, evidence, "checker", failures)
    return Outcome(verification, answer["verdict"], copied, answer.get("about"))
