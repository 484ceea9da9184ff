"""Open a model folder. What is no model is refused; what contradicts itself is a disagreement."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import ByheartError, DisagreementError
from ...exact.network import Network
from ...softmax.decoder import Decoder
from ..language_model import LanguageModel
from ..model import Model
from ..verification import PROVED, SAMPLED, Verification
from . import config, decoder, weights
from .strict import Object, read_text_file, shown
from .swap import is_unfinished

FILES = ("config.json", "weights.safetensors", "vocabulary.json")  # what a certificate speaks of
RETRIES = 5  # a folder that is replaced while it is read is read again
Labels = tuple[str, ...] | tuple[int, ...]


def open(path: str | os.PathLike[str]) -> Model | LanguageModel:
    """The model of a folder whose format, hashes and counts all hold.

    ByheartError if it is not readable as a model, DisagreementError if it is, but a hash or a
    count disagrees. The labels are not evaluated again: that is what `verify` is for.
    """
    path = Path(path)
    if is_unfinished(Path(os.path.abspath(path))):
        raise ByheartError(f"{path} was left by an interrupted save and is no model; delete it.")
    for _ in range(RETRIES):
        before = _identity(path)
        try:
            return read(path)
        except ByheartError:
            if _identity(path) == before:
                raise
    return read(path)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which folder stands there: files of two, read while one replaced the other, do not agree."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_ctime_ns


def read(path: Path) -> Model | LanguageModel:
    try:
        if not path.is_dir():
            raise ByheartError(f"{path} is no folder; give the folder of a model.")
        return _read(path)
    except MemoryError:
        raise ByheartError(f"{path} needs more memory than there is.") from None
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ByheartError:
        raise
    except ValueError as error:  # a path with a null character
        raise ByheartError(f"{path!a} cannot be read: {error}.") from None


def _read(path: Path) -> Model | LanguageModel:
    text = {name: read_text_file(path / name) for name in FILES if name.endswith(".json")}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in text.items()}
    certificate = _certificate(read_text_file(path / "certificate.json"), path)
    model: Model | LanguageModel
    if "decoder" in Object.parse(text["config.json"], f"{path}/config.json").values:
        model, hashes["weights.safetensors"] = decoder.read(path, text, certificate)
    else:
        model, hashes["weights.safetensors"] = _exact(path, text, certificate)
    recorded = Object(model.about, f"{path}/config.json")
    found = [*_wrong_hashes(certificate, hashes), *_wrong_counts(recorded, model.network)]
    found += _wrong_claims(certificate, recorded, model)
    if found:
        more = f" (and {len(found) - 1} more disagreements)" if len(found) > 1 else ""
        raise DisagreementError(f"{path}: {found[0]}{more}.")
    model.about["verification"] = _verification(certificate)
    return model


def _exact(path: Path, text: dict[str, bytes], certificate: Object) -> tuple[Model, str]:
    """The model of an exact network, and the sha256 of its weights."""
    certificate.expect("claim", "labels")
    settings = config.read(text["config.json"], f"{path}/config.json")
    network, digest = weights.read(path / "weights.safetensors", settings)
    tokens, labels = _vocabulary(text["vocabulary.json"], path, settings)
    about, number = settings.about, settings.number
    return Model(network, settings.kind, tokens, labels, settings.unknown, about, number), digest


def _certificate(content: bytes, path: Path) -> Object:
    given = Object.parse(content, f"{path}/certificate.json")
    given.expect("format", "byheart-certificate")
    given.expect("version", 1)
    files = given.object("files")
    if files.values.keys() != set(FILES):
        files.refuse(f"it must name {', '.join(FILES)} and nothing else")
    for name in FILES:
        files.get(name, str)
    _verification(given)
    _claim(given)
    return given


def _verification(certificate: Object) -> Verification:
    given = certificate.object("verified")
    checked, correct = given.get("checked", int), given.get("correct", int)
    engine = given.optional("engine", str, "unknown") or "unknown"
    fit = decoder.read_fit(certificate) if decoder.claimed(certificate) else None
    return Verification(checked, correct, given.get("evidence", str), engine, fit=fit)


def _claim(given: Object) -> tuple[str, int]:
    """The data that is spoken of: its hash and its number of sequences."""
    data = given.object("data")
    return data.get("sha256", str), data.get("sequences", int)


def _vocabulary(
    content: bytes, path: Path, settings: config.Config
) -> tuple[tuple[str, ...] | None, Labels]:
    given = Object.parse(content, f"{path}/vocabulary.json")
    tokens = _tokens(given, settings.kind)
    labels: list[Any] = given.get("labels", list)
    if {type(label) for label in labels} not in ({str}, {int}):
        given.refuse("the labels are not all strings or all integers")
    if not len(set(labels)) == len(labels) == settings.labels:
        given.refuse(f"config.json asks for {shown(settings.labels)} distinct labels")
    return tokens, tuple(labels)


def _tokens(given: Object, kind: str) -> tuple[str, ...] | None:
    if kind != "string":
        if given.values.get("tokens", ()) is not None:
            given.refuse(f"tokens must be null for tokens of kind {kind}")
        return None
    tokens = given.get("tokens", list)
    if not all(type(token) is str for token in tokens):
        given.refuse("a token is no string")
    if tokens != sorted(set(tokens)):
        given.refuse("the tokens are not distinct and sorted")
    return tuple(tokens)


def _wrong_hashes(certificate: Object, hashes: dict[str, str]) -> Iterator[str]:
    for name in FILES:
        if certificate.values["files"][name] != hashes[name]:
            yield f"the sha256 of {name} is not the one in certificate.json"


def _wrong_counts(recorded: Object, network: Network | Decoder) -> Iterator[str]:
    for group, counts in zip(("parameters", "bits"), network.counts(), strict=True):
        given = recorded.object(group)
        for name, count in counts.items():
            if (said := given.get(name, int)) != count:
                yield f"config.json says {group}.{name} is {shown(said)}, it is {count}"


def _wrong_claims(
    certificate: Object, recorded: Object, model: Model | LanguageModel
) -> Iterator[str]:
    claim, verified = _claim(certificate), _verification(certificate)
    if _claim(recorded) != claim:
        yield "config.json and certificate.json name different data"
    if isinstance(model, LanguageModel):
        contexts = recorded.object("data").get("contexts", int)
        if not decoder.claims(verified, contexts):
            yield f"certificate.json does not speak of the {shown(contexts)} contexts of its data"
    elif not claims(verified, claim[1], model.every):
        yield f"certificate.json does not claim that all {shown(claim[1])} sequences are proved"


def claims(verified: Verification, sequences: int, every: bool) -> bool:
    """Whether all labels that were checked are right: all there are, or a sample that says so.

    Where every token has a label, their number is known from the data only.
    """
    checked = verified.checked
    if not 1 <= checked == verified.correct:
        return False
    if verified.evidence == SAMPLED:
        return checked < sequences or every
    return verified.evidence == PROVED and (checked == sequences or every)
