"""A process that does one task after another: requests on standard input, events on the output.

A request is a line of JSON, {"job", "task", "place", "arguments"}; so is an event: {"job"} with
"stage" and "total", "done", "note", and at last "finished" or "error". When standard input ends,
the server has gone, and so does this process.
"""

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from ..errors import ByheartError, flags, on_page
from ..machine.watch import Watch

EVERY = 0.1  # seconds between two reports of steps


class Telling(Watch):
    """Reports progress as events."""

    def __init__(self, output: TextIO, job: str) -> None:
        self.output, self.job = output, job
        self.steps, self.last = 0, 0.0

    def tell(self, **event: Any) -> None:
        print(json.dumps({"job": self.job, **event}), file=self.output, flush=True)

    def stage(self, name: str, total: int | None = None) -> None:
        self.steps = 0
        self.tell(stage=name, total=total)

    def expect(self, total: int) -> None:
        self.tell(total=total)

    def advance(self, steps: int) -> None:
        self.steps += steps
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            self.tell(done=self.steps)

    def note(self, sentence: str) -> None:
        self.tell(note=sentence)


def main() -> None:
    """Serve requests until the server has gone."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is not an event
    requests: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    from . import tasks  # all that is slow to import, while the page is already shown

    while True:
        request = json.loads(requests.get())
        watch = Telling(output, request["job"])
        watch.tell(stage="starting")
        try:
            result = tasks.run(request["task"], Path(request["place"]), request["arguments"], watch)
        except ByheartError as error:
            watch.tell(error=flags(error, on_page))
        except MemoryError:
            watch.tell(error="this needs more memory than there is.")
        except OSError as error:
            watch.tell(error=f"{error.strerror or error}.")
        except Exception as error:  # an error of ours must not end in silence
            import traceback

            traceback.print_exc()
            watch.tell(error=f"this is an error in byheart, please report it: {error!r}.")
        else:
            watch.tell(finished=result)


if __name__ == "__main__":
    main()
