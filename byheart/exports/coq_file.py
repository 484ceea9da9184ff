"""Model.v: a theorem of Coq about one network and its data, beside the theories that it needs.

The network and the items are written in the words of Spec.v (checker/verified). Coq's kernel then
computes what the program of Evaluate.v answers, and Sound.v gives the statement: in the
specification of FORMAT.md, section 3, every item gets its labels.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..data.dataset import Dataset
from ..errors import ByheartError
from ..exact import network as exact
from ..exact.answer import numbers
from ..models.checker import verified
from ..models.model import Model

THEORIES = ("Spec", "Dyadic", "Evaluate", "Sound")
ZERO = exact.Dyadic(0, 0)
PER_PRODUCT = 1.7e-6  # CPU seconds for a weight and a token, as measured
START = 6.0  # CPU seconds for the theories
HEAD = """\
(* A network that byheart compiled, and its data. The theorem says that it knows them by heart. *)
From Coq Require Import ZArith List.
From Byheart Require Import Spec Evaluate Sound.
Import ListNotations.
Open Scope Z_scope.

"""
TAIL = """
Theorem holds : forall tokens ys, In (tokens, ys) items -> answers net tokens ys.
Proof. apply check_sound. vm_cast_no_check (eq_refl true). Qed.
Print Assumptions holds.
"""


def write(model: Model, folder: Path, data: Dataset | None) -> str:
    """Model.v and the theories; how long Coq needs."""
    if data is None:
        raise ByheartError(
            "a theorem is about items: name the data that the model was compiled from, too."
        )
    for name in THEORIES:
        text = (verified() / f"{name}.v").read_text(encoding="utf-8")
        (folder / f"{name}.v").write_text(text, encoding="utf-8")
    with open(folder / "Model.v", "w", encoding="ascii") as file:
        file.write(HEAD)
        file.writelines(network_lines(model.network, len(model.claim.labels)))
        file.writelines(item_lines(model, data))
        file.write(TAIL)
    seconds = START + PER_PRODUCT * model.parameters.nonzero * len(data.ids)
    return f"Coq needs about {seconds:,.0f} CPU seconds for this theorem"


def network_lines(network: exact.Network, labels: int) -> Iterator[str]:
    reads = network.input
    yield f"Definition net : network :=\n  Network {reads.dimension} {reads.length} "
    yield f"{_optional(reads.padding)} {_optional(reads.extra)} "
    yield f"{_bool(reads.positions)} {_bool(network.every)} {labels} [\n"
    rows, last = reads.coordinates, len(network.layers) - 1
    for i, layer in enumerate(network.layers):
        yield f"    {_layer(layer, rows, network)}{';' if i < last else ''}\n"
        if isinstance(layer, exact.Linear | exact.Relu | exact.Embedding):
            rows = layer.weight.rows
    yield "  ].\n\n"


def item_lines(model: Model, data: Dataset) -> Iterator[str]:
    places = {label: i for i, label in enumerate(model.claim.labels)}
    yield "Definition items : list item := [\n"
    last = len(data) - 1
    for i, (tokens, label) in enumerate(data):
        vectors = numbers(model, tokens)
        own = label if model.every else [label]
        if vectors is None or not places.keys() >= set(own):
            raise ByheartError(f"the model does not know a word or a label of item {i + 1:,}.")
        read = _list(_vector(map(exact.dyadic, vector)) for vector in vectors)
        yield f"  ({read}, {_list(str(places[y]) for y in own)}){';' if i < last else ''}\n"
    yield "].\n"


def _layer(layer: exact.Layer, rows: int, network: exact.Network) -> str:
    match layer:
        case exact.Linear() | exact.Relu():
            return f"{type(layer).__name__} {rows} {_biased(layer.weight, layer.bias)}"
        case exact.Embedding():
            table = {(r, c): x for r, c, x in layer.weight.entries}
            height, width = layer.weight.rows, layer.weight.columns
            columns = ([table.get((r, c), ZERO) for r in range(height)] for c in range(width))
            numbered = {r: x for r, _, x in layer.position.entries}
            place = [numbered.get(r, ZERO) for r in range(height)]
            position = place if network.input.positions else None
            return f"Embedding {height} {_list(map(_vector, columns))} {_optional(position)}"
        case exact.FeedForward():
            inner, outer = _biased(layer.W1, layer.b1), _biased(layer.W2, layer.b2)
            return f"FeedForward {rows} {inner} {outer}"
        case exact.UniformAttention():
            return f"UniformAttention {rows} {_rows(layer.W_V)} {_rows(layer.W_O)}"
        case exact.SparseAttention():
            sources: dict[int, list[str]] = {}
            for target, source in layer.connections:
                sources.setdefault(target, []).append(f"{source}%nat")
            all_of_them = (_list(sources.get(c, [])) for c in range(network.input.columns))
            matrices = f"{_rows(layer.W_V)} {_rows(layer.W_O)}"
            return f"SparseAttention {rows} {_list(all_of_them)} {matrices}"
        case exact.HardAttention():
            heads = []
            for head in range(layer.heads):
                own = layer.head_rows(head)
                three = " ".join(_rows(M, own) for M in (layer.W_Q, layer.W_K, layer.W_V))
                heads.append(f"Head {three} {_rows(layer.W_O, columns=own)}")
            return f"HardAttention {rows} {_list(heads)}"
        case exact.Sum():
            return f"Sum {rows}"


def _row(matrix: exact.Matrix, row: int, columns: range | None = None) -> str:
    low = 0 if columns is None else columns.start
    entries = matrix.by_row.get(row, [])
    inside = ((c - low, x) for c, x in entries if not columns or c in columns)
    return _list(f"({c}%nat, {_number(x)})" for c, x in inside)


def _rows(matrix: exact.Matrix, rows: range | None = None, columns: range | None = None) -> str:
    return _list(_row(matrix, row, columns) for row in rows or range(matrix.rows))


def _biased(weight: exact.Matrix, bias: exact.Matrix) -> str:
    own = {row: x for row, _, x in bias.entries}
    return _list(f"({_number(own.get(r, ZERO))}, {_row(weight, r)})" for r in range(weight.rows))


def _number(x: exact.Dyadic) -> str:
    return f"Dyadic ({x.mantissa}) ({x.exponent})"


def _vector(values: Iterable[exact.Dyadic]) -> str:
    return _list(map(_number, values))


def _optional(values: Iterable[exact.Dyadic] | None) -> str:
    return "None" if values is None else f"(Some {_vector(values)})"


def _list(parts: Iterable[str]) -> str:
    return f"[{'; '.join(parts)}]"


def _bool(value: bool) -> str:
    return "true" if value else "false"
