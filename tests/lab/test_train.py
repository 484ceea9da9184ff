"""A trial ends when it may and says what it came to, also when the training blows up."""

import json
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from byheart.lab.attempt import descend, optimiser_of  # noqa: E402
from byheart.lab.learners import learner  # noqa: E402
from byheart.lab.problem import Problem  # noqa: E402
from byheart.lab.protocol import Attempt, Protocol  # noqa: E402
from byheart.lab.train import train  # noqa: E402
from byheart.lab.trial import Criterion, Trial  # noqa: E402


def problem(answers) -> Problem:
    """Contexts 0, 1, ... of one token, each with one answer."""
    numbers, ones = np.arange(len(answers)), np.ones(len(answers), np.int64)
    tokens = numbers[:, None].astype(np.int32)
    return Problem(len(answers), len(answers), tokens, ones, numbers, np.array(answers), ones)


def trial(rate=0.01, steps=12, criterion=("accuracy", 1.0), **options) -> Trial:
    protocol = Protocol("own", (Attempt("adam", rate, steps),), **options)
    sizes = {"dimension": 2, "heads": 1, "head_dimension": 2}
    return Trial("dana2024", sizes, {"sha256": "x"}, protocol, Criterion(*criterion), 0)


def test_a_training_that_blows_up_has_a_row_with_a_curve():
    row, _ = train(trial(rate=1e30, curve=12), problem([0, 2, 1]))
    json.dumps(row, allow_nan=False)  # as a line of the file must be
    assert row["loss"] is None and not row["reached"]
    assert row["curve"][0][1] > 0 and row["curve"][-1][1] is None


def test_what_blew_up_has_not_memorised():
    """The largest of numbers that are none is the first: here the right answer, by no merit."""
    row, _ = train(trial(rate=1e30), problem([0, 0, 0]))
    assert row["loss"] is None and row["accuracy"] == 1
    assert not row["reached"]


def test_loading_is_no_part_of_the_time(monkeypatch):
    """As if the first use of a learner took half a second to load."""
    made = []

    def slow(*arguments):
        end = time.process_time() + (0.5 if not made else 0)
        while time.process_time() < end:
            pass
        made.append(learner(*arguments))
        return made[-1]

    for module in ("train", "attempt"):
        monkeypatch.setattr(f"byheart.lab.{module}.learner", slow)
    row, model = train(trial(), problem([0, 2, 1]))
    assert row["seconds"] < 0.5 and model is made[1]


@pytest.mark.parametrize(("turned", "sides"), [(2, []), (3, [3]), (12, [12, 3])])
def test_soap_turns_sides_up_to_a_length(turned, sides):
    weight = torch.nn.Parameter(torch.ones(12, 3))
    weight.grad = torch.rand(12, 3)
    optimiser = optimiser_of(Attempt("soap", 0.01, 1, turned=turned), [weight])
    optimiser.step()
    assert [len(x) for x in optimiser.state[weight]["GG"] if len(x)] == sides


class Boasting:
    """A learner whose steps say the least loss, before its logits do."""

    def __init__(self, honest: int) -> None:
        self.tensors = {"weight": torch.zeros(1)}
        self.tensors["weight"].grad = torch.zeros(1)
        self.honest, self.steps = honest, 0

    def named(self):
        return self.tensors

    def step(self, problem):
        self.steps += 1
        return 0.0

    def logits(self, problem):
        return np.eye(len(problem), dtype=np.float32) * (100 if self.steps > self.honest else 0)


@pytest.mark.parametrize("honest", [0, 5])
def test_an_early_stop_is_decided_by_what_the_row_will_say(honest):
    asked = trial(criterion=("loss", 1e-6), stop=1e-3)
    model = Boasting(honest)
    steps, _ = descend(asked, problem([0, 1, 2]), asked.protocol.attempts[0], model)
    assert steps == honest


def test_a_training_goes_on_to_its_last_step():
    asked = trial(criterion=("loss", 1e-6), stop=1e-3)
    steps, _ = descend(asked, problem([0, 1, 2]), asked.protocol.attempts[0], Boasting(99))
    assert steps == 12
