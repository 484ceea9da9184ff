"""A network that byheart compiled with --method float64, in PyTorch.

    network = load(".")                                 # the folder of this file
    network.answers([["capital", "of", "italy"]])       # ["rome"]

On its data no double is ever rounded, so keep float64: in float32 the answers are wrong.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn


class Network(nn.Module):
    """Vectors [batch, columns, coordinates] to the numbers of their labels, [batch]."""

    def __init__(self, config, tensors):
        super().__init__()
        self.config = config
        self.kinds = config["layers"]
        parts = [{} for _ in self.kinds]
        for name, tensor in tensors.items():
            _, layer, part = name.split(".")
            parts[int(layer)][part] = nn.Parameter(tensor, requires_grad=False)
        self.layers = nn.ModuleList(map(nn.ParameterDict, parts))
        length = config["length"]
        places = [length, *range(length)] if config["extra"] is not None else range(length)
        positions = torch.tensor([*places], dtype=torch.float64)[None, :, None]
        self.register_buffer("positions", positions, persistent=False)

    def forward(self, h):
        if h.dtype != torch.float64 or any(p.dtype != torch.float64 for p in self.parameters()):
            raise ValueError("this network answers in float64 alone")
        if self.config["positions"]:
            h = torch.cat([h, self.positions.expand(h.shape[0], -1, -1)], dim=2)
        for kind, t in zip(self.kinds, self.layers, strict=True):
            if kind == "linear":
                h = h @ t["weight"].T + t["bias"]
            elif kind == "relu":
                h = torch.relu(h @ t["weight"].T + t["bias"])
            elif kind == "feed_forward":
                h = h + torch.relu(h @ t["W1"].T + t["b1"]) @ t["W2"].T + t["b2"]
            else:  # uniform attention
                h = h + h.mean(dim=1, keepdim=True) @ t["W_V"].T @ t["W_O"].T
        return h[:, -1, 0]

    def columns(self, sequences):
        """Sequences of words, numbers or vectors as the input of the network."""
        place = {word: i for i, word in enumerate(self.config["tokens"] or ())}
        rows = []
        for tokens in sequences:
            kind = self.config["kind"]
            if not 1 <= len(tokens) <= self.config["length"]:
                most = self.config["length"]
                raise ValueError(f"this network reads 1 to {most} tokens, not {len(tokens)}")
            if kind == "string" and (unknown := [x for x in tokens if x not in place]):
                raise ValueError(f"{unknown[0]!r} is not in the vocabulary")
            own = [[place[x] + 1] if kind == "string" else [x] if kind == "number" else [*x]
                   for x in tokens]  # fmt: skip
            padding = [self.config["padding"]] * (self.config["length"] - len(own))
            extra = [] if self.config["extra"] is None else [self.config["extra"]]
            rows.append([*extra, *padding, *own])
        return torch.tensor(rows, dtype=torch.float64)

    def answers(self, sequences):
        """The label of each sequence."""
        labels = self.config["labels"]
        return [labels[int(x)] for x in self(self.columns(sequences)).tolist()]


def load(folder):
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    return Network(config, load_file(folder / "model.safetensors")).eval()
