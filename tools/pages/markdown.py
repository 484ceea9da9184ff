"""Pieces of Markdown that the generated pages share."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SIGNS = re.compile(r"([\\*_<>\[\]|$~])")


def escaped(text: str) -> str:
    """The text as Markdown shows it literally; what is in backquotes stays as it is."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(x if x.startswith("`") else SIGNS.sub(r"\\\1", x) for x in pieces)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table; the columns whose numbers are in `right` are aligned there."""
    line = ["---:" if place in set(right) else "---" for place in range(len(columns))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, line, *rows))


def listed(coded: str, shown: Callable[[str], str] = escaped) -> str:
    """The items A1, A2, ... of a header's section, one per line."""
    items = re.split(r"\s+(?=[AGD]\d+\s\s?)", coded)
    coded_items = []
    for item in items:
        code = re.match(r"[AGD]\d+(?=\s)", item.strip())
        rest = item.strip()[code.end() :].lstrip() if code else item.strip()
        coded_items.append(f"**{code[0]}** {shown(rest)}" if code else shown(rest))
    return "\n".join(f"- {x}" for x in coded_items if x)


def fenced(text: str, language: str = "") -> str:
    """A code block; its fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def slug(title: str) -> str:
    """The anchor of a heading, by the rule of GitHub and of MyST.

    >>> slug("Lemmas C.1 and G.3: groups, and eq. (4)")
    'lemmas-c1-and-g3-groups-and-eq-4'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def write(path: Path, *parts: str) -> None:
    """A page of these parts, with an empty line between two."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part for part in parts if part) + "\n")
