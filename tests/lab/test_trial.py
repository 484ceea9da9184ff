"""A trial is its configuration: the same one has the same key and seeds, another has others."""

import json
from dataclasses import replace

import pytest

from byheart import ByheartError, from_rows
from byheart.lab.problem import labelled, next_token
from byheart.lab.protocol import PROTOCOLS, Search, protocol
from byheart.lab.trial import Criterion, Trial, criterion, trial

DATA = from_rows([(["a", "b"], "c"), (["a", "b"], "d"), (["b"], "a")])
ONE = Trial(
    "madden2024",
    {"neurons": 4},
    {"sha256": "0", "sequences": 3},
    PROTOCOLS["madden2024", "fast"],
    Criterion("gap", 0.01),
    0,
)
FIRST = ONE.protocol.attempts[0]


@pytest.mark.parametrize("name", sorted(PROTOCOLS), ids=" ".join)
def test_a_trial_survives_json(name):
    one = replace(ONE, architecture=name[0], protocol=PROTOCOLS[name])
    back = trial(json.loads(json.dumps(one.json())))
    assert back == one and back.key == one.key


def test_the_key_does_not_depend_on_the_order_of_names():
    turned = replace(ONE, data={"sequences": 3, "sha256": "0"})
    assert turned.key == ONE.key


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, seed=1),
        replace(ONE, sizes={"neurons": 5}),
        replace(ONE, data={"sha256": "1", "sequences": 3}),
        replace(ONE, criterion=Criterion("gap", 0.02)),
        replace(ONE, protocol=protocol("madden2024", "fast", steps=7)),
        replace(ONE, protocol=replace(ONE.protocol, attempts=(replace(FIRST, turned=129),))),
        replace(ONE, protocol=replace(ONE.protocol, search=Search(2, (0.1, 1.0), (0, 1)))),
    ],
)
def test_every_part_of_the_configuration_counts(other):
    assert other.key != ONE.key
    assert other.random_seed("start", 0) != ONE.random_seed("start", 0)


def test_seeds_of_several_purposes_differ():
    seeds = {ONE.random_seed(*parts) for parts in (("start", 0), ("start", 1), ("batches",))}
    assert len(seeds) == 3 and all(0 <= seed < 2**56 for seed in seeds)


def test_the_data_decides_the_sizes_that_are_its_own():
    assert ONE.architecture_for(next_token(DATA)).sizes["vocabulary"] == 4
    deep = replace(ONE, architecture="kajitsuka2025", sizes={"layers": 2})
    assert deep.architecture_for(labelled(DATA)).sizes["outputs"] == 3


def test_criteria_by_hand():
    """Two contexts, three predictions, entropy 2 log 2."""
    problem = next_token(DATA)
    entropy = problem.entropy
    assert Criterion("gap", 0.5).reached(problem, 1.5 * entropy, 0)
    assert not Criterion("gap", 0.5).reached(problem, 1.51 * entropy, 1)
    assert Criterion("loss", 0.1).reached(problem, entropy + 0.3 - 1e-12, 0)
    assert not Criterion("loss", 0.1).reached(problem, entropy + 0.301, 1)
    assert Criterion("accuracy", 1).reached(problem, 99, 2 / 3)  # no function gets more
    assert not Criterion("accuracy", 1).reached(problem, 0, 1 / 3)


def test_a_gap_needs_an_entropy():
    certain = next_token(from_rows([(["a"], "b")]))
    with pytest.raises(ByheartError, match="entropy of this data is 0"):
        Criterion("gap", 0.01).check(certain)
    Criterion("loss", 0.01).check(certain)


@pytest.mark.parametrize(
    "text", ["gap", "gap=", "gap=x", "gap=0", "gap=nan", "gap=inf", "speed=1", "accuracy=1.5", ""]
)
def test_unreadable_criteria(text):
    with pytest.raises(ByheartError):
        criterion(text)


def test_readable_criteria():
    assert criterion("accuracy=0.99") == Criterion("accuracy", 0.99)
    assert str(criterion("gap=0.01")) == "gap=0.01"


@pytest.mark.parametrize(
    "given", [("madden2024", "script"), ("dana2024", "slow"), ("gpt2-xl", "fast")]
)
def test_unknown_protocols(given):
    with pytest.raises(ByheartError, match="protocols"):
        protocol(*given)


@pytest.mark.parametrize(
    ("architecture", "name", "batch", "batches", "last"),
    [
        ("dana2024-program", "script", 256, 64, 5e-4),
        ("dana2024-program", "script-3", 1024, 256, 5e-4),
        ("dana2024", "script-3", 1024, 256, 5e-4),
        ("dana2024-mlp", "script-3", 1024, 256, 1e-4),
    ],
)
def test_schedules_of_the_program_of_dana(architecture, name, batch, batches, last):
    """Its notebook: 64 epochs, lr = 0.1 times LinearLR's factors, from 0.1 to lr_low."""
    how = protocol(architecture, name)
    (attempt,) = how.attempts
    assert (how.name, how.batch, how.batches) == (name, batch, batches)
    assert attempt.steps == 64 * batches and attempt.optimiser == "adam"
    assert attempt.rate == 0.01 and attempt.rate * attempt.final == pytest.approx(last)


@pytest.mark.parametrize("steps", [0, 10**9])
def test_steps_have_limits(steps):
    with pytest.raises(ByheartError, match="steps must be 1 to 100,000,000"):
        protocol("madden2024", "fast", steps=steps)
