"""GGUF: names, shapes and values as llama.cpp wants them; a run in it where it is installed."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.compiler.compiling import compile
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.exports.exporting import export
from byheart.exports.gguf_file import paired
from byheart.exports.runtimes import observe
from byheart.models.folder.read import open as open_folder
from byheart.stock.forward import rotated

from .conftest import READING

gguf = pytest.importorskip("gguf")


def test_the_file_is_read_back(folder, tmp_path):
    model = open_folder(folder)
    found = export(model, "gguf", tmp_path / "out")
    assert found.verification is None and "no data" in found.note
    reader = gguf.GGUFReader(str(tmp_path / "out" / "model.gguf"))
    fields = {name: field.contents() for name, field in reader.fields.items()}
    network, family = model.network, model.network.family.name
    assert fields["general.architecture"] == family
    assert fields[f"{family}.block_count"] == network.size("layers")
    assert fields[f"{family}.context_length"] == network.length
    assert fields[f"{family}.attention.head_count"] == network.size("heads")
    assert fields["tokenizer.ggml.model"] == "gpt2"
    assert fields["tokenizer.ggml.pre"] == "gpt-2"
    assert fields["tokenizer.ggml.tokens"] == list(model.tokens)
    end = model.places[model.claim.end]
    assert fields["tokenizer.ggml.eos_token_id"] == end
    assert fields["tokenizer.ggml.token_type"][end] == gguf.TokenType.CONTROL
    assert fields["tokenizer.ggml.add_bos_token"] == (family == "llama")
    merges = json.loads(model.about["tokenizer"])["model"]["merges"]
    assert fields["tokenizer.ggml.merges"] == [" ".join(pair) for pair in merges]
    tensors = {x.name: np.array(x.data) for x in reader.tensors}
    assert {x.tensor_type for x in reader.tensors} == {gguf.GGMLQuantizationType.F32}
    block, D = network.block(0), network.width
    np.testing.assert_array_equal(tensors["token_embd.weight"], network.embedding)
    np.testing.assert_array_equal(tensors["output.weight"], network.embedding)
    np.testing.assert_array_equal(tensors["blk.0.ffn_up.weight"].T, block.up)
    np.testing.assert_array_equal(tensors["blk.0.ffn_down.weight"].T, block.down)
    np.testing.assert_array_equal(tensors["blk.0.attn_output.weight"].T, block.out)
    if family == "gpt2":
        assert tensors["blk.0.attn_qkv.weight"].shape == (3 * D, D)
        np.testing.assert_array_equal(tensors["blk.0.ffn_up.bias"], block.up_bias)
        assert fields["gpt2.attention.layer_norm_epsilon"] == np.float32(network.epsilon)
    else:
        heads = network.size("heads")
        np.testing.assert_array_equal(tensors["blk.0.attn_q.weight"], paired(block.query.T, heads))
        np.testing.assert_array_equal(tensors["blk.0.attn_v.weight"].T, block.value)
        assert fields["llama.rope.freq_base"] == np.float32(network.rotary_base)
        assert fields["llama.attention.layer_norm_rms_epsilon"] == np.float32(network.epsilon)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_turned_neighbours_have_the_same_scores(heads, half, seed):
    """Rows in the order of llama.cpp, turned as it turns them, give the scores of transformers."""
    random = np.random.default_rng(seed)
    query, key, x = (random.standard_normal((heads * 2 * half, 5)) for _ in range(3))
    x = x[:2]
    angle = random.standard_normal((2, half))

    def neighbours(y):
        a, b = y[..., 0::2], y[..., 1::2]
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        return np.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(y.shape)

    def shaped(weights):
        return (x @ weights.T).reshape(2, heads, 2 * half)

    own = np.einsum("thd,shd->hts", rotated(shaped(query), angle), rotated(shaped(key), angle))
    q, k = (neighbours(shaped(paired(w, heads))) for w in (query, key))
    np.testing.assert_allclose(np.einsum("thd,shd->hts", q, k), own, atol=1e-12)


def test_other_tokenizers_and_other_models_are_refused(facts, tmp_path):
    model = compile(load(facts, **READING), "gpt2")
    values = json.loads(model.about["tokenizer"])
    values["pre_tokenizer"] = {"type": "Whitespace"}
    model.about["tokenizer"] = json.dumps(values)
    with pytest.raises(ByheartError, match="byte-level tokenizers"):
        export(model, "gguf", tmp_path / "out")
    exact = compile(from_rows([(["a"], "x"), (["b"], "y")]), "float64")
    with pytest.raises(ByheartError, match="stock architectures alone"):
        export(exact, "gguf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_llama_cpp_recites(folder, facts):
    pytest.importorskip("llama_cpp", reason="needs llama-cpp-python")
    model = open_folder(folder)
    held = model.claim.reads(model, load(facts, **READING))
    found, _ = observe(model, held, "llama.cpp")
    assert found.evidence == "observed" and found.correct == found.checked == len(held)
