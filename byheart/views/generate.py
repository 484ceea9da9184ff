"""generate as rows: what was written."""

import shlex

from rich.table import Table

from ..api.generate import Generated
from ..api.unlearning import Pack
from ..machine.tables import number
from .terminal import rows

SAME = "the weights of forgotten/ and retained/ are the same bytes"


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
    sizes = ", ".join(f"{name} {number(x)}" for name, x in pack.parameters.items())
    lines = [("facts", number(pack.facts), counts), ("parameters", "", sizes)]
    if pack.forgotten_is_retained:
        lines.append(("proof", "", SAME))
    written = f"to {pack.folder}; its README.md says what is in it"
    return rows([*lines, ("written", "", written)])


def next_command(result: Generated | Pack) -> str | None:
    """The command that counts a corpus; None for anything else."""
    if isinstance(result, Pack) or result.loading is None:
        return None
    how = " ".join(f"--{name} {value}" for name, value in result.loading.items())
    return f"count it: byheart stats {shlex.quote(result.file)} {how}"
