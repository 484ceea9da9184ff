"""A fixture for all tests of the checker."""

import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def copy(tmp_path: Path):
    """A function that gives a fresh copy of a good folder."""

    def make(name: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / "good" / name, tmp_path / name))

    return make
