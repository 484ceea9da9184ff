"""edit and forget as rows: what changed, on what evidence, and the size of the network."""

from ..api.change import FORGET, Change
from ..machine.tables import number, plural
from .model import size_rows, timed, verdict
from .terminal import Group, Text, rows


def view(change: Change) -> Group:
    gone = "forgotten" if change.kind == FORGET else "removed"
    counts = {"changed": change.changed, "added": change.added, gone: change.removed}
    counted = [f"{plural(count, 'item')} {what}" for what, count in counts.items() if count]
    lines = [("items", number(change.rows), "rows: " + ", ".join(counted))]
    if change.difference is None:
        lines.append(("parameters", "all", "the network has another shape"))
    else:
        of = f"of {number(change.difference.of)} differ, in {number(change.difference.bits)} bits"
        lines.append(("parameters", number(change.difference.parameters), of))
    how = "compiled from the changed data alone" if change.rebuilt else "solved again in place"
    if change.tokenizer:
        how = "compiled from the changed data with the same tokenizer, which was trained on the "
        how += f"old data ({change.tokenizer}); --rebuild trains another"
    kept = "structure kept" if change.same else "structure found anew"
    lines.append(("how", "", f"{how}; {kept}"))
    return Group(
        rows(lines),
        Text(f"weights before {change.weights.before}"),
        Text(f"weights after {change.weights.after}"),
        Text(),
        rows(size_rows(change.summary)),
        Text(),
        verdict(change.summary),
        timed(change.summary),
    )


def written(change: Change) -> str:
    """Where the folder is, and how to prove the change: lines that people copy."""
    other = "--write-data FILE also writes the data to verify it against"
    proof = f"prove it: {change.verify}" if change.verify else other
    return f"\nwritten to {change.written}\n{proof}"
