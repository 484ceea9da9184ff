"""Watch: the progress of long work. The command line draws it."""

from contextvars import ContextVar, Token
from typing import Self


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


SILENT = Watch()
_entered: ContextVar[Watch] = ContextVar("entered", default=SILENT)


def current() -> Watch:
    """The watch of the innermost `with` block: for kernels, which are compiled at any depth."""
    return _entered.get()
