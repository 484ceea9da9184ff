"""stats as rows: how a file was read, its counts, and what the user asked to see of it."""

import json

from ..api.stats import Stats
from ..machine.tables import named, number, plural
from .terminal import Group, RenderableType, Row, Text, notes, rows, sentences

MAX_TOKENS = 16  # of a row that are shown
MAX_LINES = 8  # of a conflict
PLACES = {"ray": "on a Ray cluster", "processes": "here"}


def view(stats: Stats) -> Group:
    parts: list[RenderableType] = []
    if stats.shown:  # the options, and rows as a person would write them: tokens -> label
        options = ", ".join(f"{name} {_short(value)}" for name, value in stats.reading.items())
        shown = [("read with", options or "no options")]
        for place, row in enumerate(stats.shown, 1):
            arrow = "" if row.document else f"  ->  {_short(row.label)}"
            shown.append((f"row {place}", f"{_short(row.tokens)}{arrow}"))
        parts += [sentences(shown), Text()]
    curve = "  ".join(f"{epsilon:g}: {number(count)}" for epsilon, count in stats.t_epsilon)
    parts += [*notes(stats.reading_notes), rows(lines(stats)), Text(f"T_epsilon      {curve}")]
    for conflict in stats.conflicting or ():
        many = ", ".join(f"{_short(label)} {count:,} x" for label, count in conflict.labels)
        parts += [Text(), Text(f"{_short(conflict.tokens)}  ->  {many}")]
        places = conflict.lines or [row for row, _ in conflict.rows]
        noun = "line" if conflict.lines else "row"
        for place, (_, label) in list(zip(places, conflict.rows, strict=True))[:MAX_LINES]:
            parts.append(Text(f"  {noun} {place:,}  {_short(label)}"))
        if len(places) > MAX_LINES:
            parts.append(Text(f"  and {len(places) - MAX_LINES:,} more", style="dim"))
    return Group(*parts)


def lines(stats: Stats) -> list[Row]:
    conflicts, entropy, apart = stats.conflicts, stats.entropy, stats.separation
    both = f"{named(conflicts.contexts, 'context')} with two labels; "
    both += f"{number(conflicts.multisets)} if order does not count"
    each = f"nats; {number(entropy.per_token)} per prediction"
    shown = [
        ("sequences", number(stats.sequences), plural(stats.tokens, "token")),
        ("contexts", number(stats.contexts), "ordered"),
        ("multisets", number(stats.multisets), "contexts if order does not count"),
        ("vocabulary", number(stats.vocabulary), ""),
        ("labels", number(stats.labels), ""),
        ("conflicts", number(conflicts.contexts), both),
        ("best accuracy", f"{stats.best_accuracy:.2%}", "with one label per context"),
        ("entropy", number(entropy.total), each),
        ("of labels", number(entropy.labels), "nats, if only their frequencies are known"),
    ]
    if apart.radius is not None:
        shown.append(("radius", number(apart.radius), "largest norm of a token"))
        shown.append(("distance", number(apart.distance), "between the two nearest tokens"))
    if stats.skipped:
        table = "numeric" in stats.reading
        noun, which = ("row", "with an empty cell") if table else ("document", "under two tokens")
        what = f"{named(stats.skipped, noun)} {which}"
        shown.append(("skipped", number(stats.skipped), what))
    if stats.shards is not None:
        exchanged = f"{number(stats.shards.exchanged)} bytes exchanged"
        where = f"counted {PLACES[stats.shards.engine]}; {exchanged}"
        shown.append(("shards", number(stats.shards.shards), where))
    return shown


def _short(value: object) -> str:
    """The value as JSON, of a long list its beginning."""
    more = 0
    if isinstance(value, list | tuple):
        value, more = value[:MAX_TOKENS], len(value) - MAX_TOKENS
    text = json.dumps(value, ensure_ascii=False)
    return f"{text[:-1]}, ... {more:,} more]" if more > 0 else text
