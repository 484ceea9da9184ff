"""An exact network for people: its model card."""

from typing import Any

from ..claims.card import (
    BIT_ROWS,
    DATA_ROWS,
    HEAD,
    PARAMETER_ROWS,
    bit_rows,
    plain,
    rows,
    several,
    source,
    trained,
)
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
    """The card of a model that stores labels."""
    record, data = model.record, model.record.data
    evaluated = "a random sample" if verified.evidence == SAMPLED else "every sequence"
    answered = "token" if model.every else "sequence"
    unknown = (
        "On any other input it may answer anything."
        if model.claim.unknown is None
        else "Most other inputs it answers as unknown."
    )
    # no theorem counts the parameters of a trained network
    counts = {k: x for k, x in PARAMETER_ROWS.items() if k != "counted" or not record.training}
    tags = "exact-weights\n- formal-verification"
    return f"""{HEAD.format(tags=tags)}
# A transformer that knows {several(data.sequences, "sequence")} by heart

{_origin(model)}

- {source(record)}
- Evidence: **{verified.evidence}**. {verified.correct} of {several(verified.checked, "label")} \
{"is" if verified.checked == 1 else "are"} correct, \
{evaluated} evaluated in exact integers (engine `{plain(verified.engine)}`).
- SHA-256 of the data: `{plain(data.sha256)}`

| count | value |
| --- | --- |
{rows(data, DATA_ROWS)}\
| layers between embedding and output | {model.network.depth} |
| width | {model.network.width} |
{rows(record.parameters, counts)}{rows(record.bits, BIT_ROWS)}
## Query it

```
byheart recall DIR TOKENS...
```

It returns the label of every {answered} of its data. {unknown}

{check_again}"""


def _origin(model: ExactModel) -> str:
    """Where the weights come from."""
    if model.record.training is not None:
        training = model.record.training
        return (
            "Its weights were trained, and then rounded to multiples of "
            f"2^-{plain(training.get('bits'))}, with which all "
            f"labels are still correct.\n{trained(training)}\nThe network here has the same "
            "blocks; its last layers turn logits into the number of a label."
        )
    exact = "float64, and float64 arithmetic rounds nothing on this data"
    number = exact if model.number == "float64" else "mantissa * 2^exponent"
    return (
        "Its weights were not trained: they were computed from a dataset, as exact numbers\n"
        f"({number}), by the method `{plain(model.record.method)}`."
    )


def size_rows(model: ExactModel, found: Verification, stated: str) -> list[Row]:
    data, parameters = model.record.data, model.record.parameters
    vocabulary = f"vocabulary {number(data.vocabulary)}, length {number(data.length)}"
    dense = f"nonzero; {number(parameters.dense)} with zeros"
    return [
        ("method", brief(str(model.record.method)), brief(model.record.form or "")),
        ("sequences", number(data.sequences), plural(data.contexts, "context")),
        ("labels", number(data.labels), vocabulary),
        ("parameters", number(parameters.nonzero), dense),
        *bit_rows(model.record.bits),
        ("depth", number(model.network.depth), f"width {number(model.network.width)}"),
    ]


def means(model: ExactModel) -> dict[str, str]:
    sample = f"; {plural(model.record.data.sequences, 'sequence')} in all: a sample, not a proof"
    return {"proved": ", each evaluated in exact arithmetic", "sampled": sample}


def tried(count: object) -> str:
    return named(count, "hash")
