"""Settings of all property tests, and the examples of the checker.

`make test` draws the same examples everywhere, so that it passes for everyone or for nobody.
`make explore` draws new ones, ten times as many: it finds what the fixed ones never show. No test
has a deadline, because machines differ.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

import bad_examples

# Before numpy is loaded: small products are slower with several threads, by far on a busy machine.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# In the background of a shell interrupts are ignored, and by all programs that are started there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
NO_CLOCK = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # of busy machines
settings.register_profile("byheart", **NO_CLOCK, derandomize=True)
settings.register_profile("explore", **NO_CLOCK, derandomize=False, print_blob=True)
settings.load_profile("explore" if EXPLORE else "byheart")


def pytest_collection_modifyitems(config, items):
    """Exploring runs the property tests alone, each with ten times its examples."""
    if not EXPLORE:
        return
    properties = [item for item in items if is_hypothesis_test(getattr(item, "obj", None))]
    for test in {item.obj for item in properties}:
        own = getattr(test, "_hypothesis_internal_use_settings", None) or settings()
        test._hypothesis_internal_use_settings = settings(
            own, max_examples=10 * own.max_examples, derandomize=False, deadline=None
        )
    config.hook.pytest_deselected(items=[item for item in items if item not in properties])
    items[:] = properties


@pytest.fixture(autouse=True)
def subnormal_numbers():
    """Fails for a test that leaves them rounded to 0: later tests would read other numbers."""
    yield
    assert sys.float_info.min / 2 > 0, "this test left subnormal numbers flushed"


@pytest.fixture(scope="session")
def examples(tmp_path_factory) -> Path:
    """All examples of the checker: good/, bad/, stock/good/ and stock/bad/."""
    root = tmp_path_factory.mktemp("examples")
    bad_examples.write_all(root)
    return root


@pytest.fixture
def example(request, examples) -> Path:
    """The folder of one example, named by an indirect parameter such as bad/hole."""
    return examples / request.param
