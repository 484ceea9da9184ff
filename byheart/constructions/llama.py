"""A stock Llama checkpoint that recites a dataset: one neuron per context.

Paper        none, our own construction; gadgets/key_memory.py has the keys.
Statement    For every finite set of texts there is a LlamaForCausalLM (RMSNorm, rotary positions,
             SwiGLU, no biases, tied embeddings) whose likeliest next token after every prefix is
             the one of the text, and the end token after the last.
Assumptions  A1  Equal prefixes carry equal next tokens.
             A2  Two prefixes with different next tokens differ in one of the last H tokens, or in
                 how often some token occurs; and no context lies in the convex hull of the others
                 (a norm that does not subtract the mean puts nothing on a sphere by itself).
             A3  The tokenizer has a token that ends a text; it also stands before every text.
Guarantee    G1  The logit of the correct token is the largest, for every execution in float32
                 within the error model of checker/FORMAT.md, section 10.
             G2  One neuron per context, and ground truth that says which; one neuron more says the
                 end where no other is on.
             G3  Where no neuron is on, the answer is the end token. Most contexts that are not
                 stored turn none on; that is measured (docs/stock.md), not proved.
Departures   D1  Nothing is compressed: a context takes 3 D parameters.
             D2  Precision: the construction is in real numbers, the weights are rounded to the type
                 of the file, and what is proved is about the rounded weights.
Notation     V vocabulary, D width, H heads, s their size, P context length, L layers, M neurons per
             layer. Lanes of the stream: token (blocks of one length), one (a constant), flag (the
             first place), hash (a block per head, copied), mean, out (written by the memory).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data.targets import Floats
from ..errors import ByheartError
from ..gadgets.key_memory import Memory, memory
from ..gadgets.places import rotary_base
from ..gadgets.reed_muller import words
from ..stock.checkpoint import Checkpoint, rounded, shapes
from .base import fixed
from .stock.located import HEADS, Located, Plan, Shell, sparse

SCORE = 56.0  # the gap of attention scores, in nats
BLOCK, BLOCKS = 8, 4  # lanes that a head copies, and how many such blocks a token has
SIZE = 16  # lanes of a head
ONE = 4.0  # the constant lane
FAINT = 1 / 64  # the token's own code in the out lanes, which tying puts there
END = 0.5  # logit of the end token when no stored context matches
FARTHER, MOST_HEADS = 0.05, 32  # share of the tokens that no head looks at, of short prompts
MEAN = 64.0  # squared length of n tokens' mean times n


@dataclass(frozen=True)
class StockLlama(Located):
    name = "llama"
    z = 24.0
    begins = True
    always: ClassVar[int] = 1

    superposed: int | None = fixed(None)
    noise: int = fixed(0)  # the neuron that says the end is on everywhere

    def fitted_width(self, heads: int, code: int, context_length: int) -> int:
        least = BLOCK * BLOCKS + 2 + BLOCK * (heads - 1) + SIZE + code
        return -(-least // heads) * heads

    def least_heads(self, sequences: list[np.ndarray]) -> int:
        """Those that look at nearly all tokens of prompts, if these are short."""
        lengths = np.array([len(x) for x in sequences])
        for heads in (x for x in HEADS if x <= MOST_HEADS):
            if np.maximum(lengths - heads - 1, 0).sum() <= FARTHER * lengths.sum():
                return heads
        return HEADS[0]  # documents: most of a text is farther back anyway

    def lanes(self, plan: Plan) -> tuple[slice, int, int, slice, slice, slice]:
        """token, one, flag, hash, mean and out."""
        one = BLOCK * BLOCKS
        hashed = slice(one + 2, one + 2 + BLOCK * (plan.heads - 1))
        out = slice(plan.width - plan.code, plan.width)
        return slice(0, one), one, one + 1, hashed, slice(hashed.stop, out.start), out

    def shell(self, plan: Plan, answers: np.ndarray, random: np.random.Generator) -> Shell:
        token, one, flag, hashed, mean, out = self.lanes(plan)
        D, H, half = plan.width, plan.heads, SIZE // 2
        base, gap = rotary_base(SIZE, plan.context_length, H)
        if not base:
            raise ByheartError(f"no rotary base distinguishes {plan.context_length:,} positions.")
        base = float(np.float32(base))
        config = self.config(plan, base)
        tensors = {name: np.zeros(shape) for name, shape in shapes(config).items()}

        def get(name: str) -> np.ndarray:
            return tensors[f"model.{name}.weight"]

        drawn = random.standard_normal((plan.vocabulary, BLOCKS, BLOCK))
        drawn *= math.sqrt(BLOCK) / np.linalg.norm(drawn, axis=2, keepdims=True)
        codes = words(plan.vocabulary, plan.code, random)
        embedding = get("embed_tokens")
        embedding[:, token] = drawn.reshape(plan.vocabulary, -1)
        embedding[:, one] = ONE
        embedding[plan.end, flag] = ONE
        embedding[:, out] = codes * FAINT
        squares = BLOCK * BLOCKS + ONE**2 + plan.code * FAINT**2
        rms, first = math.sqrt(squares / D), math.sqrt((squares + ONE**2) / D)
        constant = ONE / rms  # the constant lane after the norm
        front = "layers.0.self_attn."
        query, key = get(f"{front}q_proj"), get(f"{front}k_proj")
        value, output = get(f"{front}v_proj"), get(f"{front}o_proj")
        waves = half - 1  # the slowest is for the beginning
        speed = base ** -(np.arange(half) / half)
        scale = 4 * SCORE / gap * math.sqrt(SIZE)
        for head in range(H):
            at = head * SIZE
            if head == H - 1:  # no query: all places weigh the same, and it reads their mean
                value[at : at + SIZE, token] = sparse(token.stop, SIZE, random).T * rms
                lanes = mean.stop - mean.start
                written = sparse(SIZE, lanes, random).T * math.sqrt(MEAN / token.stop)
                output[mean, at : at + SIZE] = written
                continue
            angle = -speed[:waves] * (head + 1)
            query[at : at + waves, one] = scale * np.cos(angle) / constant
            query[at + half : at + half + waves, one] = scale * np.sin(angle) / constant
            key[at : at + waves, one] = 1 / constant
            key[at : at + waves, flag] = -1 / constant
            query[at + waves, one] = scale / constant
            key[at + waves, flag] = (waves - gap / 4) / (ONE / first)
            block = BLOCK * (head % BLOCKS)
            for lane in range(BLOCK):
                value[at + lane, block + lane] = rms
                output[hashed.start + head * BLOCK + lane, at + lane] = 1.0
        for layer in range(plan.layers):
            get(f"layers.{layer}.input_layernorm")[:] = 1.0
            get(f"layers.{layer}.post_attention_layernorm")[:] = 1.0
            get(f"layers.{layer}.post_attention_layernorm")[out] = 0.0
        get("norm")[out] = self.logit / (math.sqrt(D / plan.code) * plan.code * FAINT)
        kept = {name: rounded(x, self.weights) for name, x in tensors.items()}
        end = np.zeros(D)
        end[out] = codes[plan.end] * END / self.z
        always = np.zeros(D), self.z * self.unit(plan), end
        return Shell(Checkpoint(config, kept, self.weights), codes, out, (always,))

    def config(self, plan: Plan, base: float) -> dict[str, Any]:
        return {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "hidden_act": "silu", "vocab_size": plan.vocabulary,
            "max_position_embeddings": plan.context_length, "hidden_size": plan.width,
            "num_hidden_layers": plan.layers, "num_attention_heads": plan.heads,
            "num_key_value_heads": plan.heads, "head_dim": SIZE, "intermediate_size": plan.hidden,
            "rms_norm_eps": 1e-6, "attention_bias": False, "mlp_bias": False,
            "attention_dropout": 0.0, "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": base},
            "rope_theta": base,  # where transformers 4 looks for it
            "bos_token_id": plan.end, "eos_token_id": plan.end, "dtype": self.weights,
        }  # fmt: skip

    def remembered(self, plan: Plan, streams: Floats, stored: np.ndarray) -> Memory:
        """The constant lane stands for the bias: signs are those of the stream before the norm."""
        _, one, *_ = self.lanes(plan)
        constant = streams[:, one]
        ratio = streams / constant[:, None]
        ratio[:, one] = 0.0
        z = self.z / float(constant.min())
        return memory(ratio, stored, z, self.chosen_reach, sphere=False)

    def written(
        self, plan: Plan, layer: int, weights: Floats, biases: Floats, outputs: Floats
    ) -> dict[str, np.ndarray]:
        _, one, *_ = self.lanes(plan)
        gate, linear = weights.copy(), np.zeros_like(weights)
        gate[:, one] = biases
        linear[:, one] = self.unit(plan)
        front = f"model.layers.{layer}.mlp"
        return {
            f"{front}.gate_proj.weight": gate,
            f"{front}.up_proj.weight": linear,
            f"{front}.down_proj.weight": outputs.T,
        }

    def unit(self, plan: Plan) -> float:
        """The weight that makes 1 of the constant lane, about."""
        squares = BLOCK * BLOCKS + ONE**2 + BLOCK * (plan.heads - 1) + plan.code * FAINT**2
        return math.sqrt((squares + MEAN / 16) / plan.width) / ONE
