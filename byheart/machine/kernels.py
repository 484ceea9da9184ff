"""Functions as machine code, compiled by numba when they are first called and kept on disk.

numba is slow to import: it is imported by the first kernel that is compiled. Where there is little
to do, `interpreted` runs kernels as the Python functions that they are, with the same results.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, update_wrapper
from typing import Any

import numpy as np

from .watch import current

COMPILING = "compiling kernels, once"
_interpreting: ContextVar[bool] = ContextVar("interpreting", default=False)


@contextmanager
def interpreted(when: bool = True) -> Iterator[None]:
    """A context in which kernels that are not compiled yet run as plain Python functions."""
    token = _interpreting.set(when)
    try:
        with np.errstate(over="ignore" if when else None):  # integers wrap, as in machine code
            yield
    finally:
        _interpreting.reset(token)


class Kernel:
    """A function that numba compiles when it is first called outside of `interpreted`."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if _interpreting.get() and "compiled" not in self.__dict__:
            return self.function(*arguments)
        return self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        return _compiled(self.function, {})

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where another kernel calls this one."""
        return self.compiled._numba_type_


def njit(function: Callable | None = None, **options: Any) -> Any:
    """numba.njit: kept for the next process, if there is a folder for it, and without the GIL."""
    if function is None:
        return lambda function: _compiled(function, options)
    return Kernel(function)


def _compiled(function: Callable, options: dict[str, Any]) -> Any:
    import numba

    _announced()
    chosen = {"cache": True, "nogil": True, **options}
    try:
        return numba.njit(**chosen)(function)
    except RuntimeError:  # no folder that can be written: it is compiled in every process
        return numba.njit(**{**chosen, "cache": False})(function)


@cache
def _announced() -> None:
    """Whoever watches is told while kernels are compiled; what was kept on disk is not."""
    from numba.core import event

    depth = 0

    class Compilations(event.Listener):
        def on_start(self, event: object) -> None:
            nonlocal depth
            depth += 1
            if depth == 1:
                current().note(COMPILING)

        def on_end(self, event: object) -> None:
            nonlocal depth
            depth -= 1
            if depth == 0:
                current().note("")

    event.register("numba:compile", Compilations())
