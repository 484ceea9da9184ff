"""One thread for linear algebra, where a result must not depend on the machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_limits: list[Any] = []  # what those who are inside have set, to be undone by the last of them
_inside = 0


@contextmanager
def single(scipy: bool = True) -> Iterator[None]:
    """A context in which products and solves use one thread.

    Several threads add up in another order, so an optimisation may end elsewhere and a search may
    find another size. Small products are also faster with one, by far if the machine is busy.
    The limit is the process's: it is lifted when the last thread of Python has left.

    scipy  whether the block uses it, which is slow to import: only what is loaded can be limited
    """
    import numpy  # noqa: F401
    from threadpoolctl import threadpool_limits

    if scipy:
        from scipy import linalg  # noqa: F401

    global _inside
    with _lock:
        _limits.append(threadpool_limits(1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _limits and not _inside:
                _limits.pop().restore_original_limits()
