"""Small random checkpoints, and what float32 and float64 make of them in any order of summation."""

from array import array
from fractions import Fraction

import numpy as np

import check_stock


def random_shape(kind: str, seed: int, **changes) -> check_stock.Shape:
    given = dict(
        kind=kind,
        vocabulary=11,
        places=9,
        width=12,
        layers=2,
        heads=2,
        head=6,
        neurons=20,
        activation="silu" if kind == "llama" else ("gelu_new", "gelu")[seed % 2],
        epsilon=Fraction(1e-5),
        theta=Fraction(10000) if kind == "llama" else None,
    )
    return check_stock.Shape(**{**given, **changes})


def random_tensors(shape: check_stock.Shape, seed: int, scale: float = 0.7) -> dict:
    random = np.random.default_rng(seed)
    found = {}
    for name, sides in shape.tensors().items():
        values = random.normal(0, scale, sides)
        if "ln" in name or "norm" in name:
            values = values + (1 if name.endswith("weight") else 0)
        if seed % 3 == 0 and "proj" in name:
            values = values * (random.random(sides) < 0.4)
        found[name] = values.astype(np.float32)
    return found


def stock_of(shape: check_stock.Shape, tensors: dict) -> check_stock.Stock:
    arrays = {name: array("f", values.ravel().tolist()) for name, values in tensors.items()}
    return check_stock.Stock(shape, arrays, {}, [], frozenset(), {}, {})


class Run:
    """One execution in `dtype`. With a generator, every sum is taken in a random order."""

    def __init__(self, shape, tensors, dtype=np.float64, random=None) -> None:
        self.shape, self.dtype, self.random = shape, dtype, random
        prefix = "transformer." if shape.kind == "gpt2" else "model."
        self.t = {k.removeprefix(prefix): v.astype(dtype) for k, v in tensors.items()}

    def order(self, n: int) -> np.ndarray:
        return np.arange(n) if self.random is None else self.random.permutation(n)

    def total(self, x: np.ndarray) -> np.ndarray:
        """The sum over the last axis, one term after another."""
        found = np.zeros(x.shape[:-1], self.dtype)
        for i in self.order(x.shape[-1]):
            found = found + x[..., i]
        return found

    def matvec(self, weight: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.total(weight * x)

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        f, n = self.dtype, self.shape.width
        epsilon, gain = f(float(self.shape.epsilon)), self.t[f"{name}.weight"]
        if self.shape.kind == "llama":
            return x * (f(1) / np.sqrt(self.total(x * x) / f(n) + epsilon)) * gain
        mean = self.total(x) / f(n)
        if self.random is not None and self.random.random() < 0.5:
            variance = self.total(x * x) / f(n) - mean * mean
        else:
            variance = self.total((x - mean) ** 2) / f(n)
        return (x - mean) / np.sqrt(variance + epsilon) * gain + self.t[f"{name}.bias"]

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        if self.shape.kind == "llama":
            return self.matvec(self.t[f"{name}.weight"], x)
        return self.matvec(self.t[f"{name}.weight"].T, x) + self.t[f"{name}.bias"]

    def rotate(self, y: np.ndarray, place: int) -> np.ndarray:
        f, s = self.dtype, self.shape.head
        angles = f(place) * (
            f(1) / f(float(self.shape.theta)) ** (np.arange(0, s, 2).astype(f) / f(s))
        )
        cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
        turned = np.concatenate([-y[s // 2 :], y[: s // 2]])
        return y * cos + turned * sin

    def attention(self, normed: list, block: int) -> list:
        shape, f = self.shape, self.dtype
        lanes, s = shape.heads * shape.head, shape.head
        if shape.kind == "gpt2":
            whole = [self.linear(y, f"h.{block}.attn.c_attn") for y in normed]
            q, k, v = ([w[i * lanes :][:lanes] for w in whole] for i in range(3))
        else:
            where = f"layers.{block}.self_attn."
            q, k, v = ([self.linear(y, f"{where}{p}_proj") for y in normed] for p in "qkv")
        found = []
        for t in range(len(normed)):
            heads = []
            for r in range(shape.heads):
                part = slice(r * s, (r + 1) * s)
                query, keys = q[t][part], [x[part] for x in k[: t + 1]]
                if shape.kind == "llama":
                    query = self.rotate(query, t)
                    keys = [self.rotate(x, place) for place, x in enumerate(keys)]
                scores = np.array([self.total(query * x) for x in keys], f) / f(np.sqrt(s))
                powers = np.exp(scores - scores.max())
                weights = powers / self.total(powers)
                heads.append(self.total(np.array([x[part] for x in v[: t + 1]]).T * weights))
            out = np.concatenate(heads)
            name = f"h.{block}.attn.c_proj" if shape.kind == "gpt2" else f"{where}o_proj"
            found.append(self.linear(out, name))
        return found

    def activation(self, z: np.ndarray) -> np.ndarray:
        f = self.dtype
        if self.shape.activation == "silu":
            return z / (f(1) + np.exp(-z))
        if self.shape.activation == "gelu":
            from scipy.special import erf

            return z * f(0.5) * (f(1) + erf(z * f(np.sqrt(0.5))).astype(f))
        inner = f(np.sqrt(2 / np.pi)) * (z + f(0.044715) * z * z * z)
        return f(0.5) * z * (f(1) + np.tanh(inner))

    def __call__(self, tokens: list[int]) -> tuple[list, np.ndarray]:
        """The streams [block][place], the last one after all blocks, and the logits."""
        gpt2 = self.shape.kind == "gpt2"
        table = self.t["wte.weight" if gpt2 else "embed_tokens.weight"]
        x = [table[a] + (self.t["wpe.weight"][t] if gpt2 else 0) for t, a in enumerate(tokens)]
        streams = [x]
        for i in range(self.shape.layers):
            where = f"h.{i}." if gpt2 else f"layers.{i}."
            names = ("ln_1", "ln_2") if gpt2 else ("input_layernorm", "post_attention_layernorm")
            normed = [self.norm(y, where + names[0]) for y in x]
            x = [y + o for y, o in zip(x, self.attention(normed, i), strict=True)]
            normed = [self.norm(y, where + names[1]) for y in x]
            if gpt2:
                hidden = [self.activation(self.linear(y, where + "mlp.c_fc")) for y in normed]
                out = [self.linear(h, where + "mlp.c_proj") for h in hidden]
            else:
                gates = [self.activation(self.linear(y, where + "mlp.gate_proj")) for y in normed]
                ups = [self.linear(y, where + "mlp.up_proj") for y in normed]
                out = [
                    self.linear(g * u, where + "mlp.down_proj")
                    for g, u in zip(gates, ups, strict=True)
                ]
            x = [y + o for y, o in zip(x, out, strict=True)]
            streams.append(x)
        last = self.norm(x[-1], "ln_f" if gpt2 else "norm")
        return streams, self.matvec(table, last)
