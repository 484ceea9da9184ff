"""A trained decoder as the Decoder that byheart certifies: parts that it lacks are folded in.

Every folding is an identity over the real numbers, and products of weights are taken in doubles:
the folded decoder is what is certified. With x_t the vectors of the tokens, x_k the last one:

- 1 / sqrt(d) is a factor of the queries.
- A key's bias adds the same to all scores of a context, which leaves the softmax as it is.
- A query's bias is the column of one more coordinate, which is 1 at all positions.
- The weights of attention add up to 1, so the biases of values and of `out` add a constant to the
  input of the neurons (there is no skip connection): it goes into their bias.
- The bias of the logits is one more neuron, which is always on: GELU(16) is 16, except for a share
  of 1e-57.
- Heads that share a map C to their dimension read C e(t) from more coordinates of the embedding, to
  which alone the positions are added; the map back is multiplied into `out`, and the unembedding
  does not see these coordinates.
- GELU(z) - GELU(-z) = z, so a skip connection around the neurons is 2 d more of them.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...architectures import Architecture
from ...architectures.trainable import trainable
from ...softmax.decoder import ATTENTION, Decoder, Shape

Tensors = Mapping[str, NDArray]
Doubles = dict[str, NDArray[np.float64]]
MAPS = ("query", "key", "value", "out")
SHARED = ("compress", "decompress")
READS = tuple(f"attention.{name}.weight" for name in MAPS[:3])
ALWAYS_ON = 16.0  # a power of two: dividing by it rounds nothing


def decoder(architecture: Architecture, tensors: Tensors) -> Decoder:
    """The decoder that computes what this architecture does with its learnt and fixed tensors."""
    # + 0.0 makes 0.0 of -0.0, which the format has no place for
    given = {name: np.asarray(tensor, np.float64) + 0.0 for name, tensor in tensors.items()}
    wanted = architecture.tensors | architecture.fixed
    assert {name: tensor.shape for name, tensor in given.items()} == wanted, "other tensors"
    folded = FOLDED[architecture.name](given)
    words, dimension = folded["embedding.weight"].shape
    heads, neurons = max(1, int(architecture.sizes["heads"])), len(folded.get("hidden.bias", ()))
    head_dimension = len(folded["attention.query.weight"]) // heads
    read, size = (words, len(folded["positions.weight"])), (head_dimension, head_dimension)
    skip, activation = trainable(architecture.name).skip, "gelu" if neurons else "none"
    shape = Shape(*read, dimension, ATTENTION, heads, *size, skip, neurons, activation)
    maps = [f"attention.{name}.weight" for name in MAPS]
    hidden = ["hidden.weight", "hidden.bias"] if neurons else []
    # in the order of the file format
    names = ["embedding.weight", "positions.weight", *maps, *hidden, "output.weight"]
    return Decoder(shape, {name: folded[name] + 0.0 for name in names})


def _dana(given: Doubles) -> Doubles:
    """Eq. (2) is a decoder without neurons; without heads, one that outputs 0 stands in."""
    if "attention.query.weight" in given:
        return given
    d = given["embedding.weight"].shape[1]
    maps = {f"attention.{name}.weight": np.zeros((1, d)) for name in MAPS[:3]}
    return {**given, **maps, "attention.out.weight": np.zeros((d, 1))}


def _dana_program(given: Doubles) -> Doubles:
    """The heads' own coordinates stand after those of the embedding: [e(t), C e(t) + pos]."""
    embedding, positions = given["embedding.weight"], given["positions.weight"]
    d, d_h = embedding.shape[1], positions.shape[1]
    same = np.eye(d)  # where d = d_h
    compress, decompress = (given.get(f"{name}.weight", same) for name in SHARED)
    out = decompress @ given["attention.out.weight"]
    own = {name: np.pad(given[name], ((0, 0), (d, 0))) for name in ("positions.weight", *READS)}
    return {
        **given,
        **own,
        "embedding.weight": np.concatenate([embedding, embedding @ compress.T], axis=1),
        "attention.query.weight": own["attention.query.weight"] / math.sqrt(d_h),
        "attention.out.weight": np.pad(out, ((0, d_h), (0, 0))),
        "output.weight": np.pad(given["output.weight"], ((0, 0), (0, d_h))),
    }


def _dana_mlp(given: Doubles) -> Doubles:
    """W_U (W_2 GELU(W_1 x) + x) = [W_U W_2, W_U, -W_U] GELU([W_1; I; -I] x)."""
    output, same = given["output.weight"], np.eye(given["embedding.weight"].shape[1])
    hidden = np.concatenate([given["hidden.weight"], same, -same])
    output = np.concatenate([output @ given["down.weight"], output, -output], axis=1)
    return {
        **given,
        "hidden.weight": hidden,
        "hidden.bias": np.zeros(len(hidden)),
        "output.weight": output,
    }


def _madden(given: Doubles) -> Doubles:
    """Section 7: the biases that a decoder has no place for, as the top of this file says."""
    root = math.sqrt(given["embedding.weight"].shape[1])
    tensors = {name: x / root if ".query." in name else x for name, x in given.items()}
    if "attention.query.bias" in given:  # in one more coordinate, and in the bias of the neurons
        out, positions = tensors["attention.out.weight"], tensors["positions.weight"]
        constant = out @ tensors["attention.value.bias"] + tensors["attention.out.bias"]
        query = tensors["attention.query.weight"], tensors["attention.query.bias"][:, None]
        lanes = positions, np.ones((len(positions), 1))
        bias = tensors["hidden.bias"] + tensors["hidden.weight"] @ constant
        wider = "embedding.weight", *READS[1:], "hidden.weight"
        tensors |= {name: np.pad(tensors[name], ((0, 0), (0, 1))) for name in wider}
        tensors |= {
            "positions.weight": np.concatenate(lanes, axis=1),
            "attention.query.weight": np.concatenate(query, axis=1),
            "attention.out.weight": np.pad(out, ((0, 1), (0, 0))),
            "hidden.bias": bias,
        }
    always = np.zeros((1, tensors["hidden.weight"].shape[1]))
    column = given["output.bias"][:, None] / ALWAYS_ON
    return {
        **tensors,
        "hidden.weight": np.concatenate([tensors["hidden.weight"], always]),
        "hidden.bias": np.append(tensors["hidden.bias"], ALWAYS_ON),
        "output.weight": np.concatenate([given["output.weight"], column], axis=1),
    }


FOLDED = {
    "dana2024": _dana,
    "dana2024-program": _dana_program,
    "dana2024-mlp": _dana_mlp,
    "madden2024": _madden,
}
