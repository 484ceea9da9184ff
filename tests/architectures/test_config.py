"""config.json of Hugging Face: known families are counted, anything else is refused."""

import json

import pytest

from byheart.architectures import architecture
from byheart.architectures.config import KINDS
from byheart.cli import main
from byheart.errors import ByheartError

COMMON = {
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "vocab_size": 50,
    "max_position_embeddings": 64,
}
GPT2 = {"n_embd": 12, "n_layer": 2, "n_head": 4, "vocab_size": 50, "n_positions": 64}
NEURONS = 3 * 12 * 20
# by hand: embedding and unembedding of 50 x 12, per layer attention, neurons and norms, last norm
WANTED = {
    "gpt2": 50 * 12 + 64 * 12 + 2 * (12 * 144 + 13 * 12) + 24,
    "gpt_neox": 2 * 50 * 12 + 2 * (4 * 144 + 4 * 12 + 2 * 240 + 20 + 12 + 4 * 12) + 24,
    "llama": 2 * 50 * 12 + 2 * (4 * 144 + NEURONS + 24) + 12,
    "mistral": 2 * 50 * 12 + 2 * (2 * 144 + 2 * 2 * 3 * 12 + NEURONS + 24) + 12,
    "qwen2": 2 * 50 * 12 + 2 * (4 * 144 + 36 + NEURONS + 24) + 12,
    "qwen3": 2 * 50 * 12 + 2 * (4 * 512 * 12 + 2 * 128 + NEURONS + 24) + 12,
    "gemma": 50 * 12 + 2 * (4 * 1024 * 12 + NEURONS + 24) + 12,
    "gemma2": 50 * 12 + 2 * (4 * 1024 * 12 + NEURONS + 48) + 12,
    "gemma3_text": 50 * 12 + 2 * (4 * 1024 * 12 + 512 + NEURONS + 48) + 12,
}


def config(kind):
    own = GPT2 if kind == "gpt2" else COMMON
    more = {"num_key_value_heads": 2} if kind == "mistral" else {}
    return {"model_type": kind, **own, **more}


def written(folder, content):
    path = folder / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_every_kind_has_a_case():
    assert set(WANTED) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_by_hand(tmp_path, kind):
    path = written(tmp_path, config(kind))
    found = architecture(str(path), {})
    assert found.parameters == WANTED[kind]
    assert architecture(str(tmp_path), {}).parameters == WANTED[kind]  # the folder of the file


@pytest.mark.parametrize(
    ("kind", "change", "more"),
    [
        ("gpt2", {"tie_word_embeddings": False}, 50 * 12),
        ("gpt2", {"n_inner": 49}, 2 * 25),
        ("gpt_neox", {"attention_bias": False}, -2 * 48),
        ("llama", {"tie_word_embeddings": True}, -50 * 12),
        ("llama", {"attention_bias": True}, 2 * 48),
        ("llama", {"mlp_bias": True}, 2 * 52),
        ("llama", {"num_key_value_heads": 1}, -2 * 2 * 9 * 12),
        ("llama", {"head_dim": 6}, 2 * 4 * 144),
        ("gemma", {"head_dim": 3}, 2 * 4 * (144 - 1024 * 12)),
    ],
)
def test_what_changes_the_count(tmp_path, kind, change, more):
    path = written(tmp_path, config(kind) | change)
    assert architecture(str(path), {}).parameters == WANTED[kind] + more


def test_the_file_of_a_known_model(tmp_path):
    """Llama 2 7B as its config.json has it, which does not name the heads of keys."""
    sizes = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    sizes |= {"intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096}
    named = {"model_type": "llama", "hidden_act": "silu", "torch_dtype": "float16"}
    found = architecture(str(written(tmp_path, named | sizes)), {})
    known = architecture("llama-2-7b", {})
    assert (found.tensors, found.sizes) == (known.tensors, known.sizes)


def test_the_activation_of_a_family(tmp_path):
    assert architecture(str(written(tmp_path, config("llama"))), {}).sizes["activation"] == "silu"
    assert architecture(str(written(tmp_path, config("gemma"))), {}).sizes["activation"] == "gelu"


def changed(**change):
    return {**config("llama"), **change}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not readable as JSON"),
        ("[" * 100_000, "not readable as JSON"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "not readable as JSON"),
        ("[]", "one JSON object"),
        (" " * 2**20 + "{}", "larger than"),
        ({}, "model_type is missing; known here: gpt2, gpt_neox, llama, mistral, qwen2"),
        (changed(model_type="mamba"), "model_type is 'mamba'; known here: gpt2"),
        (changed(model_type=["llama"]), "known here"),
        (changed(hidden_size=-12), "hidden_size must be an integer from 1 to"),
        (changed(hidden_size=True), "hidden_size must be an integer"),
        (changed(hidden_size="12"), "hidden_size must be an integer"),
        (changed(hidden_size=12.0), "hidden_size must be an integer"),
        (changed(hidden_size=10**30), "hidden_size must be an integer"),
        (changed(num_hidden_layers=10**6), "from 1 to 100,000"),
        (changed(vocab_size=None), "vocab_size must be an integer .* is missing"),
        (changed(num_attention_heads=5), "not a multiple of num_attention_heads 5"),
        (changed(num_key_value_heads=3), "not a multiple of num_key_value_heads 3"),
        (changed(hidden_act="__import__('os')"), "hidden_act must be one of gelu"),
        (changed(tie_word_embeddings="yes"), "must be true or false"),
        ({**config("gpt2"), "add_cross_attention": True}, "add_cross_attention"),
    ],
)
def test_what_is_refused(tmp_path, content, said):
    with pytest.raises(ByheartError, match=said):
        architecture(str(written(tmp_path, content)), {})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ByheartError, match="there is no such file"):
        architecture(str(tmp_path / "other.json"), {})
    with pytest.raises(ByheartError, match="config.json: there is no such file"):
        architecture(str(tmp_path), {})


def test_sizes_of_its_own(tmp_path):
    path = str(written(tmp_path, config("llama")))
    with pytest.raises(ByheartError, match="takes no dimension="):
        architecture(path, {"dimension": 3})


def test_on_the_command_line(tmp_path, capsys):
    path = written(tmp_path, config("qwen3"))
    assert main(["bounds", "--architecture", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["architecture"]
    assert (answer["name"], answer["parameters"]) == (str(path), WANTED["qwen3"])
    path.write_text('{"model_type": "\\u001b[2Jx"}')
    assert main(["bounds", "--architecture", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().err
