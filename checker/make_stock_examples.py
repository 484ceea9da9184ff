"""Write `stock/good` and `stock/bad`: tiny checkpoints that the checker must accept and refuse.

    python checker/make_stock_examples.py

The weights are made by hand. Like make_examples.py, whose writer it uses, it shares no code with
the checker, and running it again gives the same bytes. These folders have a place of their own
because the other examples are model folders that every command reads.
"""

import hashlib
import json
import math
import shutil
from pathlib import Path

from make_examples import (
    Bad,
    Files,
    append,
    container,
    data_hash,
    encode,
    lines,
    put,
    unreadable,
    write,
    wrong,
)

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
ONLY_WITH_DATA = ("half-precision",)  # refused because they cannot be judged, and not unreadable


def zeros(*sides: int) -> list:
    return [0.0] * sides[0] if len(sides) == 1 else [zeros(*sides[1:]) for _ in range(sides[0])]


def flat(tensor: list) -> list[float]:
    return [x for part in tensor for x in (flat(part) if isinstance(part, list) else [part])]


def sides(tensor: list) -> list[int]:
    return [len(tensor), *(sides(tensor[0]) if isinstance(tensor[0], list) else [])]


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
        },
        "tensors": {f"transformer.{name}": tensor for name, tensor in tensors.items()},
        "vocabulary": {"a": 1, "b": 2},
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
        "vocabulary": {"<s>": 0, "a": 1, "b": 2, "</s>": 3},
        "added": {},
        "text": ["<s>", "a", "a", "b", "</s>"],
        "neurons": [[[0, 0]], [[0, 1]], [[0, 2]], [[0, 3]]],
        "always": [[0, 4]],
    }


def build(example: dict) -> Files:
    """The files of an example."""
    text, config = example["text"], example["config"]
    numbers = {**example["vocabulary"], **example["added"]}
    rows = example.get("rows") or [
        {"input": text[:n], "label": text[n]} for n in range(1, len(text))
    ]
    truth = [
        {"context": [numbers[t] for t in text[:n]], "answer": numbers[text[n]], "neurons": on}
        for n, on in enumerate(example["neurons"], 1)
    ]
    header, data = {}, b""
    for name, tensor in example["tensors"].items():
        data = append(header, data, name, "F32", sides(tensor), "f", flat(tensor))
    end = next(token for token, number in numbers.items() if number == 0)
    notes = {"format": "byheart-model", "version": 1, "end": end, "labels_are": "token"}
    added = [{"id": number, "content": token} for token, number in example["added"].items()]
    certificate = {
        "format": "byheart-certificate",
        "version": 1,
        "claim": "recites",
        "dtype": "float32",
        "always": example["always"],
        "files": {},
        "data": {"sha256": data_hash("string", rows), "sequences": len(rows)},
        "verified": {"checked": len(rows), "correct": len(rows), "evidence": "proved"},
    }
    files = {
        "config.json": encode(config),
        "model.safetensors": container(header, data),
        "tokenizer.json": encode(
            {"model": {"vocab": example["vocabulary"]}, "added_tokens": added}
        ),
        "tokenizer_config.json": encode({}),
        "generation_config.json": encode({}),
        "byheart.json": encode(notes),
        "ground_truth.jsonl": lines(truth),
        "certificate.json": encode(certificate),
        "data.jsonl": lines(rows),
    }
    return seal(files)


def seal(files: Files) -> Files:
    certificate = json.loads(files["certificate.json"])
    certificate["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in HASHED}
    return {**files, "certificate.json": encode(certificate)}


GOOD = {"gpt2": gpt2, "llama": llama}


# ---------------------------------------------------------------- bad


def changed(make, name: str, *path) -> Files:
    """An example with another number in a tensor."""
    example = make()
    put(name, *path)(example["tensors"])
    return build(example)


def configured(make, *path) -> Files:
    example = make()
    put(*path)(example["config"])
    return build(example)


def claimed(*path) -> Files:
    files = build(gpt2())
    certificate = json.loads(files["certificate.json"])
    put(*path)(certificate)
    return {**files, "certificate.json": encode(certificate)}


def with_truth(change) -> Files:
    files = build(gpt2())
    truth = [json.loads(line) for line in files["ground_truth.jsonl"].splitlines()]
    change(truth)
    return seal({**files, "ground_truth.jsonl": lines(truth)})


def with_row(tokens: list, label) -> Files:
    example = gpt2()
    text = example["text"]
    rows = [{"input": text[:n], "label": text[n]} for n in range(1, len(text))]
    return build({**example, "rows": [*rows, {"input": tokens, "label": label}]})


def with_file(name: str, content: bytes | None) -> Files:
    """An example with another file, or without it."""
    files = build(gpt2())
    if content is None:
        return {key: value for key, value in files.items() if key != name}
    return seal({**files, name: content})


def with_tensors(dtype: str | None = None, **more) -> Files:
    """The same numbers, declared as another type of half their size, or more tensors."""
    example = gpt2()
    header, data = {}, b""
    for name, tensor in {**example["tensors"], **more}.items():
        code, stored = ("f", "F32") if dtype is None else ("e", dtype)
        data = append(header, data, name, stored, sides(tensor), code, flat(tensor))
    return seal({**build(example), "model.safetensors": container(header, data)})


def half_precision() -> Files:
    files = with_tensors("F16")
    certificate = json.loads(files["certificate.json"])
    certificate["dtype"] = "float16"
    certificate["verified"]["evidence"] = "observed"
    return {**files, "certificate.json": encode(certificate)}


def balanced() -> Files:
    """Neuron 1 reads two lanes that are equal at the third place: its argument is 0 there."""
    example = gpt2()
    weights = example["tensors"]["transformer.h.0.mlp.c_fc.weight"]
    weights[4][1], weights[5][1] = 0.0, -8.0
    example["tensors"]["transformer.h.0.mlp.c_fc.bias"][1] = 0.0
    return build(example)


def bad_answers() -> Bad:
    fc, out = "transformer.h.0.mlp.c_fc.", "transformer.h.0.mlp.c_proj."
    gate, key = "model.layers.0.mlp.gate_proj.weight", "model.layers.0.self_attn.k_proj.weight"
    return {
        "answer": wrong(
            'the label is "b", the network answers "a"', changed(gpt2, out + "weight", 2, 1, 2.0)
        ),
        "tie": wrong("cannot be shown to win", changed(gpt2, out + "weight", 2, 0, 1.0)),
        "neuron-on": wrong(
            "neuron 1 of layer 0 is on and not listed", changed(gpt2, fc + "bias", 1, -5.0)
        ),
        "neuron-unsure": wrong("neuron 1 of layer 0 may be on or off", balanced()),
        "attention": wrong(
            'the label is "a", the network answers "b"', changed(llama, key, 0, 7, -10.0)
        ),
        "gate": wrong('the network answers "</s>"', changed(llama, gate, 3, 7, 0.0)),
    }


def bad_truth() -> Bad:
    return {
        "truth-off": wrong(
            "neuron 2 of layer 0 is listed and off",
            with_truth(lambda rows: rows[0]["neurons"].append([0, 2])),
        ),
        "truth-silent": wrong("is on and not listed", with_truth(lambda rows: rows.pop())),
        "truth-context": wrong(
            "line 4: the context is no sequence of the data",
            with_truth(lambda rows: rows.append({"context": [1], "answer": 1, "neurons": None})),
        ),
        "truth-answer": wrong(
            "line 2: the answer 2 is not the label",
            with_truth(lambda rows: rows[1].update(answer=2)),
        ),
        "truth-twice": wrong(
            "lines 1 and 4 have one context", with_truth(lambda rows: rows.append(rows[0]))
        ),
        "truth-outside": unreadable(
            "[0, 3] is not the layer and number of a neuron",
            with_truth(lambda rows: rows[0]["neurons"].append([0, 3])),
        ),
        "truth-missing": unreadable(
            'line 1 has no "neurons"', with_truth(lambda rows: rows[0].pop("neurons"))
        ),
        "truth-text": unreadable(
            "not numbers of tokens", with_truth(lambda rows: rows[0].update(context=["<s>"]))
        ),
        "always-off": wrong("neuron 1 of layer 0 is listed and off", claimed("always", [[0, 1]])),
        "always-outside": unreadable("always: [1, 0] is not", claimed("always", [[1, 0]])),
    }


def bad_data() -> Bad:
    return {
        "unknown-token": wrong("not in the tokenizer", with_row(["c"], "a")),
        "unknown-label": wrong("not in the tokenizer", with_row(["b"], "c")),
        "two-labels": wrong("but another label", with_row(["<s>"], "b")),
        "too-long": wrong("it has 5 tokens, the network reads 1 to 4", with_row(["a"] * 5, "a")),
        "empty": wrong("it has 0 tokens", with_row([], "a")),
        "integers": wrong(
            "not strings with one label each",
            {**build(gpt2()), "data.jsonl": lines([{"input": ["a"], "label": 1}])},
        ),
        "hash": wrong("the sha256 of byheart.json is not", claimed("files", "byheart.json", "")),
        "evidence": wrong("does not claim that all answers", claimed("verified", "checked", 2)),
    }


def bad_folders() -> Bad:
    rope = ("rope_parameters", "rope_type")
    name = "transformer.h.0.mlp.c_fc.bias"
    tokenizer = {"model": {"vocab": {"a": 1, "b": 3}}, "added_tokens": []}
    return {
        "missing": unreadable(
            'generation_config.json" cannot be read', with_file("generation_config.json", None)
        ),
        "notes-not-json": unreadable(
            "generation_config.json is not JSON", with_file("generation_config.json", b"[")
        ),
        "not-json": unreadable("byheart.json is not JSON", with_file("byheart.json", b"{")),
        "files": unreadable('files names "README.md"', claimed("files", "README.md", "")),
        "dtype": unreadable('the dtype "float8" is not known', claimed("dtype", "float8")),
        "half-precision": unreadable("executions in float16", half_precision()),
        "model-type": unreadable(
            'the model_type "opt" is not known', configured(gpt2, "model_type", "opt")
        ),
        "untied": unreadable(
            '"tie_word_embeddings" is false', configured(gpt2, "tie_word_embeddings", False)
        ),
        "activation": unreadable(
            '"relu" is not known', configured(gpt2, "activation_function", "relu")
        ),
        "epsilon": unreadable(
            '"layer_norm_epsilon" is 0', configured(gpt2, "layer_norm_epsilon", 0)
        ),
        "heads": unreadable("3 heads do not divide 8 lanes", configured(gpt2, "n_head", 3)),
        "no-neurons": unreadable('"n_inner" is null', configured(gpt2, "n_inner", None)),
        "groups": unreadable(
            '"num_key_value_heads" is 1', configured(llama, "num_key_value_heads", 1)
        ),
        "rope": unreadable('the rope_type "yarn" is not known', configured(llama, *rope, "yarn")),
        "odd-head": unreadable("not even", configured(llama, "head_dim", 3)),
        "bias": unreadable('"mlp_bias" is true', configured(llama, "mlp_bias", True)),
        "shape": unreadable("has shape [3, 8]", configured(gpt2, "vocab_size", 4)),
        "number": unreadable(
            '"b" has the number 3', with_file("tokenizer.json", encode(tokenizer))
        ),
        "nan": unreadable("a number is not finite", changed(gpt2, name, 0, float("nan"))),
        "head-weights": unreadable(
            "model.safetensors names the tensors", with_tensors(**{"lm_head.weight": zeros(3, 8)})
        ),
        "half-stored": unreadable('"dtype" is "F16"', with_tensors("F16")),
    }


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    for name, make in GOOD.items():
        write(HERE / "good" / name, build(make()))
    for table in (bad_answers, bad_truth, bad_data, bad_folders):
        for name, (files, exit_code, message) in table().items():
            expected = {"exit": exit_code, "message": message, "data": name in ONLY_WITH_DATA}
            write(HERE / "bad" / name, {**files, "EXPECT.json": encode(expected)})


if __name__ == "__main__":
    main()
