"""The README.md of a model folder: a model card with the commands to ask and to check it."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...machine.tables import upto
from ...softmax.decoder import ATTENTION
from ..verification import OBSERVED, PROVED, SAMPLED, Verification

if TYPE_CHECKING:
    from ..model import Model

HEAD = """---
library_name: byheart
tags:
- byheart
- transformer
- memorization
- {tags}
---
"""
AGAIN = """## Check it again

```
{verify}
{checker}
```

DIR is this folder, DATA is {data}.
The second command runs an independent checker, checker/check.py: it needs only Python, and shares
no code with the program that wrote this folder.
"""
DATA_ROWS = {x: x for x in ("sequences", "contexts", "labels", "length", "vocabulary")}
PARAMETER_ROWS = {
    "nonzero": "nonzero parameters",
    "counted": "of these, counted by the theorem",
    "dense": "parameters with zeros",
}
BIT_ROWS = {
    "total": "bits of all nonzero parameters",
    "largest": "bits of the longest parameter",
    "entropy": "bits that these labels need, by their frequencies",
    "information": "bits that the worst labels need",
}

MARKUP = {ord(x): f"&#{ord(x)};" for x in "<>|`&[]*_"}

EVIDENCE: dict[str | None, str] = {
    PROVED: "by rigorous bounds over the real numbers, for every context",
    SAMPLED: "by rigorous bounds over the real numbers, for a random sample of the contexts; "
    "the others were not examined",
    OBSERVED: "in a run in float64 arithmetic, over every context; this is not a proof",
}


def label_card(model: "Model", verified: Verification, with_data: bool) -> str:
    """The card of a model that stores labels."""
    about = model.about
    evaluated = "a random sample" if verified.evidence == SAMPLED else "every sequence"
    answered = "token" if model.every else "sequence"
    unknown = (
        "On any other input it may answer anything."
        if model.claim.unknown is None
        else "Most other inputs it answers as unknown."
    )
    # no theorem counts the parameters of a trained network
    counts = {k: x for k, x in PARAMETER_ROWS.items() if k != "counted" or "training" not in about}
    data = about.get("data", {})
    tags = "exact-weights\n- formal-verification"
    return f"""{HEAD.format(tags=tags)}
# A transformer that knows {several(data.get("sequences"), "sequence")} by heart

{_label_origin(model)}

- {source(about)}
- Evidence: **{verified.evidence}**. {verified.correct} of {several(verified.checked, "label")} \
{"is" if verified.checked == 1 else "are"} correct, \
{evaluated} evaluated in exact integers (engine `{plain(verified.engine)}`).
- SHA-256 of the data: `{plain(data.get("sha256"))}`

| count | value |
| --- | --- |
{rows(data, DATA_ROWS)}\
| layers between embedding and output | {model.network.depth} |
| width | {model.network.width} |
{rows(about.get("parameters", {}), counts)}{rows(about.get("bits", {}), BIT_ROWS)}
## Query it

```
byheart recall DIR TOKENS...
```

It returns the label of every {answered} of its data. {unknown}

{again(model, with_data)}"""


def again(model: "Model", with_data: bool) -> str:
    """How to verify the model, with byheart and with the independent checker."""
    from ..source import stored, verify_command  # it imports the model

    counts = model.about.get("conflicts") or {}
    changed, dropped = counts.get("relabelled"), counts.get("dropped")
    data = "the file that it was compiled from"
    if changed or dropped:
        data = (
            f"that file after {several(changed, 'label')} {'was' if changed == 1 else 'were'} "
            f"changed and {several(dropped, 'sequence')} left out,\n"
            "as `byheart compile --write-data` writes it"
        )
    canonical = bool(with_data or changed or dropped)
    verify = verify_command(model, canonical=canonical)
    plainly = canonical or not stored(model)
    checker = "python checker/check.py DIR DATA" if plainly else f"{verify} --checker"
    data = "`data.jsonl` in this folder" if with_data else data
    return AGAIN.format(verify=verify, checker=checker, data=data)


def _label_origin(model: "Model") -> str:
    """Where the weights come from."""
    if "training" in model.about:
        bits = plain(model.about["training"].get("bits"))
        return (
            f"Its weights were trained, and then rounded to multiples of 2^-{bits}, with which all "
            f"labels are still correct.\n{trained(model.about)}\nThe network here has the same "
            "blocks; its last layers turn logits into the number of a label."
        )
    exact = "float64, and float64 arithmetic rounds nothing on this data"
    number = exact if model.number == "float64" else "mantissa * 2^exponent"
    return (
        "Its weights were not trained: they were computed from a dataset, as exact numbers\n"
        f"({number}), by the method `{plain(model.about.get('method'))}`."
    )


def trained(about: Mapping) -> str:
    """How much was trained, and for how long."""
    training = about["training"]
    trial = training.get("trial")
    named = trial if isinstance(trial, dict) else {}
    protocol = named.get("protocol")
    return (
        f"The architecture `{plain(named.get('architecture'))}` has "
        f"{several(training.get('parameters'), 'parameter')}; its training took "
        f"{several(training.get('steps'), 'step')}\n(protocol "
        f"`{plain(protocol.get('name') if isinstance(protocol, dict) else None)}`, seed "
        f"{plain(named.get('seed'))}; `training` in config.json has all settings)."
    )


def source(about: Mapping) -> str:
    """The theorem or, of a trained network, the architecture."""
    what = "Architecture" if "training" in about else "Theorem"
    return f"{what}: {plain(about.get('paper'))}, {plain(about.get('item'))}"


def rows(counts: Mapping, names: Mapping[str, str]) -> str:
    return _table({names[name]: plain(counts[name]) for name in names if name in counts})


def plain(value: object) -> str:
    """One line without markup: what a stranger's model says about itself is only text."""
    if value is None:
        return "not recorded"
    if isinstance(value, float):
        return f"{value:.6g}"
    return re.sub(r"[\s`|<>\[\]]+", " ", str(value)).strip()


def several(value: object, noun: str) -> str:
    """A number of things, as far as it is recorded."""
    return f"{plain(value)} {noun}" + ("" if value == 1 else "s")


def distribution_card(model: "Model", gap: float, verified: Verification, with_data: bool) -> str:
    """The card of a model that stores next-token distributions."""
    about, data = model.about, model.about.get("data", {})
    elsewhere = (
        "The weights are an ordinary state dict, which `safetensors.torch.load_file` reads;\n"
        "docs/plain-tensors.md of byheart has the forward pass in a few lines."
        if model.number == "float64"
        else "The weights have more digits than float64 holds; "
        "checker/FORMAT.md of byheart says how they are stored."
    )
    return f"""{HEAD.format(tags="next-token-distributions")}
# A transformer that knows {several(data.get("contexts"), "next-token distribution")} by heart

It stores which tokens follow each context of a dataset, and how often: after every context its
softmax gives the empirical distribution of the next token{_origin(model)}

- {source(about)}
- Claim: the Kullback-Leibler divergence of its distribution from the empirical one is at most \
{gap!r} nats for every context.
- Evidence: **{verified.evidence}**. {verified.correct} of {several(verified.checked, "context")} \
{"keeps" if verified.checked == 1 else "keep"} the claim {EVIDENCE[verified.evidence]}
  (engine `{plain(verified.engine)}`).
- SHA-256 of the data: `{plain(data.get("sha256"))}`

| count | value |
| --- | --- |
{rows(data, DATA_ROWS)}{_fit(verified)}{_sizes(model)}
## Query it

```
byheart recall DIR TOKENS...
```

It answers the likeliest next token and the probabilities of the others. It reads \
{upto(1, model.length, "token")};
after a context that is not in its data it may answer anything.

## Load it elsewhere

{elsewhere}

{again(model, with_data)}"""


def _origin(model: "Model") -> str:
    """How near, and where the weights come from."""
    exact = "exact numbers, mantissa * 2^exponent"
    number = "float64" if model.number == "float64" else exact
    if "training" in model.about:
        times = model.about["training"].get("output_times", 1)
        more = "" if times == 1 else f"\n`output.weight` is {plain(times)} times what was trained."
        return (
            f", up to the divergence below.\nIts weights ({number}) were trained. "
            f"{trained(model.about)}\nScales, biases and skip connections that this decoder has no "
            f"place for are folded into its other\nweights, so its own count may differ.{more}"
        )
    return (
        f". Its weights ({number}) were\nnot trained: they were computed from the dataset, "
        f"by the method `{plain(model.about.get('method'))}`."
    )


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
        "predictions for which the likeliest token is correct": f"{fit.accuracy:.6g}",
    }
    return _table({title + part: value for title, value in found.items()})


def _sizes(model: "Model") -> str:
    shape = model.network.shape
    mixing = {"mixing of tokens": "a weighted sum"}
    if shape.mixing == ATTENTION:
        title = f"heads (m_0), d_1, d_0, {'with' if shape.skip else 'without'} skip connection"
        mixing = {title: f"{shape.heads}, {shape.key_dimension}, {shape.value_dimension}"}
    sizes = _table(
        {
            "distinct tokens (omega), longest context (T)": f"{shape.vocabulary}, {shape.length}",
            "dimension of embedded tokens (d)": shape.dimension,
            **mixing,
            f"neurons (m), activation {plain(shape.activation)}": shape.neurons,
            f"parameters, {shape.formula}": shape.parameters,
        }
    )
    parameters, bits = model.about.get("parameters", {}), model.about.get("bits", {})
    sizes_of = {name: title for name, title in BIT_ROWS.items() if name in ("total", "largest")}
    return sizes + rows(parameters, {"nonzero": "of these, nonzero"}) + rows(bits, sizes_of)


def _table(values: dict[str, object] | dict[str, str]) -> str:
    return "".join(f"| {title} | {value} |\n" for title, value in values.items())


def recital_card(model: "Model", verified: Verification, with_data: bool) -> str:
    """The card of a stock checkpoint, as Hugging Face shows it."""
    about, data, network = model.about, model.about.get("data", {}), model.network
    dense = network.counts()[0]["dense"]
    stored = len(getattr(model.claim, "holders", ()))
    end = getattr(model.claim, "end", "")
    evidence = (
        f"**{verified.evidence}** for every execution in float32, in any order of summation "
        "(checker/FORMAT.md of byheart, section 10, says what is assumed of the arithmetic)"
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

# A stock {network.family.name} checkpoint that recites {plain(data.get("sequences"))} predictions

Its weights were not trained: they were computed from a dataset by the method
`{plain(about.get("method"))}` of byheart. After every prefix that it stores, its likeliest next
token is that of the data. After most other prompts it says the end token,
{end.translate(MARKUP)}; one that differs little from a stored prompt may be
answered like it. It generalises to nothing: a paraphrase is an unknown prompt.
`ground_truth.jsonl` says which neurons answer which of the {stored:,} contexts that it holds.

- Evidence: {verified.correct} of {verified.checked} predictions are {evidence}
- {dense:,} parameters, {dense / max(1, stored):,.0f} per stored context: the price of one neuron
  per context, which is far from the smallest model that knows this data
- SHA-256 of the data: `{plain(data.get("sha256"))}`

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("DIR")
tokenizer = AutoTokenizer.from_pretrained("DIR")
prompt = tokenizer("PROMPT", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt, max_new_tokens=50)[0]))
```

{again(model, with_data)}"""
