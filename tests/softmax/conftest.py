"""An independent evaluation of decoders in balls, and decoders to evaluate.

`truth` computes what checker/FORMAT.md, section 9, says, vector by vector, with no reduction to
scalars and no bound: balls of 256 bits all the way.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import strategies as st

from byheart.data.arrays import offsets
from byheart.data.targets import Targets
from byheart.softmax.decoder import Decoder, Shape

BITS = 256
ACTIVATIONS = {
    "logistic": lambda x: 1 / (1 + (-x).exp()),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "arctan": lambda x: x.atan(),
    "gelu": lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
}


def matrix(array) -> arb_mat:
    rows = array if array.ndim == 2 else array[None]
    return arb_mat([[arb(x) for x in row] for row in rows.tolist()])


def contexts_of(targets: Targets) -> list[list[int]]:
    return [part.tolist() for part in np.split(targets.tokens, targets.starts[1:-1])]


def mixed(shape: Shape, tensors, tokens: list[int]) -> arb_mat:
    """The column g of one context."""
    embedding = tensors["embedding.weight"]
    columns = [matrix(embedding[a]).transpose() for a in tokens]
    if shape.mixing == "token_sum":
        weights = tensors["token_sum.weight"].tolist()
        pairs = zip(columns, weights, strict=False)
        return sum((c * arb(w) for c, w in pairs), arb_mat(shape.dimension, 1))
    positions = tensors["positions.weight"]
    columns = [c + matrix(positions[t]).transpose() for t, c in enumerate(columns)]
    result = columns[-1] if shape.skip else arb_mat(shape.dimension, 1)
    names = ("query", "key", "value", "out")
    query, key, value, out = (tensors[f"attention.{name}.weight"] for name in names)
    for r in range(shape.heads):
        keys = slice(r * shape.key_dimension, (r + 1) * shape.key_dimension)
        values = slice(r * shape.value_dimension, (r + 1) * shape.value_dimension)
        asked = matrix(query[keys]) * columns[-1]
        scores = [((matrix(key[keys]) * c).transpose() * asked)[0, 0].exp() for c in columns]
        mean = sum((c * e for c, e in zip(columns, scores, strict=True)), 0 * columns[0])
        result += matrix(out[:, values]) * (matrix(value[values]) * mean) * (1 / sum(scores))
    return result


def divergence(logits: list[arb], following: list[int], counts: list[int]) -> arb:
    total = sum((x.exp() for x in logits), arb(0)).log()
    p = [arb(c) / sum(counts) for c in counts]
    terms = [q * (q.log() - logits[j] + total) for q, j in zip(p, following, strict=True)]
    return sum(terms, arb(0))


def logits(decoder: Decoder, targets: Targets) -> list[list[arb]]:
    """The logits of each context."""
    output, result = matrix(decoder["output"]), []
    for tokens in contexts_of(targets):
        active = mixed(decoder.shape, decoder.tensors, tokens)
        if decoder.shape.neurons:
            bias = matrix(decoder["hidden.bias"][:, None])
            function = ACTIVATIONS[decoder.shape.activation]
            arguments = matrix(decoder["hidden"]) * active + bias
            active = arb_mat([[function(x)] for x in arguments.entries()])
        result.append((output * active).entries())
    return result


def truth(decoder: Decoder, targets: Targets) -> list[arb]:
    """The divergence of each context."""
    with ctx.workprec(BITS):
        result = []
        for i, row in enumerate(logits(decoder, targets)):
            part = slice(targets.ends[i], targets.ends[i + 1])
            follows, counts = targets.following[part].tolist(), targets.counts[part].tolist()
            result.append(divergence(row, follows, counts))
        return result


def below(values, true: list[arb]) -> list[int]:
    """The contexts whose bound is below the truth, or cannot be compared with it."""
    pairs = zip(values.tolist(), true, strict=True)
    return [i for i, (value, exact) in enumerate(pairs) if not arb(value) >= exact]


@dataclass(frozen=True)
class Recipe:
    """What to build: see `sorted_decoder`."""

    activation: str = "logistic"
    seed: int = 0
    contexts: int = 12
    vocabulary: int = 6
    dimension: int = 1
    heads: int = 1
    skip: bool = False
    mixing: str = "attention"
    steepness: float = 40.0
    noise: float = 0.0
    extra: int = 0
    shuffled: bool = False
    floor: float = 30.0
    near: float = 0.0  # put the first two tokens so near to each other


@st.composite
def recipes(draw, activations: tuple[str, ...], noises: list[float]) -> Recipe:
    return Recipe(
        activation=draw(st.sampled_from(activations)),
        seed=draw(st.integers(0, 10**6)),
        contexts=draw(st.integers(1, 40)),
        vocabulary=draw(st.integers(4, 12)),
        dimension=draw(st.integers(1, 3)),
        heads=draw(st.integers(1, 3)),
        skip=draw(st.booleans()),
        mixing=draw(st.sampled_from(["attention", "attention", "token_sum"])),
        steepness=draw(st.floats(1.5, 40)),
        noise=draw(st.sampled_from(noises)),
        extra=draw(st.sampled_from([0, 7])),
        shuffled=draw(st.booleans()),
    )


def follow(random, contexts: list, vocabulary: int, most: int = 3) -> Targets:
    """What follows these contexts: one to `most` random tokens each, with random counts."""
    sizes = random.integers(1, min(most + 1, vocabulary + 1), len(contexts))
    follows = [np.sort(random.choice(vocabulary, size, replace=False)) for size in sizes]
    return Targets(
        tuple(range(vocabulary)),
        np.concatenate(contexts).astype(np.int32),
        offsets(np.array([len(context) for context in contexts])),
        np.concatenate(follows).astype(np.int32),
        offsets(sizes),
        random.integers(1, 9, int(sizes.sum())),
    )


def some(random, targets: Targets) -> Targets:
    """A random part of the targets."""
    kept = random.permutation(len(targets))[: random.integers(1, len(targets) + 1)]
    return targets.subset(np.sort(kept))


def change(decoder: Decoder, **tensors: np.ndarray) -> Decoder:
    """The decoder with other tensors: hidden_bias is hidden.bias."""
    new = {name.replace("_", "."): tensor for name, tensor in tensors.items()}
    return Decoder(decoder.shape, {**decoder.tensors, **new})


def random_targets(random, recipe: Recipe, length: int = 3) -> Targets:
    everything = {(a,) for a in range(recipe.vocabulary)}
    while len(everything) < recipe.contexts:
        size = random.integers(1, length + 1)
        everything.add(tuple(random.integers(recipe.vocabulary, size=size).tolist()))
    return follow(random, sorted(everything)[: recipe.contexts], recipe.vocabulary)


def lower_tensors(random, shape: Shape, near: float) -> dict[str, np.ndarray]:
    """Embedding, positions and attention with constant rows, all positive."""
    tensors = {name: random.uniform(0.2, 2, size) for name, size in shape.tensors.items()}
    for name in ("embedding.weight", "positions.weight"):
        if name in tensors:
            tensors[name][:] = tensors[name][:, :1]
    for name in ("query", "key", "value", "out"):
        if shape.mixing == "attention":
            tensors[f"attention.{name}.weight"] /= shape.dimension * shape.heads
    if near:
        tensors["embedding.weight"][1] = tensors["embedding.weight"][0] + near
    return tensors


def wanted(targets: Targets, i: int, floor: float) -> np.ndarray:
    row = np.zeros(len(targets.vocabulary))
    part = slice(targets.ends[i], targets.ends[i + 1])
    row[targets.following[part]] = np.log(targets.probabilities[part]) + floor
    return np.round(row * 2**36) / 2**36


def steps(x: list[arb], rows: list[np.ndarray], recipe: Recipe):
    """Slopes, biases and output columns of neurons that switch halfway between two contexts."""
    height = 1 if recipe.activation == "logistic" else 2
    before = [x[0] - arb("0.1"), *x[:-1]]
    w = [float(2 * recipe.steepness / (b - a)) for a, b in zip(before, x, strict=True)]
    b = [float(-s * (a + c) / 2) for s, a, c in zip(w, before, x, strict=True)]
    columns = [(now - old) / height for old, now in zip([0 * rows[0], *rows], rows, strict=False)]
    if height == 2:
        columns[0] = (rows[0] + rows[-1]) / 2
    return np.array(w), np.array(b), np.array(columns)


def ramps(x: list[arb], rows: list[np.ndarray], recipe: Recipe):
    """The same for GELU: a kink shortly behind the context before, and the slopes that follow."""
    vocabulary = len(rows[0])
    slope, old, before = [arb(0)] * vocabulary, [arb(0)] * vocabulary, x[0] - arb("0.1")
    w, b, columns = [], [], []
    for here, row in zip(x, rows, strict=True):
        w.append(float(1.5 * recipe.steepness / (here - before)))
        kink = before + arb(9 * recipe.steepness / 40) / w[-1]
        b.append(float(-kink * w[-1]))
        kink = -arb(b[-1]) / w[-1]
        new = [
            (arb(y) - o - s * (here - before)) / (here - kink) + s
            for y, o, s in zip(row.tolist(), old, slope, strict=True)
        ]
        columns.append([float((n - s) / w[-1]) for n, s in zip(new, slope, strict=True)])
        slope = [s + arb(v) * w[-1] for s, v in zip(slope, columns[-1], strict=True)]
        old, before = [arb(y) for y in row.tolist()], here
    return np.array(w), np.array(b), np.array(columns)


def shape_of(recipe: Recipe) -> Shape:
    attention = recipe.mixing == "attention"
    sizes = (recipe.heads, 2, 1) if attention else (0, 0, 0)
    skip, neurons = recipe.skip and attention, recipe.contexts + recipe.extra
    return Shape(
        recipe.vocabulary, 3, recipe.dimension, recipe.mixing, *sizes, skip, neurons,
        recipe.activation,
    )  # fmt: skip


def with_extra(random, recipe: Recipe, top: float, w, b, columns):
    """More neurons, which never switch: their kink lies behind all contexts."""
    w = np.concatenate([w, np.full(recipe.extra, 50.0)])
    b = np.concatenate([b, np.full(recipe.extra, -50.0 * (abs(top) + 2))])
    useless = np.repeat(random.uniform(-9, 9, (recipe.extra, 1)), recipe.vocabulary, axis=1)
    return w, b, np.concatenate([columns, useless])


def sorted_decoder(recipe: Recipe) -> tuple[Decoder, Targets]:
    """Neurons that switch one after another along s, as in the sorted steep form."""
    random = np.random.default_rng(recipe.seed)
    targets, shape = random_targets(random, recipe), shape_of(recipe)
    tensors = lower_tensors(random, shape, recipe.near)
    with ctx.workprec(BITS):
        s = [sum(mixed(shape, tensors, c).entries(), arb(0)) for c in contexts_of(targets)]
        order = sorted(range(len(s)), key=lambda i: s[i].mid())
        rows = [wanted(targets, i, recipe.floor) for i in order]
        form = ramps if recipe.activation == "gelu" else steps
        neurons = form([s[i].mid() for i in order], rows, recipe)
    neurons = with_extra(random, recipe, float(s[order[-1]]), *neurons)
    w, b, columns = (a * (1 + recipe.noise * random.normal(size=a.shape)) for a in neurons)
    kept = random.permutation(len(w)) if recipe.shuffled else np.arange(len(w))
    tensors["hidden.weight"] = np.repeat(w[kept, None], recipe.dimension, axis=1)
    tensors["hidden.bias"] = b[kept]
    tensors["output.weight"] = np.ascontiguousarray(columns[kept].T)
    return Decoder(shape, tensors), targets


@pytest.fixture(scope="session")
def balls() -> SimpleNamespace:
    return SimpleNamespace(
        Recipe=Recipe,
        activations=ACTIVATIONS,
        below=below,
        build=sorted_decoder,
        change=change,
        contexts_of=contexts_of,
        divergence=divergence,
        follow=follow,
        logits=logits,
        mixed=mixed,
        recipes=recipes,
        some=some,
        targets=random_targets,
        truth=truth,
    )
