"""What a release needs: one version everywhere, a citation, and a whole wheel."""

import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

import byheart
from byheart.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def program():
    place = importlib.util.spec_from_file_location(
        "release_check", ROOT / "tools" / "release_check.py"
    )
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_one_version_everywhere(program, capsys):
    assert set(program.versions().values()) == {byheart.__version__}
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"byheart {byheart.__version__}\n"


def test_versions_that_differ_are_refused(program, monkeypatch, capsys):
    monkeypatch.setattr(program, "versions", lambda: {"a": "1.0.0", "b": "1.0.1"})
    assert program.main([]) == 1 and "the versions differ" in capsys.readouterr().out


def test_the_citation_is_complete():
    """With the keys that the format (cff 1.2.0) requires, and the papers."""
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(found)
    assert found["license"] == "Apache-2.0" and len(found["references"]) == 3
    assert all(paper["title"] and paper["authors"] for paper in found["references"])


def test_a_wheel_that_lacks_something_is_noticed(program, tmp_path):
    wheel = tmp_path / "byheart-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name in ("byheart/py.typed", "byheart-1.dist-info/METADATA", "tests/test_a.py"):
            file.writestr(name, "")
    wrong = program.missing(wheel)
    assert "has tests" in wrong and "no byheart/data/book.txt" in wrong
    assert "no byheart/py.typed" not in wrong and not any("dist-info" in x for x in wrong)


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(program, monkeypatch, tmp_path):
    """With this Python; `make release-check` tries every one that is installed."""
    monkeypatch.setattr(program, "DIST", tmp_path / "dist")
    wheel = program.build()
    assert program.missing(wheel) == []
    assert program.tried(sys.executable, wheel).startswith("Python 3.")
