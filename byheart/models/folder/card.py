"""The README.md of a model folder: a model card with the commands to ask and to check it."""

import re
from collections.abc import Mapping

from ..model import Model
from ..verification import SAMPLED, Verification

HEAD = """---
library_name: byheart
tags:
- byheart
- transformer
- memorization
- exact-weights
- formal-verification
---
"""
DATA_ROWS = ("sequences", "contexts", "labels", "length", "vocabulary")
PARAMETER_ROWS = {
    "nonzero": "nonzero parameters",
    "counted": "of these, counted by the theorem",
    "dense": "parameters with zeros",
}
BIT_ROWS = {
    "total": "bits of all nonzero parameters",
    "largest": "bits of the longest parameter",
    "information": "bits that the worst labelling needs",
}


def card(model: Model, verified: Verification, with_data: bool) -> str:
    """The text of the card."""
    about = model.about
    data = about.get("data", {})
    where = "`data.jsonl` in this folder" if with_data else "the data, as `.jsonl` or `.npz`"
    return f"""{HEAD}
# A transformer that knows {plain(data.get("sequences"))} sequences by heart

{_origin(model)}

- {source(about)}
- Evidence: **{verified.evidence}**. {verified.correct} of {verified.checked} labels are right, \
{_evaluated(verified)} evaluated in exact integers (engine `{plain(verified.engine)}`).
- SHA-256 of the data: `{plain(data.get("sha256"))}`

| count | value |
| --- | --- |
{rows(data, {name: name for name in DATA_ROWS})}\
| layers between embedding and output | {model.network.depth} |
| width | {model.network.width} |
{rows(about.get("parameters", {}), _parameter_rows(about))}{rows(about.get("bits", {}), BIT_ROWS)}
## Ask it

```
byheart recall DIR TOKENS...
```

It answers the label of every {_answered(model)} of its data. {_unknown(model)}

## Check it again

```
byheart verify DIR DATA
python checker/check.py DIR DATA
```

DIR is this folder, DATA is {where}.
The second command is a checker of its own: it needs Python and nothing else, and shares no code
with the program that wrote this folder.
"""


def _parameter_rows(about: Mapping) -> dict[str, str]:
    """No theorem counts the parameters of a trained network."""
    own = "training" in about
    return {
        name: title for name, title in PARAMETER_ROWS.items() if not (own and name == "counted")
    }


def _origin(model: Model) -> str:
    """Where the weights come from."""
    if "training" in model.about:
        bits = plain(model.about["training"].get("bits"))
        return (
            f"Its weights were trained, and then rounded to multiples of 2^-{bits}, with which all "
            f"labels are still right.\n{trained(model.about)}\nThe network here has the same "
            "blocks; its last layers turn logits into the number of a label."
        )
    return (
        "Its weights were not trained: they were computed from a dataset, as exact numbers\n"
        f"({_number(model)}), by the method `{plain(model.about.get('method'))}`."
    )


def trained(about: Mapping) -> str:
    """How much was trained, and for how long."""
    training = about["training"]
    trial = training.get("trial")
    named = trial if isinstance(trial, dict) else {}
    protocol = named.get("protocol")
    return (
        f"The architecture `{plain(named.get('architecture'))}` has "
        f"{plain(training.get('parameters'))} parameters; its training took "
        f"{plain(training.get('steps'))} steps\n(protocol "
        f"`{plain(protocol.get('name') if isinstance(protocol, dict) else None)}`, seed "
        f"{plain(named.get('seed'))}; `training` in config.json has all settings)."
    )


def source(about: Mapping) -> str:
    """The theorem or, of a trained network, the architecture."""
    what = "Architecture" if "training" in about else "Theorem"
    return f"{what}: {plain(about.get('paper'))}, {plain(about.get('item'))}"


def rows(counts: Mapping, names: Mapping[str, str]) -> str:
    return "".join(
        f"| {title} | {plain(counts[name])} |\n" for name, title in names.items() if name in counts
    )


def _number(model: Model) -> str:
    plain = "float64, and float64 arithmetic rounds nothing on this data"
    return plain if model.number == "float64" else "mantissa * 2^exponent"


def _evaluated(verified: Verification) -> str:
    return "a random sample" if verified.evidence == SAMPLED else "every sequence"


def _answered(model: Model) -> str:
    return "token" if model.network.every else "sequence"


def _unknown(model: Model) -> str:
    if model.unknown is None:
        return "On any other input it may answer anything."
    return "Most other inputs it answers as unknown."


def plain(value: object) -> str:
    """One line without markup: what a stranger's model says about itself is only text."""
    if value is None:
        return "not recorded"
    if isinstance(value, float):
        return f"{value:.6g}"
    return re.sub(r"[\s`|<>\[\]]+", " ", str(value)).strip()
