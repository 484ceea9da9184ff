"""What tests of several rooms share."""

import importlib.util
import io
import shutil
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).parents[1] / "checker" / "check.py"

# parameters of one layer by its kind, from the width that it reads and the rows that it makes
DENSE = {
    "linear": lambda width, rows: rows * (width + 1),
    "relu": lambda width, rows: rows * (width + 1),
    "embedding": lambda width, rows: rows * (width + 1),  # and one column for the position
    "feed_forward": lambda width, rows: rows * (2 * width + 1) + width,
    "uniform_attention": lambda width, rows: 2 * width * rows,
    "sparse_attention": lambda width, rows: 2 * width * rows,
    "hard_attention": lambda width, rows: 4 * width * rows,
    "sum": lambda width, rows: 0,
}


@pytest.fixture(scope="session")
def checker():
    """The independent checker, loaded from its one file."""
    specification = importlib.util.spec_from_file_location("independent_checker", CHECKER)
    module = importlib.util.module_from_spec(specification)
    sys.modules["independent_checker"] = module  # its dataclasses look for it there
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def dense_parameters():
    """The parameters of a network with its zeros, by formulas of eq. (4) and (43)."""

    def count(network):
        names = ("weight", "W1", "W_V")
        total = 0
        for layer in network.layers:
            first = next((layer.tensors[n] for n in names if n in layer.tensors), None)
            total += DENSE[layer.kind](*((first.columns, first.rows) if first else (0, 0)))
        return total

    return count


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process: its exit code, standard output and standard error."""
    from byheart.cli import main

    def command(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return command


CHROMIUM = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium of the system, driven by playwright; skipped where there is none.

    Of a module: while playwright is open, no other test of this process can run an event loop.
    """
    driver = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no browser: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM)
        yield browser
        browser.close()
