"""Open a model folder."""

import os
from pathlib import Path

from ..errors import ByheartError
from ..machine.swap import is_unfinished
from .folder.read import read
from .model import Model

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
    for attempt in range(RETRIES + 1):
        before = _identity(path)
        try:
            data = read(path)
            break
        except ByheartError:
            if attempt == RETRIES or _identity(path) == before:
                raise
    return Model(data.network, data.words, data.claim, data.record)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which folder stands there: files of two, read while one replaced the other, do not agree."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_ctime_ns
