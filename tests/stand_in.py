"""An engine that trains nothing, for tests of what asks for trials and reads their rows."""

from dataclasses import dataclass, field


@dataclass
class StandIn:
    """A trial is done when it is asked for, and `row` says what came out.

    stop_after  an interrupt comes after so many trials
    waiting     trials that were submitted, and their problems
    ran         trials that were done
    """

    jobs: int = 1
    stop_after: int | None = None
    waiting: list = field(default_factory=list)
    ran: list = field(default_factory=list)

    def row(self, trial, problem):
        raise NotImplementedError

    @property
    def running(self):
        return len(self.waiting)

    def submit(self, trial, problem):
        self.waiting.append((trial, problem))

    def finished(self):
        if self.stop_after == len(self.ran):
            raise KeyboardInterrupt
        trial, problem = self.waiting.pop(0)
        self.ran.append(trial)
        return self.row(trial, problem)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.waiting.clear()
