"""ONNX: model.onnx with the weights inside.

Float64 networks and decoders are written node by node; stock checkpoints are traced by torch.onnx
as transformers runs them.
"""

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..errors import ByheartError
from ..machine.names import as_json
from ..models.model import Model
from . import huggingface, pytorch
from .onnx_doubles import of_decoder, of_network
from .packages import package

OPSET = 18
LARGEST = (1 << 31) - (1 << 24)  # bytes: a file of protocol buffers holds 2 GiB


def write_network(model: Model, folder: Path) -> None:
    """A float64 network: columns [batch, columns, coordinates] to label [batch], both float64."""
    pytorch.check_network(model)
    _write(of_network, model, folder, pytorch.described_network(model))


def write_decoder(model: Model, folder: Path) -> None:
    """A decoder: input_ids to logits [batch, vocabulary], float64."""
    pytorch.check_decoder(model, "ONNX")
    _write(of_decoder, model, folder, pytorch.described_decoder(model))


def _write(graph: Callable, model: Model, folder: Path, config: dict[str, Any]) -> None:
    """model.onnx, and the words of the model beside it."""
    _check_size(model, 8)
    library = package("onnx", "an export to ONNX")
    found = graph(model.network, OPSET)
    library.checker.check_model(found)
    (folder / "model.onnx").write_bytes(found.SerializeToString(deterministic=True))
    (folder / "config.json").write_bytes(as_json(config))


def write_checkpoint(model: Model, folder: Path) -> None:
    """A checkpoint traced quietly: input_ids [batch, length] to logits [..., vocabulary]."""
    _check_size(model, 4)
    _, _, torch = (package(name, "an export to ONNX") for name in ("onnx", "onnxscript", "torch"))
    with tempfile.TemporaryDirectory(prefix=".byheart-", dir=folder) as place:
        huggingface.write_checkpoint(model, Path(place))
        how = {"dtype": torch.float32, "attn_implementation": "eager"}
        loaded = huggingface.loaded(Path(place), **how)

    class Logits(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded

        def forward(self, input_ids: Any) -> Any:
            return self.model(input_ids, use_cache=False).logits

    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
        contextlib.ExitStack() as after,
        torch.no_grad(),
    ):
        warnings.simplefilter("ignore")
        after.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.WARNING)
        torch.onnx.export(
            Logits().eval(),
            (torch.zeros(2, 5, dtype=torch.long),),
            str(folder / "model.onnx"),
            dynamo=True,
            opset_version=OPSET,
            input_names=["input_ids"],
            output_names=["logits"],
            dynamic_shapes=(sizes,),
            external_data=False,
            verbose=False,
        )
    (folder / "tokenizer.json").write_text(model.record.tokenizer or "", encoding="utf-8")


def _check_size(model: Model, width: int) -> None:
    size = width * model.parameters.dense
    if size > LARGEST:
        raise ByheartError(f"the weights are {size:,} bytes, and an ONNX file holds 2 GiB.")


def loaded(file: Path) -> Runtime:
    """A file in ONNX Runtime on the processor."""
    library = package("onnxruntime", "ONNX Runtime")
    options = library.SessionOptions()
    options.log_severity_level = 3  # errors alone
    try:
        session = library.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the package has no common class
        reason = " ".join(str(error).split())
        raise ByheartError(
            f"ONNX Runtime {library.__version__} does not run this graph ({reason}); use "
            "`to='torch'`, or compile with `activation='tanh'` or `activation='logistic'`."
        ) from None
    (given,), (output,) = session.get_inputs(), session.get_outputs()

    def run(inputs: NDArray) -> NDArray:
        kind = np.float64 if given.type == "tensor(double)" else np.int64
        return session.run([output.name], {given.name: inputs.astype(kind)})[0]

    dtype = {"tensor(double)": "float64", "tensor(float)": "float32"}[output.type]
    return Runtime("onnxruntime", library.__version__, dtype, run)
