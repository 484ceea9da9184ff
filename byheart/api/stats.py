"""stats: how a file is understood, and what it asks of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.result import picked
from ..data.conflicts import Conflict, conflicting
from ..data.dataset import Dataset
from ..data.documents import Documents, first_documents
from ..data.load import load, read
from ..data.statistics import EPSILONS, MEMORY, Statistics, count, written_out
from ..errors import ByheartError
from ..machine.engines import Workers
from ..machine.watch import SILENT, Watch

if TYPE_CHECKING:
    from ..data.statistics.shards import Shards


@dataclass(frozen=True)
class Example:
    """A row as it is understood: tokens and their label, or the tokens of a document."""

    tokens: list
    label: Any = None
    document: bool = False

    def json(self) -> dict:
        if self.document:
            return {"tokens": self.tokens}
        return {"input": self.tokens, "label": self.label}


@dataclass(frozen=True, repr=False)
class Stats(Statistics):
    """The statistics of data, and how it was read."""

    reading: Mapping[str, Any] = field(default_factory=dict)  # options that made data of the file
    reading_notes: tuple[str, ...] = ()  # what there is to say about how the file was read
    shown: tuple[Example, ...] = ()  # the first rows, if they were asked for
    conflicting: tuple[Conflict, ...] | None = None  # contexts with two labels, if asked for
    shards: "Shards | None" = None  # how a folder of shards was counted

    def json(self) -> dict:
        answer = {
            **picked(self, "reading reading_notes skipped"),
            **super().json(),
            **picked(self, "shown conflicting counted=shards"),
        }
        optional = ("conflicting", "counted")
        return {x: y for x, y in answer.items() if y is not None or x not in optional}


def stats(
    data: Any,
    *,
    show: int = 0,
    conflicts: int = 0,
    epsilons: Sequence[float] = EPSILONS,
    workers: Workers | int | None = None,
    work: str | Path | None = None,
    memory: int = MEMORY,
    watch: Watch = SILENT,
    **loading: Any,
) -> Stats:
    """How many contexts, conflicts and nats of entropy data has, and how far apart its tokens are.

    Documents, and the files that hold them (.txt, .bin), are counted in place: no context is
    written out, so a corpus may have hundreds of millions of tokens.

    Args:
        data: A dataset, documents, or whatever `load` reads: a path, a data frame, rows.
        show: Add this many rows, as they are understood.
        conflicts: List this many contexts with two labels, and where they stand.
        epsilons: The numbers from 0 to 1 for which T_epsilon is counted.
        workers: Count a folder of shards (.bin, .txt or .parquet) in bounded memory, by
            processes or, with Workers("ray", address=...), on a cluster: the same numbers.
        work: The folder of their intermediate files, from which a count that was stopped resumes.
        memory: How many bytes each of them may take.
        watch: Receives the stages "loading" and "counting".
        **loading: The options of `load`.

    Returns:
        The counts; `.json()` is what `byheart stats --json` prints.

    Example:
        >>> from byheart import Dataset, stats
        >>> data = Dataset.from_rows([(["a", "b"], "x"), (["a", "b"], "y"), (["b", "a"], "x")])
        >>> counts = stats(data)
        >>> counts.contexts, counts.conflicts.contexts, round(counts.entropy.total, 4)
        (2, 1, 1.3863)
    """
    if workers is not None:
        from ..data.statistics import shards  # compiled code

        if not isinstance(data, str | Path):
            raise ByheartError("`workers=...` count a folder of shards; give its path.")
        if show or conflicts:
            raise ByheartError(
                "rows and conflicts of shards cannot be shown; leave out `workers=...`."
            )
        where = workers if isinstance(workers, Workers) else Workers(jobs=workers)
        files = None if work is None else Path(work)
        found, how = shards.statistics(Path(data), where, files, memory, epsilons, watch, **loading)
        given = {name: value for name, value in loading.items() if value not in (None, ())}
        return Stats(**vars(found), reading=given, shards=how)
    source = data if isinstance(data, str | Path) else None
    if not isinstance(data, Dataset | Documents):
        watch.stage("loading")
        data = read(data, **loading)
    elif loading:
        raise ByheartError(
            f"{', '.join(loading)} must go with the path of a file, not with a Dataset."
        )
    if isinstance(data, Documents):
        examples = [Example(tokens, document=True) for tokens in first_documents(data, show)]
    else:
        examples = [Example(*data[i]) for i in range(min(show, len(data)))]
    watch.stage("counting")
    found = count(written_out(data), epsilons)
    listed: tuple[Conflict, ...] | None = None
    if conflicts:
        dataset = data
        if isinstance(data, Documents) and found.conflicts.contexts and source is not None:
            dataset = load(source, **loading)
        listed = conflicting(dataset, conflicts, source) if isinstance(dataset, Dataset) else ()
    return Stats(
        **vars(found),
        reading=dict(data.loading),
        reading_notes=tuple(data.notes),
        shown=tuple(examples),
        conflicting=listed,
    )
