"""Every numbered statement of the three papers, and the command that shows it.

The rows are in statements.csv, with semicolons between names; docs/statements.md is generated
from them. In a command, DATA is a file of labelled sequences of words, TOKENS one with a label for
every token, and NEW a name for what is written.
"""

import csv
from importlib.resources import files
from typing import NamedTuple

PAPERS = {
    "madden2024": "Madden, Fox and Thrampoulidis (madden2024)",
    "dana2024": "Dana, Pydi and Chevaleyre (dana2024)",
    "kajitsuka2025": "Kajitsuka and Sato (kajitsuka2025)",
}
KINDS = ("methods", "bounds", "checks", "figures")


class Statement(NamedTuple):
    """A statement, and where byheart has it."""

    paper: str
    item: str
    says: str  # what it states, in a few words
    command: str  # what follows "byheart" on a command line that shows it
    # constructions that carry it out, as `byheart methods` names them
    methods: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()  # rows of `byheart bounds`, by their items
    checks: tuple[str, ...] = ()  # checks of `byheart check`
    figures: tuple[str, ...] = ()  # figures of `byheart reproduce`

    @property
    def shown(self) -> tuple[str, ...]:
        """How: "construction", "bound", "check", "figure"; else "shown", by the command alone."""
        words = zip(("construction", "bound", "check", "figure"), KINDS, strict=True)
        return tuple(word for word, kind in words if getattr(self, kind)) or ("shown",)

    def json(self) -> dict:
        """The same as words and lists."""
        lists = {kind: list(getattr(self, kind)) for kind in KINDS}
        named = {"paper": self.paper, "item": self.item, "says": self.says}
        return {**named, "shown": list(self.shown), **lists, "command": f"byheart {self.command}"}


_TEXT = files(__package__).joinpath("statements.csv").read_text("utf-8")
STATEMENTS = tuple(
    Statement(**row | {kind: tuple(filter(None, row[kind].split("; "))) for kind in KINDS})
    for row in csv.DictReader(_TEXT.splitlines())
)
