"""Interrupts are noted, delivered as before, and held where a block must not be interrupted."""

import select
import signal
import socket
import threading

import pytest

from byheart.machine.interrupts import Interrupts


@pytest.fixture(autouse=True)
def handler():
    """The handler of Python; the one before is back afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_wakes_and_is_told_once():
    with Interrupts() as interrupts:
        assert select.select(interrupts.wakes, [], [], 0)[0] == []
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert select.select(interrupts.wakes, [], [], 0)[0] == interrupts.wakes
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
        assert select.select(interrupts.wakes, [], [], 0)[0] == []
    assert interrupts.wakes == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_held_interrupt_comes_at_the_end():
    done = []
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.held():
            interrupt()
            done.append("all of it")
        with interrupts.held():
            done.append("and again")
    assert done == ["all of it", "and again"]


def test_whoever_is_woken_by_signals_outside_is_woken_too():
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno())
    try:
        with Interrupts() as interrupts:
            with pytest.raises(KeyboardInterrupt):
                interrupt()
            with pytest.raises(KeyboardInterrupt):
                interrupts.check()
            assert reader.recv(9) == bytes([signal.SIGINT])
            with pytest.raises(KeyboardInterrupt):
                interrupt()
        assert reader.recv(9) == bytes([signal.SIGINT])  # what nobody had read yet
        assert signal.set_wakeup_fd(writer.fileno()) == writer.fileno()
    finally:
        signal.set_wakeup_fd(before)
        reader.close()
        writer.close()


def test_nothing_is_changed_in_other_threads_or_where_interrupts_are_ignored():
    found = []

    def look():
        with Interrupts() as interrupts:
            interrupts.check()
            found.append(list(interrupts.wakes))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    look()
    interrupt()
    assert found == [[], []] and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
