"""Statistics of a corpus in many files (shards) that no single machine can hold.

The counts are those of one machine to the last digit, and no count rests on a hash. Every context
has a key of 128 bits, and equal contexts have equal keys. Predictions are exchanged by their keys,
so that all that is known of one context comes together in one task; and it is verified that equal
keys mean equal contexts. Two different contexts with one key would end the run with an error.

Why that can be verified without comparing contexts token by token:

Prefixes. The key of a context x t is f_t(key of x), where every f_t is a permutation. All contexts
with one key are compared in their last token t. If it is equal, the keys of the contexts without it
are equal too, since f_t can be undone; these are shorter and occur in the corpus themselves, since
every prefix of a context does. By induction over the length, down to the empty context, whose key
no other context may have: if no comparison fails, contexts with equal keys are equal.

Windows. A context of a window has few tokens, and they travel with the key: they are compared.

Multisets. Their key is the sum of random words of their tokens. Of all different contexts whose
sums are equal and whose last tokens differ, one for each last token is read again from its shard,
sorted and compared. If contexts x t and y t end alike, x and y have equal sums and are in the
corpus: again by induction, they are equal as multisets. (Of windows, the sorted tokens travel.)

A shard is read in blocks, and equal predictions of a block are counted together. Tasks write what
they count to files, and what is written is not done again: that is how a run resumes, and why the
memory of a task is bounded, whatever the size of the corpus. tasks.py has the tasks.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import ByheartError
from ....machine.engines import Engine, Workers
from ....machine.watch import SILENT, Watch
from ...arrays import Ints, offsets, totals
from ..summary import EPSILONS, Conflicts, Statistics, derived
from .reading import listed, numbered
from .tasks import COUNT, MULTISETS, READ, SCATTER, Job, Task, run, save_json

SPARE = 1  # tasks submitted beyond what can run, so that no worker waits for the next one
LEAST_MEMORY = 1 << 26
SPLITTING = 20  # bytes for each byte of a text while it is split into tokens
PER_PARTITION = 16  # slots: partitions are made of whole slots, so their sizes vary by this much
MOST_SLOTS = 1 << 20


@dataclass(frozen=True)
class Shards:
    """How shards were counted: the parts of contexts and of multisets, and the bytes it took."""

    engine: str
    shards: int
    partitions: tuple[int, int]
    memory: int
    exchanged: int

    def json(self) -> dict:
        return {**vars(self), "partitions": list(self.partitions)}


def statistics(
    folder: Path,
    workers: Workers,
    work: Path | None,
    memory: int,
    epsilons: Sequence[float] = EPSILONS,
    watch: Watch = SILENT,
    **loading: Any,
) -> tuple[Statistics, Shards]:
    """The statistics of the shards in a folder, and how they were counted."""
    workers.check()
    if memory < LEAST_MEMORY:
        raise ByheartError(f"`memory` must be {LEAST_MEMORY:,} bytes or more, not {memory:,}.")
    if work is None and workers.engine == "ray":
        raise ByheartError(
            "`engine='ray'` needs `work=...`, a folder that every node of the cluster can read and "
            "write, as it must be able to read the shards."
        )
    job = Job("", *listed(folder, loading), memory)
    # nothing is written if there is no cluster
    with workers.start(run) as engine, _settled(work, job) as place:
        return _count(replace(job, work=str(place)), engine, workers, epsilons, watch)


def _count(
    job: Job, engine: Engine, workers: Workers, epsilons: Sequence[float], watch: Watch
) -> tuple[Statistics, Shards]:
    names, words = [shard.name for shard in job.shards], None
    tokens, skipped = sum(shard.tokens for shard in job.shards), 0
    if not job.options.in_place:
        largest = max(shard.bytes for shard in job.shards)
        watch.say(
            f"{len(names):,} shards are split into tokens; a worker holds one at a time, and the "
            f"largest, of {largest:,} bytes, takes about {SPLITTING} times as much memory"
        )
        read = _stage(engine, job, [Task(READ, i, x) for i, x in enumerate(names)], watch)
        tokens, skipped = (sum(x[key] for x in read) for key in ("tokens", "skipped"))
        words = numbered(Path(job.work), read)
    partitions = 1 + tokens // job.records
    if partitions * PER_PARTITION > MOST_SLOTS:
        raise ByheartError(
            f"{tokens:,} tokens take more than {MOST_SLOTS // PER_PARTITION:,} partitions if a "
            f"worker has {job.memory:,} bytes; give a larger `memory=...`."
        )
    slots = 1 << (partitions * PER_PARTITION - 1).bit_length()
    job = replace(job, slots=slots, separator=words)
    most = tokens * sum(kind.itemsize for kind in job.kinds)
    watch.say(
        f"{tokens:,} tokens in {len(names):,} shards; a worker needs at most {job.memory:,} bytes "
        f"beside its libraries, and {job.work} at most {most:,}"
    )
    shards = [Task(SCATTER, i, x) for i, x in enumerate(names)]
    scattered = _stage(engine, job, shards, watch)
    predictions = sum(x["predictions"] for x in scattered)
    if not predictions:
        raise ByheartError(
            "the shards hold no document of two tokens or more, so there is nothing to predict; "
            "give longer documents."
        )
    parts = _partitions(job, COUNT, shards)
    counted = _stage(engine, job, parts, watch)
    exchanged = _forget(job, SCATTER)
    parts_of_multisets = _partitions(job, MULTISETS, parts)
    multisets = _stage(engine, job, parts_of_multisets, watch)
    exchanged += _forget(job, COUNT)

    def total(key: str, answers: list[dict] = counted) -> int:
        return sum(answer[key] for answer in answers)

    def rows(tasks: list[Task], name: str) -> Ints:
        return totals(np.concatenate([np.load(task.path(job, name)) for task in tasks]))

    in_context, as_label = rows(shards, "last.npy")[:, 0], rows(shards, "label.npy")
    if len(np.union1d(in_context, as_label[:, 0])) < 2:
        raise ByheartError(
            "the shards hold one token again and again, so there is nothing to distinguish; give "
            "a corpus of two different tokens or more."
        )
    vectors = in_context if job.options.in_place else in_context - 1  # 0 was the mark
    if words is not None:  # a network reads a word as its number, counted from 1
        vectors = np.arange(1, len(in_context) + 1)
    result = derived(
        rows(parts, "kinds.npy"),
        vectors[:, None],
        total("right"),
        as_label[:, 1],
        epsilons,
        sequences=predictions,
        tokens=total("tokens", scattered),
        multisets=total("multisets", multisets),
        labels=len(as_label),
        conflicts=Conflicts(
            total("conflicts"), total("in_conflict"), total("conflicts", multisets)
        ),
        skipped=skipped + total("skipped", scattered),
    )
    sizes = len(parts), len(parts_of_multisets)
    return result, Shards(workers.engine, len(names), sizes, job.memory, exchanged)


@contextmanager
def _settled(work: Path | None, job: Job) -> Iterator[Path]:
    """The folder of intermediate files, which stay after an error; refused if it has others."""
    if work is None:
        with tempfile.TemporaryDirectory(prefix="byheart-") as folder:
            yield Path(folder)
        return
    plan = {
        "version": 1,
        "shards": [[shard.name, shard.bytes, shard.changed] for shard in job.shards],
        "options": asdict(job.options),
        "memory": job.memory,
    }
    work = work.resolve()
    file = work / "plan.json"
    try:
        work.mkdir(exist_ok=True)
        if file.exists() and json.loads(file.read_text()) != json.loads(json.dumps(plan)):
            raise ByheartError(
                f"{work} holds the intermediate files of another count (of other shards or "
                "options); give another folder, or remove this one."
            )
        if not file.exists() and any(work.iterdir()):
            raise ByheartError(f"{work} is not empty; give an empty folder or a new one.")
    except ByheartError:
        raise
    except (OSError, ValueError) as error:
        raise ByheartError(f"{work} cannot be used: {error}.") from None
    save_json(file, plan)
    yield work
    for stage in (READ, SCATTER, COUNT, MULTISETS):
        shutil.rmtree(work / stage, ignore_errors=True)
    for name in ("words.json", "plan.json"):
        (work / name).unlink(missing_ok=True)


def _stage(engine: Engine, job: Job, tasks: Sequence[Task], watch: Watch) -> list[dict]:
    """The answers of all tasks of a stage; those that have one already are not run again."""
    watch.stage(tasks[0].stage, len(tasks))
    Path(job.work, tasks[0].stage).mkdir(exist_ok=True)
    waiting = [task for task in reversed(tasks) if not task.path(job, "json").exists()]
    watch.advance(len(tasks) - len(waiting))
    while waiting or engine.running:
        while waiting and engine.running < engine.jobs + SPARE:
            engine.submit(waiting.pop(), job)
        engine.finished()
        watch.advance(1)
    return [json.loads(task.path(job, "json").read_text()) for task in tasks]


def _partitions(job: Job, stage: str, sources: Sequence[Task]) -> list[Task]:
    """Tasks for ranges of slots, each with as many records as the memory of a worker allows."""
    indices = (np.load(source.path(job, "index.npy")) for source in sources)
    sizes = (np.diff(index, axis=1).sum(axis=0) for index in indices)
    ends = offsets(sum(sizes, np.zeros(job.slots, np.int64)))
    tasks: list[Task] = []
    first = 0
    while first < job.slots:
        last = int(np.searchsorted(ends, ends[first] + job.records, side="right")) - 1
        last = max(last, first + 1)
        held = int(ends[last] - ends[first])
        if held > job.records:
            raise ByheartError(
                f"one of {job.slots:,} slots has {held:,} records, and a worker of "
                f"{job.memory:,} bytes holds {job.records:,}; give a larger `memory=...`."
            )
        name = f"slots {first:,} to {last - 1:,} of {job.slots:,}"
        tasks.append(Task(stage, len(tasks), name, len(sources), first, last))
        first = last
    return tasks


def _forget(job: Job, stage: str) -> int:
    """Remove the records of a stage, which nobody needs any more; how many bytes they had."""
    total = 0
    for path in Path(job.work, stage).glob("*.run"):
        total += path.stat().st_size
        path.unlink()
    return total
