"""A trained GPT-2 as an ordinary Hugging Face folder: config.json and model.safetensors.

Any program that loads GPT-2 loads it, and `byheart audit` reads it like every other checkpoint.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from ..architectures import Architecture
from ..data.dataset import Dataset
from ..data.targets import vocabulary_of, words_of
from ..errors import ByheartError
from ..machine.swap import appearing

# names of tensors and sizes in the stock checkpoint, where maps are [inputs, outputs], and what
# else config.json has
STOCK = json.loads(Path(__file__).with_name("gpt2.json").read_text("ascii"))


def check_ids(dataset: Dataset) -> None:
    """ByheartError unless the tokens are the ids 0, 1, ...: a checkpoint knows no words."""
    words = vocabulary_of(words_of(dataset), dataset.label_names)
    if words != tuple(range(len(words))):
        raise ByheartError(
            f"a Hugging Face folder numbers its tokens from 0, and the tokens of this data are not "
            f"the ids 0 to {len(words) - 1:,}; give token ids, such as byheart generate uniform "
            "writes."
        )


def stock(tensors: dict[str, NDArray]) -> dict[str, NDArray]:
    """The tensors by their names in the stock checkpoint, in its layout."""
    renamed = {}
    for name, array in tensors.items():
        part, _, kind = name.rpartition(".")
        place = ""
        if part.startswith("layers."):
            _, layer, part = part.split(".", 2)
            place, array = f"h.{layer}.", array.T
        own = f"transformer.{place}{STOCK['tensors'][part]}.{kind}"
        renamed[own] = np.ascontiguousarray(array)
    return renamed


def config(architecture: Architecture) -> dict[str, Any]:
    sizes = {key: architecture.sizes[name] for key, name in STOCK["sizes"].items()}
    return STOCK["config"] | sizes


def save(architecture: Architecture, tensors: dict[str, NDArray], target: Path) -> None:
    try:
        with appearing(target, force=False) as part:
            text = json.dumps(config(architecture), indent=2) + "\n"
            (part / "config.json").write_text(text, encoding="utf-8")
            save_file(stock(tensors), part / "model.safetensors", metadata={"format": "pt"})
    except OSError as error:
        raise ByheartError(f"{target} cannot be written: {error.strerror}.") from error
