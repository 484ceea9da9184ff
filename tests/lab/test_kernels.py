"""What is kept of compiled kernels belongs to all their files, not only to each one's own."""

import importlib
import sys
from pathlib import Path

import pytest

from byheart.lab.learners.kernels import jit

FOLDER = Path(jit.__file__).parent
KERNEL = """
from byheart.lab.learners.kernels.jit import compiled

@compiled
def twice(x):
    return 2 * x
"""


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_kernel_is_stamped_with_all_files(path):
    module = importlib.import_module(f"byheart.lab.learners.kernels.{path.stem}")
    kernels = [x for x in vars(module).values() if hasattr(x, "py_func")]
    assert kernels or path.stem == "jit"
    for kernel in kernels:
        assert kernel._cache._cache_file._source_stamp == jit.SOURCES


def test_another_file_means_compiling_again(tmp_path, monkeypatch):
    """Twice the same files: what was kept is used. Then one of them has changed."""
    (tmp_path / "kernel_of_a_test.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(tmp_path)
    for sources, used in (("a", 0), ("a", 1), ("b", 0)):
        monkeypatch.setattr(jit, "SOURCES", sources)
        sys.modules.pop("kernel_of_a_test", None)
        kernel = importlib.import_module("kernel_of_a_test").twice
        assert kernel(4) == 8
        assert sum(kernel.stats.cache_hits.values()) == used
    sys.modules.pop("kernel_of_a_test")
