"""Check a taught checkpoint against its base: section 12 of FORMAT.md, the structure alone.

    python checker/check_taught.py DIR --base MODEL [--json]

`check.py DIR --base MODEL` does the same. Standard library only, and no code shared with the
package that writes these folders. What it finds is *gated*: exact, and about no single answer. At
every position either no added neuron is above its threshold, and then the logits are those of the
base to the bit, or one is. Exit codes: 0 gated; 1 readable, but not that; 2 refused.
"""

import argparse
import hashlib
import json
import os
import struct
import sys
from dataclasses import dataclass
from typing import Any

try:
    from . import check
except ImportError:  # this folder is no package, but on the path
    import check

WHOLE, INDEX, CONFIG = "model.safetensors", "model.safetensors.index.json", "config.json"
BASE, ADDED, TRUTH = "model-base.safetensors", "model-taught.safetensors", "ground_truth.jsonl"
BESIDE = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "chat_template.jinja",
)
IGNORED = ("README.md", "certificate.json", ".gitattributes", ".gitignore", ".DS_Store")
FOLDERS = (".git", ".cache")
BUFFERS = (
    "attn.bias",
    "attn.masked_bias",
    "attention.bias",
    "attention.masked_bias",
    "attention.rotary_emb.inv_freq",
    "self_attn.rotary_emb.inv_freq",
)
ONE = {"F32": struct.pack("<f", 1), "F16": struct.pack("<e", 1), "BF16": b"\x80\x3f"}
# the bits of what is too large: above 2^64, or no number
SIZES = {"F32": ("I", 0x5F800000), "F16": ("H", 0x7BFF), "BF16": ("H", 0x5F80)}
# of which section 12 says from where on they are 0
OFF = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu", "relu", "silu", "swish")


@dataclass(frozen=True)
class Class:
    """A class of checkpoints: the list of its layers, and the names inside one of them."""

    body: str
    layers: str
    count: str
    gate: str
    up: str | None
    down: str
    norms: tuple[str, str]
    activation: tuple[str, str]  # its key, and what it is without one


CLASSES = {
    "gpt2": Class(
        "transformer",
        "h",
        "n_layer",
        "mlp.c_fc",
        None,
        "mlp.c_proj",
        ("ln_1", "ln_2"),
        ("activation_function", "gelu_new"),
    ),
    "llama": Class(
        "model",
        "layers",
        "num_hidden_layers",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
        ("input_layernorm", "post_attention_layernorm"),
        ("hidden_act", "silu"),
    ),
    "gpt_neox": Class(
        "gpt_neox",
        "layers",
        "num_hidden_layers",
        "mlp.dense_h_to_4h",
        None,
        "mlp.dense_4h_to_h",
        ("input_layernorm", "post_attention_layernorm"),
        ("hidden_act", "gelu"),
    ),
}


@dataclass
class Tensors:
    """A safetensors file: the types, shapes and places of its tensors."""

    path: str
    header: dict[str, Any]
    start: int

    def content(self, name: str) -> bytes:
        begin, end = self.header[name]["data_offsets"]
        with open(self.path, "rb") as file:
            file.seek(self.start + begin)
            return file.read(end - begin)


def read_tensors(path: str) -> Tensors:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, check.JSON_LIMIT):
            check.refuse(f"{path}: its header does not fit")
        header = check.parse_object(file.read(length), path)
    header.pop("__metadata__", None)
    reached = 0
    for name, told in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = told["data_offsets"]
        if begin != reached or end < begin:
            check.refuse(f"{path}: there is a hole or an overlap before {name[:80]!r}")
        reached = end
    if reached != size - 8 - length:
        check.refuse(f"{path}: the tensors do not fill the file")
    return Tensors(path, header, 8 + length)


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weights_of(base: str) -> list[str]:
    """The files of weights of the base, by name."""
    if os.path.isfile(os.path.join(base, WHOLE)):
        return [WHOLE]
    content = check.read_bytes(os.path.join(base, INDEX), check.JSON_LIMIT)
    names = set(check.parse_object(content, INDEX)["weight_map"].values())
    if any(os.path.basename(name) != name for name in names):
        check.refuse(f"{INDEX} of the base names a file of another folder")
    return sorted(names)


def failures(directory: str, base: str) -> list[str]:
    """Why this is not the base with added layers that write nothing while no neuron is on."""
    content = check.read_bytes(os.path.join(directory, "certificate.json"), check.JSON_LIMIT)
    told = check.parse_object(content, "certificate.json")
    if told.get("format") != "byheart-certificate" or told.get("claim") != "taught":
        check.refuse("certificate.json does not claim that the folder was taught")
    if told.get("version") not in (1, 2) or told.get("class") not in CLASSES:
        check.refuse("the version or the class of certificate.json is not known")
    if told.get("dtype") not in ("float32", "bfloat16", "float16"):
        check.refuse("the dtype of certificate.json is not known")
    own, (first, end), files = CLASSES[told["class"]], told["layers"], told["files"]
    if type(first) is not int or type(end) is not int or not 0 < first < end:
        check.refuse("layers of certificate.json are not two integers")
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        listed = name in files or name in IGNORED or name in FOLDERS or name.startswith("LICENSE")
        if not listed or os.path.islink(path):
            check.refuse(f"the folder holds {name!a}, which may not stand there")
    wrong = []
    for name, wanted in sorted(files.items()):
        path = os.path.join(directory, name)
        if os.path.basename(name) != name or not os.path.isfile(path):
            check.refuse(f"certificate.json names {name!a}, which is no file of the folder")
        if digest(path) != wanted:
            wrong.append(f"the sha256 of {name} is not the one in certificate.json")
    weights = {stands_as(name): name for name in weights_of(base)}
    for name in sorted(files.keys() - {*weights, CONFIG, INDEX, ADDED, TRUTH, *BESIDE}):
        check.refuse(f"certificate.json names {name!a}, which is no file of a taught folder")
    for name in ("adapter_config.json", *([INDEX] if BASE in weights else [])):
        if os.path.exists(os.path.join(base, name)):
            check.refuse(f"the base holds {name}, so a library may load more than its weights")
    wrong += told_failures(told["base"], base, weights)
    for ours, theirs in weights.items():
        if not os.path.isfile(os.path.join(directory, ours)) or digest(
            os.path.join(directory, ours)
        ) != digest(os.path.join(base, theirs)):
            wrong.append(f"{ours} is not the base's {theirs}, byte for byte")
    for name in BESIDE:
        both = [os.path.join(place, name) for place in (directory, base)]
        there = [os.path.isfile(path) for path in both]
        if there[0] != there[1] or (all(there) and digest(both[0]) != digest(both[1])):
            wrong.append(f"{name} is not that of the base")
    wrong += config_failures(directory, base, told["class"], own, first, end)
    if wrong:
        return wrong
    wrong += tensor_failures(directory, list(weights), own, first, end)
    return wrong + truth_failures(directory, told, own, first, end)


def told_failures(told: dict[str, Any], base: str, weights: dict[str, str]) -> list[str]:
    """Whether the base can be written again from what the certificate holds of it."""
    wrong = []
    if told["weights"] != {name: digest(os.path.join(base, name)) for name in weights.values()}:
        wrong.append("the weights of the base are not those of certificate.json, by their hashes")
    for key, name in (("config", CONFIG), ("index", INDEX)):
        path, text = os.path.join(base, name), None
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if told.get(key) != text:
            wrong.append(f"certificate.json holds another {name} than that of the base")
    return wrong


def stands_as(name: str) -> str:
    """Under which name a file of weights of the base stands in the folder."""
    return BASE if name == WHOLE else name


def config_failures(
    directory: str, base: str, kind: str, own: Class, first: int, end: int
) -> list[str]:
    new, old = (
        check.parse_object(check.read_bytes(os.path.join(x, CONFIG), check.JSON_LIMIT), CONFIG)
        for x in (directory, base)
    )
    wrong = []
    may = {own.count, "layer_types", *(["mlp_bias"] if own.up else [])}
    for key in sorted(new.keys() | old.keys()):
        if key not in may and new.get(key, ...) != old.get(key, ...):
            wrong.append(f"config.json differs from the base's in {key!a}")
    if new.get(own.count) != end or old.get(own.count, first) != first:
        wrong.append(f"config.json does not go from {first} to {end} layers")
    if new.get("model_type") != kind:
        wrong.append(f"config.json is not of the class {kind} of certificate.json")
    if (activation := new.get(*own.activation)) not in OFF:
        wrong.append(f"the activation {activation!a} is not known to be 0 below a threshold")
    if own.up and new.get("mlp_bias") is not True:
        wrong.append("config.json has no mlp_bias, which the thresholds are")
    types = new.get("layer_types")
    before = old.get("layer_types")
    added = ["full_attention"] * (end - first) if isinstance(before, list) else None
    if types != (before if added is None else [*before, *added]):
        wrong.append("layer_types of config.json are not those of the base and full attention")
    return wrong


def tensor_failures(
    directory: str, weights: list[str], own: Class, first: int, end: int
) -> list[str]:
    old, told = {}, {}
    for name in weights:
        told |= (header := read_tensors(os.path.join(directory, name)).header)
        old |= dict.fromkeys(header, name)
    added = read_tensors(os.path.join(directory, ADDED))
    content = check.read_bytes(os.path.join(directory, INDEX), check.JSON_LIMIT)
    wrong = []
    if (
        check.parse_object(content, INDEX).get("weight_map")
        != {
            **old,
            **dict.fromkeys(added.header, ADDED),
        }
        or old.keys() & added.header.keys()
    ):
        wrong.append(f"{INDEX} does not name every tensor of the base and of the layers once")
    whole = any(name.startswith(f"{own.body}.") for name in old)
    prefix = f"{own.body}.{own.layers}." if whole else f"{own.layers}."
    model = f"{prefix}{first - 1}."
    names = {x.removeprefix(model) for x in old if x.startswith(model)} - set(BUFFERS)
    biases = {f"{x}.bias" for x in (own.gate, own.up, own.down)} if own.up else set()
    names |= biases
    ones = {f"{norm}.weight" for norm in own.norms} | {f"{own.up}.bias"}
    free = (f"{own.gate}.weight", f"{own.gate}.bias", f"{own.down}.weight")
    wanted = {f"{prefix}{layer}.{x}" for layer in range(first, end) for x in names}
    if own.up:
        zero = {f"{prefix}{layer}.{x}" for layer in range(first) for x in biases}
        wanted |= zero - old.keys()
    for name in sorted(wanted ^ added.header.keys()):
        word = "is missing" if name in wanted else "is no tensor of an added layer"
        wrong.append(f"{name} {word}")
    for name in sorted(wanted & added.header.keys()):
        number, _, inner = name.removeprefix(prefix).partition(".")
        kind, data = added.header[name]["dtype"], added.content(name)
        like = told.get(model + inner) if int(number) >= first else None
        if like and like["shape"] != added.header[name]["shape"]:
            wrong.append(f"{name} has another shape than that of layer {first - 1}")
        elif kind not in ONE:
            wrong.append(f"{name} has the type {kind!a}")
        elif int(number) < first or inner not in free:
            word = ONE[kind] if int(number) >= first and inner in ones else bytes(len(ONE[kind]))
            if data != word * (len(data) // len(word)):
                wrong.append(f"{name} is not {int(word == ONE[kind])} everywhere")
        elif not small(kind, data):
            wrong.append(f"{name} holds NaN or a number above 2^64")
    return wrong


def small(kind: str, data: bytes) -> bool:
    code, most = SIZES[kind]
    magnitude = 2 ** (8 * struct.calcsize(code) - 1) - 1
    words = struct.iter_unpack(f"<{code}", data)
    return all(word & magnitude <= most for (word,) in words)


def truth_failures(
    directory: str, told: dict[str, Any], own: Class, first: int, end: int
) -> list[str]:
    """Whether every context of the ground truth has one neuron, and every neuron one context."""
    content = check.read_bytes(os.path.join(directory, TRUTH), check.JSON_LIMIT)
    holders: dict[tuple[int, ...], tuple[tuple[int, int], int]] = {}
    facts = set()
    for line in content.splitlines():
        fact = check.parse_object(line, TRUTH)
        tokens, given, neurons = fact["tokens"], fact["given"], fact["neurons"]
        if not 0 < given < len(tokens) or len(neurons) != len(tokens) - given:
            check.refuse(f"a line of {TRUTH} has not one neuron per token of its answer")
        facts.add((given, tuple(tokens)))
        for place, (layer, neuron) in zip(range(given, len(tokens)), neurons, strict=True):
            if not first <= layer < end or neuron < 0:
                return [f"{TRUTH} names a neuron ({layer}, {neuron}) that was not added"]
            said = ((layer, neuron), tokens[place])
            if holders.setdefault(tuple(tokens[:place]), said) != said:
                return [f"{TRUTH} says two things of one context"]
    if len({neuron for neuron, _ in holders.values()}) != len(holders):
        return [f"{TRUTH} names one neuron for two contexts"]
    counts = told["facts"]
    if (counts["count"], counts["contexts"]) != (len(facts), len(holders)):
        return [f"certificate.json counts other facts or contexts than {TRUTH}"]
    hashed = hashlib.sha256(b"byheart-facts-1\n")
    for given, tokens in sorted(facts, key=lambda fact: (fact[1], fact[0])):
        hashed.update(f"{given}:{','.join(map(str, tokens))}\n".encode())
    if counts["sha256"] != hashed.hexdigest():
        return [f"the hash of the facts in certificate.json is not that of {TRUTH}"]
    return []


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check a taught checkpoint against its base.")
    parser.add_argument("directory", metavar="DIR", help="the taught folder")
    parser.add_argument("--base", metavar="MODEL", required=True, help="the folder of the base")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    given = parser.parse_args(argv)
    try:
        wrong = failures(given.directory, given.base)
    except check.Refusal as reason:
        print(f"check: {reason}".encode("ascii", "backslashreplace").decode(), file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001  whatever a file provokes is refused
        text = f"check: not readable as a taught folder: {type(error).__name__}: {error}"
        print(text.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
        return 2
    verdict = "NOT GATED" if wrong else "GATED"
    if given.json:
        print(json.dumps({"verdict": verdict, "failures": wrong}))
    else:
        print(verdict)
        for line in wrong[: check.SHOWN]:
            print(f"  {line}".encode("ascii", "backslashreplace").decode())
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
