"""Write docs/methods.md from the headers of the theorem files.

python docs/make_methods.py
"""

import re
from pathlib import Path

from byheart.constructions import ALL
from byheart.constructions.base import Construction

PAGE = Path(__file__).parent / "methods.md"
INTRODUCTION = """# The methods

What `byheart methods` lists, in full. This page is written by `docs/make_methods.py` from the first
lines of the files in `byheart/constructions/`; the codes A1, G1, D1 come back in error messages,
comments and tests. *Departures* says what is not literally the theorem, and which errors of the
paper had to be repaired.
"""


def page() -> str:
    """One section a method; forms that share a file share a section."""
    sections: dict[tuple[str, str], list[Construction]] = {}
    for construction in ALL:
        place = type(construction).__module__
        sections.setdefault((construction.name, place), []).append(construction)
    return "\n".join([INTRODUCTION, *(_section(group) for group in sections.values())])


def _section(group: list[Construction]) -> str:
    header = group[0].header
    forms = [f"`--form {construction.form}`" for construction in group if construction.form]
    title = f"## {group[0].name}" + (f" ({', '.join(forms)})" if forms else "")
    lines = [title, "", header.summary, "", f"**Theorem**: {header.paper}, {header.item}", ""]
    lines += [header.statement, ""]
    for name in ("assumptions", "guarantee", "departures"):
        lines += [f"**{name.capitalize()}**", "", *_items(getattr(header, name)), ""]
    return "\n".join(lines)


def _items(text: str) -> list[str]:
    """A point for each of A1, A2, ..."""
    return [f"- {part.strip()}" for part in re.split(r"\s+(?=[AGD]\d+\s\s?)", text) if part.strip()]


if __name__ == "__main__":
    PAGE.write_text(page())
