"""Stock checkpoints in eight bits: how many facts survive quantisation, in each library.

The first 1,000 facts of CounterFact, compiled in float32 and then quantised by

- byheart: every row of a weight matrix becomes integers from -127 to 127 times one factor, and the
  network is run in float32 (NumPy), so that nothing but the weights is rounded;
- ONNX Runtime's `quantize_dynamic`: int8 weights per channel, uint8 activations;
- torch's `quantize_dynamic`: int8 weights and activations of linear layers (GPT-2's are of a class
  of transformers that it leaves alone, so Llama only);
- llama.cpp: GGUF with Q8_0, blocks of 32 weights with one factor, activations likewise. A matrix
  whose rows are no multiple of 32 stays in float32; Llama is compiled with a width of 160 for this.

A fact survives if every token of its answer and the end after it are right. Nothing is claimed of
quantised weights: these are counts of runs.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import byheart
from byheart.claims.kind import Runtime
from byheart.exports import gguf_file, onnx_graph
from byheart.exports.huggingface import loaded, write_checkpoint
from byheart.models.model import Model
from byheart.stock.forward import answers
from byheart.stock.prove import numbered, reads, said_tokens
from byheart.stock.texts import texts_of

from .report import Options, table
from .stock import facts

COUNT = 1_000
ROWS: list[tuple[str, dict]] = [
    ("gpt2", {}),
    ("gpt2", {"reach": 0.05}),
    ("llama", {"width": 160}),
    ("llama", {"width": 160, "reach": 0.05}),
    ("gpt2", {"superposed": 0}),
]
LIBRARIES = ("weights alone", "ONNX Runtime", "torch", "llama.cpp Q8_0")


def in_numpy(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    tensors = {}
    for name, x in model.network.tensors.items():
        tensors[name] = x
        if x.ndim == 2 and "wpe" not in name:
            axis = 0 if model.network.family.rms or "wte" in name else 1  # of the outputs
            scale = np.abs(x).max(axis=1 - axis, keepdims=True) / 127
            whole = np.rint(x / np.where(scale > 0, scale, 1))
            tensors[name] = (whole * scale).astype(np.float32)
    return answers(replace(model.network, tensors=tensors), sequences, np.float32)


def in_onnxruntime(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx_graph.write_checkpoint(model, folder)
    small = folder / "int8.onnx"
    quantize_dynamic(folder / "model.onnx", small, per_channel=True, weight_type=QuantType.QInt8)
    return said(model, sequences, onnx_graph.loaded(small))


def in_torch(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    import torch

    if not model.network.family.rms:
        return None
    place = folder / "torch"
    place.mkdir()
    write_checkpoint(model, place)
    module = loaded(place, dtype=torch.float32)
    module = torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear}, torch.qint8)

    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            return module(torch.from_numpy(tokens.astype(np.int64))).logits.numpy()

    return said(model, sequences, Runtime("torch", torch.__version__, "int8", run))


def in_llama_cpp(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    write_gguf(model, folder, "Q8_0")
    return said(model, sequences, gguf_file.loaded(folder / "model.gguf", model.network))


def write_gguf(model: Model, folder: Path, name: str) -> None:
    """The file that `byheart export` writes, with another type in place of float32."""
    import gguf

    kind = gguf.GGMLQuantizationType[name]
    block = gguf.GGML_QUANT_SIZES[kind][0]

    class Writer(gguf.GGUFWriter):
        def add_tensor(self, name: str, tensor: NDArray) -> None:
            if tensor.ndim == 2 and tensor.shape[1] % block == 0 and "position" not in name:
                small = gguf.quants.quantize(tensor, kind)
                super().add_tensor(name, small, raw_dtype=kind)
            else:
                super().add_tensor(name, tensor)

    plain, read_back = gguf.GGUFWriter, gguf_file._read_back
    gguf.GGUFWriter, gguf_file._read_back = Writer, lambda *_: None
    try:
        gguf_file.write(model, folder)
    finally:
        gguf.GGUFWriter, gguf_file._read_back = plain, read_back


def said(model: Model, sequences: list[NDArray], runtime: Runtime) -> NDArray:
    return said_tokens(sequences, model.network.size("vocabulary"), runtime, None)


def surviving(found: NDArray, wanted: NDArray, sequences: list[NDArray]) -> int:
    """Texts all of whose predictions are right."""
    texts = texts_of(sequences)
    wrong = np.zeros(len(texts.tokens), bool)
    np.logical_or.at(wrong, texts.text, found != wanted)
    return int((~wrong).sum())


def measured(source: Path, count: int, method: str, options: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        data = facts(source, count, folder)
    model = byheart.compile(data, method, **options)
    sequences, wanted = numbered(model, reads(model, data))
    result: dict = {"method": method, "options": options, "facts": {}, "predictions": {}}
    ways = (in_numpy, in_onnxruntime, in_torch, in_llama_cpp)
    for library, way in zip(LIBRARIES, ways, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            answered = way(model, sequences, Path(folder))
        if answered is not None:
            result["facts"][library] = surviving(answered, wanted, sequences)
            result["predictions"][library] = int((answered == wanted).sum())
    return result | {"texts": len(texts_of(sequences).tokens), "of": len(wanted)}


def measure(options: Options) -> list[dict]:
    source, rows = options.file("counterfact.jsonl"), []
    for method, chosen in ROWS[2:3] if options.tiny else ROWS:
        rows.append(measured(source, 3 if options.tiny else COUNT, method, chosen))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def markdown(results: list[dict]) -> str:
    body = []
    for row in results:
        flags = "".join(f" --{name} {value}" for name, value in row["options"].items())
        body.append((f"`{row['method']}{flags}`", *(row["facts"].get(x, "-") for x in LIBRARIES)))
    return table((f"facts that survive, of {COUNT:,}", *LIBRARIES), body)
