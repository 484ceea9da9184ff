"""A progress bar on a terminal, nothing in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..machine.watch import SILENT, Watch


@contextmanager
def watching() -> Iterator[Watch]:
    """What shows the stages of long work on standard error while the block runs."""
    if not sys.stderr.isatty():
        yield SILENT
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(30),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        yield _Bar(progress)


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Say at an interrupt that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {folder}, and the same command resumes"
        print(f"byheart: interrupted; {kept}.", file=sys.stderr)
        raise


class _Bar(Watch):
    """The stages as one bar, which starts again with each of them."""

    def __init__(self, progress: Progress) -> None:
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
