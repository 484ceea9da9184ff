"""recite as lines: whether it is the file, how long it is, and what it was restored from."""

from ..api.recite import Recital
from ..errors import flags
from ..machine.tables import number, plural
from ..machine.words import harmless
from .terminal import STYLES, Group, Text, notes, rows

SIZES = {
    "network": "its code word",
    "vocabulary": "words, packed by xz",
    "layout": "where documents begin and end, and what stands between, packed by xz",
}


def view(result: Recital) -> Group:
    said, parts = result.recitation, []
    noun = "row" if said.rows else "document"
    counts = [plural(said.documents, noun), plural(said.tokens, "label" if said.rows else "token")]
    if not said.rows:
        counts.append(plural(sum(x.size for x in said.files), "byte"))
    text = ", ".join(counts)
    if result.difference is not None or not result.holds:
        reasons = [] if result.difference is None else [str(result.difference)]
        if stopped := said.stopped:
            places = ", ".join(map(number, stopped[:3])) + (", ..." if len(stopped) > 3 else "")
            unanswered = f"{plural(len(stopped), 'document')} ({places})"
            reasons.append(f"without an answer before the end: {unanswered}")
        reasons = reasons or ["its hash is not that of the file that the model was made from"]
        parts.append(Text(f"differs  {text}", STYLES["refuted"]))
        parts += [Text(f"  {harmless(flags(x))}") for x in reasons]
    else:
        parts.append(Text(f"recited  {text}{_same(result)}", STYLES["proved"]))
    parts += notes(harmless(flags(x)) for x in result.unread if x != result.difference)
    if result.output is not None:
        parts.append(Text(f"written to {harmless(result.output)}"))
    sizes = [(name, number(result.sizes[name]), f"bytes: {text}") for name, text in SIZES.items()]
    return Group(*parts, rows(sizes))


def _same(result: Recital) -> str:
    if result.recitation.rows:
        return ": every label is that of the data" if result.checked else ""
    if result.checked:
        return ", all as in the file" if len(result.recitation.files) == 1 else ", all as there"
    known = result.recitation.files and all(file.same for file in result.recitation.files)
    return ": by its hash, the file that the model was made from" if known else ""
