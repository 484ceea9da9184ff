"""Aligned rows, sentences and columns, and text set as a printer would."""

import re
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from ..machine.tables import plural

STYLES = {"proved": "bold green", "sampled": "green", "observed": "yellow", "refuted": "bold red"}
CLOSING, OPENING = set(".,;:!?)]}’”…%"), set("“‘([{’")
Row = tuple[str, str, str]


def rows(lines: Iterable[Row]) -> Table:
    """Name, value and remark, aligned."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def sentences(lines: Iterable[tuple[str, str]], style: str = "") -> Table:
    """Names, and sentences beside them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style=style)
    for name, sentence in lines:
        table.add_row(Text(name), Text(sentence))
    return table


def columns(space: int = 2) -> Table:
    """A table without lines, to which columns are added."""
    return Table(box=None, pad_edge=False, padding=(0, space, 0, 0))


def counts(data: object, *nouns: str) -> str:
    """How large a dataset is: the number of each of these."""
    chosen = nouns or ("sequence", "context", "label")
    return ", ".join(plural(getattr(data, f"{noun}s"), noun) for noun in chosen)


def drawn(picture: str | None, before: str = "\n") -> list[Text]:
    """Where the picture is, if there is one."""
    return [Text(f"{before}drawn in {picture}")] if picture else []


def notes(lines: Iterable[str]) -> list[Text]:
    """What there is to say beside the numbers."""
    return [Text(f"note: {line}.", style="yellow") for line in lines]


def codes(text: str) -> str:
    """One line for each of A1, A2, ..., G1, ..., D1, ..."""
    return re.sub(r"(?<=[.:)])\s+(?=[AGD]\d+\s)", "\n", text)


def gap(before: str, after: str) -> str:
    """What stands between two tokens of text, as a printer would set them."""
    if not before or after[0] in CLOSING or before[-1] in OPENING:
        return ""
    return " "


def typeset(tokens: Sequence[str]) -> str:
    """The tokens as running text.

    >>> typeset(["“", "A", "word", ",”", "she", "said", "."])
    '“A word,” she said.'
    """
    pairs = zip(["", *tokens], tokens, strict=False)
    return "".join(gap(before, after) + after for before, after in pairs)
