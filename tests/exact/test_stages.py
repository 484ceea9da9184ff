"""Stages of networks: every layer belongs to one, and their costs add up to the network's."""

import random

import pytest

from byheart.api import explain as explaining
from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.exact.stages import PARTS, stages


def model_of(**options):
    pick = random.Random(0)
    rows = [([f"w{i}", f"w{pick.randrange(9)}"], pick.randrange(3)) for i in range(30)]
    return compile(from_rows(rows), **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "limited-bits", "bits": 64}, {"method": "bit-extraction"}, {"positions": True}],
    ids=str,
)
def test_stages_add_up_and_are_those_that_explain_shows(options):
    model = model_of(**options)
    network = model.network
    found = stages(network)
    parameters, bits = network.counts()
    numbers = sorted(i for stage in found for a, b in stage.runs for i in range(a, b + 1))
    assert numbers == list(range(len(network.layers)))
    assert sum(stage.nonzero for stage in found) == parameters["nonzero"]
    assert sum(stage.dense for stage in found) == parameters["dense"]
    assert sum(stage.bits for stage in found) == bits["total"]
    assert max(stage.largest for stage in found) == bits["largest"]
    assert sum(stage.depth for stage in found) == network.depth
    assert {stage.part for stage in found} <= set(PARTS)
    names = [stage.name for stage in explaining.explain(model).stages]
    assert [stage.name for stage in found] == names
