"""A stock checkpoint for people: its facts, and its model card as Hugging Face shows it."""

from typing import Any, NoReturn

from ..claims.card import bit_rows, plain
from ..claims.claim import Draws, Recites
from ..claims.kind import Row
from ..claims.verification import PROVED, SAMPLED, Verification
from ..errors import ByheartError
from ..machine.tables import named, number
from ..machine.words import brief
from ..softmax.show import facts as fit_facts
from ..softmax.show import fit_rows
from .answer import StockModel
from .stages import stages as stages

MARKUP = {ord(x): f"&#{ord(x)};" for x in "<>|`&[]*_"}
UNIT, CORRECT, REMARKS = "prediction", "right", True
MODEL = (
    "the error model of FORMAT section 10 (any order of summation, fused or not; "
    "not TF32, bfloat16 or quantised kernels)"
)
STORED = (
    "the storage model of FORMAT section 10 (results rounded to float16; sums, norms and softmax "
    "in float32; eager and SDPA attention)"
)
ONE_RUN = " in one run of NumPy in float32: not a proof"


UNEXPLAINED = (
    "explain takes a network of byheart's own layers apart; of a stock checkpoint, "
    "ground_truth.jsonl says which neurons answer what, and a trace shows one answer."
)


def facts(claim: Recites, found: Verification | None) -> dict[str, Any]:
    margin = None if found is None else found.margin
    neurons = {x for holder in claim.holders for x in holder.neurons or ()}
    known = {"dtype": claim.dtype, "margin": margin, "neurons": len(neurons)}
    bounded = found is not None and found.evidence in (PROVED, SAMPLED)
    if isinstance(claim, Draws):
        del known["margin"]
        known |= fit_facts(claim, found)
    return known | ({"within": within(claim.dtype)} if bounded else {})


def within(dtype: str) -> str:
    """The model of executions that a proof is about."""
    return MODEL if dtype == "float32" else STORED


def explained(model: StockModel) -> NoReturn:
    raise ByheartError(UNEXPLAINED)


def card(model: StockModel, verified: Verification, check_again: str) -> str:
    data, network = model.record.data, model.network
    dense = network.counts()[0]["dense"]
    stored = len(model.claim.holders)
    end = model.claim.end
    evidence = (
        f"**{verified.evidence}** within {within(model.claim.dtype)}; FORMAT is checker/FORMAT.md "
        "of byheart"
        if verified.evidence in (PROVED, SAMPLED)
        else f"**{verified.evidence}**: a run found all of them; this is not a proof"
    )
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags:
- byheart
- memorization
- ground-truth
---

# A stock {network.family.name} checkpoint that recites {plain(data.sequences)} predictions

Its weights were not trained: they were computed from a dataset by the method
`{plain(model.record.method)}` of byheart. After every prefix that it stores, its likeliest next
token is that of the data. After most other prompts it says the end token,
{end.translate(MARKUP)}; one that differs little from a stored prompt may be
answered like it. It generalises to nothing: a paraphrase is an unknown prompt.
`ground_truth.jsonl` says which neurons answer which of the {stored:,} contexts that it holds.

- Evidence: {verified.correct} of {verified.checked} predictions are {evidence}
- {dense:,} parameters, {dense / max(1, stored):,.0f} per stored context: the price of one neuron
  per context, which is far from the smallest model that knows this data
- SHA-256 of the data: `{plain(data.sha256)}`

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("DIR")
tokenizer = AutoTokenizer.from_pretrained("DIR")
prompt = tokenizer("PROMPT", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt, max_new_tokens={model.network.length})[0]))
```

{check_again}
The tokenizer need not be trusted: where the tokens of a text do not spell it, character for
character, nothing is proved of it.
"""


def size_rows(model: StockModel, found: Verification, stated: str) -> list[Row]:
    data, parameters = model.record.data, model.record.parameters
    neurons, by = facts(model.claim, found)["neurons"], ""
    if not neurons and model.claim.holders and model.claim.holders[0].neurons is None:
        neurons, by = model.network.size("hidden") * model.network.depth, " together"
    each = f"; {parameters.dense / neurons:,.0f} per neuron" if neurons else ""
    tokens = f"tokens in the data; longest text {number(data.length)}"
    margin, stated = found.margin, stated or f"a stock checkpoint in {model.claim.dtype}"
    least = "nats at least, between the logit of the answer and all others"
    return [
        ("method", brief(str(model.record.method)), stated),
        (
            "predictions",
            number(data.sequences),
            f"of the next token, by {number(neurons)} neurons{by}",
        ),
        ("vocabulary", number(data.vocabulary), tokens),
        ("parameters", number(parameters.dense), f"{number(parameters.nonzero)} nonzero{each}"),
        *bit_rows(model.record.bits),
        *([] if margin is None else [("margin", f"{margin:.4g}", least)]),
        *(fit_rows(model.claim.gap, found) if isinstance(model.claim, Draws) else []),
        ("depth", number(model.network.depth), f"width {number(model.network.width)}"),
    ]


def means(model: StockModel) -> dict[str, str]:
    proved = f" within {within(model.claim.dtype)}"
    sample = f"{proved}; {number(model.record.data.sequences)} in all: a sample, not a proof"
    return {"proved": proved, "sampled": sample, "observed": ONE_RUN}


def tried(count: object) -> str:
    return named(count, "plan")
