"""A stock GPT-2 checkpoint that recites a dataset: one neuron per context.

Paper        none, our own construction; gadgets/key_memory.py has the keys and their theorem.
Statement    For every finite set of texts there is a GPT2LMHeadModel with its default configuration
             (learned positions, LayerNorm, gelu_new, tied embeddings) whose likeliest next token
             after every prefix is the one of the text, and the end token after the last.
Assumptions  A1  Equal prefixes carry equal next tokens.
             A2  Two prefixes with different next tokens differ in their length, in one of the last
                 H tokens, or in how often some token occurs.
             A3  The tokenizer has a token that ends a text.
Guarantee    G1  The logit of the correct token is the largest, for every execution in float32
                 within the error model of checker/FORMAT.md, section 10.
             G2  One neuron per context, and ground truth that says which.
             G3  Where no neuron is on, the answer is the end token. A context whose cosine with
                 every stored one is below 1 - `reach` turns none on, as long as the keys are the
                 contexts themselves; the keys of the tightest few are fitted.
             G4  distributions=True: two answers of one prompt are no conflict (A1). In every such
                 execution the softmax after every context is within `gap` nats (0.01 if none is
                 named) of how often the data goes on with each token, ends of texts included.
Departures   D1  Nothing is compressed: a context takes 2 D + 1 parameters, where hash-fold-retrieve
                 needs less than one.
             D2  Precision: the construction is in real numbers, the weights are rounded to the type
                 of the file, and what is proved is about the rounded weights.
             D3  superposed=M: M neurons, fitted by gradient descent, hold all contexts together
                 (stock/superposed.py). G2 and G3 do not hold then, and G1 where it is proved.
             D4  minimise="dense" is superposed=0 with at most 1,000 tokens, those that the data
                 uses, if no tokenizer is given: most parameters of a small checkpoint are its
                 embedding.
             D5  noise=N: N more neurons in each block are on at every place of every text, so no
                 output of a hidden layer is 0. They write into lanes that no answer is read from.
             D6  distributions=True: G4 takes the place of G1. What a neuron writes is fitted by
                 Newton's method, in doubles (stock/shares.py).
Notation     V vocabulary, D width, H heads, P context length, L layers, M neurons per layer. Lanes
             of the stream: token (a balanced word of +-1), place (waves in three phases), flag
             (place 0), hash (written by attention), out (written by the memory).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..claims.claim import Draws
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Floats
from ..errors import ByheartError
from ..gadgets.key_memory import Memory, memory
from ..gadgets.places import frequencies
from ..gadgets.reed_muller import words
from ..machine.watch import Watch
from ..stock.checkpoint import Checkpoint, rounded, shapes
from .base import Built, option
from .families import gap
from .stock import shares, superposed
from .stock.located import Located, Plan, Shell, sparse

SCORE = 56.0  # the gap of attention scores, in nats: exp(-56) is below the rounding of a sum
FAINT = shares.FAINT  # the token's own code in the out lanes, which tying puts there
HASH = 18  # lanes at least
WINDOW, MEAN = 16.0, 640.0  # squared lengths: of one token's hash, and of n tokens' mean times n
PER_TOKEN = 150.0  # for documents, MEAN is this factor times the length
SMALL = "bpe:1000:used"  # the tokenizer where dense parameters are minimised, if none is given
REACH = 0.03  # of distributions, where no other one is given
SHARED_MEAN = 4.0  # squared length of n tokens' mean times n, in codes, where lanes are shared


@dataclass(frozen=True)
class StockGPT2(Located):
    name = "gpt2"
    advice = f"{Located.advice}, or `distributions=True`, which stores how often each follows"
    z = 16.0
    float32_reach = 0.0003

    activation: str = option("gelu_new", "Activation of the neurons.", choices=("gelu_new", "gelu"))
    minimise: str = option("nonzero", "What to minimise.", choices=("nonzero", "dense"))
    distributions: bool = option(
        False, "Store how often each answer follows its prompt, as probabilities."
    )
    gap: float | None = gap("0.01")
    lanes: int | None = None  # that probabilities are written to; chosen by the plan

    def fitted_width(self, heads: int, code: int, context_length: int) -> int:
        """Each head has two lanes for every wave of the places, and one for the flag."""
        if self.superposed is not None:
            return heads * (9 if context_length <= 128 else 11)
        least = code + (self.lanes or code) + 3 * 4 + 2 + HASH
        least = max(least, heads * (7 if context_length <= 128 else 11))
        return -(-least // heads) * heads

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minimise == "dense":  # few neurons and few rows of the embedding
            object.__setattr__(self, "tokenizer", SMALL)
            if self.superposed is None:
                object.__setattr__(self, "superposed", 0)
        graded = self.copies > 1 or self.decoys or self.noise or self.layers > 1
        graded |= self.blocks is not None
        if self.superposed is not None and (graded or self.activation != "gelu_new"):
            raise ByheartError(
                "`superposed=...` is one block of gelu_new neurons; leave out layers, copies, "
                "blocks, decoys, noise and activation."
            )
        if self.distributions or self.gap is not None:  # which is about distributions
            object.__setattr__(self, "distributions", True)
            object.__setattr__(self, "claim", Draws)
            object.__setattr__(self, "float32_reach", REACH)
            if graded or self.superposed is not None or self.weights != "float32":
                raise ByheartError(
                    "`distributions=True` has one neuron per context, in one block of float32; "
                    "leave out layers, copies, blocks, decoys, noise, superposed and weights."
                )

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        if self.distributions:
            return shares.build(self, dataset, contexts, watch)
        return super().build(dataset, contexts, watch)

    def waves(self, plan: Plan) -> int:
        most = (plan.width // plan.heads - 1) // 2
        length = plan.context_length
        return min(most, 4 if length <= 128 else 5 if length <= 512 else 7)

    def shell(self, plan: Plan, answers: np.ndarray, random: np.random.Generator) -> Shell:
        D, H, code = plan.width, plan.heads, plan.code
        size, waves, shared = D // H, self.waves(plan), self.superposed is not None
        if shared:  # what the embedding, attention and the memory write is in the same lanes
            code = (D - 3 * waves - 2) // 2 * 2
        token, place = slice(0, code), slice(code, code + 3 * waves)
        lanes = self.lanes or code
        flag, out = place.stop, slice(0, code) if shared else slice(D - lanes, D)
        hashed = token if shared else slice(flag + 2, D - lanes)
        faint = 1.0 if shared else FAINT
        config = self.config(plan)
        tensors = {name: np.zeros(shape) for name, shape in shapes(config).items()}

        def get(name: str) -> np.ndarray:
            return tensors[f"transformer.{name}"]

        if shared:
            codes = superposed.codes(plan.vocabulary, code, answers, random)
        else:
            codes = words(plan.vocabulary, code, random)
        written = codes
        if self.distributions:
            written = superposed.codes(plan.vocabulary, lanes, answers, random)
        get("wte.weight")[:, token] = codes
        get("wte.weight")[:, out] = written * faint
        found, gap = frequencies(waves, plan.context_length, H, random)
        angle = np.arange(1, plan.context_length)[:, None, None] * found[:, None]
        phases = np.arange(3) * 2 * math.pi / 3  # three add up to 0, their squares to 3 / 2
        get("wpe.weight")[1:, place] = np.cos(angle + phases).reshape(plan.context_length - 1, -1)
        mark = math.sqrt(0.75 * waves)  # all streams have one length
        get("wpe.weight")[0, [flag, flag + 1]] = mark, -mark
        squares = code if shared else code + lanes * FAINT**2
        deviation = math.sqrt((squares + 1.5 * waves) / D)  # that ln_1 divides by
        scale = 2 * SCORE / gap * math.sqrt(size) * deviation**2
        attend, bias = get("h.0.attn.c_attn.weight"), get("h.0.attn.c_attn.bias")
        project = get("h.0.attn.c_proj.weight")
        for head in range(H):
            q, k, v = head * size, D + head * size, 2 * D + head * size
            attend[token, v : v + size] = sparse(code, size, random) * deviation
            mixed = sparse(size, hashed.stop - hashed.start, random)
            squared = (max(MEAN, PER_TOKEN * plan.long) if head == H - 1 else WINDOW) / code
            if shared:
                squared = SHARED_MEAN if head == H - 1 else 1.0
            project[head * size : (head + 1) * size, hashed] = mixed * math.sqrt(squared)
            if head == H - 1:
                # no query: all places weigh the same, and this head reads their mean; of documents
                # without what all of them have in common
                common = np.zeros(code) if plan.common is None else plan.common @ codes
                bias[v : v + size] = -common @ attend[token, v : v + size] / deviation
                continue
            for f in range(waves):
                c = place.start + 3 * f  # cos is lane c, sin is (lane c + 2 - lane c + 1) / sqrt 3
                turn = found[f] * (head + 1)
                cos, sin = math.cos(turn) * scale, math.sin(turn) * scale
                for lane, x, y in ((c, 1.0, 0.0), (c + 1, 0.0, -(3**-0.5)), (c + 2, 0.0, 3**-0.5)):
                    attend[lane, q + 2 * f : q + 2 * f + 2] = cos * x + sin * y, cos * y - sin * x
                    attend[lane, k + 2 * f : k + 2 * f + 2] = x, y
            bias[q + 2 * waves] = (waves - gap / 2) / mark * scale / deviation
            attend[flag, k + 2 * waves] = 1.0
        for layer in range(plan.layers):
            get(f"h.{layer}.ln_1.weight")[:] = 1.0
            get(f"h.{layer}.ln_2.weight")[:] = 1.0
            if not shared:
                get(f"h.{layer}.ln_2.weight")[out] = 0.0
        gain = self.logit / (math.sqrt(D / code) * code * faint)
        if self.distributions:  # whose last norm depends on what is written
            codes, out = written[:, : -superposed.MARK], slice(out.start, D - superposed.MARK)
        elif shared:
            out = slice(0, code - superposed.MARK)
            get("ln_f.bias")[[code - 2, code - 1]] = self.logit / 2, -self.logit / 2
            codes = codes[:, out]
        else:
            get("ln_f.bias")[out] = codes[plan.end] * gain / 4  # the end, if no neuron is on
        get("ln_f.weight")[out] = gain
        kept = {name: rounded(x, self.weights) for name, x in tensors.items()}
        return Shell(Checkpoint(config, kept, self.weights), codes, out, ())

    def config(self, plan: Plan) -> dict[str, Any]:
        return {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
            "activation_function": self.activation, "vocab_size": plan.vocabulary,
            "n_positions": plan.context_length, "n_embd": plan.width, "n_layer": plan.layers,
            "n_head": plan.heads, "n_inner": plan.hidden, "layer_norm_epsilon": 1e-5,
            "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
            "bos_token_id": plan.end, "eos_token_id": plan.end, "dtype": self.weights,
            "tie_word_embeddings": True,
        }  # fmt: skip

    def remembered(self, plan: Plan, streams: Floats, stored: np.ndarray) -> Memory:
        return memory(streams, stored, self.z, self.chosen_reach, sphere=True)

    def written(
        self, plan: Plan, layer: int, weights: Floats, biases: Floats, outputs: Floats
    ) -> dict[str, np.ndarray]:
        front = f"transformer.h.{layer}.mlp"
        return {
            f"{front}.c_fc.weight": weights.T,
            f"{front}.c_fc.bias": biases,
            f"{front}.c_proj.weight": outputs,
        }
