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

NAMES = {  # of a layer's tensors in the stock checkpoint, where maps are [inputs, outputs]
    "norm_1": "ln_1",
    "attention.in": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "norm_2": "ln_2",
    "hidden": "mlp.c_fc",
    "down": "mlp.c_proj",
}
WHOLE = {"embedding": "wte", "positions": "wpe", "norm": "ln_f"}


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
        if part in WHOLE:
            renamed[f"transformer.{WHOLE[part]}.{kind}"] = np.ascontiguousarray(array)
            continue
        _, layer, inner = part.split(".", 2)
        array = array.T if array.ndim == 2 else array
        renamed[f"transformer.h.{layer}.{NAMES[inner]}.{kind}"] = np.ascontiguousarray(array)
    return renamed


def config(architecture: Architecture) -> dict[str, Any]:
    sizes = architecture.sizes
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": sizes["vocabulary"],
        "n_positions": sizes["length"],
        "n_embd": sizes["dimension"],
        "n_layer": sizes["layers"],
        "n_head": sizes["heads"],
        "n_inner": sizes["width"],
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
        **dict.fromkeys(("bos_token_id", "eos_token_id"), None),
        "tie_word_embeddings": True,
        "dtype": "float32",
    }


def save(architecture: Architecture, tensors: dict[str, NDArray], target: Path) -> None:
    try:
        with appearing(target, force=False) as part:
            text = json.dumps(config(architecture), indent=2) + "\n"
            (part / "config.json").write_text(text, encoding="utf-8")
            save_file(stock(tensors), part / "model.safetensors", metadata={"format": "pt"})
    except OSError as error:
        raise ByheartError(f"{target} cannot be written: {error.strerror}.") from error
