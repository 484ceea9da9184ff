"""Hugging Face: a stock checkpoint is such a folder already, a decoder needs code of its own."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..claims.notes import described
from ..errors import ByheartError
from ..machine import plain
from ..machine.names import as_json
from ..models.model import Model
from ..softmax.store import describe
from ..stock import store
from ..stock.store import contents
from .gguf_file import NAMES
from .packages import package
from .pytorch import CODE, Files, check_decoder, code, write

CODED = "modeling_byheart"
OWN = ("byheart.json", "ground_truth.jsonl")  # of a stock folder: not those of Hugging Face
KEYS = {*NAMES["config"]["keys"].split()}  # of config.json: what transformers may read there


def files(model: Model) -> Files:
    """Of a checkpoint: what AutoModelForCausalLM.from_pretrained reads.

    ByheartError if config.json has a key by which transformers may run another graph.
    """
    given = model.network.config
    rope = given.get("rope_parameters") or {}
    strange = sorted({*given} - KEYS) + sorted({*rope} - {"rope_type", "rope_theta"})
    if strange:
        raise ByheartError(
            f"config.json has the key {strange[0]!r}, which byheart does not write and which may "
            "change what transformers runs; the folder is not run."
        )
    found = contents(model, described(model.number, store.describe(model), model.record))
    return {name: pieces for name, pieces in found.items() if name not in OWN}


def write_checkpoint(model: Model, folder: Path) -> None:
    """The folder of a stock checkpoint without byheart's own files."""
    write(folder, files(model))


def write_decoder(model: Model, folder: Path) -> None:
    """A decoder, and the code that runs it."""
    check_decoder(model, "Hugging Face")
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
        "sizes": describe(model)["decoder"],
    }
    head, *rest = plain.pieces(dict(model.network.tensors))
    # the header of the file with the format that transformers wants to see
    text = b'{"__metadata__":{"format":"pt"},' + bytes(head)[8:].strip().removeprefix(b"{")
    text += b" " * (-len(text) % 8)
    found: Files = {
        "config.json": [as_json(settings)],
        "model.safetensors": [len(text).to_bytes(8, "little") + text, *rest],
        f"{CODED}.py": [(CODE / f"{CODED}.py").read_bytes()],
        "vocabulary.json": [as_json({"tokens": model.tokens})],
    }
    write(folder, found)


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


def checkpoint_runtime(model: Model, folder: Path) -> Runtime:
    """A checkpoint in transformers, in its own type."""
    dtype = model.network.dtype
    module = loaded(model, folder, dtype)
    return _runtime(module, dtype, lambda logits: logits.float().numpy())


def decoder_runtime(model: Model, folder: Path) -> Runtime:
    """A decoder in transformers, by its own code."""
    package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")
    with quiet():
        own = code(folder / f"{CODED}.py").ByheartDecoder
        module = own.from_pretrained(folder, dtype=torch.float64, local_files_only=True).eval()
    return _runtime(module, "float64", lambda logits: logits[:, -1].numpy())


def _runtime(module: Any, dtype: str, read: Callable[[Any], NDArray]) -> Runtime:
    library = package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")

    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            return read(module(torch.from_numpy(tokens.astype(np.int64))).logits)

    version = f"{library.__version__} with torch {torch.__version__}"
    return Runtime("transformers", version, dtype, run)
