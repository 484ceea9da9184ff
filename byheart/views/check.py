"""check as a verdict: the statement, the evidence, the counterexample."""

from typing import Any

from ..api.check import Checked, CheckList
from ..claims.verification import ACCEPTED
from ..machine.tables import number, plural
from ..theory.papers import cited
from .terminal import STYLES, Group, RenderableType, Text, sentences


def list_view(checks: CheckList) -> Group:
    """Each check: what it says, what it needs, and an example."""
    parts: list[RenderableType] = []
    for check in checks:
        example = f"byheart check {check.name} {check.example}"
        about = [("", check.says), ("needs", check.needs), ("example", example)]
        source = f"  {cited(check.paper)}, {check.item}"
        title = Text(check.name, style="bold").append(source, "not bold dim")
        parts += [title, sentences(about), Text()]
    return Group(*parts[:-1])


def view(result: Checked) -> Group:
    word, check, read = result.evidence, result.check, result.reading
    line = Text(word or "not decided", style=STYLES.get(word or "", "yellow"))
    line.append(f"  {result.detail}", "not bold default")
    parts: list[RenderableType] = [
        Text(f"{cited(check.paper)}, {check.item}: {check.says}", style="dim"),
        line,
    ]
    if word in ACCEPTED and not result.settled:
        parts.append(Text(f"that is no proof; --accept {word} takes it for enough"))
    if result.counterexample is not None:
        shown = [(worded(key), spelt(value)) for key, value in result.counterexample.items()]
        parts += [Text("counterexample", style="bold"), sentences(shown)]
    known = {key: value for key, value in result.facts.items() if value is not None}
    parts.append(sentences((worded(key), spelt(value)) for key, value in known.items()))
    if read is not None:
        how = " ".join(f"--{key} {value}" for key, value in read.options.items())
        options = f" read with {how}" if how else ""
        parts.append(Text(f"{read.file}: {plural(read.sequences, 'sequence')}{options}", "dim"))
    return Group(*parts)


def worded(key: str) -> str:
    return key.replace("_", " ")


def spelt(value: Any) -> str:
    """Numbers and words side by side; a list within a list in brackets.

    >>> spelt([["a", 1], ["b", 2]]), spelt([1, "2/7"]), spelt({"place": "sequence 1"})
    ('[a, 1], [b, 2]', '1, 2/7', 'place: sequence 1')
    """
    if isinstance(value, dict):
        return "; ".join(f"{worded(key)}: {spelt(x)}" for key, x in value.items() if x is not None)
    if isinstance(value, list | tuple):
        return ", ".join(
            f"[{spelt(x)}]" if isinstance(x, list | tuple) else spelt(x) for x in value
        )
    return number(value)
