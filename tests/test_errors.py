"""Messages as Python and as the command line show them."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import AssumptionError, ByheartError, Message, OptionError, flags

EXAMPLES = {
    "use `positions=True`.": ("use positions=True.", "use --positions."),
    "use `positions=False`.": ("use positions=False.", "use --no-positions."),
    "`on_conflict='drop'` works": ("on_conflict='drop' works", "--on-conflict drop works"),
    'use `window="auto"`.': ('use window="auto".', "use --window auto."),
    "use `documents='two words'`.": ("use documents='two words'.", "use --documents 'two words'."),
    "(`gap=1e-09`, `bits=4`)": ("(gap=1e-09, bits=4)", "(--gap 1e-09, --bits 4)"),
    "leave out `length=...`.": ("leave out length=....", "leave out --length."),
    "`head_dimension` is 3": ("head_dimension is 3", "--head-dimension is 3"),
    "name it with `models=...`": ("name it with models=...", "name it with --with"),
    "give `label=''`": ("give label=''", "give --label ''"),
    "give `label=`": ("give label=", "give --label ''"),
    "the law is a=3, and `x y=3` or ` stays": ("the law is a=3, and `x y=3` or ` stays",) * 2,
}


@pytest.mark.parametrize("marked", EXAMPLES)
def test_examples(marked):
    message = Message(marked)
    assert (message, flags(message)) == EXAMPLES[marked]
    assert type(str(ByheartError(marked))) is Message
    assert flags(ByheartError(marked)) == EXAMPLES[marked][1]


@given(st.text())
def test_text_without_marks_stays(text):
    if "`" not in text:
        assert Message(text) == text == flags(Message(text))
    assert flags(text) == text  # not a message
    assert isinstance(flags(Message(text)), str)


def test_an_answer_is_shown_as_a_whole():
    message = Message("use `bits=40`")
    answer = {"rows": [{"reason": message, "bits": 3}], "notes": (message,), "note": None}
    shown = {"rows": [{"reason": "use --bits 40", "bits": 3}], "notes": ("use --bits 40",)}
    assert flags(answer) == {**shown, "note": None}


@pytest.mark.parametrize("copied", [copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_errors_travel_between_processes(copied):
    error = copied(OptionError("sample", 0, "must be an integer of at least 1", "leave it out"))
    assert (error.option, error.value, error.remedy) == ("sample", 0, "leave it out")
    assert flags(error) == "--sample must be an integer of at least 1, not 0; leave it out."
    error = copied(AssumptionError("A3 fails: use `bits=20`.", smallest=20))
    assert error.smallest == 20 and str(error) == "A3 fails: use bits=20."
    assert flags(copied(Message("use `bits=20`"))) == "use --bits 20"
