"""statements: every numbered statement of the papers, and the command that shows it."""

from dataclasses import dataclass

from ..claims.result import Result
from ..errors import ByheartError
from ..machine.tables import Content, Tabular
from ..theory.statements import PAPERS, STATEMENTS, Statement


@dataclass(frozen=True, repr=False)
class Statements(Tabular, Result):
    rows: tuple[Statement, ...]

    def table(self) -> Content:
        lines: list[tuple[object, ...]] = [
            (row.paper, row.item, row.says, f"byheart {row.command}") for row in self.rows
        ]
        return "Statements of the papers", ("paper", "statement", "says", "command"), lines


def statements(paper: str | None = None) -> Statements:
    """The numbered statements of the papers, and where byheart shows each.

    Args:
        paper: One of them: "madden2024", "dana2024" or "kajitsuka2025".

    Returns:
        One row per statement.

    Example:
        >>> statements("dana2024").rows[0].item
        'eq. (1)'
    """
    if paper is not None and paper not in PAPERS:
        raise ByheartError(f"there is no paper {paper!r}; there are: {', '.join(PAPERS)}.")
    return Statements(tuple(row for row in STATEMENTS if paper in (None, row.paper)))
