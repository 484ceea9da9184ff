"""Refuse work that does not fit into memory before it starts."""

import os
from pathlib import Path

from ..errors import ByheartError

MEMINFO = Path("/proc/meminfo")


def available() -> int:
    """The bytes that can still be had without swapping; all there are if nobody says."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


ADVICE = "use a smaller --length or --window, or a part of the file"
SMALLER = f"{ADVICE}, or a smaller --dimension"


def require(needed: int, source: str, what: str, advice: str = ADVICE) -> None:
    """ByheartError if `what` needs more bytes than there are."""
    there = available()
    if needed > there:
        raise ByheartError(
            f"{source}: {what} needs {needed:,} bytes of memory and {there:,} are available; "
            f"{advice}."
        )
