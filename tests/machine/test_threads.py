"""One thread while a model is built."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from byheart.machine.threads import single


def threads():
    return {pool["num_threads"] for pool in threadpool_info()}


def test_linear_algebra_has_one_thread():
    with single():  # it loads the libraries
        assert threads() == {1}
    with threadpool_limits(2):
        assert threads() == {2}
        with single():
            assert threads() == {1}
        assert threads() == {2}


def test_the_limit_holds_until_the_last_has_left():
    """Of two that overlap, as in two threads of Python, the first to leave takes nothing away."""
    with threadpool_limits(2):
        first, second = single(), single()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_an_error_inside_lifts_the_limit():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), single():
            1 / 0  # noqa: B018
        assert threads() == {2}
