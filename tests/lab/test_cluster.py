"""The same trials on a real Ray cluster of two nodes on this machine."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from byheart.commands.watch import Watch
from byheart.errors import ByheartError
from byheart.lab.engines import TrialFailed, cluster, processes
from byheart.lab.sweeps.rows import read
from byheart.lab.sweeps.running import execute

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
import pretend  # noqa: E402  workers import it by this name

sys.path.remove(HERE)


class Misfortune(Watch):
    """What happens after so many finished trials."""

    def __init__(self, events):
        self.events, self.done, self.happened = events, 0, []

    def advance(self, steps):
        self.done += steps
        if steps and self.done in self.events:
            self.happened.append(self.events[self.done]())


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """A cluster with a head and a second node, one processor each."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    (tmp_path / "pids").mkdir()
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv(pretend.PIDS, str(tmp_path / "pids"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HERE, *filter(None, sys.path)]))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    small = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100_000_000}
    found = Cluster(initialize_head=True, head_node_args=small)
    found.add_node(num_cpus=1, object_store_memory=100_000_000)
    yield found
    found.shutdown()


def test_a_lost_worker_and_a_lost_node_change_nothing(nodes, tmp_path):
    trials = [pretend.trial(seed, milliseconds=150) for seed in range(16)]
    pids = tmp_path / "pids"

    def kill_a_worker():
        """One that is in the middle of a trial."""
        pid = max(pids.iterdir(), key=lambda path: path.stat().st_mtime_ns).name
        os.kill(int(pid), signal.SIGKILL)
        return int(pid)

    def remove_a_node():
        node = next(node for node in nodes.worker_nodes)
        nodes.remove_node(node)
        return node

    watch = Misfortune({3: kill_a_worker, 7: remove_a_node})
    with cluster.Engine(nodes.address, pretend.run) as engine:
        assert engine.jobs == 2
        execute(pretend.Grid(trials), lambda _: pretend.PROBLEM, tmp_path, engine, watch)
        assert engine.jobs == 1 and engine.running == 0
        with pytest.raises(
            TrialFailed, match="raises=1, .*, seed=0: ValueError: the loss is gone."
        ):
            engine.submit(pretend.trial(raises=1), pretend.PROBLEM)
            engine.finished()
        engine.submit(pretend.trial(tells=1), pretend.PROBLEM)
        worker = engine.finished()["worker"]
    assert len(watch.happened) == 2 and not pretend.alive(watch.happened[0])
    assert worker["pid"] != watch.happened[0]
    assert worker["threads"] and set(worker["threads"]) == {1}
    with processes.Engine(1, run=pretend.run) as engine:
        here = execute(
            pretend.Grid(trials), lambda _: pretend.PROBLEM, tmp_path / "here", engine, Watch()
        )
    assert pretend.without_seconds(read(tmp_path)) == pretend.without_seconds(here)


# --- where no cluster is


def refused(address, match):
    started = time.monotonic()
    with pytest.raises(ByheartError, match=match), cluster.Engine(address):
        pass
    assert time.monotonic() - started < 30


def test_nobody_listens():
    pytest.importorskip("ray")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        refused(address, f"^there is no Ray cluster at {address}: Connection refused.$")
        refused(f"ray://{address}", f"^there is no Ray cluster at ray://{address}: Connection")
    refused("127.0.0.1:99999999", "^there is no Ray cluster at 127.0.0.1:99999999: .")


def test_somebody_else_listens(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(cluster, "PATIENCE", 4)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        refused(address, f"^there is no Ray cluster at {address}: no answer within 4 s.$")


def test_the_address_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "far:1")
    assert (cluster.Engine().address, cluster.Engine("near:2").address) == ("far:1", "near:2")
    monkeypatch.delenv("RAY_ADDRESS")
    assert cluster.Engine().address == "auto"


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    refused("127.0.0.1:1", r"^--engine ray needs Ray: pip install 'byheart\[cluster\]'.$")


@pytest.mark.slow
def test_training_on_the_cluster_gives_the_rows_of_this_machine(nodes, tmp_path):
    """The problem that workers read lies in memory that they share and may not write."""
    pytest.importorskip("torch")
    sweep, told = pretend.real()
    found = {}
    for name, engine in {"far": cluster.Engine(nodes.address), "near": processes.Engine(2)}.items():
        with engine:
            rows = execute(sweep, lambda _: told, tmp_path / name, engine, Watch())
        found[name] = pretend.without_seconds(rows)
    assert found["far"] == found["near"] and len(found["far"]) == sweep.size
