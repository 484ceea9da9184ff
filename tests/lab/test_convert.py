"""Trained networks as models: foldings are identities, rounded networks are exact, folders hold."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart import folder
from byheart.certificate import PROVED, REFUTED, verify
from byheart.cli import main
from byheart.contexts import contexts
from byheart.decoder import Decoder
from byheart.errors import AssumptionError, ByheartError
from byheart.evaluate import exact, softmax
from byheart.evaluate.batch import Batch
from byheart.lab.distributions import LIKELIEST, distributions, surer
from byheart.lab.folded import decoder
from byheart.lab.labels import answers, labels, margins, slope_for
from byheart.lab.made import Made
from byheart.lab.problem import labelled, next_token
from byheart.lab.protocol import protocol
from byheart.lab.readout import readout
from byheart.lab.rounded import logits, network, rounded
from byheart.lab.trial import Criterion, Trial
from byheart.load import from_rows, write_jsonl
from byheart.network import Embedding, Input, Network, dyadic, matrix, vector
from byheart.presets import preset
from byheart.targets import targets
from byheart.trace import trace

FAST = settings(deadline=None, max_examples=25)


def drawn(found, seed, scale=1.0):
    """Random float32 tensors of a preset, fixed ones included."""
    random = np.random.default_rng(seed)
    shapes = found.tensors | found.fixed
    return {
        name: (scale * random.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


# --- foldings, against forward passes that are written as the papers say


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmaxed(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def madden(t, tokens, d):
    """Section 7: one head with biases, 1/sqrt(d), no skip connection."""
    x = t["embedding.weight"][tokens] + t["positions.weight"][: len(tokens)]
    maps = {
        name: (t[f"attention.{name}.weight"], t.get(f"attention.{name}.bias", 0.0))
        for name in ("query", "key", "value", "out")
    }
    query = maps["query"][0] @ x[-1] + maps["query"][1]
    keys = x @ maps["key"][0].T + maps["key"][1]
    values = x @ maps["value"][0].T + maps["value"][1]
    said = maps["out"][0] @ (softmaxed(keys @ query / math.sqrt(d)) @ values) + maps["out"][1]
    neurons = gelu(t["hidden.weight"] @ said + t["hidden.bias"])
    return t["output.weight"] @ neurons + t["output.bias"]


def dana(t, tokens, heads):
    """Eq. (2), and with neurons section 4.2.1."""
    x = t["embedding.weight"][tokens] + t["positions.weight"][: len(tokens)]
    y = x[-1].copy()
    for h in range(heads):
        size = len(t["attention.query.weight"]) // heads
        rows = slice(h * size, (h + 1) * size)
        query, key, value = (t[f"attention.{n}.weight"][rows] for n in ("query", "key", "value"))
        weights = softmaxed((x @ key.T) @ (query @ x[-1]))
        y += t["attention.out.weight"][:, rows] @ (value @ (weights @ x))
    if "hidden.weight" in t:
        y = t["down.weight"] @ gelu(t["hidden.weight"] @ y) + y
    return t["output.weight"] @ y


def asked(found, tokens):
    return softmax.logits(found, np.array(tokens), np.array([0, len(tokens)]))[0]


def sizes(draw, largest=6):
    return {
        "vocabulary": draw(st.integers(2, largest)),
        "length": draw(st.integers(1, 5)),
        "dimension": draw(st.integers(1, largest)),
    }


def check(found, tensors, plain, seed):
    """The decoder says what the plain forward pass says, up to a constant, on random contexts."""
    made = decoder(found, tensors)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    random = np.random.default_rng(seed)
    for _ in range(4):
        length = int(random.integers(1, found.sizes["length"] + 1))
        tokens = random.integers(0, found.sizes["vocabulary"], length)
        wanted = plain(doubles, tokens)
        assert np.allclose(asked(made, tokens), wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())
    return made


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_madden2024_is_a_decoder(data, seed):
    given = sizes(data.draw)
    given |= {"neurons": data.draw(st.integers(1, 7))}
    given |= {"attention_biases": data.draw(st.booleans())}
    found = preset("madden2024", given)
    d = given["dimension"]
    made = check(found, drawn(found, seed), lambda t, tokens: madden(t, tokens, d), seed)
    assert made.shape.dimension == d + given["attention_biases"]
    assert made.shape.neurons == given["neurons"] + 1


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_dana2024_is_a_decoder(data, seed):
    heads = data.draw(st.integers(0, 3))
    given = {**sizes(data.draw), "heads": heads, "head_dimension": data.draw(st.integers(1, 3))}
    found = preset("dana2024", given)
    made = check(found, drawn(found, seed), lambda t, tokens: dana(t, tokens, heads), seed)
    assert made.shape.parameters - found.parameters == (0 if heads else 4 * given["dimension"])


@FAST
@given(st.data(), st.integers(0, 2**32))
def test_dana2024_mlp_is_a_decoder(data, seed):
    given = {**sizes(data.draw), "width": data.draw(st.integers(1, 5))}
    found = preset("dana2024-mlp", given)
    made = check(found, drawn(found, seed), lambda t, tokens: dana(t, tokens, 1), seed)
    assert made.shape.neurons == given["width"] + 2 * given["dimension"]


SMALL = {"vocabulary": 4, "length": 3, "dimension": 3}
PRESETS = {
    "madden2024": {**SMALL, "neurons": 5, "attention_biases": True},
    "dana2024": {**SMALL, "heads": 2, "head_dimension": 2},
    "dana2024-mlp": {**SMALL, "width": 4},
}


@pytest.mark.parametrize("name", PRESETS)
def test_every_tensor_matters_but_the_key_bias(name):
    found = preset(name, PRESETS[name])
    tensors = drawn(found, 1)
    before = asked(decoder(found, tensors), [0, 1, 2])
    for key in tensors:
        changed = {**tensors, key: tensors[key].copy()}
        changed[key].flat[0] += 1  # the first token and position are in the context
        after = asked(decoder(found, changed), [0, 1, 2])
        same = np.allclose(before, after, rtol=0, atol=1e-12)
        assert same == (key == "attention.key.bias"), key


@pytest.mark.parametrize("name", PRESETS)
def test_a_decoder_holds_no_negative_zero(name):
    found = preset(name, PRESETS[name])
    tensors = {key: -np.zeros_like(tensor) for key, tensor in drawn(found, 1).items()}
    for tensor in decoder(found, tensors).tensors.values():
        assert not np.signbit(tensor[tensor == 0]).any()


def test_tensors_of_another_preset_are_refused():
    found = preset("dana2024", PRESETS["dana2024"])
    with pytest.raises(AssertionError, match="other tensors"):
        decoder(found, {"embedding.weight": np.zeros((4, 3))})


# --- the read-out


@FAST
@given(st.integers(1, 6), st.integers(-3, 12), st.integers(0, 2**32))
def test_the_read_out_names_the_largest_logit(outputs, slope, seed):
    """Margins of exactly 2^-slope are enough; the logits are the embedding of each token."""
    random = np.random.default_rng(seed)
    unit = Fraction(2) ** -slope
    values = random.integers(-8, 9, (20, outputs))
    best = values.argmax(axis=1) if outputs > 1 else (values[:, 0] > 0).astype(int)
    if outputs > 1:
        values[np.arange(20), best] += 1  # alone at the top, by one unit at least
    elif outputs == 1:
        values[values == 0] = -1
    said = _says(values, unit, slope)
    assert said == best.tolist()


def test_a_slope_that_is_too_small_names_no_label():
    assert _says(np.array([[0, 1]]), Fraction(1, 4), 1) == [Fraction(1, 2)]


def _says(values, unit, slope):
    """What the read-out makes of tokens whose logits are these, in multiples of the unit."""
    tokens, outputs = values.shape
    table = {(j, i): unit * int(values[i, j]) for i in range(tokens) for j in range(outputs)}
    embedding = Embedding(matrix(outputs, tokens, table), vector({}, outputs))
    same = [[Fraction(i == j) for j in range(outputs)] for i in range(outputs)]
    reads = Input(1, 1, False, (dyadic(0),))
    made = Network(reads, (embedding, *readout(same, slope)))
    numbers = np.arange(tokens)
    return exact.evaluate(made, Batch(numbers[:, None], numbers, np.arange(tokens + 1)))


# --- labels: data that a random network gets right by definition


def kajitsuka(t, x):
    """Eq. (165) on the vectors of one sequence, read out at the last token."""

    def blocks(part, h):
        for i in range(sum(name.startswith(part) for name in t) // 4):
            weight, bias, down, add = (
                t[f"{part}.{i}.{name}"]
                for name in ("hidden.weight", "hidden.bias", "down.weight", "down.bias")
            )
            h = h + np.maximum(0, h @ weight.T + bias) @ down.T + add
        return h

    h = blocks("first", x @ t["embedding.weight"])
    mean = h.mean(axis=0)
    met = h[-1] + t["attention.out.weight"] @ (t["attention.value.weight"] @ mean)
    return t["output.weight"] @ blocks("second", met[None])[0]


def learnt_data(seed, labels, count=14, words=5, lengths=(1, 2, 3), layers=1, squared=False):
    """A random network, and sequences with the labels that it gives them."""
    random = np.random.default_rng(seed)
    outputs = 1 if squared else labels
    given = {"vocabulary": words, "length": max(lengths), "layers": layers, "labels": outputs}
    found = preset("kajitsuka2025", given)
    tensors = drawn(found, seed, 0.7)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    rows = [([str(i)] * max(lengths), None) for i in range(words)]  # every word occurs
    rows += [
        ([str(x) for x in random.integers(0, words, random.choice(lengths))], None)
        for _ in range(count)
    ]
    said = [kajitsuka(doubles, np.eye(words)[[int(x) for x in row]]) for row, _ in rows]
    names = [int(x[0] > 0) if squared else int(x.argmax()) for x in said]
    return tensors, from_rows([(row, name) for (row, _), name in zip(rows, names, strict=True)])


def made_of(architecture, sizes, dataset, squared=False):
    """What stands in for a training: a row of nothing but what is recorded."""
    data = {"sha256": dataset.sha256(), "sequences": len(dataset)}
    data |= {"loss": "squared"} if squared else {}
    criterion = Criterion("accuracy", 1.0)
    trial = Trial(architecture, sizes, data, protocol(architecture, "fast"), criterion, 3)
    labels = architecture == "kajitsuka2025"
    problem = labelled(dataset, squared) if labels else next_token(dataset)
    found = trial.preset(problem)
    row = {"key": trial.key, "parameters": found.parameters, "attempts": [{}], "curve": []}
    return Made(trial, found, row, dataset, 1.0, lambda sentence: None), problem


def relabelled(tensors, dataset):
    """Rows of the output matrix for the labels that occur: the loader numbers only those."""
    if len(tensors["output.weight"]) == 1:
        return tensors
    return {**tensors, "output.weight": tensors["output.weight"][list(dataset.label_names)]}


@FAST
@given(
    st.integers(0, 2**32),
    st.integers(2, 4),
    st.sampled_from([(1, 2, 3), (3,), (4,), (2, 5, 6)]),
    st.integers(1, 3),
)
def test_a_network_of_labels_is_proved(seed, names, lengths, layers):
    tensors, dataset = learnt_data(seed, names, lengths=lengths, layers=layers)
    made, problem = made_of("kajitsuka2025", {"layers": layers}, dataset)
    model = labels(made, relabelled(tensors, dataset), problem, "refuse")
    found = model.about["verification"]
    assert (found.evidence, found.checked) == (PROVED, len(dataset))
    assert [model.recall(dataset.sequence(i)) for i in range(len(dataset))] == [
        dataset.label(i) for i in range(len(dataset))
    ]


@FAST
@given(st.integers(0, 2**32))
def test_one_number_with_a_sign_is_proved(seed):
    tensors, dataset = learnt_data(seed, 2, count=30, squared=True)
    if len(dataset.label_names) < 2:
        return
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset, squared=True)
    assert labels(made, tensors, problem, "refuse").about["verification"].evidence == PROVED


@FAST
@given(st.integers(0, 2**32))
def test_vectors_are_read_as_they_are(seed):
    random = np.random.default_rng(seed)
    found = preset("kajitsuka2025", {"vocabulary": 3, "length": 6, "labels": 2, "layers": 2})
    tensors = drawn(found, seed, 0.7)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    sequences = random.random((12, 6, 3))
    rows = [(x.tolist(), int(kajitsuka(doubles, x).argmax())) for x in sequences]
    dataset = from_rows(rows)
    made, problem = made_of("kajitsuka2025", {"layers": 2}, dataset)
    model = labels(made, relabelled(tensors, dataset), problem, "refuse")
    assert model.about["verification"].evidence == PROVED


def test_vectors_of_different_lengths_are_refused():
    dataset = from_rows([([[0.5, 1.0]], 0), ([[0.25, 2.0], [1.0, 1.0]], 1)])
    found = preset("kajitsuka2025", {"vocabulary": 2, "length": 2, "labels": 2})
    exactly = rounded(drawn(found, 1), 8, dataset.lengths)
    with pytest.raises(ByheartError, match="different lengths"):
        network(exactly, dataset, 0)


@FAST
@given(st.integers(0, 2**32), st.integers(2, 20))
def test_the_run_in_doubles_is_the_plain_network_on_the_grid(seed, bits):
    tensors, dataset = learnt_data(seed, 3)
    problem = labelled(dataset)
    exactly = rounded(tensors, bits, problem.lengths)
    step = Fraction(1, 1 << bits)
    for name, tensor in exactly.items():
        grid = step / 4 * 3 if name == "attention.out.weight" else step  # lengths 1, 2 and 3
        off = [
            abs(a - Fraction(float(b)))
            for a, b in zip(tensor.flat, tensors[name].flat, strict=True)
        ]
        assert all(x % grid == 0 for x in tensor.flat) and max(off) <= grid / 2
    doubles = {name: tensor.astype(np.float64) for name, tensor in exactly.items()}
    said = logits(exactly, problem)
    for i in range(len(problem)):
        tokens = problem.tokens[i, : problem.lengths[i]]
        wanted = kajitsuka(doubles, np.eye(problem.vocabulary)[tokens])
        assert np.allclose(said[i], wanted, rtol=1e-9, atol=1e-9)


def test_a_network_that_is_wrong_is_not_certified():
    tensors, dataset = learnt_data(5, 3, count=30)
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset)
    wrong = {**relabelled(tensors, dataset), "output.weight": np.zeros((3, 2), np.float32)}
    with pytest.raises(ByheartError, match="gets 0 of"):
        labels(made, wrong, problem, "refuse")


def test_contradictory_labels_are_settled_as_compile_settles_them():
    tensors, dataset = learnt_data(3, 2, lengths=(3,))
    rows = [(dataset.sequence(i), dataset.label(i)) for i in range(len(dataset))]
    other = next(name for name in dataset.label_names if name != rows[0][1])
    clashing = from_rows([*rows, *rows, (rows[0][0], other)])
    made, problem = made_of("kajitsuka2025", {"layers": 1}, clashing)
    with pytest.raises(AssumptionError, match="A1 fails: 1 context"):
        labels(made, tensors, problem, "refuse")
    majority = labels(made, tensors, problem, "majority")
    assert majority.about["conflicts"] == {"relabelled": 1, "dropped": 0}
    dropped = labels(made, tensors, problem, "drop")
    assert dropped.about["conflicts"]["dropped"] == 3
    for model in (majority, dropped):
        assert model.about["verification"].evidence == PROVED
        assert model.recall(rows[1][0]) == rows[1][1]


def test_answers_are_the_most_frequent_and_of_several_the_smallest():
    rows = [(["a"], "x"), (["a"], "y"), (["b"], "y"), (["b"], "y"), (["b"], "x"), (["c"], "x")]
    problem = labelled(from_rows(rows))
    assert answers(problem, "majority").tolist() == [0, 1, 0]
    assert answers(problem, "drop").tolist() == [-1, -1, 0]


@given(st.floats(1e-12, 1e6))
def test_a_slope_leaves_room(margin):
    assert 2 <= 2.0 ** slope_for(margin) * margin < 4


def test_margins_of_a_number_and_of_logits():
    said = np.array([[3.0, 1.0, 2.5], [0.0, 5.0, 7.0]])
    assert margins(said, np.array([0, 1]), squared=False).tolist() == [0.5, -2.0]
    assert margins(said, np.array([-1, 2]), squared=False).tolist() == [2.0]
    assert margins(said[:, :1] - 1, np.array([1, 1]), squared=True).tolist() == [2.0, -1.0]


# --- distributions


def pairs(seed, count=12, words=5, certain=False):
    """Contexts of one and two words, and what follows them."""
    random = np.random.default_rng(seed)
    rows = [([str(x) for x in random.integers(0, words, 1 + i % 2)], None) for i in range(count)]
    rows = [(tokens, str(random.integers(0, words))) for tokens, _ in rows]
    return from_rows(list({tuple(x): (x, y) for x, y in rows}.values()) if certain else rows)


def random_decoder(dataset, seed, scale=0.5):
    made, _ = made_of("madden2024", {"dimension": 4, "neurons": 6}, dataset)
    return made, decoder(made.preset, drawn(made.preset, seed, scale))


@FAST
@given(st.integers(0, 2**32))
def test_the_gap_is_what_is_reached_and_proved(seed):
    dataset = pairs(seed)
    made, found = random_decoder(dataset, seed)
    model = distributions(made, found, 60)
    held = model.about["verification"]
    assert (held.evidence, held.checked) == (PROVED, len(contexts(dataset, positions=True)))
    assert held.fit.max <= model.gap <= 1.02 * held.fit.max
    assert verify(replace(model, gap=0.99 * held.fit.max), dataset).evidence == REFUTED


def test_another_weight_is_another_divergence():
    dataset = pairs(4)
    made, found = random_decoder(dataset, 4)
    before = distributions(made, found, 60).about["verification"].fit
    for name in ("embedding.weight", "hidden.bias", "output.weight"):
        changed = {**found.tensors, name: found.tensors[name].copy()}
        changed[name].flat[0] += 0.25
        model = distributions(made, Decoder(found.shape, changed), 60)
        assert model.about["verification"].fit.mean != before.mean, name


def test_labels_that_are_likeliest_are_made_surer():
    dataset = pairs(2, certain=True)
    wanted = targets(dataset, contexts(dataset, positions=True))
    words = len(wanted.vocabulary)
    made, found = random_decoder(dataset, 2)
    assert surer(found, wanted) == (found, 0)  # a random decoder gets some labels wrong
    right = lucky(made, wanted, words)
    best, doubled = surer(right, wanted)
    assert doubled > 0 and np.array_equal(best["output"], 2**doubled * right["output"])
    assert softmax.divergences(best, wanted).values.max() <= LIKELIEST < math.log(2)
    model = distributions(made, right, 60)
    assert model.about["training"]["output_times"] == 2**doubled
    assert model.about["verification"].fit.accuracy == 1


def lucky(made, wanted, words):
    """A decoder whose labels are likeliest, if only just: neurons fitted to its own logits."""
    found = preset("madden2024", {"vocabulary": words, "length": 2, "dimension": 4, "neurons": 40})
    tensors = drawn(found, 0, 1.0)
    plain = decoder(found, {**tensors, "output.bias": np.zeros(words)})
    shape = plain.shape
    heard = softmax.mixed_all(shape, plain.tensors, wanted)
    neurons = gelu(heard @ plain["hidden"].T + plain["hidden.bias"])
    goal = np.full((len(wanted), words), -0.1)
    goal[np.arange(len(wanted)), wanted.following] = 0.1
    output = np.linalg.lstsq(neurons, goal, rcond=None)[0].T
    return Decoder(shape, {**plain.tensors, "output.weight": output + 0.0})


def test_a_training_that_blew_up_is_refused():
    made, found = random_decoder(pairs(1), 1)
    broken = {**found.tensors, "output.weight": np.full_like(found["output"], np.nan)}
    with pytest.raises(ByheartError, match="blew up"):
        distributions(made, Decoder(found.shape, broken), 60)


# --- folders


def test_a_folder_keeps_how_it_was_trained(tmp_path):
    tensors, dataset = learnt_data(3, 2, lengths=(3,))
    made, problem = made_of("kajitsuka2025", {"layers": 1}, dataset)
    model = labels(made, tensors, problem, "refuse")
    model.save(tmp_path / "m", data=dataset)
    opened = folder.open(tmp_path / "m")
    assert opened.about["training"] == model.about["training"]
    assert opened.about["training"]["parameters"] == made.preset.parameters
    text = (tmp_path / "m" / "README.md").read_text()
    assert "were trained" in text and "not trained" not in text and "Theorem" not in text
    found = trace(opened, dataset.sequence(0))
    assert not found.context_ids and found.answer.label == dataset.label(0)


def test_compiled_folders_say_nothing_of_training(tmp_path):
    from byheart.compile import compile

    compile(pairs(2, certain=True)).save(tmp_path / "m")
    assert "training" not in json.loads((tmp_path / "m" / "config.json").read_text())
    assert "training" not in folder.open(tmp_path / "m").about


# --- trained, saved, verified, recalled, compared


SIZES = {
    "madden2024": {"dimension": 6, "neurons": 24},
    "dana2024": {"dimension": 4, "heads": 6, "head_dimension": 4},
    "dana2024-mlp": {"dimension": 4, "width": 24},
    "kajitsuka2025": {"layers": 2},
}


@pytest.fixture(scope="module", params=SIZES)
def trained(request, tmp_path_factory):
    """A model folder of each architecture, its data, and the row of its training."""
    pytest.importorskip("torch")
    from byheart.lab import convert

    name = request.param
    rows = [([a, b], b) for a in "abc" for b in "ad"] + [(["a"], "a"), (["d"], "a")]
    dataset = from_rows([*rows, (["b"], "a"), (["b"], "a")] if name != "madden2024" else rows * 2)
    data = {"sha256": dataset.sha256(), "sequences": 8}
    how, when = protocol(name, "fast", 400), Criterion("accuracy", 1.0)
    trial = Trial(name, SIZES[name], data, how, when, 1)
    model, row = convert.model(trial, dataset)
    path = tmp_path_factory.mktemp(name)
    part = convert.material(trial, dataset).part(8)
    model.save(path / "m", data=part)
    write_jsonl(part, path / "data.jsonl")
    again, repeated = convert.model(trial, dataset)
    assert again.network == model.network
    assert {**row, "seconds": 0} == {**repeated, "seconds": 0}
    return path, row


def answer(capsys, *arguments):
    code = main([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_trained_model_is_verified_and_recalled(trained, capsys):
    path, row = trained
    assert row["reached"]
    for more in ([], ["--checker"]):
        code, found = answer(capsys, "verify", path / "m", path / "data.jsonl", *more)
        assert code == 0, found["failures"]
        assert found["method"] == "trained"
        assert found["verified"]["evidence"] == PROVED and found["verified"]["checked"] == 8
    code, found = answer(capsys, "recall", path / "m", "c", "d", "--trace")
    assert code == 0 and found["answers"][0]["label"] == "d"


def test_a_trained_model_stands_among_the_others(trained, capsys):
    path, row = trained
    given = ("compare", path / "data.jsonl", "--with", path / "m")
    code, found = answer(capsys, *given)
    assert code == 0
    (own,) = [x for x in found["rows"] if x["kind"] == "trained"]
    assert own["applies"] and own["evidence"] == PROVED
    assert own["parameters"] == row["parameters"] and own["depth"] >= 1 and own["bits"] > 0
    sizes = [x["parameters"] for x in found["rows"] if x["applies"] and x["parameters"]]
    assert sizes == sorted(sizes)
    assert main([*map(str, given)]) == 0
    assert "trained" in capsys.readouterr().out


def test_other_data_is_not_known(trained, tmp_path, capsys):
    path, _ = trained
    other = tmp_path / "other.jsonl"
    write_jsonl(from_rows([(["a", "a"], "d"), (["c", "d"], "a"), (["a"], "a")]), other)
    code, found = answer(capsys, "compare", other, "--with", path / "m")
    (own,) = [x for x in found["rows"] if x["kind"] == "trained"]
    assert code == 0 and not own["applies"] and own["evidence"] == REFUTED and own["reason"]


def test_folders_that_compare_cannot_use(tmp_path, capsys):
    data = tmp_path / "data.jsonl"
    write_jsonl(pairs(2, certain=True), data)
    assert main(["compare", str(data), "--with", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    from byheart.compile import compile

    compile(pairs(2, certain=True)).save(tmp_path / "m")
    twice = ["--with", str(tmp_path / "m")] * 2
    assert main(["compare", str(data), *twice]) == 2
    assert "twice" in capsys.readouterr().err
    code, found = answer(capsys, "compare", data, *twice[:2])
    (own,) = [x for x in found["rows"] if x["kind"] == "saved"]
    assert code == 0 and own["evidence"] == PROVED


def test_a_trial_of_more_data_is_refused():
    pytest.importorskip("torch")
    from byheart.lab import convert

    data = {"sha256": "", "sequences": 9}
    how, when = protocol("dana2024", "fast", 1), Criterion("accuracy", 1.0)
    trial = Trial("dana2024", SIZES["dana2024"], data, how, when, 1)
    with pytest.raises(ByheartError, match="learnt 9 sequences, and the data has"):
        convert.model(trial, pairs(2, count=4))
