"""Run a sweep: keep an engine busy with the trials it wants, and store every row when it comes."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ...errors import ByheartError
from ...machine.engines import Engine, TaskFailed
from ...machine.watch import Watch
from ..problem import Problem
from ..trial import Row, Trial
from .rows import Rows, settle
from .sweep import Sweep

SPARE = 1  # trials submitted beyond what can run, so that no worker waits for the next one


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
    """The remaining time in words."""
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.0f} h left"
