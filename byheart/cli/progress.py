"""A progress bar on a terminal, nothing in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..machine.watch import SILENT, Watch


@contextmanager
def watching(json: bool = False) -> Iterator[Watch]:
    """What shows the stages of long work on standard error while the block runs."""
    if not sys.stderr.isatty():
        yield SILENT
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30),
               TimeElapsedColumn(), TextColumn("[dim]{task.fields[note]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress)


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Say at an interrupt that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {folder}, and the same command goes on"
        print(f"byheart: interrupted; {kept}.", file=sys.stderr)
        raise


class _Bar(Watch):
    def __init__(self, progress) -> None:  # noqa: ANN001  rich is imported late
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
