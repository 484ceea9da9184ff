"""Hugging Face: a stock checkpoint is such a folder already, a decoder needs code of its own."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..models.claims import Distributions, Recites
from ..models.folder import config, plain
from ..models.folder.decoder import describe
from ..models.folder.names import as_json
from ..models.model import Model
from .judging import Runtime
from .packages import package
from .pytorch import CODE, Files, code, refuse_other

CODED = "modeling_byheart"
OWN = ("byheart.json", "ground_truth.jsonl")  # of a stock folder: not those of Hugging Face
KEYS = {  # of config.json: what transformers may read there
    "architectures", "model_type", "vocab_size", "dtype", "bos_token_id", "eos_token_id",
    "pad_token_id", "tie_word_embeddings", "transformers_version", "use_cache",
    "activation_function", "n_positions", "n_embd", "n_layer", "n_head", "n_inner",
    "layer_norm_epsilon", "resid_pdrop", "embd_pdrop", "attn_pdrop", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention",
    "initializer_range", "hidden_act", "max_position_embeddings", "hidden_size",
    "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "rms_norm_eps", "attention_bias", "mlp_bias", "attention_dropout",
    "rope_parameters", "rope_theta",
}  # fmt: skip


def files(model: Model) -> Files:
    """What AutoModelForCausalLM.from_pretrained reads."""
    if isinstance(model.claim, Recites):
        refuse_strange(model)
        number, described = model.number, model.claim.config(model)
        recorded = config.described(number, described, model.about)
        found = model.claim.contents(model, recorded)
        return {name: pieces for name, pieces in found.items() if name not in OWN}
    refuse_other(model, "Hugging Face")
    if not isinstance(model.claim, Distributions):
        raise ByheartError(
            "a network that gives labels is no language model of Hugging Face; use to='torch' or "
            "to='onnx'."
        )
    shape = describe(model.network, model.kind)["decoder"]
    settings = {
        "architectures": ["ByheartDecoder"],
        "model_type": "byheart",
        "auto_map": {
            "AutoConfig": f"{CODED}.ByheartConfig",
            "AutoModelForCausalLM": f"{CODED}.ByheartDecoder",
        },
        "dtype": "float64",
        "tie_word_embeddings": False,
        "use_cache": False,
        "sizes": shape,
    }
    head, *rest = plain.pieces(dict(model.network.tensors))
    return {
        "config.json": [as_json(settings)],
        "model.safetensors": [_marked(bytes(head)), *rest],
        f"{CODED}.py": [(CODE / f"{CODED}.py").read_bytes()],
        "vocabulary.json": [as_json({"tokens": model.tokens})],
    }


def _marked(head: bytes) -> bytes:
    """The header of a safetensors file with the format that transformers wants to see."""
    text = b'{"__metadata__":{"format":"pt"},' + head[8:].strip().removeprefix(b"{")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def refuse_strange(model: Model) -> None:
    """ByheartError if config.json has a key by which transformers may run another graph."""
    given = model.network.config
    rope = given.get("rope_parameters") or {}
    strange = sorted({*given} - KEYS) + sorted({*rope} - {"rope_type", "rope_theta"})
    if strange:
        raise ByheartError(
            f"config.json has the key {strange[0]!r}, which byheart does not write and which may "
            "change what transformers runs; the folder is not run."
        )


@contextmanager
def quiet() -> Iterator[None]:
    """transformers without its progress bar and remarks."""
    logging = package("transformers", "the runtime transformers").utils.logging
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def loaded(model: Model, folder: Path, dtype: str, **options: Any) -> Any:
    """A stock checkpoint in transformers, from a folder that holds its configuration and weights.

    Nothing else that lies in the folder of a stranger is read.
    """
    library = package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")
    made = files(model)
    with tempfile.TemporaryDirectory(prefix=".byheart-", dir=folder) as place:
        for name in ("config.json", "model.safetensors", "generation_config.json"):
            with open(Path(place) / name, "wb") as file:
                file.writelines(made[name])
        with quiet():
            found = library.AutoModelForCausalLM.from_pretrained(
                place,
                dtype=getattr(torch, dtype),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                **options,
            )
            return found.eval()


def runtime(model: Model, folder: Path) -> Runtime:
    """The model in transformers: a checkpoint in its own type, a decoder by its own code.

    folder  that a decoder was exported to; a checkpoint needs a place to write
    """
    library = package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")
    stock = isinstance(model.claim, Recites)
    if stock:
        dtype = model.network.dtype
        module = loaded(model, folder, dtype)
    else:
        dtype = "float64"
        with quiet():
            own = code(folder / f"{CODED}.py").ByheartDecoder
            module = own.from_pretrained(folder, dtype=torch.float64, local_files_only=True).eval()

    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            logits = module(torch.from_numpy(tokens.astype(np.int64))).logits
        return logits.float().numpy() if stock else logits[:, -1].numpy()

    version = f"{library.__version__} with torch {torch.__version__}"
    return Runtime("transformers", version, dtype, run)
