"""Hugging Face: a stock checkpoint is such a folder already, a decoder needs code of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..claims.notes import described
from ..machine import plain
from ..machine.names import as_json
from ..models.model import Model
from ..models.source import stored
from ..softmax.store import describe
from ..stock import store
from ..stock.store import contents
from .packages import package
from .pytorch import CODE, Files, check_decoder, code, write

CODED = "modeling_byheart"
OWN = ("byheart.json", "ground_truth.jsonl")  # of a stock folder: not those of Hugging Face


def files(model: Model) -> Files:
    """Of a checkpoint: what AutoModelForCausalLM.from_pretrained reads."""
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
        "sizes": describe(model)["decoder"]
        | ({"window": True} if "window" in stored(model) else {}),
    }
    head, *rest = plain.pieces(dict(model.network.tensors))
    found: Files = {
        "config.json": [as_json(settings)],
        "model.safetensors": [_marked(bytes(head)), *rest],
        f"{CODED}.py": [(CODE / f"{CODED}.py").read_bytes()],
        "vocabulary.json": [as_json({"tokens": model.tokens})],
    }
    write(folder, found)


def _marked(head: bytes) -> bytes:
    """The header of a safetensors file with the format that transformers wants to see."""
    text = b'{"__metadata__":{"format":"pt"},' + head[8:].strip().removeprefix(b"{")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


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


def loaded(folder: Path, **options: Any) -> Any:
    library = package("transformers", "the runtime transformers")
    package("torch", "the runtime transformers")
    with quiet():
        found = library.AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, **options
        )
        return found.eval()


def checkpoint_runtime(_: Model, folder: Path) -> Runtime:
    """A stock folder in transformers, with its tokenizer, in the type that the library loads."""
    module = loaded(folder)
    torch = package("torch", "the runtime transformers")
    library = package("transformers", "the runtime transformers")
    with quiet():
        tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def generate(prompts: NDArray, count: int) -> NDArray:
        tokens = torch.from_numpy(prompts.astype(np.int64))
        asked = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        with quiet():
            return module.generate(**asked, max_new_tokens=count)[:, tokens.shape[1] :].numpy()

    dtype = str(module.dtype).removeprefix("torch.")
    runtime = _runtime(module, dtype, lambda logits: logits.float().numpy())
    return runtime._replace(generate=generate, split=lambda text: tokenizer(text)["input_ids"])


def decoder_runtime(model: Model, folder: Path) -> Runtime:
    """A decoder in transformers, by its own code."""
    package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")
    with quiet():
        own = code(folder / f"{CODED}.py").ByheartDecoder
        module = own.from_pretrained(folder, dtype=torch.float64, local_files_only=True).eval()
    last = partial(module, logits_to_keep=1)
    return _runtime(last, "float64", lambda logits: logits[:, -1].numpy())


def _runtime(module: Any, dtype: str, read: Callable[[Any], NDArray]) -> Runtime:
    library = package("transformers", "the runtime transformers")
    torch = package("torch", "the runtime transformers")

    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            return read(module(torch.from_numpy(tokens.astype(np.int64))).logits)

    version = f"{library.__version__} with torch {torch.__version__}"
    return Runtime("transformers", version, dtype, run)
