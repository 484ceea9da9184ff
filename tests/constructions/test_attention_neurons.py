"""attention-neurons: no neuron, three times the parameters of embedding, every label exact."""

import random

import pytest

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.models.context_ids import context_ids


def contexts(count, length, ids, labels, seed=0):
    pick, found = random.Random(seed), {}
    while len(found) < count:
        row = [pick.randrange(ids) for _ in range(pick.randint(1, length))]
        found[tuple(row)] = (row, pick.randrange(labels))
    return list(found.values())


ROWS = {
    "ids": ([([i % 7, i // 7], i * i % 3) for i in range(40)], {"positions": True}),
    "words": (contexts(60, 4, 6, 3), {"positions": True}),
    "single": ([([i], i * i % 5) for i in range(30)], {}),
    "multisets": ([([i, 20], i % 2) for i in range(19)], {}),
    "one label": ([([i, i + 1], 7) for i in range(5)], {}),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_label_is_proved_and_the_checker_agrees(name, memorised, failures):
    rows, options = ROWS[name]
    if name == "words":
        rows = [([f"w{x}" for x in row], label) for row, label in rows]
    model = memorised(rows, method="attention-neurons", **options)
    assert {layer.kind for layer in model.network.layers[1:-1]} == {"hard_attention"}
    assert failures(model, rows) == []


@pytest.mark.parametrize("positions", [False, True])
def test_the_count_is_that_of_the_units(positions):
    """G2: 2 k + j + 4 per unit, + 5 before columns meet; 5 and outputs per average."""
    rows = [([i, 40 - i % 3, (3 * i) % 7], i * i % 2) for i in range(30)]
    dataset = from_rows(rows)
    plain = compile(dataset, "embedding", positions=positions).network
    model = compile(dataset, "attention-neurons", positions=positions)
    ids = len(dataset.tokens)  # all sequences have one length: no padding
    padding = int(plain.input.padding[0].fraction) < plain.layers[0].weight.columns
    wanted = sum(len(x.entries) for i in (0, -1) for x in plain.layers[i].tensors.values())
    wanted += ids + padding + 3 + positions  # one, extra, place; the extra column has no position
    meeting = plain.attentions[-1]
    if any(layer.kind == "feed_forward" for layer in plain.layers[:meeting]):
        wanted += 6 * (3 - 1)
    for index, layer in enumerate(plain.layers[1:-1], 1):
        if index == meeting:
            wanted += 4 + len(layer.W_V.entries) + len(layer.W_O.entries)
            continue
        parts = {name: len(x.entries) for name, x in layer.tensors.items()}
        wanted += 2 * (parts["W1"] + parts["b1"]) + parts["W2"]
        wanted += (9 if index < meeting else 4) * layer.W1.rows
        wanted += (5 + parts["b2"]) * (parts["b2"] > 0)
    assert model.network.counts()[0]["nonzero"] == wanted
    assert 2 < wanted / plain.counts()[0]["nonzero"] < 5


def test_vectors_are_refused():
    with pytest.raises(AssumptionError, match="A2 fails: tokens are vectors"):
        compile(from_rows([([[1, 2]], "x"), ([[2, 1]], "y")]), "attention-neurons")


def test_a_trace_shows_no_id_where_no_lane_holds_one():
    model = compile(from_rows([([i, 9], i % 2) for i in range(6)]), "attention-neurons")
    found = model.trace([3, 9])
    assert found.context_ids == () and found.answer.label == 1
    with pytest.raises(ByheartError, match="compares scores, and no lane is known"):
        context_ids(model, [[3, 9]])
