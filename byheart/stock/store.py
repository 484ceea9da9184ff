"""The files of a stock checkpoint, both ways (checker/FORMAT.md, section 10)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.claim import TEXT, TOKEN, Draws, Recites, Words
from ..claims.model import ModelData
from ..claims.notes import check_version, read_record
from ..machine import names
from ..machine.names import as_json
from ..machine.plain import Piece
from ..machine.strict import DTYPES, Object, open_regular, read_arrays, shown, size_of
from ..softmax.store import read_gap
from . import listing
from .answer import StockModel
from .checkpoint import FAMILIES, GPT2, TYPES, Checkpoint, shapes
from .tokens import Vocabulary, ordered
from .truth import lines, neurons, read_lines

FILES: tuple[str, ...] = names.STOCK
NOTES = "byheart.json"
STORED = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
OLDER_THETA = 10_000  # of libraries that look for it elsewhere and do not find it
SMALLEST = 2.0**-126  # normal number of float32
METADATA = {"format": "pt"}  # of safetensors; with another one, libraries convert the tensors


def read(path: Path, text: Mapping[str, bytes], certificate: Object) -> tuple[StockModel, str]:
    dtype = certificate.choice("dtype", tuple(TYPES))
    listing.check_files(path)
    given = Object.parse(text["config.json"], f"{path}/config.json")
    settings = _config(given)
    file, layers = path / "model.safetensors", settings[FAMILIES[settings["model_type"]].layers]
    with open_regular(file) as opened:
        if size_of(opened) < 100 * layers:  # the header alone takes more
            given.refuse(f"model.safetensors is too small for {layers} layers")
    wanted = shapes(settings)
    arrays, digest = read_arrays(file, dict.fromkeys(wanted, STORED[dtype]), wanted, METADATA)
    tensors = {name: _numbers(x, dtype) for name, x in arrays.items()}
    for name, x in tensors.items():
        if not np.isfinite(x).all():
            given.refuse(f"{name} of model.safetensors holds a number that is not finite")
        if ((x != 0) & (np.abs(x) < SMALLEST)).any():
            given.refuse(f"{name} of model.safetensors holds a number that is subnormal in float32")
    tokenizer = Object.parse(text["tokenizer.json"], f"{path}/tokenizer.json", unsigned=True)
    words = _words(tokenizer)
    if len(words) > settings["vocab_size"]:
        given.refuse(f"vocab_size is {settings['vocab_size']}, and the tokenizer has more tokens")
    words += tuple(range(len(words), settings["vocab_size"]))
    notes = Object.parse(text["byheart.json"], f"{path}/byheart.json")
    notes.expect("format", "byheart-model")
    check_version(notes)
    network = Checkpoint(settings, tensors, dtype)
    end, kind = notes.get("end", str), notes.choice("labels_are", (TEXT, TOKEN))
    if end not in words:
        notes.refuse("end is not a token of the tokenizer")
    listing.check_config(given, dtype, words.index(end))
    listing.check_tokenizer(tokenizer, settings["model_type"], end)
    for name, wanted in _settings(network, tokenizer.values, words, end).items():
        listing.check_settings(Object.parse(text[name], f"{path}/{name}"), wanted)
    vocabulary = Vocabulary(text["tokenizer.json"].decode(), end)
    truth = f"{path}/ground_truth.jsonl"
    holders, facts = read_lines(text["ground_truth.jsonl"], truth, network, vocabulary)
    always = neurons(certificate, "always", network) if "always" in certificate.values else ()
    claim = Recites(dtype, end, kind, holders, always, facts)
    if certificate.values["claim"] == Draws.name:
        certificate.expect("dtype", "float32")
        claim = Draws(**vars(claim), gap=read_gap(certificate))
    return ModelData(network, Words("string", words), claim, read_record(notes)), digest


def describe(model: StockModel) -> dict[str, Any]:
    return {"end": model.claim.end, "labels_are": model.claim.labels_are}


def code_bits(network: Checkpoint) -> int:
    """A checkpoint is stored as it is: no shorter code word is written."""
    return network.counts()[1]["total"]


def certificate(claim: Recites) -> dict[str, Any]:
    always = [list(pair) for pair in claim.always]
    gap = {"gap": repr(float(claim.gap))} if isinstance(claim, Draws) else {}
    return {"claim": claim.name, "dtype": claim.dtype, **gap, "always": always}


def _config(given: Object) -> dict[str, Any]:
    family = FAMILIES[given.choice("model_type", tuple(FAMILIES))]
    for name in ("vocabulary", "places", "width", "layers", "heads", "hidden"):
        given.size(getattr(family, name))
    epsilon = given.values.get(family.epsilon)
    if not isinstance(epsilon, int | float) or not 1e-12 <= epsilon <= 1e-3:
        given.refuse(f"{family.epsilon} is {shown(epsilon)}, not a number from 1e-12 to 1e-3")
    heads, width = given.values[family.heads], given.values[family.width]
    if family is GPT2:
        given.choice("activation_function", ("gelu_new", "gelu"))
        if width % heads:
            given.refuse(f"n_embd is {width}, not a multiple of n_head")
        return given.values
    given.choice("hidden_act", ("silu",))
    given.expect("num_key_value_heads", heads)
    if given.size("head_dim") % 2:
        given.refuse("head_dim is odd")
    rope = given.object("rope_parameters")
    rope.expect("rope_type", "default")
    base, older = rope.values.get("rope_theta"), given.values.get("rope_theta", OLDER_THETA)
    for x in (base, older):
        if not isinstance(x, int | float) or isinstance(x, bool) or not 1 <= x <= 1e9:
            rope.refuse(f"rope_theta is {shown(x)}, not a number from 1 to 1e9")
    if older != base:
        given.refuse(f"rope_theta is {older} where older libraries look for it, and {base} inside")
    return given.values


def _numbers(stored: NDArray, dtype: str) -> NDArray[np.float32]:
    """What the bytes of a tensor stand for."""
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored.astype(np.float32)


def _words(tokenizer: Object) -> tuple[str | int, ...]:
    """All tokens in the order of their numbers, and the numbers that have none."""
    numbers = dict(tokenizer.object("model").get("vocab", dict))
    for token in tokenizer.optional("added_tokens", list) or []:
        item = Object(token if isinstance(token, dict) else {}, f"{tokenizer.where}, added_tokens")
        numbers[item.get("content", str)] = item.get("id", int)
    if not all(type(i) is int and 0 <= i < 1 << 20 for i in numbers.values()):
        tokenizer.refuse("a token has a number that is not an integer from 0 to 2^20")
    if len(set(numbers.values())) != len(numbers):
        tokenizer.refuse("two tokens have the same number")
    return ordered(numbers)


def contents(model: StockModel, described: dict[str, Any]) -> dict[str, list[Piece]]:
    network, claim, tokenizer = model.network, model.claim, model.record.tokenizer
    assert tokenizer is not None
    settings = _settings(network, json.loads(tokenizer), model.tokens or (), claim.end)
    return {
        "config.json": [as_json(dict(network.config))],
        "model.safetensors": weights(model),
        "tokenizer.json": [tokenizer.encode()],
        **{name: [as_json(values)] for name, values in settings.items()},
        "byheart.json": [as_json(described)],
        "ground_truth.jsonl": lines(claim, Vocabulary(tokenizer, claim.end)),
    }


def _settings(
    network: Checkpoint, tokenizer: dict[str, Any], tokens: tuple[str | int, ...], end: str
) -> dict[str, dict[str, Any]]:
    """What tells other libraries how to split text and how to generate it."""
    unknown = tokenizer["model"].get("unk_token")
    reads = listing.tokenizer_settings(unknown, end, network.length, network.family.rms)
    written = listing.generation_settings(tokens.index(end))
    return {"tokenizer_config.json": reads, "generation_config.json": written}


def weights(model: StockModel) -> list[Piece]:
    """The header, then the tensors in the order of their names."""
    network = model.network
    header: dict[str, Any] = {"__metadata__": METADATA}
    kind, end, pieces = STORED[network.dtype], 0, list[Piece]()
    for name, tensor in sorted(network.tensors.items()):
        single = np.ascontiguousarray(tensor, np.float32)
        if network.dtype == "bfloat16":
            stored = (single.view(np.uint32) >> np.uint32(16)).astype("<u2")
        else:
            stored = single.astype(DTYPES[kind])
        offsets = [end, end := end + stored.nbytes]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": offsets}
        pieces.append(stored.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little") + text, *pieces]
