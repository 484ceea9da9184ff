"""SQLite databases, also from strangers."""

import gzip
import sqlite3

import pytest

import byheart
from byheart.data.readers import raw
from byheart.errors import ByheartError


@pytest.fixture
def database(tmp_path):
    def made(*statements):
        path = tmp_path / "a.sqlite"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            connection.execute('CREATE TABLE "the words" (word TEXT, tag TEXT, n INTEGER)')
            rows = [("sun", "NOUN", 1), ("run", "VERB", 2)]
            connection.executemany('INSERT INTO "the words" VALUES (?, ?, ?)', rows)
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return path

    return made


ASKED = {"input": "word", "label": "tag"}


def test_the_only_table(database, tmp_path):
    path = database()
    before = path.read_bytes()
    data = byheart.load(path, **ASKED)
    assert list(data) == [(["sun"], "NOUN"), (["run"], "VERB")] and data.unused == ("n",)
    assert path.read_bytes() == before and [x.name for x in tmp_path.iterdir()] == ["a.sqlite"]
    (tmp_path / "b.db.gz").write_bytes(gzip.compress(before))
    assert byheart.load(tmp_path / "b.db.gz", **ASKED).sha256() == data.sha256()
    assert byheart.verify(byheart.compile(data), path, **ASKED).holds


def test_one_of_several_tables(database):
    path = database(
        'CREATE TABLE "a""b; --" (text TEXT)', """INSERT INTO "a""b; --" VALUES ('x y')"""
    )
    with pytest.raises(ByheartError, match='there are the words, a"b; --'):
        byheart.load(path)
    data = byheart.load(path, table='a"b; --')
    assert len(data) == 1
    model = byheart.compile(data)
    assert not byheart.verify(model, path).holds
    assert byheart.verify(model, path, table='a"b; --').holds


@pytest.mark.parametrize(
    "statement, kind",
    [
        ("CREATE VIEW v AS SELECT word, 'lie' AS tag FROM \"the words\"", "view"),
        ("CREATE VIRTUAL TABLE v USING fts5(word, tag)", "virtual table"),
        ('CREATE TRIGGER v AFTER INSERT ON "the words" BEGIN SELECT 1; END', "trigger"),
        ('CREATE INDEX v ON "the words" (word)', "index"),
    ],
)
def test_what_is_no_stored_table_is_not_read(database, statement, kind):
    with pytest.raises(ByheartError, match=f"'v' is a {kind}, which is not read"):
        byheart.load(database(statement), table="v", **ASKED)


def test_generated_columns_are_not_computed(database):
    path = database(
        "CREATE TABLE g (word TEXT, tag TEXT, more AS (hex(zeroblob(100000000))))",
        "INSERT INTO g (word, tag) VALUES ('sun', 'NOUN')",
    )
    assert byheart.load(path, table="g", **ASKED).unused == ()
    with pytest.raises(ByheartError, match='"more" is not a column'):
        byheart.load(path, table="g", input="more", label="tag")


def test_an_index_that_disagrees_is_not_asked(database):
    path = database('CREATE INDEX both ON "the words" (word, tag)')
    content = path.read_bytes()
    at = content.rindex(b"sunNOUN")
    index = content.index(b"sunNOUN") if content.count(b"sunNOUN") > 1 else at
    for place in {at, index}:
        wrong = bytearray(content)
        wrong[place + 3 : place + 7] = b"LIES"
        path.write_bytes(wrong)
        with sqlite3.connect(path) as plain:
            stored = plain.execute('SELECT tag FROM "the words" NOT INDEXED WHERE n = 1').fetchone()
        assert byheart.load(path, **ASKED).label(0) == stored[0]


def test_changes_that_are_in_a_log_are_not_overlooked(database, tmp_path):
    path = database()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("INSERT INTO \"the words\" VALUES ('see', 'VERB', 3)")
    connection.commit()
    with pytest.raises(ByheartError, match="a.sqlite-wal beside it holds changes"):
        byheart.load(path, **ASKED)
    connection.close()  # which writes them into the file
    assert len(byheart.load(path, **ASKED)) == 3


def test_hostile_sizes_and_bytes(database, monkeypatch):
    path = database("CREATE TABLE b (word TEXT, tag BLOB)", "INSERT INTO b VALUES ('a', x'00ff')")
    with pytest.raises(ByheartError, match="row 1: the cell is bytes"):
        byheart.load(path, table="b", **ASKED)
    monkeypatch.setattr(raw, "ALWAYS", 10)
    monkeypatch.setattr(raw, "RATIO", 0)
    with pytest.raises(ByheartError, match="unpacks to more than"):
        byheart.load(path, table="the words", **ASKED)


def test_damage_is_one_sentence(database, tmp_path):
    content = database().read_bytes()
    torn = bytearray(content)
    torn[4096:4200] = b"\xff" * 104
    for number, wrong in enumerate(
        (content[:100], content[:4096], bytes(torn), b"SQLite format 2")
    ):
        path = tmp_path / f"{number}.db"
        path.write_bytes(wrong)
        with pytest.raises(ByheartError):
            byheart.load(path, table="the words", **ASKED)
