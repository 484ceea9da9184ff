"""The temporary folder of a killed server is removed by the next one, and nothing else is."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from byheart.studio.files import new_home

if os.name != "posix":
    pytest.skip("folders are locked on POSIX systems alone", allow_module_level=True)

KILLED = """
import os, signal
from byheart.studio.files import new_home
home, lock = new_home()
(home / "f1").mkdir()
(home / "f1" / "secret.csv").write_text("a,b")
print(home, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def homes(path):
    return {entry.name for entry in path.iterdir()}


def test_a_killed_server_is_cleaned_up_by_the_next(temporary):
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", KILLED]
    dead = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert dead.returncode == -signal.SIGKILL and dead.stderr == ""
    assert os.listdir(dead.stdout.strip()) == ["f1"]
    home, lock = new_home()
    assert homes(temporary) == {home.name}
    os.close(lock)


def test_a_server_that_is_alive_keeps_its_folder(temporary):
    one, first = new_home()
    two, second = new_home()
    assert homes(temporary) == {one.name, two.name}
    os.close(first)  # as when its process ends
    three, third = new_home()
    assert homes(temporary) == {two.name, three.name}
    os.close(second)
    os.close(third)


def test_what_is_not_certainly_ours_stays(temporary, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "thesis.txt").write_text("the only copy")
    elsewhere.chmod(0o700)
    names = (
        "byheart-studio-abcdefgh",
        "byheart-studio-mine.locked",
        "byheart-studio-ABCDEFGH.locked",
    )
    for name in names:
        (temporary / name).mkdir(mode=0o700)
    (temporary / "byheart-studio-readable.locked").mkdir(mode=0o755)
    (temporary / "byheart-studio-readable.locked").chmod(0o755)
    (temporary / "byheart-studio-ofafile_.locked").write_text("a file")
    (temporary / "byheart-studio-linklink.locked").symlink_to(elsewhere)
    before = homes(temporary)
    home, lock = new_home()
    assert homes(temporary) == before | {home.name}
    assert (elsewhere / "thesis.txt").exists()
    os.close(lock)


def test_a_folder_of_somebody_else_stays(temporary, monkeypatch):
    old, lock = new_home()
    os.close(lock)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    new, lock = new_home()
    assert homes(temporary) == {old.name, new.name}
    os.close(lock)
