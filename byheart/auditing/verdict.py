"""What an audit has measured, in words, and what a model of that size could hold."""

from collections.abc import Sequence
from pathlib import Path

from ..architectures.bounding import architecture_facts
from ..errors import ByheartError
from ..machine.tables import plural
from ..theory import Question, answers
from ..theory.information import ALLENZHU_2024, morris_2025
from ..theory.papers import cited
from .answer import Extraction, Limit, MembershipTest, Memorised
from .items import Items

UNIFORM, UNIGRAM = "uniform", "unigram"
REFERENCES = (UNIFORM, UNIGRAM)  # that are not models


def limits(path: Path, parameters: int, stored: int) -> tuple[Limit, ...]:
    """What this many parameters could hold: bits, and what theorems say about contexts."""
    each = max(1, stored // parameters)
    rules = {"allenzhu2024": ALLENZHU_2024, "morris2025": morris_2025(each)}
    held = [
        Limit(f"{cited(paper)}, {rate:g} per parameter", "rule_of_thumb", rate * parameters)
        for paper, rate in rules.items()
    ]
    held.append(Limit("stored bits", "theorem", stored))
    try:
        model = architecture_facts(str(path), {}, bits=each)
        rows = tuple(answers(Question(None, model, each)))
    except ByheartError:  # an architecture that the theorems are not about
        rows = ()
    for row in rows:
        if row.kind == "theorem" and row.value is not None and row.quantity == "contexts":
            about = (row.value, row.direction, cited(row.reason))
            held.append(Limit(row.source, "theorem", None, *about))
    return tuple(held)


def verdict(
    reference: str,
    memorised: Memorised,
    extraction: Extraction,
    test: MembershipTest | None,
    items: Items,
) -> str:
    """What was measured, and no more than that."""
    bits, error = memorised.bits, memorised.standard_error
    what = "labels" if items.labelled else "data"
    against = reference if reference in REFERENCES else f"the model {reference}"
    if error is None:
        more = "less" if bits >= 0 else "more"
        first = f"One item: the model spends {abs(bits):,.0f} bits {more} on it than {against}"
    elif abs(bits) <= 2 * error:
        first = (
            f"No memorisation is measured: the bits saved against {against}, {bits:,.1f}, are "
            f"within two standard errors ({error:,.1f} each) of 0"
        )
    elif bits < 0:
        first = f"The model spends {-bits:,.0f} bits more on the {what} than {against}"
    else:
        first = f"The model spends {bits:,.0f} bits less on the {what} than {against}"
        if memorised.share is not None:
            first += f", {memorised.share:.1%} of that code length"
        if items.text and reference in REFERENCES:
            first += "; how much of that is memory and how much is language, this does not tell"
    sentences = [first]
    prefix = plural(extraction.prefix, "token")
    if extraction.asked:
        how = "given their inputs" if items.labelled else f"after {prefix}"
        sentences.append(
            f"It recites {extraction.verbatim:,} of {extraction.asked:,} items verbatim {how}"
        )
    else:
        sentences.append(
            f"No item is longer than the prefix of {prefix}, so recitation was not tried"
        )
    if test is not None:
        can = "can" if test.low > 0.5 else "cannot"
        sentences.append(
            f"Items {can} be told from non-members by their code length (AUC {test.auc:.3f}, 95 % "
            f"interval {test.low:.3f} to {test.high:.3f})"
        )
    return ". ".join(sentences) + "."


def notes(
    code: Sequence[str],
    reference: str,
    memorised: Memorised,
    test: MembershipTest | None,
    items: Items,
) -> list[str]:
    """What the numbers do not show; `code` names classes of the folder's own."""
    sentences = []
    if code:
        sentences.append(
            "the code that comes with the model (auto_map) was not run: what is measured is "
            "transformers' own model of that type, which trust_remote_code=True may replace"
        )
    if items.unspelled:
        sentences.append(
            f"the tokens of {plural(items.unspelled, 'text')} of the data make up another text: "
            "what is measured there is these tokens"
        )
    if items.text and reference in REFERENCES:
        sentences.append(
            f"reference {reference} knows no language: a model that has never seen this text saves "
            "bits against it, too; give a second model that has not seen it as the reference"
        )
    if memorised.clamped > 0 and memorised.bits <= 0:
        sentences.append("the clamped sum is above 0 for a model that has seen nothing, too")
    if test is not None:
        sentences.append(
            "the AUC compares these items with these non-members: it shows membership only if both "
            "come from one source"
        )
    return sentences
