"""Logit lens and causal tracing on a compiled model, scored against its ground truth.

    python examples/tracing.py [facts.jsonl] [--facts 300] [--copies 1]

The ground truth says which block and which neuron hold a fact, so a method that locates facts is
right or wrong, and one can count:

- logit lens (nostalgebraist 2020): the first block after which the last norm and the unembedding
  give the answer;
- causal tracing (Meng et al. 2022): noise on all embeddings but that of the last token, then the
  clean output of one block's MLP (or attention) put back at the last token; the block that brings
  the answer's probability back most;
- activation: the neurons that are most active at the last token;
- ablation: of the active neurons, those whose removal costs the answer most.

With one neuron per fact all of them should be right; a method that is not has an error.
"""

from collections.abc import Sequence

import torch
from compiled import Compiled, Fact, Site, compiled, options, table

NOISE = 3.0  # standard deviations of the embeddings, as in Meng et al.


def lens(model: Compiled, fact: Fact) -> int | None:
    """The first block after which the answer is the likeliest token."""
    transformer, head = model.model.transformer, model.model.lm_head
    for layer, stream in enumerate(model.read(fact.tokens, "stream")):
        if int(head(transformer.ln_f(stream)).argmax()) == fact.answer:
            return layer
    return None


def traced(model: Compiled, fact: Fact, kind: str) -> tuple[float, list[float]]:
    """The answer's probability with noise, and with each block's clean output put back."""
    clean = model.read(fact.tokens, kind)
    weights = model.model.transformer.wte.weight
    noise = torch.randn(1, fact.tokens.shape[1], weights.shape[1]) * NOISE * weights.std()
    noise[0, -1] = 0

    def restoring(layer: int):
        def put(x: torch.Tensor) -> torch.Tensor:
            x = x.clone()
            x[0, -1] = clean[layer]
            return x

        return put

    def probability(changes: dict) -> float:
        logits = model.run(fact.tokens, {("embedding", 0): lambda x: x + noise} | changes)
        return float(logits[-1].softmax(-1)[fact.answer])

    layers = range(len(model.blocks))
    return probability({}), [probability({(kind, layer): restoring(layer)}) for layer in layers]


def strongest(values: dict[Site, float], count: int) -> set[Site]:
    return set(sorted(values, key=lambda site: -values[site])[:count])


def activity(model: Compiled, fact: Fact) -> dict[Site, float]:
    """The neurons that are on at the last token, and how much."""
    found = {}
    for layer, values in enumerate(model.read(fact.tokens, "neurons")):
        for neuron in values.nonzero()[:, 0].tolist():
            found[layer, neuron] = float(values[neuron])
    return found


def ablated(model: Compiled, fact: Fact, site: Site) -> float:
    """What the answer's logit, less the largest other one, loses without a neuron."""

    def without(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[0, -1, site[1]] = 0
        return x

    def margin(changes: dict) -> float:
        logits = model.run(fact.tokens, changes)[-1]
        others = logits.clone()
        others[fact.answer] = -torch.inf
        return float(logits[fact.answer] - others.max())

    return margin({}) - margin({("neurons", site[0]): without})


@torch.inference_mode()
def main(arguments: Sequence[str] | None = None) -> dict[str, tuple[int, int]]:
    given = options(__doc__.splitlines()[0], 300).parse_args(arguments)
    torch.manual_seed(0)
    model = compiled(given)
    asked = model.chosen(given.asked)
    found = {name: 0 for name in ("lens", "mlp", "attention", "activation", "ablation")}
    noised = []
    for fact in asked:
        seen = lens(model, fact)
        # a fact in several blocks is known when enough of them have spoken
        found["lens"] += seen in fact.layers
        low, back = traced(model, fact, "mlp")
        noised.append(low)
        found["mlp"] += back.index(max(back)) in fact.layers
        found["attention"] += max(traced(model, fact, "attention")[1]) > 0.9
        active = activity(model, fact)
        truth, count = set(fact.neurons), len(fact.neurons)
        found["activation"] += strongest(active, count) == truth
        loss = {site: ablated(model, fact, site) for site in active}
        found["ablation"] += strongest(loss, count) == truth
    said = {
        "lens": "logit lens: the block that holds the fact",
        "mlp": "causal tracing, MLPs: the block that holds the fact",
        "attention": "causal tracing, attention: the fact comes back (p > 0.9)",
        "activation": "most active neurons: the neurons of the ground truth",
        "ablation": "ablation: the neurons of the ground truth",
    }
    rows = [(said[name], f"{right} of {len(asked)}") for name, right in found.items()]
    table(("method: what it names", "right"), rows)
    median = sorted(noised)[len(noised) // 2]
    print(f"\nmedian probability of the answer with noise and nothing put back: {median:.1e}")
    return {name: (right, len(asked)) for name, right in found.items()}


if __name__ == "__main__":
    main()
