"""Check a stock checkpoint: section 10 of FORMAT.md, its folder, its claim and the verdict.

`check.py` hands folders with the claim `recites` to this file; what every execution can compute is
enclosed by `enclose.py` and `enclose_blocks.py`, and `texts.py` reads tokenizers and texts.
Standard library only, and no code shared with the package that writes these folders.
"""

import hashlib
import math
import operator
import os
import struct
import sys
import time
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

try:
    from . import check, enclose, enclose_blocks, texts
except ImportError:  # this folder is no package, but on the path
    import check
    import enclose
    import enclose_blocks
    import texts

FILES = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "byheart.json",
    "ground_truth.jsonl",
)
DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
CERTIFICATE = "certificate.json"
OLDER_THETA = 10_000  # of libraries that look for it elsewhere and do not find it
SMALLEST = 2.0**-126  # normal number of float32
BESIDE = ("README.md", "data.jsonl", ".gitattributes", ".gitignore", ".DS_Store")  # not loaded
FOLDERS = (".git", ".cache")
SIZES = {
    "gpt2": ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner"),
    "llama": (
        "vocab_size",
        "max_position_embeddings",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
    ),
}
KEYS = (
    "model_type",
    "architectures",
    "tie_word_embeddings",
    "bos_token_id",
    "eos_token_id",
    "dtype",
)
OWN_KEYS = {
    "gpt2": ("activation_function", "layer_norm_epsilon"),
    "llama": ("hidden_act", "rms_norm_eps", "head_dim", "num_key_value_heads", "rope_parameters"),
}
ONLY = {  # keys that may be missing, and the only value that they may have
    "gpt2": {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
    },
    "llama": {"attention_bias": False, "mlp_bias": False},
}
DROPOUT = {"gpt2": ("resid_pdrop", "embd_pdrop", "attn_pdrop"), "llama": ("attention_dropout",)}
CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}


# ---------------------------------------------------------------- config.json


@dataclass
class Shape:
    """The keys of config.json that count, under one name each."""

    kind: str
    vocabulary: int
    places: int
    width: int
    layers: int
    heads: int
    head: int
    neurons: int
    activation: str
    epsilon: Fraction
    theta: Fraction | None  # of rotary positions

    def tensors(self) -> dict[str, list[int]]:
        """The shape of each tensor that the checkpoint holds."""
        v, d, m, hs = self.vocabulary, self.width, self.neurons, self.heads * self.head
        if self.kind == "gpt2":
            found = {"wte.weight": [v, d], "wpe.weight": [self.places, d]}
            block = {
                "ln_1.weight": [d],
                "ln_1.bias": [d],
                "attn.c_attn.weight": [d, 3 * d],
                "attn.c_attn.bias": [3 * d],
                "attn.c_proj.weight": [d, d],
                "attn.c_proj.bias": [d],
                "ln_2.weight": [d],
                "ln_2.bias": [d],
                "mlp.c_fc.weight": [d, m],
                "mlp.c_fc.bias": [m],
                "mlp.c_proj.weight": [m, d],
                "mlp.c_proj.bias": [d],
            }
            prefix, inner, last = "transformer.", "h", {"ln_f.weight": [d], "ln_f.bias": [d]}
        else:
            found = {"embed_tokens.weight": [v, d]}
            block = {
                "input_layernorm.weight": [d],
                "self_attn.q_proj.weight": [hs, d],
                "self_attn.k_proj.weight": [hs, d],
                "self_attn.v_proj.weight": [hs, d],
                "self_attn.o_proj.weight": [d, hs],
                "post_attention_layernorm.weight": [d],
                "mlp.gate_proj.weight": [m, d],
                "mlp.up_proj.weight": [m, d],
                "mlp.down_proj.weight": [d, m],
            }
            prefix, inner, last = "model.", "layers", {"norm.weight": [d]}
        for number in range(self.layers):
            found |= {f"{inner}.{number}.{name}": shape for name, shape in block.items()}
        return {prefix + name: shape for name, shape in (found | last).items()}


def read_shape(content: bytes) -> tuple[Shape, dict[str, Any]]:
    """The sizes of the network, and all of config.json, which has no other keys than these."""
    where = "config.json"
    raw = check.parse_object(content, where)
    kind = check.read_choice(raw, "model_type", tuple(SIZES), where)
    optional = (*ONLY[kind], *DROPOUT[kind], *(("rope_theta",) if kind == "llama" else ()))
    texts.closed(raw, where, (*KEYS, *OWN_KEYS[kind], *SIZES[kind]), optional)
    v, places, width, layers, heads, neurons = (check.get_size(raw, n, where) for n in SIZES[kind])
    texts.equals(raw, where, {"architectures": [CLASSES[kind]], "tie_word_embeddings": True})
    texts.equals(raw, where, ONLY[kind])
    for key in DROPOUT[kind]:
        if key in raw:
            read_real(raw, key, 0, 0, where)
    if kind == "gpt2":
        if width % heads:
            check.refuse(f"{where}: {heads} heads do not divide {width} lanes")
        head, theta = width // heads, None
        activation = check.read_choice(raw, "activation_function", ("gelu_new", "gelu"), where)
        epsilon = read_real(raw, "layer_norm_epsilon", 1e-12, 1e-3, where)
    else:
        head = check.get_size(raw, "head_dim", where)
        if head % 2 or heads * head > check.SIZE_LIMIT:
            check.refuse(f"{where}: {heads} heads of {head} lanes, not even or more than 2^20")
        activation = check.read_choice(raw, "hidden_act", ("silu",), where)
        check.expect(raw, "num_key_value_heads", heads, where)
        epsilon = read_real(raw, "rms_norm_eps", 1e-12, 1e-3, where)
        inner = f"{where}, rope_parameters"
        rope = texts.closed(raw["rope_parameters"], inner, ("rope_type", "rope_theta"))
        check.read_choice(rope, "rope_type", ("default",), inner)
        theta = read_real(rope, "rope_theta", 1, 1e9, inner)
        older = read_real(raw, "rope_theta", 1, 1e9, where) if "rope_theta" in raw else OLDER_THETA
        if older != theta:
            check.refuse(
                f'{where}: "rope_theta" is {float(older)!r}, not that of "rope_parameters"'
            )
    sizes = v, places, width, layers, heads, head, neurons
    return Shape(kind, *sizes, activation, epsilon, theta), raw


def read_real(raw: dict[str, Any], key: str, least: float, most: float, where: str) -> Fraction:
    if key not in raw:
        check.refuse(f"{where} has no {check.show(key)}")
    value = raw[key]
    if type(value) not in (int, float) or not least <= value <= most:
        check.refuse(f"{where}: {check.show(key)} is {check.show(value)}, not {least} to {most}")
    return Fraction(value)


# ---------------------------------------------------------------- the other files


def read_floats(numbers: array, dtype: str, name: str) -> array:
    """The values of a tensor, which are all finite."""
    if dtype == "F16":
        words = struct.unpack(f"{len(numbers)}e", numbers.tobytes())
        numbers = array("f", words)
    elif dtype == "BF16":
        numbers = array("f", array("I", [x << 16 for x in numbers]).tobytes())
    if not all(map(math.isfinite, numbers)):
        check.refuse(f"model.safetensors, {name}: a number is not finite")
    if any(0 < abs(number) < SMALLEST for number in numbers):
        check.refuse(f"model.safetensors, {name}: a number is subnormal in float32")
    return numbers


def check_settings(
    content: dict[str, bytes],
    config: dict[str, Any],
    claim: dict[str, Any],
    shape: Shape,
    tokenizer: texts.Tokenizer,
    end: str,
) -> None:
    """Refuse what would let a library load or generate something else."""
    number = tokenizer.numbers[end]
    ids = {"bos_token_id": number, "eos_token_id": number}
    texts.equals(config, "config.json", {**ids, "dtype": claim["dtype"]})
    end_names = dict.fromkeys(("bos_token", "eos_token", "pad_token"), end)
    for name, wanted in (
        ("generation_config.json", {**ids, "pad_token_id": number, "do_sample": False}),
        (
            "tokenizer_config.json",
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                **end_names,
                "unk_token": end if tokenizer.unknown is None else tokenizer.unknown,
                "add_bos_token": shape.kind == "llama",
                "model_input_names": ["input_ids", "attention_mask"],
                "clean_up_tokenization_spaces": False,
                "model_max_length": shape.places,
            },
        ),
    ):
        raw = check.parse_object(content[name], name)
        texts.equals(texts.closed(raw, name, tuple(wanted)), name, wanted)


def check_listing(directory: str) -> None:
    """Refuse a folder that holds anything but the listed files."""
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        name = entry.name
        if name in FOLDERS and entry.is_dir(follow_symlinks=False):
            continue
        listed = name in (CERTIFICATE, *FILES, *BESIDE) or name.startswith("LICENSE")
        if not listed or not entry.is_file(follow_symlinks=False):
            check.refuse(f"the folder holds {check.show(name)}, which the format does not list")


@dataclass
class Line:
    """A context that a line of ground_truth.jsonl names."""

    number: int
    context: tuple[int, ...]
    answer: int
    neurons: frozenset[tuple[int, int]] | None


def read_ground_truth(content: bytes, shape: Shape, tokenizer: texts.Tokenizer) -> list[Line]:
    """The contexts of all lines: of a fact, those before each token of its answer."""
    found = []
    names = {number: token for token, number in tokenizer.numbers.items()}
    for number, text in enumerate(content.split(b"\n"), 1):
        if not text.strip(b" \t\r"):
            continue
        where = f"ground_truth.jsonl, line {number}"
        raw = check.parse_object(text, where)
        context = check.get(raw, "context", list, where)
        if not all(type(token) is int and 0 <= token < shape.vocabulary for token in context):
            check.refuse(f"{where}: the context is {check.show(context)}, not numbers of tokens")
        if "tokens" not in raw:  # one context, in folders of older versions
            answer = check.get(raw, "answer", int, where)
            if not 0 <= answer < shape.vocabulary:
                check.refuse(f"{where}: {answer} is not the number of a token")
            found.append(Line(number, tuple(context), answer, line_neurons(raw, shape, where)))
            continue
        prompt, answers = list(context), []
        for part in check.get(raw, "tokens", list, where):
            if type(part) is not dict:
                check.refuse(f"{where}: {check.show(part)} is not a token of the answer")
            token = check.get(part, "number", int, where)
            if check.get(part, "token", str, where) != tokenizer.text([names.get(token)], True):
                check.refuse(f"{where}: {check.show(part['token'])} is not token {token}")
            neurons = line_neurons(part, shape, where)
            found.append(Line(number, tuple(prompt + answers), token, neurons))
            answers.append(token)
        if not answers or not prompt:
            check.refuse(f"{where} names no token of an answer, or no prompt")
        spelled = tokenizer.text(map(names.get, answers)) or ""
        if check.get(raw, "prompt", str, where) != tokenizer.text(map(names.get, prompt)):
            check.refuse(f"{where}: the prompt is not what its tokens spell")
        if check.get(raw, "answer", str, where) not in (spelled, spelled.removeprefix(" ")):
            check.refuse(f"{where}: the answer is not what its tokens spell")
    return found


def line_neurons(
    raw: dict[str, Any], shape: Shape, where: str
) -> frozenset[tuple[int, int]] | None:
    """The neurons of a context, None if they are null."""
    if raw.get("neurons", 0) is None:
        return None
    return read_neurons(check.get(raw, "neurons", list, where), shape, where)


def read_neurons(given: list[Any], shape: Shape, where: str) -> frozenset[tuple[int, int]]:
    for pair in given:
        whole = isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        if not whole or not (0 <= pair[0] < shape.layers and 0 <= pair[1] < shape.neurons):
            check.refuse(f"{where}: {check.show(pair)} is not the layer and number of a neuron")
    return frozenset((layer, neuron) for layer, neuron in given)


def read_certificate(content: bytes) -> dict[str, Any]:
    raw = check.parse_object(content, CERTIFICATE)
    check.expect(raw, "format", "byheart-certificate", CERTIFICATE)
    check.expect_version(raw, CERTIFICATE)
    draws = check.read_choice(raw, "claim", ("recites", "draws"), CERTIFICATE) == "draws"
    check.read_choice(raw, "dtype", ("float32",) if draws else tuple(DTYPES), CERTIFICATE)
    if draws:
        check.read_gap(raw)
    files = check.get(raw, "files", dict, CERTIFICATE)
    for key in files:
        if key not in FILES:
            told = f"only {', '.join(FILES)} may stand there"
            check.refuse(f"{CERTIFICATE}: files names {check.show(key)}; {told}")
    for key in FILES:
        check.get(files, key, str, f"{CERTIFICATE}, files")
    verified = check.get(raw, "verified", dict, CERTIFICATE)
    for key, kind in (("checked", int), ("correct", int), ("evidence", str)):
        check.get(verified, key, kind, f"{CERTIFICATE}, verified")
    check.read_data_claim(raw, CERTIFICATE)
    check.read_change(raw, CERTIFICATE)
    return raw


# ---------------------------------------------------------------- the folder


@dataclass
class Stock:
    """A folder with a checkpoint."""

    shape: Shape
    tensors: dict[str, array]
    tokenizer: texts.Tokenizer
    end: str
    lines: list[Line]
    always: frozenset[tuple[int, int]]
    certificate: dict[str, Any]
    hashes: dict[str, str]


def read_stock(directory: str) -> Stock:
    check_listing(directory)
    content = {
        name: check.read_bytes(os.path.join(directory, name), check.JSON_LIMIT)
        for name in (CERTIFICATE, *FILES)
        if name != "model.safetensors"
    }
    claim = read_certificate(content[CERTIFICATE])
    end = check.get(
        check.parse_object(content["byheart.json"], "byheart.json"), "end", str, "byheart.json"
    )
    shape, config = read_shape(content["config.json"])
    always = claim.get("always", [])
    if type(always) is not list:
        check.refuse(f"{CERTIFICATE}: always is {check.show(always)}, not a list")
    tokenizer = texts.read_tokenizer(content[texts.NAME], shape.kind, shape.vocabulary, end)
    check_settings(content, config, claim, shape, tokenizer, end)
    lines = read_ground_truth(content["ground_truth.jsonl"], shape, tokenizer)
    path = os.path.join(directory, "model.safetensors")
    with check.open_regular(path) as opened:
        size = os.fstat(opened.fileno()).st_size
    if size < 100 * shape.layers:  # the header alone takes more
        check.refuse(f"model.safetensors is too small for {shape.layers} layers")
    file = check.Weights(path, library=True)
    shapes, dtype = shape.tensors(), DTYPES[claim["dtype"]]
    arrays = file.arrays(dict.fromkeys(shapes, dtype), shapes)
    if file.metadata != check.PYTORCH:
        check.refuse(f"model.safetensors: __metadata__ is {check.show(file.metadata)}")
    tensors = {name: read_floats(numbers, dtype, name) for name, numbers in arrays.items()}
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in content.items()}
    hashes["model.safetensors"] = file.sha256
    always = read_neurons(always, shape, f"{CERTIFICATE}, always")
    return Stock(shape, tensors, tokenizer, end, lines, always, claim, hashes)


def has_model(stock: Stock) -> bool:
    """Whether FORMAT.md describes executions of this network in its type."""
    one = stock.shape.kind == "gpt2" and stock.shape.layers == 1
    return stock.certificate["dtype"] == "float32" or (
        stock.certificate["dtype"] == "float16" and one
    )


def structure_failures(stock: Stock) -> list[str]:
    """Where the certificate disagrees with the files and with itself, and the lines with each
    other."""
    certificate = stock.certificate
    found = [
        f"the sha256 of {name} is not the one in certificate.json"
        for name in FILES
        if certificate["files"][name] != stock.hashes[name]
    ]
    about = certificate["data"]["sha256"]
    if check.read_change(certificate, CERTIFICATE) not in (None, about):
        found.append("certificate.json names different data for its change")
    verified, sequences = certificate["verified"], certificate["data"]["sequences"]
    checked, correct, evidence = (verified[key] for key in ("checked", "correct", "evidence"))
    draws = certificate["claim"] == "draws"  # whose contexts are counted when the data is read
    whole = evidence in ("proved", "observed") and (draws or checked == sequences)
    if not 1 <= checked == correct or not (
        whole or (evidence == "sampled" and checked < sequences)
    ):
        found.append(
            "certificate.json does not claim that all answers are proved or observed, or that "
            "some are sampled"
        )
    elif evidence == "proved" and not has_model(stock):
        found.append(f"certificate.json claims a proof for {certificate['dtype']}, which has none")
    seen: dict[tuple[int, ...], Line] = {}
    for line in stock.lines:
        first = seen.setdefault(line.context, line)
        if first.neurons != line.neurons or not (draws or first.answer == line.answer):
            numbers = f"{first.number} and {line.number}"
            found.append(f"ground_truth.jsonl: lines {numbers} differ about one context")
    return found


# ---------------------------------------------------------------- the network


class Builder:
    """Puts the tensors of a folder together to a network that can be enclosed."""

    def __init__(self, stock: Stock) -> None:
        self.shape, self.tensors = stock.shape, stock.tensors
        self.storage = enclose.STORAGE[stock.certificate["dtype"]]
        self.gpt2 = stock.shape.kind == "gpt2"
        self.prefix = "transformer." if self.gpt2 else "model."

    def network(self) -> enclose_blocks.Network:
        shape, d = self.shape, self.shape.width
        activation = enclose_blocks.Activation(shape.activation)
        rotary = None if shape.theta is None else enclose_blocks.Rotary(shape.theta, shape.head)
        blocks = []
        for number in range(shape.layers):
            where = f"h.{number}." if self.gpt2 else f"layers.{number}."
            first = self.norm(where + ("ln_1" if self.gpt2 else "input_layernorm"))
            second = self.norm(where + ("ln_2" if self.gpt2 else "post_attention_layernorm"))
            attention = self.attention(where, first, rotary)
            bias = self.bias(f"{where}attn.c_proj")
            neurons = self.neurons(where, second, activation)
            blocks.append(enclose_blocks.Block(first, attention, bias, second, neurons))
        tokens = self.weights("wte" if self.gpt2 else "embed_tokens")
        logits = enclose.Projection(
            enclose.Matrix((tokens[lane::d] for lane in range(d)), shape.vocabulary, d),
            None,
            self.norm("ln_f" if self.gpt2 else "norm"),
            follows=False,
        )
        places = parts(self.weights("wpe"), d) if self.gpt2 else None
        return enclose_blocks.Network(parts(tokens, d), places, blocks, logits, self.storage)

    def weights(self, name: str) -> array:
        return self.tensors[f"{self.prefix}{name}.weight"]

    def vector(self, name: str) -> list[int]:
        return list(map(enclose.fixed, self.tensors[self.prefix + name]))

    def norm(self, name: str) -> enclose.Norm:
        bias = self.vector(f"{name}.bias") if self.gpt2 else None
        return enclose.Norm(self.vector(f"{name}.weight"), bias, self.shape.epsilon)

    def bias(self, name: str) -> list[int] | None:
        """None where there is none, or nothing but zeros."""
        values = self.tensors.get(f"{self.prefix}{name}.bias")
        return list(map(enclose.fixed, values)) if values and any(values) else None

    def columns(self, name: str, inputs: int) -> list[array]:
        """The weights of each input: GPT-2 stores them one input after another, Llama one output
        after another."""
        weights = self.weights(name)
        return parts(weights, len(weights) // inputs) if self.gpt2 else parted(weights, inputs)

    def reader(self, name: str, norm: enclose.Norm, rows: Iterable[int]) -> enclose.Projection:
        """The given rows of a matrix that reads a normed stream, with their biases."""
        rows, columns = list(rows), self.columns(name, self.shape.width)
        chosen = ([column[row] for row in rows] for column in columns)
        matrix = enclose.Matrix(chosen, len(rows), self.shape.width)
        bias = self.tensors.get(f"{self.prefix}{name}.bias")
        chosen_bias = bias and [bias[row] for row in rows]
        whole = columns if len(rows) == len(columns[0]) else None
        return enclose.Projection(matrix, chosen_bias, norm, columns=whole)

    def attention(
        self, where: str, norm: enclose.Norm, rotary: enclose_blocks.Rotary | None
    ) -> enclose_blocks.Attention | None:
        shape = self.shape
        lanes = shape.heads * shape.head
        if self.gpt2:
            names, begins = [f"{where}attn.c_attn"] * 3, [0, lanes, 2 * lanes]
            output = self.columns(f"{where}attn.c_proj", lanes)
        else:
            names, begins = [f"{where}self_attn.{part}_proj" for part in "qkv"], [0, 0, 0]
            output = self.columns(f"{where}self_attn.o_proj", lanes)
        used = []  # of queries, keys and values: whether a weight of the lane or its bias is not 0
        for name, begin in zip(names, begins, strict=True):
            nonzero = [False] * lanes
            for column in self.columns(name, shape.width):
                nonzero = list(map(operator.or_, nonzero, map(bool, column[begin:][:lanes])))
            if self.gpt2:
                bias = self.tensors[f"{self.prefix}{name}.bias"][begin:][:lanes]
                nonzero = list(map(operator.or_, nonzero, map(bool, bias)))
            used.append(nonzero)
        heads, scored = [], []
        every = self.storage.bits > 0  # what is multiplied by 0 must not overflow either
        for head in range(shape.heads):
            part = slice(head * shape.head, (head + 1) * shape.head)
            reads = any(used[0][part]), any(used[1][part])
            if every or any(v and any(o) for v, o in zip(used[2][part], output[part], strict=True)):
                heads.append(head)
                if any(reads) if every else all(reads):
                    scored.append(head)
        if not heads:
            return None
        readers = [
            self.reader(name, norm, lanes_of(chosen, shape.head, begin)) if chosen else None
            for name, begin, chosen in zip(names, begins, (scored, scored, heads), strict=True)
        ]
        columns = [output[lane] for lane in lanes_of(heads, shape.head, 0)]
        matrix = enclose.Output(columns, shape.width)
        bias = self.bias(f"{where}attn.c_proj")
        return enclose_blocks.Attention(shape.head, heads, scored, *readers, matrix, bias, rotary)

    def neurons(
        self, where: str, norm: enclose.Norm, activation: enclose_blocks.Activation
    ) -> enclose_blocks.Neurons:
        size, every = self.shape.neurons, range(self.shape.neurons)
        names = ("c_fc", None, "c_proj") if self.gpt2 else ("gate_proj", "up_proj", "down_proj")
        hidden = self.reader(f"{where}mlp.{names[0]}", norm, every)
        factor = self.reader(f"{where}mlp.{names[1]}", norm, every) if names[1] else None
        rows = enclose_blocks.Rows(self.columns(f"{where}mlp.{names[2]}", size), self.shape.width)
        bias = self.bias(f"{where}mlp.c_proj")
        return enclose_blocks.Neurons(activation, hidden, factor, rows, bias)


def parts(numbers: array, size: int) -> list[array]:
    return [numbers[begin : begin + size] for begin in range(0, len(numbers), size)]


def parted(numbers: array, count: int) -> list[array]:
    return [numbers[begin::count] for begin in range(count)]


def lanes_of(heads: Iterable[int], size: int, begin: int) -> list[int]:
    return [begin + head * size + lane for head in heads for lane in range(size)]


# ---------------------------------------------------------------- the verdict


def check_stock(directory: str, path: str | None, sample: int | None, seed: int) -> check.Report:
    """What fails of a folder whose certificate claims that it recites its data."""
    stock = read_stock(directory)
    report = check.Report(failures=structure_failures(stock), unit="answers")
    if path is None:
        return report
    data = read_data(stock, path, report)
    if data is None:
        return report
    report.failures += check.identity_failures(stock.certificate, data)
    if data.kind != "string" or data.every or not isinstance(data.labels[0], str):
        report.failures.append("the data is not strings with one label each, a string")
        return report
    numbers = stock.tokenizer.numbers
    tokens = [numbers.get(token) for token in data.tokens]
    labels = [numbers.get(label) for label in data.labels]
    asked = [
        Asked(index, [tokens[place] for place in sequence], labels[answer])
        for index, (sequence, (answer,)) in enumerate(
            zip(data.sequences, data.answers, strict=True)
        )
    ]
    report.failures += truth_failures(stock, asked)
    dtype = stock.certificate["dtype"]
    if not has_model(stock):
        report.settled = bool(report.failures)
        report.failures.append(
            f"executions of this network in {dtype} have no proved errors: no answer was checked"
        )
        return report
    if dtype != "float32":
        report.model = "storage model"
    if stock.certificate["claim"] == "draws":
        asked, report.unit = contexts_of(asked, data.counts), "contexts"
        claimed = stock.certificate["verified"]
        if claimed["evidence"] != "sampled" and claimed["checked"] != len(asked):
            report.failures.append(
                f"the data has {len(asked)} contexts, certificate.json claims {claimed['checked']}"
            )
    chosen = [asked[i] for i in check.chosen(len(asked), sample, seed)]
    enclose_all(stock, chosen)
    report.largest = max((x.divergence for x in chosen if x.divergence is not None), default=None)
    report.checked = len(chosen)
    report.correct = sum(one.failure is None for one in chosen)
    report.settled = bool(report.failures) or any(one.settled for one in chosen if one.failure)
    for one in chosen:
        if one.failure is not None and len(report.failures) <= check.SHOWN:
            told = check.show(data.input(one.index))
            report.failures.append(f"sequence {one.index} {told}: {one.failure}")
    return report


def read_data(stock: Stock, path: str, report: check.Report) -> check.Data | None:
    """The sequences of a file of tokens, or of one of texts; a text that its tokens do not spell
    is a failure. None if nothing is left."""
    report.about = "tokens"
    if not texts.holds_texts(path):
        return check.read_data(path)
    report.about = "texts"
    lines, report.skipped = texts.read_texts(path, stock.tokenizer, stock.shape.kind, stock.end)
    report.failures += [
        f"line {line.number}: the tokens of a text do not spell it"
        for line in lines
        if line.tokens is None
    ]
    rows = texts.sequences(lines, stock.end, stock.certificate["claim"] == "draws")
    if not rows and report.failures:
        return None
    if not rows:
        check.refuse(f"{check.show(path)} holds no tokens")
    return check.data_of(
        path, "string", 1, False, [(words, [label], n) for words, label, n in rows]
    )


@dataclass
class Asked:
    """A sequence and what is wrong with its answer; a token that the tokenizer lacks is None.

    Of distributions, a context: `counts` has how often each label follows it."""

    index: int
    tokens: list[Any]
    label: int | None
    failure: str | None = None
    settled: bool = True  # whether the failure is a fact, and not only what could not be shown
    counts: dict[int | None, int] = field(default_factory=dict)
    divergence: Fraction | None = None


def contexts_of(asked: list[Asked], counts: list[int]) -> list[Asked]:
    """The different sequences, with how often each label follows."""
    found: dict[tuple, Asked] = {}
    for one in asked:
        context = found.setdefault(tuple(one.tokens), one)
        context.counts[one.label] = context.counts.get(one.label, 0) + counts[one.index]
        if one.label is None:
            context.label = None  # which is told
    return list(found.values())


def truth_failures(stock: Stock, asked: list[Asked]) -> list[str]:
    """Where one context has two labels, and where the ground truth is not about the data."""
    answers: dict[tuple, set[int | None]] = {}
    found = []
    for one in asked:
        labels = answers.setdefault(tuple(one.tokens), set())
        labels.add(one.label)
        if len(labels) > 1 and stock.certificate["claim"] == "recites":
            found.append(f"sequence {one.index} has the tokens of another one, but another label")
    for line in stock.lines:
        where = f"ground_truth.jsonl, line {line.number}"
        if line.context not in answers:
            found.append(f"{where}: the context is no sequence of the data")
        elif line.answer not in answers[line.context]:
            found.append(f"{where}: the answer {check.show(line.answer)} is not the label")
    return found


def enclose_all(stock: Stock, asked: list[Asked]) -> None:
    """Enclose the logits of all these sequences, those with common beginnings one after another."""
    shape, readable = stock.shape, []
    for one in asked:
        if not 1 <= len(one.tokens) <= shape.places:
            one.failure = f"it has {len(one.tokens)} tokens, the network reads 1 to {shape.places}"
        elif None in one.tokens or one.label is None:
            one.failure = "a token or the label is not in the tokenizer"
        else:
            readable.append(one)
    if not readable:
        return
    network = Builder(stock).network()
    names = {number: token for token, number in stock.tokenizer.numbers.items()}
    lines = {line.context: line for line in stock.lines}
    shown = time.monotonic()
    readable.sort(key=lambda one: one.tokens)
    for done, one in enumerate(readable):
        try:
            answer = network.answer(one.tokens, one.counts or one.label or 0)
        except check.Refusal as reason:
            check.refuse(f"sequence {one.index}: {reason}")
        if one.counts:
            one.divergence, gap = answer.divergence, check.read_gap(stock.certificate)
            if one.divergence is None or one.divergence > gap:
                told = "any number" if one.divergence is None else check.about(one.divergence)
                shown_gap = stock.certificate["gap"]
                one.failure = (
                    f"the divergence cannot be shown to be at most {shown_gap}, only {told}"
                )
                one.settled = False
                continue
        judge(one, answer, names, lines.get(tuple(one.tokens)), stock.always)
        if sys.stderr.isatty() and time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            print(f"{done} answers", end="\r", file=sys.stderr, flush=True)


def judge(
    one: Asked,
    answer: enclose_blocks.Answer,
    names: dict[int, str],
    line: Line | None,
    always: frozenset[tuple[int, int]],
) -> None:
    """Compare the logits with the label, and the neurons with the line of the ground truth."""
    own, rival = (check.show(names.get(n, n)) for n in (one.label, answer.rival))
    if answer.divergence is None and answer.beaten:
        one.failure = f"the label is {own}, the network answers {rival}"
    elif answer.divergence is None and answer.margin <= 0:
        by = float(Fraction(-answer.margin, enclose.ONE))
        one.failure = f"the label {own} cannot be shown to win: {rival} may win by {by:.3g}"
        one.settled = False
    else:
        spread = line is not None and line.neurons is None  # over neurons that no line lists
        wanted = (line.neurons if line is not None and line.neurons else frozenset()) | always
        judged = wanted if spread else wanted | answer.on | answer.unsure
        for pairs, told in (
            (answer.on - wanted, "is on and not listed"),
            (wanted - answer.on - answer.unsure, "is listed and off"),
            (answer.unsure, "may be on or off"),
        ):
            if pairs & judged and one.failure is None:
                layer, neuron = min(pairs & judged)
                one.failure = f"neuron {neuron} of layer {layer} {told}"
                one.settled = pairs is not answer.unsure
