"""The desk: the files, models and jobs of one studio, the same for every page that looks at it.

All state is here, on the server, so that a page may be reloaded, closed or opened twice. A job that
is asked for again while it waits, runs or is done is the same job: nothing runs twice.
"""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from .files import MODEL, new_home
from .requests import check
from .workers import Event, Worker

WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"
AGAIN = (WAITING, RUNNING, DONE)
WORKERS = {
    "reading": ("read", "compare"),
    "building": ("compile", "edit", "forget", "audit"),
    "asking": ("open", "ask", "items", "recite"),
}
BESIDE = {"read": "building", "compile": "asking"}  # which worker is started beside a task
MAX_JOBS = 200  # that are remembered
BATCH = 0.05  # seconds; updates within this window are batched
KEEP_ALIVE = 15.0  # seconds


@dataclass
class Source:
    """A file or folder of data that the server may open."""

    id: str
    name: str
    path: Path
    size: int | None
    loading: dict[str, Any] = field(default_factory=dict)  # how it is read, or is being read now
    jobs: dict[str, str] = field(default_factory=dict)  # which read and compared it last

    def __post_init__(self) -> None:
        self.last_read = self.loading  # the last time that reading did not fail

    def json(self) -> dict:
        return {name: getattr(self, name) for name in ("id", "name", "size", "loading", "jobs")}


@dataclass
class ModelFolder:
    """A model folder: written here, or named on the command line."""

    id: str
    name: str
    folder: Path
    data: Path | None  # what it was made from, and how that is read; None if it is not known here
    loading: dict[str, Any]
    job: str | None
    summary: dict[str, Any] = field(default_factory=dict)
    data_name: str = ""
    given: bool = False

    def json(self) -> dict:
        shown = {name: getattr(self, name) for name in ("id", "name", "job", "given")}
        known = {"data": self.data_name, "known_data": self.data is not None}
        return {**shown, **known, **self.summary}


@dataclass
class Job:
    """One task: what was asked, how far it is, and what became of it."""

    id: str
    task: str
    asked: dict[str, Any]  # as the page named it
    arguments: dict[str, Any]  # as the worker gets it
    worker: str
    place: Path
    stamp: int | None = None  # when its data was written: a modified file counts as a new file
    status: str = WAITING
    stage: str = ""
    done: int = 0
    total: int | None = None
    note: str = ""
    error: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    began: float | None = None
    ended: float | None = None

    def json(self) -> dict:
        names = ("id", "task", "asked", "status", "stage", "done", "total", "note", "error")
        now = self.ended or time.monotonic()
        seconds = None if self.began is None else round(now - self.began, 1)
        shown = {name: getattr(self, name) for name in names}
        return {**shown, "summary": self.summary, "seconds": seconds}


class Desk:
    """The state of a studio, its workers, and whoever follows it."""

    def __init__(self, folders: tuple[Path, ...] = ()) -> None:
        self.home, self.lock = new_home()
        self.data: Source | None = None
        self.files: dict[str, Source] = {}  # additional files (non-member data for the audit)
        self.models: dict[str, ModelFolder] = {}
        self.jobs: dict[str, Job] = {}
        self.replaced: list[Path] = []  # uploads that are no longer the data
        self.folders = folders
        self.version = self.count = 0
        self.closing = False
        self.changed = asyncio.Condition()
        self.workers = {name: Worker(self.receive) for name in WORKERS}
        self.pending: set[asyncio.Task[None]] = set()

    # --- who follows

    def snapshot(self) -> dict:
        """Full state for a page, without the answers."""
        return {
            "version": self.version,
            "data": self.data and self.data.json(),
            "files": [source.json() for source in self.files.values()],
            "models": [model.json() for model in self.models.values()],
            "jobs": [job.json() for job in self.jobs.values()],
        }

    async def follow(self) -> AsyncIterator[str]:
        """The state now and after every change, as server-sent events."""
        seen = -1
        while not self.closing:
            if seen != self.version:
                seen = self.version
                yield f"data: {json.dumps(self.snapshot())}\n\n"
            else:
                yield ": still here\n\n"
            async with self.changed:
                if seen == self.version and not self.closing:
                    try:
                        await asyncio.wait_for(self.changed.wait(), KEEP_ALIVE)
                    except TimeoutError:
                        continue
            await asyncio.sleep(BATCH)

    def touch(self) -> None:
        """Let every page know that something has changed."""
        self.version += 1
        self._later(self.notify())

    async def notify(self) -> None:
        """Wake those who follow."""
        async with self.changed:
            self.changed.notify_all()

    def _later(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)

    def number(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # --- data and models

    async def take(self, source: Source) -> Job:
        """Make this the data, and begin to read it."""
        if self.data is not None and self.data.path.parent.parent == self.home:
            self.replaced.append(self.data.path)
        self.data = source
        job = await self.ask("read", {})
        self._sweep()
        return job

    def _sweep(self) -> None:
        """Remove the uploads that were replaced and that no model and no job under way needs."""
        needed = {str(model.data) for model in self.models.values()}
        for job in self.jobs.values():
            if job.status in (WAITING, RUNNING):
                needed |= {value for value in job.arguments.values() if isinstance(value, str)}
        for path in [path for path in self.replaced if str(path) not in needed]:
            self.replaced.remove(path)
            shutil.rmtree(path.parent, ignore_errors=True)

    async def start(self, source: Source | None) -> None:
        """Open what the command line named."""
        await self.workers["reading"].warm()
        if source is not None:
            await self.take(source)
        for folder in self.folders:
            name = self.number("m")
            self.models[name] = ModelFolder(name, folder.name, folder, None, {}, None, given=True)
            await self.ask("open", {"model": name})

    # --- jobs

    async def ask(self, task: str, asked: dict[str, Any]) -> Job:
        """The job that does this; a new one, unless there is one that did not fail."""
        worker = next((name for name, tasks in WORKERS.items() if task in tasks), None)
        if worker is None:
            raise ByheartError(f"there is no task {task[:40]!a}.")
        check(task, asked)
        job_id = self.number("j")
        place = self.home / job_id
        arguments = self.resolved(task, asked)
        data = arguments.get("data")
        stamp = os.stat(data).st_mtime_ns if data and os.path.exists(data) else None
        for job in self.jobs.values():
            same = (job.task, job.arguments, job.stamp) == (task, arguments, stamp)
            if same and job.status in AGAIN:
                self._point(job)
                return job
        if task == "read":  # answers about other data, or about the same data read in another way
            for job in list(self.jobs.values()):
                if job.worker == worker and job.status in (WAITING, RUNNING):
                    await self.stop(job.id)
        place.mkdir()
        job = Job(job_id, task, asked, arguments, worker, place, stamp)
        self.jobs[job.id] = job
        self._point(job)
        holding = {model.job for model in self.models.values()}
        over = [x for x in self.jobs.values() if x.status not in (WAITING, RUNNING)]
        for old in over[: max(0, len(self.jobs) - MAX_JOBS)]:  # that made no model
            if old.id not in holding:
                del self.jobs[old.id]
                shutil.rmtree(old.place, ignore_errors=True)
        await self.next(worker)
        if task in BESIDE:
            self._later(self.workers[BESIDE[task]].warm())
        self.touch()
        return job

    def _point(self, job: Job) -> None:
        """The data knows by which job it was read and compared."""
        if self.data is not None and job.task in ("read", "compare"):
            self.data.jobs[job.task] = job.id
            if job.task == "read" and self.data.loading != job.arguments["loading"]:
                self.data.loading = job.arguments["loading"]
                self.data.jobs.pop("compare", None)
            if job.task == "read" and job.status == DONE:
                self.data.last_read = self.data.loading
            self.touch()

    def resolved(self, task: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments for the worker: ids become paths, which no page ever names."""
        given = dict(asked)
        if task in ("read", "compare", "compile", "audit"):
            if self.data is None:
                raise ByheartError("there is no data yet; choose a file first.")
            given |= {"data": str(self.data.path)}
            given.setdefault("loading", self.data.loading)
            if task != "compile":
                given["name"] = self.data.name
        if task in ("open", "ask", "edit", "forget", "audit", "items", "recite"):
            model = self.models.get(str(given.pop("model", "")))
            if model is None:
                raise ByheartError("there is no such model.")
            given["folder"] = str(model.folder)
            if task == "ask":
                given["name"] = model.name
            if task in ("ask", "edit", "forget", "items", "recite"):
                if model.data is not None:
                    given |= {"data": str(model.data), "loading": model.loading}
                elif task not in ("ask", "recite"):
                    raise ByheartError("the data of this model is not known here.")
        if task == "audit":
            strangers, reference = given.get("strangers"), given.get("reference")
            if isinstance(strangers, str) and strangers in self.files:
                given["strangers"] = str(self.files[strangers].path)
            elif strangers not in (None, "random"):
                raise ByheartError("there is no such file of non-members.")
            if isinstance(reference, str) and reference in self.models:
                given["reference"] = str(self.models[reference].folder)
            elif reference not in (None, "uniform", "unigram"):
                raise ByheartError("there is no such reference.")
        return given

    async def next(self, worker: str) -> None:
        """Begin the first job that waits for this worker, if it has none."""
        if self.workers[worker].job is not None:
            return
        for job in self.jobs.values():
            if job.worker == worker and job.status == WAITING:
                job.status, job.began, job.stage = RUNNING, time.monotonic(), "starting"
                self.workers[worker].job = job.id  # at once: somebody else may ask meanwhile
                await self.workers[worker].begin(job.id, job.task, str(job.place), job.arguments)
                return

    def receive(self, event: Event) -> None:
        """Take an event of a worker about its job."""
        job = self.jobs.get(event["job"])
        if job is None or job.status != RUNNING:
            return
        if "stage" in event:
            job.stage, job.done, job.note = event["stage"], 0, ""
        job.total = event.get("total", None if "stage" in event else job.total)
        job.done = event.get("done", job.done)
        job.note = event.get("note", job.note)
        if "error" in event or "finished" in event:
            job.ended, job.error = time.monotonic(), event.get("error")
            for source in (self.data, *self.files.values()):  # under the names of their users
                if job.error is not None and source is not None:
                    job.error = job.error.replace(str(source.path), source.name)
            job.status = FAILED if job.error else DONE
            job.summary = event.get("finished") or {}
            if job.status == DONE:
                self.register(job)
            self._settle(job)
            self._later(self.next(job.worker))
        self.touch()

    def _settle(self, job: Job) -> None:
        """A job is over: the data is read as it was read last, and needless uploads go."""
        if self.data is not None and self.data.jobs.get("read") == job.id:
            if job.status == DONE:
                self.data.last_read = self.data.loading
            self.data.loading = self.data.last_read
        self._sweep()

    def register(self, job: Job) -> None:
        """List the model that a job wrote, or what it found out about one."""
        if job.task == "open":
            self.models[job.asked["model"]].summary = job.summary
        if job.task not in ("compile", "edit", "forget"):
            return
        name, summary = self.number("m"), job.summary
        title = str(summary["method"]) + (f" ({summary['form']})" if summary["form"] else "")
        if job.task == "compile":
            data, loading = Path(job.arguments["data"]), job.arguments["loading"]
            data_name = data.name if self.data is None else self.data.name
        else:
            before = self.models[job.asked["model"]]
            data, loading = job.place / "data.jsonl", {}
            data_name = f"{before.data_name}, changed"
            title = f"{title}, {'edited' if job.task == 'edit' else 'after forgetting'}"
        self.models[name] = ModelFolder(
            name, title, job.place / MODEL, data, loading, job.id, summary, data_name
        )

    async def stop(self, job_id: str) -> None:
        """Stop a job: one that runs loses its process, and leaves nothing half-written."""
        job = self.jobs.get(job_id)
        if job is None or job.status not in (WAITING, RUNNING):
            return
        ran = job.status == RUNNING
        job.status, job.ended = STOPPED, time.monotonic()
        if ran:
            await self.workers[job.worker].stop()
            shutil.rmtree(job.place, ignore_errors=True)
            await self.next(job.worker)
        self._settle(job)
        self.touch()

    async def close(self) -> None:
        """End all work and remove all files."""
        self.closing = True
        await self.notify()
        await asyncio.gather(*(worker.stop() for worker in self.workers.values()))
        shutil.rmtree(self.home, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None
