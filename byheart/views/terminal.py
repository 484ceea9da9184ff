"""What views are made of: aligned rows, sentences and columns, and text set as a printer would."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Group as Group
from rich.console import RenderableType as RenderableType
from rich.table import Column, Table
from rich.text import Text

from ..machine.tables import number, plural

STYLES = {"proved": "bold green", "sampled": "green", "observed": "yellow", "refuted": "bold red"}
CLOSING, OPENING = set(".,;:!?)]}’”…%"), set("“‘([{’")
Row = tuple[str, str, str]


def rows(lines: Iterable[Row]) -> Table:
    """Name, value and remark, aligned."""
    name, remark = Column(style="cyan", no_wrap=True), Column(style="dim", overflow="fold")
    table = Table.grid(name, *right("", no_wrap=True), remark, padding=(0, 2))
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def sentences(lines: Iterable[tuple[str, str]], style: str = "") -> Table:
    """Names, and sentences beside them."""
    table = Table.grid(Column(style="cyan", no_wrap=True), Column(style=style), padding=(0, 2))
    for name, sentence in lines:
        table.add_row(Text(name), Text(sentence))
    return table


def columns(*heads: str | Column, space: int = 2) -> Table:
    """A table without lines, to which rows are added."""
    return Table(*heads, box=None, pad_edge=False, padding=(0, space, 0, 0))


def right(*names: str, no_wrap: bool = False, style: str = "") -> list[Column]:
    return [Column(name, justify="right", no_wrap=no_wrap, style=style) for name in names]


def listed(lines: Sequence[object], most: int, where: str = "") -> list[Text]:
    """The first lines, each indented, and how many more there are."""
    shown = [Text(f"  {line}") for line in lines[:most]]
    more = len(lines) - most
    return [*shown, Text(f"  and {number(more)} more{where}")] if more > 0 else shown


def rounded(value: float | None) -> float | None:
    return round(value) if isinstance(value, float) and value >= 1000 else value


def counts(data: object, *nouns: str) -> str:
    """How large a dataset is: the number of each of these."""
    chosen = nouns or ("sequence", "context", "label")
    return ", ".join(plural(getattr(data, f"{noun}s"), noun) for noun in chosen)


def drawn(picture: str | None, before: str = "\n") -> list[Text]:
    return [Text(f"{before}drawn in {picture}")] if picture else []


def notes(lines: Iterable[str]) -> list[Text]:
    return [Text(f"note: {line}.", style="yellow") for line in lines]


def codes(text: str) -> str:
    """One line for each of A1, A2, ... (or G1, D1); codes of other letters stay in their line."""
    return re.sub(rf"\s+(?={text[:1]}\d+ )", "\n", text)


def gap(before: str, after: str) -> str:
    """What stands between two tokens of text, as a printer would set them."""
    return "" if not before or after[0] in CLOSING or before[-1] in OPENING else " "


def typeset(tokens: Sequence[str]) -> str:
    """The tokens as running text.

    >>> typeset(["“", "A", "word", ",”", "she", "said", "."])
    '“A word,” she said.'
    """
    pairs = zip(["", *tokens], tokens, strict=False)
    return "".join(gap(before, after) + after for before, after in pairs)
