"""benchmark: scores of methods that locate, edit, unlearn, extract and attribute."""

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import __version__
from ..claims.result import Result
from ..errors import ByheartError, check_seed
from ..machine.files import refuse_existing, replacing
from ..machine.strict import Object, read_text_file
from ..machine.watch import SILENT, Watch
from .packs import pack as packs
from .scoring.methods import TASKS, Caller, Method, Problem, method_of
from .scoring.models import subject
from .scoring.tasks import TASKS as TASK
from .scoring.tasks import Asked

LIMIT = 600.0  # seconds that all calls of a method may take in a task


@dataclass(frozen=True)
class BenchmarkRow(Result):
    """What a method scored in a task on a pack.

    pack_sha256    of the weights, tokenizer and facts that a method meets
    pack_seed      that its facts were drawn with
    method_sha256  of the file of the method; None of what is built in
    n              items that were asked
    scores         by name: value, low and high (95 %), floor (chance) and ceiling (exact)
    seconds        that its calls took
    problem        what the method did wrong; it has no scores then
    """

    task: str
    pack: str
    pack_sha256: str
    level: int
    family: str
    pack_seed: int
    method: str
    method_sha256: str | None
    seed: int
    n: int
    scores: dict[str, dict[str, float | None]]
    seconds: float
    problem: str | None
    versions: dict[str, str]

    @property
    def key(self) -> tuple:
        """Rows with the same key are not measured twice."""
        return self.task, self.pack_sha256, self.method, self.method_sha256, self.seed


@dataclass(frozen=True)
class Benchmark(Result):
    """Rows of a benchmark; so many were in the file already."""

    rows: tuple[BenchmarkRow, ...]
    output: str | None
    repeated: int
    picture: str | None = None

    def json(self) -> dict:
        return {"kind": "benchmark", **super().json()}


def benchmark(
    task: str,
    pack: str | Path,
    method: str | Callable | Sequence[str | Callable],
    *,
    output: str | Path | None = None,
    limit: float = LIMIT,
    seed: int = 0,
    watch: Watch = SILENT,
) -> Benchmark:
    """Score methods on a pack, whose truth is known; the code of a method's file is run.

    Args:
        task: "locate", "edit", "unlearn", "extract" or "attribute".
        pack: A folder that `generate("pack", ...)` wrote.
        method: "my_file.py:function", a function, "exact" (the exact operation: the ceiling) or
            "random" (the floor); or several of them. docs/benchmark.md says what a function takes
            and returns.
        output: A .jsonl file to which rows are added; what it has is not measured again.
        limit: Seconds that all calls of a method may take.
        seed: That torch gets before each method.
        watch: Where progress is reported.

    Returns:
        The rows, with a `problem` for a method that did something wrong.

    Example:
        >>> import byheart, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     small = {"subjects": 6, "forgotten": 2, "edited": 2}
        ...     _ = byheart.generate("pack", f"{place}/p", name="single", **small)
        ...     found = byheart.benchmark("locate", f"{place}/p", "exact")
        >>> found.rows[0].scores["precision"]["value"]
        1.0
    """
    if task not in TASKS:
        raise ByheartError(f"there is no task {task!r}; there are: {', '.join(TASKS)}.")
    if not 0 < limit < float("inf"):
        raise ByheartError(f"`limit` must be a number of seconds above 0, not {limit!r}.")
    check_seed(seed)
    given = [method] if isinstance(method, str) or callable(method) else list(method)
    if not given:
        raise ByheartError("name a method with `method=...`: my_file.py:function, exact or random.")
    watch.stage("loading")
    methods = [method_of(x, task) for x in given]
    rows = {row.key: row for row in ([] if output is None else kept(output, new=True))}
    opened = packs.read(pack)
    keys = [(task, opened.sha256, one.name, one.sha256, seed) for one in methods]
    repeated = sum(key in rows for key in keys)
    for key, one in zip(keys, methods, strict=True):
        if key in rows:
            watch.note(f"{one.name} is in {output} already")
            continue
        rows[key] = _scored(task, opened, one, limit, seed, watch)
        if output is not None:
            lines = (json.dumps(x.json(), ensure_ascii=False) + "\n" for x in rows.values())
            with replacing(output) as file:
                file.write("".join(lines).encode())
    found = tuple(map(rows.__getitem__, keys))
    return Benchmark(found, None if output is None else str(output), repeated)


def _scored(
    task: str, pack: packs.Pack, method: Method, limit: float, seed: int, watch: Watch
) -> BenchmarkRow:
    import torch

    watch.stage(f"{task}: {method.name}")
    asked, n, scores, problem = subject(Path(pack.folder) / "model"), 0, dict[str, Any](), None
    call = Caller(asked, limit)
    torch.manual_seed(seed)
    try:
        n, found = TASK[task](Asked(pack, asked, method.functions(pack), call, watch))
        scores = {name: x._asdict() for name, x in found.items()}
    except Problem as error:
        problem = f"{error}."
    versions = {"byheart": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("torch", "transformers")}
    return BenchmarkRow(
        task, pack.name, pack.sha256, pack.level, pack.family, pack.seed, method.name,
        method.sha256, seed, n, scores, round(call.spent, 3), problem, versions,
    )  # fmt: skip


def kept(path: str | Path, new: bool = False) -> list[BenchmarkRow]:
    """The rows of a file; none if it may be new and is not there."""
    if new and not Path(path).exists():
        refuse_existing(Path(path), force=False)  # its directory must exist
        return []
    found = []
    for number, line in enumerate(read_text_file(Path(path)).splitlines(), 1):
        given = Object.parse(line, f"{path}, line {number}")
        if set(given.values) != {x.name for x in fields(BenchmarkRow)}:
            given.refuse("it is not a row of `byheart benchmark`")
        found.append(BenchmarkRow(**given.values))
    return found


def table(path: str | Path, *, watch: Watch = SILENT) -> Benchmark:
    """The rows of a file that `benchmark` wrote."""
    return Benchmark(tuple(kept(path)), None, 0)
