"""Contexts with two labels, one by one, and where they stand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.cli import main
from byheart.data.conflicts import ROWS, conflicting, lines_of
from byheart.data.dataset import Dataset
from byheart.data.load import load

rows = st.lists(
    st.tuples(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), st.sampled_from("xyz")),
    min_size=1,
    max_size=20,
)


@given(rows, st.integers(0, 5))
def test_they_are_what_a_dictionary_finds(rows, most):
    seen = {}
    for place, (tokens, label) in enumerate(rows, 1):
        seen.setdefault(tuple(tokens), []).append((place, label))
    wanted = [(k, v) for k, v in seen.items() if len({label for _, label in v}) > 1][:most]
    found = conflicting(Dataset.from_rows(rows), most)
    assert [(tuple(x.tokens), list(x.rows)) for x in found] == wanted
    for one in found:
        labels = [label for _, label in one.rows]
        assert dict(one.labels) == {label: labels.count(label) for label in set(labels)}
        assert sorted((n for _, n in one.labels), reverse=True) == [n for _, n in one.labels]


def test_counts_of_rows_count():
    data = Dataset.from_rows([(["a"], "x", 2), (["a"], "y", 5)])
    assert conflicting(data, 1)[0].labels == (("y", 5), ("x", 2))


def test_a_conflict_of_many_rows_lists_the_first():
    data = Dataset.from_rows([(["a"], "xy"[i % 2]) for i in range(3 * ROWS)])
    (found,) = conflicting(data, 1)
    assert len(found.rows) == ROWS and dict(found.labels) == {"x": 75, "y": 75}


FILES = {
    "a.jsonl": '{"input": ["a"], "label": "x"}\n\n \n{"input": ["b"], "label": "x"}\n'
    '{"input": ["a"], "label": "y"}\n',
    "a.csv": 'q,l\na,x\n\n"b\nb",x\na,y\n',
    "a.tsv": "q\tl\na\tx\n\nb b\tx\na\ty\n",
}


@pytest.mark.parametrize(
    ("name", "lines"), [("a.jsonl", (1, 5)), ("a.csv", (2, 6)), ("a.tsv", (2, 5))]
)
def test_lines_of_files(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text(FILES[name])
    how = {} if name == "a.jsonl" else {"input": ["q"], "label": "l"}
    (found,) = conflicting(load(path, **how), 9, path)
    assert found.lines == lines


def test_lines_are_not_guessed(tmp_path):
    """Where rows were skipped, the rows of the data are not those of the file."""
    path = tmp_path / "a.csv"
    path.write_text("q,l\n,x\na,x\na,y\n")
    data = load(path, input=["q"], label="l", empty="skip")
    assert lines_of(path, data) == [] and conflicting(data, 1, path)[0].lines == ()
    text = tmp_path / "a.txt"
    text.write_text("the cat\nthe dog\n")
    (found,) = conflicting(load(text), 1, text)
    assert (found.rows, found.lines) == ((), ()) and dict(found.labels) == {" cat": 1, " dog": 1}


def test_the_command_lists_them(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text(FILES["a.jsonl"])
    assert main(["stats", str(path), "--conflicts", "3"]) == 0
    said = capsys.readouterr().out
    assert '["a"]  ->  "x" 1 x, "y" 1 x\n  line 1  "x"\n  line 5  "y"' in said
    assert main(["stats", str(path), "--conflicts", "3", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["conflicting"]
    assert found["rows"] == [[1, "x"], [3, "y"]] and found["lines"] == [1, 5]
    assert main(["stats", str(path), "--json"]) == 0
    assert "conflicting" not in json.loads(capsys.readouterr().out)
