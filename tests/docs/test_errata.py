"""The page of errata is what tools/make_errata.py writes now, and has all of them."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest

from byheart.theory.statements import PAPERS, STATEMENTS

ROOT = Path(__file__).parents[2]


def tool(name):
    place = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program():
    return tool("make_errata")


@pytest.fixture(scope="module")
def statements():
    return tool("make_statements")


def test_the_page_is_up_to_date(program):
    assert program.PAGE.read_text() == program.page(), "run python tools/make_errata.py"


def test_every_file_of_errata_is_a_paper_of_the_page(program):
    files = sorted(program.TESTS.glob("test_*2*.py"))
    assert files == sorted(path for paper in program.PAPERS for path in program.files_of(paper))
    assert all(program.TESTS / f"test_{paper}.py" in files for paper in program.PAPERS)


def test_a_paper_may_have_several_files(program, tmp_path, monkeypatch):
    parts = ["Kind: remark", "Statement: a.", "Remark: b.", "Here: c.", "Later version: not seen."]
    for name in ("test_dana2024.py", "test_dana2024_more.py", "test_other2024.py"):
        body = "\n    ".join([name, "", *parts])
        (tmp_path / name).write_text(f'def test_it():\n    """{body}\n    """\n')
    monkeypatch.setattr(program, "TESTS", tmp_path)
    found = program.errata_of("dana2024")
    assert [erratum.title for erratum in found] == ["test_dana2024.py", "test_dana2024_more.py"]


def test_the_page_has_every_erratum(program):
    page = program.page()
    for paper in program.PAPERS:
        text = "".join(path.read_text() for path in program.files_of(paper))
        found = program.errata_of(paper)
        assert len(found) == text.count("    Statement: ") >= 7
        for erratum in found:
            assert f"`{erratum.test}`" in page and f"def {erratum.test}(" in text


def test_parts_that_are_missing_or_out_of_order_are_refused(program, tmp_path):
    kind = "Kind: proof needs repair"
    parts = ["Statement: a.", "Counterexample: b: c.", "Repair: d", "  _e_.", "Still holds: f."]
    parts.append("Later version: changed. It has g.")
    remark = ["Kind: remark", "Statement: a.", "Remark: b.", "Here: c.", "Later version: same."]
    file = tmp_path / "test_one2020.py"

    def write(lines):
        body = "\n    ".join(["Title", "", *lines])
        file.write_text(f'def test_it():\n    """{body}\n    """\n')

    write([kind, *parts])
    (found,) = program.errata(file)
    assert found.title == "Title" and found.test == "test_it"
    assert found.kind == "proof needs repair"
    assert list(found.parts.values()) == ["a.", "b: c.", "d   _e_.", "f.", "changed. It has g."]
    assert found.verdict == "changed"
    write(remark)
    found = program.errata(file)[0].parts
    assert found == {"Statement": "a.", "Remark": "b.", "Here": "c.", "Later version": "same."}
    write([*remark[:-1], "Later version: perhaps."])
    with pytest.raises(AssertionError, match="test_it: Later version begins with one of"):
        program.errata(file)
    for wrong in (parts[:-1], parts[::-1], ["Nothing", *parts], remark[1:]):
        write([kind, *wrong])
        with pytest.raises(AssertionError, match="test_it has the parts"):
            program.errata(file)
    for wrong in (parts, ["Kind: false", *parts], ["Kind: remark", *parts]):
        write(wrong)
        with pytest.raises(AssertionError, match="test_it"):
            program.errata(file)


def test_the_page_has_three_parts(program):
    """Each entry stands below the heading of its kind, and the table counts them."""
    headings = {"## False as stated": "false as stated"}
    headings |= {"## The proof needs repair": "proof needs repair", "## Remarks": "remark"}
    kind, shown = None, {}
    for line in program.page().splitlines():
        kind = headings.get(line, kind)
        if line.startswith("`test_"):
            shown[line.strip("`")] = kind
    found = {paper: program.errata_of(paper) for paper in program.PAPERS}
    assert shown == {x.test: x.kind for several in found.values() for x in several}
    for paper, several in found.items():
        counts = [sum(x.kind == kind for x in several) for kind in headings.values()]
        table = program.page().partition("## All entries")[2].splitlines()
        row = next(x for x in table if x.startswith(f"| {program.PAPERS[paper].authors}"))
        assert [int(x) for x in row.split(" | ")[1:4]] == counts


def test_every_text_has_its_version_and_hash(program):
    page, shown = program.page(), 0
    for paper in program.PAPERS.values():
        for title, version, date, digest in paper.texts:
            assert title and version and date and re.fullmatch(r"[0-9a-f]{64}", digest)
            shown += f"| {paper.authors} | {title} | {version} | {date} | `{digest}` |" in page
        assert f"- {paper.authors}: {paper.later}" in page
    assert shown == 4


def test_every_entry_says_what_became_of_it(program):
    """In the table of all entries; those of dana2024 were compared with the later version."""
    table = program.page().partition("## All entries")[2].partition("## False")[0].splitlines()
    for paper in program.PAPERS:
        rows = [row.split(" | ") for row in table if row.startswith(f"| {paper} |")]
        shown = sorted((row[-3], row[-2], row[-1].removesuffix(" |")) for row in rows)
        found = program.errata_of(paper)
        assert shown == sorted((program.in_table(x.title), x.kind, x.verdict) for x in found)
        assert {x.verdict for x in found} <= set(program.VERDICTS)
        seen = [x for x in found if x.verdict != "not seen"]
        assert len(seen) == (len(found) if paper == "dana2024" else 0)


# --- what stands


def standing(program, paper):
    with (program.TESTS / "standing.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["paper"] == paper]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_theorem_is_in_the_table_of_what_stands(program, statements, paper):
    listed = [name for row in standing(program, paper) for name in statements.named(row["theorem"])]
    assert len(set(listed)) == len(listed)
    main = ("Theorem ", "Corollary ", "Proposition ")
    items = {x.item for x in STATEMENTS if x.paper == paper}
    assert {item for item in items if item.startswith(main)} <= set(listed) <= items


@pytest.mark.parametrize("paper", PAPERS)
def test_what_stands_agrees_with_the_entries(program, statements, paper):
    """An entry that names a theorem is in its row; a row without a false statement stands."""
    found = {x.test: x for x in program.errata_of(paper)}
    for row in standing(program, paper):
        entries, theorems = row["entries"].split(), statements.named(row["theorem"])
        assert set(entries) <= set(found) and len(set(entries)) == len(entries)
        about = {x.test for x in found.values() if statements.named(x.title) & theorems}
        assert about <= set(entries), (row["theorem"], about - set(entries))
        assert row["printed"] in program.STANDS
        false = any(found[test].kind == "false as stated" for test in about)
        assert not (row["printed"] == "stands" and false and not row["repaired"])
        if row["printed"] == "false as stated":
            assert false and row["repaired"]
        assert all(cell == "" or cell.endswith(".") for cell in (row["repaired"], row["open"]))
