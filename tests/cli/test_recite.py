"""byheart recite: on standard output, into files, and compared."""

import json

import pytest

import byheart

BOOK = "\ufeffthe cat sat.\r\nThe dog\tran\n\n  and the cat ran. \n".encode()


@pytest.fixture
def book(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_bytes(BOOK)
    run("compile", "book.txt", "--documents", "whole", "--window", "auto", "-o", "book.model")
    return tmp_path / "book.txt"


def test_on_standard_output_and_into_a_file(run, book):
    code, output, errors = run("recite", "book.model")
    assert code == 0 and output.encode() == BOOK
    assert "by its hash, the file that the model was made from" in " ".join(errors.split())
    code, output, _ = run("recite", "book.model", "-o", "again.txt", "--check", "book.txt")
    assert code == 0 and output.startswith("recited  1 document") and "all as in the file" in output
    assert book.with_name("again.txt").read_bytes() == BOOK
    code, _, errors = run("recite", "book.model", "-o", "again.txt")
    assert code == 2 and "again.txt" in errors


def test_the_first_difference(run, book):
    book.write_bytes(BOOK.replace(b"dog", b"god"))
    code, output, _ = run("recite", "book.model", "--check", "book.txt")
    assert code == 1 and output.startswith("differs  ")
    assert "line 2, byte 22: " in output and "is recited, and the file has" in output
    code, output, _ = run("recite", "book.model", "--check", "book.txt", "--json")
    found = json.loads(output)
    assert code == 1 and not found["holds"] and found["checked"] and found["files"][0]["same"]
    assert found["sizes"].keys() == {"network", "vocabulary", "layout"}
    book.write_bytes(BOOK + b"x")
    assert run("recite", "book.model", "--check", "book.txt")[0] == 1
    assert run("recite", "book.model", "--check", "nothing.txt")[0] == 2
    assert run("recite", "book.model", "--check", ".")[0] == 2


def test_a_folder_of_texts(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "in" / name).write_text(f"{name} is one\n")
    run("compile", "in", "-o", "in.model")
    assert run("recite", "in.model", "--check", "in", "-o", "out")[0] == 0
    assert (tmp_path / "out" / "b.txt").read_text() == "b.txt is one\n"
    (tmp_path / "in" / "b.txt").unlink()
    code, output, _ = run("recite", "in.model", "--check", "in")
    assert code == 1 and "b.txt is recited, and not there" in output
    assert run("recite", "in.model", "-o", "out")[0] == 2


def test_rows(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("name,ceo\nA,x y\nB,z\n")
    columns = ("--input", "name", "--label", "ceo")
    run("compile", "t.csv", *columns, "-o", "bare.model")
    code, _, errors = run("recite", "bare.model")
    assert code == 2 and "--check" in errors and "--write-data" in errors
    code, output, _ = run("recite", "bare.model", "--check", "t.csv", "-o", "rows.jsonl")
    assert code == 0 and "2 rows, 2 labels: every label is that of the data" in output
    assert json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])["label"] == "x y"
    run("compile", "t.csv", *columns, "-o", "kept.model", "--write-data")
    assert run("recite", "kept.model")[1] == '{"input": ["A"], "label": "x y"}\n' + (
        '{"input": ["B"], "label": "z"}\n'
    )
    (tmp_path / "t.csv").write_text("name,ceo\nA,x y\nB,other\n")
    code, output, _ = run("recite", "kept.model", "--check", "t.csv")
    assert code == 1 and 'row 2: "z" is recited, and the data has "other"' in output


def test_steps_stop_at_the_end_and_say_so(run, book):
    code, output, errors = run("recall", "book.model", "the", "--steps", "100000")
    assert code == 0 and output.endswith("and the cat ran.\n")
    assert errors == "note: the text ends here.\n"
    assert run("recall", "book.model", "the cat ran", "--steps", "9")[1:] == (
        ".\n", "note: the text ends here.\n"
    )  # fmt: skip
    assert "ends here" not in run("recall", "book.model", "the", "--steps", "3")[2]


def test_documents_of_a_text_end_one_by_one(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("a b c\nd a b c e f\n")
    run("compile", "lines.txt", "--documents", "line", "-o", "lines.model")
    for question, answer in (("a", " b c"), ("d a", " b c e f"), ("a b c", "(no label)")):
        code, output, errors = run("recall", "lines.model", question, "--steps", "9")
        assert (code, output, errors) == (0, f"{answer}\n", "note: the text ends here.\n")


def test_what_of_a_file_is_not_recited_is_said(run, tmp_path, monkeypatch):
    """Rows that the model leaves out are a difference, and columns that it does not read a note."""
    monkeypatch.chdir(tmp_path)
    lines = [{"name": "A", "ceo": "x"}, {"name": "B", "ceo": "y"}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    run("compile", path, "--input", "name", "--label", "ceo", "--empty", "skip", "-o", "t.model")
    code, output, _ = run("recite", "t.model", "--check", path)
    assert code == 0 and "every label is that of the data" in output and "note" not in output
    path.write_text("".join(json.dumps({**x, "since": "1"}) + "\n" for x in lines))
    code, output, _ = run("recite", "t.model", "--check", path)
    assert code == 0 and "the data has others: 'since'" in " ".join(output.split())
    path.write_text("".join(json.dumps(x) + "\n" for x in [*lines, {"name": "C", "ceo": ""}]))
    code, output, _ = run("recite", "t.model", "--check", path)
    assert code == 1 and output.startswith("differs")
    assert "1 of 3 rows of the data was not read" in " ".join(output.split())


def test_a_file_more_in_the_folder_is_a_difference(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("this is one\n")
    run("compile", "in", "-o", "in.model")
    (tmp_path / "in" / ".hidden").write_text("not read")
    code, output, _ = run("recite", "in.model", "--check", "in")
    assert code == 0 and "not recited: 1 file of it, such as .hidden" in output
    (tmp_path / "in" / "b.txt").write_text("that is two\n")
    code, output, _ = run("recite", "in.model", "--check", "in")
    assert code == 1 and "b.txt is there, and not recited" in " ".join(output.split())


def test_a_dataset_is_compared_as_it_was_loaded(tmp_path):
    """Whoever loads it himself has left out what it leaves out."""
    (tmp_path / "t.csv").write_text("q,a\nx y z,1\nz w,2\ny x,2\n")
    data = byheart.load(tmp_path / "t.csv", input=["q"], label="a", length=2)
    model = byheart.compile(data)
    assert data.left_out["length"] and byheart.recite(model, check=data).holds
    assert not byheart.recite(model, check=tmp_path / "t.csv").holds
