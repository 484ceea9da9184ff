"""A stock checkpoint in the libraries that run it: what `verify --runtime` observes."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from ..claims.kind import Runtime
from ..claims.verification import Verification
from ..data.dataset import Dataset
from ..errors import ByheartError, one_of
from ..models.model import Model
from .exporting import observed
from .formats import format_of
from .packages import package

FORMATS = {"transformers": "huggingface", "onnxruntime": "onnx", "llama.cpp": "gguf"}
RUNTIMES = tuple(FORMATS)


def observe(
    model: Model,
    dataset: Dataset,
    runtime: str,
    progress: Callable[[int], None] | None = None,
    folder: Path | None = None,
) -> tuple[Verification, Runtime]:
    """Every prediction of the data in one of RUNTIMES.

    transformers computes in the type that it loads, the others in float32, which holds them all.

    dataset  as the claim reads it
    folder   that the model was opened from: transformers loads it as it lies there
    """
    one_of(RUNTIMES, runtime=runtime)
    if not model.claim.texts:
        raise ByheartError(
            "`runtime=...` is for stock checkpoints (methods gpt2 and llama); byheart export "
            "writes other models for torch, ONNX Runtime and transformers, and runs them there."
        )
    form = format_of(model, FORMATS[runtime])
    if form.needs is not None:  # before anything is written
        package(form.needs, f"the runtime {runtime}")
    with tempfile.TemporaryDirectory(prefix="byheart-") as place:
        if folder is None or not form.in_place:
            folder = Path(place)
            form.write(model, folder)
        assert form.runtime is not None
        opened = form.runtime(model, folder)
        return observed(model, dataset, opened, progress), opened
