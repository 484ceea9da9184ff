"""A small file of facts, a running page, and its processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COUNTRIES = """
    france paris seine euro|italy rome tiber euro|spain madrid tagus euro
    england london thames pound
    japan tokyo shinano yen|egypt cairo nile pound|austria vienna danube euro|peru lima amazon sol
"""
RELATIONS = ("capital", "river", "currency")


def facts():
    for row in COUNTRIES.strip().replace("\n", "|").split("|"):
        country, *answers = row.split()
        for relation, answer in zip(RELATIONS, answers, strict=True):
            yield {"input": [relation, "of", country], "label": answer}


@pytest.fixture(scope="session")
def countries(tmp_path_factory):
    """24 facts, as .jsonl."""
    path = tmp_path_factory.mktemp("data") / "countries.jsonl"
    path.write_text("".join(json.dumps(fact) + "\n" for fact in facts()))
    return path


class Studio:
    """A page that is served by a process of its own."""

    def __init__(self, *arguments, home):
        command = [sys.executable, "-m", "byheart", "studio", "--no-browser", "--json", *arguments]
        self.home = Path(home)
        environment = {**os.environ, "TMPDIR": str(home)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read())
        self.address = json.loads(line)["address"]
        self.origin = self.address.partition("/#")[0]
        self.token = self.address.partition("token=")[2]
        self.headers = {"Authorization": f"Bearer {self.token}"}

    @property
    def children(self):
        """The numbers of its worker processes."""
        own = self.process.pid
        tasks = Path(f"/proc/{own}/task").iterdir()
        return sorted({int(x) for task in tasks for x in (task / "children").read_text().split()})

    def freeze(self, count=2):
        """Stop the clock of the workers, once so many have started; they can still be killed."""
        while len(self.children) < count:
            assert self.process.poll() is None
            time.sleep(0.02)
        for child in self.children:
            os.kill(child, signal.SIGSTOP)
        return self.children

    def end(self, how=signal.SIGINT):
        """The exit code, and what stood on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def studio(countries, tmp_path_factory):
    """The page of the 24 facts, for the tests of a module that leave it as it is."""
    yield from serve(countries, tmp_path_factory.mktemp("studio"))


@pytest.fixture
def own_studio(countries, tmp_path_factory):
    """The page of the 24 facts, for one test that changes its data or ends its processes."""
    yield from serve(countries, tmp_path_factory.mktemp("studio"))


def serve(file, home):
    pytest.importorskip("starlette", reason="the page needs Starlette")
    pytest.importorskip("uvicorn", reason="the page needs uvicorn")
    running = Studio(str(file), home=home)
    yield running
    running.end()
