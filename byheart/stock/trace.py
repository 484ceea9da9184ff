"""How a stock checkpoint answers one input: what its heads read, and which neurons are on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..claims.answer import Token
from ..claims.kind import Explains
from ..softmax.trace import followed as followed
from .answer import StockModel, numbers
from .forward import attention, embedded, last_logits, mlp, norm, writes

SHOWN = 5  # likeliest tokens


@dataclass(frozen=True, eq=False)
class StockTrace:
    """An answer and where it comes from."""

    tokens: tuple[str, ...]  # as the network reads them
    # those that are on, as (layer, neuron, argument, the token that it writes)
    neurons: tuple[tuple[int, int, float, str | None], ...]
    logits: tuple[tuple[str, float], ...]  # of the likeliest tokens

    def json(self) -> dict:
        names = ("layer", "neuron", "argument", "writes")
        on = [dict(zip(names, neuron, strict=True)) for neuron in self.neurons]
        return {"tokens": list(self.tokens), "neurons": on, "logits": list(map(list, self.logits))}

    def lines(self) -> list[str]:
        found = [f"reads {' '.join(map(repr, self.tokens))}"]
        for layer, neuron, argument, token in self.neurons:
            what = "" if token is None else f", writes {token!r}"
            found.append(f"block {layer}, neuron {neuron} is on (argument {argument:.4g}){what}")
        if not self.neurons:
            found.append("no neuron is on")
        best = ", ".join(f"{token!r} {logit:.4g}" for token, logit in self.logits)
        return [*found, f"logits {best}"]


def trace(model: StockModel, tokens: Sequence[Token], made_by: Explains | None) -> StockTrace:
    network, read = model.network, numbers(model, tokens)
    assert read is not None
    assert model.tokens is not None
    row = np.array([read])
    x = embedded(network, row)
    holders = sorted(model.claim.holders, key=lambda h: max((h.shares or {0: 1.0}).values()))
    held = {x: h.answer for h in holders for x in h.neurons or () if x not in h.decoys}
    on = []
    for layer in range(network.depth):
        block = network.block(layer)
        if writes(block):
            x = x + attention(network, block, x)
        normed = norm(x[0, -1], block.norm2, block.norm2_bias, network.epsilon, network.family.rms)
        arguments = normed @ (block.up if block.gate is None else block.gate)
        if block.up_bias is not None:
            arguments = arguments + block.up_bias
        for neuron in np.flatnonzero(arguments > 0).tolist():
            answer = held.get((layer, neuron))
            token = None if answer is None else str(model.tokens[answer])
            on.append((layer, neuron, float(arguments[neuron]), token))
        x = x + mlp(network, block, x)
    logits = last_logits(network, row)[0]
    best = np.argsort(-logits, kind="stable")[:SHOWN].tolist()
    words = tuple(str(model.tokens[i]) for i in read)
    likely = tuple((str(model.tokens[i]), float(logits[i])) for i in best if i < len(model.tokens))
    return StockTrace(words, tuple(on), likely)
