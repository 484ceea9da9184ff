"""Folders that appear whole or not at all."""

import ctypes
import errno
import hashlib
import os
import platform
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ByheartError
from .files import refuse_existing
from .names import KNOWN
from .strict import Object, read_text_file

HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # locks are those of one machine
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def is_unfinished(path: Path) -> bool:
    """Whether a killed save has left this folder, with half a model in it or a whole one."""
    return path.name.startswith(".byheart-") and path.name.endswith(".part")


@contextmanager
def appearing(path: Path, force: bool) -> Iterator[Path]:
    """A new folder to fill, which becomes `path` at the end or vanishes on an error."""
    check_place(path, force)
    for other in path.parent.glob(f".byheart-*-{HOST}.part"):
        _remove_abandoned(other)
    while True:
        part = path.with_name(f".byheart-{secrets.token_hex(8)}-{HOST}.part")
        os.mkdir(part)
        lock = _locked(part, wait=True)  # which the system releases when this process ends
        if os.path.isdir(part):
            break
        if lock is not None:  # another process took it for abandoned before it was locked
            os.close(lock)
    try:
        yield part
        sync(part)
        if not os.path.lexists(path):
            os.rename(part, path)
        else:
            check_place(path, force)
            if not _exchange(part, path):  # this system has no such step: two instead
                old = part.with_suffix(".old")
                os.rename(path, old)
                try:
                    os.rename(part, path)
                except BaseException:
                    os.rename(old, path)
                    raise
                _remove(old)
        sync(path.parent)
    finally:
        _remove(part)  # after an exchange this is the old model
        if lock is not None:
            os.close(lock)


def _locked(folder: Path, wait: bool = False) -> int | None:
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


def _remove_abandoned(part: Path) -> None:
    """Remove what a save of this user has left, if its lock says that the process is gone."""
    lock = _locked(part)
    if lock is None:
        return
    try:
        names = {entry.name for entry in os.scandir(part)}
        if os.fstat(lock).st_uid == os.geteuid() and names <= set(KNOWN):
            _remove(part)
    except OSError:
        pass  # another process has removed it
    finally:
        os.close(lock)


def sync(path: Path) -> None:
    """Make the disk hold what the file or folder holds now."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_place(path: Path, force: bool) -> None:
    """Refuse to replace anything but an empty folder, or a byheart model and nothing else."""
    refuse_existing(path, force)
    if not os.path.lexists(path):
        return
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise ByheartError(f"{path} is not the folder of a model and is not replaced.")
    entries = list(os.scandir(path))
    if not entries:
        return
    stock = os.path.lexists(path / "byheart.json")  # beside the config.json of a checkpoint
    try:
        name = "byheart.json" if stock else "config.json"
        Object.parse(read_text_file(path / name), name).expect("format", "byheart-model")
    except ByheartError:
        raise ByheartError(f"{path} holds no byheart model and is not replaced.") from None
    for entry in entries:
        if entry.name not in KNOWN or entry.is_dir(follow_symlinks=False):
            raise ByheartError(
                f"{path} also holds {entry.name!a}, which byheart did not write; "
                "move it away or choose another name."
            )


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False if this system has no such step."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other)
    if rename(*names, RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), str(other))


def _remove(folder: Path) -> None:
    """Remove what byheart wrote, by name: whatever else might be there stays."""
    with suppress(OSError):
        for name in KNOWN:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
