"""Files that appear whole or not at all, and only where nothing is lost."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ByheartError


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` at the end, or vanishes on an error."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
        os.replace(part, path)
    except OSError as error:
        raise ByheartError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def refuse_existing(path: Path, force: bool) -> None:
    """ByheartError if the output would replace something, or if its directory does not exist."""
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is not a directory; create it first.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ByheartError(f"{path} exists; choose another name, or replace it with `force=True`.")


def locked(folder: Path, wait: bool = False) -> int | None:
    """The folder, open and locked; None if another process has it, or the system has no locks."""
    if os.name != "posix":
        return None
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
