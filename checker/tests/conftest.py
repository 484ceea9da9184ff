"""A fixture for all tests of the checker."""

import shutil
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parent.parent


@pytest.fixture
def copy(tmp_path: Path):
    """A function that gives a fresh copy of a good folder."""

    def make(name: str) -> Path:
        return Path(shutil.copytree(CHECKER / "good" / name, tmp_path / name))

    return make
