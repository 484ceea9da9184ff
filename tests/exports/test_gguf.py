"""GGUF: names, shapes and values as llama.cpp wants them; a run in it where it is installed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.exports.exporting import export
from byheart.exports.gguf_file import llama_server, paired
from byheart.exports.runtimes import observe
from byheart.models.opening import open as open_folder
from byheart.stock.forward import rotated
from byheart.stock.prove import reads
from byheart.stock.stages import written_by

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
    merges = json.loads(model.record.tokenizer)["model"]["merges"]
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
    values = json.loads(model.record.tokenizer)
    values["pre_tokenizer"] = {"type": "Whitespace"}
    model = replace(model, record=replace(model.record, tokenizer=json.dumps(values)))
    with pytest.raises(ByheartError, match="byte-level tokenizers"):
        export(model, "gguf", tmp_path / "out")
    exact = compile(from_rows([(["a"], "x"), (["b"], "y")]), "float64")
    with pytest.raises(ByheartError, match="stock architectures alone"):
        export(exact, "gguf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# --- in llama.cpp


@pytest.fixture(scope="module")
def observe_in_llama_cpp():
    pytest.importorskip("xllamacpp", reason="needs llama.cpp, by the package xllamacpp")
    return lambda model, held: observe(model, held, "llama.cpp")[0]


def test_llama_cpp_recites(folder, facts, observe_in_llama_cpp):
    model = open_folder(folder)
    held = reads(model, load(facts, **READING))
    found = observe_in_llama_cpp(model, held)
    assert found.evidence == "observed" and found.correct == found.checked == len(held)


def test_llama_cpp_recites_texts_that_it_splits_itself(folder, facts, tmp_path):
    """Strings in, strings out: the tokenizer is the one in the file."""
    pytest.importorskip("xllamacpp", reason="needs llama.cpp, by the package xllamacpp")
    model = open_folder(folder)
    export(model, "gguf", tmp_path / "out")
    server = llama_server(tmp_path / "out" / "model.gguf", model.length)
    for row in map(json.loads, facts.read_text().splitlines()):
        asked = {"prompt": row["prompt"], "max_tokens": 32, "temperature": 0.0}
        said = server.handle_completions(asked)["choices"][0]
        assert said["text"].removeprefix(" ") == row["answer"]
        assert said["finish_reason"] == "stop"  # the end token


def test_llama_cpp_contradicts_a_changed_network(folder, facts, observe_in_llama_cpp):
    """One neuron writes nothing: the run in llama.cpp must say so."""
    model = open_folder(folder)
    held = reads(model, load(facts, **READING))
    ((layer, neuron),) = model.claim.holders[0].neurons
    name, axis = written_by(model.network, layer)
    tensor = model.network.tensors[name].copy()
    tensor[(neuron,) if axis == 0 else (slice(None), neuron)] = 0
    tensors = {**model.network.tensors, name: tensor}
    model = replace(model, network=replace(model.network, tensors=tensors))
    found = observe_in_llama_cpp(model, held)
    assert found.evidence == "refuted" and found.correct == found.checked - 1


def test_a_text_that_fills_all_places_is_too_long_for_llama_cpp(facts, observe_in_llama_cpp):
    dataset = load(facts, **READING)
    model = compile(dataset, "gpt2")
    held = reads(model, dataset)
    exact = compile(dataset, "gpt2", context_length=held.length)
    with pytest.raises(ByheartError, match="one place more than a text has tokens"):
        observe_in_llama_cpp(exact, held)
    more = compile(dataset, "gpt2", context_length=held.length + 1)
    assert observe_in_llama_cpp(more, held).evidence == "observed"
