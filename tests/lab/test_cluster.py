"""The same trials on a real Ray cluster of two nodes on this machine."""

import os
import random
import re
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from byheart.data.documents import Documents
from byheart.data.statistics import count, shards
from byheart.errors import ByheartError
from byheart.lab.sweeps.rows import read
from byheart.lab.workers import execute
from byheart.machine.engines import Workers, cluster, processes
from byheart.machine.engines.tasks import TaskFailed
from byheart.machine.installing import remedy
from byheart.machine.watch import Watch

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


LONG = str(pretend.LONG)
SLOW = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",  # it kills workers where other tests take the memory
    "RAY_gcs_server_port_wait_time_s": LONG,
    "RAY_gcs_server_request_timeout_seconds": LONG,
    "RAY_worker_register_timeout_seconds": LONG,
    "RAY_agent_register_timeout_ms": LONG + "000",
}
AGENTS = (
    "metrics_agent_port",
    "metrics_export_port",
    "dashboard_agent_listen_port",
    "runtime_env_agent_port",
)


def patient(ask):
    """Asking again while there is no answer: Ray itself gives a node 30 s to start."""

    def asked(*arguments):
        found = []

        def answered():
            with suppress(RuntimeError):
                found.append(ask(*arguments))
            return found

        assert pretend.holds(answered), "the node does not start"
        return found[0]

    return asked


def unused_ports():
    """Ports where nobody listens, none of those that the system gives away by itself."""
    for port in random.sample(range(20_000, 32_000), 1000):
        try:
            with socket.socket() as tried:
                tried.bind(("", port))
        except OSError:
            continue
        yield port


def with_flag(start, flag, command, kind, *rest, **options):
    """Start a process of Ray; a raylet with one more flag, which Ray itself does not pass on."""
    return start([*command, flag] if kind == "raylet" else command, kind, *rest, **options)


@pytest.fixture
def gates(tmp_path, monkeypatch):
    """Where trials wait."""
    (tmp_path / "gates").mkdir()
    monkeypatch.setenv(pretend.GATES, str(tmp_path / "gates"))
    return pretend.Gates(tmp_path / "gates")


@pytest.fixture
def nodes(gates, monkeypatch):
    """A cluster with a head and a second node, one processor each; none of it need be fast.

    Ray gives the agents of a node half a minute to say their ports, unless it is told them.
    """
    pytest.importorskip("ray")
    from ray._private import services
    from ray.cluster_utils import Cluster

    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HERE, *filter(None, sys.path)]))
    for name, value in SLOW.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(services, "get_node", patient(services.get_node))
    monkeypatch.setattr(cluster, "PATIENCE", pretend.LONG)
    small = {"num_cpus": 1, "object_store_memory": 100_000_000}
    found, ports, start = Cluster(), unused_ports(), services.start_ray_process
    try:
        for options in ({"include_dashboard": False}, {}):
            told = dict(zip(AGENTS, ports, strict=False))
            flag = f"--dashboard_agent_listen_port={told['dashboard_agent_listen_port']}"
            monkeypatch.setattr(services, "start_ray_process", partial(with_flag, start, flag))
            found.add_node(wait=False, **small, **told, **options)
            found.wait_for_nodes(pretend.LONG)
        yield found
    finally:
        found.shutdown()


def kill_worker_of(trial, gates):
    """Kill the worker of a trial that waits for gate 1, and wait until another one has it."""
    assert pretend.holds(lambda: gates.begun(trial))
    ((_, pid),) = gates.begun(trial)
    os.kill(pid, signal.SIGKILL)
    assert pretend.gone([pid])
    assert pretend.holds(lambda: len(gates.begun(trial)) == 2)
    gates.open(1)


def test_a_lost_worker_and_a_lost_node_change_nothing(nodes, gates, tmp_path):
    """Each is lost in the middle of a trial.

    Trial 3 waits for gate 1, which opens when its worker is killed and another one has it. Trials
    7 and 8 wait for gate 2. When all others before them are done there is one on each node, and the
    one whose node is removed is lost.
    """
    waits = {3: 1, 7: 2, 8: 2}
    trials = [
        pretend.trial(seed, milliseconds=1, **({"waits": waits[seed]} if seed in waits else {}))
        for seed in range(12)
    ]

    def kill_a_worker():
        kill_worker_of(3, gates)
        return {3}

    def remove_a_node():
        assert pretend.holds(lambda: len(gates.begun(7, 8)) == 2)
        both = gates.begun(7, 8)
        nodes.remove_node(*nodes.worker_nodes)
        assert pretend.holds(lambda: not all(pretend.alive(pid) for _, pid in both))
        lost = {seed for seed, pid in both if not pretend.alive(pid)}
        gates.open(2)
        return lost

    watch = Misfortune({3: kill_a_worker, 7: remove_a_node})
    with cluster.Engine(pretend.run, nodes.address) as engine:
        assert pretend.holds(lambda: engine.jobs == 2)
        execute(pretend.Grid(trials), lambda _: pretend.PROBLEM, tmp_path, engine, watch)
        assert engine.running == 0 and pretend.holds(lambda: engine.jobs == 1)
        with pytest.raises(TaskFailed, match="raises 1, .*, seed 0: ValueError: the loss is gone."):
            engine.submit(pretend.trial(raises=1), pretend.PROBLEM)
            engine.finished()
        engine.submit(pretend.trial(tells=1), pretend.PROBLEM)
        worker = engine.finished()["worker"]
    assert worker["threads"] and set(worker["threads"]) == {1}
    killed, removed = watch.happened
    assert killed == {3} and removed in ({7}, {8})
    runs = [seed for seed, _ in gates.begun(3, 7, 8)]
    assert {seed for seed in runs if runs.count(seed) == 2} == killed | removed and len(runs) == 5
    with processes.Engine(pretend.run, 1) as engine:
        here = execute(
            pretend.Grid(trials), lambda _: pretend.PROBLEM, tmp_path / "here", engine, Watch()
        )
    assert pretend.without_seconds(read(tmp_path)) == pretend.without_seconds(here)


def test_shards_are_counted_though_a_worker_is_lost(nodes, gates, tmp_path):
    """It is killed while it has the second of four shards, and another one does it again."""
    rows = np.random.default_rng(0).integers(1, 6, (400, 7)).astype(np.uint16)
    rows[:, -1] = 0
    (tmp_path / "shards").mkdir()
    for i, part in enumerate(np.array_split(rows, 4)):
        part.tofile(tmp_path / "shards" / f"{i}.bin")

    class Far(Workers):
        def start(self, run):
            return cluster.Engine(pretend.count_shards, self.address)

    watch, work = Misfortune({3: lambda: kill_worker_of(1, gates)}), tmp_path / "work"
    found, how = shards.statistics(
        tmp_path / "shards", Far("ray", address=nodes.address), work, 1 << 26, watch=watch,
        separator=0,
    )  # fmt: skip
    assert len(watch.happened) == 1 and len(gates.begun(1)) == 2
    assert found == count(Documents("one", rows.ravel(), 0))
    assert how.engine == "ray" and found.conflicts.contexts and not list(work.iterdir())


# --- where no cluster is


def refused(address, match):
    with pytest.raises(ByheartError, match=match), cluster.Engine(pretend.run, address):
        pass


def test_nobody_listens(monkeypatch):
    """It is found without Ray, which would try for minutes."""
    pytest.importorskip("ray")
    monkeypatch.setattr(cluster, "_no_answer", lambda address: pytest.fail("Ray was asked"))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        refused(address, f"^there is no Ray cluster at {address}: Connection refused.$")
        refused(f"ray://{address}", f"^there is no Ray cluster at ray://{address}: Connection")
    refused("127.0.0.1:99999999", "^there is no Ray cluster at 127.0.0.1:99999999: .")


def test_somebody_else_listens(monkeypatch):
    """Ray would try for minutes, and is stopped."""
    pytest.importorskip("ray")
    monkeypatch.setattr(cluster, "PATIENCE", 4)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        refused(address, f"^there is no Ray cluster at {address}: no answer within 4 s.$")


def test_the_address_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "far:1")
    assert (cluster.Engine(pretend.run).address, cluster.Engine(pretend.run, "near:2").address) == (
        "far:1",
        "near:2",
    )
    monkeypatch.delenv("RAY_ADDRESS")
    assert cluster.Engine(pretend.run).address == "auto"


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    refused("127.0.0.1:1", rf"^engine='ray' needs Ray: {re.escape(remedy('cluster'))}\.$")


@pytest.mark.slow
def test_training_on_the_cluster_gives_the_rows_of_this_machine(nodes, tmp_path):
    """The problem that workers read lies in memory that they share and may not write."""
    pytest.importorskip("torch")
    from byheart.lab import train

    sweep, told = pretend.real()
    found = {}
    for name, engine in {
        "far": cluster.Engine(train.run, nodes.address),
        "near": processes.Engine(train.run, 2),
    }.items():
        with engine:
            rows = execute(sweep, lambda _: told, tmp_path / name, engine, Watch())
        found[name] = pretend.without_seconds(rows)
    assert found["far"] == found["near"] and len(found["far"]) == sweep.size
