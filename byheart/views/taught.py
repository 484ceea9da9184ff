"""Taught folders as lines: what holds of one, where a fact is, and what was forgotten."""

from ..api.taught import GATED, Restored, TaughtLocated, TaughtVerified
from ..api.teach import Taught
from ..machine.tables import number, plural
from .teach import kept_row, written
from .teach import view as taught
from .terminal import STYLES, Group, RenderableType, Text, columns, right, rows

MEANS = {
    GATED: "exact: the base's bytes, and layers that write nothing where no taught neuron is on",
    "refuted": "this is not the base with layers that are off",
}


def view(result: TaughtVerified) -> Group:
    """Structure, facts and kept texts, each with its evidence."""
    style = STYLES["proved" if result.structure == GATED else "refuted"]
    parts: list[RenderableType] = [Text(f"{result.structure}  {MEANS[result.structure]}", style)]
    if result.evidence:
        said = f"{result.answered:,} of {plural(result.facts, 'fact')} answered"
        wanted = sum(x.positions - x.taught for x in result.kept)
        if result.kept:
            said += f", {sum(x.equal for x in result.kept):,} of {wanted:,} kept positions equal"
        style = STYLES[result.evidence]
        parts.append(Text(f"{result.evidence}  {said}, in {result.runtime}", style))
    if result.bound:
        found = result.bound
        verb = "holds" if found.holds else "does not hold"
        kept = "" if found.kept is None else f", kept at most {found.kept:.4g}"
        said = (
            f"{verb} at {plural(found.contexts, 'context')} and {found.positions:,} kept "
            f"positions: own arguments at least {found.own:.4g}, the nearest others at most "
            f"{found.other:.4g}, leads at least {found.margin:.3g} nats{kept} (exactly 0 from "
            f"-{found.off:g} on); products of two errors are not bounded"
        )
        style = STYLES["observed" if found.holds else "refuted"]
        parts.append(Text(f"bounded to first order  {said}", style))
    parts += [Text(f"  {x}") for x in result.failures]
    if result.evidence and not result.failures and not result.holds:
        parts.append(Text("  that is no proof; --accept observed takes it for enough"))
    lines = [("margin", number(result.margin), "nats by which the worst token leads")]
    lines = lines if result.margin is not None else []
    return Group(*parts, rows([*lines, *map(kept_row, result.kept)]))


def located(result: TaughtLocated) -> Group:
    table = columns("token", *right("layer", "neuron", "reach", "nearest other"))
    for x in result.tokens:
        cells = (str(x.layer), str(x.neuron), f"{x.reach:.2g}", f"{x.nearest:.2g}")
        table.add_row(Text(repr(x.text)), *cells)
    first = [f"  {name}" for name in result.tokens[0].tensors]
    said = f"answer  {result.answer!r}: one neuron per token, added by teach"
    where = Text("\nof the first token: its row or column, its entry, and what it writes, in")
    return Group(Text(said), table, where, *map(Text, first))


def forgotten(result: Taught | Restored) -> Group:
    if isinstance(result, Taught):
        return taught(result)
    said = f"no fact is left of {result.forgotten:,}: {result.folder} is the base, file by file"
    return Group(Text(said, STYLES["proved"]))


def left(result: Taught | Restored) -> str:
    return f"\nwritten to {result.folder}" if isinstance(result, Restored) else written(result)
