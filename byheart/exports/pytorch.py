"""A plain torch.nn.Module: a file that needs torch and safetensors, and the tensors."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..errors import ByheartError
from ..exact.float64.engine import float_tensors
from ..machine import plain
from ..machine.names import as_json
from ..machine.plain import Piece
from ..models.model import Model
from ..softmax.store import describe
from . import modules
from .packages import package

CODE = Path(modules.__file__).parent
Files = dict[str, list[Piece]]


def write(folder: Path, files: Files) -> None:
    for name, pieces in files.items():
        with open(folder / name, "xb") as file:
            file.writelines(pieces)


def write_network(model: Model, folder: Path) -> None:
    check_network(model)
    write(folder, _files("network.py", described_network(model), float_tensors(model.network)))


def write_decoder(model: Model, folder: Path) -> None:
    check_decoder(model, "torch")
    write(folder, _files("decoder.py", described_decoder(model), dict(model.network.tensors)))


def _files(code: str, config: dict[str, Any], tensors: dict[str, NDArray[np.float64]]) -> Files:
    return {
        "model.py": [(CODE / code).read_bytes()],
        "config.json": [as_json(config)],
        "model.safetensors": plain.pieces(tensors),
    }


def described_decoder(model: Model) -> dict[str, Any]:
    """The words of a decoder, and what its tensors do not say."""
    return {"padding": None, **describe(model)["decoder"], "tokens": model.tokens}


def described_network(model: Model) -> dict[str, Any]:
    """The words of a network, and what its tensors do not say."""
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


def check_network(model: Model) -> None:
    """ByheartError if the weights of a network are not doubles."""
    if model.number != "float64":
        raise ByheartError(
            f"the network is exact in integers (weights of up to {model.bits.largest:,} bits), and "
            "nothing proves that it is in doubles; compile the data with `method='float64'`, "
            "whose networks are."
        )


def check_decoder(model: Model, target: str) -> None:
    """ByheartError if the weights of a decoder are not doubles."""
    if model.number != "float64":
        raise ByheartError(
            f"the decoder has exact weights of up to {model.bits.largest:,} bits, and {target} "
            "computes in doubles; compile the data with `method='one-layer'`."
        )


def code(file: Path) -> Any:
    """A file of modules/, as an export has it."""
    specification = importlib.util.spec_from_file_location(f"byheart_exported_{file.stem}", file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def runtime(model: Model, folder: Path) -> Runtime:
    torch = package("torch", "an export to torch")
    module = code(folder / "model.py").load(folder)

    def run(inputs: NDArray) -> NDArray[np.float64]:
        with torch.no_grad():
            return module(torch.from_numpy(np.ascontiguousarray(inputs))).numpy()

    return Runtime("torch", torch.__version__, "float64", run)
