"""madden2024, Theorem 1: data that a decoder of given sizes cannot memorise."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.api.generate import generate
from byheart.cli import main
from byheart.data.contexts import contexts
from byheart.data.generate import save
from byheart.data.load import from_rows, load
from byheart.data.targets import targets
from byheart.errors import ByheartError
from byheart.softmax.decoder import ATTENTION, Shape
from byheart.theory.madden2024.adversarial import adversarial, theorem

sizes = st.fixed_dictionaries(
    {
        "vocabulary": st.integers(2, 9),
        "dimension": st.integers(1, 4),
        "heads": st.integers(1, 2),
        "head_dimension": st.integers(1, 3),
        "neurons": st.integers(1, 6),
    }
)
some = settings(max_examples=30, deadline=None)


def shape(given, length):
    head = given["head_dimension"]
    fixed = (given["vocabulary"], length, given["dimension"], ATTENTION, given["heads"], head, head)
    return Shape(*fixed, False, given["neurons"], "tanh")


@some
@given(sizes)
def test_the_length_is_the_fixed_point(given):
    k, found = theorem(**given)
    omega, T = given["vocabulary"], found.length
    assert k == shape(given, T).parameters
    assert found.interpolated == k // (omega - 1) + 1
    assert omega ** (T - 1) < found.interpolated <= omega**T  # T = ceil(log n' / log omega)
    for shorter in range(1, T):  # and no smaller T is one
        fewer = shape(given, shorter).parameters // (omega - 1) + 1
        assert omega**shorter < fewer


@some
@given(sizes, st.integers(0, 2**40))
def test_the_contexts_are_those_of_the_theorem(given, seed):
    dataset = adversarial(**given, seed=seed)
    k, found = theorem(**given)
    omega = given["vocabulary"]
    stored = targets(dataset, contexts(dataset, positions=True))
    lengths = np.diff(stored.starts)
    full = lengths == found.length
    assert full.sum() == found.interpolated  # G1
    assert (stored.support[full] == omega).all()  # G2
    assert len(stored.vocabulary) == omega
    limit = (2 + Fraction(1, omega - 1)) * Fraction(k, omega - 1) + 1
    assert len(stored) == found.contexts <= limit
    assert int(stored.weight[full].sum()) == int(stored.weight[lengths == 1].sum())  # documents


def test_by_hand():
    """omega = 2, d = m = 1: k(1) = 11 asks for T = 4, and k(4) = 14 for n' = 15 and T = 4."""
    one = {"vocabulary": 2, "dimension": 1, "heads": 1, "head_dimension": 1, "neurons": 1}
    k, found = theorem(**one)
    assert (k, found.interpolated, found.length) == (14, 15, 4)
    dataset = adversarial(**one)
    rows = [(dataset.sequence(i), dataset.label(i)) for i in range(len(dataset))]
    assert rows[:2] == [([0], 0), ([0], 1)] and rows[-1] == ([1, 1, 1, 0], 1)
    assert [1, 1, 1, 1] not in [row for row, _ in rows]  # the sixteenth word
    assert found.contexts == len({tuple(row) for row, _ in rows}) == 15 + 8 + 4 + 2


@some
@given(sizes, st.integers(0, 99))
def test_seeds_decide_the_counts_alone(given, seed):
    first, again, other = (adversarial(**given, seed=s) for s in (seed, seed, seed + 1))
    assert first.sha256() == again.sha256() != other.sha256()
    assert (first.ids == other.ids).all() and (first.counts != other.counts).any()
    rows = [(first.sequence(i), first.label(i)) for i in range(len(first))]
    plain = from_rows(rows)
    assert (plain.ids == first.ids).all() and (plain.labels == first.labels).all()


def test_every_token_does_follow():
    """Some of many exponential numbers are below 1."""
    assert adversarial(vocabulary=60, neurons=80).counts.min() == 1  # G2


def test_the_file_reads_back(tmp_path):
    dataset = adversarial(vocabulary=3)
    save(dataset, tmp_path / "a.jsonl")
    assert load(tmp_path / "a.jsonl").sha256() == dataset.sha256()
    with pytest.raises(ByheartError, match="npz"):
        save(dataset, tmp_path / "a.npz")


def test_the_command(tmp_path, capsys):
    file = tmp_path / "a.jsonl"
    options = ["--vocabulary", "4", "--heads", "2", "--head-dimension", "1", "--neurons", "3"]
    assert main(["generate", "adversarial", "-o", str(file), *options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    k, found = theorem(4, 2, 2, 1, 3)
    assert answer["theorem"] == {"parameters": k, **found._asdict()}
    assert answer["sequences"] == len(file.read_text().splitlines())
    assert answer["options"]["neurons"] == 3
    assert main(["generate", "adversarial", "-o", str(tmp_path / "b.jsonl")]) == 0
    assert "cannot fit" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"vocabulary": 1}, "vocabulary must be an integer of 2 or more"),
        ({"dimension": 0}, "dimension must be an integer of 1 or more"),
        ({"heads": 0}, "heads must"),
        ({"head_dimension": 0}, "head_dimension must"),
        ({"neurons": 0}, "neurons must"),
        ({"neurons": 10**9}, "20,000,000 rows"),
        ({"length": 3}, "takes no length; it takes .*head_dimension"),
        ({"sequences": 3}, "takes no sequences"),
    ],
)
def test_refusals(options, reason, tmp_path):
    with pytest.raises(ByheartError, match=reason):
        generate("adversarial", tmp_path / "a.jsonl", **options)
    assert list(tmp_path.iterdir()) == []
