"""The constructions after related work: every label proved, and the size as it was predicted."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.api.configure import configured, prepare, with_positions
from byheart.constructions import ALL
from byheart.data.load import from_rows
from byheart.exact.stages import stages

RELATED = [
    ("staircase", None),
    ("three-layer", "small"),
    ("three-layer", "faithful"),
    ("park2021", None),
    ("vardi2022", "small"),
    ("vardi2022", "faithful"),
    ("baum1988", None),
    ("bubeck2020", None),
    ("kim2023", "small"),
    ("kim2023", "faithful"),
    ("yun2020", None),
]
each = pytest.mark.parametrize(("method", "form"), RELATED)


def proved_as_predicted(rows, method, form, **options):
    """The model; its network is as large as was said before it was built."""
    dataset = from_rows(rows)
    construction = with_positions(configured(method, form, 0, options), dataset)
    told = construction.predict(*prepare(construction, dataset, "refuse"))
    model = compile(dataset, method, form, **options)
    assert model.verification.evidence == "proved"
    assert (model.parameters.nonzero, model.network.depth) == (told.parameters, told.depth)
    assert told.units in (None, model.network.units)
    return model


def tokens(kind, draw):
    """A strategy of tokens; a sequence has no token twice, as kim2023 and yun2020 ask."""
    if kind == "vectors":
        dimension = draw(st.integers(1, 3))
        whole = st.lists(st.integers(-3, 9), min_size=dimension, max_size=dimension)
        halves = st.lists(st.integers(-9, 9).map(lambda x: x / 2), min_size=2, max_size=2)
        return draw(st.sampled_from([whole, halves])).map(tuple)
    return st.sampled_from("abcdef") if kind == "words" else st.integers(0, 9)


@each
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_data(method, form, data):
    kind = data.draw(st.sampled_from(["words", "ids", "vectors"]))
    length = data.draw(st.sampled_from([1, 1, 3]))
    token = tokens(kind, data.draw)
    sequence = st.lists(token, min_size=1, max_size=length, unique=True)
    positions = data.draw(st.booleans())
    found, classes = data.draw(st.lists(sequence, min_size=1, max_size=12)), {}
    label = st.integers(0, data.draw(st.sampled_from([0, 1, 4])))
    rows = []
    for row in found:
        key = tuple(row) if positions else (tuple(sorted(row)), row[-1])
        classes.setdefault(key, data.draw(label))
        rows.append(([list(x) if isinstance(x, tuple) else x for x in row], classes[key]))
    proved_as_predicted(rows, method, form, positions=positions)


def random_rows(kind, count, labels, seed=0):
    pick, found = random.Random(seed), {}
    while len(found) < count:
        if kind == "vectors":
            row = [[pick.randrange(64) for _ in range(4)]]
            found[tuple(row[0])] = row
        else:
            row = pick.sample(range(12), 3)
            found[tuple(sorted(row)), row[-1]] = row
    return [(row, pick.randrange(labels)) for row in found.values()]


@each
@pytest.mark.parametrize("kind", ["vectors", "sequences"])
def test_the_checker_agrees(method, form, kind, failures):
    rows = random_rows(kind, 60, 5)
    assert failures(proved_as_predicted(rows, method, form), rows) == []


@each
def test_hard_numbers(method, form):
    """Coordinates beyond what is projected without folds, negative ones, fractions, the zero."""
    rows = [([[2.0**40, 0.5]], 0), ([[-3.0, 2.0**-20]], 1), ([[0.0, 0.0]], 2), ([[1.0, 1.0]], 1)]
    proved_as_predicted(rows, method, form)


@each
def test_every_stage_has_a_sentence(method, form):
    construction = next(c for c in ALL if (c.name, c.form) == (method, form))
    for kind in ("vectors", "sequences"):
        model = compile(from_rows(random_rows(kind, 40, 3)), method, form)
        for stage in stages(model.network):
            sentence = construction.stage_sentence(stage.kind, stage.name)
            assert sentence.endswith(".") and sentence != stage.name
