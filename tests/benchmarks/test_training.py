"""benchmarks/training.py: our learners and plain PyTorch with autograd take the same steps."""

import importlib
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
STEPS = 3


@pytest.fixture(scope="module")
def cells():
    """benchmarks/training_cells.py, on random data: nothing but this repository is needed."""
    module = importlib.import_module("benchmarks.training_cells")
    patch = pytest.MonkeyPatch()
    for name in ("STORIES", "SENTENCES"):
        patch.setattr(module, name, ROOT / "absent")
    caches = (module.stories, module.sentences)
    for one in caches:
        one.cache_clear()
    yield module
    patch.undo()
    for one in caches:
        one.cache_clear()


CASES = {
    "madden2024": ({"neurons": 5}, 12),
    "dana2024": ({"dimension": 4, "heads": 3, "head_dimension": 2}, 6),
    "dana2024-program": ({"dimension": 4, "heads": 3, "head_dimension": 2}, 6),
    "dana2024-mlp": ({"dimension": 4, "width": 7}, 6),
    "kajitsuka2025": ({"layers": 2}, 15),
}


PROTOCOLS = [
    *((name, "paper") for name in CASES),
    *((name, "script") for name in CASES if name.startswith("dana")),
]


def losses(cells, cell, steps: int = STEPS, seed: int = 0):
    both = cells.sides(cell, cells.pairs_of(cell, 2, np.random.default_rng(seed)))
    return np.array([[float(side.step()) for side in both] for _ in range(steps)])


@pytest.mark.parametrize(("architecture", "protocol"), PROTOCOLS)
def test_both_have_the_same_losses(cells, architecture, protocol):
    sizes, rows = CASES[architecture]
    uses = 1 if architecture.startswith("dana") else None
    found = losses(cells, cells.Cell(architecture, sizes, rows, protocol, uses))
    assert found[:, 0] == pytest.approx(found[:, 1], rel=1e-5)
    assert len(set(found[:, 0])) == STEPS  # it did move


@pytest.mark.parametrize("architecture", CASES)
def test_the_first_gradient_of_each_weight_is_the_same(cells, architecture):
    """Up to float32: losses alone would forgive a weight that hardly matters."""
    sizes, rows = CASES[architecture]
    cell = cells.Cell(architecture, sizes, rows)
    ours, plain = cells.sides(cell, [cells.data(cell)])
    ours.model.step(cells.data(cell)[0])
    plain.loss(plain.model, *cells.data(cell)[1]).backward()
    slopes = {name: x.grad for name, x in plain.model.named_parameters()}
    copied = cells.plain(cell, gradients(cells, ours.model), [cells.data(cell)[1]]).model
    for name, own in copied.named_parameters():
        scale = slopes[name].abs().max()
        torch.testing.assert_close(
            own.detach(), slopes[name], rtol=1e-3, atol=float(2e-5 * scale + 1e-8)
        )


def gradients(cells, model):
    """Ours, by the architecture's names: views of .grad where tensors are views of larger ones."""
    twin = {name: x.grad.clone() for name, x in model.tensors.items()}
    for name, gradient in twin.items():
        model.tensors[name].copy_(gradient)
    return model.named()


def test_a_batch_has_every_prediction_as_often_as_ours(cells):
    cell = cells.Cell("dana2024", CASES["dana2024"][0], 6, "script", uses=1)
    problem, (tokens, answers) = cells.pairs_of(cell, 1, np.random.default_rng(3))[0]
    rows, counts = np.unique(np.column_stack([tokens, answers]), axis=0, return_counts=True)
    own = np.column_stack([problem.tokens[problem.context], problem.answer])
    order = np.lexsort(own.T[::-1])
    assert np.array_equal(rows, own[order]) and np.array_equal(counts, problem.count[order])
    assert len(tokens) == 256


@pytest.mark.parametrize("architecture", CASES)
def test_every_weight_is_copied_and_counts(cells, architecture):
    """So that equal losses mean equal models: with any tensor doubled the loss is another."""
    sizes, rows = CASES[architecture]
    cell = cells.Cell(architecture, sizes, rows)
    batch = cells.data(cell)[1]
    tensors = dict(cells.sides(cell, [cells.data(cell)])[0].model.named())
    same = cells.plain(cell, tensors, [batch]).step()
    for name in tensors.keys() - {"attention.key.bias"}:  # which moves all scores alike
        other = cells.plain(cell, {**tensors, name: 2 * tensors[name]}, [batch]).step()
        assert abs(other - same) > 1e-5 * same, name
