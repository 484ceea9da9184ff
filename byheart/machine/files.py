"""Files that appear whole or not at all, and only where nothing is lost.

What a killed process left behind is removed by the next one that writes to the same folder. It is
ours by its name and its owner, and the process is gone if its lock is.
"""

import hashlib
import os
import platform
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import ByheartError
from .names import EXPORTED, KNOWN

PART = ".byheart-"  # begins the name of what is not yet in its place
HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # locks are those of one machine


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` at the end, or vanishes on an error."""
    path = Path(path)
    try:
        with unfinished(path, folder=False) as part:
            with open(part, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
    except OSError as error:
        raise ByheartError(f"{path} cannot be written: {error.strerror or error}.") from error


@contextmanager
def unfinished(path: Path, folder: bool) -> Iterator[Path]:
    """A new folder or file beside `path`; what is there at the end is removed.

    It is locked meanwhile: the system releases the lock when this process ends, however it ends.
    """
    for other in path.parent.glob(f"{PART}*-{HOST}.part"):
        _remove_abandoned(other)
    while True:
        part = path.with_name(f"{PART}{secrets.token_hex(8)}-{HOST}.part")
        if folder:
            os.mkdir(part)
        else:
            part.touch(exist_ok=False)
        lock = locked(part, wait=True)
        if os.path.lexists(part):
            break
        if lock is not None:
            os.close(lock)
    try:
        yield part
    finally:
        if folder:
            remove(part)
        else:
            part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def locked(part: Path, wait: bool = False) -> int | None:
    """The part, open and locked; None if another process has it, or the system has no locks."""
    if os.name != "posix":
        return None
    import fcntl

    try:
        descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # nor wait for one
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_abandoned(part: Path) -> None:
    """Remove what a process on this machine has left, if it is gone."""
    lock = locked(part)
    if lock is None:
        return
    try:
        facts = os.fstat(lock)
        if facts.st_uid == os.geteuid():
            if stat.S_ISREG(facts.st_mode):
                part.unlink()
            elif {entry.name for entry in os.scandir(part)} <= {*KNOWN, *EXPORTED}:
                remove(part)
    except OSError:
        pass  # another process has removed it
    finally:
        os.close(lock)


def remove(folder: Path) -> None:
    """Remove what byheart wrote, by name: whatever else might be there stays."""
    with suppress(OSError):
        for name in (*KNOWN, *EXPORTED):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def refuse_existing(path: Path, force: bool) -> None:
    """ByheartError if the output would replace something, or if its directory does not exist."""
    if not path.parent.is_dir():
        raise ByheartError(f"{path.parent} is not a directory; create it first.")
    if (path.exists() or path.is_symlink()) and not force:
        raise ByheartError(f"{path} exists; choose another name, or replace it with `force=True`.")
