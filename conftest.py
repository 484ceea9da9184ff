"""Settings of all tests: no deadlines (machines differ), and in CI always the same examples."""

import os

from hypothesis import settings

settings.register_profile("byheart", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("byheart")
