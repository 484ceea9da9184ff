"""Stock checkpoints in eight bits: how many facts survive quantisation, in each library.

    python benchmarks/stock_int8.py [--data ../shared/data] [--write]

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

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import byheart
from byheart.exports import gguf_file, onnx_graph
from byheart.exports.huggingface import loaded
from byheart.exports.judging import Runtime, next_tokens
from byheart.models.model import Model
from byheart.stock.forward import answers
from byheart.stock.texts import texts_of

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- int8:begin -->", "<!-- int8:end -->"
COUNT, TOKENIZER = 1_000, "bpe:8000"
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

    onnx_graph.write(model, folder)
    small = folder / "int8.onnx"
    quantize_dynamic(folder / "model.onnx", small, per_channel=True, weight_type=QuantType.QInt8)
    return said(model, sequences, onnx_graph.runtime(small))


def in_torch(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    import torch

    if not model.network.family.rms:
        return None
    module = loaded(model, folder, "float32")
    module = torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear}, torch.qint8)

    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            return module(torch.from_numpy(tokens.astype(np.int64))).logits.numpy()

    return said(model, sequences, Runtime("torch", torch.__version__, "int8", run))


def in_llama_cpp(model: Model, sequences: list[NDArray], folder: Path) -> NDArray | None:
    """The file that `byheart export` writes, with Q8_0 in place of float32."""
    import gguf

    class Writer(gguf.GGUFWriter):
        def add_tensor(self, name: str, tensor: NDArray) -> None:
            kind = gguf.GGMLQuantizationType.Q8_0
            if tensor.ndim == 2 and tensor.shape[1] % 32 == 0 and "position" not in name:
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
    return said(model, sequences, gguf_file.runtime(folder / "model.gguf", model.network))


def said(model: Model, sequences: list[NDArray], runtime: Runtime) -> NDArray:
    return next_tokens(sequences, model.network.size("vocabulary"), runtime, None)


def surviving(found: NDArray, wanted: NDArray, sequences: list[NDArray]) -> int:
    """Texts all of whose predictions are right."""
    texts = texts_of(sequences)
    wrong = np.zeros(len(texts.tokens), bool)
    np.logical_or.at(wrong, texts.text, found != wanted)
    return int((~wrong).sum())


def measured(path: Path, method: str, options: dict) -> dict:
    data = byheart.load(path, input=["prompt"], label="answer", tokenizer=TOKENIZER)
    model = byheart.compile(data, method, **options)
    held = model.claim.reads(model, data)
    places, rows = model.places, range(len(held))
    sequences = [np.array([places[x] for x in held.sequence(i)]) for i in rows]
    wanted = np.array([places[held.label(i)] for i in rows])
    result = {"method": method, "options": options, "facts": {}, "predictions": {}}
    ways = (in_numpy, in_onnxruntime, in_torch, in_llama_cpp)
    for library, way in zip(LIBRARIES, ways, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            found = way(model, sequences, Path(folder))
        if found is not None:
            result["facts"][library] = surviving(found, wanted, sequences)
            result["predictions"][library] = int((found == wanted).sum())
    return result | {"texts": len(texts_of(sequences).tokens), "of": len(wanted)}


def markdown(results: list[dict]) -> str:
    lines = [
        f"| facts that survive, of {COUNT:,} | {' | '.join(LIBRARIES)} |",
        f"| --- |{' ---: |' * len(LIBRARIES)}",
    ]
    for row in results:
        options = "".join(f" --{name} {value}" for name, value in row["options"].items())
        cells = (f"{row['facts'][x]:,}" if x in row["facts"] else "-" for x in LIBRARIES)
        lines.append(f"| `{row['method']}{options}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true", help="write stock_int8.json and the page")
    options = parser.parse_args()
    source = options.data / "counterfact.jsonl"
    if not source.exists():
        sys.exit(f"{options.data} has no counterfact.jsonl; give the folder with --data")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.jsonl"
        path.write_text("".join(source.read_text().splitlines(keepends=True)[:COUNT]))
        for method, chosen in ROWS:
            results.append(measured(path, method, chosen))
            print(json.dumps(results[-1]), flush=True)
    print(markdown(results))
    if options.write:
        (ROOT / "benchmarks/stock_int8.json").write_text(json.dumps(results, indent=1) + "\n")
        page = ROOT / "docs/stock.md"
        before, _, rest = page.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{BEGIN}\n{markdown(results)}\n{END}{after}")


if __name__ == "__main__":
    main()
