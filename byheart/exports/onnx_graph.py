"""ONNX: model.onnx with the weights inside, traced by torch.onnx.

Float64 networks and decoders are traced as the modules of an export to torch compute them, stock
checkpoints as transformers runs them.
"""

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..errors import ByheartError
from ..models.model import Model
from . import huggingface, pytorch
from .packages import package

OPSET = 18
LARGEST = (1 << 31) - (1 << 24)  # bytes: a file of protocol buffers holds 2 GiB


def write_network(model: Model, folder: Path) -> None:
    """A float64 network: columns [batch, columns, coordinates] to label [batch], both float64."""
    reads = model.network.input
    example = np.zeros((2, reads.columns, reads.dimension))
    _write(pytorch.write_network, model, folder, example, {"columns": ("batch",)}, "label")


def write_decoder(model: Model, folder: Path) -> None:
    """A decoder: input_ids to logits [batch, vocabulary], float64."""
    pytorch.check_decoder(model, "ONNX")
    shape = model.network.shape
    fixed = shape.padding is not None or shape.length == 1
    given = {"input_ids": ("batch",) if fixed else ("batch", "length")}
    example = np.zeros((2, shape.length), np.int64)
    _write(pytorch.write_decoder, model, folder, example, given, "logits")


def _write(
    write: Callable[[Model, Path], None], model: Model, folder: Path, example: NDArray,
    given: Mapping[str, tuple[str, ...]], output: str,
) -> None:  # fmt: skip
    """model.onnx of the module that an export to torch has, and its config.json beside it."""
    _check_size(model, 8)
    torch = _libraries()
    with tempfile.TemporaryDirectory(prefix=".byheart-", dir=folder) as place:
        write(model, Path(place))
        module = pytorch.code(Path(place) / "model.py").load(place)
        (folder / "config.json").write_bytes((Path(place) / "config.json").read_bytes())
    _trace(module, torch.from_numpy(example), folder, given, output)


def write_checkpoint(model: Model, folder: Path) -> None:
    """A checkpoint: input_ids [batch, length] to logits [..., vocabulary]."""
    _check_size(model, 4)
    torch = _libraries()
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

    example = torch.zeros(2, 5, dtype=torch.long)
    _trace(Logits().eval(), example, folder, {"input_ids": ("batch", "length")}, "logits")
    (folder / "tokenizer.json").write_text(model.record.tokenizer or "", encoding="utf-8")


def _libraries() -> Any:
    """PyTorch, if all that it needs to write ONNX is there."""
    _, _, torch = (package(name, "an export to ONNX") for name in ("onnx", "onnxscript", "torch"))
    return torch


def _trace(
    module: Any, example: Any, folder: Path, given: Mapping[str, tuple[str, ...]], output: str
) -> None:
    """model.onnx of a module, quietly; `given` has the input with the names of its free sizes."""
    torch, ((name, sizes),) = _libraries(), given.items()
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
            module,
            (example,),
            str(folder / "model.onnx"),
            dynamo=True,
            opset_version=OPSET,
            input_names=[name],
            output_names=[output],
            dynamic_shapes=(dict(enumerate(sizes)),),
            external_data=False,
            verbose=False,
        )
    _anonymous(folder / "model.onnx")


def _anonymous(file: Path) -> None:
    """Take out where each node comes from: the folders of this machine."""
    library = package("onnx", "an export to ONNX")
    made = library.load(file)
    for part in (made, made.graph, *made.graph.node, *made.graph.value_info):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    file.write_bytes(made.SerializeToString(deterministic=True))


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
        return session.run([output.name], {given.name: inputs.astype(kinds[given.type])})[0]

    kinds = {"tensor(double)": "float64", "tensor(float)": "float32", "tensor(int64)": "int64"}
    dtype = kinds[output.type]
    return Runtime("onnxruntime", library.__version__, dtype, run)
