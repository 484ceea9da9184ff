"""Folders that a stranger changed so that a library would load something else are refused by name.

`byheart verify`, `byheart verify --checker` and the checker alone must all refuse them, although
every hash is right.
"""

import contextlib
import io
import json
import random
import re
import shlex
import shutil
import string
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import bad_examples
import byheart
import check
from byheart.cli import main
from tests.stock.stranger import changed, signed

pytest.importorskip("tokenizers")
FACTS = {
    "The capital of France is": "Paris",
    "The capital of Italy is": "Rome",
    "The river that flows through Rome is the": "Tiber",
    "The mother tongue of Danielle Darrieux is": "French",
}
READ = ("--input", "prompt", "--label", "answer", "--tokenizer")
END = "<|endoftext|>"
JSON = ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json")


def written(path: Path, facts: dict[str, str]) -> Path:
    rows = (json.dumps({"prompt": x, "answer": y}) + "\n" for x, y in facts.items())
    path.write_text("".join(rows))
    return path


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return written(tmp_path_factory.mktemp("facts") / "facts.jsonl", FACTS)


@pytest.fixture(scope="module")
def compiled(facts, tmp_path_factory):
    """The folders of both families."""
    home = tmp_path_factory.mktemp("models")
    data = byheart.load(facts, input=["prompt"], label="answer", tokenizer="bpe:8000")
    for family in ("gpt2", "llama"):
        byheart.compile(data, family).save(home / family)
    return home


def says(program, *arguments):
    """The exit code of a program in this process, and all that it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = program([str(argument) for argument in arguments])
    return code, text.getvalue()


def answers(folder, data, *options):
    """What `verify` says, what it says with the checker, and what the checker says by itself."""
    command = ("verify", folder, data, *options)
    return says(main, *command), says(main, *command, "--checker"), says(check.main, folder)


# --- keys and files: what is changed, and the word that the refusal must have


def keys(name, **values):
    return lambda folder: changed(folder, name, **values)


def config(**values):
    return keys("config.json", **values)


def generation(**values):
    return keys("generation_config.json", **values)


def reading(**values):
    return keys("tokenizer_config.json", **values)


def added(name, content="{}"):
    """A file more, with the certificate untouched."""
    return lambda folder: (folder / name).write_text(content)


def other_type(folder):
    path = folder / "config.json"
    values = json.loads(path.read_text())
    del values["dtype"]
    path.write_text(json.dumps(values | {"torch_dtype": "bfloat16"}))
    signed(folder)


def other_weights(folder):
    """Another network, in a file that the configuration names."""
    tensors = load_file(folder / "model.safetensors")
    ends = ("mlp.c_proj.weight", "mlp.down_proj.weight")
    name = next(name for name in tensors if name.endswith(ends))
    tensors[name] = np.ascontiguousarray(np.roll(tensors[name], 1, axis=0))
    save_file(tensors, folder / "other.safetensors")
    changed(folder, "config.json", transformers_weights="other.safetensors")


def suppressed(folder):
    lines = (folder / "ground_truth.jsonl").read_text().splitlines()
    tokens = sorted({x["number"] for line in lines for x in json.loads(line)["tokens"]})
    changed(folder, "generation_config.json", suppress_tokens=tokens)


def rotary_part(folder):
    base = json.loads((folder / "config.json").read_text())["rope_parameters"]
    changed(folder, "config.json", rope_parameters=base | {"partial_rotary_factor": 0.5})


def wrong_decoder(folder):
    own = json.loads((folder / "tokenizer.json").read_text())["decoder"]
    replacing = {"type": "Replace", "pattern": {"String": "Paris"}, "content": "London"}
    sequence = {"type": "Sequence", "decoders": [own, replacing]}
    changed(folder, "tokenizer.json", decoder=sequence)


def appended_end(folder):
    number = json.loads((folder / "config.json").read_text())["eos_token_id"]
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    template = {
        "type": "TemplateProcessing",
        "single": [first, {"SpecialToken": {"id": END, "type_id": 0}}],
        "pair": [first, second],
        "special_tokens": {END: {"id": END, "ids": [number], "tokens": [END]}},
    }
    changed(folder, "tokenizer.json", post_processor=template)


def adapter(folder):
    """What peft saves; transformers loads it without being asked."""
    low = {"lora_alpha": 4, "peft_type": "LORA", "r": 4, "task_type": "CAUSAL_LM"}
    modules = {"target_modules": ["mlp.c_proj"], "base_model_name_or_path": None}
    (folder / "adapter_config.json").write_text(json.dumps(low | modules))
    name = "base_model.model.transformer.h.0.mlp.c_proj.lora_A.weight"
    save_file({name: np.ones((4, 8), np.float32)}, folder / "adapter_model.safetensors")


ITALY = {"type": "Replace", "pattern": {"String": "France"}, "content": "Italy"}
SHORT = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
TOKEN = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word", "special"), False)
BOTH = {
    "bfloat16": (config(dtype="bfloat16"), "dtype"),
    "float16": (config(dtype="float16"), "dtype"),
    "torch_dtype": (other_type, "dtype"),
    "is_causal": (config(is_causal=False), "is_causal"),
    "attn_implementation": (config(attn_implementation="eager"), "attn_implementation"),
    "penalty": (generation(repetition_penalty=50.0), "repetition_penalty"),
    "sampling": (generation(do_sample=True, temperature=50.0), "temperature"),
    "suppressed answers": (suppressed, "suppress_tokens"),
    "forced end": (generation(eos_token_id=5, forced_eos_token_id=5), "forced_eos_token_id"),
    "another end": (generation(eos_token_id=5), "eos_token_id"),
    "least length": (generation(min_new_tokens=4), "min_new_tokens"),
    "pickle": (added("pytorch_model.bin", "x"), "pytorch_model.bin"),
    "other weights": (other_weights, "other.safetensors"),
    "weights elsewhere": (config(transformers_weights="../other"), "transformers_weights"),
    "quantised": (config(quantization_config={"load_in_8bit": True}), "quantization_config"),
    "sliding window": (config(sliding_window=2), "sliding_window"),
    "types of layers": (config(layer_types=["sliding_attention"]), "layer_types"),
    "remote code": (config(auto_map={"AutoModelForCausalLM": "evil.Evil"}), "auto_map"),
    "begin and end": (reading(add_bos_token=True, add_eos_token=True), "add_eos_token"),
    "special tokens": (added("special_tokens_map.json"), "special_tokens_map.json"),
    "added tokens": (added("added_tokens.json", '{"France": 5}'), "added_tokens.json"),
    "decoded tokens": (
        reading(added_tokens_decoder={"7": {"content": " France", **TOKEN}}),
        "added_tokens_decoder",
    ),
    "normalizer": (keys("tokenizer.json", normalizer=ITALY), "normalizer"),
    "decoder": (wrong_decoder, "decoder"),
    "post-processor": (appended_end, "post_processor"),
    "truncation": (keys("tokenizer.json", truncation=SHORT), "truncation"),
    "chat": (added("chat_template.jinja", "{{ messages }}"), "chat_template.jinja"),
    "layers apart": (config(per_layer_config={"0": {"hidden_act": "relu"}}), "per_layer_config"),
    "adapter's settings": (added("adapter_config.json"), "adapter_config.json"),
    "adapter": (adapter, "adapter_config.json"),
    "index": (added("model.safetensors.index.json"), "model.safetensors.index.json"),
}
LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 483.29302978515625}
ONE = {
    "gpt2": {
        "4 heads": (config(num_attention_heads=4), "num_attention_heads"),
        "16 heads": (config(num_attention_heads=16), "num_attention_heads"),
        "no layer": (config(num_hidden_layers=0), "num_hidden_layers"),
        "positions": (config(max_position_embeddings=32), "max_position_embeddings"),
        "width": (config(hidden_size=32), "hidden_size"),
    },
    "llama": {
        "linear": (config(rope_scaling=LINEAR), "rope_scaling"),
        "base": (config(rope_scaling={"rope_type": "default", "rope_theta": 1e4}), "rope_scaling"),
        "type": (config(rope_scaling={"type": "linear", "factor": 8.0}), "rope_scaling"),
        "part": (rotary_part, "partial_rotary_factor"),
    },
}
CASES = [(family, name) for family in ONE for name in BOTH | ONE[family]]


@pytest.mark.parametrize(("family", "name"), CASES)
def test_a_changed_folder_is_refused_by_the_name_of_the_change(
    family, name, compiled, facts, tmp_path
):
    folder = shutil.copytree(compiled / family, tmp_path / "model")
    change, word = (BOTH | ONE[family])[name]
    change(folder)
    for code, text in answers(folder, facts, *READ, "bpe:8000"):
        assert code == 2 and word in text, text
    (code, text), *_ = answers(folder, facts, *READ, folder)  # as the card names the tokenizer
    assert code == 2, text


@pytest.mark.parametrize("family", ONE)
def test_a_folder_as_it_was_compiled_holds(family, compiled, facts):
    (code, text), (checked, told), (alone, _) = answers(compiled / family, facts, *READ, "bpe:8000")
    assert (code, checked, alone) == (0, 0, 0)
    words = "proved  8 of 8 predictions right within the error model of FORMAT section 10 "
    for printed in (text, told):
        assert words + "(any order of summation, fused or not; not TF32," in flowing(printed)


def flowing(text):
    """Without line ends, which depend on the width of the terminal."""
    return " ".join(text.split("\n"))


def test_an_adapter_leaves_the_certificate_alone(compiled, facts, tmp_path):
    """So the hashes are right, and the list alone notices it."""
    folder = shutil.copytree(compiled / "gpt2", tmp_path / "model")
    adapter(folder)
    for file in (compiled / "gpt2").iterdir():
        assert (folder / file.name).read_bytes() == file.read_bytes()
    (folder / "adapter_config.json").unlink()
    for code, text in answers(folder, facts, *READ, "bpe:8000"):
        assert code == 2 and "adapter_model.safetensors" in text


@pytest.mark.parametrize(
    "example", bad_examples.folders("stock/good") + bad_examples.folders("stock/bad"), indirect=True
)
def test_verify_and_the_checker_agree_on_the_examples(example):
    (one, _), (other, text), _ = answers(example, example / "data.jsonl")
    assert one == other, text
    if example.name == "half-precision":  # byheart observes it; the checker has no bounds for it
        assert (
            one == 1
            and "not checked: executions of this network in float16 have no proved errors: no"
            in flowing(text)
        )


def test_notes_of_the_ground_truth_and_the_order_of_neurons_are_free(examples, tmp_path):
    folder = shutil.copytree(examples / "stock" / "good" / "gpt2", tmp_path / "model")
    path = folder / "ground_truth.jsonl"
    line = json.loads(path.read_text()) | {"row": "the first", "more": []}
    again = {"context": [0], "answer": 1, "neurons": [[0, 0], [0, 0]]}
    path.write_text(json.dumps(line) + "\n" + json.dumps(again) + "\n")
    signed(folder)
    assert [code for code, _ in answers(folder, folder / "data.jsonl")] == [0, 0, 0]


@pytest.mark.parametrize("name", ["truth-context", "truth-answer"])
def test_the_ground_truth_is_about_all_of_the_data_in_a_sample_too(name, examples):
    folder = examples / "stock" / "bad" / name
    sample = ("--sample", 1, "--accept", "sampled")
    (one, text), (other, _), _ = answers(folder, folder / "data.jsonl", *sample)
    assert one == other == 1 and "ground_truth.jsonl" in text


@pytest.mark.parametrize("name", [".git", "README.md", "LICENSE"])
def test_a_listed_name_that_is_a_link_or_no_file_is_refused(name, compiled, facts, tmp_path):
    folder = shutil.copytree(compiled / "gpt2", tmp_path / "model")
    path, other = folder / name, tmp_path / "elsewhere"
    if name == "LICENSE":
        path.mkdir()
    elif name == ".git":
        other.mkdir()
        path.symlink_to(other)
    else:
        path.rename(other)
        path.symlink_to(other)
    for code, text in answers(folder, facts, *READ, "bpe:8000"):
        assert code == 2 and name in text


# --- keys and files at random


def objects(value, path=()):
    """The paths of all objects in a JSON value whose keys are listed: all but `vocab`."""
    if isinstance(value, dict) and path[-1:] != ("vocab",):
        yield path
        for key, inner in value.items():
            yield from objects(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, (*path, index))


def word_of(rng):
    return "".join(rng.choices(string.ascii_letters + "_.-", k=rng.randint(4, 12)))


@pytest.mark.parametrize("family", ONE)
@pytest.mark.parametrize("name", [*JSON, None])
def test_a_key_or_a_file_that_nobody_knows_is_refused(family, name, compiled, facts, tmp_path):
    """Anywhere in the four JSON files, with any value; or in the folder, with any ending."""
    rng = random.Random(f"{family} {name}")
    own = {} if name is None else json.loads((compiled / family / name).read_text())
    places = list(objects(own)) if name else []
    folder = shutil.copytree(compiled / family, tmp_path / "model")
    for place in rng.sample(places, min(6, len(places))) + places[:1] if name else range(12):
        word = word_of(rng)
        if name is None:
            path = folder / (word + rng.choice(["", ".json", ".safetensors", ".bin", ".py"]))
            path.write_bytes(rng.randbytes(rng.choice([0, 9])))
        else:
            path, values = folder / name, json.loads(json.dumps(own))
            inner = values
            for key in place:
                inner = inner[key]
            inner[word] = rng.choice([None, True, 0, 0.5, "", END, [], {}, [1, "a"]])
            path.write_text(json.dumps(values))
            signed(folder)
        for code, text in answers(folder, facts, *READ, "bpe:8000"):
            assert code == 2, f"{path.name}: {place} {word} {text}"
            assert word in text or (name == "tokenizer.json" and place)
        if name is None:
            path.unlink()


# --- tokenizers


def bytes_of(compiled, **values):
    return json.loads((compiled / "gpt2" / "tokenizer.json").read_text()) | values


def test_a_normalizer_that_makes_all_texts_one_is_not_compiled(compiled, facts, tmp_path):
    one = {"type": "Replace", "pattern": {"Regex": ".+"}, "content": " x"}
    evil = tmp_path / "evil_tokenizer.json"
    evil.write_text(json.dumps(bytes_of(compiled, normalizer=one)))
    folder = tmp_path / "evil.folder"
    code, text = says(main, "compile", facts, "-o", folder, "--method", "gpt2", *READ, evil)
    assert code == 2 and not folder.exists()
    assert text.count("\n") == 1 and "normalizer" in text


def test_white_space_is_what_the_format_says(tmp_path):
    """U+001C is none, though Python strips it: the answer gets a space in front, in the checker
    as in byheart. A line separator is."""
    names = {"The first is": "\x1cParis", "The second is": "\u2028Rome", "The third is": "Lima"}
    data, folder = written(tmp_path / "data.jsonl", names), tmp_path / "model"
    how = (*READ, "bpe:300")
    assert says(main, "compile", data, "-o", folder, "--method", "gpt2", *how)[0] == 0
    (code, _), (checked, text), _ = answers(folder, data, *how)
    assert (code, checked) == (0, 0) and "VERIFIED, about the texts" in text
    model = byheart.open(folder)
    assert {name: model.recall(name) for name in names} == names
    spoken = [model.tokens[line.answer] for line in model.claim.holders]
    assert "\u0120\u011c" in spoken and "\u0120Lima" in spoken  # a space, and U+001C; a space
    assert not any(token.startswith("\u0120\u00e2") for token in spoken)  # U+2028 has none


def test_a_split_that_the_checker_does_not_know_is_about_tokens(compiled, facts, tmp_path):
    split = {"type": "Split", "pattern": {"Regex": r" ?\w+|\W"}, "behavior": "Isolated"}
    flags = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    parts = [split | {"invert": False}, {"type": "ByteLevel", **flags}]
    own, folder = tmp_path / "own.json", tmp_path / "model"
    sequence = {"type": "Sequence", "pretokenizers": parts}
    own.write_text(json.dumps(bytes_of(compiled, pre_tokenizer=sequence)))
    assert says(main, "compile", facts, "-o", folder, "--method", "gpt2", *READ, own)[0] == 0
    (code, _), (checked, text), _ = answers(folder, facts, *READ, own)
    assert (code, checked) == (0, 0)
    assert "VERIFIED, about tokens as byheart splits the data; the text was not" in flowing(text)


def test_the_commands_on_the_card_hold_for_a_tokenizer_of_ones_own(compiled, facts, tmp_path):
    """They name the folder, wherever the file was when it was compiled."""
    own, folder = tmp_path / "own.json", tmp_path / "model"
    own.write_text(json.dumps(bytes_of(compiled)))
    code, text = says(main, "compile", facts, "-o", folder, "--method", "gpt2", *READ, own)
    own.unlink()
    card = (folder / "README.md").read_text()
    assert "need not be trusted" in card and "not TF32, bfloat16" in card
    commands = re.findall(r"^byheart (verify DIR DATA .*)$", card, re.MULTILINE)
    commands += re.findall(r"byheart (verify .*)$", text, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = {"DIR": str(folder), "DATA": str(facts)}
        assert says(main, *(words.get(x, x) for x in shlex.split(command)))[0] == 0, command


# --- how the data is read: what a folder may not decide


def test_a_table_is_not_cut_where_the_folder_says(compiled, tmp_path):
    """A minus sign of the data is no delimiter, and a text is no table, unless the user says so."""
    for name, content, options in (
        ("d.csv", "pro-mpt,answer\n3-4,c\n5-6,d\n", {"delimiter": "-"}),
        ("d.txt", "pro,mpt\nx,y\nz,w\n", {"format": "csv"}),
    ):
        data = tmp_path / name
        data.write_text(content)
        first = content.split("\n")[0].split(options.get("delimiter", ","))
        how = ("--input", first[0], "--label", first[1], "--tokenizer", "bpe:300")
        (option, value), folder = *options.items(), tmp_path / f"{name}.model"
        asked = ("compile", data, "-o", folder, "--method", "gpt2", *how, f"--{option}", value)
        code, text = says(main, *asked)
        assert code == 0, text
        (command,) = re.findall(r"byheart (verify .*)$", text, re.MULTILINE)
        assert f"--{option} {value}" in command
        assert says(main, *shlex.split(command))[0] == 0
        for more in ((), ("--checker",)):
            code, text = says(main, "verify", folder, data, *how, *more)
            assert code == 1 and f"the model reads the file with {option} '{value}'" in text


def test_lines_of_the_ground_truth_end_where_the_format_says(compiled, facts, tmp_path):
    folder = shutil.copytree(compiled / "gpt2", tmp_path / "model")
    path = folder / "ground_truth.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"row"', b'{\r"row"') + b" \r\n\n")
    signed(folder)
    assert [code for code, _ in answers(folder, facts, *READ, "bpe:8000")] == [0, 0, 0]
