"""The decoders that learn: their gradients are those of a plain model, and they learn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from byheart.architectures import architecture  # noqa: E402
from byheart.lab.learners import learner  # noqa: E402
from byheart.lab.learners.decoders import decoder as decoders  # noqa: E402
from byheart.lab.learners.decoders import layers  # noqa: E402
from byheart.lab.learners.kernels.gelu import gelu  # noqa: E402
from byheart.lab.problem import Problem  # noqa: E402

SIZES = {
    "madden2024": {"dimension": 6, "neurons": 5, "attention_biases": True},
    "madden2024 without biases of attention": {"dimension": 8, "neurons": 11},
    "madden2024 in whole registers": {"dimension": 16, "neurons": 5, "attention_biases": True},
    "dana2024": {"dimension": 5, "heads": 3, "head_dimension": 2},
    "dana2024 of nine heads": {"dimension": 10, "heads": 9, "head_dimension": 10},
    "dana2024 of one head": {"dimension": 8, "heads": 1, "head_dimension": 5},
    "dana2024 of no heads": {"dimension": 3, "heads": 0, "head_dimension": 2},
    "dana2024-program": {"dimension": 5, "heads": 3, "head_dimension": 2},
    "dana2024-program with wide heads": {"dimension": 3, "heads": 9, "head_dimension": 6},
    "dana2024-program where d = d_h": {"dimension": 4, "heads": 2, "head_dimension": 4},
    "dana2024-program of one head": {"dimension": 5, "heads": 1, "head_dimension": 8},
    "dana2024-mlp": {"dimension": 4, "width": 13},
}


def made(kind: str, problem: Problem):
    decided = {"vocabulary": problem.vocabulary, "length": problem.length}
    return architecture(kind.split()[0], {**decided, **SIZES[kind]})


def drawn(seed: int, contexts: int, vocabulary: int, length: int) -> Problem:
    """A random problem: contexts of any lengths, with one to three answers each."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, length + 1, contexts)
    lengths[0] = length
    tokens = random.integers(0, vocabulary, (contexts, length)).astype(np.int32)
    tokens[np.arange(length) >= lengths[:, None]] = 0
    pairs = np.stack([np.arange(contexts).repeat(3), random.integers(0, vocabulary, 3 * contexts)])
    context, answer = np.unique(pairs, axis=1)
    count = random.integers(1, 20, len(context))
    return Problem(vocabulary, vocabulary, tokens, lengths.astype(np.int64), context, answer, count)


problems = st.builds(
    drawn, st.integers(0, 1 << 30), st.integers(1, 40), st.integers(1, 30), st.integers(1, 7)
)


def plain(kind: str, tensors: dict, problem: Problem):
    """The logits, written with whole sequences, a mask and no table, one length after another."""
    name = kind.split()[0]
    sizes = {"heads": 1, "head_dimension": SIZES[kind]["dimension"], **SIZES[kind]}
    d, heads, size = sizes["dimension"], sizes["heads"], sizes["head_dimension"]
    places = tensors.get("positions.weight")
    if places is None:
        places = torch.tensor(
            [
                [(math.sin, math.cos)[i % 2](j / 10000 ** (2 * (i // 2) / d)) for i in range(d)]
                for j in range(problem.length)
            ],
            dtype=torch.float64,
        )

    def linear(part, x):
        y = x @ tensors[f"{part}.weight"].T
        return y + tensors[f"{part}.bias"] if f"{part}.bias" in tensors else y

    logits, order = [], []
    for length in np.unique(problem.lengths):
        rows = np.flatnonzero(problem.lengths == length)
        order.extend(rows)
        e = tensors["embedding.weight"][torch.tensor(problem.tokens[rows, :length]).long()]
        if name == "dana2024-program":
            logits.append(linear("output", e[:, -1] + program(tensors, e, heads)))
            continue
        x = e + places[:length]
        y = torch.zeros(len(rows), d, dtype=x.dtype)
        if heads:
            query = linear("attention.query", x[:, -1]).view(-1, heads, size)
            key = linear("attention.key", x).view(-1, length, heads, size)
            value = linear("attention.value", x).view(-1, length, heads, size)
            scores = torch.einsum("bhc,bjhc->bhj", query, key)
            if name == "madden2024":
                scores = scores / math.sqrt(d)
            mixed = torch.einsum("bhj,bjhc->bhc", scores.softmax(2), value)
            y = linear("attention.out", mixed.reshape(len(rows), -1))
        if name != "madden2024":
            y = y + x[:, -1]
        if "hidden.weight" in tensors:
            after = torch.nn.functional.gelu(linear("hidden", y))
            y = after if name == "madden2024" else linear("down", after) + y
        logits.append(linear("output", y))
    return torch.cat(logits)[np.argsort(order)]


def program(tensors: dict, e, heads: int):
    """What attention adds in the program of Dana et al., one torch.nn.MultiheadAttention a head."""
    size, length = tensors["positions.weight"].shape[1], e.shape[1]
    apart = size != e.shape[2]
    z = (e @ tensors["compress.weight"].T if apart else e) + tensors["positions.weight"][:length]
    total = torch.zeros(len(e), size, dtype=e.dtype)
    causal = torch.ones(length, length).tril() == 0
    module = torch.nn.MultiheadAttention(size, 1, bias=False, batch_first=True, dtype=e.dtype)
    for h in range(heads):
        rows = slice(h * size, (h + 1) * size)
        maps = [tensors[f"attention.{name}.weight"][rows] for name in ("query", "key", "value")]
        weights = {
            "in_proj_weight": torch.cat(maps),
            "out_proj.weight": tensors["attention.out.weight"][:, rows],
        }
        given = (z, z, z), {"attn_mask": causal}
        total = total + torch.func.functional_call(module, weights, *given)[0][:, -1]
    return total @ tensors["decompress.weight"].T if apart else total


def expected(kind: str, model, problem: Problem):
    """The mean loss and the gradients by automatic differentiation, in doubles."""
    tensors = {
        name: tensor.detach().double().requires_grad_() for name, tensor in model.tensors.items()
    }
    logits = plain(kind, tensors, problem)
    chosen = logits.log_softmax(1)[problem.context, problem.answer]
    loss = -(chosen * torch.tensor(problem.count)).sum() / problem.predictions
    loss.backward()
    return loss.item(), {name: x.grad for name, x in tensors.items()}, logits.detach().numpy()


def apart(found, right) -> float:
    """The largest error of a gradient, relative to the largest gradient or to 1e-2."""
    return float((found - right).abs().max() / right.abs().max().clamp(min=1e-2))


def worst(kind: str, model, problem: Problem) -> float:
    """The largest error of all gradients."""
    _, gradients, _ = expected(kind, model, problem)
    model.step(problem)
    return max(apart(model.tensors[name].grad, right) for name, right in gradients.items())


# Sums of at most 40 x 30 products of floats that are right to 6e-8 each: 1e-5 leaves room for
# cancellation and for nothing else; a factor that is wrong by a thousandth is seen.
TOLERANCE = 1e-5


@pytest.mark.parametrize("kind", SIZES)
@settings(max_examples=15, deadline=None)
@given(problem=problems)
def test_gradients_are_those_of_a_plain_model(kind, problem):
    model = learner(made(kind, problem), problem, 5)
    assert worst(kind, model, problem) < TOLERANCE


@pytest.mark.parametrize("kind", SIZES)
@settings(max_examples=10, deadline=None)
@given(problem=problems)
def test_loss_and_logits_are_those_of_a_plain_model(kind, problem):
    model = learner(made(kind, problem), problem, 6)
    loss, _, logits = expected(kind, model, problem)
    np.testing.assert_allclose(model.logits(problem), logits, rtol=0, atol=1e-5)
    said = model.step(problem)
    assert said == pytest.approx(loss, rel=1e-6, abs=1e-6)
    judged = problem.loss(model.logits(problem)) / problem.predictions
    assert said == pytest.approx(judged, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", SIZES)
def test_blas_and_the_kernel_learn_the_same(kind, monkeypatch):
    """Several blocks of rows in one, four rows at a time in the other."""
    problem = drawn(3, 90, 21, 5)
    monkeypatch.setattr(layers, "CACHE", 24 * 16)
    found = []
    for few in (0, 1000):
        monkeypatch.setattr(layers, "FEW", few)
        found.append(learner(made(kind, problem), problem, 4))
        assert worst(kind, found[-1], problem) < TOLERANCE
    assert found[0].step(problem) == pytest.approx(found[1].step(problem), rel=1e-6)


@pytest.mark.parametrize("kind", SIZES)
def test_batches_of_any_size_leave_nothing_behind(kind):
    """Memory is used again from batch to batch: gradients are those of the batch alone."""
    problem = drawn(8, 60, 12, 4)
    model = learner(made(kind, problem), problem, 1)
    batches = [problem, *problem.batches(9, 4, np.random.default_rng(2)), problem]
    assert len({len(batch) for batch in batches}) > 2
    for batch in batches:
        assert worst(kind, model, batch) < TOLERANCE


@pytest.mark.parametrize("kind", SIZES)
def test_large_weights_keep_the_softmax_in_range(kind):
    """Scores and logits of hundreds: exponentials of differences neither overflow nor lose 1."""
    problem = drawn(9, 30, 10, 5)
    model = learner(made(kind, problem), problem, 2)
    for tensor in model.tensors.values():
        tensor.mul_(10 if kind.startswith("dana") and "program" not in kind else 4)
    loss, gradients, _ = expected(kind, model, problem)
    assert loss > 10
    assert model.step(problem) == pytest.approx(loss, rel=1e-5)
    for name, right in gradients.items():
        found = model.tensors[name].grad
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-4 * float(right.abs().max() + 1))


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_wrong_factor_is_caught(kind, factor):
    """Each gradient, wrong by a thousandth, is farther from the truth than the tolerance."""
    problem = drawn(1, 40, 12, 5)
    model = learner(made(kind, problem), problem, 3)
    for tensor in model.tensors.values():
        tensor.mul_(1.5)  # gradients of queries and keys begin small
    _, gradients, _ = expected(kind, model, problem)
    model.step(problem)
    for name, right in gradients.items():
        if name != "attention.key.bias":  # its gradient is 0
            assert apart(model.tensors[name].grad * factor, right) > TOLERANCE


def test_a_bias_of_keys_has_no_gradient():
    problem = drawn(1, 40, 12, 5)
    model = learner(made("madden2024", problem), problem, 3)
    _, gradients, _ = expected("madden2024", model, problem)
    model.step(problem)
    assert gradients["attention.key.bias"].abs().max() < 1e-15
    assert not model.tensors["attention.key.bias"].grad.any()


@pytest.mark.parametrize("kind", SIZES)
def test_tensors_are_those_of_the_preset(kind):
    problem = drawn(2, 20, 9, 4)
    shapes = made(kind, problem).tensors
    model = learner(made(kind, problem), problem, 0)
    assert list(model.tensors) == list(shapes)
    for name, tensor in model.tensors.items():
        assert tuple(tensor.shape) == shapes[name] == tuple(tensor.grad.shape)
        assert tensor.dtype == torch.float32 and tensor.is_contiguous()


def test_initial_weights_are_those_of_torch():
    """N(0, 1) for embeddings, uniform within 1/sqrt(inputs) for the rest and all of dana2024."""
    problem = drawn(2, 20, 400, 4)
    sizes = {"dimension": 16, "neurons": 64, "attention_biases": True}
    shapes = {"vocabulary": 400, "length": 4, **sizes}
    model = learner(architecture("madden2024", shapes), problem, 0)
    assert model.tensors["embedding.weight"].std() == pytest.approx(1, abs=0.05)
    for name, inputs in {"attention.out.bias": 16, "hidden.weight": 16, "output.bias": 64}.items():
        largest = float(model.tensors[name].abs().max())
        assert 0.7 / math.sqrt(inputs) < largest <= 1 / math.sqrt(inputs)
    shapes = {"vocabulary": 400, "length": 4, "dimension": 10, "heads": 1, "head_dimension": 10}
    model = learner(architecture("dana2024", shapes), problem, 0)
    for tensor in model.tensors.values():
        assert 0.7 / math.sqrt(10) < float(tensor.abs().max()) <= 1 / math.sqrt(10)


@pytest.mark.parametrize("kind", SIZES)
def test_learning_lowers_the_loss(kind):
    problem = drawn(4, 30, 10, 4)
    model = learner(made(kind, problem), problem, 0)
    optimiser = torch.optim.Adam(model.tensors.values(), lr=0.02)
    losses = []
    for _ in range(300):
        losses.append(model.step(problem))
        optimiser.step()
    least = problem.entropy / problem.predictions
    assert losses[-1] - least < 0.6 * (losses[0] - least)


@pytest.mark.parametrize("kind", SIZES)
def test_two_learners_of_one_seed_agree_to_the_bit(kind):
    problem = drawn(5, 33, 11, 4)
    found = []
    for _ in range(2):
        model = learner(made(kind, problem), problem, 7)
        optimiser = torch.optim.Adam(model.tensors.values(), lr=0.02)
        losses = []
        for _ in range(20):
            losses.append(model.step(problem))
            optimiser.step()
        found.append((losses, model.logits(problem).tobytes()))
    assert found[0] == found[1]
    other = learner(made(kind, problem), problem, 8)
    assert other.step(problem) != found[0][0][0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-100, 100, width=32), min_size=8, max_size=8))
def test_gelu_is_that_of_torch_with_its_derivative(numbers):
    """Phi is right to 1.5e-7 (Abramowitz & Stegun 7.1.26), hence GELU to that times x."""
    before = np.array(numbers, np.float32)
    after, slope = np.empty_like(before), np.empty_like(before)
    gelu(before, after, slope)
    x = torch.tensor(before.astype(np.float64), requires_grad=True)
    right = torch.nn.functional.gelu(x)
    right.sum().backward()
    assert (np.abs(after - right.detach().numpy()) <= 3e-7 * np.maximum(1, np.abs(before))).all()
    assert (np.abs(slope - x.grad.numpy()) <= 1e-6).all()


def test_the_last_token_asks_and_padding_is_not_read():
    problem = drawn(6, 12, 7, 4)
    within = np.arange(4) < problem.lengths[:, None]
    other = replace(problem, tokens=np.where(within, problem.tokens, 3).astype(np.int32))
    model = learner(made("dana2024", problem), problem, 0)
    np.testing.assert_array_equal(model.logits(problem), model.logits(other))
    assert decoders.sinusoids(5, 7).shape == (5, 7)
