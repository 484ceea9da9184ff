"""What an audit has measured, in words, and what a model of that size could hold."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from ..architectures.bounding import architecture_facts
from ..errors import ByheartError, Message
from ..machine.tables import plural
from ..theory import Question, answers
from ..theory.information import ALLENZHU_2024, morris_2025
from ..theory.papers import cited
from . import answer
from .items import Items

UNIFORM, UNIGRAM = "uniform", "unigram"
REFERENCES = (UNIFORM, UNIGRAM)  # that are not models
NOTES = tomllib.loads(Path(__file__).with_name("notes.toml").read_text("utf-8"))
TEMPLATE = "give `template=...` with the words in which the model was trained"


def limits(path: Path | None, parameters: int, stored: int) -> tuple[answer.Limit, ...]:
    """What this many parameters could hold: bits, and what theorems say about contexts.

    path  of the model that the theorems are asked about, if they are
    """
    each = max(1, stored // parameters)
    rules = {"allenzhu2024": ALLENZHU_2024, "morris2025": morris_2025(each)}
    held = [
        answer.Limit(f"{cited(paper)}, {rate:g} per parameter", "rule_of_thumb", rate * parameters)
        for paper, rate in rules.items()
    ]
    held.append(answer.Limit("stored bits", "theorem", stored))
    if path is None:
        return tuple(held)
    try:
        model = architecture_facts(str(path), {}, bits=each)
        rows = tuple(answers(Question(None, model, each)))
    except ByheartError:  # an architecture that the theorems are not about
        rows = ()
    for row in rows:
        if row.kind == "theorem" and row.value is not None and row.quantity == "contexts":
            about = (row.value, row.direction, cited(row.reason))
            held.append(answer.Limit(row.source, "theorem", None, *about))
    return tuple(held)


def verdict(
    reference: answer.Reference,
    memorised: answer.Memorised,
    extraction: answer.Extraction,
    test: answer.MembershipTest | None,
    items: Items,
    wordings: Sequence[answer.WordingAsked],
) -> str:
    """What was measured, and no more than that."""
    guessed = [wording.name for wording in wordings if wording.guessed]
    first, found = _held(reference, memorised, items)
    sentences = [first]
    prefix = plural(extraction.prefix, "token")
    if extraction.asked:
        how = "given their inputs" if items.labelled else f"after {prefix}"
        told = f"It recites {extraction.verbatim:,} of {extraction.asked:,} items verbatim {how}"
        hundred = next((x.items for x in extraction.curve if x.samples == 100), None)
        if hundred is not None and extraction.verbatim < extraction.asked:
            told += f", and {hundred:,} within 100 samples (p = {extraction.probability:g})"
        sentences.append(told)
    else:
        sentences.append(
            f"No item is longer than the prefix of {prefix}, so recitation was not tried: give a "
            "smaller `prefix=...`"
        )
    if guessed and not found and not extraction.verbatim:
        sentences = [f"Not found in {_these(guessed)}; {TEMPLATE}", *sentences[1:]]
    elif guessed and extraction.verbatim < extraction.asked:
        sentences.append(f"Asked in {_these(guessed)}: others may find more; {TEMPLATE}")
    if test is not None:
        best, of = test.strongest, len(test.scores)
        can = "can" if best.low > 0.5 else "cannot"
        chosen = f", corrected for choosing among {of}" if of > 1 else ""
        strongest = "the strongest score" if of > 1 else "the score"
        told = (
            f"Items {can} be told from non-members: {strongest}, {best.name}, has AUC "
            f"{best.auc:.3f} (95 % interval {best.low:.3f} to {best.high:.3f}{chosen})"
        )
        known = [rate for rate in best.rates if rate.true is not None]
        if known and best.low > 0.5:
            rate = known[-1]
            alarms = f"{100 * rate.false:g} % false alarms"
            told += f" and finds {rate.true:.0%} of the items at {alarms}"
        sentences.append(told)
    return Message(". ".join(sentences) + ".")


def _held(
    reference: answer.Reference, memorised: answer.Memorised, items: Items
) -> tuple[str, bool]:
    """The first sentence: how many bits the model holds; and whether it holds any."""
    bits, error, beyond = memorised.bits, memorised.standard_error, memorised.beyond
    what, more = "labels" if items.labelled else "data", "less" if bits >= 0 else "more"
    name = reference.name
    against = name if name in REFERENCES else f"the model {name}"
    if "," in name:
        against = f"the models {name}"
    if beyond is not None and beyond.low is not None and beyond.high is not None:
        ends = f"95 % interval {beyond.low:,.0f} to {beyond.high:,.0f}"
        before = f"{abs(bits):,.0f} {more} than {against}"
        if beyond.low <= 0:
            return (
                f"No memorisation beyond non-members is measured: {beyond.bits:,.0f} bits, {ends} "
                f"(the model spends {before} on the {what})"
            ), False
        if 0 < bits < beyond.bits:  # they cost more than under the reference: no more is memory
            return (
                f"The model spends {bits:,.0f} bits less on the {what} than {against}, and more on "
                f"non-members; beyond these it saves {beyond.bits:,.0f} ({ends})"
            ), True
        return (
            f"The model holds {beyond.bits:,.0f} bits of the {what} beyond what non-members save "
            f"({ends}); it spends {before}"
        ), True
    if error is None:
        said = f"One item: the model spends {abs(bits):,.0f} bits {more} on it than {against}"
        return said, bits > 0
    if abs(bits) <= 2 * error:
        return (
            f"No memorisation is measured: the bits saved against {against}, {bits:,.1f}, are "
            f"within two standard errors ({error:,.1f} each) of 0"
        ), False
    if bits < 0:
        return f"The model spends {-bits:,.0f} bits more on the {what} than {against}", False
    first = f"The model spends {bits:,.0f} bits less on the {what} than {against}"
    if memorised.share is not None and reference.knows:
        first += f", {memorised.share:.1%} of that code length"
    if not reference.knows:
        first += "; how much of that is memory and how much is language, this does not tell"
    return first, reference.knows


def _these(names: Sequence[str]) -> str:
    wordings = "this wording" if len(names) == 1 else f"these {len(names)} wordings"
    return f"{wordings} ({'; '.join(names)})"


def notes(
    model: answer.AuditedModel,
    references: Sequence[str],
    memorised: answer.Memorised,
    test: answer.MembershipTest | None,
    items: Items,
    wordings: Sequence[answer.WordingAsked],
) -> list[str]:
    """What the numbers do not show."""
    holds = {
        "code": model.code,
        "certified": model.certified and not model.compiled,
        "unspelled": items.unspelled,
        "language": items.text and references[0] in REFERENCES and not model.certified,
        "references": len(references) > 1,
        "wordings": len(wordings) > 1,
        "clamped": memorised.clamped > 0 >= memorised.bits,
        "source": test is not None,
    }
    texts = plural(items.unspelled, "text")
    told = {"texts": texts, "reference": references[0], "references": len(references)}
    return [NOTES[name].format(**told) for name, said in holds.items() if said]
