"""recall of models that store distributions: chances, continuing, drawing, tracing."""

import math
from collections import Counter

import numpy as np
import pytest

from byheart import context_ids, contextual_mapping
from byheart.api.compile import compile
from byheart.api.recall import ask as ask_model
from byheart.claims.claim import Distributions, Words
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.models.model import Model
from byheart.models.recall import continued, drawing
from byheart.models.verification import verify
from byheart.softmax import doubles as softmax
from byheart.softmax.decoder import Decoder, Shape
from byheart.softmax.show import ratio
from byheart.softmax.stages import stages

TEXT = """The fox kept a word. The word was small.
The fox ran home and slept.
The owl kept a secret for years.
The fox kept a secret too.
A fox is no owl.
"""
METHODS = ("one-layer", "token-averaging")
each = pytest.mark.parametrize("method", METHODS)


def ask(model, questions, **options):
    return ask_model(model, questions, **options).json()["answers"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    return load(path, unit="wordpunct", length=8)


@pytest.fixture(scope="module")
def models(text):
    return {method: compile(text, method=method) for method in METHODS}


# ---------------------------------------------------------------- chances


@each
def test_answers_have_chances_that_are_the_text_s(text, models, method):
    model, follows = models[method], {}
    for i in range(len(text)):
        follows.setdefault(tuple(text.sequence(i)), Counter())[text.label(i)] += 1
    answers = ask(model, list(follows))
    for answer, counts in zip(answers, follows.values(), strict=True):
        chances = dict(answer["probabilities"])
        assert answer["label"] == answer["probabilities"][0][0] and answer["known"] is None
        assert list(chances.values()) == sorted(chances.values(), reverse=True)
        assert chances.keys() == counts.keys()  # the others have less than 1e-6 together
        for token, count in counts.items():
            assert chances[token] == pytest.approx(count / counts.total(), abs=1e-4)


@each
def test_the_perplexity_on_the_text_is_that_of_the_entropy(text, models, method):
    """exp of the mean loss of all predictions, from `distribution`, within exp(gap)."""
    model = models[method]
    place = {word: i for i, word in enumerate(model.tokens)}
    losses = [
        -math.log(model.distribution(text.sequence(i))[place[text.label(i)]])
        for i in range(len(text))
    ]
    loss = math.fsum(losses) / len(losses)
    fit = verify(model, text).fit
    least = fit.entropy / fit.predictions
    assert fit.predictions == len(text)
    rounding = 1e-13
    assert least - rounding <= loss <= least + model.claim.gap + rounding
    assert math.exp(least) * (1 - rounding) <= math.exp(loss)
    assert math.exp(loss) <= math.exp(least + model.claim.gap) * (1 + rounding)


@each
def test_the_perplexity_from_listed_chances(text, models, method):
    """The same from the answers of `recall`, as a user of the command line would do it."""
    answers = ask(models[method], [text.sequence(i) for i in range(len(text))])
    losses = [-math.log(dict(a["probabilities"])[text.label(i)]) for i, a in enumerate(answers)]
    fit = models[method].record.verification.fit
    assert math.fsum(losses) / len(losses) == pytest.approx(fit.entropy / len(text), abs=2e-9)


def test_counts_weigh(tmp_path):
    path = tmp_path / "counted.jsonl"
    path.write_text(
        '{"input": ["a"], "label": "x", "count": 3}\n{"input": ["a"], "label": "y"}\n'
        '{"input": ["b"], "label": "y", "count": 6}\n'
    )
    data = load(path)
    model = compile(data, method="one-layer")
    chances = dict(model.answers([["a"]])[0].probabilities)
    assert chances == pytest.approx({"x": 0.75, "y": 0.25}, abs=1e-6)
    fit = model.record.verification.fit
    entropy = -(3 * math.log(3 / 4) + math.log(1 / 4))
    assert fit.predictions == 10 and fit.entropy == pytest.approx(entropy, rel=1e-12)


def test_a_word_outside_the_vocabulary(models):
    for choose in (None, drawing(models["one-layer"])):
        (answer,) = ask(models["one-layer"], [["wolf"]], choose=choose, trace=True)
        assert (answer["label"], answer["known"]) == (None, False)
        assert (answer["probabilities"], answer["trace"]) == (None, None)


# ---------------------------------------------------------------- going on


@each
def test_steps_take_the_likeliest_token(models, method):
    labels = [answer["label"] for answer in ask(models[method], [["The"]], steps=4)]
    assert labels == ["fox", "kept", "a", "secret"] or labels == ["fox", "kept", "a", "word"]


def test_steps_end_at_the_length_of_the_model(models):
    model = models["one-layer"]
    answers = list(continued(model, ["The"]))
    assert len(answers) == model.length == 7
    assert [len(answer.input) for answer in answers] == list(range(1, 8))


def test_steps_stop_at_a_label_that_is_never_a_token():
    model = compile(
        from_rows([(["a"], "b"), (["a", "b"], "end"), (["b"], "a")]), method="one-layer"
    )
    assert [answer.label for answer in continued(model, ["a"])] == ["b", "end"]
    numbers = compile(from_rows([([1], 2), ([1, 2], 9), ([2], 1)]), method="one-layer")
    assert [answer.label for answer in continued(numbers, [1])] == [2, 9]


def test_a_window_goes_on_for_ever_where_no_end_is_known(tmp_path):
    path = tmp_path / "round.txt"
    path.write_text("round and round and round\n")
    model = compile(load(path, unit="wordpunct", window=2), method="one-layer")
    answers = ask(model, [["and", "round"]], steps=9)
    assert [answer["label"] for answer in answers] == ["and", "round"] * 4 + ["and"]
    answers = ask(model, [["round"]], steps=9)  # the beginning, so that its length is known
    assert [answer["label"] for answer in answers] == ["and", "round"] * 2
    assert answers[-1]["note"] == "the text ends here"


# ---------------------------------------------------------------- drawing


def test_a_seed_draws_the_same(models):
    def drawn(seed):
        model = models["one-layer"]
        answers = ask(model, [["The"]] * 30, choose=drawing(model, seed))
        return [answer["label"] for answer in answers]

    assert drawn(3) == drawn(3)
    assert len({tuple(drawn(seed)) for seed in range(5)}) > 1


@each
def test_draws_have_the_model_s_chances(models, method):
    """fox 3/4, owl 1/4: of 800 draws, within five deviations; nothing else is ever drawn."""
    model = models[method]
    counts = Counter(a["label"] for a in ask(model, [["The"]] * 800, choose=drawing(model, 1)))
    assert set(counts) == {"fox", "owl"}
    assert abs(counts["fox"] - 600) < 5 * math.sqrt(800 * 3 / 16)


def test_every_drawn_beginning_is_one_of_the_text(text, models):
    """Drawing follows the text: each token that is drawn follows its context somewhere."""
    known = {(*text.sequence(i), text.label(i)) for i in range(len(text))}
    contexts = {tuple(text.sequence(i)) for i in range(len(text))}
    for seed in range(20):
        for answer in continued(models["one-layer"], ["The"], drawing(models["one-layer"], seed)):
            if tuple(answer.input) in contexts:
                assert (*answer.input, answer.label) in known


def test_only_distributions_are_drawn_from():
    model = compile(from_rows([(["a"], "x"), (["b"], "y")]))
    with pytest.raises(ByheartError, match="draw=True needs a model that stores distributions"):
        drawing(model)


# ---------------------------------------------------------------- tracing


@each
def test_the_trace_is_what_the_decoder_computes(text, models, method):
    model = models[method]
    for i in range(len(text)):
        tokens = text.sequence(i)
        followed = model.trace(tokens)
        numbers = np.array(model.numbers(tokens))
        place = (numbers, np.array([0, len(numbers)]))
        mixed = softmax.mixed(model.network.shape, model.network.tensors, *place)[0]
        assert followed.scalar == mixed.sum() and followed.neurons == model.record.data.contexts
        slopes, bias = model.network["hidden"][:, 0], model.network["hidden.bias"]
        switches = -bias / slopes
        assert followed.on == (switches < followed.scalar).sum()
        below, above = followed.below, followed.above
        assert switches[below.number] == switches[switches < followed.scalar].max()
        assert below.distance == pytest.approx(followed.scalar - switches[below.number], rel=1e-6)
        assert (above is None) == (followed.on == followed.neurons)
        if above is not None:
            assert switches[above.number] == switches[switches >= followed.scalar].min()
        logits = softmax.logits(model.network, *place)[0]
        assert followed.logits[0][1] == logits.max()
        assert followed.answer == model.answers([tokens])[0]


@each
def test_the_trace_in_words_and_json(models, method):
    (answer,) = ask_model(models[method], [["The", "fox"]], trace=True).answers
    names = [stage["stage"] for stage in answer.json()["trace"]["stages"]]
    assert names == ["embed", "attend" if method == "one-layer" else "sum", "neurons", "output"]
    lines = answer.lines
    assert [line.split()[0] for line in lines if line[0] != " "] == [
        "embed", names[1], "neurons", "logits", "distribution",
    ]  # fmt: skip
    assert "s = " in lines[1] and "kept 66.6667%  ran 33.3333%" in lines[-1]


def test_a_decoder_off_the_line_has_no_scalar():
    model = compile(from_rows([(["a"], "b"), (["b"], "a")]), method="one-layer", dimension=3)
    assert model.trace(["a"]).scalar is not None
    model.network.tensors["hidden.weight"][:, 0] *= 2
    followed = model.trace(["a"])
    row = model.network["hidden"][followed.below.number]
    assert followed.scalar is None
    assert followed.below.distance == pytest.approx(followed.below.argument / np.linalg.norm(row))


def test_a_decoder_without_neurons_is_traced_and_explained():
    """The output matrix reads the attention; a reserved token fills shorter contexts up."""
    shape = Shape(3, 2, 4, "attention", 2, 2, 2, True, 0, "none", 2)
    random = np.random.default_rng(0)
    tensors = {name: random.standard_normal(size) for name, size in shape.tensors.items()}
    model = Model(
        Decoder(shape, tensors), Words("string", ("a", "b", "(padding)")), Distributions(1.0)
    )
    followed = model.trace(["a"])
    assert followed.embedded.shape == (1, 4) and followed.scalar is None
    assert [stage["stage"] for stage in followed.json()["stages"]] == ["embed", "attend", "output"]
    assert followed.lines()[2].startswith("logits")
    parts = stages(model.network)
    assert [part.name for part in parts] == ["embed", "attend", "output"]
    assert (
        sum(part.dense for part in parts) == shape.parameters
        and ratio(shape.parameters, 3, 0) is None
    )


def test_context_ids_are_refused(text, models):
    for asked in (context_ids, contextual_mapping):
        with pytest.raises(ByheartError, match="networks that store labels"):
            asked(models["one-layer"], text)


def test_a_demonstration_with_long_numbers_is_traced_too():
    model = compile(
        from_rows([(["a"], "b"), (["b"], "a"), (["b"], "b")]), method="one-layer-literal"
    )
    followed = model.trace(["b"])
    assert len(followed.lines()) >= 5 and followed.answer.label in ("a", "b")
