"""Refuse work that does not fit into memory before it starts."""

import os
from pathlib import Path

from ..errors import ByheartError

MEMINFO = Path("/proc/meminfo")
ADVICE = "use a smaller `length=...` or `window=...`, or a part of the file"
SMALLER = f"{ADVICE}, or a smaller `dimension=...`"


def available() -> int:
    """The bytes available without swapping; all of the memory where that is not known."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require(needed: int, source: str, what: str, advice: str = ADVICE) -> None:
    """ByheartError if `what` needs more bytes than are available."""
    there = available()
    if needed > there:
        raise ByheartError(
            f"{source}: {what} needs {needed:,} bytes of memory and {there:,} are available; "
            f"{advice}."
        )
