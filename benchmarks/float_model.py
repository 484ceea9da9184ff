"""Which libraries satisfy the float32 model: the largest errors that were found on this processor.

Functions at random arguments, uniform and of all sizes, against doubles (whose own error is below
1e-8 u); softmax and norms at inputs that are hard (scores far apart, means far from 0), as a share
of the bound that FORMAT section 10 gives for them. u is 2^-24, half a unit in the last place of a
number just above a power of two. A maximum over random arguments is a lower bound of the largest
error. llama.cpp is seen through the embeddings of files made for it (float_llama.py).
"""

import math
import platform
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from byheart.stock.forward import gelu, gelu_new, norm, silu

from . import float_llama
from .report import Options, table

u = 2.0**-24
COUNT, TINY_COUNT = 1 << 21, 1 << 10
LEAST = 2.0**-125  # smaller results are within the 2^-126 of the rules
LIBRARIES = ("NumPy", "torch", "ONNX Runtime", "llama.cpp")
WIDTHS = (72, 96, 160, 768)
PLACES = (1, 7, 63, 127, 255)
# what the page says of them: these are not within the rules
OUTSIDE = {
    "logistic: ONNX Runtime", "SiLU: ONNX Runtime", "GELU (tanh): llama.cpp",
    "llama.cpp, flash attention",
}  # fmt: skip
RULE, PART, ABSOLUTE, RELATIVE = "rule", "of its argument", "absolute", "relative"
Function = Callable[..., NDArray]


def sigmoid(x: NDArray) -> NDArray:
    return 1 / (1 + np.exp(-x))


def inverse_root(x: NDArray) -> NDArray:
    return 1 / np.sqrt(x)


# name: the function in doubles, its arguments, what its error is compared with, and the rule in u
FUNCTIONS: dict[str, tuple[Function, tuple[float, float], str, int]] = {
    "exp": (np.exp, (-87, 88), RELATIVE, 8),
    "tanh": (np.tanh, (-20, 20), RELATIVE, 8),
    "erf": (special.erf, (-6, 6), RELATIVE, 16),
    "1 / sqrt": (inverse_root, (1e-12, 1e12), RELATIVE, 8),
    "logistic": (sigmoid, (-87, 87), RELATIVE, 8),
    "cos": (np.cos, (0, 4096), ABSOLUTE, 8),
    "sin": (np.sin, (0, 4096), ABSOLUTE, 8),
    "SiLU": (silu, (-80, 80), RELATIVE, 16),
    "GELU (tanh)": (gelu_new, (-20, 20), PART, 16),
    "GELU (erf)": (gelu, (-20, 20), PART, 16),
}


def arguments(span: tuple[float, float], count: int) -> NDArray:
    """Half of them uniform, half of all sizes."""
    random, (low, high) = np.random.default_rng(0), span
    uniform = random.uniform(low, high, count // 2)
    sizes = 10 ** random.uniform(math.log10(low) if low > 0 else -12, math.log10(high), count // 2)
    signs = random.choice([-1, 1], count // 2) if low < 0 else 1
    return np.concatenate([uniform, np.clip(sizes * signs, low, high)]).astype(np.float32)


def functions_of(library: str) -> dict[str, Function]:
    """From float32 to what the library makes of it."""
    if library == "NumPy":
        return {name: row[0] for name, row in FUNCTIONS.items()}
    if library == "llama.cpp":
        return {"SiLU": float_llama.silu, "GELU (tanh)": float_llama.gelu}
    if library == "torch":
        import torch
        from torch.nn import functional

        def of(function: Any, **options: Any) -> Function:
            return lambda x: function(torch.from_numpy(x), **options).numpy()

        return {
            "exp": of(torch.exp), "tanh": of(torch.tanh), "erf": of(torch.erf),
            "1 / sqrt": of(torch.rsqrt), "logistic": of(torch.sigmoid), "cos": of(torch.cos),
            "sin": of(torch.sin), "SiLU": of(functional.silu),
            "GELU (tanh)": of(functional.gelu, approximate="tanh"),
            "GELU (erf)": of(functional.gelu),
        }  # fmt: skip
    single: dict[str, tuple[str, dict]] = {
        "exp": ("Exp", {}), "tanh": ("Tanh", {}), "erf": ("Erf", {}), "logistic": ("Sigmoid", {}),
        "cos": ("Cos", {}), "sin": ("Sin", {}), "GELU (erf)": ("Gelu", {}),
        "GELU (tanh)": ("Gelu", {"approximate": "tanh"}),
    }  # fmt: skip
    found = {name: graph([(node, "x", options)]) for name, (node, options) in single.items()}
    found["1 / sqrt"] = graph([("Sqrt", "x", {}), ("Reciprocal", "1", {})])
    found["SiLU"] = graph([("Sigmoid", "x", {}), ("Mul", "x 1", {})])
    return found


def graph(nodes: list[tuple[str, str, dict]], half: bool = False, **constants: Any) -> Any:
    """Nodes of ONNX with their inputs, in ONNX Runtime with one thread; node i gives the name i."""
    import onnx
    import onnxruntime

    made = [
        onnx.helper.make_node(name, inputs.split(), [str(i)], **options)
        for i, (name, inputs, options) in enumerate(nodes, 1)
    ]
    kind = onnx.TensorProto.FLOAT16 if half else onnx.TensorProto.FLOAT
    read = {x for _, inputs, _ in nodes for x in inputs.split()}
    given = [onnx.helper.make_tensor_value_info(x, kind, None) for x in ("x", "v") if x in read]
    ends = [onnx.helper.make_tensor_value_info(str(len(nodes)), kind, None)]
    held = [onnx.numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()]
    body = onnx.helper.make_graph(made, "graph", given, ends, held)
    opset = onnx.helper.make_opsetid("", 20)
    model = onnx.helper.make_model(body, opset_imports=[opset], ir_version=9)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
    names = [x.name for x in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays, strict=True)))[0]


def error_of(name: str, function: Function, count: int) -> float:
    """The largest error in u."""
    truth, span, kind, _ = FUNCTIONS[name]
    x = arguments(span, count)
    exact, found = truth(x.astype(np.float64)), function(x).astype(np.float64)
    size = {RELATIVE: np.abs(exact), PART: np.abs(x.astype(np.float64)), ABSOLUTE: 1.0}[kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.abs(found - exact) / size / u
    return float(errors[np.abs(exact) >= LEAST].max() if kind == RELATIVE else np.nanmax(errors))


def saturates(functions: dict[str, Function]) -> bool:
    """Rule 3: tanh is -1 below -20, and erf below -5."""
    far = np.linspace(-100, -20.0001, 10_001).astype(np.float32)
    near = np.linspace(-50, -5.00001, 10_001).astype(np.float32)
    return bool((functions["tanh"](far) == -1).all() and (functions["erf"](near) == -1).all())


# --- norms


def gamma(terms: Any) -> Any:
    return terms * u / (1 - terms * u)


def norm_bound(x: NDArray, rms: bool, epsilon: float) -> tuple[NDArray, NDArray]:
    """The exact norm of rows, with gains 1, and what rule 4 allows."""
    size = x.shape[1]
    centre = np.zeros((len(x), 1)) if rms else x.mean(axis=1, keepdims=True)
    each = np.abs(x).mean(axis=1, keepdims=True)
    squares = (x * x).mean(axis=1, keepdims=True)
    off = np.zeros_like(centre) if rms else gamma(size + 48) * each
    wrong = gamma(size + 4) * squares
    if not rms:
        wrong = gamma(size + 16) * (squares + 2 * (np.abs(centre) + off) * each) + off**2
    spread = ((x - centre) ** 2).mean(axis=1, keepdims=True) + epsilon
    scale = 1 / np.sqrt(spread)
    share = np.minimum(wrong / spread, 0.99)
    factor = (1 + 10 * u) / np.sqrt(1 - share) - 1
    exact = (x - centre) * scale
    grown = scale * (1 + factor)
    bound = (
        np.abs(exact) * factor + off * grown + 6 * u * (np.abs(x) + np.abs(centre) + off) * grown
    )
    return exact, bound + gamma(2) * (np.abs(exact) + bound) + 2.0**-99


def rows_of(size: int, trials: int) -> NDArray:
    """Streams: normal or +-1, of all sizes, with a mean of 0 or far from it."""
    random, rows = np.random.default_rng(size), []
    for trial in range(trials):
        scale, shift = 10 ** random.uniform(-2, 3), random.choice([0, 1, 30])
        lanes = random.standard_normal(size) if trial % 3 else random.choice([-1, 1], size)
        rows.append(scale * (shift + lanes))
    return np.stack(rows).astype(np.float32)


def norms_of(library: str, rms: bool, epsilon: float) -> Callable[[int], Function]:
    """A function of rows, for each width."""
    if library == "llama.cpp":
        return lambda size: lambda x: float_llama.norms(x, rms)
    if library == "NumPy":
        one = np.float32(1)
        return lambda size: lambda x: norm(x, one, None, np.float32(epsilon), rms)
    if library == "torch":
        import torch
        from torch.nn import functional

        given = functional.rms_norm if rms else functional.layer_norm
        return lambda size: lambda x: given(torch.from_numpy(x), (size,), eps=epsilon).numpy()
    if not rms:
        nodes = [("LayerNormalization", "x one", {"epsilon": epsilon})]
        return lambda size: graph(nodes, one=np.ones(size, np.float32))
    steps = "Mul x x,ReduceMean 1 axes,Add 2 epsilon,Sqrt 3,Reciprocal 4,Mul x 5,Mul 6 one"
    parts = [(name, inputs, {}) for name, _, inputs in (x.partition(" ") for x in steps.split(","))]
    small, axes = np.float32(epsilon), np.array([-1])
    return lambda size: graph(parts, one=np.ones(size, np.float32), epsilon=small, axes=axes)


def norm_share(library: str, rms: bool, trials: int) -> tuple[float, float]:
    """The largest share of the bound, and the largest error in u of the largest lane."""
    epsilon = float_llama.EPSILON if library == "llama.cpp" else 1e-5
    share = units = 0.0
    for size in WIDTHS:
        x = rows_of(size, trials)
        exact, bound = norm_bound(x.astype(np.float64), rms, epsilon)
        wrong = np.abs(norms_of(library, rms, epsilon)(size)(x) - exact)
        share = max(share, float((wrong / bound).max()))
        units = max(units, float((wrong.max(axis=1) / np.abs(exact).max(axis=1)).max() / u))
    return share, units


# --- softmax, and the frequencies of rotary positions


def eager(scores: NDArray, values: NDArray) -> NDArray:
    shares = np.exp(scores - scores.max())
    return (shares / shares.sum()) @ values


def softmax_of(library: str) -> dict[str, Function]:
    """From scores [n] and values [n, 64] to what a head gives, by how it is computed."""
    if library == "NumPy":
        return {"NumPy": eager}
    if library == "llama.cpp":
        names = {"llama.cpp": False, "llama.cpp, flash attention": True}

        def read(flash: bool) -> Function:
            return lambda scores, values: float_llama.softmax(scores, values, flash)

        return {name: read(flash) for name, flash in names.items()}
    if library == "ONNX Runtime":
        run = graph([("Softmax", "x", {"axis": -1}), ("MatMul", "1 v", {})])
        return {library: lambda scores, values: run(scores[None], values)[0]}
    import torch
    from torch.nn import functional

    def plain(scores: NDArray, values: NDArray) -> NDArray:
        return (torch.from_numpy(scores)[None].softmax(-1) @ torch.from_numpy(values)).numpy()[0]

    def fused(scores: NDArray, values: NDArray) -> NDArray:
        count, size = values.shape
        query, key = (
            np.zeros((1, 1, 1, size), np.float32),
            np.zeros((1, 1, count, size), np.float32),
        )
        query[..., 0], key[..., 0] = 1, scores
        parts = map(torch.from_numpy, (query, key, values[None, None]))
        return functional.scaled_dot_product_attention(*parts, scale=1.0).numpy()[0, 0, 0]

    return {"torch, eager": plain, "torch, SDPA": fused}


def heads(places: int, trials: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Scores and values: single weights are seen, or sums with both signs."""
    random = np.random.default_rng(places)
    lanes = min(64, places)
    own = np.zeros((places, lanes), np.float32)
    own[np.linspace(0, places - 1, lanes).astype(int), np.arange(lanes)] = 1
    for trial in range(trials):
        spread = (1, 10, 60, 87)[trial % 4]
        scores = -spread * random.random(places)
        scores = np.sort(scores) if trial % 3 == 1 else scores
        mixed = random.standard_normal((places, lanes)).astype(np.float32)
        yield scores.astype(np.float32), mixed if trial % 5 == 4 else own


def softmax_share(function: Function, trials: int, most: int) -> tuple[float, float]:
    """The largest share of the bound of rule 5, and the largest relative error in u."""
    share = units = 0.0
    for last in (x for x in PLACES if x <= most):
        for scores, values in heads(last + 1, trials):
            exact_scores = scores.astype(np.longdouble)
            weights = np.exp(exact_scores - exact_scores.max())
            weights = (weights / weights.sum()).astype(np.float64)
            exact, size = weights @ values, weights @ np.abs(values)
            bound = gamma(3 * last + 128) * size
            bound += (last + 1) * 2.0**-125 * np.abs(values).max() + 2.0**-100
            wrong = np.abs(function(scores, values) - exact)
            share = max(share, float((wrong / bound).max()))
            units = max(units, float((wrong / np.maximum(size, 2.0**-80)).max() / u))
    return share, units


def frequency_error(library: str, powers: bool) -> float:
    """1 / theta^(2 f / s) as transformers computes it, for all even s up to 256, in u."""
    most = 0.0
    for theta in (1e4, 5e5, 1e6, 1e9):
        for size in range(2, 257, 2):
            if powers and size & (size - 1):
                continue
            exponent = np.arange(0, size, 2)
            if library == "torch":
                import torch

                found = (1.0 / theta ** (torch.from_numpy(exponent).float() / size)).numpy()
            else:
                found = np.float32(1) / np.float32(theta) ** (
                    exponent.astype(np.float32) / np.float32(size)
                )
            exact = theta ** (-exponent / np.longdouble(size))
            most = max(most, float((np.abs(found - exact) / exact).max() / u))
    return most


def processor() -> str:
    """The name of the processor, and what NumPy found in it."""
    place = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", place.read_text()) if place.exists() else None
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return f"{named[1] if named else platform.processor()} ({', '.join(simd['found'])})"


def versions() -> dict[str, str]:
    import onnxruntime
    import scipy
    import torch
    import xllamacpp

    modules = {"NumPy": np, "SciPy": scipy, "torch": torch, "ONNX Runtime": onnxruntime}
    found = {name: module.__version__ for name, module in modules.items()}
    return found | {"llama.cpp": f"by xllamacpp {xllamacpp.__version__}"}


def measure(options: Options) -> dict:
    import torch

    torch.set_num_threads(1)
    tiny = options.tiny
    functions: dict[str, dict[str, float]] = {name: {} for name in FUNCTIONS}
    norms: dict[str, dict[str, tuple]] = {"layer norm": {}, "RMS norm": {}}
    softmax, saturated, frequencies = {}, {}, {}
    for library in LIBRARIES:
        known, slow = functions_of(library), library == "llama.cpp"
        for name, function in known.items():
            count = TINY_COUNT if tiny else 1 << 15 if slow else COUNT
            count = 480 if slow and (tiny or "GELU" in name) else count
            functions[name][library] = error_of(name, function, count)
        if "tanh" in known:
            saturated[library] = saturates(known)
        for name, row in norms.items():
            trials = 2 if tiny else 20 if slow else 1000
            row[library] = norm_share(library, name.startswith("RMS"), trials)
        for name, function in softmax_of(library).items():
            trials = 1 if tiny else 12 if slow else 400
            softmax[name] = softmax_share(function, trials, 127 if slow else max(PLACES))
        if library in ("NumPy", "torch") and not tiny:
            frequencies[library] = [frequency_error(library, powers) for powers in (True, False)]
    return {
        "processor": processor(), "versions": versions(), "arguments": COUNT,
        "functions": functions, "saturates": saturated, "norms": norms, "softmax": softmax,
        "frequencies": frequencies,
    }  # fmt: skip


def markdown(results: dict) -> str:
    named = ", ".join(f"{name} {x}" for name, x in results["versions"].items())
    body = []
    for name, row in results["functions"].items():
        kind, limit = FUNCTIONS[name][2:]
        found = (f"{row[x]:,.1f}" if x in row else "not measured" for x in LIBRARIES)
        body.append((f"{name}, {kind}", str(limit), *found))
    for name, i in (("theta^(-2 f / s), s a power of 2", 0), ("the same, all even s", 1)):
        found = (f"{results['frequencies'][x][i]:.1f}" if x in results["frequencies"] else
                 "not measured" for x in LIBRARIES)  # fmt: skip
        body.append((f"{name}, relative", "16", *found))
    truth = {True: "yes", False: "no"}
    held = (truth.get(results["saturates"].get(x), "not measured") for x in LIBRARIES)
    body.append(("tanh is -1 below -20, erf below -5", "(S)", *held))
    parts = [
        f"Processor: {results['processor']}. {named}. {results['arguments']:,} arguments for each "
        "function (llama.cpp: up to 32,768).",
        table(("largest error found, in u", RULE, *LIBRARIES), body),
        "Softmax and norms, as a share of the bound of rules 4 and 5, with the largest error in u "
        "behind it (of a softmax relative to the sum of w abs(v), of a norm to the largest lane):",
    ]

    def shown(pair: list) -> str:
        share, units = pair
        return f"{share:.2g} ({units:,.1f} u)"

    rows = [(f"softmax: {name}", shown(x)) for name, x in results["softmax"].items()]
    for name, row in results["norms"].items():
        rows += [(f"{name}: {library}", shown(x)) for library, x in row.items()]
    return "\n\n".join([*parts, table(("", "largest share of the bound"), rows)])


def missed(results: dict) -> list[str]:
    """What is above the rules, and what is not any more although the page says so."""
    shares = dict(results["softmax"])
    above = {
        f"{name}: {library}"
        for name, row in results["functions"].items()
        for library, found in row.items()
        if found > FUNCTIONS[name][3]
    }
    for name, row in results["norms"].items():
        shares |= {f"{name}: {library}": pair for library, pair in row.items()}
    above |= {name for name, (share, _) in shares.items() if share > 1}
    above |= {name for name, held in results["saturates"].items() if not held}
    above |= {name for name, pair in results["frequencies"].items() if max(pair) > 16}
    return sorted(above ^ OUTSIDE)
