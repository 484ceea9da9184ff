"""stats: how a file is understood, and what it asks of a model."""

import json as encoder
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from ..data.conflicts import conflicting
from ..data.dataset import Dataset
from ..data.documents import Documents, first_documents
from ..data.load import load, read
from ..data.statistics import MEMORY, stats, written_out
from ..errors import ByheartError
from ..machine.engines import Workers
from ..machine.tables import named
from ..machine.watch import SILENT, Watch
from .options import Address, Data, Jobs, Json, Loading, reading
from .output import Row, finish, how_read, number, plural, reading_notes, rows, sentences
from .progress import keeping, watching

SHOWN = 16  # tokens of a row
LINES = 8  # of a conflict
SHARDS = "Folders of shards"


@reading
def command(
    data: Data,
    loading: Loading,
    show: Annotated[
        int, typer.Option(metavar="N", min=0, help="First show N rows as they are understood.")
    ] = 0,
    conflicts: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Show N contexts that have two labels, and their lines."
        ),
    ] = 0,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Count a folder of shards (.bin, .parquet or .txt): processes (here) or ray "
            "(a cluster).",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    jobs: Jobs = None,
    address: Address = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of intermediate files, which all nodes share: run again to resume.",
            rich_help_panel=SHARDS,
        ),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GIB", help="Memory that a worker may take [1].", rich_help_panel=SHARDS
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Count the contexts and conflicts of a dataset, its entropy and separation.

    With --show 5, first see how five rows are understood.

    Documents (.txt, .bin) are counted in place, so 200 million tokens of a .bin are fine.

    --engine counts more, in the shards of a folder, in bounded memory, with the same numbers.
    """
    given = {"jobs": jobs, "address": address, "work": work, "memory": memory}
    if engine is None:
        if names := [f"--{name}" for name, value in given.items() if value is not None]:
            raise ByheartError(f"{names[0]} is for shards: give --engine as well.")
        with watching() as watch:
            answer = counted(data, loading, show, watch, conflicts)
    else:
        if show or conflicts:
            name = "--show" if show else "--conflicts"
            raise ByheartError(f"{name} is for a file: leave it out with --engine.")
        from ..data.statistics import shards

        workers = Workers(engine, jobs, address)
        size = MEMORY if memory is None else int(memory * 2**30)
        with keeping(work) if work else nullcontext(), watching() as watch:
            found, how = shards.statistics(data, workers, work, size, watch=watch, **loading)
        reading = {name: value for name, value in loading.items() if value not in (None, ())}
        answer = {"reading": reading, "reading_notes": [], **found.json(), "shown": []}
        answer["counted"] = how
    finish(answer, json, view)


def counted(
    data: Path, loading: Loading, show: int = 0, watch: Watch = SILENT, conflicts: int = 0
) -> dict:
    """The answer of the command: the counts, how the file was read, rows and conflicts of it."""
    watch.stage("loading")
    found = read(data, **loading)
    if isinstance(found, Documents):
        shown = [{"tokens": tokens} for tokens in first_documents(found, show)]
    else:
        first = [found[i] for i in range(min(show, len(found)))]
        shown = [{"input": tokens, "label": label} for tokens, label in first]
    counts = stats(written_out(found), watch=watch).json()
    answer = {**how_read(found), **counts, "shown": shown}  # the counts know what else is skipped
    if conflicts:
        several = counts["conflicts"]["contexts"]
        written = load(data, **loading) if several and isinstance(found, Documents) else found
        listed = conflicting(written, conflicts, data) if isinstance(written, Dataset) else ()
        answer["conflicting"] = [x.json() for x in listed]
    return answer


def view(answer: dict) -> Group:
    """How it was read, the counts, and what the user asked to see."""
    curve = "  ".join(f"{epsilon:g}: {number(count)}" for epsilon, count in answer["t_epsilon"])
    counts = (rows(lines(answer)), Text(f"T_epsilon      {curve}"))
    return Group(*_first_rows(answer), *reading_notes(answer), *counts, *_conflicts(answer))


def lines(answer: dict) -> list[Row]:
    """Name, value and remark of each count."""
    conflicts, entropy, apart = answer["conflicts"], answer["entropy"], answer["separation"]
    both = f"{named(conflicts['contexts'], 'context')} with two labels; "
    both += f"{number(conflicts['multisets'])} if order does not count"
    each = f"nats; {number(entropy['per_token'])} per prediction"
    known = "nats, if only their frequencies are known"
    found = [
        ("sequences", number(answer["sequences"]), plural(answer["tokens"], "token")),
        ("contexts", number(answer["contexts"]), "ordered"),
        ("multisets", number(answer["multisets"]), "contexts if order does not count"),
        ("vocabulary", number(answer["vocabulary"]), ""),
        ("labels", number(answer["labels"]), ""),
        ("conflicts", number(conflicts["contexts"]), both),
        ("best accuracy", f"{answer['best_accuracy']:.2%}", "with one label per context"),
        ("entropy", number(entropy["total"]), each),
        ("of labels", number(entropy["labels"]), known),
    ]
    if apart["radius"] is not None:
        found.append(("radius", number(apart["radius"]), "largest norm of a token"))
        found.append(("distance", number(apart["distance"]), "between the two nearest tokens"))
    if answer["skipped"]:
        table = "numeric" in answer["reading"]
        noun, which = ("row", "with an empty cell") if table else ("document", "under two tokens")
        what = f"{named(answer['skipped'], noun)} {which}"
        found.append(("skipped", number(answer["skipped"]), what))
    if "counted" in answer:
        how = answer["counted"]
        where = {"ray": "on a Ray cluster", "processes": "here"}[how["engine"]]
        exchanged = f"counted {where}; {number(how['exchanged'])} bytes exchanged"
        found.append(("shards", number(how["shards"]), exchanged))
    return found


def _conflicts(answer: dict) -> list:
    """Contexts with two labels: which labels, how often, and where they stand."""
    parts: list = []
    for found in answer.get("conflicting", ()):
        many = ", ".join(f"{_short(label)} {count:,} x" for label, count in found["labels"])
        parts += [Text(), Text(f"{_short(found['input'])}  ->  {many}")]
        places = found["lines"] or [row for row, _ in found["rows"]]
        noun = "line" if found["lines"] else "row"
        for place, (_, label) in list(zip(places, found["rows"], strict=True))[:LINES]:
            parts.append(Text(f"  {noun} {place:,}  {_short(label)}"))
        if len(places) > LINES:
            parts.append(Text(f"  and {len(places) - LINES:,} more", style="dim"))
    return parts


def _first_rows(answer: dict) -> list:
    """The options, and rows as a person would write them: tokens -> label."""
    if not answer["shown"]:
        return []
    options = ", ".join(f"{name} {_short(value)}" for name, value in answer["reading"].items())
    lines = [("read with", options or "no options")]
    for place, row in enumerate(answer["shown"], 1):
        arrow = f"  ->  {_short(row['label'])}" if "label" in row else ""
        lines.append((f"row {place}", f"{_short(row.get('input', row.get('tokens')))}{arrow}"))
    return [sentences(lines), Text()]


def _short(value: object) -> str:
    """The value as JSON, of a long list its beginning."""
    more = 0
    if isinstance(value, list):
        value, more = value[:SHOWN], len(value) - SHOWN
    text = encoder.dumps(value, ensure_ascii=False)
    return f"{text[:-1]}, ... {more:,} more]" if more > 0 else text
