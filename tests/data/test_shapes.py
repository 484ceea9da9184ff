"""Rows as people keep them: chats, tasks, questions with choices, texts, lists in lists."""

import json

import pytest

import byheart
from byheart.errors import ByheartError

TURNS = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": [{"type": "text", "text": "Fly"}, {"type": "image"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "up"}]},
]
SQUAD = {
    "version": "1",
    "data": [
        {
            "title": "Peru",
            "paragraphs": [
                {
                    "context": "Lima is the capital.",
                    "qas": [
                        {"id": "a", "question": "What is Lima?", "answers": [{"text": "capital"}]},
                        {"id": "b", "question": "Where?", "answers": [{"text": "Peru"}, {}]},
                    ],
                }
            ],
        }
    ],
}


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pairs(data):
    return [("".join(tokens), label) for tokens, label in data]


def test_each_answer_of_the_assistant_after_what_precedes_it(tmp_path):
    path = lines(tmp_path / "chat.jsonl", [{"messages": TURNS, "tools": []}])
    data = byheart.load(path)
    before = "system: Be short.\nuser: Hello\nassistant:"
    then, call = f"{before} Hi.\nuser: Fly\nassistant:", '{"tool_calls": [{"name": "up"}]}'
    assert pairs(data) == [(before, "Hi."), (then, call)]
    assert data.notes[0] == "each answer of the assistant after what precedes it (messages)"
    assert data.unused == ("tools", "messages.content.image") and data.loading["shape"] == "chat"
    model = byheart.compile(data)
    assert not byheart.verify(model, path).holds  # tools are not claimed
    assert byheart.verify(model, path, shape="chat").holds
    shared = [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi."}]
    assert pairs(byheart.load([{"conversations": shared}])) == [("human: Hello\ngpt:", "Hi.")]


def test_tasks_with_and_without_inputs_and_instances():
    flat = {"instruction": "Add.", "input": "1 2", "output": "3"}
    other = {"instruction": "Say 4.", "input": "", "output": "4"}
    assert pairs(byheart.load([flat, other])) == [("Add.\n1 2", "3"), ("Say 4.", "4")]
    nested = {"instruction": "Add.", "instances": [{"input": x, "output": x} for x in ("1", "2")]}
    assert pairs(byheart.load([nested])) == [("Add.\n1", "1"), ("Add.\n2", "2")]
    assert pairs(byheart.load([flat], input="input", label="output")) == [("1 2", "3")]
    assert byheart.load([flat], shape="rows", input="input", label="output").loading["input"]


@pytest.mark.parametrize("answer", [1, "B", "1"])
def test_choices(answer):
    row = {"question": "Capital of Peru?", "choices": ["Rome", "Lima"], "answer": answer, "id": 7}
    data = byheart.load([row])
    assert pairs(data) == [("Capital of Peru?\nA. Rome\nB. Lima", "Lima")] and data.unused == (
        "id",
    )
    for wrong in (2, -1, "Z", None):
        with pytest.raises(ByheartError, match="row 1: not of the shape"):
            byheart.load([{**row, "answer": wrong}])


def test_texts_alone_are_documents(tmp_path):
    texts = ["one two three", "four five"]
    rows = [{"text": x} for x in texts]
    path = lines(tmp_path / "texts.jsonl", rows)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    (tmp_path / "texts.csv").write_text("text\none two three\nfour five\n")
    data = byheart.load(path)
    assert (
        len(data) == 3 and data.loading["shape"] == "texts" and data.beginnings == ("four", "one")
    )
    for other in (texts, rows, tmp_path / "texts.json", tmp_path / "texts.csv"):
        assert byheart.load(other).sha256() == data.sha256()
    assert byheart.load(path, window="auto").loading["window"] == 1
    model = byheart.compile(data)
    assert byheart.verify(model, path).holds
    assert [json.loads(x) for x in model.recite().text.splitlines()] == rows
    assert byheart.recite(model, check=path).holds
    with pytest.raises(ByheartError, match="is for documents"):
        byheart.load([{"a": "b", "c": "d"}], input="a", label="c", window=2)
    with pytest.raises(ByheartError, match="row 2: 'text' is no text"):
        byheart.load([{"text": "a b"}, {"text": 3}])


def test_lists_in_lists(tmp_path):
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(SQUAD))
    with pytest.raises(ByheartError, match=r"records='data\[\].paragraphs\[\].qas\[?"):
        byheart.load(path)
    where = {"records": "data[].paragraphs[].qas[]"}
    data = byheart.load(path, **where, input="question", label="answers.0.text")
    assert pairs(data) == [("What is Lima?", "capital"), ("Where?", "Peru")]
    assert {"title", "context", "id", "answers"} <= {*data.unused}
    asked = byheart.load(path, **where, template="{title}: {question}", label="answers.0.text")
    assert pairs(asked)[0] == ("Peru: What is Lima?", "capital")
    by_key = {"Plato": [{"q": "a", "t": "b"}], "Kant": [{"q": "c", "t": "d"}]}
    data = byheart.load(by_key, records="[][]", input=["key", "q"], label="t", between="")
    assert pairs(data) == [("Plato a", "b"), ("Kant c", "d")]
    with pytest.raises(ByheartError, match="neither a list nor a mapping"):
        byheart.load(path, records="version[]")
    with pytest.raises(ByheartError, match="leads nowhere at 'nothing'"):
        byheart.load(path, records="data[].nothing")


def test_nan_is_an_empty_cell(tmp_path):
    path = tmp_path / "nan.jsonl"
    path.write_text('{"a": "x", "b": "y", "c": NaN}\n{"a": "z", "b": NaN, "c": 1}\n')
    assert len(byheart.load(path, input="a", label="b", empty="skip")) == 1
    with pytest.raises(ByheartError, match='"b" in line 2'):
        byheart.load(path, input="a", label="b")
    path.write_text('{"input": [1, NaN], "label": 1}\n')
    with pytest.raises(ByheartError, match="not a number"):
        byheart.load(path)


def test_a_folder_does_not_choose_the_shape(tmp_path):
    path = lines(tmp_path / "a.jsonl", [{"instruction": "Add.", "input": "", "output": "3"}])
    model = byheart.compile(byheart.load(path))
    assert model.recall("Add.") == "3"
    found = byheart.verify(model, path, shape="rows", input="instruction", label="output")
    assert found.reading["input"] == ["instruction"]


HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
TASK = {"instruction": "Add.", "input": "1 2", "output": "3"}


@pytest.mark.parametrize(
    "row, unread",
    [
        ([HELLO[0], {**HELLO[1], "tool_calls": ["lie"]}], ["messages.tool_calls"]),
        ([HELLO[0], {**HELLO[1], "from": "gpt", "value": "lie"}],
         ["messages.from", "messages.value"]),
        ([HELLO[0], {**HELLO[1], "content": [{"text": "Hi."}, {"image": "lie"}]}],
         ["messages.content.part"]),
        ([*HELLO, {"role": "user", "content": "lie"}], ["messages after the last answer"]),
        ({**TASK, "input": "", "output": "lie", "instances": [{"input": "1 2", "output": "3"}]},
         ["output"]),
        ({**TASK, "instances": [{"input": "1 2", "output": "3", "also": "lie"}]},
         ["input", "output", "instances.also"]),
    ],
    ids=["calls", "two names", "parts", "no answer", "own output", "keys"],
)  # fmt: skip
def test_what_a_shape_does_not_read_is_named(tmp_path, row, unread):
    """And nothing is proved before it is accepted."""
    plain, row = ({"messages": HELLO}, {"messages": row}) if isinstance(row, list) else (TASK, row)
    model = byheart.compile(byheart.load(lines(tmp_path / "plain.jsonl", [plain])))
    assert byheart.verify(model, tmp_path / "plain.jsonl").holds
    data = byheart.load(path := lines(tmp_path / "more.jsonl", [row]))
    assert pairs(data) == pairs(byheart.load([plain])) and list(data.unused) == unread
    found = byheart.verify(model, path)
    assert found.evidence is None and not found.holds and repr(unread[0]) in found.failures[0]
    assert byheart.verify(model, path, shape=data.loading["shape"]).holds


@pytest.mark.parametrize(
    "turns", [[HELLO[0]], [HELLO[0], {"role": "Claude", "content": "lie"}], [HELLO[1]]]
)
def test_a_chat_without_an_answer_is_a_row_with_an_empty_cell(turns):
    rows = [{"messages": HELLO}, {"messages": turns}]
    with pytest.raises(ByheartError, match='"label" in row 2'):
        byheart.load(rows)
    data = byheart.load(rows, empty="skip")
    assert len(data) == 1 and data.left_out == {"empty": 1}
    model = byheart.compile(data)
    assert not byheart.verify(model, rows).holds
    assert byheart.verify(model, rows, empty="skip").holds


@pytest.mark.parametrize(
    "wrong",
    [{"choices": {"a": "x", "b": "y"}}, {"choices": "xy"}, {"choices": ["x"] * 27},
     {"answer": True}, {"choices": [["x"], "y"]}, {"question": ["q"]}],
)  # fmt: skip
def test_choices_are_a_list_of_texts_with_letters(wrong):
    row = {"question": "q", "choices": ["x", "y"], "answer": 1}
    with pytest.raises(ByheartError, match="row 1: not of the shape"):
        byheart.load([row | wrong], shape="choices")


def test_white_space_that_is_not_read_is_named(tmp_path):
    path = lines(tmp_path / "d.jsonl", [{"text": " the cat sat"}])
    assert [*byheart.load(path).notes][1:] == ["white space around documents is not read"]
    assert len(byheart.load(path, unit="char").notes) == 1
    rows = [("the cat ", "sat"), ("a dog", "ran")]
    assert [*byheart.load(rows).notes] == ["white space around cells is not read"]
    assert not byheart.load(rows, unit="char").notes
    assert [*byheart.load(rows, unit="wordpunct").notes] == ["white space is not read"]
    text = tmp_path / "d.txt"
    text.write_text("cost 1. 5\n")  # and of "1.5" are the same tokens
    model = byheart.compile(byheart.load(text, unit="wordpunct"))
    text.write_text("cost 1.5\n")
    found = byheart.verify(model, text)
    assert found.holds and "white space is not read" in found.reading_notes


def test_a_long_path_to_records_is_refused_at_once():
    """A folder may come with one, and every way to read its dots would be tried."""
    with pytest.raises(ByheartError, match="more than 10,000 characters"):
        byheart.load({"a": [{"input": ["a"], "label": "x"}]}, records="a." * 40_000)


def test_a_shape_is_what_the_columns_suggest_and_not_what_a_folder_says():
    rows = [{"text": "the cat sat", "id": "1"}, {"text": "a dog ran", "id": "2"}]
    model = byheart.compile(byheart.load(rows, shape="texts"))
    with pytest.raises(ByheartError, match="choose the columns"):
        byheart.verify(model, rows)
    assert byheart.verify(model, rows, shape="texts").holds
