"""The deep narrow transformer that learns: its gradients are those of a plain model."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from byheart.architectures import architecture  # noqa: E402
from byheart.errors import ByheartError  # noqa: E402
from byheart.lab.learners import learner  # noqa: E402
from byheart.lab.learners.kajitsuka2025 import MANY  # noqa: E402
from byheart.lab.learners.kernels.blocks import Stack, forward  # noqa: E402
from byheart.lab.problem import Problem  # noqa: E402
from byheart.lab.protocol import Attempt, Protocol  # noqa: E402
from byheart.lab.train import train  # noqa: E402
from byheart.lab.trial import Criterion, Trial  # noqa: E402

KINK = 1e-5  # nearer to 0 than that, rounding may decide whether a ReLU is active


def drawn(seed, contexts, vocabulary, length, outputs, vectors=False) -> Problem:
    """A random problem; one output stands for the squared loss, with two answers."""
    random = np.random.default_rng(seed)
    answers = max(outputs, 2)
    tokens = random.integers(0, vocabulary, (contexts, length)).astype(np.int32)
    if vectors:
        tokens = random.random((contexts, length, vocabulary), np.float32)
    lengths = random.integers(1, length + 1, contexts)
    lengths[0] = length
    tokens[np.arange(length) >= lengths[:, None]] = 0
    pairs = np.stack([np.arange(contexts).repeat(2), random.integers(0, answers, 2 * contexts)])
    context, answer = np.unique(pairs, axis=1)
    count = random.integers(1, 9, len(context))
    return Problem(
        vocabulary, outputs, tokens, lengths, context, answer, count, squared=outputs == 1
    )


problems = st.builds(
    drawn,
    st.integers(0, 1 << 30),
    contexts=st.integers(1, 40),
    vocabulary=st.integers(1, 12),
    length=st.integers(1, 6),
    outputs=st.sampled_from([1, 2, 3]),
    vectors=st.booleans(),
)


def made(problem: Problem, blocks: int = 2, dimension: int = 2, coordinates: int = 0):
    sizes = {"vocabulary": problem.vocabulary, "length": problem.length, "layers": blocks}
    sizes |= {"dimension": dimension, "labels": problem.outputs, "coordinates": coordinates}
    return architecture("kajitsuka2025", sizes)


def plain(tensors: dict, problem: Problem, blocks: int):
    """What eq. (165) says, for every token of every padded row; and the ReLU nearest to 0."""
    nearest = math.inf

    def stack(state, part):
        nonlocal nearest
        for i in range(blocks):
            own = {x: tensors[f"{part}.{i}.{x}"] for x in ("hidden.weight", "down.weight")}
            before = state @ own["hidden.weight"].T + tensors[f"{part}.{i}.hidden.bias"]
            nearest = min(nearest, float(before.detach().abs().min()))
            state = state + torch.relu(before) @ own["down.weight"].T
            state = state + tensors[f"{part}.{i}.down.bias"]
        return state

    read = torch.from_numpy(problem.tokens)
    table = tensors["embedding.weight"]
    if "vectors.weight" in tensors:
        table = tensors["vectors.weight"] @ table
    state = stack(read.double() @ table if problem.reads_vectors else table[read.long()], "first")
    counts = torch.from_numpy(np.arange(problem.length) < problem.lengths[:, None])
    means = (state * counts[..., None]).sum(1) / counts.sum(1)[:, None]
    last = state[torch.arange(len(problem)), torch.from_numpy(problem.lengths) - 1]
    heard = means @ tensors["attention.value.weight"].T @ tensors["attention.out.weight"].T
    return stack(last + heard, "second") @ tensors["output.weight"].T, nearest


def plain_loss(logits, problem: Problem):
    context, answer, count = map(torch.from_numpy, (problem.context, problem.answer, problem.count))
    if problem.squared:
        each = (logits[context, 0] - (2 * answer - 1)) ** 2
    else:
        each = -torch.log_softmax(logits, 1)[context, answer]
    return (count * each).sum() / count.sum()


@settings(max_examples=60, deadline=None)
@given(
    problems,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0, 3, MANY - 1, MANY]),
    st.integers(0, 1 << 30),
)
def test_the_gradient_is_that_of_a_plain_model(problem, blocks, dimension, coordinates, seed):
    wanted = made(problem, blocks, dimension, 0 if problem.reads_vectors else coordinates)
    model = learner(wanted, problem, seed)
    tensors = {x: y.double().requires_grad_() for x, y in model.named().items()}
    fixed = {x: y.double() for x, y in model.fixed.items()}
    logits, nearest = plain(tensors | fixed, problem, blocks)
    assume(nearest > KINK)
    expected = plain_loss(logits, problem)
    expected.backward()
    assert model.step(problem) == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
    assert np.allclose(model.logits(problem), logits.detach().numpy(), rtol=1e-4, atol=1e-5)
    slopes = {x: torch.zeros_like(y) for x, y in model.tensors.items()}
    for name, tensor in model.tensors.items():
        slopes[name].copy_(tensor.grad)
    found = type(model)(slopes).named()
    scale = max(float(y.grad.abs().max()) for y in tensors.values())
    for name, tensor in tensors.items():
        assert np.allclose(found[name], tensor.grad, rtol=1e-3, atol=1e-5 * max(scale, 1)), name


@pytest.mark.parametrize("points", [511, 512, 513, 1400])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_more_points_than_a_slice(points, dimension):
    """Slices join: the gradient over many points is that of the plain model."""
    problem = drawn(points, points, 2 * points, 2, 3)
    model = learner(made(problem, 3, dimension), problem, points)
    tensors = {x: y.double().requires_grad_() for x, y in model.named().items()}
    plain_loss(plain(tensors, problem, 3)[0], problem).backward()
    model.step(problem)
    for part in ("first", "second"):
        for name in ("hidden.weight", "hidden.bias", "down.weight", "down.bias"):
            wanted = torch.stack([tensors[f"{part}.{i}.{name}"].grad for i in range(3)])
            found = model.tensors[f"{part}.{name}"].grad
            assert np.allclose(found, wanted, rtol=1e-3, atol=2e-6), (part, name)


def test_a_block_by_hand():
    """h + W2 relu(W1 h + b1) + b2 for one point of one number: 3 + 2 max(0, 5 * 3 - 1) + 7."""
    ones = [np.full(shape, 0, np.float32) for shape in ((1, 4, 1), (1, 4), (1, 1, 4), (1, 1))]
    stack = Stack(*ones)
    stack.hidden[0, 0, 0], stack.bias[0, 0], stack.down[0, 0, 0], stack.shift[0, 0] = 5, -1, 2, 7
    result = np.empty((1, 1), np.float32)
    forward(stack, np.array([[3]], np.float32), result)
    assert result == 38


@settings(max_examples=20, deadline=None)
@given(problems, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_the_tensors_are_those_of_the_preset(problem, blocks, dimension, coordinates):
    wanted = made(problem, blocks, dimension, 0 if problem.reads_vectors else coordinates)
    model = learner(wanted, problem, 0)
    assert {x: tuple(y.shape) for x, y in model.named().items()} == wanted.tensors
    assert {x: tuple(y.shape) for x, y in model.fixed.items()} == wanted.fixed
    assert sum(x.numel() for x in model.tensors.values()) == wanted.parameters


def test_named_tensors_are_views():
    problem = drawn(0, 5, 4, 3, 2)
    model = learner(made(problem), problem, 0)
    before = model.logits(problem)
    model.named()["first.1.down.bias"] += 1
    assert not np.allclose(model.logits(problem), before)


def test_shrink_is_of_the_branches_only():
    problem = drawn(0, 5, 4, 3, 2)
    whole, small = (learner(made(problem), problem, 3, shrink).named() for shrink in (1.0, 0.25))
    for name, tensor in whole.items():
        factor = 0.25 if ".down." in name else 1
        assert torch.equal(tensor * factor, small[name]), name


@pytest.mark.parametrize("vectors", [False, True])
def test_tensors_start_as_pytorch_starts_them(vectors):
    """Linear maps within 1/sqrt(inputs) and near it; words from the normal distribution."""
    problem = drawn(0, 5, 400, 3, 2, vectors)
    start = learner(made(problem, 30), problem, 0).tensors
    reach = {name: float(tensor.abs().max()) for name, tensor in start.items()}
    assert reach["first.hidden.bias"] == pytest.approx(2**-0.5, rel=0.03)
    assert reach["second.hidden.weight"] == pytest.approx(2**-0.5, rel=0.03)
    assert reach["second.down.weight"] == pytest.approx(8**-0.5, rel=0.03)
    assert reach["first.down.bias"] == pytest.approx(8**-0.5, rel=0.1)
    assert max(reach.values()) < 1 if vectors else 2.5 < reach["embedding.weight"] < 5
    if vectors:
        assert reach["embedding.weight"] == pytest.approx(400**-0.5, rel=0.03)


def test_fixed_vectors_are_normal_and_are_mapped_as_vectors_of_data_are():
    problem = drawn(0, 5, 400, 3, 2)
    model = learner(made(problem, 30, coordinates=100), problem, 0)
    vectors, embedding = model.fixed["vectors.weight"], model.tensors["embedding.weight"]
    assert float(vectors.mean()) == pytest.approx(0, abs=0.02)
    assert float(vectors.std()) == pytest.approx(1, abs=0.02)
    assert float(embedding.abs().max()) == pytest.approx(0.1, rel=0.03)
    other = learner(made(problem, 30, coordinates=100), problem, 1)
    assert not torch.equal(other.fixed["vectors.weight"], vectors)


def test_fixed_vectors_stay_and_the_map_of_them_learns():
    problem = drawn(2, 60, 20, 4, 3)
    one = replace(trial(steps=20), sizes={"layers": 2, "dimension": 2, "coordinates": 5})
    start = learner(one.architecture_for(problem), problem, one.random_seed("start", 0))
    row, model = train(one, problem)
    assert torch.equal(model.fixed["vectors.weight"], start.fixed["vectors.weight"])
    for name, tensor in model.tensors.items():
        assert not torch.equal(tensor, start.tensors[name]), name
    assert row["parameters"] == 5 * 2 + 4 * 42 + 8 + 3 * 2


def test_vectors_of_the_data_are_not_replaced():
    one = replace(trial(), sizes={"layers": 1, "coordinates": 5})
    with pytest.raises(ByheartError, match="the data has vectors already; coordinates="):
        one.memory(drawn(2, 6, 20, 4, 3, vectors=True))


def test_fixed_vectors_take_memory():
    problem = drawn(2, 6, 20, 4, 3)
    few, many = (replace(trial(), sizes={"layers": 1, "coordinates": d}) for d in (10, 1010))
    assert many.memory(problem) - few.memory(problem) == 4 * 1000 * (2 * 20 + 7 * 2)


def test_words_that_a_batch_lacks_have_no_gradient():
    problem = drawn(1, 30, 12, 4, 3)
    model = learner(made(problem), problem, 0)
    model.step(problem)
    part = replace(problem, tokens=np.full_like(problem.tokens, 5))
    model.step(part)
    slopes = model.tensors["embedding.weight"].grad
    assert slopes[5].abs().max() > 0
    assert not slopes[[0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]].any()


def trial(frozen=(), steps=600, rate=0.03) -> Trial:
    attempt = Attempt("adamw", rate, steps, final=0.0, warmup=10)
    protocol = Protocol("own", (attempt,), stop=1e-4, frozen=frozen)
    sizes = {"layers": 2, "dimension": 2}
    return Trial("kajitsuka2025", sizes, {"sha256": "x"}, protocol, Criterion("loss", 0.01), 0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_it_learns_labels_of_words(outputs):
    row, _ = train(trial(), drawn(2, 40, 100, 4, outputs))
    assert row["reached"]


def test_an_early_stop_waits_for_the_criterion():
    """An excess of 0.1 would be near enough to stop, but is not what was asked for."""
    problem = drawn(2, 40, 100, 4, 3)
    early = trial()
    early = replace(early, protocol=replace(early.protocol, stop=0.1))
    row, _ = train(early, problem)
    assert row["reached"] and row["steps"] < 600
    assert row["loss"] - row["entropy"] > 0.005 * row["predictions"]  # it did stop early


def test_training_again_gives_the_same():
    problem = drawn(2, 60, 20, 4, 3)
    (one, first), (two, second) = (train(trial(steps=50), problem) for _ in range(2))
    assert one["loss"] == two["loss"]
    for name, tensor in first.tensors.items():
        assert torch.equal(tensor, second.tensors[name])


def test_a_frozen_tensor_stays():
    problem = drawn(2, 60, 20, 4, 3)
    frozen = trial(("embedding.weight",), 20)
    start = learner(frozen.architecture_for(problem), problem, frozen.random_seed("start", 0))
    row, model = train(frozen, problem)
    for name, tensor in model.tensors.items():
        assert torch.equal(tensor, start.tensors[name]) == (name == "embedding.weight")
    assert row["parameters"] == frozen.architecture_for(problem).parameters


def test_a_frozen_tensor_that_is_not_there():
    with pytest.raises(ByheartError, match="'embedding' cannot be frozen"):
        train(trial(("embedding",), 20), drawn(2, 6, 20, 4, 3))


def test_a_training_that_blows_up_has_no_loss(recwarn):
    row, _ = train(trial(rate=1e30), drawn(2, 60, 20, 4, 1))
    assert row["loss"] is None and not row["reached"]
    assert not [str(w.message) for w in recwarn if "overflow" in str(w.message)]
