"""Shapes, types and counts of stock checkpoints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.stock.checkpoint import rounded, shapes


def test_shapes_are_those_of_the_tensors(model):
    network = model.network
    assert {name: x.shape for name, x in network.tensors.items()} == shapes(network.config)
    dense = network.counts()[0]["dense"]
    assert dense == sum(x.size for x in network.tensors.values())


def test_counts_are_those_of_transformers(model, tmp_path):
    transformers = pytest.importorskip("transformers")
    model.save(tmp_path / "model")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert sum(x.numel() for x in loaded.parameters()) == model.parameters.dense


@given(st.floats(-1e4, 1e4, allow_subnormal=False))
def test_bfloat16_is_the_nearest_number_of_8_digits(value):
    found = float(rounded(np.array([value]), "bfloat16")[0])
    single = float(np.float32(value))
    assert abs(found - single) <= abs(single) * 2**-8 + 2.0**-133
    assert np.float32(found).view(np.uint32) & 0xFFFF == 0


def test_float16_is_exact(model):
    x = np.array([1.0, 1 / 3, 65504.0])
    assert rounded(x, "float16").tolist() == x.astype(np.float16).astype(float).tolist()
