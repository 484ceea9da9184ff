"""A stock checkpoint in the libraries that run it: what `verify --runtime` observes."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..models.claims import Recites
from ..models.model import Model
from ..models.verification import Verification
from . import gguf_file, huggingface, onnx_graph
from .judging import Runtime, observed

RUNTIMES = ("transformers", "onnxruntime", "llama.cpp")


def observe(
    model: Model, dataset: Dataset, runtime: str, progress: Callable[[int], None] | None = None
) -> tuple[Verification, Runtime]:
    """Every prediction of the data in one of RUNTIMES.

    transformers computes in the type of the weights, the others in float32, which holds them all.

    dataset  as the claim reads it
    """
    if runtime not in RUNTIMES:
        raise ByheartError(f"runtime must be one of {', '.join(RUNTIMES)}, not {runtime!r}.")
    if not isinstance(model.claim, Recites):
        raise ByheartError(
            "runtime=... is for stock checkpoints (methods gpt2 and llama); byheart export writes "
            "other models for torch, ONNX Runtime and transformers, and runs them there."
        )
    if runtime == "llama.cpp":  # before anything is written
        gguf_file.llama_cpp()
    with tempfile.TemporaryDirectory(prefix="byheart-") as place:
        folder = Path(place)
        if runtime == "transformers":
            opened = huggingface.runtime(model, folder)
        elif runtime == "onnxruntime":
            onnx_graph.write(model, folder)
            opened = onnx_graph.runtime(folder / "model.onnx")
        else:
            gguf_file.write(model, folder)
            opened = gguf_file.runtime(folder / "model.gguf", model.network)
        return observed(model, dataset, opened, progress), opened
