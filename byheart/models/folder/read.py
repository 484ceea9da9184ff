"""Open a model folder: what is not a model is refused, what contradicts itself disagrees."""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import ByheartError, DisagreementError
from ..claim import Claim
from ..claims import CLAIMS, Recites
from ..model import Model
from ..verification import Fit, Verification
from .names import TOKENIZER
from .strict import Object, read_text_file, shown
from .swap import is_unfinished

WEIGHTS = ".safetensors"
CHANGE, CHANGES = ("kind", "data", "rebuilt"), ("edit", "forget")
RETRIES = 5  # a folder that is replaced while it is read is read again


def open(path: str | os.PathLike[str]) -> Model:
    """The model of a folder whose format, hashes and counts all hold.

    The labels are not evaluated again: that is what `verify` is for.

    Args:
        path: A folder that `model.save` or `byheart compile` wrote.

    Returns:
        The model, with the evidence that its certificate states.

    Raises:
        ByheartError: It is not readable as a model.
        DisagreementError: It is, but a hash or a count disagrees.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a"], "x"), (["b"], "y")])
        >>> byheart.compile(data).save("small.model", force=True)
        >>> byheart.open("small.model").recall(["b"])
        'y'
    """
    path = Path(path)
    if is_unfinished(Path(os.path.abspath(path))):
        raise ByheartError(f"{path} was left by an interrupted save and is not a model; delete it.")
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


def read(path: Path) -> Model:
    """The model of a folder that nobody replaces in the meantime."""
    try:
        if not path.is_dir():
            raise ByheartError(f"{path} is not a directory; give the folder of a model.")
        certificate = _certificate(read_text_file(path / "certificate.json"), path)
        claim = _claim(certificate, path)
        names = certificate.object("files")
        if names.values.keys() != set(claim.files):
            names.refuse(f"it must name {', '.join(claim.files)} and nothing else")
        text = {x: read_text_file(path / x) for x in claim.files if not x.endswith(WEIGHTS)}
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in text.items()}
        model, digest = claim.read(path, text, certificate)
        hashes[next(name for name in claim.files if name.endswith(WEIGHTS))] = digest
        found = list(_disagreements(certificate, hashes, model, path))
        if found:
            more = f" (and {len(found) - 1} more disagreements)" if len(found) > 1 else ""
            raise DisagreementError(f"{path}: {found[0]}{more}.")
        model.about["verification"] = _verification(certificate)
        if (change := _change(certificate)) is not None:
            model.about["change"] = change
        if os.path.lexists(path / TOKENIZER):
            model.about["tokenizer"] = read_text_file(path / TOKENIZER).decode(errors="replace")
        return model
    except MemoryError:
        raise ByheartError(f"{path} needs more memory than there is.") from None
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ByheartError:
        raise
    except ValueError as error:  # a path with a null character
        raise ByheartError(f"{path!a} cannot be read: {error}.") from None


def _certificate(content: bytes, path: Path) -> Object:
    """certificate.json, with everything in it that other functions read."""
    given = Object.parse(content, f"{path}/certificate.json")
    given.expect("format", "byheart-certificate")
    given.expect("version", 1)
    files = given.object("files")
    for name in files.values:
        files.get(name, str)
    _verification(given)
    _data(given)
    _change(given)
    return given


def _claim(certificate: Object, path: Path) -> type[Claim]:
    """What the folder claims: a stock checkpoint says it itself, others by their config.json."""
    if certificate.values.get("claim") == Recites.name:
        return Recites
    given = Object.parse(read_text_file(path / "config.json"), f"{path}/config.json")
    return next(x for x in CLAIMS.values() if x is not Recites and x.stored_in(given))


def _verification(certificate: Object) -> Verification:
    given = certificate.object("verified")
    checked, correct = given.get("checked", int), given.get("correct", int)
    engine = given.note("engine", str, "unknown")
    fit = _fit(certificate)
    return Verification(checked, correct, given.get("evidence", str), engine, fit=fit)


def _fit(certificate: Object) -> Fit | None:
    """How well the distributions are stored, where the certificate says so: a note for people."""
    divergence, loss = (certificate.note(name, dict, {}) for name in ("divergence", "loss"))
    amounts: list[Any] = [divergence.get("mean"), divergence.get("max"), loss.get("total")]
    amounts += [loss.get("entropy"), certificate.values.get("accuracy")]
    if not all(type(x) in (int, float) and abs(x) <= sys.float_info.max for x in amounts):
        return None
    mean, most, total, entropy, accuracy = map(float, amounts)
    return Fit(mean, most, total, entropy, accuracy, certificate.note("predictions", int))


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
    certificate: Object, hashes: dict[str, str], model: Model, path: Path
) -> Iterator[str]:
    """Hashes, counts and claims of the folder that are not true."""
    for name in model.claim.files:
        if certificate.values["files"][name] != hashes[name]:
            yield f"the sha256 of {name} is not the one in certificate.json"
    notes = "byheart.json" if "byheart.json" in model.claim.files else "config.json"
    recorded = Object(model.about, f"{path}/{notes}")
    for group, counts in zip(("parameters", "bits"), model.network.counts(), strict=True):
        given = recorded.object(group)
        for name, count in counts.items():
            if (stated := given.get(name, int)) != count:
                yield f"{notes} says {group}.{name} is {shown(stated)}, it is {count}"
    if _data(recorded) != _data(certificate):
        yield f"{notes} and certificate.json name different data"
    change = _change(certificate)
    if change is not None and change["data"] != _data(certificate)[0]:
        yield "certificate.json names different data for its change"
    counted = model.claim.counted
    count = recorded.object("data").get(counted, int)
    if not model.claim.covers(_verification(certificate), count, model.every):
        yield f"certificate.json does not claim that all {shown(count)} {counted} are verified"
