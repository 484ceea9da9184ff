"""Python objects as data: frames, records, pairs and splits, wherever a file can be given."""

import json

import numpy as np
import pytest

import byheart
from byheart.data.load import load
from byheart.errors import ByheartError

PAIRS = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
RECORDS = [{"prompt": prompt, "completion": label} for prompt, label in PAIRS]
CHOSEN = {"input": "prompt", "label": "completion"}
ANSWERS = [
    (["The", " capital", " of", " France", " is"], "Paris"),
    (["The", " capital", " of", " Peru", " is"], "Lima"),
]


class Column(list):
    """A column of a data frame as pandas and polars have it."""

    def to_list(self):
        return list(self)


class Frame(dict):
    """A data frame, of which only the columns by name are needed."""

    @property
    def columns(self):
        return list(self)


def test_pairs_and_records_are_read_as_text():
    assert list(load(PAIRS)) == list(load(iter(PAIRS))) == ANSWERS
    assert list(load(RECORDS, **CHOSEN)) == ANSWERS
    assert list(load({"France": "Paris", "Peru": "Lima"}, input="key", label="value")) == [
        (["France"], "Paris"),
        (["Peru"], "Lima"),
    ]
    assert load([(["New York", "is"], "big", 3)]).counts.tolist() == [3]
    assert load([(["New York", "is"], "big")])[0] == (["New York", "is"], "big")


def test_a_string_is_never_read_as_characters_unless_asked():
    assert load([("ab", 1)])[0] == (["ab"], 1)
    assert load([("ab", 1)], unit="char")[0] == (["a", "b"], 1)
    with pytest.raises(ByheartError, match="rows, row 1: the input is not a list"):
        byheart.from_rows([("ab", 1)])


def test_tokens_in_pairs_are_those_of_from_rows():
    rows = [([[1, 2], [3, 4]], "x"), ([[5, 6]], "y", 4)]
    assert load(rows).sha256() == byheart.from_rows(rows).sha256()
    rows = [(np.array([1, 2]), [0, 1]), ((3,), [1])]
    assert load(rows).sha256() == byheart.from_rows(rows).sha256()


def test_frames():
    frame = Frame(
        text=Column(["the cat", "a dog!", "the, the"]),
        more=Column([["sat", "down"], ("ran",), np.array(["up"])]),
        label=Column(["x", "y", "x"]),
        seen=Column([1, 2, np.int64(3)]),
    )
    one = load(frame, input="text", label="label")
    assert list(one)[1:] == [(["a", " dog", "!"], "y"), (["the", ",", " the"], "x")]
    both = load(frame, input=["more", "text"], label="label", count="seen")
    assert both[0] == (["sat", "down", "|", "the", " cat"], "x")
    assert both.counts.tolist() == [1, 2, 3]


def test_numbers_and_vectors_of_frames():
    frame = Frame(a=Column([1, 2]), b=[2.5, 3.0], v=[[[1, 2]], [[3, 4], [5, 6]]], y=[0, 1])
    assert list(load(frame, input=["a", "b"], label="y")) == [([[1, 2.5]], 0), ([[2, 3]], 1)]
    tokens = load(frame, input=["a", "b"], label="y", numeric="tokens")
    assert list(tokens) == [([1, 2.5], 0), ([2, 3], 1)]
    assert load(frame, input="v", label="y")[1] == ([[3, 4], [5, 6]], 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (Frame(a=["x"], y=[1]), '"text" is not a column; the columns are a, y'),
        (Frame(texts=["x"], y=[1]), 'is not a column; did you mean "texts"'),
        (Frame(text=["a", " "], y=[1, 1]), 'an empty cell ."text" in row 2'),
        (Frame(text=["a", None], y=[1, 1]), 'an empty cell ."text" in row 2'),
        (Frame(text=["a", float("nan")], y=[1, 1]), 'an empty cell ."text" in row 2'),
        (Frame(text=["a", {}], y=[1, 1]), "row 2: .*a token is an object"),
        (Frame(text=["a"], y=[1.5]), "row 1: the label is a number"),
        (Frame(text=[], y=[]), "holds no sequences"),
        ([], "holds no sequences"),
        ([{"text": "a", "y": 1}, 5], "row 2: not a record as the others"),
        ([1, 2], r"row 1: give \(input, label\)"),
        (5, "the data is int, which holds no rows; give a path, a data frame, a list"),
        (None, "the data is NoneType"),
        ({"train": [{"text": "a", "y": 1}], "n": 1}, "choose them with records='train'"),
        ({"a": {"b": {"c": [{"text": "a"}]}, "d": 1}}, '"text" is not a column'),
    ],
)
def test_bad_objects(data, reason):
    with pytest.raises(ByheartError, match=reason) as caught:
        load(data, input="text", label="y")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_options_of_files_do_not_apply_to_objects():
    with pytest.raises(ByheartError, match=r"the data: delimiter=\.\.\. does not apply here"):
        load(PAIRS, delimiter=";")
    with pytest.raises(ByheartError, match="loaded already"):
        load(load(PAIRS))


def test_objects_wherever_a_file_can_be_given():
    data = load(PAIRS)
    assert byheart.stats(PAIRS).json() == byheart.stats(data).json()
    assert byheart.stats(RECORDS, **CHOSEN).contexts == 2
    assert byheart.bounds(PAIRS).json() == byheart.bounds(data).json()
    assert byheart.bounds(RECORDS, loading=CHOSEN).dataset == byheart.bounds(data).dataset
    model = byheart.compile(PAIRS)
    assert model.recall(ANSWERS[1][0]) == "Lima"
    assert byheart.verify(model, data).evidence == "proved"
    found, wanted = byheart.encoder(PAIRS, [1]).json(), byheart.encoder(data, [1]).json()
    assert found["dataset"] == wanted["dataset"]


def test_loading_again_gives_the_same(tmp_path):
    for data, how in [
        (PAIRS, {}),
        (RECORDS, CHOSEN),
        ({"rows": RECORDS}, {**CHOSEN, "records": "rows"}),
        ([{"a": 1, "b": "x y", "c": "z"}], {"input": ["a", "b"], "label": "c"}),
    ]:
        once = load(data, **how)
        stored = json.loads(json.dumps(dict(once.loading)))
        assert load(data, **stored).sha256() == once.sha256()
        assert load(data, **stored).loading == once.loading


def test_real_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["the cat", "the dog", None], "y": [1, 2, None]})
    data = load(frame, input="text", label="y", empty="skip")
    assert list(data) == [(["the", " cat"], 1), (["the", " dog"], 2)] and data.skipped == 1
    frame = pandas.DataFrame([[5.1, 3.5, "setosa"], [4.9, 3.0, "other"]])  # columns 0, 1 and 2
    assert load(frame, input=["0", "1"], label="2")[0] == ([[5.1, 3.5]], "setosa")
    frame = pandas.DataFrame({"n": pandas.array([1, None], "Int64"), "y": ["a", "b"]})
    with pytest.raises(ByheartError, match='"n" in row 2'):
        load(frame, input="n", label="y")


def test_real_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"tokens": [["the", "cat"], ["dog"]], "y": [1, 2]})
    assert list(load(frame, input="tokens", label="y")) == [(["the", "cat"], 1), (["dog"], 2)]


def test_real_splits():
    datasets = pytest.importorskip("datasets")
    split = datasets.Dataset.from_dict({"text": ["the cat", "the dog"], "y": [1, 2]})
    wanted = [(["the", " cat"], 1), (["the", " dog"], 2)]
    assert list(load(split, input="text", label="y")) == wanted
    assert list(load(split.with_format("numpy"), input="text", label="y")) == wanted
    assert list(load(split.to_iterable_dataset(), input="text", label="y")) == wanted
    both = datasets.DatasetDict({"train": split, "test": split.select([1])})
    with pytest.raises(ByheartError, match="several splits, train, test; .* records='train'"):
        load(both, input="text", label="y")
    assert len(load(both, records="test", input="text", label="y")) == 1


def test_arrow_tables():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"text": ["the cat", "the dog"], "y": [1, 2]})
    assert load(table, input="text", label="y")[1] == (["the", " dog"], 2)


def test_columns_by_name_as_pandas_writes_them():
    """DataFrame.to_json numbers the rows inside every column."""
    value = {"of": {"0": "France", "1": "Peru"}, "is": {"0": "Paris", "1": "Lima"}}
    assert list(load(value, input="of", label="is")) == [(["France"], "Paris"), (["Peru"], "Lima")]
    record = {"France": {"capital": "Paris"}, "Peru": {"capital": "Lima"}}  # the key is a column
    assert load(record, input="key", label="capital")[1] == (["Peru"], "Lima")


def test_columns_of_an_object_are_chosen_with_load():
    says = r"such as byheart\.load\(data, input='prompt', label='completion'\) \(\d+ contexts?, 0 "
    for call in (byheart.compile, byheart.stats, byheart.bounds, byheart.load):
        with pytest.raises(ByheartError, match=says):
            call(RECORDS)
    numbers = [{"x": i % 2, "y": i // 2, "class": i} for i in range(4)]
    with pytest.raises(ByheartError, match=r"input=\['x', 'y'\], label='class'\)"):
        load(numbers)


def test_a_check_takes_objects():
    assert byheart.check("separation", data=PAIRS).evidence == "proved"


def test_the_split_orientation_of_pandas_is_a_table():
    rows = [["x", "1"], ["y", "2"]]  # as many as columns, so that it could be three columns
    split = {"columns": ["a", "b"], "index": [0, 1], "data": rows}
    for value in (
        split,
        {**split, "data": [*rows, ["z", "3"]], "index": [0, 1, 2]},
        {"columns": ["a", "b"], "data": rows},
    ):
        found = load(value, input="a", label="b")
        assert [(*tokens, label) for tokens, label in found] == list(map(tuple, value["data"]))
    named = load({**split, "index": ["Ann", "Bob"]}, input="a", label="b")
    assert (
        named.unused == ("index",) and named.sha256() == load(split, input="a", label="b").sha256()
    )
    assert load({**split, "index": ["Ann", "Bob"]}, input="index", label="b")[1] == (["Bob"], "2")
    for wrong in ([0], "ab", None):
        with pytest.raises(ByheartError):
            load({**split, "index": wrong}, input="a", label="b")
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame({"a": ["x", "y"], "b": ["1", "2"]}).to_json(orient="split")
    assert list(load(json.loads(text), input="a", label="b")) == [(["x"], "1"), (["y"], "2")]


def test_a_list_as_label_says_what_it_can_be():
    says = r"row 1: the label is a list of 3 .* or a single label \(a list as text is one\)"
    with pytest.raises(ByheartError, match=says):
        load([{"word": "ABBEY", "phones": ["AE1", "B", "IY0"]}], input="word", label="phones")
