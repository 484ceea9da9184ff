"""Run a sweep: keep an engine busy with the trials it wants, and store every row when it comes."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ...errors import ByheartError
from ..engines import Engine, TrialFailed
from ..problem import Problem
from ..trial import Row, Trial
from .rows import Rows, settle
from .sweep import RowsByKey

SPARE = 1  # trials submitted beyond what can run, so that nobody waits for the next one


class Question(Protocol):
    """What is asked of a Sweep: the trials that it wants, given the rows that are there.

    A trial that is wanted stays so until its row is there, whatever other rows come.
    """

    def wanted(self, rows: RowsByKey) -> list[Trial]: ...

    def total(self, rows: RowsByKey) -> int: ...

    def done(self, rows: RowsByKey) -> int: ...

    def json(self) -> dict:
        """The configuration, which stays beside the rows."""
        ...


class Watch(Protocol):
    """Who is told how far it is."""

    def stage(self, name: str, total: int | None = None) -> None: ...

    def expect(self, total: int) -> None: ...

    def advance(self, steps: int) -> None: ...

    def note(self, sentence: str) -> None: ...


def execute(
    sweep: Question,
    problems: Callable[[Trial], Problem],
    folder: Path,
    engine: Engine,
    watch: Watch,
) -> list[Row]:
    """All rows of the folder, after those that the sweep wanted were added.

    problems  the problem of a trial; trials of the same data get the same object

    A trial that fails does not stop the others: TrialFailed comes when they are done. At an
    interrupt, and after an error, all rows that the engine handed over are in the file.
    """
    with Rows(folder) as rows:
        settle(folder, sweep.json())  # while no other run may write here
        _raise(_failed(sweep, problems, rows, engine, watch))
        return list(rows.rows.values())


def _failed(
    sweep: Question,
    problems: Callable[[Trial], Problem],
    rows: Rows,
    engine: Engine,
    watch: Watch,
) -> list[TrialFailed]:
    """Run what is wanted; the trials that have no row."""
    failed: list[TrialFailed] = []
    backlog, told = _Backlog(sweep, rows), _Told(sweep, rows, watch)
    while True:
        while engine.running < engine.jobs + SPARE and (trial := backlog.next()):
            engine.submit(trial, problems(trial))
        if not engine.running:
            return failed
        try:
            rows.add(engine.finished())
        except TrialFailed as error:
            failed.append(error)
        told.more(len(failed))


class _Backlog:
    """Trials in the order in which they are started, each once."""

    def __init__(self, sweep: Question, rows: Rows) -> None:
        self.sweep, self.rows = sweep, rows
        self.waiting: deque[Trial] = deque()
        self.started: set[str] = set()

    def next(self) -> Trial | None:
        """The sweep is asked again only when nothing waits: a large grid is long to go through."""
        if not self.waiting:
            wanted = self.sweep.wanted(self.rows.rows)
            self.waiting.extend(x for x in wanted if x.key not in self.started)
        if not self.waiting:
            return None
        self.started.add(self.waiting[0].key)
        return self.waiting.popleft()


class _Told:
    """How far the sweep is, as it is told after every trial."""

    def __init__(self, sweep: Question, rows: Rows, watch: Watch) -> None:
        self.sweep, self.rows, self.watch = sweep, rows, watch
        self.began, self.ended = time.monotonic(), 0
        self.done, total = sweep.done(rows.rows), sweep.total(rows.rows)
        watch.stage("training", total)
        watch.advance(self.done)
        watch.note(f"{self.done} of {total}")

    def more(self, failed: int) -> None:
        """One more trial is over; so many of all have failed."""
        self.ended += 1
        done, total = self.done + self.ended - failed, self.sweep.total(self.rows.rows)
        each = (time.monotonic() - self.began) / self.ended
        self.watch.expect(total)
        self.watch.advance(1)
        parts = [f"{done} of {total}", left(each * (total - done - failed))]
        self.watch.note(", ".join(parts + [f"{failed} failed"] * bool(failed)))


def left(seconds: float) -> str:
    """A time that remains, in words."""
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.0f} h left"


def _raise(failed: list[TrialFailed]) -> None:
    if len(failed) > 1:
        more = f"{len(failed)} trials failed, and all others are kept; the first was "
        raise ByheartError(f"{more}{failed[0]}") from failed[0]
    if failed:
        raise failed[0]
