"""A worker process as the server sees it: it is given one task at a time, and can be killed."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
COMMAND = (sys.executable, "-m", "byheart.studio.worker")
LONGEST = 1 << 24  # bytes of an event


class Worker:
    """One process, which starts with its first task and again after it was stopped."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self.tell = tell
        self.process: asyncio.subprocess.Process | None = None
        self.listener: asyncio.Task[None] | None = None
        self.job: str | None = None
        self.starting = asyncio.Lock()

    async def warm(self) -> None:
        """Start the process, which then imports what its tasks need."""
        async with self.starting:
            if self.process is not None and self.process.returncode is None:
                return
            process = await asyncio.create_subprocess_exec(
                *COMMAND,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST,
                start_new_session=True,  # Ctrl-C is for the server, and its processes end together
            )
            self.process = process
            self.listener = asyncio.create_task(self._listen(process))

    async def begin(self, job: str, task: str, place: str, arguments: dict[str, Any]) -> None:
        """Hand over a task; its events are told until it is finished."""
        self.job = job
        await self.warm()
        if self.job != job:  # stopped in the meantime
            return
        request = {"job": job, "task": task, "place": place, "arguments": arguments}
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            await self.process.stdin.drain()
        except ConnectionError:
            pass  # it has died, which the listener tells

    async def stop(self) -> None:
        """Kill the process and all that it started."""
        process, self.process, self.job = self.process, None, None
        if process is None or process.returncode is not None:
            return
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        await process.wait()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            event = json.loads(line)
            if event["job"] != self.job:
                continue
            if "finished" in event or "error" in event:
                self.job = None
            self.tell(event)
        code = await process.wait()
        if self.process is process and self.job is not None:  # nobody stopped it
            job, self.job = self.job, None
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            self.tell({"job": job, "error": f"the worker {how}; ask again, and another starts."})
