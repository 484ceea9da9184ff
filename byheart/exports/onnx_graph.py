"""ONNX: model.onnx with the weights inside.

Float64 networks and decoders are written node by node; stock checkpoints are traced by torch.onnx
as transformers runs them.
"""

import contextlib
import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ByheartError
from ..models.claims import Labels, Recites
from ..models.folder.names import as_json
from ..models.model import Model
from . import huggingface, pytorch
from .judging import Runtime
from .onnx_doubles import of_decoder, of_network
from .packages import package

OPSET = 18
LARGEST = (1 << 31) - (1 << 24)  # bytes: a file of protocol buffers holds 2 GiB


def write(model: Model, folder: Path) -> None:
    """model.onnx, and the words of the model beside it.

    A checkpoint: input_ids [batch, length] to logits [batch, length, vocabulary], float32.
    A decoder: input_ids to logits [batch, vocabulary], float64. A float64 network: columns
    [batch, columns, coordinates] to label [batch], both float64.
    """
    stock = isinstance(model.claim, Recites)
    if not stock:
        pytorch.refuse_other(model, "ONNX")
    size = model.parameters.dense * (4 if stock else 8)
    if size > LARGEST:
        raise ByheartError(f"the weights are {size:,} bytes, and an ONNX file holds 2 GiB.")
    library = package("onnx", "an export to ONNX")
    if stock:
        _trace(model, folder)
        (folder / "tokenizer.json").write_text(model.about["tokenizer"], encoding="utf-8")
        return
    labels = isinstance(model.claim, Labels)
    made = (of_network if labels else of_decoder)(model.network, OPSET)
    library.checker.check_model(made)
    (folder / "model.onnx").write_bytes(made.SerializeToString(deterministic=True))
    (folder / "config.json").write_bytes(as_json(pytorch.described(model)))


def _trace(model: Model, folder: Path) -> None:
    """The checkpoint as transformers runs it, traced; what the exporter prints stays here."""
    package("onnxscript", "an export to ONNX")
    torch = package("torch", "an export to ONNX")
    loaded = huggingface.loaded(model, folder, "float32", attn_implementation="eager")

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


def runtime(file: Path) -> Runtime:
    """The file in ONNX Runtime on the processor."""
    library = package("onnxruntime", "ONNX Runtime")
    options = library.SessionOptions()
    options.log_severity_level = 3  # errors alone
    try:
        session = library.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the package has no common class
        reason = " ".join(str(error).split())
        raise ByheartError(
            f"ONNX Runtime {library.__version__} does not run this graph ({reason}); use "
            "to='torch', or compile with activation='tanh' or activation='logistic'."
        ) from None
    (given,), (output,) = session.get_inputs(), session.get_outputs()

    def run(inputs: NDArray) -> NDArray:
        kind = np.float64 if given.type == "tensor(double)" else np.int64
        return session.run([output.name], {given.name: inputs.astype(kind)})[0]

    dtype = {"tensor(double)": "float64", "tensor(float)": "float32"}[output.type]
    return Runtime("onnxruntime", library.__version__, dtype, run)
