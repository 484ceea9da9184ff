"""A progress bar on a terminal; in a pipe or a log, now and then a line."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from ..machine.watch import Watch
from ..machine.words import printable

EVERY = 30  # seconds of work of this process between two lines of a log


@contextmanager
def watching(each: str | None = None, kept: Path | None = None) -> Iterator[Watch]:
    """What shows the stages of long work on standard error while the block runs.

    each  a stage of which a log has one line per step: its steps are work of other processes
    kept  the folder of what is finished: an interrupt says that nothing of it is lost
    """
    try:
        if not sys.stderr.isatty():
            with Lines(each) as watch:
                yield watch
            return
        with bars.Progress(
            bars.SpinnerColumn(),
            bars.TextColumn("{task.description}"),
            bars.BarColumn(30),
            Share(),
            bars.TimeElapsedColumn(),
            bars.TextColumn("[dim]{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        ) as progress:
            with _Bar(progress) as watch:
                yield watch
    except KeyboardInterrupt:
        left = "nothing is left behind"
        if kept is not None:
            left = f"what is finished is kept in {kept}, and the same command resumes"
        print(f"byheart: interrupted; {left}.", file=sys.stderr)
        raise


class Share(bars.ProgressColumn):
    """The share that is done and the time that is left, where they are known."""

    def render(self, task: bars.Task) -> Text:
        if not task.total:
            return Text()
        left = task.time_remaining
        words = "" if left is None or task.finished else f", {remaining(left)}"
        return Text(f"{task.percentage:.0f} %{words}")


def remaining(seconds: float) -> str:
    """About how long it will take.

    >>> remaining(8), remaining(180), remaining(9000)
    ('8 s left', '3 min left', '2.5 h left')
    """
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.2g} {name} left"
    return f"{seconds:.0f} s left"


class _Bar(Watch):
    """The stages as one bar, which starts again with each of them."""

    def __init__(self, progress: bars.Progress) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=None, note="")

    def stage(self, name: str, total: int | None = None) -> None:
        self.progress.remove_task(self.task)  # a task cannot forget its total
        self.task = self.progress.add_task(f"{name:<10}", total=None, note="")
        self.name, self.size = name, total

    def expect(self, total: int) -> None:
        self.size = total

    def advance(self, steps: int) -> None:
        # a model is built in one go, and the steps that follow are those of its verification
        name = "verifying" if self.name == "building" else self.name
        self.progress.update(self.task, total=self.size, advance=steps, description=f"{name:<10}")

    def note(self, sentence: str) -> None:
        self.progress.update(self.task, note=sentence)

    def say(self, sentence: str) -> None:
        self.progress.console.print(f"byheart: {printable(sentence)}", markup=False)


class Lines(Watch):
    """A line of standard error for each step of one stage, and for others every EVERY seconds.

    Seconds are those that this process worked, so that a busy machine writes no more lines.
    """

    def __init__(self, each: str | None = None) -> None:
        self.each, self.name, self.said = each, "", ""
        self.size: int | None = None
        self.done, self.fresh, self.last = 0, False, time.process_time()
        self.began, self.first = 0.0, 0

    def stage(self, name: str, total: int | None = None) -> None:
        self.name, self.size, self.said = name, total, ""
        self.done, self.fresh, self.first = 0, False, 0
        self.report()

    def expect(self, total: int) -> None:
        self.size = total

    def advance(self, steps: int) -> None:
        if not self.done:  # what came before the first step says nothing about the others
            self.began, self.first = time.monotonic(), steps
        self.done, self.fresh = self.done + steps, steps > 0
        self.report()

    def note(self, sentence: str) -> None:
        self.said = sentence
        self.report(self.fresh and self.name == self.each)

    def say(self, sentence: str) -> None:
        print(f"byheart: {printable(sentence)}", file=sys.stderr, flush=True)

    def report(self, always: bool = False) -> None:
        """One line, if it is time for one."""
        if not always and time.process_time() - self.last < EVERY:
            return
        self.fresh, self.last = False, time.process_time()
        share = f"{self.done / self.size:.0%}" if self.size and not always else ""
        more = self.done - self.first
        eta = (time.monotonic() - self.began) * ((self.size or 0) - self.done) / more if more else 0
        share += f", {remaining(eta)}" if share and eta >= 1 else ""
        words = " ".join(word for word in (self.name, share, self.said) if word)
        print(f"byheart: {printable(words)}", file=sys.stderr, flush=True)
