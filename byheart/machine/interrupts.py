"""Interrupts (Ctrl-C) that are noted when they come, so that none is lost.

Python runs the handler of a signal between two instructions of the main thread. A signal that comes
just before a system call begins to wait, or that a thread of a library receives, does not wake the
main thread; and KeyboardInterrupt is printed and dropped where it is raised in a destructor. So
whoever waits for long waits for `wakes` as well, and calls `check` afterwards.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

NOBODY = -1  # the number that stands for no file, in signal.set_wakeup_fd


class Interrupts:
    """The interrupts that come within a `with` block. Each also does what it does elsewhere.

    noted  whether one has come since the last `check`
    wakes  what can be read when a signal has come; empty outside the block, in other threads than
           the main one, and where interrupts are ignored
    """

    def __init__(self) -> None:
        self.wakes: list[socket.socket] = []
        self.noted = self._late = self._holding = False

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self._before: Callable[..., Any] = before
            reader, self._writer = socket.socketpair()
            reader.setblocking(False)
            self._writer.setblocking(False)
            self._woken = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
            self.wakes = [reader]
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self.wakes:
            signal.signal(signal.SIGINT, self._before)
            signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
            self._drain()
            self.wakes.pop().close()
            self._writer.close()

    def check(self) -> None:
        """Raise KeyboardInterrupt if an interrupt has come; once for all that came before."""
        self._drain()
        if self.noted:
            self.noted = False
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block that is not interrupted: an interrupt that comes now is raised at its end."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._late:
            self._late = False
            self._before(signal.SIGINT, None)

    def _note(self, number: int, frame: object) -> None:
        self.noted = True
        if self._holding:
            self._late = True
        else:
            self._before(number, frame)

    def _drain(self) -> None:
        """Read what woke us, and pass it on to whoever is to be woken outside the block."""
        for reader in self.wakes:
            with suppress(BlockingIOError):
                signals = reader.recv(4096)
                if self._woken != NOBODY:
                    os.write(self._woken, signals)
