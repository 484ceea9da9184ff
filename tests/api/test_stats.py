"""stats in Python: paths and objects, rows and conflicts."""

import pytest

import byheart
from byheart.api.stats import Example
from byheart.data.load import load, load_documents
from byheart.errors import ByheartError

ROWS = [(["a", "b"], "x"), (["b"], "y"), (["a", "b"], "z")]


def test_a_path_and_what_it_holds(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("a b c a b\nb c c\n")
    found = byheart.stats(path, unit="char", window=2)
    assert found == byheart.stats(load_documents(str(path), unit="char", window=2))
    assert found.json() == byheart.stats(load(path, unit="char", window=2)).json()
    with pytest.raises(ByheartError, match="unit must go with the path of a file"):
        byheart.stats(load(path), unit="char")


def test_rows_and_conflicts_can_be_shown(tmp_path):
    data = byheart.from_rows(ROWS)
    found = byheart.stats(data, show=1, conflicts=5)
    assert found.shown == (Example(["a", "b"], "x"),)
    assert found.conflicting[0].rows == ((1, "x"), (3, "z")) and found.conflicting[0].lines == ()
    answer = byheart.stats(data).json()
    assert answer["shown"] == [] and "conflicting" not in answer and "counted" not in answer
    path = tmp_path / "d.txt"
    path.write_text("a b\na c\n")
    assert byheart.stats(path, show=1).json()["shown"] == [{"tokens": ["a", " b"]}]
    assert byheart.stats(path, conflicts=1).conflicting[0].tokens == ["a"]


def test_rows_of_shards_cannot_be_shown(tmp_path):
    with pytest.raises(ByheartError, match="leave out workers"):
        byheart.stats(tmp_path, workers=2, show=1)
