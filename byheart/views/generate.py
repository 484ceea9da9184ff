"""generate as rows: what was written."""

import shlex

from ..api.generate import Generated
from ..api.packs.pack import Pack
from ..machine.tables import number
from .terminal import Table, rows


def view(result: Generated | Pack) -> Table:
    if isinstance(result, Pack):
        counts = f"{number(result.forgotten)} to forget, {number(result.edited)} to edit"
        made = f"level {result.level} of 5, {result.family}, seed {result.seed}"
        held = f"{counts}, {number(result.others)} that are not held"
        where = f"to {result.folder}; its README.md says what is in it"
        names = ("pack", result.name, made), ("facts", number(result.facts), held)
        return rows([*names, ("written", "", where)])
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


def next_command(result: Generated | Pack) -> str | None:
    """The command that counts a corpus, or scores a first method; None for anything else."""
    if isinstance(result, Pack):
        task = "unlearn" if result.name == "unlearning" else "edit"
        return f"try it: byheart benchmark {task} {shlex.quote(result.folder)} --method exact"
    if result.loading is None:
        return None
    how = " ".join(f"--{name} {value}" for name, value in result.loading.items())
    return f"count it: byheart stats {shlex.quote(result.file)} {how}"
