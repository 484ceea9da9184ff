"""What all benchmarks share: options, tables, records, pages, and processes of their own."""

import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
MEASURED = ROOT / "benchmarks" / "measured.json"  # with which code each record was written
WORD = re.compile(r"`|[A-Za-z]{3}")


@dataclass(frozen=True)
class Options:
    """How a benchmark runs.

    largest  sizes above this are left out
    data     the folder with CounterFact, TinyStories and other files that are not shipped
    tiny     sizes that take seconds, to see whether the program works
    """

    largest: int | None = None
    data: Path = DATA
    tiny: bool = False

    def sizes(self, full: Iterable[int], tiny: Iterable[int]) -> list[int]:
        """The sizes to measure."""
        limit = self.largest
        return [x for x in (tiny if self.tiny else full) if limit is None or x <= limit]

    def file(self, name: str) -> Path:
        """A file of the data folder."""
        if not (path := self.data / name).exists():
            raise SystemExit(f"{self.data} has no {name}; give the folder with --data")
        return path

    def apart(self, function: Callable[..., Any], *arguments: Any, threads: int | None = None):
        """What a function returns in a fresh process, or in this one if sizes are tiny."""
        if self.tiny:
            return function(*arguments)
        names = [f"{x}_NUM_THREADS" for x in ("OMP", "OPENBLAS", "MKL", "NUMBA")]
        before = dict(os.environ)
        os.environ.update({name: str(threads) for name in names if threads})
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                return pool.submit(function, *arguments).result()
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def cpu_seconds() -> Iterator[None]:
    """Within it, the seconds that `compile` records are CPU time: others may use the machine."""
    clock = time.perf_counter
    time.perf_counter = time.process_time
    try:
        yield
    finally:
        time.perf_counter = clock


def facts(model) -> dict:
    """The numbers of a compiled network that tables print, by name."""
    history, bits = model.record, model.bits
    return {
        "contexts": history.data.contexts,
        "nonzero": model.parameters.nonzero,
        "counted": model.parameters.counted,
        "dense": model.parameters.dense,
        "bits": bits.total / bits.information,
        "encoded": bits.encoded / bits.information,
        "longest": bits.largest,
        "depth": model.network.depth,
        "tries": history.search.tries,
        "evidence": model.verification.evidence,
        "checked": model.verification.checked,
        "build": history.seconds["build"],
        "verify": history.seconds["verify"],
    }


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; integers get separators, and a column of numbers is right-aligned."""
    body = [[f"{x:,}" if isinstance(x, int) else str(x) for x in row] for row in rows]
    left = [any(WORD.search(row[i]) for row in body) for i in range(len(heads))]
    rule = ["---" if x else "---:" for x in left]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *body])


def of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def machine() -> str:
    """The machine and the interpreter, for records."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def recorded(name: str) -> Any:
    """What the last run with --write recorded."""
    return json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())


def record(name: str, results: Any) -> None:
    path = ROOT / "benchmarks" / f"{name}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    states = {**_states(), name: _commit()}
    MEASURED.write_text(json.dumps(dict(sorted(states.items())), indent=1) + "\n")


def shown(name: str, text: str) -> str:
    """What a page shows of a record: its tables, and the commit that it was measured with."""
    state = _states().get(name)
    return text if state is None else f"{text}\n\nMeasured with commit {state}."


def _states() -> dict[str, str]:
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def _commit() -> str:
    """The commit that is checked out, with its date, and whether the code differs from it."""

    def git(*arguments: str) -> str:
        command = ("git", "-C", str(ROOT), *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "byheart", "checker", "benchmarks/*.py")
    return git("show", "-s", "--format=%h of %cs", "HEAD") + (", changed" if changed else "")


def part(page: Path, name: str) -> str | None:
    """The text of a page between the marks of a benchmark; None if it has no such marks."""
    _, begin, rest = page.read_text().partition(f"<!-- {name}:begin -->\n")
    return rest.partition(f"\n<!-- {name}:end -->")[0] if begin else None


def write(page: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a benchmark, if the page has them."""
    if (before := part(page, name)) is not None:
        begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
        page.write_text(page.read_text().replace(f"{begin}{before}{end}", f"{begin}{text}{end}"))
