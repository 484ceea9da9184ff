"""compile as rows: the size, what settled conflicts, the search, and the evidence."""

from ..api.change import Change
from ..api.compile import Compiled
from ..api.summary import Summary
from ..machine.tables import named, number, plural
from .model import shown, size_rows, timed, verdict
from .size import in_bytes
from .terminal import Group, Row, Text, notes, rows

OTHER_LABELS = (
    "the file itself has other labels, so verify refutes the model on it; "
    "--write-data writes what the model holds"
)


def view(result: Compiled) -> Group:
    summary = result.summary
    changed = any(summary.conflicts.values()) and not result.verify
    return Group(
        rows(lines(result)),
        *(Text(note, style="dim") for note in remarks(summary)),
        *notes(result.reading_notes),
        *notes(often_once(result)),
        Text(),
        verdict(summary),
        *([Text(OTHER_LABELS, style="dim")] if changed else []),
        timed(summary),
    )


def lines(result: Compiled | Change) -> list[Row]:
    """Name, value and remark: the size, what --on-conflict changed, and the search."""
    summary = result.summary
    words = {
        "relabelled": ("label", "changed to the majority's"),
        "dropped": ("sequence", "left out"),
    }
    changed = [
        ("conflicts", number(count), f"{named(count, noun)} {what}")
        for key, (noun, what) in words.items()
        if (count := summary.conflicts.get(key))
    ]
    own, tries = shown(summary), summary.search.tries
    remark = own.tried(tries)
    if summary.notes and not own.REMARKS:
        remark += f"; {plural(len(summary.notes), 'fallback')}, listed by --json"
    editable = isinstance(result, Compiled) and result.editable
    edits = [("editable", "yes", "by byheart edit and forget")] if editable else []
    found = [*size_rows(summary), *changed, ("tried", number(tries), remark), *edits]
    if isinstance(result, Compiled):  # the folder beside the file
        disk, kept = result.disk, result.disk.vocabulary
        told = [] if kept is None else [f"vocabulary {in_bytes(kept)}"]
        if disk.file is not None:
            by_xz = "" if disk.xz is None else f", by xz {in_bytes(disk.xz)}"
            told.append(f"the file {in_bytes(disk.file)}{by_xz}")
        name = "packed file" if kept is None else "folder"
        found.append((name, in_bytes(disk.folder), "; ".join(told)))
    return found


def often_once(result: Compiled) -> list[str]:
    """A note where the vocabulary holds most of what there is to know, or there is nothing."""
    if result.summary.data.labels == 1:
        return ["all contexts have the same label: the network is a constant"]
    once, contexts = result.disk.once, result.summary.data.contexts or 0
    if 2 * once <= contexts or contexts < 20:
        return []
    return [
        f"{number(once)} of {plural(contexts, 'context')} have a label of their own: its text is "
        "in the vocabulary, and the network knows which belongs where"
    ]


def remarks(summary: Summary) -> list[str]:
    """What the method has to say; of a search for labels, only how often it fell back."""
    return list(summary.notes) if shown(summary).REMARKS else []
