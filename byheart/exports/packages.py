"""Packages that only exports need: imported when they are, and asked for in one sentence."""

import os
from importlib.util import find_spec
from typing import Any

from ..data.readers.raw import package as imported

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
    return imported(name, EXTRAS[name], what)


def installed(name: str) -> bool:
    """Whether the package can be imported."""
    return find_spec(name) is not None
