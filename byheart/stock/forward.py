"""The forward pass of a stock checkpoint in NumPy: what a float run gives.

Sequences of one length at a time. Blocks whose attention writes nothing are recognised, so that
streams that nothing reads any more are not computed.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import batches
from .checkpoint import Block, Checkpoint

Array = NDArray
BATCH = 1 << 22  # numbers of a hidden layer at once


def norm(x: Array, gain: Array, bias: Array | None, epsilon: float, rms: bool) -> Array:
    centred = x if rms else x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + epsilon)
    result = centred / scale * gain
    return result if bias is None else result + bias


def gelu_new(z: Array) -> Array:
    return 0.5 * z * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z * z * z)))


def gelu(z: Array) -> Array:
    from scipy.special import erf  # slow to import

    return 0.5 * z * (1.0 + erf(z / math.sqrt(2.0)))


def silu(z: Array) -> Array:
    return z / (1.0 + np.exp(-np.maximum(z, -80.0)))  # below, it is 0 in any type


ACTIVATIONS = {"gelu_new": gelu_new, "gelu": gelu, "silu": silu}


def activation_of(network: Checkpoint) -> str:
    key = "hidden_act" if network.family.rms else "activation_function"
    return network.config[key]


def angles(network: Checkpoint, places: int) -> Array:
    """The rotation of each place and wave, [places, size / 2]."""
    half = network.head_size // 2
    return np.arange(places)[:, None] * network.rotary_base ** -(np.arange(half) / half)


def rotated(y: Array, angle: Array) -> Array:
    """Lanes f and f + s / 2 of heads [..., n, H, s], turned by the angle of their place."""
    half = y.shape[-1] // 2
    a, b = y[..., :half], y[..., half:]
    cos, sin = (f(angle)[:, None, :].astype(y.dtype) for f in (np.cos, np.sin))
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(network: Checkpoint, block: Block, x: Array) -> Array:
    """What the attention of a block adds to every stream, [B, n, D]."""
    heads, size = network.size("heads"), network.head_size
    count, length, _ = x.shape
    normed = norm(x, block.norm1, block.norm1_bias, network.epsilon, network.family.rms)
    weights = np.concatenate([block.query, block.key, block.value], axis=1).astype(x.dtype)
    maps = normed @ weights
    if block.attention_bias is not None:
        maps = maps + block.attention_bias.astype(x.dtype)
    query, key, value = maps.reshape(count, length, 3, heads, size).swapaxes(0, 2).swapaxes(1, 2)
    if network.family.rms:
        angle = angles(network, length)
        query, key = rotated(query, angle), rotated(key, angle)
    scores = np.einsum("bthd,bshd->bhts", query, key) / x.dtype.type(math.sqrt(size))
    scores[..., np.triu(np.ones((length, length), bool), 1)] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    weight = np.exp(scores)
    weight /= weight.sum(axis=-1, keepdims=True)
    read = np.einsum("bhts,bshd->bthd", weight, value).reshape(count, length, heads * size)
    added = read @ block.out.astype(x.dtype)
    return added if block.out_bias is None else added + block.out_bias.astype(x.dtype)


def mlp(network: Checkpoint, block: Block, x: Array) -> Array:
    """What the MLP of a block adds to streams [..., D]."""
    act, kind = ACTIVATIONS[activation_of(network)], x.dtype
    normed = norm(x, block.norm2, block.norm2_bias, network.epsilon, network.family.rms)
    up = normed @ block.up.astype(kind)
    if block.gate is not None:
        return (act(normed @ block.gate.astype(kind)) * up) @ block.down.astype(kind)
    assert block.up_bias is not None
    assert block.down_bias is not None
    hidden = act(up + block.up_bias.astype(kind))
    return hidden @ block.down.astype(kind) + block.down_bias.astype(kind)


def writes(block: Block) -> bool:
    """Whether the attention of a block adds anything to the stream."""
    return bool(block.out.any()) or (block.out_bias is not None and bool(block.out_bias.any()))


def embedded(network: Checkpoint, tokens: Array, kind: type = np.float64) -> Array:
    """The streams before the first block, [B, n, D]."""
    x = network.embedding[tokens]
    if network.places is not None:
        x = x + network.places[: tokens.shape[1]]
    return x.astype(kind)


def last_logits(network: Checkpoint, tokens: Array, kind: type = np.float64) -> Array:
    """The logits after the last token of sequences of one length, [B, V]."""
    blocks = [network.block(i) for i in range(network.depth)]
    reading = [i for i, block in enumerate(blocks) if writes(block)]
    x = embedded(network, tokens, kind)
    for i, block in enumerate(blocks):
        if i in reading:
            x = x + attention(network, block, x)
        if x.ndim == 3 and not any(j > i for j in reading):
            x = x[:, -1]  # no later block reads another place
        x = x + mlp(network, block, x)
    x = x[:, -1] if x.ndim == 3 else x
    gain, bias = network.final
    normed = norm(x, gain, bias, network.epsilon, network.family.rms)
    return normed @ network.embedding.T.astype(kind)


def answers(
    network: Checkpoint, sequences: Sequence[Any], kind: type = np.float64
) -> NDArray[np.int64]:
    """The likeliest next token after each sequence."""
    likeliest = np.empty(len(sequences), np.int64)
    wide = max(network.size("hidden"), network.size("vocabulary"))
    for part in batches(sequences, lambda length: wide + length * network.width * 4, BATCH):
        tokens = np.array([sequences[i] for i in part])
        likeliest[part] = last_logits(network, tokens, kind).argmax(axis=1)
    return likeliest
