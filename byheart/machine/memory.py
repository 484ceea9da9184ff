"""Refuse work that does not fit into memory before it starts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from ..errors import ByheartError

MEMINFO, STATUS = Path("/proc/meminfo"), Path("/proc/self/status")
ALWAYS = 1 << 28  # bytes that a block may ask for, whatever is available
ADVICE = "use a smaller `length=...` or `window=...`, or a part of the file"
SMALLER = f"{ADVICE}, or a smaller `dimension=...`"


_lock, _limits = Lock(), list[tuple[int, int]]()  # the limits before each block that is running


def available() -> int:
    """The bytes available without swapping; all of the memory where that is not known."""
    there = _stated(MEMINFO, "MemAvailable:")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if there is None else there


def _stated(file: Path, name: str) -> int | None:
    """What a file of the system says in kilobytes, as bytes; None if it does not say it."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None


@contextmanager
def bounded() -> Iterator[None]:
    """A MemoryError, on Linux, as soon as the block asks for more memory than was available."""
    used = _stated(STATUS, "VmData:")
    if used is None:
        yield
        return
    from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit, setrlimit

    with _lock:
        _limits.append(getrlimit(RLIMIT_DATA))
        if len(_limits) == 1:  # else another thread is inside
            lower = [x for x in _limits[0] if x != RLIM_INFINITY]
            most = min([used + max(ALWAYS, available()), *lower])
            setrlimit(RLIMIT_DATA, (most, _limits[0][1]))
    try:
        yield
    finally:
        with _lock:
            first = _limits[0]
            _limits.pop()
            if not _limits:
                setrlimit(RLIMIT_DATA, first)


def require(needed: int, source: str, what: str, advice: str = ADVICE) -> None:
    """ByheartError if `what` needs more bytes than are available."""
    there = available()
    if needed > there:
        raise ByheartError(
            f"{source}: {what} needs {needed:,} bytes of memory and {there:,} are available; "
            f"{advice}."
        )
