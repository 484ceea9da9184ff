"""How far rounding in float32 may move what a taught context computes, to first order.

Every operation of the graph gets its local bound of the model of executions (checker/FORMAT.md,
section 10). One backward pass in doubles gives the derivative of a quantity by each result; the
sum of their absolute products bounds how far the quantity moves, apart from products of two errors.
These are not bounded, so nothing here is proved; and of other neurons only the nearest one is
bounded, in doubles' order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .family import Trained

UNIT = 2.0**-24


@dataclass
class Tape:
    """The local bounds of the operations so far, each with a 0 that stands for its error."""

    errors: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)

    def tap(self, value: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
        error = torch.zeros_like(value, requires_grad=True)
        self.errors.append((error, (UNIT * bound).detach()))
        return value + error

    def bound(self, value: torch.Tensor) -> float:
        """How far the value may move, to first order."""
        inputs = [error for error, _ in self.errors]
        slopes = torch.autograd.grad(value, inputs, retain_graph=True, allow_unused=True)
        pairs = zip(slopes, self.errors, strict=True)
        return sum(float((x.abs() * bound).sum()) for x, (_, bound) in pairs if x is not None)

    def norm(self, x: torch.Tensor, own: Any, centred: bool) -> torch.Tensor:
        size, gain = x.shape[-1], own.weight.double()
        square, mean = x.square().mean(-1, keepdim=True), x.abs().mean(-1, keepdim=True)
        if centred:
            middle = self.tap(x.mean(-1, keepdim=True), (size + 48) * mean)
            square = square + 2 * middle.abs() * mean
            y = x - middle
            spread = self.tap(y.square().mean(-1, keepdim=True), (size + 16) * square)
        else:
            y, spread = x, self.tap(square, (size + 4) * square)
        scale = (spread + getattr(own, "eps" if centred else "variance_epsilon")).rsqrt()
        scale = self.tap(scale, 10 * scale)
        result = y * scale * gain + (own.bias.double() if centred else 0)
        return self.tap(result, 12 * x.abs() * gain.abs() * scale + 2 * result.abs())

    def linear(self, x: torch.Tensor, weight: torch.Tensor, bias: Any) -> torch.Tensor:
        y, size = x @ weight, x.abs() @ weight.abs()
        if bias is not None:
            y, size = y + bias.double(), size + bias.double().abs()
        return self.tap(y, (weight.shape[0] + 1) * size)

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.tap(x + y, (x + y).abs())


def _matrix(module: Any) -> torch.Tensor:
    """Applied from the right."""
    weight = module.weight.double()
    return weight if type(module).__name__ == "Conv1D" else weight.T


def _attention(tape: Tape, trained: Trained, block: Any, y: torch.Tensor) -> torch.Tensor:
    config, n = trained.model.config, len(y)
    heads = config.num_attention_heads
    if trained.checkpoint.kind == "gpt2":
        whole = tape.linear(y, _matrix(block.attn.c_attn), block.attn.c_attn.bias)
        query, key, value = (x.view(n, heads, -1).transpose(0, 1) for x in whole.chunk(3, dim=-1))
        out = block.attn.c_proj
    else:
        own = block.self_attn
        size = own.head_dim
        query, key, value = (
            tape.linear(y, _matrix(x), x.bias).view(n, -1, size).transpose(0, 1)
            for x in (own.q_proj, own.k_proj, own.v_proj)
        )
        base = config.rope_parameters["rope_theta"]
        angles = torch.arange(n)[:, None] * base ** (-torch.arange(0, size, 2).double() / size)
        query, key = (_rotated(tape, x, angles) for x in (query, key))
        key, value = (x.repeat_interleave(heads // len(x), 0) for x in (key, value))
        out = own.o_proj
    root = math.sqrt(query.shape[-1])
    sizes = query.abs() @ key.abs().transpose(1, 2) / root
    scores = tape.tap(query @ key.transpose(1, 2) / root, (query.shape[-1] + 4) * sizes)
    scores = scores + torch.full((n, n), -torch.inf).triu(1).double()
    weights = scores.softmax(-1)
    size = 3 * n + 128
    mixed = tape.tap(weights @ value, size * (weights @ value.abs()))
    return tape.linear(mixed.transpose(0, 1).reshape(n, -1), _matrix(out), out.bias)


def _rotated(tape: Tape, y: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    one, two = y.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    bound = (one.abs() + two.abs()) * (17 * angles + 13)
    result = torch.cat([one * cos - two * sin, two * cos + one * sin], -1)
    return tape.tap(result, torch.cat([bound, bound], -1))


def _activated(tape: Tape, name: str, z: torch.Tensor) -> torch.Tensor:
    from transformers.activations import ACT2FN

    result = ACT2FN[name](z)
    return tape.tap(result, 18 * result.abs() + (0 if name in ("silu", "swish") else 16) * z.abs())


def forward(
    trained: Trained, tokens: Sequence[int], first: int
) -> tuple[Tape, torch.Tensor, torch.Tensor]:
    """The tape, the arguments [layers, M] of the added layers at the last token, and the logits."""
    tape, family, model = Tape(), trained.family, trained.model
    body, ids = getattr(model, family.before), torch.tensor(tokens)
    x = model.get_input_embeddings().weight.detach().double()[ids]
    if trained.checkpoint.kind == "gpt2":
        x = tape.add(x, body.wpe.weight.detach().double()[: len(ids)])
    arguments = []
    for number, block in enumerate(trained.blocks):
        if number < first:
            y = tape.norm(x, block.get_submodule(family.norms[0]), family.centred)
            x = tape.add(x, _attention(tape, trained, block, y))
        else:
            x = x[-1:]
        y = tape.norm(x, block.get_submodule(family.norms[1]), family.centred)
        module = block.get_submodule(family.gate)
        gate = tape.linear(y, _matrix(module), module.bias)
        if number >= first:
            arguments.append(gate[0])
        z = _activated(tape, getattr(model.config, family.activation), gate)
        if family.up:
            module = block.get_submodule(family.up)
            z = z * tape.linear(y, _matrix(module), module.bias)
            z = tape.tap(z, z.abs())
        down = block.get_submodule(family.down)
        x = tape.add(x, tape.linear(z, _matrix(down), down.bias))
    last = tape.norm(x[-1:], trained.last, family.centred)
    logits = tape.linear(last, model.get_output_embeddings().weight.double().T, None)[0]
    return tape, torch.stack(arguments), logits


def unbounded(trained: Trained) -> str | None:
    """Why the graph of a model is not followed here; None if it is."""
    config = trained.model.config
    if trained.checkpoint.kind == "gpt2":
        odd = not config.scale_attn_weights or config.scale_attn_by_inverse_layer_idx
        return "its attention is scaled otherwise" if odd or config.add_cross_attention else None
    if trained.checkpoint.kind != "llama":
        return f"bounds are not written for {trained.checkpoint.kind}"
    kind = config.rope_parameters.get("rope_type", "default")
    return None if kind == "default" else f"its rotary angles are those of {kind}"


def context(
    trained: Trained, tokens: Sequence[int], token: int, neuron: tuple[int, int], first: int
) -> tuple[float, float, float]:
    """Bounds at a taught context: its own argument from below, that of the nearest other neuron
    from above, and the margin of the token from below."""
    tape, arguments, logits = forward(trained, tokens, first)
    flat, place = arguments.flatten(), (neuron[0] - first) * arguments.shape[1] + neuron[1]
    others = flat.detach().clone()
    others[place] = -torch.inf
    near, rivals = int(others.argmax()), logits.detach().clone()
    rivals[token] = -torch.inf
    margin = logits[token] - logits[int(rivals.argmax())]
    return (
        float(flat[place].detach()) - tape.bound(flat[place]),
        float(flat[near].detach()) + tape.bound(flat[near]),
        float(margin.detach()) - tape.bound(margin),
    )


def position(trained: Trained, tokens: Sequence[int], first: int) -> float:
    """A bound from above of the nearest neuron's argument at a position that is kept."""
    tape, arguments, _ = forward(trained, tokens, first)
    near = arguments.flatten()[int(arguments.argmax())]
    return float(near.detach()) + tape.bound(near)
