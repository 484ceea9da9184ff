"""Text is text whatever its name ends in, and in whichever encoding it is."""

import gzip

import pytest

import byheart
from byheart.errors import ByheartError

SENTENCE = "Über uns ist der café au lait\n"


@pytest.mark.parametrize("name", ["README", "a.md", "a.log", "a.py", "a.srt", "x.log.gz", "a.xyz"])
def test_any_name(tmp_path, name):
    path, content = tmp_path / name, SENTENCE.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = byheart.load(path)
    assert len(data) == 6 and any("read as text" in note for note in data.notes)
    model = byheart.compile(data)
    assert model.recite().files[0].content == content
    assert byheart.verify(model, path).holds


def test_binary_files_are_none(tmp_path):
    for content in (b"\x7fELF\0\0", b"", b"\xff\xd8\xff\xe0\0JFIF"):
        (tmp_path / "thing").write_bytes(content)
        with pytest.raises(ByheartError, match="must end in|is empty"):
            byheart.load(tmp_path / "thing")


@pytest.mark.parametrize(
    "stored, given",
    [("cp1252", "cp1252"), ("utf-16", None), ("utf-16-le", "utf-16-le"), ("utf-8-sig", None)]
    + [("utf-16-be", "utf-16-be"), ("shift-jis", "shift-jis")],
)
def test_encodings(tmp_path, stored, given):
    path = tmp_path / "a.txt"
    path.write_bytes(SENTENCE.replace("Ü", "U").replace("é", "e").encode(stored))
    if stored == "cp1252":
        path.write_bytes(SENTENCE.encode(stored))
        with pytest.raises(ByheartError, match="line 1: not UTF-8; name its encoding"):
            byheart.load(path)
    data = byheart.load(path, encoding=given)
    assert len(data) == 6 and data.tokens[0].strip()[0] in "UÜaciuluÜst"
    model = byheart.compile(data)
    assert model.recite().files[0].content == path.read_bytes()
    found = byheart.verify(model, path)
    assert found.holds is (given is None)  # the user says it, not the folder
    assert byheart.verify(model, path, **({"encoding": given} if given else {})).holds


def test_tables_have_encodings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("name;drink\nAnn;café\nJo;thé\n".encode("cp1252"))
    data = byheart.load(path, input="name", label="drink", encoding="cp1252")
    assert data.label_names == ("café", "thé") and data.loading["encoding"] == "cp1252"


def test_what_of_a_folder_is_never_read_is_named(tmp_path):
    """Links that lead out, to folders or nowhere, hidden files, and files with a NUL byte."""
    home, out = tmp_path / "in", tmp_path / "out"
    (home / "sub").mkdir(parents=True)
    out.mkdir()
    (out / "other.txt").write_text("LIES are here")
    (home / "a.txt").write_text("some cat sat")
    (home / "sub" / "b.md").write_text("a dog ran")
    (home / "again.txt").symlink_to(home / "a.txt")  # inside: read
    (home / "out.txt").symlink_to(out / "other.txt")
    (home / "folder").symlink_to(out)
    (home / "nothing.txt").symlink_to(home / "none")
    (home / ".hidden.txt").write_text("LIES are here")
    (home / "bytes.txt").write_bytes(b"LIES\0are here")
    data = byheart.load(home)
    assert data.unused == (".hidden.txt", "bytes.txt", "folder", "nothing.txt", "out.txt")
    assert len(data) == 6 and not any("LIES" in str(row) for row in data)
    assert byheart.load(home, include="*.MD").unused == tuple(
        sorted([*data.unused, "a.txt", "again.txt"])
    )
    wide = byheart.load(home, include=["a.txt", ".hidden.txt"], encoding="utf-8")
    assert len(wide) == 2
