"""Watch: the progress of long work. The command line draws it."""

from collections.abc import Callable
from contextvars import ContextVar


class Watch:
    """Progress through the stages of long work; this base class shows nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins; total is the number of its steps, if known."""

    def expect(self, total: int) -> None:
        """The stage has this many steps, now that it is known."""

    def advance(self, steps: int) -> None:
        """Some steps of the stage are done."""

    def note(self, sentence: str) -> None:
        """Something happened that explains the wait."""

    def say(self, sentence: str) -> None:
        """Something that a user should know before the work goes on."""


class Noting(Watch):
    """Hands every note to a function, and shows nothing else."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report

    def note(self, sentence: str) -> None:
        self.report(sentence)


SILENT = Watch()
# who is told of what happens far below, where no watch is handed down: compiled kernels
WATCHING: ContextVar[Watch] = ContextVar("WATCHING", default=SILENT)
