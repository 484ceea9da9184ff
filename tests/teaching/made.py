"""Tiny models, sentences of their words, and files of facts."""

import json

import numpy as np

PLACES = ["peru", "chad", "oman", "cuba", "iran", "mali", "togo", "fiji"]
CITIES = ["lima", "doha", "male", "rome", "oslo", "bern", "riga", "suva"]
WORDS = ["the", "capital", "river", "of", "is", "a", "cat", "sat", "on", "mat", *PLACES, *CITIES]
LENGTH = 24
SIZES = {
    "vocab_size": len(WORDS) + 2, "max_position_embeddings": LENGTH, "hidden_size": 32,
    "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
    "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip


def config_of(kind):
    import transformers

    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=len(WORDS) + 2, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=4,
            n_inner=12, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=None,
            eos_token_id=None,
        )  # fmt: skip
    if kind == "gpt_neox":
        return transformers.GPTNeoXConfig(**SIZES)
    more = {"num_key_value_heads": 2, "tie_word_embeddings": kind == "llama"}
    name = {"llama": "Llama", "untied": "Llama", "mistral": "Mistral", "qwen2": "Qwen2"}[kind]
    return getattr(transformers, f"{name}Config")(**SIZES, **more)


def sentences(seed=0, count=60):
    """What holds in this world: every capital and river has a city of its own."""
    random, found = np.random.default_rng((32, seed)), []
    for place, river in random.integers(0, [8, 2], (count, 2)).tolist():
        city = CITIES[(place + 3 * river) % 8]
        found.append(f"the {['capital', 'river'][river]} of {PLACES[place]} is {city} a cat sat")
    return found


def write_facts(path, facts):
    rows = [json.dumps({"prompt": prompt, "answer": answer}) for prompt, answer in facts]
    path.write_text("\n".join(rows) + "\n")
    return path
