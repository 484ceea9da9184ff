"""An exact network for people: its model card."""

from typing import Any

from ..claims import card as cards
from ..claims.claim import Labels
from ..claims.kind import Row
from ..claims.verification import SAMPLED, Verification
from ..machine.tables import named, number, plural
from ..machine.words import brief
from .answer import ExactModel
from .stages import stages as stages

READ = ("dimension", "positions", "length", "columns", "padding", "extra")
UNIT, CORRECT, REMARKS = "label", "correct", False


def facts(claim: Labels, found: Verification | None) -> dict[str, Any]:
    return {}


def explained(model: ExactModel) -> tuple[dict[str, Any], dict[str, Any]]:
    found = {name: getattr(model.network.input, name) for name in READ}
    for name in ("padding", "extra"):
        found[name] = found[name] and [float(x.fraction) for x in found[name]]
    return found, {}


def card(model: ExactModel, verified: Verification, check_again: str) -> str:
    record, network, training = model.record, model.network, model.record.training
    unknown = "On any other input it may answer anything."
    if model.claim.unknown is not None:
        unknown = "Most other inputs it answers as unknown."
    # no theorem counts the parameters of a trained network
    counts = {k: x for k, x in cards.PARAMETER_ROWS.items() if k != "counted" or not training}
    sizes = {"layers between embedding and output": network.depth, "lanes": network.width}
    labels = cards.several(verified.checked, "label")
    if training is not None:
        origin = (
            "Its weights were trained, and then rounded to multiples of "
            f"2^-{cards.plain(training.get('bits'))}, with which all "
            f"labels are still correct.\n{cards.trained(training)}\nThe network here has the same "
            "blocks; its last layers turn logits into the number of a label."
        )
    else:
        exact = "float64, and float64 arithmetic rounds nothing on this data"
        number = exact if model.number == "float64" else "mantissa * 2^exponent"
        origin = (
            "Its weights were not trained: they were computed from a dataset, as exact numbers\n"
            f"({number}), by the method `{cards.plain(record.method)}`."
        )
    text = cards.filled(
        __package__,
        "exact-weights\n- formal-verification",
        record,
        verified,
        sequences=cards.several(record.data.sequences, "sequence"),
        origin=origin,
        correct=f"{labels} {'is' if verified.checked == 1 else 'are'} correct",
        evaluated="a random sample" if verified.evidence == SAMPLED else "every sequence",
        rows=cards.table(sizes)
        + cards.rows(record.parameters, counts)
        + cards.rows(record.bits, cards.BIT_ROWS),
        answered="token" if model.every else "sequence",
        unknown=unknown,
    )
    return text + check_again


def size_rows(model: ExactModel, found: Verification, stated: str) -> list[Row]:
    data, parameters = model.record.data, model.record.parameters
    vocabulary = f"vocabulary {number(data.vocabulary)}, length {number(data.length)}"
    dense = f"nonzero; {number(parameters.dense)} with zeros"
    wide = f"width {number(model.network.breadth)}, {plural(model.network.width, 'lane')}"
    return [
        ("method", brief(str(model.record.method)), brief(model.record.form or "")),
        ("sequences", number(data.sequences), plural(data.contexts, "context")),
        ("labels", number(data.labels), vocabulary),
        ("parameters", number(parameters.nonzero), dense),
        *cards.bit_rows(model.record.bits),
        ("depth", number(model.network.depth), wide),
    ]


def means(model: ExactModel) -> dict[str, str]:
    sample = f"; {plural(model.record.data.sequences, 'sequence')} in all: a sample, not a proof"
    return {"proved": ", each evaluated in exact arithmetic", "sampled": sample}


def tried(count: object) -> str:
    return named(count, "hash")
