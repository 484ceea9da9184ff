"""Save a model folder."""

import hashlib
import os
from pathlib import Path

from ...data.dataset import Dataset
from ...data.load import write_jsonl
from ...errors import ByheartError
from ..model import Model
from ..verification import Verification
from . import config
from .names import TOKENIZER, as_json
from .plain import Piece
from .read import read
from .swap import appearing, sync


def save(
    model: Model, path: str | os.PathLike[str], *, force: bool = False, data: Dataset | None = None
) -> None:
    """Write a verified model to a new folder; with `force`, in the place of an older model.

    data  the dataset it was verified on, to put beside the weights as data.jsonl
    """
    verified, claim = model.verification, model.claim
    about = model.about.get("data", {})
    if verified is None or verified.refuted or "sha256" not in about:
        raise ByheartError("the model has not been verified and is not saved; verify it first.")
    if not claim.covers(verified, about.get(claim.counted, -1), model.every):
        raise ByheartError(
            f"the model was {verified.evidence} on {verified.checked} of "
            f"{about.get(claim.counted)} {claim.noun}, which a certificate cannot state, and is "
            "not saved."
        )
    if data is not None and data.sha256() != model.about["data"]["sha256"]:
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
    except ByheartError as error:
        if isinstance(error.__cause__, OSError):  # it names a file of the temporary folder
            raise _unwritable(place, error.__cause__) from error
        raise
    except OSError as error:
        raise _unwritable(place, error) from error
    except (ValueError, OverflowError) as error:  # a name or a number that no file can hold
        raise ByheartError(f"{str(place)!a} cannot be written: {error}.") from error


def _unwritable(path: Path, error: OSError) -> ByheartError:
    return ByheartError(f"{path} cannot be written: {error.strerror or error}.")


def _contents(model: Model, verified: Verification, with_data: bool) -> dict[str, list[Piece]]:
    """The files of the folder except the data, in pieces: weights may fill half the memory."""
    claim = model.claim
    described = config.described(model.number, claim.config(model), model.about)
    files = claim.contents(model, described)
    hashes = {}
    for name in claim.files:
        digest = hashlib.sha256()
        for piece in files[name]:
            digest.update(piece)
        hashes[name] = digest.hexdigest()
    certificate = {
        "format": "byheart-certificate",
        "version": 1,
        **claim.certificate(),
        "files": hashes,
        "data": {name: model.about["data"][name] for name in ("sha256", "sequences")},
        **({"change": change} if (change := model.about.get("change")) else {}),
        "verified": {**verified.json(), "engine": verified.engine},
        **(verified.fit.json() if verified.fit else {}),
    }
    files["README.md"] = [
        claim.card(model, verified, with_data).encode("ascii", "backslashreplace")
    ]
    if isinstance(tokenizer := model.about.get("tokenizer"), str):
        files.setdefault(TOKENIZER, [tokenizer.encode()])
    return {**files, "certificate.json": [as_json(certificate)]}


def _read_back(folder: Path, place: Path, model: Model) -> None:
    """A folder that does not open, because a limit of the format is passed, must not appear."""
    try:
        found = read(folder)
    except ByheartError as error:
        if isinstance(error.__cause__, OSError):
            raise
        reason = str(error).replace(str(folder), "the folder")
        raise ByheartError(f"{place} cannot be written: {reason}") from error
    if found.network != model.network:
        raise AssertionError("the folder holds another network")
    if (found.tokens, found.labels) != (model.tokens, tuple(model.labels)):
        raise AssertionError("the folder holds other words")
