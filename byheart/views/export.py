"""export as lines: the evidence in the other tool, what was wrong, and the files."""

from ..api.export import Exported
from ..machine.tables import number
from .terminal import STYLES, Group, Text


def view(result: Exported) -> Group:
    parts = []
    verified = result.verification
    if result.runtime is not None and verified is not None:
        word = verified.evidence or ""
        where = "{name} {version}, {dtype}".format(**result.runtime)
        counts = f"{number(verified.correct)} of {number(verified.checked)} {result.noun} right"
        text = Text(word, style=STYLES[word])
        parts.append(text.append(f"  {counts} in {where}: a run, not a proof", "not bold default"))
        parts += [Text(f"  {sentence}") for sentence in verified.failures]
    parts += [Text(f"note: {note}.") for note in result.notes]
    written = f"written to {result.folder}: {', '.join(result.files)}"
    return Group(*parts, Text(written if result else "nothing was written"))
