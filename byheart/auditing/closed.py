"""The closed rule of a Hugging Face folder: what is scored is what its weight files hold.

Files and keys can make the library load something else: an adapter, redirected weights, a kernel
from elsewhere. They are refused by name before the library sees the folder. Pickles, code, and
further weights that it does not load for inference are never opened; the answer names them.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import ByheartError
from ..machine.strict import shown

CERTIFICATE, TAUGHT = "certificate.json", "taught"
CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
TEMPLATES = "additional_chat_templates"  # a folder that tokenizers read
ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model."
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
UNREAD = (*PICKLES, ".safetensors", ".index.json", ".gguf", ".h5", ".msgpack", ".onnx", ".py")
REDIRECTING = {
    "transformers_weights": "which loads other weights than model.safetensors",
    "configuration_files": "which loads another config",
    "fast_tokenizer_files": "which loads another tokenizer",
    "init_inputs": "which loads another tokenizer",
}
CODE = "auto_map"  # names classes in files of the folder, which the library loads only if asked to
IMPLEMENTATION = "_implementation"  # of attention or experts: the end of a key
QUANTISATION = "quantization_config"
LONGEST = 1 << 20  # bytes of a config
LONGEST_LIST = 1 << 26  # of a file that lists tokens or tensors


@dataclass(frozen=True)
class WeightsFile:
    file: str
    sha256: str


def check(folder: Path, config: dict[str, Any]) -> tuple[str, ...]:
    """ByheartError names the file or key that changes what the library loads.

    Returns the names of classes that come with the model. None of them is loaded: the library has
    classes of its own for the architectures and tokenizers that are read here.
    """
    code: set[str] = set()
    for place in (folder, folder / TEMPLATES):
        check_entries(place)
    for entry in _entries(folder):
        if entry.name == ADAPTER_CONFIG or entry.name.startswith(ADAPTER):
            raise ByheartError(
                f"{folder} holds an adapter ({shown(entry.name)[1:-1]}) beside a model, which a "
                "library would add to it; move it to a folder of its own, which `adapter=...` adds."
            )
    if (folder / WHOLE).is_file() and (folder / INDEX).is_file():
        raise ByheartError(
            f"{folder} holds {WHOLE} and {INDEX}, of which a library loads one; take the other out "
            "of the folder."
        )
    settings = {CONFIG: config}
    if (folder / TOKENIZER_CONFIG).is_file():
        settings[TOKENIZER_CONFIG] = json_object(folder / TOKENIZER_CONFIG, LONGEST_LIST)
    for name, values in settings.items():
        for key, value in _keys(values):
            if key == CODE:
                code.update(word for word in _nested(value) if isinstance(word, str))
            if value and key in REDIRECTING:
                raise ByheartError(
                    f"{folder / name} has the key {key}, {REDIRECTING[key]}; take the key out if "
                    "the model does not need it."
                )
            if key.endswith(IMPLEMENTATION) and "/" in json.dumps(value):
                raise ByheartError(
                    f"{folder / name} has the key {shown(key)[1:-1]} with a slash in its value, "
                    "which loads a kernel from elsewhere; take the key out."
                )
    return tuple(sorted(code))


def is_taught(folder: object) -> TypeGuard[str | Path]:
    """Whether this is the path of a checkpoint whose certificate says that facts were added."""
    if not isinstance(folder, str | Path):
        return False
    try:
        values = json.loads((Path(folder) / CERTIFICATE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("claim") == TAUGHT


def check_entries(folder: Path) -> None:
    """ByheartError names what is in a folder and is no regular file."""
    for entry in _entries(folder):
        if not entry.is_file() and not entry.is_dir():  # a link is followed, as in Hub caches
            raise ByheartError(
                f"{folder} holds {shown(entry.name)}, which is not a regular file; take it out "
                "of the folder."
            )


def check_quantisation(folder: Path, config: dict[str, Any]) -> None:
    """ByheartError if the weights are quantised by a method that is not known or installed here.

    The library skips a method that it does not know, and loads the numbers as if they were weights.
    """
    from transformers.quantizers.auto import AutoHfQuantizer

    for key, value in _keys(config):
        if key != QUANTISATION or value is None:
            continue
        where = f"{folder / CONFIG} has the key {QUANTISATION}"
        method = value.get("quant_method") if isinstance(value, dict) else None
        known = False
        try:
            known = bool(AutoHfQuantizer.supports_quant_method(value))
            if known:
                quantiser = AutoHfQuantizer.from_config(dict(value), pre_quantized=True)
                quantiser.validate_environment(device_map=None, weights_only=True)
                continue
        except Exception:  # of many classes, one per method
            pass
        reason = "which is not installed or does not run here" if known else "which is not known"
        raise ByheartError(
            f"{where} with the method {shown(method)}, {reason}; save the model without "
            "quantisation."
        )


def weights_of(folder: Path) -> list[Path]:
    """The files of weights; those of an index must be files of this folder."""
    if (folder / WHOLE).is_file():
        return [folder / WHOLE]
    index = folder / INDEX
    if index.is_file():
        try:
            names = set(json_object(index, LONGEST_LIST)["weight_map"].values())
        except (KeyError, TypeError, AttributeError):
            raise ByheartError(f"{index} is not an index of safetensors files.") from None
        for name in sorted(map(str, names)):
            if Path(name).name != name or not name.endswith(".safetensors"):
                raise ByheartError(
                    f"{index} names {shown(name)}, which is not a file of its folder."
                )
            if not (folder / name).is_file():
                raise ByheartError(f"{folder} lacks {shown(name)[1:-1]}, which its index names.")
        return [folder / name for name in sorted(names)]
    pickles = [entry.name for entry in _entries(folder) if entry.name.endswith(PICKLES)]
    if pickles:
        raise ByheartError(
            f"{folder} holds {shown(pickles[0])[1:-1]}, a pickle, which may run any code when it "
            "is read; convert it where you trust it: AutoModelForCausalLM.from_pretrained(FOLDER)."
            "save_pretrained(NEW) writes model.safetensors."
        )
    raise ByheartError(f"{folder} has no {WHOLE}.")


def hashed(paths: list[Path]) -> tuple[WeightsFile, ...]:
    files = []
    for path in paths:
        with path.open("rb") as file:
            files.append(WeightsFile(path.name, hashlib.file_digest(file, "sha256").hexdigest()))
    return tuple(files)


def unread(folder: Path, weights: list[Path]) -> tuple[str, ...]:
    """Pickles, code and further weights of the folder, none of which is opened."""
    read = {INDEX, *(path.name for path in weights)}
    names = (entry.name for entry in _entries(folder) if entry.is_file())
    return tuple(name for name in names if name.endswith(UNREAD) and name not in read)


def json_object(path: Path, longest: int = LONGEST) -> dict[str, Any]:
    """The JSON object of a file that is not longer than this."""
    try:
        with path.open("rb") as file:
            text = file.read(longest + 1)
        values = json.loads(text) if len(text) <= longest else None
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise ByheartError(
            f"{path} is not a config or index: one JSON object of at most {longest:,} bytes is "
            "expected."
        )
    return values


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Of a folder, by name; none where it does not exist."""
    if not folder.is_dir():
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise ByheartError(f"{folder} cannot be read: {error.strerror}.") from None


def _keys(values: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value, also of the configs inside a config."""
    return (pair for value in _nested(values) if isinstance(value, dict) for pair in value.items())


def _nested(value: Any) -> Iterator[Any]:
    """The value, and every value in it."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
