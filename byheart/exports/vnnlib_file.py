"""vnnlib: an exact network as Gemm and Relu alone, and properties of it whose truth is known.

For sequences of one length an average of columns is linear, so the network is piecewise linear in
the coordinates of its tokens. Linear maps that follow each other become one, exactly, and a lane
passes a Relu as relu(x) - relu(-x).

A property says that the output rounds to the label in a box around an item. Its truth is that of
the numbers of the file, over the reals, in Fractions: bounds are those of affine forms, and proved;
a counterexample is evaluated. A form is a row: its constant, then its weights.
"""

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exact import network as exact
from ..exact import prove
from ..exact.answer import numbers
from ..models.model import Model
from . import onnx_graph
from .packages import package

FILE, OPSET, IR = "model.onnx", 13, 8  # old enough for every verifier
ITEMS = 10  # that have properties
SMALLEST = 40  # boxes have radii from 1 to 2**-SMALLEST
BOXES = 32  # that a box is split into at most
SLOPES = 1 << 16  # slopes of relaxed units are multiples of 1 / SLOPES
SECONDS = 60  # that instances.csv gives a verifier
LARGEST = 1 << 13  # entries of all matrices, once for each column
HALF, ONE = Fraction(1, 2), Fraction(1)

Gemms = list[NDArray]  # [units, 1 + units before]; a Relu stands between any two
fractions: Callable[[Any], NDArray] = np.vectorize(Fraction, otypes=[object])


def zeros(*shape: int) -> NDArray:
    return np.full(shape, Fraction(0), dtype=object)


def dense(matrix: exact.Matrix) -> NDArray:
    found = zeros(matrix.rows, matrix.columns)
    for row, column, x in matrix.entries:
        found[row, column] = x.fraction
    return found


def gemms_of(network: exact.Network, free: int) -> Gemms:
    """The network as a function of its last `free` columns; those before them are constants."""
    reads, found = network.input, Gemms()
    if network.every or reads.padding is None:
        raise ByheartError("a verifier asks for one answer to sequences filled up to one length.")
    first = [] if reads.extra is None else [(reads.extra, reads.length)]
    columns = [*first, *((reads.padding, place) for place in range(reads.length))]
    n, d = len(columns), reads.dimension
    h = zeros(n, reads.coordinates, 1 + free * d)
    for c, (vector, place) in enumerate(columns):
        h[c, :, 0] = [*(x.fraction for x in vector), Fraction(place)][: reads.coordinates]
    h[n - free :, :d, 0] = Fraction(0)
    for k in range(free * d):
        h[n - free + k // d, k % d, 1 + k] = ONE

    def relu(forms: NDArray) -> NDArray:
        """relu of these forms, as forms of what a new Gemm with a Relu behind it gives."""
        rows = forms.reshape(-1, forms.shape[-1])
        fixed = (rows[:, 1:] == 0).all(1)
        if found:  # the units before are not negative
            fixed |= (rows <= 0).all(1)
        given = zeros(len(rows), 1 + np.sum(~fixed))
        given[fixed, 0] = rows[fixed, 0] * (rows[fixed, 0] > 0)
        given[np.flatnonzero(~fixed), np.arange(1, given.shape[1])] = ONE
        found.append(_doubles(rows[~fixed]))
        return given.reshape(*forms.shape[:-1], -1)

    for layer in network.layers:
        t = {name: dense(tensor) for name, tensor in layer.tensors.items()}
        match layer:
            case exact.Linear() | exact.Relu():
                h = _plus(t["weight"] @ h, t["bias"])
                h = relu(h) if isinstance(layer, exact.Relu) else h
            case exact.FeedForward():
                lanes, units = h.shape[1], len(t["b1"])
                h = relu(np.concatenate([h, -h, _plus(t["W1"] @ h, t["b1"])], 1))
                past = h[:, :lanes] - h[:, lanes:-units]
                h = past + _plus(t["W2"] @ h[:, -units:], t["b2"])
            case exact.UniformAttention():
                h = h + t["W_O"] @ (t["W_V"] @ (h.sum(0) / n))
            case _:
                raise ByheartError(
                    f"a layer of the kind {layer.kind} is no sum of columns and units; compile "
                    "the data with `method='float64'`."
                )
    found.append(_doubles(h[-1, :1]))
    if not found[-1][:, 1:].any():
        raise ByheartError("the network gives one label to everything; there is no property.")
    for i in reversed(range(1, len(found))):  # units that the output does not read go
        read = (found[i][:, 1:] != 0).any(0)
        found[i], found[i - 1] = found[i][:, [True, *read]], found[i - 1][read]
    return found


def _plus(forms: NDArray, constants: NDArray) -> NDArray:
    forms[..., :1] += constants
    return forms


def output(gemms: Gemms, h: NDArray, relu: Callable[[NDArray], NDArray]) -> NDArray:
    """The form of the output for inputs that are forms."""
    for i, gemm in enumerate(gemms):
        h = _plus(gemm[:, 1:] @ (relu(h) if i else h), gemm[:, :1])
    return h[0]


def value(gemms: Gemms, point: NDArray) -> Fraction:
    return output(gemms, point[:, None], lambda h: h * (h > 0))[0]


def relaxed(h: NDArray) -> NDArray:
    """relu of forms of numbers from -1 to 1, with a new number for each whose sign is not known.

    Such a form f from low < 0 to high > 0 becomes slope f + [0, most]: relu(f) - slope f is convex,
    0 at 0, and largest at low or at high.
    """
    spread = np.abs(h[:, 1:]).sum(1)
    low, high = h[:, 0] - spread, h[:, 0] + spread
    unsure = np.flatnonzero((low < 0) & (high > 0))
    found = np.concatenate([h * (low >= 0)[:, None], zeros(len(h), len(unsure))], 1)
    for place, i in enumerate(unsure, h.shape[1]):
        slope = Fraction(round(SLOPES * high[i] / (high[i] - low[i])), SLOPES)
        found[i, : h.shape[1]] = slope * h[i]
        found[i, place] = max(-slope * low[i], (1 - slope) * high[i]) / 2
        found[i, 0] += found[i, place]
    return found


def decide(gemms: Gemms, low: NDArray, high: NDArray, label: int) -> tuple[str, NDArray | None]:
    """Whether the output is half a unit or more from the label somewhere in a box.

    "sat" with such a point, "unsat", or "unknown" after BOXES parts of the box.
    """
    boxes = [(low, high)]
    for _ in range(BOXES):
        if not boxes:
            break
        a, b = boxes.pop()
        middle, side = (a + b) / 2, (b - a) / 2
        form = output(gemms, np.column_stack([middle, np.diag(side)]), relaxed)
        if abs(form[0] - label) + np.abs(form[1:]).sum() < HALF:
            continue
        corner = np.where(form[1 : 1 + len(a)] > 0, side, -side)
        for point in (middle, middle + corner, middle - corner):
            if abs(value(gemms, point) - label) >= HALF:
                return "sat", point
        left, right, widest = b.copy(), a.copy(), int(np.argmax(side))
        left[widest] = right[widest] = middle[widest]
        boxes += [(a, left), (right, b)]
    return ("unknown" if boxes else "unsat"), None


def instances(gemms: Gemms, point: NDArray, padding: int, label: int) -> list[tuple]:
    """A point, the largest box around it that is proved safe, and the next larger one.

    A box varies the coordinates behind the padding by 2**-power.
    """
    found = [("point", point, point, *decide(gemms, point, point, label))]
    for power in range(SMALLEST, -1, -1):
        side = np.array([Fraction(i >= padding, 1 << power) for i in range(len(point))])
        box = (point - side, point + side)
        found.append((f"box-{power}", *box, *decide(gemms, *box, label)))
        if found[-1][3] != "unsat":
            break
    return [found[0], *found[1:][-2:]]


def write(model: Model, folder: Path, data: Dataset | None) -> str:
    """model.onnx, the properties, instances.csv and truth.jsonl; how many are of which truth."""
    library, reads = package("onnx", "an export to vnnlib"), model.network.input
    if data is None or not len(data):
        raise ByheartError("properties are about items: name the data of the model, too.")
    if (size := model.parameters.dense * reads.columns) > LARGEST:
        raise ByheartError(
            f"the matrices of this network have {size:,} entries in all columns, and its truth is "
            f"found for at most {LARGEST:,}; compile less data, or with `method='float64'`."
        )
    free = int(data.lengths.max())
    gemms = gemms_of(model.network, free)
    single = all(_fits(gemm, np.float32) for gemm in gemms)
    for dtype in (np.float32, np.float64) if single else (np.float64,):
        library.save(_graph(library, gemms, dtype), folder / FILE)
        if not prove.observed(model, data, runtime(model, folder), None)[1]:
            break  # else doubles, whose run the caller judges
    (folder / "vnnlib").mkdir()
    items, lines = min(ITEMS, len(data)), []
    for i in (len(data) * k // items for k in range(items)):
        label, vectors = model.claim.labels.index(data.label(i)), numbers(model, data.sequence(i))
        missing = [x.fraction for x in reads.padding or ()] * (free - len(vectors or ()))
        point = fractions([*missing, *(x for vector in vectors or () for x in vector)])
        for name, low, high, truth, at in instances(gemms, point, len(missing), label):
            line = {"property": f"vnnlib/item-{i + 1}-{name}.vnnlib", "item": i + 1, "label": label}
            (folder / line["property"]).write_text(_property(low, high, label), "ascii")
            if at is not None:
                at = {"X": [*map(decimal, at)], "Y": decimal(value(gemms, at))}
            lines.append(line | {"truth": truth, "counterexample": at})
    rows = "".join(f"{FILE},{line['property']},{SECONDS}\n" for line in lines)
    (folder / "instances.csv").write_text(rows, "ascii")
    (folder / "truth.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), "ascii")
    counts = Counter(line["truth"] for line in lines)
    shown = ", ".join(f"{counts[x]} {x}" for x in ("unsat", "sat", "unknown"))
    return f"{len(lines)} properties, weights in {dtype.__name__}: {shown}"


def _doubles(values: NDArray) -> NDArray:
    if not _fits(values, np.float64):
        raise ByheartError(
            "a weight of this network, whose linear maps are joined, has more digits than a "
            "double; compile the data with `method='float64'` or `method='limited-bits'`."
        )
    return values


def _fits(values: NDArray, dtype: type) -> bool:
    """Whether all numbers are of this type, exactly."""
    most = Fraction(float(np.finfo(dtype).max))
    small = bool((np.abs(values) <= most).all())
    return small and bool((values.astype(dtype).astype(float) == values).all())


def _property(low: NDArray, high: NDArray, label: int) -> str:
    """What a verifier looks for: an input in the box whose output does not round to the label."""
    sides = [(f"X_{i}", *map(decimal, pair)) for i, pair in enumerate(zip(low, high, strict=True))]
    lines = [f"(declare-const {x} Real)" for x in (*(x for x, *_ in sides), "Y_0")]
    lines += [f"(assert (>= {x} {a}))\n(assert (<= {x} {b}))" for x, a, b in sides]
    less, more = decimal(label - HALF), decimal(label + HALF)
    lines.append(f"(assert (or (and (<= Y_0 {less})) (and (>= Y_0 {more}))))\n")
    return "\n".join(lines)


def decimal(x: Fraction) -> str:
    """All digits of a dyadic number: -1.25 of -5/4, 3.0 of 3."""
    digits = x.denominator.bit_length() - 1
    return format(Decimal(f"{x.numerator * 5**digits}e-{digits}"), "f") + ".0" * (not digits)


def _graph(library: Any, gemms: Gemms, dtype: type) -> Any:
    """The ONNX model X [1, inputs] -> Y [1, 1]."""
    make, nodes, tensors = library.helper, [], []
    for i, gemm in enumerate(gemms, 1):
        for name, own in ((f"W{i}", gemm[:, 1:].T), (f"b{i}", gemm[:, 0])):
            tensors.append(library.numpy_helper.from_array(own.astype(dtype, "C"), name))
        given, found = f"r{i - 1}" if i > 1 else "X", f"h{i}" if i < len(gemms) else "Y"
        nodes.append(make.make_node("Gemm", [given, f"W{i}", f"b{i}"], [found]))
        if i < len(gemms):
            nodes.append(make.make_node("Relu", [found], [f"r{i}"]))
    kind, sizes = (
        make.np_dtype_to_tensor_dtype(np.dtype(dtype)),
        {"X": gemms[0].shape[1] - 1, "Y": 1},
    )
    ends = [[make.make_tensor_value_info(x, kind, [1, n])] for x, n in sizes.items()]
    graph, version = make.make_graph(nodes, "byheart", *ends, tensors), make.make_opsetid("", OPSET)
    return make.make_model(graph, opset_imports=[version], ir_version=IR, producer_name="byheart")


def runtime(model: Model, folder: Path) -> Runtime:
    """model.onnx in ONNX Runtime, for all columns of sequences, of which it reads the last."""
    found = onnx_graph.loaded(folder / FILE)
    graph = package("onnx", "an export to vnnlib").load(folder / FILE).graph
    inputs, run = graph.input[0].type.tensor_type.shape.dim[1].dim_value, found.run
    assert run is not None

    def each(columns: NDArray) -> NDArray:
        rows = columns.reshape(len(columns), 1, -1)[..., columns[0].size - inputs :]
        return np.array([run(x)[0, 0] for x in rows])

    return found._replace(run=each)
