"""LoRA adapters of the lab: gradients, a base that stays, and what of them is learnt and saved."""

import json
import math

import numpy as np
import pytest

from byheart import measure
from byheart.architectures import architecture
from byheart.cli import main
from byheart.data.generate import uniform
from byheart.lab.learners import learner, lora
from byheart.lab.problem import prefixes

torch = pytest.importorskip("torch")
SIZES = {"layers": 1, "dimension": 8, "heads": 2}


@pytest.fixture
def made(monkeypatch):
    """A learner of rank 2 on a base that is trained for a few steps, and a problem."""
    monkeypatch.setattr(lora, "STEPS", 40)
    lora.base.cache_clear()
    problem = prefixes(uniform(3, 5, 9))
    sizes = {"vocabulary": problem.vocabulary, "length": problem.length, "rank": 2, **SIZES}
    described = architecture("gpt2-lora", sizes)
    yield described, learner(described, problem, 0), problem
    lora.base.cache_clear()


def test_only_the_matrices_of_the_adapter_are_parameters(made):
    """By hand: r (n + m) for the maps 8 -> 24, 8 -> 8, 8 -> 32 and 32 -> 8."""
    described, model, _ = made
    assert described.parameters == 2 * (32 + 16 + 40 + 40)
    assert set(model.tensors) == set(described.tensors)
    assert {x: tuple(y.shape) for x, y in model.tensors.items()} == described.tensors


def test_training_begins_at_the_base_and_leaves_it_as_it_is(made):
    _, model, problem = made
    before = {name: tensor.clone() for name, tensor in model.fixed.items()}
    for name, tensor in model.named().items():
        assert torch.equal(tensor, before[name])
    optimiser = torch.optim.Adam(list(model.tensors.values()), lr=0.02)
    first = model.step(problem)
    for _ in range(200):
        model.step(problem)
        optimiser.step()
    assert model.step(problem) < 0.9 * first
    assert all(torch.equal(x, before[name]) for name, x in model.fixed.items())
    changed = {x for x, y in model.named().items() if not torch.equal(y, before[x])}
    assert changed == {name.removesuffix(".A") + ".weight" for name in model.tensors
                       if name.endswith(".A")}  # fmt: skip
    a, b = (model.tensors[f"layers.0.hidden.{x}"] for x in "AB")
    whole = before["layers.0.hidden.weight"] + b @ a
    assert torch.allclose(model.named()["layers.0.hidden.weight"], whole)


def test_gradients_are_those_of_differences(made):
    _, model, problem = made
    for name, tensor in model.tensors.items():
        if name.endswith(".B"):
            torch.nn.init.normal_(tensor, std=0.1)
    model.step(problem)
    gradients = {name: tensor.grad.clone() for name, tensor in model.tensors.items()}
    for name, tensor in model.tensors.items():
        place, flat = int(gradients[name].abs().argmax()), tensor.view(-1)
        value, losses = float(flat[place]), []
        for step in (1e-2, -1e-2):
            flat[place] = value + step
            losses.append(model.step(problem))
        flat[place] = value
        slope = (losses[0] - losses[1]) / 2e-2
        assert slope == pytest.approx(float(gradients[name].view(-1)[place]), rel=0.05, abs=1e-4)


def test_measure_counts_bits_per_parameter_of_the_adapter(made, tmp_path, capsys):
    axes = {"rank": [1, 2], "sequences": [2, 4]}
    found = measure(
        uniform(4, 5, 3), tmp_path / "rows", architecture="gpt2", adapter="lora", axes=axes,
        sizes=SIZES, seeds=1, steps=100, workers=1, save=tmp_path / "merged",
    )  # fmt: skip
    assert [cell.at["rank"] for cell in found.cells] == [1, 2]
    most = [found.capacity(cell) for cell in found.cells]
    assert [one.parameters for one in most] == [128, 256]
    row = json.loads((tmp_path / "rows" / "rows.jsonl").read_text().splitlines()[0])
    held = (row["predictions"] * math.log(row["outputs"]) - row["loss"]) / math.log(2)
    bits = [x.bits for cell in found.cells for p in cell.points for x in p.results]
    assert any(np.isclose(held, x) for x in bits)
    assert json.loads((tmp_path / "merged" / "config.json").read_text())["model_type"] == "gpt2"
    words = ["measure", "x.npz", "-o", str(tmp_path / "o"), "--architecture", "madden2024"]
    assert main([*words, "--axis", "neurons=1", "--adapter", "lora"]) == 2
    assert "--adapter lora is for gpt2" in capsys.readouterr().err
