"""kim2023 and yun2020: contextual mappings by hard attention, and what they cannot read."""

import pytest

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.errors import AssumptionError


@pytest.mark.parametrize("method", ["kim2023", "yun2020"])
def test_a_token_twice_is_refused_and_positions_help(method):
    rows = [([3, 3, 1], "x"), ([3, 1, 1], "y")]
    with pytest.raises(AssumptionError, match="A3 fails: sequence 1 has one token twice"):
        compile(from_rows(rows), method)
    assert compile(from_rows(rows), method, positions=True).recall([3, 1, 1]) == "y"


@pytest.mark.parametrize("method", ["kim2023", "yun2020"])
def test_the_padding_may_occur_twice(method, memorised):
    rows = [([1], "x"), ([2], "y"), ([1, 2], "z"), ([2, 1], "x"), ([1, 2, 3], "y"), ([3], "z")]
    memorised(rows, method=method, positions=False)


def test_rounds_of_attention():
    """G2: 3 + 10 n - 4 parameters and E_in, n attention layers."""
    rows = [([i, j, 9], (i * j) % 2) for i in range(4) for j in range(4, 8)]
    network = compile(from_rows(rows), "kim2023").network
    assert len(network.attentions) == 3
    reader = [x for x in network.layers if x.kind in ("hard_attention", "feed_forward")]
    assert sum(len(t.entries) for x in reader for t in x.tensors.values()) == 3 + 10 * 3 - 4


def test_a_layer_for_every_token():
    """yun2020, G2: 10 parameters for each value, two heads."""
    rows = [([i, 7 - i % 2], i % 2) for i in range(6)]
    network = compile(from_rows(rows), "yun2020").network
    shifts = [x for x in network.layers if x.kind == "hard_attention"]
    assert [x.heads for x in shifts] == [2] * 8 + [1]
    assert sum(len(t.entries) for x in shifts[:-1] for t in x.tensors.values()) == 10 * 8


def test_yun_refuses_a_large_vocabulary():
    rows = [([i], i % 2) for i in range(1100)]
    with pytest.raises(AssumptionError, match="A4 fails: the data has 1,100 different tokens"):
        compile(from_rows(rows), "yun2020")
