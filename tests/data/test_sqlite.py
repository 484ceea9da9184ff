"""SQLite databases, also from strangers."""

import gzip
import sqlite3

import pytest

import byheart
from byheart.data.readers import raw, sqlite
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


def test_generated_columns_are_not_computed(database, monkeypatch):
    path = database(
        "CREATE TABLE g (word TEXT, tag TEXT, more AS (hex(zeroblob(100000000))))",
        "INSERT INTO g (word, tag) VALUES ('sun', 'NOUN')",
    )
    assert byheart.load(path, table="g", **ASKED).unused == (
        "more",
    )  # it is there, and not claimed
    with pytest.raises(ByheartError, match="'more' is generated, and only stored columns are read"):
        byheart.load(path, table="g", input="more", label="tag")
    calls = []
    hooked = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            calls.append(statement)
            return super().execute(statement, *arguments)

    monkeypatch.setattr(sqlite3, "connect", lambda x: hooked(x, factory=Connection))
    byheart.load(path, table="g", **ASKED)
    assert calls and not any("quick_check" in x for x in calls)  # which would compute them


def test_only_what_reading_needs_is_allowed():
    for action, *words in (
        (sqlite3.SQLITE_ATTACH, "a.db", None),
        (sqlite3.SQLITE_FUNCTION, None, "load_extension"),
        (sqlite3.SQLITE_PRAGMA, "writable_schema", "1"),
        (sqlite3.SQLITE_INSERT, "t", None),
    ):
        assert sqlite._allowed(action, *words) == sqlite3.SQLITE_DENY
    assert sqlite._allowed(sqlite3.SQLITE_FUNCTION, None, "count") == sqlite3.SQLITE_OK


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


def test_an_interrupted_change_is_not_read(database, tmp_path):
    """Pages that a journal would take back are no rows of the database."""
    path = database(
        "CREATE TABLE more (x TEXT)", *(30 * ["INSERT INTO more VALUES (hex(zeroblob(999)))"])
    )
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("UPDATE \"the words\" SET tag = 'LIES'")
    connection.execute("UPDATE more SET x = replace(x, '0', '1')")
    torn = tmp_path / "torn.sqlite"
    torn.write_bytes(path.read_bytes())  # as if the machine stopped here
    journal = (tmp_path / "a.sqlite-journal").read_bytes()
    connection.rollback()
    connection.close()
    (tmp_path / "torn.sqlite-journal").write_bytes(journal)
    with pytest.raises(
        ByheartError, match="torn.sqlite-journal beside it holds what an interrupted"
    ):
        byheart.load(torn, table="the words", **ASKED)
    (tmp_path / "torn.sqlite-journal").write_bytes(bytes(len(journal)))  # one that is done with
    assert byheart.load(torn, table="the words", **ASKED).label(0) == "LIES"
    (tmp_path / "torn.sqlite-journal").write_bytes(journal)
    with sqlite3.connect(torn) as plain:
        tags = plain.execute('SELECT tag FROM "the words"').fetchall()
    assert tags == [("NOUN",), ("VERB",)]


def test_the_pages_are_the_whole_file(database, tmp_path):
    """What follows a database would not be read, and neither would rows of a page that got lost."""
    content = database().read_bytes()
    for number, wrong in enumerate((content + content, content[:-1], content + b"\0")):
        path = tmp_path / f"{number}.db"
        path.write_bytes(wrong)
        with pytest.raises(ByheartError, match="its pages have [0-9,]+ bytes"):
            byheart.load(path, **ASKED)
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("CREATE TABLE t (word TEXT, tag TEXT)")
        rows = [(f"word {i}", f"tag {i}") for i in range(100)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.execute("CREATE TABLE u (word TEXT, tag TEXT CHECK (length(tag) > 1))")
    connection.close()
    content = bytearray(path.read_bytes())
    assert len(byheart.load(path, table="t", **ASKED)) == 100
    with sqlite3.connect(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 't'").fetchone()
    connection.close()
    begin = 512 * (root[0] - 1)
    assert content[begin] == 5  # an interior page, whose cells name the pages of rows
    content[begin + 4] -= 1  # of the number of cells
    path.write_bytes(content)
    with sqlite3.connect(path) as connection:
        assert len(connection.execute("SELECT * FROM t NOT INDEXED").fetchall()) < 100
    connection.close()
    with pytest.raises(ByheartError, match="on page 2"):
        byheart.load(path, table="t", **ASKED)


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


def test_constraints_are_not_evaluated(database):
    """They are what a stranger wrote; a row that breaks one is a row."""
    path = database("CREATE TABLE c (word TEXT, tag TEXT CHECK (length(hex(zeroblob(9))) = 1))")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO c VALUES ('sun', 'NOUN')")
    connection.close()
    assert list(byheart.load(path, table="c", **ASKED)) == [(["sun"], "NOUN")]
