"""Progress in a notebook: a line below the cell, once the work takes long."""

import sys
from types import SimpleNamespace

import pytest

from byheart.machine import watch


@pytest.fixture
def notebook(monkeypatch):
    """A kernel whose clock is turned by hand; returns (clock, what is shown, shell)."""
    clock, shown, shell = [100.0], [], SimpleNamespace(execution_count=1)

    class Line:
        def update(self, data, raw):
            shown[-1] = data["text/plain"]

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Line()

    kernel = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock, shown, shell


def test_long_work_has_one_line_per_cell(notebook):
    clock, shown, shell = notebook
    quiet = watch.Quiet()
    for cell in (1, 2):
        shell.execution_count = cell
        quiet.stage("verifying", 10)
        for _ in range(10):
            clock[0] += 0.6
            quiet.advance(1)
        clock[0] += 10
    assert shown == ["byheart: verifying 100%"] * 2


def test_short_work_and_other_places_show_nothing(notebook, monkeypatch):
    clock, shown, _ = notebook
    quiet = watch.Quiet()
    quiet.stage("verifying", 3)
    for _ in range(3):
        clock[0] += 0.6
        quiet.advance(1)
    monkeypatch.delitem(sys.modules, "ipykernel")
    clock[0] += 60
    quiet.advance(1)
    assert shown == []
