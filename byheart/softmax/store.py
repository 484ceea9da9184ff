"""The files of a decoder, both ways (checker/FORMAT.md, section 9)."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ..claims.claim import Distributions, Words
from ..claims.model import ModelData
from ..claims.notes import read_number, read_record
from ..exact import weights as limbs
from ..exact.network import Dyadic, Entry, Matrix
from ..machine import names, plain
from ..machine.names import as_json
from ..machine.plain import Piece
from ..machine.strict import SIZE_LIMIT, Object, read_arrays, shown
from .answer import DecoderModel
from .codeword import encoded_bits
from .decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape, Tensor

FILES: tuple[str, ...] = names.FILES
NOTES = "config.json"
code_bits = encoded_bits
KINDS = ("string", "number")
EXACT = ("input", "output", "width", "layers")  # keys of exact networks
NO_NEURONS = "none"
HEAD_SIZES = ("heads", "key_dimension", "value_dimension")
ENTRY_LIMIT = 1 << 24  # of a dyadic decoder: its zeros are in memory, but not in the file
DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?(e[-+]?[0-9]{1,3})?")
LONGEST_DECIMAL = 100  # characters
LARGEST_GAP = 10**300  # and the smallest is 1 / this


def read(path: Path, text: Mapping[str, bytes], certificate: Object) -> tuple[DecoderModel, str]:
    given = Object.parse(text["config.json"], f"{path}/config.json")
    for name in EXACT:
        if name in given.values:
            given.refuse(f"it has both decoder and {name}")
    number, described = read_number(given), given.object("decoder")
    kind, shape = described.choice("kind", KINDS), _shape(described)
    if number == "dyadic" and shape.parameters > ENTRY_LIMIT:
        described.refuse("a dyadic decoder has at most 2^24 parameters")
    vocabulary = Object.parse(text["vocabulary.json"], f"{path}/vocabulary.json")
    words = vocabulary.words("tokens")
    if vocabulary.values.get("labels", ()) is not None:
        vocabulary.refuse("labels must be null for a decoder")
    if not {type(word) for word in words} <= {str, int}:
        vocabulary.refuse("a token is neither a string nor an integer")
    if not len(set(words)) == len(words) == shape.vocabulary:
        vocabulary.refuse(f"config.json asks for {shape.vocabulary} distinct tokens")
    file = path / "weights.safetensors"
    tensors: dict[str, Tensor]
    if number == "float64":
        plain_tensors, digest = plain.read(file, shape.tensors)
        tensors = {name: plain_tensors[name] for name in shape.tensors}
    else:
        arrays, digest = read_arrays(file, limbs.TYPES)
        places = [_places(sizes) for sizes in shape.tensors.values()]
        matrices = limbs.checked(arrays, places, file)
        tensors = {}
        for (name, sizes), matrix in zip(shape.tensors.items(), matrices, strict=True):
            tensor = np.empty(_places(sizes), object)
            tensor.fill(Dyadic(0, 0))
            for row, column, value in matrix.entries:
                tensor[row, column] = value
            tensors[name] = tensor.reshape(sizes)
    network = Decoder(shape, tensors)
    claim = Distributions(read_gap(certificate))
    return ModelData(network, Words(kind, tuple(words)), claim, read_record(given)), digest


def _shape(given: Object) -> Shape:
    mixing = given.choice("mixing", (ATTENTION, TOKEN_SUM))
    if mixing == TOKEN_SUM:
        for name in HEAD_SIZES:
            given.expect(name, 0)
    heads, keys, values = (given.size(x) if mixing == ATTENTION else 0 for x in HEAD_SIZES)
    if max(heads * keys, heads * values) > SIZE_LIMIT:
        given.refuse("the heads together have more than 2^20 rows")
    vocabulary, skip = given.size("vocabulary"), given.get("skip", bool)
    if vocabulary < 2:
        given.refuse("vocabulary is 1, and a distribution is over 2 tokens or more")
    if skip and mixing == TOKEN_SUM:
        given.refuse("skip is true, and a token sum has none")
    length, dimension = given.size("length"), given.size("dimension")
    activation = given.choice("activation", (*ACTIVATIONS, NO_NEURONS))
    if activation == NO_NEURONS:
        given.expect("neurons", 0)
        if mixing != ATTENTION:
            given.refuse("the activation is none, and a token sum has neurons")
    neurons = 0 if activation == NO_NEURONS else given.size("neurons")
    padding = given.optional("padding", int)
    if padding is not None and not 0 <= padding < vocabulary:
        given.refuse(f"padding is {shown(padding)}, not the number of a token")
    sizes = vocabulary, length, dimension, mixing, heads, keys, values
    return Shape(*sizes, skip, neurons, activation, padding)


def _places(sizes: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns: a vector is one column."""
    return sizes[0], math.prod(sizes[1:])


def read_gap(certificate: Object) -> float:
    """The double nearest to the decimal number, which is what a writer had."""
    text = certificate.get("gap", str)
    if len(text) > LONGEST_DECIMAL or not DECIMAL.fullmatch(text):
        certificate.refuse(f"gap is {shown(text)}, not a positive decimal number")
    if not Fraction(1, LARGEST_GAP) <= Fraction(text) <= LARGEST_GAP:
        certificate.refuse(f"gap is {shown(text)}, not between 1e-300 and 1e300")
    return float(text)


def describe(model: DecoderModel) -> dict[str, Any]:
    sizes = model.network.shape._asdict()
    if sizes["padding"] is None:
        del sizes["padding"]  # a missing key says the same
    return {"decoder": {"kind": model.kind, **sizes}}


def certificate(claim: Distributions) -> dict[str, Any]:
    return {"claim": claim.name, "gap": repr(float(claim.gap))}


def contents(model: DecoderModel, described: dict[str, Any]) -> dict[str, list[Piece]]:
    return {
        "config.json": [as_json(described)],
        "weights.safetensors": weights(model),
        "vocabulary.json": [as_json({"tokens": model.tokens, "labels": None})],
    }


def weights(model: DecoderModel) -> list[Piece]:
    decoder = model.network
    tensors = {name: decoder.tensors[name] for name in decoder.shape.tensors}
    if decoder.number == "float64":
        return plain.pieces(tensors)
    matrices = []
    for tensor in tensors.values():
        rows, columns = _places(tensor.shape)
        entries = (
            Entry(*divmod(i, columns), value)
            for i, value in enumerate(tensor.ravel().tolist())
            if value.mantissa
        )
        matrices.append(Matrix(rows, columns, tuple(entries)))
    return [save(limbs.limbs(matrices))]
