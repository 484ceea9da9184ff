"""The page of errata is what tools/make_errata.py writes now, and has all of them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def program():
    path = ROOT / "tools" / "make_errata.py"
    place = importlib.util.spec_from_file_location("make_errata", path)
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(program):
    assert program.PAGE.read_text() == program.page(), "run python tools/make_errata.py"


def test_every_file_of_errata_is_a_paper_of_the_page(program):
    files = {path.stem for path in program.TESTS.glob("test_*2*.py")}
    assert files == {f"test_{paper}" for paper in program.PAPERS}


def test_the_page_has_every_erratum(program):
    page = program.page()
    for paper in program.PAPERS:
        path = program.TESTS / f"test_{paper}.py"
        found = program.errata(path)
        assert len(found) == path.read_text().count("    Statement: ")
        for erratum in found:
            assert f"`{erratum.test}`" in page and f"def {erratum.test}(" in path.read_text()


def test_parts_that_are_missing_or_out_of_order_are_refused(program, tmp_path):
    kind = "Kind: proof needs repair"
    parts = ["Statement: a.", "Counterexample: b: c.", "Repair: d", "  _e_.", "Still holds: f."]
    remark = ["Kind: remark", "Statement: a.", "Remark: b.", "Here: c."]
    file = tmp_path / "test_one2020.py"

    def write(lines):
        body = "\n    ".join(["Title", "", *lines])
        file.write_text(f'def test_it():\n    """{body}\n    """\n')

    write([kind, *parts])
    (found,) = program.errata(file)
    assert found.title == "Title" and found.test == "test_it"
    assert found.kind == "proof needs repair"
    assert list(found.parts.values()) == ["a.", "b: c.", "d   _e_.", "f."]
    write(remark)
    assert program.errata(file)[0].parts == {"Statement": "a.", "Remark": "b.", "Here": "c."}
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
    found = {paper: program.errata(program.TESTS / f"test_{paper}.py") for paper in program.PAPERS}
    assert shown == {x.test: x.kind for several in found.values() for x in several}
    for paper, several in found.items():
        counts = [sum(x.kind == kind for x in several) for kind in headings.values()]
        row = next(
            x for x in program.page().splitlines() if x.startswith(f"| {program.PAPERS[paper]}")
        )
        assert [int(x) for x in row.split(" | ")[1:4]] == counts
