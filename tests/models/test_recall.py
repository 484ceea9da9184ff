"""A model that recites: many answers, one after another, as it would give them one by one."""

import pytest

import byheart
from byheart.exact.limbs import engine
from byheart.models import recall
from byheart.models.kinds import kind_of

TEXT = "the cat sat on the mat\nand the dog sat on the cat\nand the cat ran off"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return byheart.compile(byheart.load(path, documents="whole", window="auto"))


def recited(model):
    return ["the", *(answer.label for answer in recall.continued(model, ["the"]))]


@pytest.mark.parametrize("pays", [0, 1, 7])
def test_a_long_recitation_goes_on_with_the_compiled_kernels(model, monkeypatch, pays):
    calls, run = [], engine.Evaluator.__call__
    monkeypatch.setattr(
        engine.Evaluator, "__call__", lambda self, batch: (calls.append(1), run(self, batch))[1]
    )
    assert "".join(recited(model)) == TEXT and not calls
    monkeypatch.setattr(recall, "PAYS", pays)
    words = recited(model)
    assert "".join(words) == TEXT and len(calls) == len(words) - 1 - pays


def test_where_the_kernels_cannot_run_the_reference_answers(model, monkeypatch):
    def fails(self, batch):
        raise engine.LimbsError("too long")

    monkeypatch.setattr(recall, "PAYS", 2)
    monkeypatch.setattr(engine.Evaluator, "__call__", fails)
    assert "".join(recited(model)) == TEXT


def test_a_word_outside_the_vocabulary(model):
    answer = kind_of(model).answer.answering(model)(["nobody"])
    assert answer.label is None and answer.known is False
