"""statements as tables, one per paper."""

from ..api.statements import Statements
from ..theory.statements import PAPERS
from .terminal import Group, RenderableType, Text, columns


def view(result: Statements) -> Group:
    parts: list[RenderableType] = []
    for paper in dict.fromkeys(row.paper for row in result.rows):
        table = columns("statement", "where", "says, and the command that shows it")
        for row in result.rows:
            if row.paper == paper:
                says = Text(row.says).append(f"\nbyheart {row.command}", "cyan")
                table.add_row(Text(row.item), Text("\n".join(row.shown), style="dim"), says)
        parts += [Text(PAPERS[paper], style="bold"), table, Text()]
    return Group(*parts[:-1])
