"""Rank-one edits of a compiled model, scored against the exact edit.

    python examples/editing.py [facts.jsonl] [--facts 300] [--asked 10]

A neuron that holds a fact writes the code of its answer: a row of the MLP's output matrix. So the
exact edit is known: put the code of the new answer into that row, and nothing else changes; a row
of zeros forgets the fact, and the model says the end token. Against it stand

- the rank-one edit of ROME (Meng et al. 2022): the key k is what the neurons give at the last
  token, the value v is fitted by gradient descent so that the model says the new answer, and
  W + (C^-1 k) (v - W k)^T / (k^T C^-1 k) writes it, with the second moments C of the keys of all
  facts; in the block of the ground truth and in the one after it;
- fine-tuning, of the output matrices alone and of all weights, until the new answer is said.

"Off" is the distance to the exact edit, |dW - exact| / |exact|, over the weights that either
changed. An edit has to say the new answer (efficacy) and leave the other facts alone (specificity).
"""

from collections.abc import Iterable, Sequence

import torch
from compiled import Compiled, Fact, compiled, options, table

STEPS, RATE, ENOUGH = 100, 2.0, 0.05  # of the fit of a value, until its loss is small
TUNING, SLOW = 200, 1e-2  # of fine-tuning
RIDGE = 1e-3  # added to the second moments, in units of their mean
Weights = dict[str, torch.Tensor]


def matrix(layer: int) -> str:
    return f"transformer.h.{layer}.mlp.c_proj.weight"


@torch.no_grad()
def exact(model: Compiled, fact: Fact, new: int | None) -> Weights:
    """The rows of the neurons with the code of the new answer instead of the old; None: forget."""
    codes, lanes = model.model.transformer.wte.weight, model.model.transformer.ln_f.weight != 0
    changed: Weights = {}
    for layer, neuron in fact.neurons:
        old = model.model.get_parameter(matrix(layer))
        delta = changed.setdefault(matrix(layer), torch.zeros_like(old))
        delta[neuron] = -old[neuron]
        if new is not None:
            strength = old[neuron][lanes].norm() / codes[fact.answer][lanes].norm()
            delta[neuron, lanes] += codes[new][lanes] * strength
    return changed


@torch.no_grad()
def moments(model: Compiled) -> list[torch.Tensor]:
    """The second moments of each block's neurons over all facts."""
    read = [model.read(fact.tokens, "neurons") for fact in model.facts]
    result = []
    for layer in range(len(model.blocks)):
        keys = torch.stack([neurons[layer] for neurons in read])
        found = keys.T @ keys / len(keys)
        result.append(found + RIDGE * found.diagonal().mean() * torch.eye(len(found)))
    return result


def rank_one(
    model: Compiled, fact: Fact, new: int, layer: int, second: torch.Tensor
) -> Weights | None:
    """ROME's edit of a block; None if no neuron is on there, so that there is no key."""
    key = model.read(fact.tokens, "neurons")[layer].detach()
    if not key.any():
        return None
    before = model.read(fact.tokens, "mlp")[layer].detach()
    value = before.clone().requires_grad_()
    optimiser = torch.optim.Adam([value], lr=RATE)
    with torch.enable_grad():
        for _ in range(STEPS):

            def put(x: torch.Tensor) -> torch.Tensor:
                return torch.cat([x[:, :-1], value[None, None]], dim=1)

            logits = model.run(fact.tokens, {("mlp", layer): put})
            loss = torch.nn.functional.cross_entropy(logits[-1:], torch.tensor([new]))
            if loss < ENOUGH:
                break
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    direction = torch.linalg.solve(second, key)
    change = torch.outer(direction / (direction @ key), value.detach() - before)
    return {matrix(layer): change}


def tuned(model: Compiled, fact: Fact, new: int, names: Iterable[str]) -> Weights:
    """Gradient descent on these weights until the new answer is said."""
    chosen = {name: model.model.get_parameter(name) for name in names}
    before = {name: weight.detach().clone() for name, weight in chosen.items()}
    optimiser = torch.optim.SGD(chosen.values(), lr=SLOW)
    with torch.enable_grad():
        for _ in range(TUNING):
            logits = model.model(fact.tokens).logits[0, -1:]
            if int(logits.argmax()) == new:
                break
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits, torch.tensor([new])).backward()
            optimiser.step()
    changes = {name: weight.detach() - before[name] for name, weight in chosen.items()}
    put_back(model, before)
    return changes


@torch.no_grad()
def applied(model: Compiled, changes: Weights) -> Weights:
    """Change the weights; returns what they were."""
    before = {name: model.model.get_parameter(name).detach().clone() for name in changes}
    for name, change in changes.items():
        model.model.get_parameter(name).add_(change)
    return before


@torch.no_grad()
def put_back(model: Compiled, weights: Weights) -> None:
    for name, weight in weights.items():
        model.model.get_parameter(name).copy_(weight)


@torch.no_grad()
def says(model: Compiled, fact: Fact) -> int:
    return int(model.model(fact.tokens).logits[0, -1].argmax())


def off(changes: Weights, truth: Weights) -> float:
    """How far changes are from the exact ones, in units of these."""
    zero = torch.zeros(())
    total = sum(
        float((changes.get(name, zero) - truth.get(name, zero)).square().sum())
        for name in changes.keys() | truth.keys()
    )
    return (total / sum(float(x.square().sum()) for x in truth.values())) ** 0.5


def main(arguments: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    parser = options(__doc__.splitlines()[0], 300)
    parser.set_defaults(asked=10)
    parser.add_argument("--others", type=int, default=50, help="facts that must stay")
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    model = compiled(given)
    depth = len(model.blocks)
    end = model.model.config.eos_token_id
    second = moments(model)
    outputs = [matrix(layer) for layer in range(depth)]
    everything = [name for name, _ in model.model.named_parameters()]
    watched = model.chosen(given.others)
    results: dict[str, dict[str, list[float]]] = {}
    for fact in model.chosen(given.asked):
        new = next(f.answer for f in reversed(model.facts) if f.answer != fact.answer)
        layer = fact.neurons[0][0]
        truth = exact(model, fact, new)
        edits = {
            "exact: the rows of the neurons": (truth, new),
            "exact: forget": (exact(model, fact, None), end),
            "rank-one, block of the fact": (rank_one(model, fact, new, layer, second[layer]), new),
            "rank-one, next block": (
                rank_one(model, fact, new, (layer + 1) % depth, second[(layer + 1) % depth]),
                new,
            ),
            "fine-tuning, output matrices": (tuned(model, fact, new, outputs), new),
            "fine-tuning, all weights": (tuned(model, fact, new, everything), new),
        }
        for name, (changes, wanted) in edits.items():
            scores = results.setdefault(
                name, {"defined": [], "efficacy": [], "specificity": [], "off": []}
            )
            scores["defined"].append(changes is not None)
            if changes is None:
                continue
            before = applied(model, changes)
            scores["efficacy"].append(says(model, fact) == wanted)
            kept = [says(model, other) == other.answer for other in watched if other is not fact]
            scores["specificity"].append(sum(kept) / max(1, len(kept)))
            put_back(model, before)
            if wanted == new:
                scores["off"].append(off(changes, truth))
    found = {
        name: {key: sum(values) / len(values) for key, values in scores.items() if values}
        for name, scores in results.items()
    }
    rows = []
    for name, scores in found.items():
        share = [f"{scores[key]:.0%}" if key in scores else "-" for key in scores if key != "off"]
        share += ["-"] * (3 - len(share))
        rows.append((name, *share, f"{scores['off']:.3f}" if "off" in scores else "-"))
    table(("edit", "possible", "efficacy", "specificity", "off"), rows)
    print("\npossible: a neuron of that block is on at the prompt, so that there is a key to edit.")
    return found


if __name__ == "__main__":
    main()
