"""What is proved holds for the worst execution that an adversary finds, and is not far from it."""

import numpy as np
import pytest

from byheart.stock import forward
from byheart.stock.checkpoint import Checkpoint

pytest.importorskip("torch")
from tests.stock.made import shares  # noqa: E402


@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_compiled_checkpoints_bear_the_adversary(model, items, count):
    sequences, answers = items
    used = []
    for i in np.linspace(0, len(sequences) - 1, count).astype(int):
        found = shares(model.network, sequences[i], answers[i])
        assert len(found) == 2
        used += found
    assert max(used) <= 1
    if model.claim.holders[0].neurons is not None:  # an end, where no neuron is on
        assert max(used) > 0.5


def hostile(network, seed):
    """The checkpoint with tensors scaled, noise, single large weights or another epsilon."""
    random = np.random.default_rng(seed)
    config, tensors = dict(network.config), dict(network.tensors)
    names = sorted(tensors)
    for _ in range(random.integers(1, 4)):
        name = names[random.integers(len(names))]
        tensor = tensors[name].astype(np.float64)
        damage = random.integers(4)
        if damage == 0:
            tensor *= 2.0 ** random.uniform(-6, 6)
        elif damage == 1:
            noise = np.abs(tensor).mean() * 10.0 ** random.uniform(-4, 0)
            tensor += noise * random.standard_normal(tensor.shape)
        elif damage == 2:
            tensor[tuple(random.integers(tensor.shape))] *= 1000
        else:
            config[network.family.epsilon] = float(10.0 ** random.uniform(-12, -3))
        tensors[name] = tensor.astype(np.float32)
    return Checkpoint(config, tensors)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(30), marks=pytest.mark.slow)])
def test_hostile_checkpoints_bear_the_adversary(model, items, seeds):
    """Its own likeliest token counts as the answer, whatever it is."""
    sequences, _ = items
    used = []
    for seed in seeds:
        network, tokens = hostile(model.network, seed), sequences[seed * 7 % len(sequences)]
        answer = forward.answers(network, [tokens])[0]
        used += shares(network, tokens, answer)
    assert used and max(used) <= 1
