"""verify as lines: the verdict, the failures, how the file was read, and the size."""

from collections.abc import Mapping
from typing import Any

from rich.padding import Padding

from ..api.taught import TaughtVerified
from ..api.verify import Verified
from ..claims.card import bit_rows
from ..machine.tables import number, plural
from ..machine.words import brief
from .model import UNSETTLED, shown, size_rows, timed, verdict
from .taught import view as taught_view
from .terminal import Group, RenderableType, Text, notes, rows

LISTED = 8  # columns that a line names
ABOUT = {  # what the checker was given of a stock checkpoint's data
    "texts": ", about the texts, which it split by itself",
    "evaluation": ": all answers are those of FORMAT section 3 by a program that is proved in Coq; "
    "it judges the evaluation of exact networks, not counts, nor float64 runs",
    "tokens": ", about tokens as byheart splits the data; the text was not checked",
}


def view(result: Verified | TaughtVerified) -> Group:
    if isinstance(result, TaughtVerified):
        return taught_view(result)
    summary, parts = result.summary, list[RenderableType]()
    if result.checker:
        about = ABOUT.get(result.about or "", ", about a copy of the data as byheart reads it")
        if not result.copied and result.about != "evaluation":
            about = ", about the tokens of the file" if result.about == "tokens" else ""
        name = "verified" if result.about == "evaluation" else "independent"
        parts.append(Text(f"the {name} checker says {result.checker}{about}"))
    failures = result.failures if result.checked else result.failures[1:]  # the verdict has it
    partly = bool(result.unclaimed and result.checked) and result.evidence is None
    parts.append(verdict(summary, result.runtime, result.about))
    if partly and result.reading is not None:
        parts[-1], failures = _partly(result, result.reading), ()
    if not result.failures and not result.holds:
        parts.append(Text(f"  that is no proof; --accept {result.evidence} takes it for enough"))
    elif result.evidence in result.accept:
        parts.append(Text(f"  that is no proof, and enough by --accept {result.evidence}"))
    # only the verdict begins at the left, whatever the words of the folder are
    parts += [Padding(Text(sentence), (0, 0, 0, 2)) for sentence in failures]
    if result.rebuilt:
        parts.append(Text("compiling the data again gives the same weights, byte for byte"))
    own = shown(summary)
    if result.change is not None:
        parts.append(Text(_changed(result.change, summary.model.claim.texts)))
    if result.reading is not None:
        parts.append(Text(f"read as {_reading(result)}"))
        parts += notes(result.reading_notes or ())
    if own.REMARKS:
        sizes = size_rows(summary, stated=True)
    else:
        depth = f"nonzero; depth {number(summary.depth)}"
        sizes = [
            ("method", brief(summary.method), "by the folder's own account"),
            ("parameters", number(summary.parameters.nonzero), depth),
        ]
        if result.reading is not None:  # there is data, so the bits that it needs are known
            sizes += bit_rows(summary.bits)
    return Group(*parts, rows(sizes), timed(summary))


def _partly(result: Verified, reading: Mapping[str, Any]) -> Text:
    """One line: for which columns every label is correct, and which columns nobody claims."""
    asked = reading.get("template") or reading.get("input") or ()
    answer = reading.get("answer") or reading.get("label")
    which = f"{', '.join(asked)} -> {answer}" if asked else f"the shape {reading.get('shape')}"
    more = len(result.unclaimed) - LISTED
    others = [*result.unclaimed[:LISTED], *([f"{more:,} more"] if more > 0 else [])]
    listed = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
    noun = "distributions" if result.summary.model.claim.probabilities else "labels"
    return Text(UNSETTLED).append(
        f"  all {number(result.correct)} {noun} correct for {which}; "
        f"{listed} {'is' if len(others) == 1 and more <= 0 else 'are'} not claimed"
    )


def _changed(change: Mapping[str, Any], tokenizer: bool) -> str:
    """What the folder says of its change, and on what evidence."""
    says = f"the folder says that it comes from another one by {change['kind']}"
    split = " with this tokenizer" if tokenizer else ""
    means = {
        "proved": f"proved: it is what compile makes of this data{split}, whatever was there "
        "before",
        "refuted": "refuted: it is not what compile makes of this data",
        None: "not checked: --rebuild does",
    }
    return f"{says}; {means[change['evidence']]}"


def _reading(result: Verified) -> str:
    chosen = []
    for name, value in (result.reading or {}).items():
        text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        chosen.append(f"{name} {text if text.strip() else repr(text)}")  # a delimiter
    how = ", ".join(chosen) or "sequences with their labels"
    words = {
        "relabelled": ("label", "that the folder changed"),
        "dropped": ("sequence", "it left out"),
    }
    conflicts = result.summary.conflicts
    settled = [f"{plural(conflicts[x], y)} {z}" for x, (y, z) in words.items() if conflicts.get(x)]
    covered = result.covered or {}
    answers = result.summary.model.claim.texts and "documents" not in (result.reading or {})
    noun = "row" if answers else "prediction"  # of such a row several tokens are predicted
    size = f"{number(covered.get('predictions'))} of {plural(covered.get('of'), noun)}"
    files = covered.get("files", {"read": 1, "of": 1})
    if files["of"] > 1:
        size += f", {number(files['read'])} of {plural(files['of'], 'file')}"
    return "; ".join([f"{how}: {size}", *settled])
