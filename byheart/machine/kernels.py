"""Functions as machine code, compiled by numba when they are first called and kept on disk.

Importing this file imports numba, which is slow; the files that hold kernels load when needed.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from .watch import current

COMPILING = "compiling kernels, once"


def njit(function: Callable | None = None, **options: Any) -> Any:
    """numba.njit: kept for the next process, if there is a folder for it, and without the GIL."""
    if function is None:
        return lambda function: njit(function, **options)
    chosen = {"cache": True, "nogil": True, **options}
    try:
        return numba.njit(**chosen)(function)
    except RuntimeError:  # no folder that can be written: it is compiled in every process
        return numba.njit(**{**chosen, "cache": False})(function)


class Compilations(event.Listener):
    """Tells whoever watches while kernels are compiled; what was kept on disk is not."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: object) -> None:
        self.depth += 1
        if self.depth == 1:
            current().note(COMPILING)

    def on_end(self, event: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            current().note("")


event.register("numba:compile", Compilations())
