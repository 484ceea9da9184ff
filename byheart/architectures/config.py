"""The architecture that a Hugging Face config.json describes.

The file may come from anywhere: it is read as data, and every size is checked before it is used.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from .description import Architecture
from .public import FAMILIES, Shape, gated, gpt2, neox, ungrouped

FILE = "config.json"
LONGEST = 2**20  # bytes; a real one has about a thousand
LARGEST = 10**9  # of a size
LAYERS = 100_000  # at most: every layer has its own tensors, which are listed
HEADS = {"qwen3": 128, "gemma": 256, "gemma2": 256, "gemma3_text": 256}  # dimension, if not given
KINDS = ("gpt2", "gpt_neox", *FAMILIES)
ACTIVATIONS = {
    **dict.fromkeys(("gelu", "gelu_fast", "gelu_new", "gelu_pytorch_tanh"), "gelu"),
    **{"relu": "relu", "silu": "silu", "swish": "silu", "tanh": "tanh"},
}


def is_config(name: str) -> bool:
    """Whether an architecture is named by a config file, or by the folder of one."""
    path = Path(name)
    return path.suffix == ".json" or path.is_dir()


def read_config(name: str) -> Architecture:
    """The architecture of a config file; ByheartError if it is not one that is known here."""
    path = Path(name)
    path = path / FILE if path.is_dir() else path
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise ByheartError(f"{path}: larger than {LONGEST:,} bytes, so it is no config file.")
        config = json.loads(text)
    except FileNotFoundError:
        raise ByheartError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise ByheartError(f"{path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ByheartError):
            raise
        raise ByheartError(f"{path}: not readable as JSON.") from None
    if not isinstance(config, dict):
        raise ByheartError(f"{path}: a config file is one JSON object.")
    return described(name, path, config)


def described(name: str, path: Path, config: dict[str, Any]) -> Architecture:
    """The architecture, with every size that it needs checked."""

    def size(key: str, default: int | None = None, most: int = LARGEST) -> int:
        value = config.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not 1 <= value <= most:
            given = "is missing" if value is None else f"is {str(value)[:40]!r}"
            raise ByheartError(f"{path}: {key} must be an integer from 1 to {most:,}, and {given}.")
        return value

    def whether(key: str, default: bool) -> bool:
        value = config.get(key, default)
        if type(value) is not bool:
            raise ByheartError(f"{path}: {key} must be true or false, not {str(value)[:40]!r}.")
        return value

    def activation(default: str, *keys: str) -> str:
        key = next((key for key in keys if config.get(key) is not None), None)
        if key is None:
            return default
        if not isinstance(config[key], str) or config[key] not in ACTIVATIONS:
            given, names = str(config[key])[:40], ", ".join(ACTIVATIONS)
            raise ByheartError(f"{path}: {key} must be one of {names}, not {given!r}.")
        return ACTIVATIONS[config[key]]

    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in KINDS:
        given = "is missing" if kind is None else f"is {str(kind)[:40]!r}"
        raise ByheartError(f"{path}: model_type {given}; known here: {', '.join(KINDS)}.")
    if kind == "gpt2":
        if whether("add_cross_attention", False):
            raise ByheartError(f"{path}: a decoder alone has no add_cross_attention.")
        d, heads = size("n_embd"), size("n_head")
        _check_division(path, "n_embd", d, "n_head", heads)
        layers, width = size("n_layer", most=LAYERS), size("n_inner", 4 * d)
        length, tied = size("n_positions"), whether("tie_word_embeddings", True)
        how = activation("gelu", "activation_function")
        return gpt2(name, ungrouped(layers, d, heads, width, size("vocab_size"), length, tied), how)
    d, heads = size("hidden_size"), size("num_attention_heads")
    layers, width = size("num_hidden_layers", most=LAYERS), size("intermediate_size")
    vocabulary, length = size("vocab_size"), size("max_position_embeddings")
    usual = FAMILIES[kind].activation if kind in FAMILIES else "gelu"
    how = activation(usual, "hidden_activation", "hidden_act")
    if kind == "gpt_neox":
        _check_division(path, "hidden_size", d, "num_attention_heads", heads)
        tied, biased = whether("tie_word_embeddings", False), whether("attention_bias", True)
        shape = ungrouped(layers, d, heads, width, vocabulary, length, tied)
        return neox(name, shape, how, biased)
    groups = size("num_key_value_heads", 8 if kind == "mistral" else heads)
    _check_division(path, "num_attention_heads", heads, "num_key_value_heads", groups)
    if kind not in HEADS and config.get("head_dim") is None:
        _check_division(path, "hidden_size", d, "num_attention_heads", heads)
    head_dimension = size("head_dim", HEADS.get(kind, max(1, d // heads)))
    family = replace(FAMILIES[kind], activation=how)
    if whether("attention_bias", False):
        family = replace(family, biased=("query", "key", "value", "out"))
    tied, biased = whether("tie_word_embeddings", family.tied), whether("mlp_bias", False)
    shape = Shape(layers, d, heads, groups, head_dimension, width, vocabulary, length, tied)
    return gated(name, family, shape, biased)


def _check_division(path: Path, whole: str, size: int, part: str, count: int) -> None:
    if size % count:
        raise ByheartError(f"{path}: {whole} {size:,} is not a multiple of {part} {count:,}.")
