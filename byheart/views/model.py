"""The size of a model and the evidence for it, as rows and one line."""

from collections.abc import Mapping

from ..api.summary import Summary
from ..claims.kind import Showing
from ..machine.tables import named, number
from ..models.kinds import kind_of
from .terminal import STYLES, Row, Text

UNSETTLED = "not settled"  # correct as far as it was read


def shown(summary: Summary) -> Showing:
    return kind_of(summary.model).show


def size_rows(summary: Summary, stated: bool = False) -> list[Row]:
    """The data and the size of the network; `stated`: only the folder says which method it was."""
    account = "by the folder's own account" if stated else ""
    return shown(summary).size_rows(summary.model, summary.verification, account)


def verdict(
    summary: Summary, runtime: Mapping[str, str] | None = None, about: str | None = None
) -> Text:
    """One line: on what evidence the model is correct, and in which other runtime.

    about  "tokens", where no text was split
    """
    found, own = summary.verification, shown(summary)
    if found.evidence is None and not summary.failures:
        unit = "distribution" if summary.model.claim.probabilities else "label"
        return Text(f"format, hashes and structure hold; no {unit} was checked: pass the data file")
    if not found.checked:
        return Text(f"not checked: {summary.failures[0]}")
    word = found.evidence or UNSETTLED
    means = {**own.means(summary.model), UNSETTLED: ", but a part of the file was left out"}
    if runtime:
        ran = f"{runtime['name']} {runtime['version']}, {runtime['dtype']}"
        means["observed"] = f" in {ran}: not a proof"
    text = Text(word, style=STYLES.get(word, ""))
    shares = summary.model.claim.probabilities
    unit, right = ("context", "within the gap") if shares else (own.UNIT, own.CORRECT)
    what = f"{named(found.checked, unit)} {right}"
    text.append(f"  {number(found.correct)} of {number(found.checked)} {what}", "default")
    if about == "tokens":
        text.append(", about tokens and no text,", "default")
    return text.append(means.get(word, ""), "not bold default")


def timed(summary: Summary) -> Text:
    order = ("load", "build", "verify")
    spent = [(x, summary.seconds[x]) for x in order if isinstance(summary.seconds.get(x), float)]
    return Text(", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent), style="dim")
