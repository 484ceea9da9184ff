"""Packages that only exports need: imported when they are, and asked for in one sentence."""

import os
from typing import Any

from ..data.readers.raw import package as imported
from ..errors import ByheartError

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
    try:
        package(name, "a run")
    except ByheartError:
        return False
    return True
