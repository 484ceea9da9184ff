"""The files of a model folder, and how JSON is written in them."""

import json
import os
from typing import Any

from ..errors import ByheartError

FILES = ("config.json", "weights.safetensors", "vocabulary.json")  # what a certificate speaks of
STOCK = (  # of a stock checkpoint: those of Hugging Face, and ours
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "generation_config.json", "byheart.json", "ground_truth.jsonl",
)  # fmt: skip
MAGIC = b"byheart\x01"  # begins a packed file
TOKENIZER = "tokenizer.json"  # splits questions as the data was split
KNOWN = tuple(dict.fromkeys([*FILES, *STOCK, "certificate.json", "README.md", "data.jsonl"]))
EXPORTED = (  # of other tools
    "model.py", "model.onnx", "model.gguf", "modeling_byheart.py",
    "task.py", "byheart_recall.yaml", "byheart_likelihood.yaml",
    "vnnlib", "instances.csv", "truth.jsonl",
)  # fmt: skip


def as_json(value: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(value, indent=1, allow_nan=False, default=os.fspath)
    except (ValueError, TypeError, RecursionError) as error:
        raise ByheartError(f"the model cannot be written as JSON: {error}.") from error
    return (text + "\n").encode("ascii")
