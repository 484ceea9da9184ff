"""The parameters of LoRA adapters, against counts that are known, and what they hold."""

import json

import pytest

import byheart
from byheart.cli import main
from byheart.errors import ByheartError


@pytest.mark.parametrize(
    ("architecture", "rank", "targets", "parameters", "matrices"),
    [
        ("llama-3.1-8b", 16, None, 41_943_040, 224),  # as peft's print_trainable_parameters says
        ("llama-3.1-8b", 16, "q_proj,v_proj", 6_815_744, 64),
        ("gpt2", 8, ["c_attn"], 294_912, 12),
        ("gpt2", 8, "all-linear", 8 * 12 * (4 * 768 + 2 * 768 + 2 * 5 * 768), 48),
        ("pythia-70m", 4, "query_key_value", 4 * 6 * 4 * 512, 6),
    ],
)
def test_parameters(architecture, rank, targets, parameters, matrices):
    found = byheart.bounds(architecture=architecture, lora=rank, targets=targets).adapter
    assert (found.parameters, found.matrices) == (parameters, matrices)


def test_facts_that_are_to_be_held(capsys):
    words = ["bounds", "--lora", "rank=16", "--targets", "q_proj,v_proj", "--architecture"]
    words += ["llama-3.1-8b", "--facts", "10000", "--bits-per-fact", "30", "--bits", "16"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["adapter"]
    assert answer["needed"] == 300_000 and answer["parameters"] == 6_815_744
    rules, morris, counted, law = answer["held"]
    assert rules["bits"] == 2 * 6_815_744 and rules["facts"] == 2 * 6_815_744 // 30
    assert morris["bits"] == pytest.approx(3.51 * 6_815_744)
    assert counted["bits"] == 16 * 6_815_744 and counted["kind"] == "theorem"
    assert law["bits"] is law["facts"] is None and law["read"] == "secondary"
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "6,815,744 parameters, 0.08% of the model's own" in told
    assert "needed: 300,000 bits" in told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lora": "16", "targets": "c_attn"}, "must be maps of llama-3.1-8b"),
        ({"lora": "rank=0"}, "must be a rank"),
        ({"lora": "rank=9999999"}, "must be a rank"),
        ({"lora": 4, "facts": 10}, "go together"),
        ({"lora": 4, "facts": 10, "bits_per_fact": -1.0}, "more than 0"),
        ({"targets": "q_proj"}, "give lora"),
        ({"lora": 4, "data": [([1], 2)]}, "about an architecture alone"),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ByheartError, match=sentence):
        byheart.bounds(**{"architecture": "llama-3.1-8b"} | options)
