"""Watch: the progress of long work. The command line draws it."""

import sys
import time
from contextvars import ContextVar, Token
from typing import Any, Self

PATIENCE, EVERY = 2.0, 0.5  # seconds before a notebook shows a line, and between two updates


class Watch:
    """Progress through the stages of long work; this base class shows nothing.

    Within `with watch:` it is also noted when kernels are compiled.
    """

    _before: "Token[Watch]"

    def __repr__(self) -> str:
        return "SILENT"  # in signatures

    def __enter__(self) -> Self:
        self._before = _entered.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _entered.reset(self._before)

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
        self.note(sentence)


class Quiet(Watch):
    """Shows nothing; in a notebook, long work has a line below its cell."""

    name, done, size = "", 0, 0
    began = last = 0.0
    cell: object = None
    line: Any = None

    def stage(self, name: str, total: int | None = None) -> None:
        self.name, self.done, self.size = name, 0, total or 0
        self.show()

    def expect(self, total: int) -> None:
        self.size = total

    def advance(self, steps: int) -> None:
        self.done += steps
        self.show()

    def note(self, sentence: str) -> None:
        self.show(sentence)

    def show(self, said: str = "") -> None:
        """Update the line, if it is time for it."""
        shell = sys.modules["IPython"].get_ipython() if "ipykernel" in sys.modules else None
        now = time.monotonic()
        if shell is None or now - self.last < EVERY:
            return
        if self.cell != shell.execution_count:
            self.cell, self.line, self.began = shell.execution_count, None, now
        self.last = now
        share = f" {min(1, self.done / self.size):.0%}" if self.size else ""
        text = {"text/plain": f"byheart: {self.name}{share} {said}".rstrip()}
        if self.line is not None:
            self.line.update(text, raw=True)
        elif now - self.began >= PATIENCE:
            self.line = sys.modules["IPython"].display.display(text, raw=True, display_id=True)


SILENT = Quiet()
_entered: ContextVar[Watch] = ContextVar("entered", default=SILENT)


def current() -> Watch:
    """The watch of the innermost `with` block: for kernels, which are compiled at any depth."""
    return _entered.get()
