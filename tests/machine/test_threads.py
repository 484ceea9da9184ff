"""One thread while a decoder is built."""

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
