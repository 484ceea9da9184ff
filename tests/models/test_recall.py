"""A model that recites or is asked: the same answers by the reference and by the kernels."""

import pickle

import pytest

import byheart
from byheart.exact import evaluate
from byheart.exact.limbs import engine
from byheart.models import recall

TEXT = "the cat sat on the mat\nand the dog sat on the cat\nand the cat ran off"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return byheart.compile(byheart.load(path, documents="whole", window="auto"))


@pytest.fixture
def asked(model, monkeypatch):
    """The sizes of the batches that the kernels answer; nothing is translated before."""
    sizes, run = [], engine.Evaluator.__call__

    def count(self, batch, progress=None):
        sizes.append(len(batch))
        return run(self, batch, progress)

    monkeypatch.setattr(engine.Evaluator, "__call__", count)
    vars(model.network).pop("engines", None)
    return sizes


def recited(model):
    return ["the", *(answer.label for answer in recall.continued(model, ["the"]))]


@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_recitation_goes_on_with_the_compiled_kernels(model, asked, monkeypatch, before):
    assert "".join(recited(model)) == TEXT and not asked  # too short a text
    vars(model.network).pop("engines")
    monkeypatch.setattr(evaluate, "PAYS", before * model.parameters.nonzero)
    words = recited(model)
    assert "".join(words) == TEXT and asked == [1] * (len(words) - 1 - before)


def test_the_network_is_translated_once(model, asked, monkeypatch):
    monkeypatch.setattr(evaluate, "PAYS", 0)
    recited(model)
    first = model.network.engines.evaluator
    byheart.verify(model, [(["the"], "cat"), (["and"], "the")], engine="limbs")
    assert "".join(recited(model)) == TEXT
    assert model.network.engines.evaluator is first and len(asked) > 30
    copied = pickle.loads(pickle.dumps(model.network))
    assert "engines" not in vars(copied) and copied == model.network


def test_many_questions_are_one_batch(model, asked, monkeypatch):
    monkeypatch.setattr(evaluate, "PAYS", 10 * model.parameters.nonzero)
    words = model.answers([["the"]] * 500)
    assert not asked and {answer.label for answer in words} == {" cat"}
    words = model.answers([["the"], ["zebra"], *[["the"]] * 498])
    assert asked == [499] and words[1].known is False and words[499].label == " cat"


def test_where_the_kernels_cannot_run_the_reference_answers(model, asked, monkeypatch):
    def fails(self, batch, progress=None):
        raise engine.LimbsError("too long")

    monkeypatch.setattr(evaluate, "PAYS", 0)
    monkeypatch.setattr(engine.Evaluator, "__call__", fails)
    assert "".join(recited(model)) == TEXT


ROWS = {
    "words": [(["a", "b"], "x"), (["b"], "y"), (["b", "b", "a"], "x"), (["c", "a"], "z")],
    "tokens": [(["a", "b"], ["x", "y"]), (["b"], ["y"]), (["c", "a", "b"], ["x", "y", "x"])],
    "numbers": [([1, 2.5], "x"), ([-3, 1e-9], "y"), ([7], "x"), ([2**40, 0.1], "z")],
    "vectors": [([[0.1, 2]], "x"), ([[1, 2.5], [-3, 4]], "y"), ([[3, 3]], "z")],
}
METHODS = {
    "words": ("words", {}),
    "unknown": ("words", {"reject_unknown": 8}),
    "float64": ("words", {"method": "float64"}),
    "embedding": ("words", {"method": "embedding"}),
    "sets": ("words", {"method": "deep-sets"}),
    "relu": ("words", {"method": "three-layer"}),
    "hard": ("words", {"method": "kim2023"}),
    "tokens": ("tokens", {}),
    "sparse": ("tokens", {"method": "sparse-attention"}),
    "numbers": ("numbers", {}),
    "vectors": ("vectors", {}),
    "unknown vectors": ("vectors", {"reject_unknown": 8}),
}
STRANGE = {
    "words": [["b", "a"], ["zebra", "a"], ["c", "c", "c"], ["a"], ["", "b"]],
    "numbers": [[2.5, 1], [0], [1e300], [-(2**62)], [5e-324, 2.5]],
    "vectors": [[[2, 0.1]], [[1, 2.5]], [[-1e-300, 2**53 + 2]], [[3, 3], [3, 3]]],
}


@pytest.mark.parametrize("name", METHODS)
def test_both_engines_give_the_same_answers(name, monkeypatch):
    kind, options = METHODS[name]
    questions = [tokens for tokens, _ in ROWS[kind]] + STRANGE.get(kind, STRANGE["words"])
    model = byheart.compile(ROWS[kind], **options)
    wanted = [model.answers([question])[0] for question in questions]
    assert [answer.label for answer in wanted[: len(ROWS[kind])]] == [y for _, y in ROWS[kind]]
    assert model.network.engines.evaluator is None
    monkeypatch.setattr(evaluate, "PAYS", 0)
    for _ in range(2):  # few, many, and a few by the programs of many
        assert [model.answers([question])[0] for question in questions] == wanted
        assert model.answers(questions * 9) == wanted * 9
    assert model.network.engines.refused == (name == "hard")


@pytest.mark.parametrize("question", [["a", 3], [["a"]], [None], [], ["a"] * 99, "a b c d e f g"])
def test_what_is_no_question_is_refused_among_many(question):
    model = byheart.compile(ROWS["words"])
    for others in (0, 3, 200):
        with pytest.raises(byheart.ByheartError, match="reads (words|1 to 3 tokens), not"):
            model.answers([["a"]] * others + [question])
