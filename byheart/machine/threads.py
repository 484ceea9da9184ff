"""One thread for linear algebra, where a result must not depend on the machine."""

from contextlib import AbstractContextManager


def single() -> AbstractContextManager:
    """A context in which products and solves use one thread.

    Several threads add up in another order, so an optimisation may end elsewhere and a search may
    find another size. Small products are also faster with one, by far if the machine is busy.
    """
    import numpy  # noqa: F401  only libraries that are loaded can be limited
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
