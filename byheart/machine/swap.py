"""Folders that appear whole or not at all."""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ByheartError
from .files import PART, refuse_existing, remove, unfinished
from .names import KNOWN
from .strict import Object, read_text_file

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def is_unfinished(path: Path) -> bool:
    """Whether a killed save has left this folder, with half a model in it or a whole one."""
    return path.name.startswith(PART) and path.name.endswith(".part")


@contextmanager
def appearing(path: Path, force: bool) -> Iterator[Path]:
    """A new folder to fill, which becomes `path` at the end or vanishes on an error."""
    check_place(path, force)
    with unfinished(path, folder=True) as part:  # after an exchange this is the old model
        yield part
        sync(part)
        settle(part, path, lambda: check_place(path, force))


def settle(part: Path, path: Path, check: Callable[[], None]) -> None:
    """The finished part becomes `path`, and what was there becomes the part, to be removed."""
    if not os.path.lexists(path):
        os.rename(part, path)
    else:
        check()
        if not _exchange(part, path):  # this system has no such step: two instead
            old = part.with_suffix(".old")
            os.rename(path, old)
            try:
                os.rename(part, path)
            except BaseException:
                os.rename(old, path)
                raise
            remove(old)
    sync(path.parent)


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
    """Refuse to replace anything but an empty folder or one that holds a byheart model alone."""
    refuse_existing(path, force)
    if not os.path.lexists(path):
        return
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise ByheartError(f"{path} is not the folder of a model and is not replaced.")
    entries = list(os.scandir(path))
    if not entries:
        return
    stock = os.path.lexists(path / "byheart.json")  # beside the config.json of a checkpoint
    known = {*KNOWN, *_taught(path)}
    try:
        name = "byheart.json" if stock else "config.json"
        given = Object.parse(read_text_file(path / name), name)
        if len(known) == len(KNOWN):
            given.expect("format", "byheart-model")
    except ByheartError:
        raise ByheartError(f"{path} holds no byheart model and is not replaced.") from None
    for entry in entries:
        if entry.name not in known or entry.is_dir(follow_symlinks=False):
            raise ByheartError(
                f"{path} also holds {entry.name!a}, which byheart did not write; "
                "move it away or choose another name."
            )


def _taught(path: Path) -> set[str]:
    """The files of a checkpoint that facts were added to, some of which its base has named."""
    try:
        given = Object.parse(read_text_file(path / "certificate.json"), "certificate.json")
        return {*given.get("files", dict)} if given.values.get("claim") == "taught" else set()
    except ByheartError:
        return set()


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
