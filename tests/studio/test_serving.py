"""The command: its address, its port, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette", reason="the page needs Starlette")
pytest.importorskip("uvicorn", reason="the page needs uvicorn")

from byheart.cli import main
from byheart.machine.installing import remedy
from byheart.studio.serving import HOST, listening

HEAVY = ("numpy", "scipy", "numba", "matplotlib", "torch", "byheart.data.load")


def state(studio, headers=None):
    request = urllib.request.Request(f"{studio.origin}/state", headers=studio.headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def waited(studio, test):
    """The state once a fact holds; the server tells every change, so nothing is slept through."""
    request = urllib.request.Request(f"{studio.origin}/events", headers=studio.headers)
    with urllib.request.urlopen(request) as stream:
        for line in stream:
            if line.startswith(b"data: ") and test(found := json.loads(line[6:])):
                return found
    raise AssertionError("the server ended")


def post(studio, path, body):
    headers = {**studio.headers, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{studio.origin}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def job(found, task):
    return [x for x in found["jobs"] if x["task"] == task][-1]


def test_the_server_imports_nothing_heavy():
    """So that the page is there at once; the work is that of other processes."""
    code = "import sys, byheart.cli.studio, byheart.studio.serving;"
    code += f"sys.exit(' '.join(m for m in {HEAVY} if m in sys.modules) or 0)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


def test_the_port_is_another_one_if_it_is_in_use(capsys):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["studio", "--no-browser", "--port", str(port)]) == 2
        said = capsys.readouterr().err
        assert said == f"byheart: port {port} is in use; choose another one, or none.\n"
    with listening(None) as one, listening(None) as two:
        assert one.getsockname() != two.getsockname()
        assert one.getsockname()[0] == two.getsockname()[0] == HOST


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing.jsonl"], "nothing.jsonl does not exist"),
        (["--model", "nowhere"], "nowhere is not a directory"),
        (["--port", "0"], "--port"),
    ],
)
def test_bad_arguments_are_one_sentence(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["studio", "--no-browser", *words]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_without_the_packages_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("byheart.cli.studio.NEEDS", ("starlette", "no_such_package"))
    assert main(["studio", "--no-browser"]) == 2
    assert f"no_such_package: {remedy('studio')}" in capsys.readouterr().err


def test_a_worker_that_dies_is_told_and_replaced(own_studio):
    """And a job that is asked for again while it runs is the same job, and runs once."""
    studio = own_studio
    found = waited(studio, lambda x: x["jobs"] and job(x, "read")["status"] == "done")
    assert job(found, "read")["summary"]["sequences"] == 24
    frozen = studio.freeze()
    asked = {"task": "compile", "arguments": {"method": "one-layer"}}
    first = post(studio, "/jobs", asked)
    assert post(studio, "/jobs", asked) == first
    for child in frozen:
        os.kill(child, signal.SIGKILL)
    found = waited(studio, lambda x: job(x, "compile")["status"] != "running")
    assert job(found, "compile")["status"] == "failed"
    assert job(found, "compile")["error"].startswith("the worker was ended by signal 9; ")
    second = post(studio, "/jobs", asked)
    assert second != first
    found = waited(studio, lambda x: job(x, "compile")["status"] == "done")
    assert job(found, "compile")["summary"]["evidence"] == "proved"
    assert len(found["models"]) == 1


def test_ctrl_c_ends_it_and_removes_everything(own_studio):
    """While a page follows, and while something runs."""
    studio = own_studio
    assert list(studio.home.glob("byheart-studio-*"))
    children = studio.freeze()
    post(studio, "/jobs", {"task": "compile", "arguments": {"method": "token-averaging"}})
    follower = urllib.request.Request(f"{studio.origin}/events", headers=studio.headers)
    with urllib.request.urlopen(follower) as stream:
        assert stream.readline().startswith(b"data: ")
        code, said = studio.end(signal.SIGINT)
    assert (code, said) == (0, "")
    assert list(studio.home.glob("byheart-studio-*")) == []
    assert not any(os.path.exists(f"/proc/{child}") for child in children)
    with pytest.raises(urllib.error.URLError):
        state(studio)
