"""Write docs/errata.md from the docstrings of the tests in tests/errata.

python tools/make_errata.py
"""

import ast
import csv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errata.md"
TESTS = ROOT / "tests" / "errata"
LATER = "Later version"
ERRATUM = ("Statement", "Counterexample", "Repair", "Still holds", LATER)
PARTS = {  # of each kind, in the order of the page
    "false as stated": ERRATUM,
    "proof needs repair": ERRATUM,
    "remark": ("Statement", "Remark", "Here", LATER),
}
VERDICTS = ("same", "changed", "withdrawn", "not seen")  # of the later version, its first words
STANDS = ("stands", "false as stated", "proof has a gap")


class Paper(NamedTuple):
    """What was read, and what is known of later versions."""

    authors: str
    texts: tuple[tuple[str, str, str, str], ...]  # title, version, date, SHA-256
    later: str


PAPERS = {
    "madden2024": Paper(
        "Madden, Fox and Thrampoulidis (madden2024)",
        (
            (
                "Upper and lower memory capacity bounds of transformers for next-token prediction",
                "arXiv 2405.13718, v1",
                "24 May 2024",
                "76608946f4603bb51d2cfec09ece500786e8b7205644a1d106a63906fc29f7de",
            ),
        ),
        "v2 (17 September 2024) and v3 have another title, *Next-token prediction capacity: "
        "general upper bounds and a lower bound for transformers*, and several heads in their "
        "lower bounds. Of these only title, abstract and introduction were seen.",
    ),
    "dana2024": Paper(
        "Dana, Pydi and Chevaleyre (dana2024)",
        (
            (
                "Memorization in Attention-only Transformers",
                "preprint, the PDF of the authors' repository at commit 3c9981c",
                "15 September 2024",
                "e047bf0107f034669f11ad21e034814134380825e9e628e75b33a1e88df70569",
            ),
        ),
        "The version of AISTATS 2025 (PMLR 258), as the authors' repository "
        "(leodana2000/Transformer_Attentional_Memory) has it at commit cffc0d8, 9 March 2025, "
        "SHA-256 of the PDF `4eaf9340ef494e066b1bf1c1846ad8fb8dcf5a8289470f106aa1ceeed3a85c33`. "
        "It was read, and every entry compared with it.",
    ),
    "kajitsuka2025": Paper(
        "Kajitsuka and Sato (kajitsuka2025)",
        (
            (
                "On the Optimal Memorization Capacity of Transformers",
                "anonymous copy for the reviewers of ICLR 2025",
                "not dated",
                "5faa5eb5aac9808d2f05b9ff58137a9ace0a314092c351699662e08c048f305c",
            ),
            (
                "the same",
                "slides of the talk at ICLR 2025",
                "not dated",
                "d7d87323a149bfc07c8a53ddf13a01dacd504874fe4e0c1f44871a41b48b90b3",
            ),
        ),
        "The published version (ICLR 2025; arXiv 2409.17677, v2 of 27 February 2025). Only its "
        "abstract was seen.",
    ),
}
INTRODUCTION = """# Errata

What we found in the papers while building what they prove. Each entry is a test that computes its
counterexample or its numbers, and this page is generated from those tests by
`tools/make_errata.py`. How our constructions deal with them is listed under *Departures* on the
[page of methods](methods.md).

An entry is about the text that was read, which for all three papers is an early version. Before you
cite one against a published paper, look at what it says of the later version:

- *same*: the later version has the statement or the step as well;
- *changed*: it has another one, and the entry says which;
- *withdrawn*: it no longer claims this;
- *not seen*: the later version was not at hand.

"""
STANDING = """## What stands

Every theorem, corollary and proposition of the papers.

- *stands*: we found no error in the statement, and what byheart builds or checks agrees with it.
  Where a step of the proof is wrong, the column *repaired* says what takes its place;
- *false as stated*: a counterexample is below;
- *proof has a gap*: the statement is not refuted, and its proof does not show it.
"""
SECTIONS = {
    "false as stated": """## False as stated

Statements of the papers, theorems or claims in the text, that do not hold as they are printed.
""",
    "proof needs repair": """## The proof needs repair

A step of a proof is wrong, and the statement is not refuted: in most cases it holds by the repair.
""",
    "remark": """## Remarks

Nothing false, but something to know before computing with it.
""",
}


class Erratum(NamedTuple):
    """An entry of the page: its kind, its parts, and the test that shows it."""

    title: str
    kind: str
    parts: dict[str, str]
    test: str

    @property
    def verdict(self) -> str:
        """What became of it in the later version, in one or two words."""
        return next(x for x in VERDICTS if self.parts[LATER].startswith(x))


def page() -> str:
    """What was read, what stands, all entries in a table, and one section per kind, by paper."""
    found = {paper: errata_of(paper) for paper in PAPERS}
    lines = [*read_texts(), *standing(found), *counted(found)]
    for kind in PARTS:
        lines.append(SECTIONS[kind])
        for paper, several in found.items():
            of_kind = [erratum for erratum in several if erratum.kind == kind]
            lines += [f"### {PAPERS[paper].authors}", ""] if of_kind else []
            for erratum in of_kind:
                parts = [f"- **{part}**: {escaped(text)}" for part, text in erratum.parts.items()]
                lines += [f"#### {escaped(erratum.title)}", "", *parts, "", f"`{erratum.test}`", ""]
    return INTRODUCTION + "\n".join(lines)


def read_texts() -> list[str]:
    """A line for each text that was read, and a sentence on later versions."""
    lines = ["## The texts that were read", ""]
    lines += ["| paper | title | version | date | SHA-256 of the text that was read |"]
    lines += ["| --- " * 5 + "|"]
    for paper in PAPERS.values():
        for title, version, date, digest in paper.texts:
            lines.append(f"| {paper.authors} | {title} | {version} | {date} | `{digest}` |")
    lines += ["", "Later versions:", ""]
    lines += [f"- {paper.authors}: {paper.later}" for paper in PAPERS.values()]
    return [*lines, ""]


def standing(found: dict[str, list[Erratum]]) -> list[str]:
    """The table of all theorems (standing.csv), with the entries that bear on each."""
    with (TESTS / "standing.csv").open() as file:
        rows = list(csv.DictReader(file))
    lines = [STANDING]
    for paper, several in found.items():
        titles = {erratum.test: erratum.title for erratum in several}
        lines += [f"### {PAPERS[paper].authors}: theorems", ""]
        lines += ["| theorem | as printed | repaired | open | entries |", "| --- " * 5 + "|"]
        for row in (row for row in rows if row["paper"] == paper):
            entries = "; ".join(titles[test] for test in row["entries"].split())
            cells = (row["theorem"], row["printed"], row["repaired"], row["open"], entries)
            lines.append("| " + " | ".join(in_table(cell or "-") for cell in cells) + " |")
        lines.append("")
    return lines


def counted(found: dict[str, list[Erratum]]) -> list[str]:
    """How many entries there are of each kind, and all of them in a table."""
    lines = ["## All entries", "", f"| paper | {' | '.join(PARTS)} | tests |"]
    lines += ["| --- |" + " ---: |" * len(PARTS) + " --- |"]
    for paper, several in found.items():
        counts = " | ".join(str(sum(x.kind == kind for x in several)) for kind in PARTS)
        files = ", ".join(f"`tests/errata/{path.name}`" for path in files_of(paper))
        lines.append(f"| {PAPERS[paper].authors} | {counts} | {files} |")
    lines += ["", "| paper | entry | kind | in the later version |", "| --- " * 4 + "|"]
    for paper, several in found.items():
        for x in sorted(several, key=lambda erratum: list(PARTS).index(erratum.kind)):
            lines.append(f"| {paper} | {in_table(x.title)} | {x.kind} | {x.verdict} |")
    return [*lines, ""]


def files_of(paper: str) -> list[Path]:
    """The files of tests of a paper: test_PAPER.py, and any test_PAPER_*.py beside it."""
    return sorted([*TESTS.glob(f"test_{paper}.py"), *TESTS.glob(f"test_{paper}_*.py")])


def errata_of(paper: str) -> list[Erratum]:
    """The entries of all files of a paper."""
    return [erratum for path in files_of(paper) for erratum in errata(path)]


def errata(path: Path) -> list[Erratum]:
    """The tests of a file whose docstrings have a kind, in their order there.

    Such a docstring is a title, an empty line, its kind, and paragraphs that begin with the names
    of the parts of that kind.
    """
    found = []
    for function in ast.parse(path.read_text()).body:
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
            continue
        text = ast.get_docstring(function) or ""
        if "Statement:" not in text:
            continue
        title, _, first, *lines = text.splitlines()
        kind = first.removeprefix("Kind: ")
        assert kind in PARTS, f"{function.name} begins with {first!r} and has no kind"
        parts: dict[str, str] = {}
        part = ""
        for line in lines:
            head, colon, rest = line.partition(": ")
            if colon and head in {name for names in PARTS.values() for name in names}:
                part, line = head, rest
            parts[part] = f"{parts[part]} {line}" if part in parts else line
        assert tuple(parts) == PARTS[kind], f"{function.name} has the parts {tuple(parts)}"
        later = f"{function.name}: {LATER} begins with one of {VERDICTS}"
        assert parts[LATER].startswith(VERDICTS), later
        found.append(Erratum(title, kind, parts, function.name))
    return found


def escaped(text: str) -> str:
    """The text as Markdown shows it literally."""
    for sign in ("\\", "*", "_", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text


def in_table(text: str) -> str:
    """The same in a cell of a table."""
    return escaped(text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
