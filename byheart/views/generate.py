"""generate as rows: what was written."""

import shlex

from rich.table import Table

from ..api.generate import Generated
from ..api.packs.pack import Pack
from ..machine.tables import number
from .terminal import rows


def view(result: Generated | Pack) -> Table:
    if isinstance(result, Pack):
        return _pack(result)
    lines = [
        ("sequences", number(result.sequences), f"{result.kind}, length {result.length}"),
        ("vocabulary", number(result.vocabulary), ""),
        ("labels", number(result.labels), ""),
    ]
    if result.theorem is not None:  # the decoder that cannot memorise the data
        full = f"of {number(result.theorem.length)} tokens, each followed by every token"
        fails = "of the decoder that cannot fit them, almost surely"
        limit = f"Theorem 1 allows {number(result.theorem.limit)}"
        lines.append(("contexts", number(result.theorem.contexts), limit))
        lines.append(("interpolated", number(result.theorem.interpolated), full))
        lines.append(("parameters", number(result.parameters), fails))
    return rows(lines)


def _pack(pack: Pack) -> Table:
    counts = f"{number(pack.forgotten)} to forget, {number(pack.edited)} to edit"
    lines = [
        ("pack", pack.name, f"level {pack.level} of 5, {pack.family}, seed {pack.seed}"),
        ("facts", number(pack.facts), f"{counts}, {number(pack.others)} that are not held"),
        ("written", "", f"to {pack.folder}; its README.md says what is in it"),
    ]
    return rows(lines)


def next_command(result: Generated | Pack) -> str | None:
    """The command that counts a corpus, or scores a first method; None for anything else."""
    if isinstance(result, Pack):
        task = "unlearn" if result.name == "unlearning" else "edit"
        return f"try it: byheart benchmark {task} {shlex.quote(result.folder)} --method exact"
    if result.loading is None:
        return None
    how = " ".join(f"--{name} {value}" for name, value in result.loading.items())
    return f"count it: byheart stats {shlex.quote(result.file)} {how}"
