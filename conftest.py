"""Settings of all property tests.

`make test` draws the same examples everywhere, so that it passes for everyone or for nobody.
`make explore` draws new ones, ten times as many: it finds what the fixed ones never show. No test
has a deadline, because machines differ.
"""

import os

from hypothesis import is_hypothesis_test, settings

EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
settings.register_profile("byheart", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, derandomize=False, print_blob=True)
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
