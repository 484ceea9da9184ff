"""One thread while a decoder is built."""

from threadpoolctl import threadpool_info

from byheart.machine.threads import single


def test_linear_algebra_has_one_thread():
    before = [pool["num_threads"] for pool in threadpool_info()]
    with single():
        pools = threadpool_info()
        assert pools and all(pool["num_threads"] == 1 for pool in pools)
    assert [pool["num_threads"] for pool in threadpool_info()][: len(before)] == before
