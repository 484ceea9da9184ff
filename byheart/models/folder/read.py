"""Read a model folder: what is not a model is refused, what contradicts itself disagrees."""

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...claims.kind import Storing
from ...claims.model import ModelData
from ...claims.notes import check_version
from ...claims.record import Parameters
from ...claims.verification import Fit, Verification
from ...errors import ByheartError, DisagreementError
from ...machine.names import TOKENIZER
from ...machine.strict import Object, read_text_file, shown
from ..kinds import KINDS, kind_with

WEIGHTS, OWN = ".safetensors", "byheart.json"
CHANGE, CHANGES = ("kind", "data", "rebuilt"), ("edit", "forget")


def read(path: Path) -> ModelData:
    """The model of a folder that nobody replaces in the meantime."""
    try:
        if path.is_file():
            return _packed(path)
        if not path.is_dir():
            raise ByheartError(f"{path} is not a directory; give the folder of a model.")
        content = read_text_file(path / "certificate.json")
        certificate = Object.parse(content, f"{path}/certificate.json")
        certificate.expect("format", "byheart-certificate")
        check_version(certificate)
        if certificate.values.get("claim") == "taught":
            raise ByheartError(
                f"{path} is a checkpoint that was taught; it is asked in transformers, and by "
                "verify, locate, forget, diff and audit."
            )
        names = certificate.object("files")
        for name in names.values:
            names.get(name, str)
        store = kind_with(certificate.choice("claim", tuple(KINDS))).store
        if names.values.keys() != set(store.FILES):
            names.refuse(f"it must name {', '.join(store.FILES)} and nothing else")
        text = {x: read_text_file(path / x) for x in store.FILES if not x.endswith(WEIGHTS)}
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in text.items()}
        model, digest = store.read(path, text, certificate)
        hashes[weights_file(store)] = digest
        disagreements = list(_disagreements(certificate, text, hashes, model, store, path))
        if disagreements:
            more = f" (and {len(disagreements) - 1} more disagreements)"
            more = more if len(disagreements) > 1 else ""
            raise DisagreementError(f"{path}: {disagreements[0]}{more}.")
        tokenizer = None
        if os.path.lexists(path / TOKENIZER):
            tokenizer = read_text_file(path / TOKENIZER).decode(errors="replace")
        return _recorded(model, certificate, tokenizer)
    except MemoryError:
        raise ByheartError(f"{path} needs more memory than there is.") from None
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ByheartError:
        raise
    except ValueError as error:  # a path with a null character
        raise ByheartError(f"{path!a} cannot be read: {error}.") from None


def _packed(path: Path) -> ModelData:
    from .packed import unpack  # folders do not need it

    model, certificate, tokenizer = unpack(read_text_file(path.resolve()), str(path))
    _, sequences = _data(certificate)
    change, verification = _change(certificate), _verification(certificate)
    if not model.claim.covers(verification, sequences, model.every):
        raise DisagreementError(f"{path}: it does not claim that all its sequences are verified.")
    if change is not None and change["data"] != _data(certificate)[0]:
        raise DisagreementError(f"{path}: it names different data for its change.")
    return _recorded(model, certificate, tokenizer)


def _recorded(model: ModelData, certificate: Object, tokenizer: str | None) -> ModelData:
    """The model with what was counted in it, and what its certificate says."""
    parameters, bits = model.network.counts()
    sha256, sequences = _data(certificate)
    record = replace(
        model.record,
        data=model.record.data._replace(sha256=sha256, sequences=sequences),
        parameters=Parameters(**parameters),
        bits=model.record.bits._replace(**bits),
        verification=_verification(certificate),
        change=_change(certificate),
        tokenizer=tokenizer,
    )
    return replace(model, record=record)


def weights_file(store: Storing) -> str:
    return next(name for name in store.FILES if name.endswith(WEIGHTS))


def _verification(certificate: Object) -> Verification:
    """The evidence; how well distributions are stored is a note for people, where it is there."""
    given = certificate.object("verified")
    checked, correct = given.get("checked", int), given.get("correct", int)
    engine, evidence = given.note("engine", str, "unknown"), given.get("evidence", str)
    divergence, loss = (certificate.note(name, dict, {}) for name in ("divergence", "loss"))
    amounts: list[Any] = [divergence.get("mean"), divergence.get("max"), loss.get("total")]
    amounts += [loss.get("entropy"), certificate.values.get("accuracy")]
    fit = None
    if all(type(x) in (int, float) and abs(x) <= sys.float_info.max for x in amounts):
        mean, most, total, entropy, accuracy = map(float, amounts)
        fit = Fit(mean, most, total, entropy, accuracy, certificate.note("predictions", int))
    return Verification(checked, correct, evidence, engine, fit=fit)


def _data(given: Object) -> tuple[str, int]:
    """The data that is spoken of: its hash and its number of sequences."""
    data = given.object("data")
    return data.get("sha256", str), data.get("sequences", int)


def _change(certificate: Object) -> dict[str, Any] | None:
    """How the model came from another one, if it did (checker/FORMAT.md, section 3)."""
    if "change" not in certificate.values:
        return None
    given = certificate.object("change")
    if given.values.keys() != set(CHANGE):
        given.refuse(f"it must name {', '.join(CHANGE)} and nothing else")
    kind, data = given.choice("kind", CHANGES), given.get("data", str)
    return {"kind": kind, "data": data, "rebuilt": given.get("rebuilt", bool)}


def _disagreements(
    certificate: Object,
    text: dict[str, bytes],
    hashes: dict[str, str],
    model: ModelData,
    store: Storing,
    path: Path,
) -> Iterator[str]:
    """Hashes, counts and claims of the folder that are not true."""
    for name in store.FILES:
        if certificate.values["files"][name] != hashes[name]:
            yield f"the sha256 of {name} is not the one in certificate.json"
    notes = store.NOTES
    given = Object.parse(text[notes], f"{path}/{notes}")
    stated = {name: given.note(name, dict, {}) for name in ("data", "parameters", "bits")}
    if notes == OWN:  # notes for people: they may be missing
        parameters, bits = model.network.counts()
        known = {"data": certificate.values["data"], "parameters": parameters, "bits": bits}
        stated = {name: known[name] | values for name, values in stated.items()}
    recorded = Object(stated, f"{path}/{notes}")
    for group, counts in zip(("parameters", "bits"), model.network.counts(), strict=True):
        listed = recorded.object(group)
        for name, count in counts.items():
            if (number := listed.get(name, int)) != count:
                yield f"{notes} says {group}.{name} is {shown(number)}, it is {count}"
    if _data(recorded) != _data(certificate):
        yield f"{notes} and certificate.json name different data"
    change = _change(certificate)
    if change is not None and change["data"] != _data(certificate)[0]:
        yield "certificate.json names different data for its change"
    counted = model.claim.counted
    count = recorded.object("data").get(counted, int)
    if not model.claim.covers(_verification(certificate), count, model.every):
        yield f"certificate.json does not claim that all {shown(count)} {counted} are verified"
