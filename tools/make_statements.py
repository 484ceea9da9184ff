"""Write docs/statements.md from byheart/theory/statements.py and the errata in tests/errata.

python tools/make_statements.py
"""

import ast
import csv
import re
from pathlib import Path

from byheart.theory.statements import PAPERS, STATEMENTS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statements.md"
INTRODUCTION = """# Every statement of the papers, and where it is

Every numbered statement of the three papers, with a command that shows it. This page is generated
by `tools/make_statements.py` from `byheart/theory/statements.py`; `byheart statements` prints the
same table. The tests run every command that is fast, and compare the list with the numbered
statements of the papers.

- *construction*: a method builds the weights that the statement is about
  ([the methods](methods.md));
- *bound*: a row of `byheart bounds` has its numbers ([bounds](bounds.md));
- *check*: `byheart check` decides it on your own numbers, data or model ([checks](check.md));
- *figure*: `byheart reproduce` redraws it ([figures](reproduce.md));
- *shown*: the command prints what the statement defines;
- *erratum*: we found something wrong with the statement or its proof, or have a remark on it
  ([errata](errata.md)).

In a command, DATA is a file of labelled sequences, TOKENS one with a label for every token, DIR a
model folder, and NEW a name for what is written.
"""
LISTED = r"(Theorem|Lemma|Proposition|Corollary|Definition|Assumption|Remark|Figure|Table)s? "
NUMBER = r"[A-H]?\.?\d+(?:\.\d+)?"


def errata(paper: str) -> list[str]:
    """The titles of the errata of a paper: the first lines of docstrings that have a Statement."""
    tests = ROOT / "tests" / "errata"
    paths = sorted([tests / f"test_{paper}.py", *tests.glob(f"test_{paper}_*.py")])
    bodies = (ast.parse(path.read_text()).body for path in paths)
    functions = (x for body in bodies for x in body if isinstance(x, ast.FunctionDef))
    texts = (ast.get_docstring(x) or "" for x in functions if x.name.startswith("test_"))
    return [text.partition("\n")[0] for text in texts if "Statement: " in text]


def standing(paper: str) -> list[str]:
    """The theorems of a paper that have errata in the table of what stands."""
    with (ROOT / "tests" / "errata" / "standing.csv").open(newline="") as file:
        return [x["theorem"] for x in csv.DictReader(file) if x["paper"] == paper and x["entries"]]


def named(title: str) -> set[str]:
    """The statements that a title names.

    >>> sorted(named("Lemmas C.1 and G.3: groups, and eq. (4) and (5)"))
    ['Lemma C.1', 'Lemma G.3', 'eq. (4)', 'eq. (5)']
    """
    found = set()
    for kind, numbers in re.findall(rf"{LISTED}({NUMBER}(?:(?:, | and ){NUMBER})*)", title):
        found |= {f"{kind} {number}" for number in re.findall(NUMBER, numbers)}
    for numbers in re.findall(r"[Ee]q\. (\(\d+\)(?:(?:, | and )\(\d+\))*)", title):
        found |= {f"eq. {number}" for number in re.findall(r"\(\d+\)", numbers)}
    return found


def page() -> str:
    """One table per paper, and the errata that name no statement of the table."""
    lines = [INTRODUCTION]
    for paper, title in PAPERS.items():
        rows = [x for x in STATEMENTS if x.paper == paper]
        wrong = {erratum: named(erratum) for erratum in errata(paper)}
        named_in_errata = set().union(*wrong.values(), *map(named, standing(paper)))
        lines += [f"## {title}", "", "| statement | where | says | command |", "| --- " * 4 + "|"]
        for row in rows:
            where = [*row.shown, *(["[erratum](errata.md)"] if row.item in named_in_errata else [])]
            command = f"`byheart {row.command}`"
            lines.append(f"| {row.item} | {', '.join(where)} | {row.says} | {command} |")
        items = {row.item for row in rows}
        rest = [erratum for erratum, about in wrong.items() if not about & items]
        if rest:
            escaped = (re.sub(r"([\\*_<])", r"\\\1", erratum) for erratum in rest)
            lines += ["", f"[Errata](errata.md) of other places: {'; '.join(escaped)}."]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
