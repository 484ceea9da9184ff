"""Results as tables: aligned text for a terminal, HTML for a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from typing import Any

from ..errors import ByheartError
from .words import harmless

Content = tuple[str, tuple[str, ...], list[tuple[object, ...]]]  # title, head, rows


def number(value: object) -> str:
    """A count with commas, a measure with four digits, a dash for what is not known.

    >>> [number(x) for x in (1234567, 1.23456, 14872.48, 15216.0, 0.00012346, None, "x")]
    ['1,234,567', '1.235', '14,870', '15,216', '0.0001235', '-', 'x']
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if 1000 <= abs(value) < 1e15:  # nan and infinities are not
        shown = value if value.is_integer() else float(f"{value:.4g}")
        return f"{shown:,.0f}"
    return f"{value:.4g}"


def plural(count: object, noun: str) -> str:
    """A number of things.

    >>> plural(1, "context"), plural(1200, "context")
    ('1 context', '1,200 contexts')
    """
    return f"{number(count)} {named(count, noun)}"


def named(count: object, noun: str) -> str:
    """The noun for a number of things that stands elsewhere."""
    return noun if count == 1 else f"{noun}{'es' if noun.endswith(('sh', 'ss')) else 's'}"


def upto(least: int, most: int, noun: str) -> str:
    """A range of numbers of things.

    >>> upto(0, 1, "token"), upto(1, 1, "token")
    ('0 to 1 tokens', '1 token')
    """
    return plural(most, noun) if least == most else f"{number(least)} to {number(most)} {noun}s"


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The title, and the columns below their names; whatever the cells hold is shown as text."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line("td", map(number, row)) for row in rows)
    return f"<table><caption>{escape(title)}</caption>{line('th', head)}{body}</table>"


class Tabular(ABC):
    """A result that prints as a table, in a terminal and in a notebook."""

    @abstractmethod
    def table(self) -> Content:
        """The title, the names of the columns, and the rows."""

    def __repr__(self) -> str:
        title, head, rows = self.table()
        lines = [head, *([harmless(number(value)) for value in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join([harmless(title), *padded])

    def to_pandas(self) -> Any:
        """A data frame: the rows of `.json()`, if it has any, else those of the table."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ByheartError("to_pandas needs pandas; install it with pip.") from error
        rows = self.json().get("rows") if hasattr(self, "json") else None
        if rows:
            return pandas.DataFrame(rows)
        _, head, cells = self.table()
        return pandas.DataFrame(cells, columns=list(head))

    def _repr_html_(self) -> str:
        return html_table(*self.table())
