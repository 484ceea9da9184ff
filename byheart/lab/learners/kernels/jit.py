"""How kernels are compiled: once, and again when any of their files changes."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....machine.kernels import njit

# Sums in any order; but no division by approximate reciprocals: a lone token has the weight 1.
FAST = ("nnan", "ninf", "nsz", "contract", "reassoc")
OPTIONS: Any = {"fastmath": set(FAST), "error_model": "numpy"}


FILES = sorted(Path(__file__).parent.glob("*.py"))
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in FILES)).hexdigest()


def compiled(kernel: Callable, **options: Any) -> Any:
    """The kernel as machine code, which is kept for the next process.

    Numba compiles it again when its own file has changed, and not when a kernel of another file has
    that was compiled into it. So what is kept is stamped with all files instead.
    """
    found = njit(**OPTIONS, **options)(kernel)
    kept = getattr(found._cache, "_cache_file", None)  # there is no public way to the stamp
    if kept is not None:
        kept._source_stamp = SOURCES
    return found


def inlined(kernel: Callable) -> Any:
    """The kernel, as a part of every kernel that calls it."""
    return compiled(kernel, forceinline=True)
