"""A decoder that byheart compiled, for transformers (trust_remote_code=True).

One layer of attention (or a weighted sum of the tokens) with scores that are not divided by
sqrt(d), no norm, and a hidden layer: no architecture of transformers computes this. The logits are
those after the last token, in float64.
"""

import torch
from torch import nn
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

FUNCTIONS = {"logistic": torch.sigmoid, "gelu": nn.functional.gelu, "none": nn.Identity()}


class ByheartConfig(PreTrainedConfig):
    """The sizes of a decoder are in `sizes`: vocabulary, length, dimension, heads, ..."""

    model_type = "byheart"

    def __init__(self, sizes=None, **more):
        self.sizes = dict(sizes or {})
        self.vocab_size = self.sizes.get("vocabulary", 0)
        self.num_hidden_layers = 1
        super().__init__(**more)


class ByheartDecoder(PreTrainedModel, GenerationMixin):
    config_class = ByheartConfig

    def __init__(self, config):
        super().__init__(config)
        shape = config.sizes
        d, heads = shape["dimension"], shape["heads"]
        self.embedding = nn.Embedding(shape["vocabulary"], d)
        if heads:
            self.positions = nn.Embedding(shape["length"], d)
            k, v = heads * shape["key_dimension"], heads * shape["value_dimension"]
            sizes = {"query": (d, k), "key": (d, k), "value": (d, v), "out": (v, d)}
            self.attention = nn.ModuleDict({n: nn.Linear(*s, bias=False) for n, s in sizes.items()})
        else:
            self.token_sum = nn.ParameterDict({"weight": torch.zeros(shape["length"])})
        self.hidden = nn.Linear(d, shape["neurons"]) if shape["neurons"] else nn.Identity()
        self.output = nn.Linear(shape["neurons"] or d, shape["vocabulary"], bias=False)
        name = shape["activation"]
        self.activation = FUNCTIONS.get(name) or getattr(torch, name)
        self.post_init()

    def forward(self, input_ids, **ignored):
        """Logits [batch, 1, vocabulary] after the last token of inputs of one length.

        Only the last `length` tokens are read. A decoder with a padding token reads exactly as many
        and fills up at the front.
        """
        shape = self.config.sizes
        length, heads, padding = shape["length"], shape["heads"], shape.get("padding")
        tokens = input_ids[:, -length:]
        if padding is not None:
            tokens = nn.functional.pad(tokens, (length - tokens.shape[1], 0), value=padding)
        x = self.embedding(tokens)
        if heads:
            x = x + self.positions.weight[: x.shape[1]]
            q, k, v = (self.attention[n](x) for n in ("query", "key", "value"))
            q, k, v = (part.unflatten(2, (heads, -1)) for part in (q, k, v))
            p = torch.einsum("bhd,bthd->bth", q[:, -1], k).softmax(dim=1)
            g = self.attention["out"](torch.einsum("bth,bthd->bhd", p, v).flatten(1))
            g = g + x[:, -1] if shape["skip"] else g
        else:
            g = self.token_sum["weight"][: x.shape[1]] @ x
        return CausalLMOutput(logits=self.output(self.activation(self.hidden(g)))[:, None])

    def prepare_inputs_for_generation(self, input_ids, **ignored):
        return {"input_ids": input_ids}
