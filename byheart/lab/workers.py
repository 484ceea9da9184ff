"""Train what a sweep lacks: where trials run, and whether they can, before the first one starts."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from ..errors import ByheartError
from ..machine.engines import Engine, Workers
from ..machine.engines.tasks import TaskFailed
from ..machine.installing import remedy
from ..machine.memory import require
from ..machine.watch import Watch
from .material import Material
from .problem import Problem
from .protocol import Protocol
from .sweeps.rows import Rows, check_configuration, check_rows, checked, settle
from .sweeps.sweep import RowsByKey, Sweep
from .trial import Row, Trial

SPARE = 1  # trials submitted beyond what can run, so that no worker waits for the next one


def rows_of(
    sweep: Sweep, material: Material, folder: Path, workers: Workers, watch: Watch
) -> tuple[RowsByKey, int]:
    """All rows of the folder, and how many are new. Trials that have a row are not run again."""
    before = {row["key"]: row for row in checked(folder)}
    check_rows(folder, before.values(), sweep.json())
    if not sweep.wanted(before):
        check_configuration(folder, sweep.json())
        return before, 0
    check_packages(sweep.protocol, workers)
    missing = [trial for trial in sweep.trials() if trial.key not in before]
    check_memory(missing, material, workers.here)
    from . import train

    with workers.start(train.run) as engine:  # nothing is written if there is no cluster
        rows = execute(sweep, material.of, folder, engine, watch)
    after = {row["key"]: row for row in rows}
    return after, len(after.keys() - before.keys())


def check_packages(protocol: Protocol, workers: Workers = Workers()) -> None:  # noqa: B008
    """ByheartError if a library that training needs is not installed."""
    needed = {"torch": True, "optuna": protocol.search is not None}
    needed["pytorch_optimizer"] = any(x.optimiser == "soap" for x in protocol.attempts)
    missing = [name for name, is_needed in needed.items() if is_needed and find_spec(name) is None]
    if missing:
        name = "PyTorch" if "torch" in missing else missing[0]
        raise ByheartError(f"training needs {name}: {remedy('lab')}.")
    workers.check()


def check_memory(trials: Sequence[Trial], material: Material, jobs: int) -> None:
    """ByheartError if the largest trials do not fit together."""
    bytes_of = {trial.key: trial.memory(material.of(trial)) for trial in trials}
    largest = sorted(trials, key=lambda trial: (bytes_of[trial.key], trial.key))[-jobs:]
    sizes = ", ".join(f"{name} {size:,}" for name, size in largest[-1].sizes.items())
    what = f"training {sizes}" + (f" in {len(largest)} processes" if len(largest) > 1 else "")
    needed = sum(bytes_of[trial.key] for trial in largest)
    advice = "use smaller sizes, less data or a smaller `jobs=...`"
    require(needed, largest[-1].architecture, what, advice)


def execute(
    sweep: Sweep, problems: Callable[[Trial], Problem], folder: Path, engine: Engine, watch: Watch
) -> list[Row]:
    """All rows of the folder, after those that the sweep wanted were added.

    problems  the problem of a trial; trials of the same data get the same object

    A trial that fails does not stop the others: TaskFailed comes when they are done. At an
    interrupt, and after an error, all rows that the engine handed over are in the file.
    """
    failed: list[TaskFailed] = []
    waiting: deque[Trial] = deque()
    submitted: set[str] = set()
    with Rows(folder) as rows:
        settle(folder, sweep.json())  # while no other run may write here
        began, done, total = time.monotonic(), sweep.done(rows.rows), sweep.total(rows.rows)
        ended = 0
        watch.stage("training", total)
        watch.advance(done)
        watch.note(f"{done} of {total}")
        while True:
            while engine.running < engine.jobs + SPARE:
                if not waiting:  # a large grid takes long to go through, so it is asked rarely
                    wanted = sweep.wanted(rows.rows)
                    waiting.extend(trial for trial in wanted if trial.key not in submitted)
                if not waiting:
                    break
                trial = waiting.popleft()
                submitted.add(trial.key)
                engine.submit(trial, problems(trial))
            if not engine.running:
                break
            try:
                rows.add(engine.finished())
                done += 1
            except TaskFailed as error:
                failed.append(error)
            ended += 1
            total = sweep.total(rows.rows)
            watch.expect(total)
            watch.advance(1)
            each = (time.monotonic() - began) / ended
            parts = [f"{done} of {total}", left(each * (total - done - len(failed)))]
            watch.note(", ".join(parts + [f"{len(failed)} failed"] * bool(failed)))
        if len(failed) > 1:
            more = f"{len(failed)} trials failed, and all others are kept; the first was "
            raise ByheartError(f"{more}{failed[0]}") from failed[0]
        if failed:
            raise failed[0]
        return list(rows.rows.values())


def left(seconds: float) -> str:
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.0f} h left"
