"""Workbooks, also from strangers."""

import datetime
import io
import zipfile

import pytest

import byheart
from byheart.data.readers import raw, xlsx
from byheart.errors import ByheartError

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def book(tmp_path):
    def written(**sheets):
        workbook = openpyxl.Workbook()
        workbook.remove(workbook.active)
        for title, rows in sheets.items():
            sheet = workbook.create_sheet(title)
            for row in rows:
                sheet.append(row)
        workbook.save(tmp_path / "a.xlsx")
        return tmp_path / "a.xlsx"

    return written


ROWS = [["word", "tag", "when", None], ["sun", "NOUN", datetime.datetime(2026, 1, 2), None],
        [None, None, None], ["run", "VERB", 3.5]]  # fmt: skip


def repacked(path, change):
    """The workbook with its parts changed: name to content."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in change(parts).items():
            new.writestr(name, content)
    return path


def test_a_sheet_is_a_table(book):
    path = book(words=ROWS)
    data = byheart.load(path, input="word", label="tag")
    assert list(data) == [(["sun"], "NOUN"), (["run"], "VERB")] and data.unused == ("when",)
    dates = byheart.load(path, input="when", label="tag", numeric="words")
    assert "".join(dates[0][0]) == "2026-01-02"
    with pytest.raises(ByheartError, match="a.xlsx, sheet 'words': choose the columns"):
        byheart.load(path)
    model = byheart.compile(data)
    assert byheart.verify(model, path, input="word", label="tag").holds


def test_one_of_several_sheets(book):
    path = book(one=ROWS, two=[["text"], ["a b c"]], three=[])
    with pytest.raises(ByheartError, match="must name a sheet; there are one, two, three"):
        byheart.load(path)
    data = byheart.load(path, table="two")
    assert len(data) == 2 and data.loading["table"] == "two"
    model = byheart.compile(data)
    assert not byheart.verify(model, path).holds and byheart.verify(model, path, table="two").holds
    with pytest.raises(ByheartError, match="'three' is empty"):
        byheart.load(path, table="three")


@pytest.mark.parametrize("chunk", [1 << 20, 8, 3])  # read in pieces, a word may be cut anywhere
def test_entities_are_refused(book, monkeypatch, chunk):
    monkeypatch.setattr(xlsx, "CHUNK", chunk)
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    for spelled in (bomb, bomb.decode().encode("utf-16")):
        strings = {"xl/sharedStrings.xml": spelled + b"<sst/>"}
        path = repacked(book(words=ROWS), lambda parts, more=strings: parts | more)
        with pytest.raises(ByheartError, match="declares entities"):
            byheart.load(path, input="word", label="tag")


def test_bombs_are_refused(book, monkeypatch):
    monkeypatch.setattr(raw, "ALWAYS", 1 << 16)
    monkeypatch.setattr(raw, "RATIO", 10)
    path = repacked(book(words=ROWS), lambda parts: {**parts, "xl/media/a.bin": bytes(1 << 20)})
    with pytest.raises(ByheartError, match="unpacks to more than"):
        byheart.load(path, input="word", label="tag")
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    sheet = "xl/worksheets/sheet1.xml"
    path = repacked(
        book(words=ROWS),
        lambda parts: {**parts, sheet: parts[sheet].replace(b"</sheetData>", far)},
    )
    with pytest.raises(ByheartError, match="unpacks to more than"):
        byheart.load(path, input="word", label="tag")


def test_damage_is_one_sentence(book, tmp_path):
    content = book(words=ROWS).read_bytes()
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w") as other:
        other.writestr("a.txt", "no workbook")
    for number, wrong in enumerate(
        (content[:-30], content[:200], b"PK\3\4", text.getvalue(), b"x")
    ):
        path = tmp_path / f"{number}.xlsx"
        path.write_bytes(wrong)
        with pytest.raises(ByheartError, match="cannot be read"):
            byheart.load(path, input="word", label="tag")


def test_formulas_and_links_to_elsewhere_are_not_followed(book):
    linked = ["=[other.xlsx]Sheet1!A1", "=WEBSERVICE('http://localhost')"]
    path = book(words=[*ROWS, linked])  # nothing is stored with these
    assert len(byheart.load(path, input="word", label="tag")) == 2


SHEET = "xl/worksheets/sheet1.xml"
PLAIN = [["word", "tag"], ["sun", "NOUN"], ["run", "VERB"]]


def cell(place, text):
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


@pytest.mark.parametrize(
    "old, new",
    [
        ("</sheetData>", f'<row r="2">{cell("A2", "sun")}{cell("B2", "LIES")}</row></sheetData>'),
        ("</sheetData>", f'</sheetData><sheetData><row r="3">{cell("A3", "x")}</row></sheetData>'),
        ('<row r="2">', f'<row r="2">{cell("C2", "LIES")}'),  # before A2
        ('<c r="B2"', f'{cell("B2", "LIES")}<c r="B2"'),
        ('<c r="B2"', '<c r="B9"'),
    ],
    ids=["row twice", "data twice", "cell before", "cell twice", "cell of another row"],
)
def test_rows_and_cells_that_the_package_passes_over_are_refused(book, old, new):
    """It takes them in order, each once, and says nothing of the others."""
    path = book(words=PLAIN)
    assert len(byheart.load(path, input="word", label="tag")) == 2

    def change(parts):
        content = parts[SHEET].decode()
        assert old in content
        return {**parts, SHEET: content.replace(old, new, 1).encode()}

    with pytest.raises(
        ByheartError, match="row [23]: a row or a cell is out of order or stands tw"
    ):
        byheart.load(repacked(path, change), input="word", label="tag")


def test_escaped_characters_are_those_that_a_spreadsheet_shows(book):
    path = book(words=[["word", "tag"], ["a_x000D_\nb", "_x005F_x0041_ _x41_"]])
    data = byheart.load(path, input="word", label="tag", unit="char")
    assert data[0] == (["a", "\r", "\n", "b"], "_x0041_ _x41_")


def test_a_row_beyond_every_sheet_is_refused_at_once(book):
    """The package would make every row before it."""

    def change(parts):
        content = parts[SHEET].decode()
        row = f'<row r="{2**20 + 1}">{cell(f"A{2**20 + 1}", "x")}</row>'
        return {**parts, SHEET: content.replace("</sheetData>", row + "</sheetData>").encode()}

    with pytest.raises(ByheartError, match="names row 1,048,577, and a sheet has up to 1,048,576"):
        byheart.load(repacked(book(words=PLAIN), change), input="word", label="tag")


def test_cells_beyond_the_header_are_refused(book):
    path = book(words=[*PLAIN, ["go", "VERB", "LIES"]])
    with pytest.raises(ByheartError, match="row 4: a cell stands beyond the last column"):
        byheart.load(path, input="word", label="tag")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_parts_that_stand_twice_and_bytes_of_no_part_are_refused(book):
    path = book(words=PLAIN)
    content = path.read_bytes()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(SHEET, b"<worksheet/>")
    with pytest.raises(ByheartError, match=f'two members "{SHEET}"; save it again'):
        byheart.load(path, input="word", label="tag")
    for wrong in (content + content, b"junk" + content, content + b"junk"):
        path.write_bytes(wrong)
        with pytest.raises(
            ByheartError, match="belong to none of its members; save it again|no .x"
        ):
            byheart.load(path, input="word", label="tag")
