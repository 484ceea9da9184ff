"""Rows as their owner would write them."""

import pytest

import byheart
from byheart.data import templates
from byheart.errors import ByheartError

ROWS = "company,ceo,since\nNVIDIA,Jensen Huang,1993\nApple,Tim Cook,2011\n"
ASKED = {"template": "The CEO of {company} is", "answer": "{ceo}"}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "ceos.csv"
    path.write_text(ROWS)
    return path


def text(data, i=0):
    tokens, label = data[i]
    return "".join(tokens), label


def test_braces_and_names_of_any_kind():
    row = {"First Name": "Ann", "a.b": "7", "x": "{y}"}
    assert templates.written("{First Name} {{{a.b}}} {x} {", row) == "Ann {7} {y} {"
    assert templates.fields(["{a} {b}", "{a}"], "{c}") == ["a", "b", "c"]


def test_every_row_in_every_template(table):
    data = byheart.load(table, **ASKED)
    assert text(data) == ("The CEO of NVIDIA is", "Jensen Huang")
    assert data.unused == ("since",)
    several = {**ASKED, "template": [ASKED["template"], "{since}: who runs {company}?"]}
    data = byheart.load(table, **several)
    assert [text(data, i)[0] for i in range(4)][1::2] == [
        "1993: who runs NVIDIA?", "2011: who runs Apple?",
    ]  # fmt: skip
    assert data.unused == () and data.loading["template"] == several["template"]
    assert byheart.load(table, **data.loading).sha256() == data.sha256()
    by_label = byheart.load(table, template=ASKED["template"], label="ceo")
    assert by_label.sha256() == byheart.load(table, **ASKED).sha256()


def test_records_frames_and_counts(tmp_path):
    rows = [{"company": "Apple", "ceo": "Tim Cook", "n": 3, "info": {"since": 2011}}]
    asked = {**ASKED, "template": "{company} since {info.since}:", "count": "n"}
    data = byheart.load(rows, **asked)
    assert text(data) == ("Apple since 2011:", "Tim Cook") and data.counts.tolist() == [3]
    path = tmp_path / "rows.jsonl"
    path.write_text('{"company": "Apple", "ceo": "Tim Cook", "n": 3, "info": {"since": 2011}}\n')
    assert byheart.load(path, **asked).sha256() == data.sha256()


def test_a_template_with_a_gap_is_an_empty_cell(table):
    table.write_text(ROWS + ",Nobody,1\n")
    with pytest.raises(ByheartError, match='"template" in line 4'):
        byheart.load(table, **ASKED)


def test_an_empty_cell_empties_the_row(table):
    table.write_text(ROWS + "Nobody,,1\n")
    with pytest.raises(ByheartError, match='"answer" in line 4'):
        byheart.load(table, **ASKED)
    data = byheart.load(table, **ASKED, empty="skip")
    assert len(data) == 2 and data.left_out["empty"] == 1


@pytest.mark.parametrize(
    "options, says",
    [
        ({"template": "The CEO of {compny} is", "answer": "{ceo}"}, 'did you mean "company"'),
        ({"template": "The CEO is", "answer": "{ceo}"}, "names no column"),
        ({"template": "The CEO of {company} is", "answer": "ceo"}, "answer='ceo' names no column"),
        ({"template": "{company}"}, "needs either"),
        ({"template": "{company}", "answer": "{ceo}", "label": "ceo"}, "needs either"),
        ({"answer": "{ceo}", "label": "ceo"}, "give both"),
        ({**ASKED, "input": "company"}, "leave out"),
    ],
)
def test_refusals(table, options, says):
    with pytest.raises(ByheartError, match=says):
        byheart.load(table, **options)


def test_what_is_no_text_is_refused(tmp_path):
    with pytest.raises(ByheartError, match="lists or objects"):
        byheart.load([{"company": ["a"], "ceo": "b"}], **ASKED)
    (tmp_path / "a.txt").write_text("a b c")
    with pytest.raises(ByheartError, match="does not apply"):
        byheart.load(tmp_path / "a.txt", **ASKED)


def test_verify_asks_the_user_to_repeat_the_words(table):
    model = byheart.compile(byheart.load(table, **ASKED))
    assert model.recall("The CEO of Apple is") == "Tim Cook"
    assert "template" in "".join(map(str, byheart.verify(model, table).failures))
    assert not byheart.verify(model, table, template=ASKED["template"]).holds
    assert byheart.verify(model, table, **ASKED).holds
    assert byheart.verify(model, table, template=ASKED["template"], label="ceo").holds
    found = byheart.verify(model, table, input="company", label="ceo")
    assert not found.holds and found.reading["input"] == ["company"]


def test_lines_of_conflicts(table):
    table.write_text(ROWS + "Apple,Steve Jobs,1976\n")
    both = byheart.stats(table, template=["{company}:", "{company}!"], answer="{ceo}", conflicts=2)
    assert [conflict.lines for conflict in both.conflicting] == [(3, 4), (3, 4)]
