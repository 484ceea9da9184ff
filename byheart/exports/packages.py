"""Packages that only exports need: imported when they are, and asked for in one sentence."""

import os
from importlib import import_module
from typing import Any

from ..errors import ByheartError

# the extra of byheart that brings each, where it has another name
EXTRAS = {"transformers": "huggingface", "xllamacpp": "gguf"}
EXTRAS |= {"onnxscript": "onnx", "onnxruntime": "onnx"}


def package(name: str, what: str) -> Any:
    """The package that `what` needs, which begins a sentence; ByheartError if it is not there."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return import_module(name)
    except ImportError:
        raise ByheartError(
            f"{what} needs the package {name}, which is not installed; "
            f"run: pip install 'byheart[{EXTRAS.get(name, name)}]'."
        ) from None


def installed(name: str) -> bool:
    """Whether the package can be imported."""
    try:
        package(name, "a run")
    except ByheartError:
        return False
    return True
