"""The tasks of a count, in the order of its stages; each writes files and answers in a few numbers.

reading     a shard of texts to token numbers
scattering  a shard to records of its predictions, sorted by key; slots are ranges of keys
counting    all records of some slots: ordered contexts; each context becomes a record of its sum
multisets   all records of sums of some slots
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import ByheartError
from ....machine.files import replacing
from ...arrays import Ints, number, offsets, places, take, totals
from ..corpus import ENDLESS
from . import keys
from .reading import Reading, Shard, tokens_of

READ, SCATTER, COUNT, MULTISETS = "reading", "scattering", "counting", "multisets"
BLOCK = 1 << 21  # predictions that are sorted at once
COLLISION = (
    "two different contexts have the same key of 128 bits, so this corpus cannot be counted by "
    "these keys; count it on one machine, without an engine"
)


@dataclass(frozen=True, eq=False)
class Job:
    """What all tasks know. The separator of texts is the number of their words."""

    work: str
    shards: tuple[Shard, ...]
    options: Reading
    memory: int
    slots: int = 1
    separator: int | None = None

    @property
    def width(self) -> int:
        """The window, if contexts are cut to one; 0: contexts are prefixes."""
        window = self.options.window or ENDLESS
        return window if window < (self.options.length or ENDLESS) else 0

    @property
    def kinds(self) -> tuple[np.dtype, np.dtype]:
        """What is exchanged of a prediction, and of a context.

        A prediction: its context's key and sum, where it stands, its label; `tokens` is the last
        one or, with a window, all tokens of the context, zeros before them. A context: its sum,
        where it stands, its label or that it has several; `tokens` are all of a window, sorted.
        """
        fields = dict.fromkeys(("high", "low", "sum_high", "sum_low", "start", "count"), "<u8")
        fields |= dict.fromkeys(("size", "label", "shard"), "<u4")
        of_sum = dict.fromkeys(("high", "low", "start"), "<u8")
        of_sum |= dict.fromkeys(("size", "last", "label", "several", "shard"), "<u4")

        def kind(fields: dict[str, str], width: int) -> np.dtype:
            named: list[Any] = [*fields.items(), ("tokens", "<u4", (width,))]
            return np.dtype(named, align=True)

        return kind(fields, self.width or 1), kind(of_sum, self.width)

    @cached_property
    def records(self) -> int:
        """How many records a worker can hold and sort: each twice, and 120 bytes to work with."""
        return self.memory // (2 * max(kind.itemsize for kind in self.kinds) + 120)


@dataclass(frozen=True)
class Task:
    """One step: a shard, or the slots [first, stop) of the records of several earlier tasks."""

    stage: str
    number: int
    name: str = ""
    sources: int = 0
    first: int = 0
    stop: int = 0

    def __str__(self) -> str:
        return f"{self.stage} {self.name}"

    def path(self, job: Job, ending: str) -> Path:
        return Path(job.work, self.stage, f"{self.number:06}.{ending}")


def run(task: Task, job: Job) -> dict:
    """The answer of a task; it is written last, so a task that has one is complete."""
    work = {READ: read, SCATTER: scatter, COUNT: count, MULTISETS: multisets}[task.stage]
    answer = work(task, job)
    save_json(task.path(job, "json"), answer)
    return answer


def save_json(path: Path, value: Any) -> None:
    with replacing(path) as file:
        file.write(json.dumps(value).encode())


def _save(path: Path, array: NDArray) -> None:
    with replacing(path) as file:
        np.save(file, array)


# --- reading


def read(task: Task, job: Job) -> dict:
    ids, words, skipped = tokens_of(job.shards[task.number], job.options)
    _save(task.path(job, "npy"), ids)
    save_json(task.path(job, "words.json"), words or ())
    return {"tokens": len(ids), "words": words is not None, "skipped": skipped}


def _ids(job: Job, shard: int) -> tuple[NDArray, int]:
    """The numbers of a shard, mapped into memory, and the one that ends a document, or -1."""
    reading = job.options
    if not reading.in_place:
        name = "ids.npy" if job.separator is not None else "npy"
        return np.load(Task(READ, shard).path(job, name), mmap_mode="r"), job.separator or 0
    path, dtype = job.shards[shard].path, np.dtype(reading.dtype).newbyteorder("<")
    ids = np.memmap(path, dtype, "r") if job.shards[shard].bytes else np.zeros(0, dtype)
    return ids, -1 if reading.separator is None else reading.separator


# --- scattering


def scatter(task: Task, job: Job) -> dict:
    if job.separator is not None:  # give the tokens of a text the numbers that all shards share
        words, own = Path(job.work, "words.json"), Task(READ, task.number)
        numbers = {word: i for i, word in enumerate(json.loads(words.read_text()))}
        known = json.loads(own.path(job, "words.json").read_text())
        table = np.array([*(numbers[word] for word in known), len(numbers)], np.uint32)
        _save(own.path(job, "ids.npy"), table[np.load(own.path(job, "npy"))])
    ids, separator = _ids(job, task.number)
    ids = np.asarray(ids).view()
    ids.flags.writeable = False
    length, window = job.options.length or ENDLESS, job.options.window or ENDLESS
    state, key = np.zeros(keys.STATE, np.int64), np.array([keys.HIGH, keys.LOW, 0, 0], np.uint64)
    block = np.zeros(min(BLOCK, job.records, max(1, len(ids))), job.kinds[0])
    index, at, predictions, tokens = [], 0, 0, 0
    last = label = np.zeros((0, 2), np.int64)  # [token, how often]
    with replacing(task.path(job, "run")) as file:
        while written := keys.walk(ids, separator, length, window, state, key, block):
            part = block[:written]
            part["count"], part["shard"] = 1, task.number
            predictions += written
            tokens += int(part["size"].sum(dtype=np.int64))
            last = _with_counts(last, part["tokens"][:, -1])
            label = _with_counts(label, part["label"])
            part = combined(part)[0]
            index.append(at + _slots_of(part["high"], job.slots))
            file.write(part.data)
            at += len(part)
    _save(task.path(job, "index.npy"), np.array(index, np.int64).reshape(-1, job.slots + 1))
    _save(task.path(job, "last.npy"), last)
    _save(task.path(job, "label.npy"), label)
    return {"predictions": predictions, "tokens": tokens, "skipped": int(state[keys.SKIPPED])}


def _with_counts(rows: Ints, tokens: NDArray) -> Ints:
    """Rows [token, how often], with these tokens counted as well."""
    distinct, same = number(tokens)
    more = np.column_stack([distinct.astype(np.int64), np.bincount(same)])
    return totals(np.concatenate([rows, more]))


def _slots_of(high: NDArray, slots: int) -> Ints:
    """Where each slot begins in sorted keys, and where the last one ends."""
    bits = slots.bit_length() - 1
    edges = np.arange(1, slots, dtype=np.uint64) << np.uint64(64 - bits if bits else 0)
    return np.array([0, *np.searchsorted(high, edges), len(high)], np.int64)


# --- counting


def _sorted(records: NDArray, *fields: str) -> NDArray:
    """The records by key, and where two keys begin alike, by the rest of it and by these fields."""
    order = np.argsort(records["high"])
    high = records["high"][order]
    alike = np.zeros(len(high), bool)
    alike[1:] = high[1:] == high[:-1]
    alike[:-1] |= alike[1:]
    some = order[alike]
    order[alike] = some[np.lexsort([records[x][some] for x in (*reversed(fields), "low", "high")])]
    return picked(records, order)


def picked(records: NDArray, order: NDArray) -> NDArray:
    """records[order], which NumPy would copy field by field; a record is some words of 8 bytes."""
    words = records.view(np.uint64).reshape(len(records), records.dtype.itemsize // 8)
    return words.take(order, axis=0).view(records.dtype).reshape(len(order))


def _starts(records: NDArray, *fields: str) -> NDArray[np.bool_]:
    """Which of the sorted records differ from the one before in some field; the first does."""
    differs = np.ones(len(records), bool)
    differs[1:] = False
    for name in fields:
        differs[1:] |= records[name][1:] != records[name][:-1]
    return differs


def _agree(records: NDArray, starts: NDArray[np.bool_], *fields: str) -> None:
    """ByheartError unless these fields are equal in all records from one start to the next."""
    inner = np.flatnonzero(~starts)
    for name in fields:
        if (records[name][inner] != records[name][inner - 1]).any():
            raise ByheartError(COLLISION)


def combined(records: NDArray) -> tuple[NDArray, NDArray[np.bool_]]:
    """The records by key and label, equal ones counted together; and where contexts begin."""
    records = _sorted(records, "label")
    contexts = _starts(records, "high", "low")
    _agree(records, contexts, "size", "tokens")
    at = np.flatnonzero(contexts | _starts(records, "label"))
    counts = np.add.reduceat(records["count"], at) if len(at) else records["count"]
    merged = records if len(at) == len(records) else picked(records, at)
    merged["count"] = counts
    return merged, contexts[at]


def count(task: Task, job: Job) -> dict:
    pairs, contexts = combined(_gathered(task, job, SCATTER, job.kinds[0]))
    if ((pairs["high"] == keys.HIGH) & (pairs["low"] == keys.LOW)).any() and not job.width:
        raise ByheartError(COLLISION)  # with the empty context
    at = np.flatnonzero(contexts)
    labels = np.diff(at, append=len(pairs))
    several = labels > 1
    sums = np.empty(len(at), job.kinds[1])  # a record of the sum of each context, sorted
    sums["high"], sums["low"] = pairs["sum_high"][at], pairs["sum_low"][at]
    for name in ("start", "size", "label", "shard"):
        sums[name] = pairs[name][at]
    sums["last"], sums["several"] = pairs["tokens"][at, -1], several
    if job.width:
        sums["tokens"] = np.sort(pairs["tokens"][at], axis=1)
    sums = picked(sums, np.argsort(sums["high"]))
    with replacing(task.path(job, "run")) as file:
        file.write(sums.data)
    _save(task.path(job, "index.npy"), _slots_of(sums["high"], job.slots)[None])
    times = pairs["count"].astype(np.int64)
    del pairs, sums
    seen = np.add.reduceat(times, at) if len(at) else times
    right = np.maximum.reduceat(times, at) if len(at) else times
    split = np.repeat(several, labels)
    kinds = [
        (seen, np.zeros_like(seen)),  # 0 stands for the context itself
        (np.repeat(seen[several], labels[several]), times[split]),
    ]
    rows = [totals(np.column_stack([*pair, np.ones_like(pair[0])])) for pair in kinds]
    _save(task.path(job, "kinds.npy"), np.concatenate(rows))
    return {
        "right": int(right.sum()),
        "conflicts": int(several.sum()),
        "in_conflict": int(seen[several].sum()),
    }


def _gathered(task: Task, job: Job, stage: str, kind: np.dtype) -> NDArray:
    """All records of the task's slots, whichever task of the stage wrote them."""
    ranges = []
    for source in range(task.sources):
        writer = Task(stage, source)
        index = np.load(writer.path(job, "index.npy"), mmap_mode="r")
        for first, stop in index[:, [task.first, task.stop]].tolist():
            ranges.append((writer.path(job, "run"), first, stop - first))
    records, at = np.empty(sum(size for *_, size in ranges), kind), 0
    for path, first, size in ranges:
        if size:
            part = np.fromfile(path, kind, size, offset=first * kind.itemsize)
            if len(part) < size:
                raise ByheartError(f"{path} is truncated; remove the folder and count again.")
            records[at : at + size] = part
            at += size
    return records


# --- multisets


def multisets(task: Task, job: Job) -> dict:
    """The multisets with last token of some slots, and those of them with two labels."""
    records = _sorted(_gathered(task, job, COUNT, job.kinds[1]), "last")
    if not len(records):
        return {"multisets": 0, "conflicts": 0}
    sums = _starts(records, "high", "low")
    _agree(records, sums, "size")
    classes = sums | _starts(records, "last")
    at = np.flatnonzero(classes)
    if job.width:
        _agree(records, classes, "tokens")
    else:
        _compare(picked(records, at), sums[at], job)
    several = np.maximum.reduceat(records["several"], at) > 0
    labels = records["label"]
    several |= np.maximum.reduceat(labels, at) != np.minimum.reduceat(labels, at)
    return {"multisets": len(at), "conflicts": int(several.sum())}


def _compare(classes: NDArray, sums: NDArray[np.bool_], job: Job) -> None:
    """ByheartError unless contexts with equal sums have equal multisets of tokens."""
    alike = ~sums
    alike[:-1] |= alike[1:]
    classes, sums = classes[alike], sums[alike]
    ends, a = offsets(classes["size"]), 0
    held = job.memory // 64  # tokens
    while a < len(classes):
        b = int(np.searchsorted(ends, ends[a] + held, side="right")) - 1
        b = max(b, min(a + 2, len(classes)))
        rows = classes[a:b]
        sizes = rows["size"].astype(np.int64)
        starts = offsets(sizes)
        keys = np.empty(starts[-1], np.uint64)  # row and token, to be sorted
        for shard in np.unique(rows["shard"]).tolist():
            mine = np.flatnonzero(rows["shard"] == shard)
            mine = mine[np.argsort(rows["start"][mine])]  # a file is read from its beginning on
            begins = rows["start"][mine].astype(np.int64)
            keys[places(starts[mine], sizes[mine])] = take(_ids(job, shard)[0], begins, sizes[mine])
        keys |= np.repeat(np.arange(len(rows), dtype=np.uint64) << np.uint64(32), sizes)
        tokens = np.sort(keys).astype(np.uint32)
        inner = 1 + np.flatnonzero(~sums[a + 1 : b])  # each has the tokens of the row before
        one, other = (places(starts[own], sizes[inner]) for own in (inner, inner - 1))
        if (tokens[one] != tokens[other]).any():
            raise ByheartError(COLLISION)
        a = b if b == len(classes) else b - 1  # the last one is compared with the next
