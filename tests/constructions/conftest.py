"""What the tests of the small constructions share: a judge, and a look at what the search found."""

import importlib.util
import random
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest

from byheart.api.compile import compile
from byheart.constructions.retrieval import build as building
from byheart.constructions.retrieval.tables import cost
from byheart.data.load import from_rows
from byheart.exact.evaluate import evaluate
from byheart.exact.prove import batch_of_data

# the tests beside this file import the datasets of nasty.py from here
specification = importlib.util.spec_from_file_location(
    "nasty", Path(__file__).with_name("nasty.py")
)
sys.modules["nasty"] = importlib.util.module_from_spec(specification)
specification.loader.exec_module(sys.modules["nasty"])


def lists(labels):
    """Labels of sequences, or of their tokens, one after another."""
    return [x for label in labels for x in (label if isinstance(label, list) else [label])]


@pytest.fixture
def memorised():
    """A function: rows and options to a model whose every label is right by name."""

    def compiled(rows, **options):
        dataset = from_rows(rows)
        model = compile(dataset, **options)
        found = model.record.verification
        assert (found.evidence, found.checked) == ("proved", len(dataset.labels))
        outputs = evaluate(model.network, batch_of_data(model, dataset)[0], "exact")
        wanted = lists(label for _, label, *_ in rows)
        assert [model.labels[int(y)] for y in outputs] == wanted
        assert all(y == int(y) >= 0 for y in outputs)
        some = rows[:3]
        assert [model.recall(tokens) for tokens, *_ in some] == [label for _, label, *_ in some]
        return model

    return compiled


@pytest.fixture
def failures(checker):
    """A function: the independent checker's judgement of a saved model and its data."""

    def judged(model, rows):
        with tempfile.TemporaryDirectory() as place:
            model.save(Path(place) / "model", data=from_rows(rows))
            return checker.failures(Path(place) / "model", Path(place) / "model" / "data.jsonl")

    return judged


@pytest.fixture
def captured(monkeypatch):
    """Problem and Found of the last compile; the form with readers has test_readers.py."""
    kept, original = {}, building.search
    monkeypatch.setattr(building.reading, "search", lambda *_: None)

    def search(problem, *rest):
        kept.update(problem=problem, found=original(problem, *rest))
        return kept["found"]

    monkeypatch.setattr(building, "search", search)
    return kept


def vanishing(layout, numbers):
    """Second differences of tables and constants of lanes that are 0: no weight is there."""
    count = sum(numbers[unit] == 0 for unit in layout.lane_constant.values())
    for table, lane in product(range(len(layout.plan.tables)), range(layout.plan.lanes)):
        values = [0, *layout.values(table, lane, numbers)]
        triples = zip(values, values[1:], values[2:], strict=False)
        count += sum(a - 2 * b + c == 0 for a, b, c in triples)
    return count


@pytest.fixture
def predicted(captured, dense_parameters):
    """A function: asserts that the cost of the last compile is what cost.py had said."""

    def compare(model):
        problem, found = captured["problem"], captured["found"]
        layout, pick = found.storage.layout, random.Random(0)
        offset = found.hashed.offset != 0 and bool(found.hashed.token_thresholds)
        told = cost(found.plan, problem.task, layout.unknowns, found.storage.digits, offset)
        # cells that were left out give zeros that were predicted; count those with no other zeros
        generic = [pick.getrandbits(200) for _ in range(layout.unknowns)]
        zeros = vanishing(layout, found.storage.numbers) - vanishing(layout, generic)
        built, _ = model.network.counts()
        assert told.dense == built["dense"] == dense_parameters(model.network)
        assert told.nonzero == built["nonzero"] + zeros
        assert (told.width, told.depth) == (model.network.width, model.network.depth)

    return compare
