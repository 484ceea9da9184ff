"""A decoder that byheart compiled, for transformers (trust_remote_code=True).

One layer of attention (or a weighted sum of the tokens) with scores that are not divided by
sqrt(d), no norm, and a hidden layer: no architecture of transformers computes this. Keep float64:
in float32, and more so in 16 bits, steep models no longer distinguish all contexts.
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

    def forward(
        self,
        input_ids,
        attention_mask=None,
        labels=None,
        logits_to_keep=0,
        return_dict=True,
        **more,
    ):
        """Logits [batch, tokens, vocabulary] after each token, or after the last `logits_to_keep`.

        attention_mask  0 where a token is padding, on either side: it is not read, and what is said
                        of its place means nothing
        labels          as for any causal language model: input_ids, with -100 for what is left out
        """
        for name in ("inputs_embeds", "position_ids", "past_key_values"):
            if more.get(name) is not None:
                raise ValueError(f"this decoder does not take {name}")
        shape, total = self.config.sizes, input_ids.shape[1]
        read = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        if read.shape != input_ids.shape:
            raise ValueError("attention_mask is not of the shape of input_ids")
        most = int(read.sum(1).max()) if total else 0
        if not 1 <= most <= (most if shape.get("window") else shape["length"]):
            raise ValueError(f"this decoder reads 1 to {shape['length']} tokens, not {most}")
        keep = total if labels is not None or not logits_to_keep else min(logits_to_keep, total)
        places = range(total - keep, total)
        logits = [self._after(input_ids[:, : t + 1], read[:, : t + 1]) for t in places]
        logits, loss = torch.stack(logits, dim=1), None
        if labels is not None:
            flat = logits[:, :-1].flatten(0, 1)
            loss = nn.functional.cross_entropy(flat, labels[:, 1:].flatten(), ignore_index=-100)
        if not return_dict:
            return (logits,) if loss is None else (loss, logits)
        return CausalLMOutput(loss=loss, logits=logits)

    def _after(self, tokens, read):
        """Logits [batch, vocabulary] after the last token that is read, filled up at the front."""
        shape = self.config.sizes
        length, heads, padding = shape["length"], shape["heads"], shape.get("padding")
        order = read.argsort(dim=1, stable=True)[:, -length:]  # what is read comes last
        tokens, read = tokens.gather(1, order), read.gather(1, order)
        if padding is not None:
            tokens = tokens.where(read > 0, padding)
            tokens = nn.functional.pad(tokens, (length - tokens.shape[1], 0), value=padding)
            read = torch.ones_like(tokens)
        read[:, -1] = 1  # where nothing is read
        place = (read.cumsum(1) - 1).clamp(min=0)
        x = self.embedding(tokens)
        if heads:
            x = x + self.positions(place)
            q, k, v = (self.attention[n](x) for n in ("query", "key", "value"))
            q, k, v = (part.unflatten(2, (heads, -1)) for part in (q, k, v))
            scores = torch.einsum("bhd,bthd->bth", q[:, -1], k)
            p = scores.masked_fill(read[:, :, None] == 0, -torch.inf).softmax(dim=1)
            g = self.attention["out"](torch.einsum("bth,bthd->bhd", p, v).flatten(1))
            g = g + x[:, -1] if shape["skip"] else g
        else:
            weights = self.token_sum["weight"][place] * read
            g = torch.einsum("bt,btd->bd", weights, x)
        return self.output(self.activation(self.hidden(g)))

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **ignored):
        return {"input_ids": input_ids, "attention_mask": attention_mask, "logits_to_keep": 1}
