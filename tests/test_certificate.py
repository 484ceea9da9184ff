"""verify judges what the network says, and nothing that only looks right passes."""

from dataclasses import replace

import pytest

from byheart import ByheartError, compile, from_rows, verify
from byheart.network import Linear, matrix, vector

ROWS = [(["a", "b"], "x"), (["b", "a"], "y"), (["b"], "x"), (["a", "a"], "y")]


@pytest.fixture(scope="module")
def model():
    return compile(from_rows(ROWS))


def test_proved(model):
    found = verify(model, from_rows(ROWS))
    assert (found.evidence, found.checked, found.correct, found.failures) == ("proved", 4, 4, ())


@pytest.mark.parametrize("engine", ["exact", "limbs"])
def test_a_changed_label_is_refuted(model, engine):
    found = verify(model, from_rows([*ROWS[:3], (["a", "a"], "x")]), engine)
    assert (found.evidence, found.correct) == ("refuted", 3)
    assert found.failures == (
        f"sequence 4: the label is 'x', the network says 'y' (output {model.labels.index('y')})",
    )


def test_a_word_or_label_the_model_does_not_know_is_wrong(model):
    # an unknown word is read as padding, so the network may well give the right output
    found = verify(model, from_rows([(["b"], "x"), (["new", "b"], "x"), (["b"], "new")]))
    assert (found.evidence, found.correct) == ("refuted", 1)


def test_no_output_stands_for_a_missing_label(model):
    """A network that answers -1 must not pass as right on a label that it does not have."""
    last = Linear(matrix(1, model.network.width, {}), vector({0: -1}, 1), "output")
    always = replace(model.network, layers=(*model.network.layers[:-1], last))
    found = verify(replace(model, network=always), from_rows([(["a", "b"], "new")]))
    assert (found.evidence, found.correct) == ("refuted", 0)


def test_longer_and_other_data_are_refused(model):
    with pytest.raises(ByheartError, match="at most 2"):
        verify(model, from_rows([(["a", "b", "a"], "x")]))
    with pytest.raises(ByheartError, match="number tokens"):
        verify(model, from_rows([([1, 2], "x")]))
