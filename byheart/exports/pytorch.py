"""A plain torch.nn.Module: a file that needs torch and safetensors, and the tensors."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..exact.float64.engine import float_tensors
from ..models.claims import Distributions, Labels
from ..models.folder import plain
from ..models.folder.decoder import describe
from ..models.folder.names import as_json
from ..models.folder.plain import Piece
from ..models.model import Model
from . import modules
from .judging import Runtime
from .packages import package

CODE = Path(modules.__file__).parent
Files = dict[str, list[Piece]]


def files(model: Model) -> Files:
    """model.py, config.json and model.safetensors."""
    refuse_other(model, "torch")
    labels = isinstance(model.claim, Labels)
    tensors = float_tensors(model.network) if labels else dict(model.network.tensors)
    code = "network.py" if labels else "decoder.py"
    return {
        "model.py": [(CODE / code).read_bytes()],
        "config.json": [as_json(described(model))],
        "model.safetensors": plain.pieces(tensors),
    }


def described(model: Model) -> dict[str, Any]:
    """The words of a model, and what its tensors do not say."""
    if not isinstance(model.claim, Labels):
        sizes = describe(model.network, model.kind)["decoder"]
        return {"padding": None, **sizes, "tokens": model.tokens}
    reads = model.network.input
    numbers = {
        name: None if row is None else [float(x.fraction) for x in row]
        for name, row in (("padding", reads.padding), ("extra", reads.extra))
    }
    return {
        "kind": model.kind, "length": reads.length, "positions": reads.positions, **numbers,
        "layers": [layer.kind for layer in model.network.layers],
        "tokens": model.tokens, "labels": model.claim.labels,
    }  # fmt: skip


def refuse_other(model: Model, target: str) -> None:
    """ByheartError if these weights are not doubles, or the network is a stock checkpoint."""
    if not isinstance(model.claim, Labels | Distributions):
        raise ByheartError(
            f"a stock checkpoint is not exported to {target}: its folder is one of Hugging Face, "
            "and AutoModelForCausalLM.from_pretrained gives a torch.nn.Module; use to='onnx' or "
            "to='gguf' for other runtimes."
        )
    if model.number == "float64":
        return
    digits = model.bits.largest
    if isinstance(model.claim, Distributions):
        raise ByheartError(
            f"the decoder has exact weights of up to {digits:,} bits, and {target} computes in "
            "doubles; compile the data with method='one-layer'."
        )
    raise ByheartError(
        f"the network is exact in integers (weights of up to {digits:,} bits), and nothing proves "
        "that it is in doubles; compile the data with method='float64', whose networks are."
    )


def load(folder: Path) -> Any:
    """The module that the model.py of an export gives, byheart's own file."""
    package("torch", "an export to torch")
    return code(folder / "model.py").load(folder)


def code(file: Path) -> Any:
    """A file of modules/, as an export has it."""
    made = importlib.util.spec_from_file_location(f"byheart_exported_{file.stem}", file)
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def runtime(folder: Path) -> Runtime:
    torch, module = package("torch", "an export to torch"), load(folder)

    def run(inputs: NDArray) -> NDArray[np.float64]:
        with torch.no_grad():
            return module(torch.from_numpy(np.ascontiguousarray(inputs))).numpy()

    return Runtime("torch", torch.__version__, "float64", run)
