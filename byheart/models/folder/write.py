"""Save a model: as a folder, or as one packed file."""

import hashlib
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from ...claims import notes
from ...claims.card import several
from ...claims.model import ModelData
from ...claims.verification import Verification
from ...data.dataset import Dataset
from ...data.load import write_jsonl
from ...errors import ByheartError
from ...machine.files import PART, refuse_existing, replacing
from ...machine.names import MAGIC, TOKENIZER, as_json
from ...machine.plain import Piece
from ...machine.swap import appearing, sync
from ..kinds import kind_of
from ..source import stored, verify_command
from .read import read


def save(
    model: ModelData,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    data: Dataset | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Write a verified model, with its data; `before` runs before the folder takes its place."""
    verified = checked(model)
    if data is not None and data.sha256() != model.record.data.sha256:
        raise ByheartError("the data is not what the model was verified on; save it without data.")
    place = Path(os.path.abspath(path))
    try:
        with appearing(place, force) as folder:
            for name, pieces in _contents(model, verified, data is not None).items():
                with open(folder / name, "xb") as file:
                    for piece in pieces:
                        file.write(piece)
                    file.flush()
                    os.fsync(file.fileno())
            if data is not None:
                write_jsonl(data, folder / "data.jsonl")
                sync(folder / "data.jsonl")
            _read_back(folder, place, model)
            if before is not None:
                before()
    except (ByheartError, OSError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        inside = isinstance(error, OSError) or PART in str(error)
        if not inside or not isinstance(cause, OSError):
            raise  # else it would name a file of the temporary folder
        raise ByheartError(f"{place} cannot be written: {cause.strerror or cause}.") from error
    except (ValueError, OverflowError) as error:  # a name or a number that no file can hold
        raise ByheartError(f"{str(place)!a} cannot be written: {error}.") from error


def save_packed(model: ModelData, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a verified model that gives labels to one file (checker/FORMAT.md, section 11)."""
    from . import packed

    verified, place = checked(model), Path(os.path.abspath(path))
    check_packed(model, place, force)
    described = notes.described(model.number, kind_of(model).store.describe(model), model.record)
    content = packed.pack(model, described, _certificate(model, verified, {}))
    copy = packed.unpack(content, str(place)).model
    if (copy.network, copy.tokens, copy.labels) != (model.network, model.tokens, model.labels):
        raise AssertionError("the file holds another model")
    with replacing(place) as file:
        file.write(content)


def check_packed(model: ModelData | None, place: Path, force: bool) -> None:
    """ByheartError if the model, or where it is to go, is not for a packed file."""
    if model is not None and not model.claim.packed:
        raise ByheartError(
            f"a packed file holds a network that gives labels, and this model gives "
            f"{model.claim.noun}; write a folder."
        )
    refuse_existing(place, force)
    if os.path.lexists(place):
        begins = b""
        if place.is_file() and not place.is_symlink():
            with open(place, "rb") as file:
                begins = file.read(len(MAGIC))
        if begins != MAGIC:
            raise ByheartError(f"{place} is not a packed model and is not replaced.")


def checked(model: ModelData) -> Verification:
    """What the model was verified with; ByheartError where a certificate cannot state it."""
    verified, claim = model.record.verification, model.claim
    if verified is None or verified.refuted or model.record.data.sha256 is None:
        raise ByheartError("the model has not been verified and is not saved; verify it first.")
    count = getattr(model.record.data, claim.counted)
    if not claim.covers(verified, -1 if count is None else count, model.every):
        raise ByheartError(
            f"the model was {verified.evidence} on {verified.checked} of {count} {claim.noun}, "
            "which a certificate cannot state, and is not saved."
        )
    return verified


def _contents(model: ModelData, verified: Verification, with_data: bool) -> dict[str, list[Piece]]:
    """The files of the folder except the data, in pieces: weights may fill half the memory."""
    kind = kind_of(model)
    described = notes.described(model.number, kind.store.describe(model), model.record)
    files = kind.store.contents(model, described)
    hashes = {}
    for name in kind.store.FILES:
        digest = hashlib.sha256()
        for piece in files[name]:
            digest.update(piece)
        hashes[name] = digest.hexdigest()
    certificate = _certificate(model, verified, hashes)
    card = kind.show.card(model, verified, _check_again(model, with_data))
    files["README.md"] = [card.encode("ascii", "backslashreplace")]
    if (tokenizer := model.record.tokenizer) is not None:
        files.setdefault(TOKENIZER, [tokenizer.encode()])
    return {**files, "certificate.json": [as_json(certificate)]}


def _certificate(
    model: ModelData, verified: Verification, hashes: dict[str, str]
) -> dict[str, Any]:
    return {
        "format": "byheart-certificate",
        "version": notes.VERSION,
        **kind_of(model).store.certificate(model.claim),
        "files": hashes,
        "data": {"sha256": model.record.data.sha256, "sequences": model.record.data.sequences},
        **({"change": change} if (change := model.record.change) else {}),
        "verified": {**verified.json(), "engine": verified.engine},
        **(verified.fit.json() if verified.fit else {}),
    }


def _read_back(folder: Path, place: Path, model: ModelData) -> None:
    """A folder that does not open, because a limit of the format is passed, must not appear."""
    try:
        copy = read(folder)
    except ByheartError as error:
        if isinstance(error.__cause__, OSError):
            raise
        reason = str(error).replace(str(folder), "the folder")
        raise ByheartError(f"{place} cannot be written: {reason}") from error
    if copy.network != model.network:
        raise AssertionError("the folder holds another network")
    if (copy.tokens, copy.labels) != (model.tokens, tuple(model.labels)):
        raise AssertionError("the folder holds other words")


def _check_again(model: ModelData, with_data: bool) -> str:
    """The last section of a card: how to verify the model, with byheart and with the checker."""
    counts = model.record.conflicts
    changed, dropped = counts.get("relabelled"), counts.get("dropped")
    data = "the file that it was compiled from"
    if changed or dropped:
        data = (
            f"that file after {several(changed, 'label')} {'was' if changed == 1 else 'were'} "
            f"changed and {several(dropped, 'sequence')} left out,\n"
            "as `byheart compile --write-data` writes it"
        )
    canonical = bool(with_data or changed or dropped)
    verify = verify_command(model, canonical=canonical)
    plainly = canonical or not stored(model)
    checker = "python checker/check.py DIR DATA" if plainly else f"{verify} --checker"
    data = "`data.jsonl` in this folder" if with_data else data
    text = resources.files(__package__).joinpath("again.md").read_text("ascii")
    return text.format(verify=verify, checker=checker, data=data)
