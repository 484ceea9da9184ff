"""Watch: what a command tells while it works. The command line draws it."""

from collections.abc import Callable


class Watch:
    """Stages of long work; this one shows nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins; total is the number of its steps, if that is known."""

    def expect(self, total: int) -> None:
        """The number of steps of the stage is known better now."""

    def advance(self, steps: int) -> None:
        """Some steps of the stage are done."""

    def note(self, sentence: str) -> None:
        """Something happened that explains the wait."""


class Noting(Watch):
    """Hands every note to a function, and shows nothing else."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report

    def note(self, sentence: str) -> None:
        self.report(sentence)


SILENT = Watch()
