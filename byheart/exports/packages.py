"""Packages that only exports need: imported when they are, and asked for in one sentence."""

import os
from importlib import import_module
from typing import Any

from ..errors import ByheartError
from ..machine.installing import remedy

EXTRAS = {  # the extra of byheart that brings each
    "torch": "torch",
    "transformers": "huggingface",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "onnxruntime": "onnx",
    "gguf": "gguf",
    "xllamacpp": "gguf",
}


def package(name: str, what: str) -> Any:
    """The package; if it is not installed, ByheartError says `what` needs it."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return import_module(name)
    except ImportError:
        raise ByheartError(
            f"{what} needs the package {name}, which is not installed; run: {remedy(EXTRAS[name])}."
        ) from None


def installed(name: str) -> bool:
    """Whether the package can be imported."""
    try:
        package(name, "a run")
    except ByheartError:
        return False
    return True
