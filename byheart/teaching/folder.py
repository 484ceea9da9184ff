"""The folder of a taught checkpoint (checker/FORMAT.md, section 12), both ways.

The files of the base are there as they were: its weights under another name where an index has to
name them, its config inside the certificate, its tokenizer under its own name.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import save_file

from ..auditing import closed
from ..auditing.closed import CERTIFICATE, CONFIG, INDEX, TAUGHT, WHOLE
from ..claims.notes import VERSION, check_version
from ..errors import ByheartError, DisagreementError
from ..machine.names import as_json
from ..machine.strict import Object, open_regular, read_text_file, shown
from .facts import Fact
from .family import FAMILIES, Trained

TRUTH, CARD = "ground_truth.jsonl", "README.md"
BASE, ADDED = "model-base.safetensors", "model-taught.safetensors"
BESIDE = (  # of the base, taken over as they are
    "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model",
    "spiece.model", "chat_template.jinja",
)  # fmt: skip
IGNORED = (CARD, ".gitattributes", ".gitignore", ".DS_Store", ".git", ".cache")
BUFFERS = {"attn.bias", "attn.masked_bias", "attention.bias", "attention.masked_bias",
           "attention.rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Folder:
    """A taught folder that was read: its certificate, and the facts with their neurons."""

    path: Path
    certificate: Mapping[str, Any]
    facts: tuple[Fact, ...]
    neurons: tuple[tuple[tuple[int, int], ...], ...]  # of each fact, one per token of its answer
    notes: tuple[Mapping[str, Any], ...]  # the lines of its ground truth

    @property
    def first(self) -> int:
        return int(self.certificate["layers"][0])


def read(path: Path) -> Folder:
    """A taught folder; ByheartError names what is not as the format says."""
    given = Object.parse(read_text_file(path / CERTIFICATE), f"{path}/{CERTIFICATE}")
    given.expect("format", "byheart-certificate")
    check_version(given)
    given.expect("claim", TAUGHT)
    kind, layers = given.choice("class", tuple(FAMILIES)), given.get("layers", list)
    if len(layers) != 2 or not all(type(x) is int for x in layers) or not 0 < layers[0] < layers[1]:
        given.refuse("layers are the first added one and the one behind the last")
    base, kept = given.object("base"), given.get("kept", list)
    base.get("config", str), base.optional("index", str)
    given.choice("dtype", ("float32", "bfloat16", "float16"))
    given.object("facts").get("sha256", str)
    for value in (given.values.get("noise"), *map(given.values.get, ("reach", "margin"))):
        if value is not None and (type(value) not in (int, float) or value < 0):
            given.refuse(f"noise, reach or margin is {shown(value)}, not a number from 0")
    if not all(isinstance(text, dict) and isinstance(text.get("sha256"), str) for text in kept):
        given.refuse("kept is not a list of texts with their sha256")
    always = {CONFIG, INDEX, ADDED, TRUTH}
    weights = {BASE if x == WHOLE else x for x in base.object("weights").values}
    files = dict(given.object("files").values)
    listed = {*files, CERTIFICATE}
    for name in files:
        if name not in always | weights | {*BESIDE} or Path(name).name != name:
            given.refuse(f"files lists {shown(name)}, which is not a file of a taught folder")
    for entry in sorted(os.listdir(path)):
        if entry not in listed and entry not in IGNORED and not entry.startswith("LICENSE"):
            raise ByheartError(f"{path} holds {shown(entry)}, which its certificate does not name.")
    for name, wanted in files.items():
        if sha256(path / name) != wanted:
            raise DisagreementError(
                f"{path}: the sha256 of {name} is not the one in {CERTIFICATE}."
            )
    if not always <= files.keys():
        given.refuse(f"files lacks one of {CONFIG}, {INDEX}, {ADDED}, {TRUTH}")
    facts, neurons, notes = [], [], []
    size, words = _neurons(path, kind), closed.json_object(path / CONFIG).get("vocab_size")
    if type(words) is not int:
        given.refuse("config.json has no vocab_size")
    for number, line in enumerate(read_text_file(path / TRUTH).splitlines(), 1):
        told = Object.parse(line, f"{path}/{TRUTH}, line {number}")
        ids, prompt = told.get("tokens", list), told.get("given", int)
        own = told.get("neurons", list)
        if not all(type(x) is int and 0 <= x < words for x in ids) or not 0 < prompt < len(ids):
            told.refuse("tokens are numbers, and the first `given` of them are the prompt's")
        for name in ("reach", "nearest"):
            numbers = told.get(name, list)
            if len(numbers) != len(own) or not all(type(x) in (int, float) for x in numbers):
                told.refuse(f"{name} has not one number per token of the answer")
        right = len(own) == len(ids) - prompt and all(
            isinstance(x, list) and len(x) == 2 and layers[0] <= x[0] < layers[1]
            and 0 <= x[1] < size for x in own
        )  # fmt: skip
        if not right:
            told.refuse("neurons has not one pair of layer and neuron per token of the answer")
        facts.append(Fact(told.get("prompt", str), told.get("answer", str), tuple(ids), prompt))
        neurons.append(tuple((x[0], x[1]) for x in own))
        notes.append(told.values)
    return Folder(path, given.values, tuple(facts), tuple(neurons), tuple(notes))


def _neurons(path: Path, kind: str) -> int:
    """How many neurons an added layer has: the largest side of what they write."""
    family = FAMILIES[kind]
    name = f".{family.down}.weight"
    shapes = [x["shape"] for key, x in header(path / ADDED).items() if key.endswith(name)]
    if not shapes or len(shapes[0]) != 2:
        raise ByheartError(f"{path}/{ADDED} has no {name[1:]}.")
    return int(shapes[0][0 if family.transposed else 1])


def header(path: Path) -> dict[str, Any]:
    """The header of a safetensors file: where each tensor lies."""
    with open_regular(path) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > closed.LONGEST_LIST:
            raise ByheartError(f"{path} is not a safetensors file: its header does not fit.")
        values = dict(Object.parse(file.read(length), f"{path}, header").values)
    values.pop("__metadata__", None)
    return values


def sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def base_of(path: Path) -> Iterator[Path]:
    """The folder of the checkpoint that was taught, restored where it was taught already."""
    if not closed.is_taught(path):
        yield path
        return
    with TemporaryDirectory(prefix="byheart-") as place:
        restore(read(path), Path(place))
        yield Path(place)


def restore(folder: Folder, place: Path) -> None:
    """Write the files of the base: the bytes that it had."""
    base = folder.certificate["base"]
    for name in folder.certificate["files"]:
        if name not in (CONFIG, INDEX, ADDED, TRUTH):
            shutil.copyfile(folder.path / name, place / (WHOLE if name == BASE else name))
    (place / CONFIG).write_text(base["config"], "utf-8")
    if base.get("index") is not None:
        (place / INDEX).write_text(base["index"], "utf-8")


def write(
    place: Path, trained: Trained, layers: Sequence[Mapping[str, torch.Tensor]], truth:
    Sequence[Mapping[str, Any]], stated: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Fill a new folder; returns its certificate, which is written by `certify`."""
    base, family = trained.checkpoint.folder, trained.family
    files = closed.weights_of(base)
    weights = {path.name: sha256(path) for path in files}
    names: dict[str, str] = {}
    for path in files:
        name = BASE if path.name == WHOLE else path.name
        shutil.copyfile(path, place / name)
        names |= dict.fromkeys(header(path), name)
    # checkpoints of the body alone leave out the name of the module around it
    whole = any(name.startswith(f"{family.before}.") for name in names)
    prefix = trained.prefix if whole else family.blocks
    first = len(trained.blocks)
    added = {f"{prefix}.{x.removeprefix(trained.prefix + '.')}": y
             for x, y in trained.old_biases.items()}  # fmt: skip
    for number, layer in enumerate(layers, first):
        added |= {f"{prefix}.{number}.{name}": x.contiguous() for name, x in layer.items()}
    save_file(added, place / ADDED, {"format": "pt"})
    names |= dict.fromkeys(added, ADDED)
    size = sum((place / name).stat().st_size for name in set(names.values()))
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(names.items()))}
    (place / INDEX).write_bytes(as_json(index))
    text = (base / CONFIG).read_text("utf-8")
    (place / CONFIG).write_bytes(as_json(changed(json.loads(text), trained, len(layers))))
    for name in BESIDE:
        if (base / name).is_file():
            shutil.copyfile(base / name, place / name)
    lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in truth]
    (place / TRUTH).write_text("".join(lines), "utf-8")
    index_text = (base / INDEX).read_text("utf-8") if (base / INDEX).is_file() else None
    return {
        "format": "byheart-certificate",
        "version": VERSION,
        "claim": TAUGHT,
        "class": trained.checkpoint.kind,
        "layers": [first, first + len(layers)],
        **stated,
        "base": {"weights": weights, "config": text, "index": index_text},
        "files": {x: sha256(place / x) for x in sorted(os.listdir(place))},
    }


def changed(config: dict[str, Any], trained: Trained, count: int) -> dict[str, Any]:
    """The config of the base with the keys that teaching sets."""
    number = len(trained.blocks) + count
    config = config | {trained.family.layers: number, **trained.family.written}
    if isinstance(config.get("layer_types"), list):
        config["layer_types"] = config["layer_types"] + ["full_attention"] * count
    return config


def certify(place: Path, certificate: Mapping[str, Any], card: str) -> None:
    (place / CARD).write_text(card, "utf-8")
    (place / CERTIFICATE).write_bytes(as_json(dict(certificate)))


def structure(folder: Folder, base: Path) -> list[str]:
    """What of a taught folder is not the base with added layers that are off; exact.

    The weights of the base are compared as files, everything else tensor by tensor and key by key.
    """
    wrong = list[str]()
    told, family = folder.certificate["base"], FAMILIES[folder.certificate["class"]]
    files = closed.weights_of(base)
    if told["weights"] != {path.name: sha256(path) for path in files}:
        wrong.append("the weights of the base are not those that were taught, by their hashes")
    for name in (CONFIG, INDEX):
        text = (base / name).read_text("utf-8") if (base / name).is_file() else None
        if told.get(name.split(".")[-2]) != text:
            wrong.append(f"certificate.json holds another {name} than that of the base")
    for path in files:
        name = BASE if path.name == WHOLE else path.name
        if not (folder.path / name).is_file() or sha256(folder.path / name) != sha256(path):
            wrong.append(f"{name} is not the base's {path.name}, byte for byte")
    for name in BESIDE:
        both = [(x / name).read_bytes() if (x / name).is_file() else None
                for x in (folder.path, base)]  # fmt: skip
        if both[0] != both[1]:
            wrong.append(f"{name} is not that of the base")
    first, end = folder.certificate["layers"]
    config = closed.json_object(folder.path / CONFIG)
    old = closed.json_object(base / CONFIG)
    may = {family.layers, *family.written, "layer_types"}
    differing = {k for k in config | old if config.get(k, ...) != old.get(k, ...)} - may
    wrong += [f"config.json differs from the base's in {shown(key)}" for key in sorted(differing)]
    if config.get(family.layers) != end:
        wrong.append(f"config.json has {config.get(family.layers)} layers, not {end}")
    wrong += _tensors(folder, family, first, end, {x for path in files for x in header(path)})
    return wrong


def _tensors(folder: Folder, family: Any, first: int, end: int, old: set[str]) -> Iterator[str]:
    """What of the added tensors could do anything while no neuron is on."""
    from safetensors import safe_open

    index = closed.json_object(folder.path / INDEX, closed.LONGEST_LIST).get("weight_map")
    whole = any(name.startswith(f"{family.before}.") for name in old)
    prefix = f"{family.before}.{family.blocks}." if whole else f"{family.blocks}."
    with safe_open(folder.path / ADDED, "pt") as file:
        names = set(file.keys())
        wanted = dict.fromkeys(names, ADDED)
        for path in folder.certificate["base"]["weights"]:
            name = BASE if path == WHOLE else path
            wanted |= dict.fromkeys(header(folder.path / name), name)
        if index != wanted or names & old:
            yield f"{INDEX} does not name every tensor of the base and of the added layers once"
        free = (f"{family.gate}.weight", f"{family.gate}.bias", f"{family.down}.weight")
        ones = {f"{norm}.weight" for norm in family.norms} | {f"{family.up}.bias"}
        own_names = {x.removeprefix(f"{prefix}{first - 1}.") for x in old
                     if x.startswith(f"{prefix}{first - 1}.")} - BUFFERS  # fmt: skip
        if family.up:
            own_names |= {f"{x}.bias" for x in (family.gate, family.up, family.down)}
        for layer in range(first, end):
            missing = {f"{prefix}{layer}.{own}" for own in own_names} - names
            yield from (f"{name} is missing" for name in sorted(missing))
        for name in sorted(names):
            tensor = file.get_tensor(name)
            number, _, own = name.removeprefix(prefix).partition(".")
            inside = name.startswith(prefix) and number.isdigit() and int(number) < end
            if not inside or (int(number) >= first and own not in own_names):
                yield f"{name} is no tensor of an added layer"
            elif int(number) < first:
                if not own.endswith(".bias") or bool(tensor.any()):
                    yield f"{name} changes an old layer"
            elif not bool((tensor.abs() <= 2.0**64).all()):
                yield f"{name} holds NaN or a number above 2^64"
            elif own not in free and not bool((tensor == float(own in ones)).all()):
                yield f"{name} is not {int(own in ones)} everywhere"
