"""Where a question stands in a text: beginnings, middles, and questions that lack something."""

import json
from dataclasses import replace

import pytest

import byheart
from byheart.claims.verification import Verification
from byheart.cli import main
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.models.placing import placed
from byheart.models.questions import from_line
from byheart.views.recall import word

TEXT = """First, you know Caius Marcius is chief enemy to the people. We know it, we know it.

Second, would you proceed especially against Caius Marcius? Against him first: he is a dog to us.

Third, consider you what services he has done for his country, and what he is?
"""
NEEDS = "this model needs the last {} tokens unless the text begins here"


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    path = folder / "d.txt"
    path.write_text(TEXT)
    data = load(path, window="auto")
    model = byheart.compile(data)
    model.save(folder / "m")
    return byheart.open(folder / "m"), data, folder / "m"


def labels(model, questions):
    return [answer.label for answer in model.answers(questions)]


def test_every_window_of_the_text_is_answered(story):
    """As it was cut, and as a person types it: the words of the context with single spaces."""
    model, data, _ = story
    typed = ["".join(data.sequence(i)).lstrip() for i in range(len(data))]
    right = [data.label(i) for i in range(len(data))]
    assert labels(model, typed) == right
    assert [model.recall(f"  {question}") for question in typed[:20]] == right[:20]


def test_a_question_from_the_middle_that_is_too_short_has_no_answer(story):
    model, data, _ = story
    window = data.loading["window"]
    assert window == 3
    (answer,) = model.answers(["Caius Marcius"])
    assert (answer.label, answer.known, answer.note) == (None, False, NEEDS.format(3))
    for question in ("know", "consider", "Second you", "First would", "him first"):
        (answer,) = model.answers([question])
        assert (answer.label, answer.known) == (None, False) and answer.note, question
    for question, label in {"First": ",", "Second,": " would", "Second": ","}.items():
        (answer,) = model.answers([question])
        assert (answer.label, answer.known, answer.note) == (label, None, None)
    (answer,) = model.answers(["zebra"])
    assert (answer.label, answer.known, answer.note) == (None, False, None)


def test_more_tokens_than_the_window_are_cut(story):
    model, _, _ = story
    assert model.recall("zebras know Caius Marcius is chief enemy") == " to"
    assert "".join(x.label for x in model.continue_("you know Caius Marcius", 5)) \
        == " is chief enemy to the"  # fmt: skip


def test_the_first_token_may_stand_after_a_space_or_not(story):
    model, data, _ = story
    assert "Against" not in data.tokens and " Against" in data.tokens
    assert placed(model, ["Against", " him", " first"]).tokens == [" Against", " him", " first"]
    assert placed(model, [" First", ","]).tokens == ["First", ","]


def test_white_space_that_matters_is_asked_for(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("x if a: b c\n  if a: d e")
    model = byheart.compile(load(path, documents="whole", window=3))
    (answer,) = model.answers(["if a:"])
    assert answer.label in (" b", " d") and "begin one token earlier" in answer.note
    assert labels(model, ["x if a:", "c if a:"]) == [" b", " b"]  # " if" in both, as typed
    assert model.recall("c\n  if a:") == " d"


def test_distributions_know_their_beginnings_too(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text(f"{TEXT}\nFirst, think it over.\n")
    model = byheart.compile(load(path, length=6), "one-layer")
    (beginning,) = model.answers(["First,"])
    assert {token for token, _ in beginning.probabilities} == {" you", " think"}
    (middle,) = model.answers(["you know"])
    assert (middle.label, middle.known) == (None, False)
    assert middle.note == "this model knows its texts from their beginning on"


def test_settled_conflicts_and_folders_without_beginnings_are_marked_only(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("a b c d\na b e d\n")
    settled = byheart.compile(load(path, window=3), on_conflict="majority")
    label = settled.recall("a b")
    (answer,) = settled.answers(["a b e"])
    assert label in (" c", " e") and answer.label == " d"
    path.write_text("a b c d e\n")
    model = byheart.compile(load(path, window=3))
    data = model.record.data._replace(beginnings=None)  # as version 0.1 wrote it
    model = replace(model, record=replace(model.record, data=data))
    (answer,) = model.answers(["a b"])
    assert (answer.label, answer.known, answer.note) == (" c", None, NEEDS.format(3))


def test_the_command_line_says_what_a_question_lacks(story, capsys):
    folder = str(story[2])
    assert main(["recall", folder, "Caius", "Marcius", "--steps", "8"]) == 0
    out, errors = capsys.readouterr()
    assert (out, errors) == ("(unknown)\n", f"note: {NEEDS.format(3)}.\n")
    assert main(["recall", folder, "Caius", "Marcius", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (answer["known"], answer["note"]) == (False, NEEDS.format(3))
    assert main(["recall", folder, "know Caius Marcius", "--steps", "3"]) == 0
    assert capsys.readouterr() == (" is chief enemy\n", "")


def test_no_label_looks_like_unknown(tmp_path, capsys):
    marks = ["(unknown)", "\\(unknown)", "(no label)", " (unknown)"]
    rows = [([f"q{i}"], mark) for i, mark in enumerate(marks)]
    byheart.compile(from_rows(rows)).save(tmp_path / "m")
    printed = []
    for question in ("q0", "q1", "q2", "q3", "other"):
        assert main(["recall", str(tmp_path / "m"), question]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[-1] == "(unknown)\n" and printed.count("(unknown)\n") == 1
    assert word("unknown") == "unknown"


# Python


def test_text_in_python_is_read_as_on_the_command_line(tmp_path):
    pairs = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
    model = byheart.compile(pairs)
    assert model.recall("The capital of Peru is") == "Lima"
    assert model.recall(["The", " capital", " of", " Peru", " is"]) == "Lima"
    assert model.trace("The capital of Peru is").json()["label"] == "Lima"
    tokens = byheart.compile(from_rows([(["a", "b"], "x"), (["ab"], "y")]))
    assert (tokens.recall("a b"), tokens.recall("ab")) == ("x", "y")  # never characters
    columns = {"input": ["premise", "hypothesis"], "label": "y"}
    rows = [
        {"premise": "a b", "hypothesis": "c", "y": 1},
        {"premise": "a", "hypothesis": "b c", "y": 2},
    ]
    both = byheart.compile(load(rows, **columns))
    assert (both.recall("a b | c"), both.recall("a | b c")) == (1, 2)
    assert from_line(both, "a | b c") == ["a", "|", "b", " c"]


@pytest.mark.parametrize("question", [123, None, 1.5])
def test_what_is_no_question_is_one_sentence(question):
    model = byheart.compile([("a b", 1), ("c", 2)])
    for ask in (model.recall, model.trace, model.distribution):
        with pytest.raises(ByheartError, match="a question is text or a list of tokens|stores lab"):
            ask(question)


def test_a_verification_is_true_if_it_holds():
    data = from_rows([(["a"], "x"), (["b"], "y")])
    model = byheart.compile(data)
    other = from_rows([(["a"], "y"), (["b"], "y")])
    assert byheart.verify(model, data) and not byheart.verify(model, other)
    sampled = byheart.verify(model, data, sample=1)
    assert sampled.evidence == "sampled" and not sampled
    assert byheart.verify(model, data, sample=1, accept=["sampled"])
    assert not Verification(0, 0, None, "auto")
