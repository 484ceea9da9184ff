"""Write `stock/good`: tiny checkpoints that the checker must accept.

    python checker/examples/stock_examples.py

The weights are made by hand. Like good_examples.py, whose writer it uses, it shares no code with
the checker, and running it again gives the same bytes. These folders have a place of their own
because the other examples are model folders that every command reads.
"""

import hashlib
import json
import math
import shutil
from pathlib import Path

from good_examples import Files, data_hash, encode, lines, safetensors, write

HERE = Path(__file__).parent / "stock"
HASHED = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "byheart.json",
    "ground_truth.jsonl",
)


def zeros(*sides: int) -> list:
    return [0.0] * sides[0] if len(sides) == 1 else [zeros(*sides[1:]) for _ in range(sides[0])]


# ---------------------------------------------------------------- good


def gpt2() -> dict:
    """Tokens are lanes 0 to 2 and places lanes 3 to 5.

    Of the 8 lanes two are 1, so the norm makes 1.73 of these and -0.58 of the others. A neuron
    reads the lanes of a token and of a place with weight 8: 27.7 if both are there, 9.2 if one
    is; the bias is -18.5. A neuron that is on writes the lane of the answer. The head takes the
    mean of the tokens' first lane to lane 7, which nothing reads.
    """
    block = {
        "ln_1.weight": [1.0] * 8,
        "ln_1.bias": zeros(8),
        "attn.c_attn.weight": zeros(8, 24),
        "attn.c_attn.bias": zeros(24),
        "attn.c_proj.weight": zeros(8, 8),
        "attn.c_proj.bias": zeros(8),
        "ln_2.weight": [1.0] * 8,
        "ln_2.bias": zeros(8),
        "mlp.c_fc.weight": zeros(8, 3),
        "mlp.c_fc.bias": [-18.5] * 3,
        "mlp.c_proj.weight": zeros(3, 8),
        "mlp.c_proj.bias": zeros(8),
    }
    block["attn.c_attn.weight"][0][16] = 1.0
    block["attn.c_proj.weight"][0][7] = 0.125
    for neuron, (token, place, answer) in enumerate([(0, 0, 1), (1, 1, 1), (1, 2, 2)]):
        block["mlp.c_fc.weight"][token][neuron] = 8.0
        block["mlp.c_fc.weight"][3 + place][neuron] = 8.0
        block["mlp.c_proj.weight"][neuron][answer] = 1.0
    tensors = {"wte.weight": zeros(3, 8), "wpe.weight": zeros(4, 8)}
    for i in range(3):
        tensors["wte.weight"][i][i] = tensors["wpe.weight"][i][3 + i] = 1.0
    tensors |= {f"h.0.{name}": tensor for name, tensor in block.items()}
    tensors |= {"ln_f.weight": [1.0] * 8, "ln_f.bias": zeros(8)}
    return {
        "config": {
            "model_type": "gpt2",
            "vocab_size": 3,
            "n_positions": 4,
            "n_embd": 8,
            "n_layer": 1,
            "n_head": 1,
            "n_inner": 3,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5,
            "tie_word_embeddings": True,
        },
        "tensors": {f"transformer.{name}": tensor for name, tensor in tensors.items()},
        "vocabulary": {"<s>": 0, "a": 1, "b": 2},
        "end": "<s>",
        "added": {"<s>": 0},
        "text": ["<s>", "a", "a", "b"],
        "neurons": [[[0, 0]], [[0, 1]], [[0, 2]]],
        "always": [],
    }


def llama() -> dict:
    """Tokens are lanes 0 to 3, the tokens before them come to lanes 4 to 6, and lane 7 is 1.

    The query of head 0 is turned by the angle of one place, so that it scores highest with the key
    of the place before it: 100 sqrt(2) (1 - cos 1) more than with others. A neuron reads a token
    and the token before it, and neuron 4 is on at every place.
    """
    block = {
        "input_layernorm.weight": [1.0] * 8,
        "self_attn.q_proj.weight": zeros(8, 8),
        "self_attn.k_proj.weight": zeros(8, 8),
        "self_attn.v_proj.weight": zeros(8, 8),
        "self_attn.o_proj.weight": zeros(8, 8),
        "post_attention_layernorm.weight": [1.0] * 8,
        "mlp.gate_proj.weight": zeros(5, 8),
        "mlp.up_proj.weight": zeros(5, 8),
        "mlp.down_proj.weight": zeros(8, 5),
    }
    block["self_attn.q_proj.weight"][0][7] = 10 * math.cos(1)
    block["self_attn.q_proj.weight"][2][7] = -10 * math.sin(1)
    block["self_attn.k_proj.weight"][0][7] = 10.0
    for lane in range(3):
        block["self_attn.v_proj.weight"][lane][lane] = 1.0
        block["self_attn.o_proj.weight"][4 + lane][lane] = 0.5
    for neuron, (token, before, answer) in enumerate([(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 1, 3)]):
        block["mlp.gate_proj.weight"][neuron][token] = 32.0
        block["mlp.gate_proj.weight"][neuron][4 + before] = 32.0
        block["mlp.gate_proj.weight"][neuron][7] = -48.0
        block["mlp.up_proj.weight"][neuron][7] = 1.0
        block["mlp.down_proj.weight"][answer][neuron] = 0.25
    block["mlp.gate_proj.weight"][4][7] = 1.0
    block["mlp.up_proj.weight"][4][7] = 1.0
    block["mlp.down_proj.weight"][7][4] = 0.5
    table = zeros(4, 8)
    for i in range(4):
        table[i][i] = table[i][7] = 1.0
    tensors = {"embed_tokens.weight": table, "norm.weight": [1.0] * 8}
    tensors |= {f"layers.0.{name}": tensor for name, tensor in block.items()}
    return {
        "version": 1,  # of the format: it is still read
        "config": {
            "model_type": "llama",
            "vocab_size": 4,
            "max_position_embeddings": 8,
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 4,
            "intermediate_size": 5,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
            "tie_word_embeddings": True,
        },
        "tensors": {f"model.{name}": tensor for name, tensor in tensors.items()},
        "vocabulary": {"<s>": 0, "a": 1, "b": 2},
        "end": "</s>",
        "added": {"<s>": 0, "</s>": 3},
        "text": ["<s>", "a", "a", "b", "</s>"],
        "neurons": [[[0, 0]], [[0, 1]], [[0, 2]], [[0, 3]]],
        "always": [[0, 4]],
    }


def words() -> dict:
    """The checkpoint of `gpt2` for the text "aab", which its data comes from: token and place give
    the next token, and the end token is the last one. The ground truth notes margins that nobody
    can prove: they are for people, and no verdict depends on them."""
    example = gpt2()
    tensors = example["tensors"]
    read, write_ = zeros(8, 3), zeros(3, 8)
    for neuron, (token, place, answer) in enumerate([(1, 0, 1), (1, 1, 2), (2, 2, 0)]):
        read[token][neuron] = read[3 + place][neuron] = 8.0
        write_[neuron][answer] = 1.0
    tensors["transformer.h.0.mlp.c_fc.weight"] = read
    tensors["transformer.h.0.mlp.c_proj.weight"] = write_
    return {**example, "text": ["a", "a", "b", "<s>"], "notes": {"margin": 99.0}}


def draws() -> dict:
    """The checkpoint of `gpt2` with two labels of the last context, a and b, equally often: its
    neuron writes both. Neurons write so much that the norm leaves little of the rest."""
    example = gpt2()
    write_ = [
        [16 * x for x in row] for row in example["tensors"]["transformer.h.0.mlp.c_proj.weight"]
    ]
    write_[2][1] = write_[2][2]
    example["tensors"]["transformer.h.0.mlp.c_proj.weight"] = write_
    return {**example, "other": "a", "gap": "0.2"}


def tokenizer(example: dict) -> dict:
    """Bytes as tokens, without merges."""
    end, number = example["end"], example["added"][example["end"]]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    bytes_["use_regex"] = True
    pair = [
        [{"SpecialToken": {"id": end, "type_id": i}}, {"Sequence": {"id": name, "type_id": i}}]
        for i, name in enumerate("AB")
    ]
    template = {
        "type": "TemplateProcessing",
        "single": pair[0],
        "pair": pair[0] + pair[1],
        "special_tokens": {end: {"id": end, "ids": [number], "tokens": [end]}},
    }
    added = example["added"].items()
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": t, "special": True, **flags} for t, i in added],
        "normalizer": None,
        "pre_tokenizer": bytes_,
        "post_processor": template if example["config"]["model_type"] == "llama" else None,
        "decoder": bytes_,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": example["vocabulary"],
            "merges": [],
        },
    }


def build(example: dict) -> Files:
    """The files of an example."""
    text, config, end = example["text"], example["config"], example["end"]
    numbers = {**example["vocabulary"], **example["added"]}
    rows = [{"input": text[:n], "label": text[n]} for n in range(1, len(text))]
    noted = example.get("notes", {})
    if "other" in example:  # a second label of the last context
        rows = [
            *rows[:-1],
            {**rows[-1], "count": 2},
            {**rows[-1], "label": example["other"], "count": 2},
        ]
    truth = old_truth(text, numbers, example["neurons"])
    if example.get("version", 2) > 1:
        truth = [fact(text, numbers, example["neurons"], end, noted)]
    if "other" in example:
        other = [*text[:-1], example["other"]]
        truth.append(fact(other, numbers, example["neurons"], end, {"share": 0.5}))
    arrays = ((name, "F32", tensor) for name, tensor in example["tensors"].items())
    version = {"version": example.get("version", 2)}
    contexts = len(text) - 1
    notes = {"format": "byheart-model", **version, "end": end, "labels_are": "token"}
    if "gap" in example:
        notes["data"] = {"contexts": contexts}
    certificate = {
        "format": "byheart-certificate",
        **version,
        "claim": "draws" if "gap" in example else "recites",
        "dtype": "float32",
        **({"gap": example["gap"]} if "gap" in example else {}),
        "always": example["always"],
        "files": {},
        "data": {"sha256": data_hash("string", rows), "sequences": len(rows)},
        "verified": {"checked": contexts, "correct": contexts, "evidence": "proved"},
    }
    llama = config["model_type"] == "llama"
    places = config["max_position_embeddings" if llama else "n_positions"]
    ids = {"bos_token_id": numbers[end], "eos_token_id": numbers[end]}
    classes = ["LlamaForCausalLM" if llama else "GPT2LMHeadModel"]
    reads = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), end),
        "add_bos_token": llama,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": places,
    }
    files = {
        "config.json": encode({"architectures": classes, **config, **ids, "dtype": "float32"}),
        "model.safetensors": safetensors(arrays),
        "tokenizer.json": encode(tokenizer(example)),
        "tokenizer_config.json": encode(reads),
        "generation_config.json": encode({**ids, "pad_token_id": numbers[end], "do_sample": False}),
        "byheart.json": encode(notes),
        "ground_truth.jsonl": lines(truth),
        "certificate.json": encode(certificate),
        "data.jsonl": lines(rows),
    }
    return seal(files)


def old_truth(text: list, numbers: dict, neurons: list) -> list:
    """A line per context, as older folders have it."""
    return [
        {"context": [numbers[t] for t in text[:n]], "answer": numbers[text[n]], "neurons": on}
        for n, on in enumerate(neurons, 1)
    ]


def fact(text: list, numbers: dict, neurons: list, end: str, noted: dict) -> dict:
    """A line for the whole text: its first token is the prompt."""
    answer = text[1 : len(neurons) + 1]
    return {
        "row": 1,
        "prompt": text[0].replace(end, ""),
        "answer": "".join(token for token in answer if token != end),
        "context": [numbers[text[0]]],
        "tokens": [
            {"token": token, "number": numbers[token], "neurons": on} | noted
            for token, on in zip(answer, neurons, strict=True)
        ],
    }


def seal(files: Files) -> Files:
    certificate = json.loads(files["certificate.json"])
    certificate["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in HASHED}
    return {**files, "certificate.json": encode(certificate)}


GOOD = {"gpt2": gpt2, "llama": llama, "text": words, "draws": draws}


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))


if __name__ == "__main__":
    main()
