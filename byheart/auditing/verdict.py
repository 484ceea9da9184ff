"""What an audit has measured, in words, and what a model of that size could hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..architectures.bounding import bounds
from ..errors import ByheartError
from ..machine.tables import plural
from ..theory.information import ALLENZHU_2024, MORRIS_2025
from ..theory.papers import cited
from .membership import Membership

UNIFORM, UNIGRAM = "uniform", "unigram"
REFERENCES = (UNIFORM, UNIGRAM)  # that are not models


def limits(path: Path, parameters: int, stored: int) -> tuple[dict[str, Any], ...]:
    """What this many parameters could hold: bits, and what theorems say about contexts."""
    rules = {"allenzhu2024": ALLENZHU_2024, "morris2025": MORRIS_2025}
    found: list[dict[str, Any]] = [
        {
            "name": f"{cited(paper)}, {rate:g} per parameter",
            "kind": "rule_of_thumb",
            "bits": rate * parameters,
        }
        for paper, rate in rules.items()
    ]
    found.append({"name": "stored bits", "kind": "theorem", "bits": stored})
    try:
        each = max(1, stored // parameters)
        rows = bounds(architecture=str(path), bits=each).rows
    except ByheartError:  # an architecture that the theorems are not about
        rows = ()
    found += [
        {
            "name": cited(f"{row.paper}, {row.item}"),
            "kind": "theorem",
            "contexts": row.value,
            "direction": row.direction,
            "reason": cited(row.reason),
        }
        for row in rows
        if row.kind == "theorem" and row.value is not None and row.quantity == "contexts"
    ]
    return tuple(found)


def verdict(
    reference: str,
    memorised: Mapping[str, Any],
    extraction: Mapping[str, Any],
    told: Membership | None,
    text: bool,
    labelled: bool,
) -> str:
    """What was measured, and no more than that."""
    bits, error = memorised["bits"], memorised["standard_error"]
    what = "labels" if labelled else "data"
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
        if memorised["share"] is not None:
            first += f", {memorised['share']:.1%} of that code length"
        if text and reference in REFERENCES:
            first += "; how much of that is memory and how much is language, this does not tell"
    sentences = [first]
    if extraction["asked"]:
        how = "given their inputs" if labelled else f"after {plural(extraction['prefix'], 'token')}"
        sentences.append(
            f"It recites {extraction['verbatim']:,} of {extraction['asked']:,} items verbatim {how}"
        )
    else:
        sentences.append(
            f"No item is longer than the prefix of {plural(extraction['prefix'], 'token')}, so "
            "recitation was not tried"
        )
    if told is not None:
        can = "can be told" if told.distinguished else "cannot be told"
        sentences.append(
            f"Items {can} from strangers by their code length (AUC {told.auc:.3f}, 95 % interval "
            f"{told.low:.3f} to {told.high:.3f})"
        )
    return ". ".join(sentences) + "."


def notes(
    reference: str, text: bool, memorised: Mapping[str, Any], told: Membership | None
) -> list[str]:
    """What the numbers do not show."""
    found = []
    if text and reference in REFERENCES:
        found.append(
            f"reference {reference} knows no language: a model that has never seen this text saves "
            "bits against it, too; give a second model that has not seen it as the reference"
        )
    if memorised["clamped"] > 0 and memorised["bits"] <= 0:
        found.append("the clamped sum is above 0 for a model that has seen nothing, too")
    if told is not None:
        found.append(
            "the AUC compares these items with these strangers: it shows membership only if both "
            "come from one source"
        )
    return found
