"""A decoder that byheart compiled, in PyTorch: the distribution of the next token.

    decoder = load(".")                          # the folder of this file
    decoder.distributions([["a", "b"]])          # [{"c": 0.5, "d": 0.5}]

Keep float64: in float32 steep models no longer distinguish all contexts.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

FUNCTIONS = {"logistic": torch.sigmoid, "gelu": nn.functional.gelu, "none": nn.Identity()}


class Decoder(nn.Module):
    """Token numbers [batch, tokens] to logits [batch, vocabulary]."""

    def __init__(self, config):
        super().__init__()
        self.config, d, heads = config, config["dimension"], config["heads"]
        self.embedding = nn.Embedding(config["vocabulary"], d)
        if heads:
            self.positions = nn.Embedding(config["length"], d)
            k, v = heads * config["key_dimension"], heads * config["value_dimension"]
            sizes = {"query": (d, k), "key": (d, k), "value": (d, v), "out": (v, d)}
            self.attention = nn.ModuleDict({n: nn.Linear(*s, bias=False) for n, s in sizes.items()})
        else:
            self.token_sum = nn.ParameterDict({"weight": torch.zeros(config["length"])})
        self.hidden = nn.Linear(d, config["neurons"]) if config["neurons"] else nn.Identity()
        self.output = nn.Linear(config["neurons"] or d, config["vocabulary"], bias=False)
        name = config["activation"]
        self.activation = FUNCTIONS.get(name) or getattr(torch, name)

    def forward(self, tokens):
        if not 1 <= tokens.shape[1] <= self.config["length"]:
            most = self.config["length"]
            raise ValueError(f"this decoder reads 1 to {most} tokens, not {tokens.shape[1]}")
        x, heads = self.embedding(tokens), self.config["heads"]
        if heads:
            x = x + self.positions.weight[: x.shape[1]]
            q, k, v = (self.attention[n](x) for n in ("query", "key", "value"))
            q, k, v = (part.unflatten(2, (heads, -1)) for part in (q, k, v))
            p = torch.einsum("bhd,bthd->bth", q[:, -1], k).softmax(dim=1)  # not divided by sqrt(d)
            g = self.attention["out"](torch.einsum("bth,bthd->bhd", p, v).flatten(1))
            g = g + x[:, -1] if self.config["skip"] else g
        else:
            g = self.token_sum["weight"][: x.shape[1]] @ x
        return self.output(self.activation(self.hidden(g)))

    def numbers(self, context):
        """The numbers of a context's tokens; filled up at the front where the decoder needs it."""
        for token in context:
            if token not in self.config["tokens"]:
                raise ValueError(f"{token!r} is not in the vocabulary")
        found = [self.config["tokens"].index(token) for token in context]
        if not 1 <= len(found) <= self.config["length"]:
            most = self.config["length"]
            raise ValueError(f"this decoder reads 1 to {most} tokens, not {len(found)}")
        padding = self.config["padding"]
        front = [] if padding is None else [padding] * (self.config["length"] - len(found))
        return front + found

    @torch.no_grad()
    def distributions(self, contexts, least=1e-6):
        """The probability of each token to come next that has at least this one."""
        result = []
        for context in contexts:
            p = self(torch.tensor([self.numbers(context)])).softmax(dim=1)[0].tolist()
            pairs = zip(self.config["tokens"], p, strict=True)
            result.append({token: x for token, x in pairs if x >= least})
        return result


def load(folder):
    folder = Path(folder)
    decoder = Decoder(json.loads((folder / "config.json").read_text())).double()
    decoder.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
    return decoder.eval().requires_grad_(False)
