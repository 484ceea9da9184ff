"""Tables: columns of numbers are numbers, columns of text stay apart, empty cells are listed."""

import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.api.compile import compile
from byheart.data.columns import NUMBER
from byheart.data.load import BEFORE, applicable, load
from byheart.data.readers.table import DELIMITERS, sniffed
from byheart.errors import ByheartError

IRIS = "length,width,species\n5.1,3.5,setosa\n4.9,3.0,setosa\n3.5,5.1,other\n"


def table(tmp_path, content, name="d.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


# Numbers


def test_columns_of_numbers_are_one_vector(tmp_path):
    path = table(tmp_path, IRIS)
    data = load(path, input=["length", "width"], label="species")
    assert list(data) == [
        ([[5.1, 3.5]], "setosa"),
        ([[4.9, 3.0]], "setosa"),
        ([[3.5, 5.1]], "other"),
    ]
    model = compile(data)
    assert model.recall([[5.10, 3.50]]) == "setosa"
    assert model.recall([[3.5, 5.1]]) == "other"  # columns are not swapped
    assert load(path, **data.loading).sha256() == data.sha256()


def test_one_token_each_by_option_and_then_order_counts(tmp_path):
    path = table(tmp_path, IRIS)
    data = load(path, input=["length", "width"], label="species", numeric="tokens")
    assert (data.kind, data[0]) == ("number", ([5.1, 3.5], "setosa"))
    model = compile(data)
    assert model.network.input.positions
    assert (model.recall([5.1, 3.5]), model.recall([3.5, 5.1])) == ("setosa", "other")


def test_a_single_column_of_numbers_is_a_number(tmp_path):
    data = load(table(tmp_path, IRIS), input="length", label="species")
    assert (data.kind, data[0]) == ("number", ([5.1], "setosa"))
    whole = load(table(tmp_path, "n,y\n1,a\n-20,b\n"), input="n", label="y")
    assert (whole.tokens.dtype, whole[1]) == ("int64", ([-20], "b"))


def test_a_number_beside_text_is_one_word_and_that_is_said(tmp_path):
    path = table(tmp_path, "city,size,y\nNew York,5.1,a\nRome,2,b\n")
    data = load(path, input=["city", "size"], label="y")
    assert data[0] == (["New", " York", "|", "5.1"], "a")
    assert data.notes == ('"size" holds numbers; beside text, each of them is one word',)


def test_a_cell_that_is_no_number_makes_a_column_text_and_that_is_said(tmp_path):
    path = table(tmp_path, "n,y\n5.1,a\n6.25,b\nabout 7.5,c\n")
    data = load(path, input="n", label="y")
    assert list(data)[:2] == [(["5.1"], "a"), (["6.25"], "b")]
    assert data.notes == (
        "\"n\" is read as text, since line 4 holds 'about 7.5'; 2 other cells are numbers",
    )


def test_a_column_of_numbers_and_lists_is_read_as_it_is():
    data = load([{"input": "1", "label": "x"}, {"input": ["a", "b"], "label": "y"}])
    assert list(data) == [(["1"], "x"), (["a", "b"], "y")] and data.notes == ()


def test_a_decimal_comma_is_named(tmp_path):
    data = load(table(tmp_path, "n;y\n5,1;a\n6,25;b\n"), input="n", label="y")
    assert data[0] == (["5,1"], "a")
    assert "decimal comma (line 2)" in data.notes[0]


def test_who_asks_for_characters_or_words_gets_them(tmp_path):
    path = table(tmp_path, IRIS)
    assert load(path, input="length", label="species", unit="char")[0][0] == ["5", ".", "1"]
    assert load(path, input="length", label="species", numeric="words", unit="wordpunct")[0][0] \
        == ["5", ".", "1"]  # fmt: skip


@pytest.mark.parametrize("word", ["0", "-1", "+5", "5.1", "5.", ".5", "1e3", "-2.5E-7", "9" * 18])
def test_numbers(word):
    assert NUMBER.fullmatch(word) and float(word) == float(word)


@pytest.mark.parametrize(
    "word", ["007", "1,5", "1 000", "1_0", "٣", "0x1", "1e999", "inf", "NaN", "1.2.3", "", "9" * 19]
)
def test_names_that_are_not_numbers(word):
    assert not NUMBER.fullmatch(word)


def test_names_of_digits_stay_names(tmp_path):
    data = load(table(tmp_path, "code,y\n007,a\n7,b\n"), input="code", label="y")
    assert data.tokens == ("007", "7")


# Text


def test_columns_of_text_stay_apart(tmp_path):
    path = table(tmp_path, "premise,hypothesis,y\nx y,z,1\nx,y z,2\n")
    data = load(path, input=["premise", "hypothesis"], label="y")
    assert list(data) == [(["x", " y", "|", "z"], "1"), (["x", "|", "y", " z"], "2")]
    model = compile(data, positions=True)  # glued, these two rows would be a conflict
    assert model.recall(["x", "|", "y", " z"]) == model.recall("x | y z") == "2"
    glued = load(path, input=["premise", "hypothesis"], label="y", between="")
    assert [tokens for tokens, _ in glued] == [["x", " y", " z"]] * 2


@given(st.lists(st.tuples(st.text("ab| ", min_size=1), st.text("ab| ", min_size=1)), min_size=1))
def test_no_cell_contains_the_separator(pairs):
    rows = [{"a": f"x{one}", "b": f"x{other}", "y": 1} for one, other in pairs]
    data = load(rows, input=["a", "b"], label="y")
    mark = data.loading["between"]
    for row, (tokens, _) in zip(rows, data, strict=True):
        assert tokens.count(mark) == 1
        place = tokens.index(mark)
        assert tokens[:place] == load([(row["a"], 1)])[0][0]
        assert tokens[place + 1 :] == load([(row["b"], 1)])[0][0]


def test_a_separator_of_one_s_own(tmp_path):
    path = table(tmp_path, "a,b,y\nx |,z,1\n")
    how = {"input": ["a", "b"], "label": "y"}
    assert load(path, **how)[0][0] == ["x", " |", "||", "z"]
    assert load(path, **how, between="and")[0][0] == ["x", " |", "and", "z"]
    with pytest.raises(ByheartError, match="a cell contains the token '|'"):
        load(path, **how, between="|")


def test_lists_of_numbers_are_joined_only_if_nothing_is_lost():
    rows = [{"a": [1, 2], "b": [3], "y": 0}, {"a": [1, 3], "b": [2], "y": 1}]
    assert load(rows, input=["a", "b"], label="y")[1] == ([1, 3, 2], 1)
    with pytest.raises(ByheartError, match='the lists of "a" differ in length'):
        load([*rows, {"a": [1], "b": [2], "y": 1}], input=["a", "b"], label="y")


def test_truth_values_are_labels():
    assert load([{"t": "a", "y": True}, {"t": "b", "y": False}], input="t", label="y").label_names \
        == ("false", "true")  # fmt: skip


# Empty cells

GAPS = "country,capital\nFrance,Paris\nNauru,\nPeru,Lima\n,Rome\nTokelau,  \n"


def test_all_empty_cells_are_named_at_once(tmp_path):
    path = table(tmp_path, GAPS)
    with pytest.raises(ByheartError) as caught:
        load(path, input="country", label="capital")
    assert str(caught.value) == (
        f'{path}: 3 rows have an empty cell ("country" in line 5; "capital" in lines 3 and 6); '
        "leave such rows out with empty='skip', or keep them as empty text with empty='keep'."
    )


def test_rows_with_empty_cells_are_left_out_and_counted(tmp_path):
    data = load(table(tmp_path, GAPS), input="country", label="capital", empty="skip")
    assert list(data) == [(["France"], "Paris"), (["Peru"], "Lima")] and data.skipped == 3
    assert data.notes[0].startswith("3 rows have an empty cell") and "left out" in data.notes[0]
    assert data.loading["empty"] == "skip"


def test_empty_cells_are_kept_as_empty_text(tmp_path):
    data = load(table(tmp_path, GAPS), input="country", label="capital", empty="keep")
    assert list(data)[1:4] == [(["Nauru"], ""), (["Peru"], "Lima"), ([], "Rome")]
    assert data.skipped == 0 and "kept as empty text" in data.notes[0]


def test_no_number_is_empty(tmp_path):
    path = table(tmp_path, "a,b,y\n1,2,x\nNA,4,y\n5,,z\n7,8,w\n")
    how = {"input": ["a", "b"], "label": "y"}
    with pytest.raises(ByheartError, match='"a" in line 3; "b" in line 4.; .*empty=.skip'):
        load(path, **how)
    with pytest.raises(ByheartError, match="no number can be empty; or read 'a' as text"):
        load(path, **how, empty="keep")
    assert list(load(path, **how, empty="skip")) == [([[1, 2]], "x"), ([[7, 8]], "w")]


def test_many_empty_cells_are_counted(tmp_path):
    path = table(tmp_path, "a,y\n" + "b,\n" * 1234)
    with pytest.raises(ByheartError, match="1,234 rows have .* 20, 21 and 1,214 more.;"):
        load(path, input="a", label="y")


# The delimiter


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n3;4\n", ";"),  # decimal commas
        ("a\tb\nx, y\tz\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('a;b\n"x;y";"z,w"\n', ";"),
        ("a,b;c,d\n1,2;3,4\n", ","),  # both fit, the first is taken
        ("name,text\n1,a;b\n2,a;b;c\n", ","),
        ("ABBEY  AE1 B IY0\nABBOT  AE1 B AH0 T\n", "  "),
        ("a\n1\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_found_out(content, delimiter):
    assert sniffed(content.split("\n"), ()) == delimiter


def test_named_columns_help_to_find_the_delimiter():
    lines = ["a,b;c,d", "1,2;3,4"]
    assert sniffed(lines, ["a"]) == "," and sniffed(lines, ["a,b", "c,d"]) == ";"


@given(st.data())
def test_what_csv_writes_is_read_with_any_delimiter(tmp_path_factory, data):
    cell = st.text("ab,;|\t\"' \n1.", min_size=1, max_size=6).map(lambda word: f"w{word}")
    rows = data.draw(st.lists(st.tuples(cell, cell), min_size=1, max_size=5))
    delimiter = data.draw(st.sampled_from(DELIMITERS))
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerows([("text", "label"), *rows])
    found = load(path, input="text", label="label", unit="char", delimiter=delimiter)
    assert [("".join(tokens), label) for tokens, label in found] == rows
    assert load(path, input="text", label="label", unit="char").sha256() == found.sha256()


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_a_tab_can_be_typed(tmp_path, name):
    path = table(tmp_path, 'a\tb\n"x\ty"\tz\n')
    assert load(path, input="a", label="b", delimiter=name)[0] == (["x", "\ty"], "z")


def test_several_characters_are_a_delimiter_without_quotes(tmp_path):
    path = table(tmp_path, 'a ||| b\n"x ||| y|\n')
    assert load(path, input="a", label="b", delimiter=" ||| ", unit="char")[0] == (['"', "x"], "y|")


@pytest.mark.parametrize("delimiter", ["", ';"', '"', "\n"])
def test_bad_delimiters(tmp_path, delimiter):
    with pytest.raises(ByheartError, match="delimiter must be characters such as"):
        load(table(tmp_path, "a,b\n1,2\n"), input="a", label="b", delimiter=delimiter)


# A table without names


def test_a_table_without_a_header_has_numbered_columns(tmp_path):
    path = table(tmp_path, "ABBEY  AE1 B IY0\nABBOT  AE1 B AH0 T\n")  # as CMUdict has them
    with pytest.raises(ByheartError, match="are ABBEY, AE1 B IY0 .header='none' if these are a r"):
        load(path)
    with pytest.raises(
        ByheartError,
        match=r"'2' \(2 contexts, 0 conflicts\); the columns are 1, 2\.$",
    ):
        load(path, header="none")
    found = load(path, header="none", input="1", label="2")
    assert list(found) == [(["ABBEY"], "AE1 B IY0"), (["ABBOT"], "AE1 B AH0 T")]
    assert load(path, **found.loading).sha256() == found.sha256()
    for name, content in (("d.csv", "France,Paris\nPeru,Lima\n"), ("d.tsv", "France\tParis\n")):
        (tmp_path / name).write_text(content)
        rows = load(tmp_path / name, header="none", input="1", label="2")
        assert rows[0] == (["France"], "Paris")
        assert len(rows) == content.count("\n")
        model = compile(rows)
        assert byheart.verify(model, tmp_path / name).checked == len(rows)
    (tmp_path / "d.csv").write_text("France,Paris\nPeru\n")
    with pytest.raises(ByheartError, match="line 2: the row has 1 field and the first row 2"):
        load(tmp_path / "d.csv", header="none", input="1", label="2")
    with pytest.raises(ByheartError, match="header must be one of first, none, not 'no'"):
        load(tmp_path / "d.csv", header="no")


# What to type instead


def test_a_table_without_options_names_its_columns(tmp_path):
    path = table(tmp_path, "country,note,capital\nFrance,x,Paris\n")
    with pytest.raises(ByheartError) as caught:
        load(path)
    assert str(caught.value) == (
        f"{path}: choose the columns to read with input=... and label=..., such as "
        "input='country' label='capital' (1 context, 0 conflicts); the columns are "
        "country, note, capital (header='none' if these are a row)."
    )
    with pytest.raises(ByheartError, match='did you mean "country"'):
        load(path, input="contry", label="capital")


@pytest.mark.parametrize(
    ("content", "options"),
    [  # a command that follows the example compiles
        ("a,b,species\n5.1,1.5,x\n5.1,2.5,y\n4.0,1.5,y\n", "input='a' input='b' label='species'"),
        ("label,premise\nyes,a\nno,b\n", "input='premise' label='label'"),
        ("emoji,name,tones\n1,one,\n2,two,\n3,three,yes\n", "input='emoji' label='name'"),
        ("city,of\na,x\n,y\nb,z\n", "input='city' label='of' empty='skip'"),
        ("kind,city,of\nk,a,x\nk,b,y\n", "input='city' label='of'"),
        (",word,of\n0,a,x\n1,b,y\n", "input='word' label='of'"),
        ("id,title,url\n1,a,http://x\n2,b,http://y\n", "input='id' label='title'"),
        ("id,title,year,link\n1,a,5,http://x\n2,b,6,http://y\n", "input='title' label='year'"),
        ("note,question,answer\nn,a,x\nm,b,y\n", "input='question' label='answer'"),
        ("a,b\nx\n", "input='a' label='b'"),
        ("a\nx\n", "input='COLUMN' label='a'"),
    ],
)
def test_the_example_chooses_columns_that_determine_a_label(tmp_path, content, options):
    with pytest.raises(ByheartError) as caught:
        load(table(tmp_path, content))
    assert re.search(f"such as {re.escape(options)}( \\(.*, 0 conflicts\\))?;", str(caught.value))


def test_the_example_keeps_what_was_chosen(tmp_path):
    path = table(tmp_path, "a,b,c\n1,x,y\n2,z,w\n")
    with pytest.raises(ByheartError, match=r"such as input='b' label='c' \(2 contexts, 0 "):
        load(path, input="b")
    with pytest.raises(ByheartError, match="such as input='c' label='b' "):
        load(path, label="b")


def test_a_table_in_our_own_words_needs_no_options(tmp_path):
    data = load(table(tmp_path, "label,input,count\nParis,capital of France,2\n"))
    assert data[0] == (["capital", " of", " France"], "Paris") and data.counts.tolist() == [2]


# Folders that were written before there were these options


def test_options_that_were_stored_before_mean_the_same(tmp_path):
    path = table(tmp_path, 'a,b,y\n5.1,"x; y",0\n7,,1\n')
    stored = {"input": ["a", "b"], "label": "y"}  # all that config.json held
    old = load(path, **applicable(path, stored))
    assert list(old) == [(["5", ".", "1", "x", ";", "y"], "0"), (["7"], "1")]
    lines = table(tmp_path, "a\tb\ty\n5.1\tx\t0\n", "d.tsv")
    assert load(lines, **applicable(lines, stored))[0] == (["5", ".", "1", "x"], "0")
    for name in BEFORE:
        assert name in applicable(path, stored)
    new = load(path, **stored, empty="skip")
    assert load(path, **applicable(path, json.loads(json.dumps(new.loading)))).sha256() \
        == new.sha256()  # fmt: skip


def test_a_label_is_the_cell_as_it_is(tmp_path):
    path = table(tmp_path, "a,y\nx, 1 \nz,  \n")
    assert load(path, input="a", label="y", empty="keep").label_names == ("  ", " 1 ")
    frame = [{"a": "x", "y": float("nan")}, {"a": "z", "y": "b"}]
    assert load(frame, input="a", label="y", empty="keep").label_names == ("", "b")


def test_a_column_may_be_input_and_label(tmp_path):
    data = load(table(tmp_path, "a,b\nx y,1\n"), input="a", label="a")
    assert data[0] == (["x", " y"], "x y")


def test_counts_of_a_table(tmp_path):
    path = table(tmp_path, "input,label,seen\nx,1,3\ny,2,1\n")
    data = load(path, count="seen")
    assert data.counts.tolist() == [3, 1] and data.loading["count"] == "seen"
    assert load(path, **data.loading).sha256() == data.sha256()
    with pytest.raises(ByheartError, match="line 3: the count is not an integer of 1 or more"):
        load(table(tmp_path, "a,y,n\nx,1,3\ny,2,0\n"), input="a", label="y", count="n")
