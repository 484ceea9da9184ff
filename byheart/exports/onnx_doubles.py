"""The ONNX graphs of float64 networks and of decoders, node by node."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.float64.engine import float_tensors
from ..exact.network import Network
from ..softmax.decoder import ATTENTION, Decoder
from .packages import package

ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "erf": "Erf", "arctan": "Atan"}


class Graph:
    """Nodes in the order in which they run, and the constants that they read."""

    def __init__(self) -> None:
        self.library = package("onnx", "an export to ONNX")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(
            self.library.helper.make_node(kind, list(inputs), [name], name=name, **attributes)
        )
        return name

    def constant(self, values: NDArray | np.generic, name: str | None = None) -> str:
        name = name or f"constant_{len(self.constants)}"
        array = np.asarray(values, order="C")  # a scalar stays one
        self.constants.append(self.library.numpy_helper.from_array(array, name))
        return name

    def whole(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def linear(self, x: str, weight: NDArray, bias: NDArray | None, name: str) -> str:
        product = self.node("MatMul", x, self.constant(weight.T, name))
        return product if bias is None else self.node("Add", product, self.constant(bias))

    def model(self, given: Any, output: Any, last: str, opset: int) -> Any:
        helper = self.library.helper
        self.nodes.append(helper.make_node("Identity", [last], [output.name]))
        graph = helper.make_graph(self.nodes, "byheart", [given], [output], self.constants)
        versions = [helper.make_opsetid("", opset)]
        made = helper.make_model(graph, opset_imports=versions, producer_name="byheart")
        made.ir_version = 8  # of the ONNX that opset 18 came with
        return made


def of_network(network: Network, opset: int) -> Any:
    """columns [batch, columns, coordinates] to label [batch]."""
    made, reads, tensors = Graph(), network.input, float_tensors(network)
    helper, kind = made.library.helper, made.library.TensorProto.DOUBLE
    h = "columns"
    if reads.positions:
        places = [reads.length, *range(reads.length)][reads.extra is None :]
        column = np.array(places, np.float64)[None, :, None]
        batch = made.node("Slice", made.node("Shape", h), made.whole(0), made.whole(1))
        shape = made.node("Concat", batch, made.whole(reads.columns, 1), axis=0)
        expanded = made.node("Expand", made.constant(column, "positions"), shape)
        h = made.node("Concat", h, expanded, axis=2)
    for i, layer in enumerate(network.layers):
        t = {name: tensors[f"layers.{i}.{name}"] for name in layer.tensors}
        front = f"layers.{i}."
        if layer.kind == "uniform_attention":
            mean = made.node("ReduceMean", h, made.whole(1), keepdims=1)
            value = made.linear(mean, t["W_V"], None, f"{front}W_V")
            h = made.node("Add", h, made.linear(value, t["W_O"], None, f"{front}W_O"))
        elif layer.kind == "feed_forward":
            hidden = made.node("Relu", made.linear(h, t["W1"], t["b1"], f"{front}W1"))
            h = made.node("Add", h, made.linear(hidden, t["W2"], t["b2"], f"{front}W2"))
        else:
            h = made.linear(h, t["weight"], t["bias"], f"{front}weight")
            h = made.node("Relu", h) if layer.kind == "relu" else h
    one = made.node("Gather", h, made.constant(np.int64(reads.columns - 1)), axis=1)
    one = made.node("Gather", one, made.constant(np.int64(0)), axis=1)
    data = helper.make_tensor_value_info("columns", kind, ["batch", reads.columns, reads.dimension])
    return made.model(data, helper.make_tensor_value_info("label", kind, ["batch"]), one, opset)


def of_decoder(decoder: Decoder, opset: int) -> Any:
    """input_ids [batch, length] to logits [batch, vocabulary] after the last token."""
    made, shape = Graph(), decoder.shape
    helper, kinds = made.library.helper, made.library.TensorProto

    def weight(x: str, name: str) -> str:
        return made.linear(x, decoder[name], None, f"{name}.weight")

    x = made.node("Gather", made.constant(decoder["embedding"], "embedding.weight"), "input_ids")
    count = made.node("Slice", made.node("Shape", "input_ids"), made.whole(1), made.whole(2))

    def first(name: str) -> str:
        """As many entries of a table as there are tokens."""
        table = made.constant(decoder[name], f"{name}.weight")
        return made.node("Slice", table, made.whole(0), count, made.whole(0))

    if shape.mixing == ATTENTION:
        heads, size = shape.heads, shape.key_dimension
        x = made.node("Add", x, first("positions"))
        last = made.node("Gather", x, made.constant(np.int64(-1)), axis=1)
        query = weight(last, "attention.query")
        query = made.node("Reshape", query, made.whole(-1, heads, 1, size))
        key = made.node("Reshape", weight(x, "attention.key"), made.whole(0, 0, heads, size))
        key = made.node("Transpose", key, perm=[0, 2, 3, 1])
        scores = made.node("Softmax", made.node("MatMul", query, key), axis=-1)
        sizes = made.whole(0, 0, heads, shape.value_dimension)
        value = made.node("Reshape", weight(x, "attention.value"), sizes)
        value = made.node("Transpose", value, perm=[0, 2, 1, 3])
        read = made.node("Reshape", made.node("MatMul", scores, value), made.whole(0, -1))
        g = weight(read, "attention.out")
        g = made.node("Add", g, last) if shape.skip else g
    else:
        row = made.node("Reshape", first("token_sum"), made.whole(1, 1, -1))
        g = made.node("Reshape", made.node("MatMul", row, x), made.whole(0, -1))
    if shape.neurons:
        g = made.linear(g, decoder["hidden"], decoder["hidden.bias"], "hidden.weight")
        if shape.activation == "gelu":  # x times the normal distribution function
            half = made.node("Mul", g, made.constant(np.float64(0.5)))
            spread = made.node("Mul", g, made.constant(np.float64(math.sqrt(0.5))))
            above = made.node("Add", made.node("Erf", spread), made.constant(np.float64(1.0)))
            g = made.node("Mul", half, above)
        else:
            g = made.node(ACTIVATIONS[shape.activation], g)
    length = "length" if shape.padding is None else shape.length
    given = helper.make_tensor_value_info("input_ids", kinds.INT64, ["batch", length])
    output = helper.make_tensor_value_info("logits", kinds.DOUBLE, ["batch", shape.vocabulary])
    return made.model(given, output, weight(g, "output"), opset)
