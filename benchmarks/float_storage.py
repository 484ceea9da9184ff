"""Which libraries satisfy the storage model of float16: operations, and runs of a whole folder.

FORMAT section 10 (Storage) says which results are rounded to float16, and how far each may be off.
Operations are compared with that at random arguments, against doubles; what is shown is the largest
share of the bound. The folder is compiled from facts of CounterFact with `--weights float16`, and
proved: in every execution of the model the right token leads by the margin or more, so a run in
which it leads by less is none.
"""

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import byheart
from byheart.exports import gguf_file, onnx_graph
from byheart.exports.huggingface import loaded, write_checkpoint
from byheart.models.model import Model
from byheart.stock.forward import gelu_new
from byheart.stock.prove import numbered, reads

from . import float_llama
from .float_model import gamma, graph, norm_bound, processor, u, versions
from .report import Options, of, table
from .stock import facts
from .stock_int8 import write_gguf

HALF, LEAST = 2.0**-11, 2.0**-25  # what storing takes, relatively and absolutely
FACTS = 60
WIDTHS = (72, 96, 256, 768)
PRODUCT, BIASED, NORM, ACTIVATION, EAGER, FUSED = OPERATIONS = (
    "a product of matrices",
    "the same with a bias",
    "layer norm",
    "gelu_new",
    "attention, operation by operation",
    "fused attention",
)
LIBRARIES = ("torch", "ONNX Runtime", "llama.cpp")
Half = NDArray[np.float16]


class Torch:
    """Operations of torch in float16, as transformers calls them."""

    def __init__(self) -> None:
        import torch
        from transformers.activations import ACT2FN

        self.torch, self.activation = torch, ACT2FN["gelu_new"]

    def product(self, x: Half, weights: Half) -> NDArray:
        x, weights = map(self.torch.from_numpy, (x, weights))
        return self.torch.nn.functional.linear(x, weights.T.contiguous()).numpy()

    def biased(self, x: Half, weights: Half, bias: Half) -> NDArray:
        return self.torch.addmm(*map(self.torch.from_numpy, (bias, x, weights))).numpy()

    def norm(self, x: Half) -> NDArray:
        return self.torch.nn.functional.layer_norm(
            self.torch.from_numpy(x), (x.shape[1],), eps=1e-5
        ).numpy()

    def gelu(self, z: Half) -> NDArray:
        return self.activation(self.torch.from_numpy(z)).numpy()

    def eager(self, query: Half, key: Half, value: Half) -> NDArray:
        query, key, value = map(self.torch.from_numpy, (query, key, value))
        mask = self.torch.full((len(key), len(key)), self.torch.finfo(query.dtype).min).triu(1)
        scores = query @ key.T * key.shape[1] ** -0.5 + mask.half()
        return (scores.softmax(-1) @ value).numpy()[-1]

    def fused(self, query: Half, key: Half, value: Half) -> NDArray:
        parts = (self.torch.from_numpy(x)[None, None] for x in (query, key, value))
        found = self.torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return found.numpy()[0, 0, -1]


class Onnx:
    """Graphs in float16 in ONNX Runtime, as its optimiser makes them."""

    def product(self, x: Half, weights: Half) -> NDArray:
        return graph([("MatMul", "x w", {})], True, w=weights)(x)

    def biased(self, x: Half, weights: Half, bias: Half) -> NDArray:
        return graph([("Gemm", "x w b", {})], True, w=weights, b=bias)(x)

    def norm(self, x: Half) -> NDArray:
        node = ("LayerNormalization", "x one", {"epsilon": 1e-5})
        return graph([node], True, one=np.ones(x.shape[1], np.float16))(x)

    def gelu(self, z: Half) -> NDArray:
        steps = "Mul x part,Pow x three,Mul 2 cubic,Add x 3,Mul 4 root,Tanh 5,Add 6 one,Mul 1 7"
        nodes = [(x, y, {}) for x, _, y in (step.partition(" ") for step in steps.split(","))]
        named = {"part": 0.5, "three": 3, "cubic": 0.044715, "root": math.sqrt(2 / math.pi)}
        constants = {name: np.float16(x) for name, x in (named | {"one": 1}).items()}
        return graph(nodes, True, **constants)(z)

    def eager(self, query: Half, key: Half, value: Half) -> NDArray:
        nodes = [("MatMul", "x k", {}), ("Mul", "1 factor", {}), ("Softmax", "2", {"axis": -1})]
        factor = np.float16(key.shape[1] ** -0.5)
        keys = np.ascontiguousarray(key.T)
        run = graph([*nodes, ("MatMul", "3 w", {})], True, k=keys, factor=factor, w=value)
        return run(query[-1:])[0]


class Llama:
    """Matrices, keys and values in float16 in llama.cpp."""

    def product(self, x: Half, weights: Half) -> NDArray:
        """Of arguments that its GELU gives back as they are."""
        return np.stack([float_llama.written(row, weights, True) for row in x])

    def norm(self, x: Half) -> NDArray:
        return float_llama.norms(x, rms=False, half=True)

    def gelu(self, z: Half) -> NDArray:
        return float_llama.gelu(z, half=True)

    def eager(self, query: Half, key: Half, value: Half) -> NDArray:
        return float_llama.softmax(key[:, 0], value, flash=False, half=True)

    def fused(self, query: Half, key: Half, value: Half) -> NDArray:
        return float_llama.softmax(key[:, 0], value, flash=True, half=True)


def share(found: NDArray, exact: NDArray, loose: Any) -> float:
    """Which part a stored result uses of what it may be off by.

    loose  what it may be off by before it is stored
    """
    bound = loose + HALF * (np.abs(exact) + loose) + LEAST
    return float((np.abs(found.astype(np.float64) - exact) / bound).max())


def product_share(found: NDArray, x: Half, weights: Half, bias: Half | None = None) -> float:
    x, weights = x.astype(np.float64), weights.astype(np.float64)
    exact, size = x @ weights, np.abs(x) @ np.abs(weights)
    if bias is not None:
        exact, size = exact + bias.astype(np.float64), size + np.abs(bias.astype(np.float64))
    return share(found, exact, gamma(len(weights) + 2) * size)


def gelu_share(found: NDArray, z: Half) -> float:
    """Every operation of the formula may be stored."""
    z = z.astype(np.float64)
    bound = (20 * u + 5 * HALF) * np.abs(z) + 2.0**-22 * (1 + np.abs(z))
    return float((np.abs(found.astype(np.float64) - gelu_new(z)) / bound).max())


def attention_share(found: NDArray, query: Half, key: Half, value: Half) -> float:
    """Of the last place of a head [n, s]."""
    q, k, v = (x.astype(np.float64) for x in (query[-1], key, value))
    places, size = k.shape
    scores, total = k @ q / math.sqrt(size), np.abs(k) @ np.abs(q) / math.sqrt(size)
    wrong = float(((gamma(size + 4) + 4.02 * HALF) * total + 2.0**-20).max())
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    loose = math.expm1(2 * wrong) + gamma(3 * places + 128) + 2.01 * HALF
    loose = loose * (weights @ np.abs(v)) + places * 2.0**-24 * np.abs(v).max(axis=0)
    return share(found, weights @ v, loose)


def drawn(random: np.random.Generator, *shape: int, size: float = 1.0) -> Half:
    return (size * random.standard_normal(shape)).astype(np.float16)


def operations(library: str, tiny: bool) -> dict[str, float]:
    """The largest share of the bound that each operation uses."""
    made = {"torch": Torch, "ONNX Runtime": Onnx, "llama.cpp": Llama}[library]()
    slow, random = library == "llama.cpp", np.random.default_rng(0)
    found: dict[str, float] = {}

    def keep(name: str, value: float) -> None:
        found[name] = max(value, found.get(name, 0.0))

    for lanes in WIDTHS[:1] if tiny else WIDTHS:
        x, weights = drawn(random, 4 if slow else 64, lanes, size=4), drawn(random, lanes, 200)
        if slow:  # from 10 on its GELU changes nothing
            x = (10 + 4 * np.abs(x.astype(np.float64))).astype(np.float16)
        keep(PRODUCT, product_share(made.product(x, weights), x, weights))
        if not slow:
            bias = drawn(random, 200, size=50)
            keep(BIASED, product_share(made.biased(x, weights, bias), x, weights, bias))
        x = (drawn(random, 64, lanes, size=4) + np.float16(3)).astype(np.float16)
        epsilon = float_llama.EPSILON if slow else 1e-5
        keep(NORM, share(made.norm(x), *norm_bound(x.astype(np.float64), False, epsilon)))
        for head in heads(random, lanes, slow):
            for name, run in ((EAGER, "eager"), (FUSED, "fused")):
                if hasattr(made, run):
                    keep(name, attention_share(getattr(made, run)(*head), *head))
    z = np.linspace(-20, 60, 480 if slow or tiny else 200_001).astype(np.float16)
    keep(ACTIVATION, gelu_share(made.gelu(np.unique(z)), np.unique(z)))
    return found


def heads(random: np.random.Generator, lanes: int, slow: bool) -> Iterator[tuple[Half, ...]]:
    """Queries, keys and values [n, s]: random ones, and a mean of many places."""
    places, size = max(9, lanes // 8), 256 if slow else 16
    query, key = drawn(random, places, size, size=2), drawn(random, places, size, size=2)
    if slow:  # in a head of 256 lanes, one of which is not 0
        query, scores = np.zeros_like(query), drawn(random, places, size=4)
        query[:, 0], key = 16, np.zeros_like(key)
        key[:, 0] = scores / np.float16(16) * np.float16(16)
    yield query, key, drawn(random, places, 16, size=2)
    places = 240
    query, key = np.zeros((2, places, size), np.float16)
    query[:, 0] = 16
    yield query, key, (drawn(random, places, 16) + np.float16(3)).astype(np.float16)


# --- runs of a folder

Run = Callable[[NDArray], NDArray]  # tokens [1, n] to logits, or their differences, [V]


def runs(model: Model, folder: Path) -> Iterator[tuple[str, Run]]:
    """How libraries run a folder of float16, as their users do."""
    import onnxruntime
    import torch

    write_checkpoint(model, folder)
    for kind in ("eager", "sdpa"):
        module = loaded(folder, dtype=torch.float16, attn_implementation=kind)
        yield f"transformers, {kind}", in_torch(module, torch)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    plain, half = folder / "plain", folder / "half"
    plain.mkdir(), half.mkdir()
    onnx_graph.write_checkpoint(model, plain)
    write_half_graph(folder, half, torch)
    for name, place in (("in float16", half), ("as exported, in float32", plain)):
        session = onnxruntime.InferenceSession(place / "model.onnx", settings)
        yield f"ONNX Runtime, {name}", in_session(session)
    for name, kind in (("in float16", "F16"), ("as exported, in float32", "F32")):
        write_gguf(model, folder, kind)
        server = gguf_file.llama_server(folder / "model.gguf", model.network.length)
        yield f"llama.cpp, {name}, with its defaults", in_server(server)


def in_torch(module: Any, torch: Any) -> Run:
    def run(tokens: NDArray) -> NDArray:
        with torch.no_grad():
            return module(torch.from_numpy(tokens)).logits[0, -1].double().numpy()

    return run


def write_half_graph(folder: Path, place: Path, torch: Any) -> None:
    """The graph of the module in float16, with attention operation by operation."""
    loaded_half = loaded(folder, dtype=torch.float16, attn_implementation="eager")

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded_half

        def forward(self, input_ids: Any) -> Any:
            return self.model(input_ids, use_cache=False).logits

    example = torch.zeros(2, 5, dtype=torch.long)
    sizes = {"input_ids": ("batch", "length")}
    onnx_graph._trace(Logits().eval(), example, place, sizes, "logits")


def in_session(session: Any) -> Run:
    return lambda tokens: session.run(None, {"input_ids": tokens})[0][0, -1].astype(np.float64)


def in_server(server: Any) -> Run:
    """Logarithms of probabilities, which differ from logits by one number; of two tokens."""

    def run(tokens: NDArray) -> NDArray:
        asked = {"prompt": tokens[0].tolist(), "max_tokens": 1, "temperature": 0.0, "logprobs": 2}
        answer = server.handle_completions({**asked, "cache_prompt": False})
        (first,) = answer["choices"][0]["logprobs"]["content"]
        found = np.full(1 + max(x["id"] for x in first["top_logprobs"]), -np.inf)
        for x in first["top_logprobs"]:
            found[x["id"]] = x["logprob"]
        return found

    return run


def lead(logits: NDArray, answer: int) -> float:
    """By how much the answer's logit exceeds all others."""
    if answer >= len(logits):
        return -math.inf
    return float(logits[answer] - np.delete(logits, answer).max())


def folder_runs(source: Path, count: int) -> dict:
    with tempfile.TemporaryDirectory() as place:
        data = facts(source, count, place)
        model = byheart.compile(data, "gpt2", weights="float16")
    sequences, answers = numbered(model, reads(model, data))
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for name, run in runs(model, Path(place)):
            leads = [
                lead(run(x[None].astype(np.int64)), y)
                for x, y in zip(sequences, answers.tolist(), strict=True)
            ]
            found[name] = {"right": sum(x > 0 for x in leads), "least": min(leads)}
            print(json.dumps({name: found[name]}), flush=True)
    verified = model.verification
    return {
        "facts": count, "predictions": len(sequences), "parameters": model.parameters.dense,
        "evidence": verified.evidence, "margin": verified.margin, "runs": found,
    }  # fmt: skip


def measure(options: Options) -> dict:
    import torch
    import transformers

    torch.set_num_threads(1)
    source = options.file("counterfact.jsonl")
    return {
        "processor": processor(),
        "versions": versions() | {"transformers": transformers.__version__},
        "operations": {name: operations(name, options.tiny) for name in LIBRARIES},
        "folder": folder_runs(source, 3 if options.tiny else FACTS),
    }


def markdown(results: dict) -> str:
    named = ", ".join(f"{name} {x}" for name, x in results["versions"].items())
    body = []
    for name in OPERATIONS:
        rows = (results["operations"][library] for library in LIBRARIES)
        shown = (f"{row[name]:.2g}" if name in row else "not measured" for row in rows)
        body.append((name, *shown))
    folder = results["folder"]
    first = (
        f"Runs of the folder of {folder['facts']:,} facts ({folder['predictions']:,} predictions, "
        f"{folder['parameters']:,} parameters; {folder['evidence']}"
    )
    if folder["margin"] is not None:
        first += f", with a margin of {folder['margin']:.3f} nats"
    rows = [
        (name, of(row["right"], folder["predictions"]), f"{row['least']:.3f}")
        for name, row in folder["runs"].items()
    ]
    return "\n\n".join(
        [
            f"Processor: {results['processor']}. {named}.",
            table(("largest share of what it may be off by", *LIBRARIES), body),
            f"{first}):",
            table(("runtime", "right", "smallest margin in the run, nats"), rows),
        ]
    )


def missed(results: dict) -> list[str]:
    """What is outside of the model, although the page says that all are within it."""
    above = {
        f"{name}: {library}"
        for library, row in results["operations"].items()
        for name, found in row.items()
        if found > 1
    }
    folder = results["folder"]
    above |= {
        name for name, row in folder["runs"].items() if row["least"] < (folder["margin"] or 0)
    }
    return sorted(above)
