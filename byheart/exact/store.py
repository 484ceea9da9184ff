"""The model folder of an exact network (checker/FORMAT.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..claims.claim import Labels, Words
from ..claims.model import ModelData
from ..claims.notes import read_record
from ..machine import names
from ..machine.names import as_json
from ..machine.plain import Piece
from ..machine.strict import Object, shown
from . import config
from .answer import ExactModel
from .codeword import encoded_bits
from .weights import encode
from .weights import read as read_weights

FILES: tuple[str, ...] = names.FILES
NOTES = "config.json"
code_bits = encoded_bits


def read(path: Path, text: Mapping[str, bytes], certificate: Object) -> tuple[ExactModel, str]:
    notes = Object.parse(text["config.json"], f"{path}/config.json")
    if "decoder" in notes.values:
        notes.refuse("it describes a decoder, and the claim is labels")
    settings = config.read(notes)
    network, digest = read_weights(path / "weights.safetensors", settings)
    given = Object.parse(text["vocabulary.json"], f"{path}/vocabulary.json")
    tokens: tuple[str | int, ...] | None = None
    if settings.kind == "string":
        listed = given.words("tokens")
        if not all(type(token) is str for token in listed):
            given.refuse("a token is not a string")
        if listed != sorted(set(listed)):
            given.refuse("the tokens are not distinct and sorted")
        tokens = tuple(listed)
    elif given.values.get("tokens", ()) is not None:
        given.refuse(f"tokens must be null for tokens of kind {settings.kind}")
    labels = given.words("labels")
    if {type(label) for label in labels} not in ({str}, {int}):
        given.refuse("the labels are not all strings or all integers")
    if not len(set(labels)) == len(labels) == settings.labels:
        given.refuse(f"config.json asks for {shown(settings.labels)} distinct labels")
    claim = Labels(tuple(labels), settings.unknown, settings.number)
    return ModelData(network, Words(settings.kind, tokens), claim, read_record(notes)), digest


def describe(model: ExactModel) -> dict[str, Any]:
    claim = model.claim
    return config.describe(model.network, model.kind, len(claim.labels), claim.unknown)


def weights(model: ExactModel) -> list[Piece]:
    return [encode(model.network, model.claim.arithmetic)]


def contents(model: ExactModel, described: dict[str, Any]) -> dict[str, list[Piece]]:
    words = {"tokens": model.tokens, "labels": model.claim.labels}
    return {
        "config.json": [as_json(described)],
        "weights.safetensors": weights(model),
        "vocabulary.json": [as_json(words)],
    }


def certificate(claim: Labels) -> dict[str, Any]:
    return {"claim": claim.name}
