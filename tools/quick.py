"""Run the contract tests and the tests of what a change touches, for at most 60 CPU seconds.

    python tools/quick.py           what differs from the branch main, or from the last commit on it
    python tools/quick.py REVISION  what differs from a revision

Tests mirror byheart/ folder for folder: a change of byheart/data/load.py runs tests/data, and
tests/data/test_load.py first. When the seconds are over, it says how many tests were left out.
"""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60.0
CONTRACT = [
    f"tests/test_{name}.py"
    for name in ("public", "contract", "contract_distributions", "differential")
]
ELSEWHERE = {"checker": "checker/tests", "README.md": "tests/docs", "CONTRIBUTING.md": "tests/docs"}


def changed_files(revision: str | None = None) -> list[str]:
    """Files that differ from a revision, those that git does not know yet included."""
    if revision is None:
        revision = git("merge-base", "HEAD", "main") or ["HEAD"]
        revision = revision[0] if revision != git("rev-parse", "HEAD") else "HEAD~1"
    return git("diff", "--name-only", revision) + git("ls-files", "--others", "--exclude-standard")


def git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def selection(files: list[str], root: Path = ROOT) -> list[str]:
    """The test files that mirror the changed files, then the rest of their folders."""
    nearest: list[str] = []
    folders: list[str] = []
    for file in map(Path, files):
        top, *rest = file.parts
        if top in ("byheart", "tests"):
            room = Path("tests", *rest[:1]) if len(rest) > 1 else Path("tests")
            nearest.append(str(file if top == "tests" else room / f"test_{file.stem}.py"))
            folders += [str(room)] * (len(rest) > 1)
        else:
            folders.append(ELSEWHERE.get(top, f"tests/{top}"))
    return [
        name
        for name in dict.fromkeys(nearest + folders)
        if (root / name).is_dir() or (root / name).is_file() and Path(name).name[:5] == "test_"
    ]


class Budget:
    """Ends a run when its CPU time is over; the processes that tests start are counted too."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.done, self.over = seconds, 0, False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logfinish(self) -> None:
        self.done += 1
        processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        used = sum(sum(resource.getrusage(process)[:2]) for process in processes)
        left = len(self.session.items) - self.done
        if used > self.seconds and left and not self.over:
            self.over = True
            self.session.shouldstop = f"{self.seconds:.0f} CPU s are over; {left} tests are left"


def run(tests: list[str], budget: Budget) -> int:
    """The exit code of pytest; to leave out tests when the time is over is no failure."""
    code = pytest.main(["-q", "-x", "-n", "0", *tests], plugins=[budget])
    return 0 if budget.over and not budget.session.testsfailed else int(code)


if __name__ == "__main__":
    selected = selection(changed_files(*sys.argv[1:2]))
    print("contract tests,", ", ".join(selected) or "and no other: no file differs")
    sys.exit(run([*CONTRACT, *selected], Budget(SECONDS)))
