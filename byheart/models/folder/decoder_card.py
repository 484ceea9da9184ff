"""The README.md of a folder that holds a decoder."""

from ...softmax.decoder import ATTENTION, Shape
from ..language_model import LanguageModel
from ..verification import OBSERVED, PROVED, SAMPLED, Verification
from .card import DATA_ROWS, plain, rows, source, trained

HEAD = """---
library_name: byheart
tags:
- byheart
- transformer
- memorization
- next-token-distributions
---
"""
EVIDENCE: dict[str | None, str] = {
    PROVED: "by rigorous bounds over the real numbers, for every context",
    SAMPLED: "by rigorous bounds over the real numbers, for a random sample of the contexts; "
    "the others were not looked at",
    OBSERVED: "in a run in float64 arithmetic, over every context; this is no proof",
}
BIT_ROWS = {
    "total": "bits of all nonzero parameters",
    "largest": "bits of the longest parameter",
}
FORMULAS = {
    ATTENTION: "omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d",
    "token_sum": "omega m + m (d + 1) + omega d + T",
}


def card(model: LanguageModel, verified: Verification, with_data: bool) -> str:
    """The text of the card."""
    about = model.about
    data = about.get("data", {})
    where = "`data.jsonl` in this folder" if with_data else "the data, as `.jsonl` or `.npz`"
    return f"""{HEAD}
# A transformer that knows {plain(data.get("contexts"))} next-token distributions by heart

It stores which tokens follow each context of a dataset, and how often: after every context its
softmax gives the empirical distribution of the next token{_origin(model)}

- {source(about)}
- Claim: the Kullback-Leibler divergence of its distribution from the empirical one is at most \
{model.gap!r} nats for every context.
- Evidence: **{verified.evidence}**. {verified.correct} of {verified.checked} contexts keep the \
claim {EVIDENCE[verified.evidence]}
  (engine `{plain(verified.engine)}`).
- SHA-256 of the data: `{plain(data.get("sha256"))}`

| count | value |
| --- | --- |
{rows(data, {name: name for name in DATA_ROWS})}{_fit(verified)}{_sizes(model)}
## Ask it

```
byheart recall DIR TOKENS...
```

It answers the likeliest next token and the probabilities of the others. It reads 1 to \
{model.length} tokens;
after a context that is not in its data it may say anything.

## Load it elsewhere

{_elsewhere(model)}

## Check it again

```
byheart verify DIR DATA
python checker/check.py DIR DATA
```

DIR is this folder, DATA is {where}.
The second command is a checker of its own: it needs Python and nothing else, and shares no code
with the program that wrote this folder.
"""


def _origin(model: LanguageModel) -> str:
    """How near, and where the weights come from."""
    if "training" in model.about:
        times = model.about["training"].get("output_times", 1)
        longer = (
            "" if times == 1 else f"\n`output.weight` is {plain(times)} times what was trained."
        )
        return (
            f", up to the divergence below.\nIts weights ({_number(model)}) were trained. "
            f"{trained(model.about)}\nScales, biases and skip connections that this decoder has no "
            f"place for are folded into its other\nweights, so its own count may differ.{longer}"
        )
    return (
        f". Its weights ({_number(model)}) were\nnot trained: they were computed from the dataset, "
        f"by the method `{plain(model.about.get('method'))}`."
    )


def _number(model: LanguageModel) -> str:
    return "float64" if model.number == "float64" else "exact numbers, mantissa * 2^exponent"


def _fit(verified: Verification) -> str:
    fit = verified.fit
    if fit is None:
        return ""
    part = " of the sample" if verified.evidence == SAMPLED else ""
    found = {
        "divergence, mean over all predictions": f"{fit.mean:.3g} nats",
        "divergence, largest of a context": f"{fit.max:.3g} nats",
        "cross-entropy of all predictions": f"{fit.loss:.12g} nats",
        "the least it can be, their entropy": f"{fit.entropy:.12g} nats",
        "predictions that the likeliest token gets right": f"{fit.accuracy:.6g}",
    }
    return _table({title + part: value for title, value in found.items()})


def _sizes(model: LanguageModel) -> str:
    shape = model.network.shape
    sizes = _table(
        {
            "distinct tokens (omega), longest context (T)": f"{shape.vocabulary}, {shape.length}",
            "dimension of embedded tokens (d)": shape.dimension,
            **_mixing(shape),
            f"neurons (m), activation {plain(shape.activation)}": shape.neurons,
            f"parameters, {FORMULAS[shape.mixing]}": shape.parameters,
        }
    )
    parameters, bits = model.about.get("parameters", {}), model.about.get("bits", {})
    return sizes + rows(parameters, {"nonzero": "of these, nonzero"}) + rows(bits, BIT_ROWS)


def _mixing(shape: Shape) -> dict[str, object]:
    if shape.mixing != ATTENTION:
        return {"mixing of tokens": "a weighted sum"}
    sizes = f"{shape.heads}, {shape.key_dimension}, {shape.value_dimension}"
    skip = "with" if shape.skip else "without"
    return {f"heads (m_0), d_1, d_0, {skip} skip connection": sizes}


def _table(values: dict[str, object] | dict[str, str]) -> str:
    return "".join(f"| {title} | {value} |\n" for title, value in values.items())


def _elsewhere(model: LanguageModel) -> str:
    if model.number != "float64":
        return (
            "The weights have more digits than float64 holds; "
            "checker/FORMAT.md of byheart says how they are stored."
        )
    return (
        "The weights are an ordinary state dict, which `safetensors.torch.load_file` reads;\n"
        "docs/plain-tensors.md of byheart has the forward pass in a few lines."
    )
