"""Rigorous margins: by how much the answer's logit exceeds all others, in every execution.

Only what the claim needs is bounded: attention of one block at most, in which each head either
reads one place that wins by a gap, or has no query and reads the mean of all places; other blocks'
attention must write nothing. What is different from that is not bounded, and nothing is claimed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import batches
from ..data.targets import Floats, Targets
from .arithmetic import (
    FUNCTION,
    STORAGE,
    TINY,
    Normed,
    Storage,
    Stream,
    U,
    Unbounded,
    added,
    gamma,
    multiplied,
    rounded,
    straightened,
    sums,
    times,
    up,
)
from .checkpoint import Block, Checkpoint
from .forward import activation_of, angles, embedded, gelu, gelu_new, silu, writes
from .texts import texts_of

ROWS = 1 << 21  # numbers of a block of a large matrix
OFF = {"gelu_new": -8.0, "gelu": -8.0, "silu": -88.0}  # below, an activation is 0 (S) or TINY
LARGEST = 2.0**100  # beyond, results may overflow
PIECE, PIECES = 0.04, 16  # of a stream's length: the largest part of it that is uncertain together
FEW, CROWD = 8, 64  # more neurons of a stream than these are bounded together: half of all, or any
CURVED = 1.0  # at least half of the second derivative of GELU, which is below 0.8 and above -0.3
NEAR = -16.0  # SiLU: closer ones are bounded one by one


@dataclass(frozen=True)
class Margins:
    """What was found for each sequence."""

    margin: Floats  # a lower bound for the answer's logit minus the largest other one, in nats
    on: NDArray[np.int64]  # the neurons that are certainly on, as rows (sequence, layer, neuron)
    sure: NDArray[np.bool_]  # whether every other neuron of the sequence is certainly off
    gap: float  # the smallest gap of attention scores


def margins(
    network: Checkpoint,
    sequences: Sequence[NDArray],
    answers: NDArray[np.int64] | Targets,
    progress: Callable[[int], None] | None = None,
) -> Margins:
    """Rigorous margins of the answers after sequences, in the type of the network.

    Of targets, whose sequences these are, bounds of the divergences from above instead, in nats.

    Raises:
        Unbounded: The network is not one that can be bounded in this way.
    """
    blocks = [network.block(i) for i in range(network.depth)]
    if network.dtype not in STORAGE:
        raise Unbounded(f"executions in {network.dtype} have no model")
    if network.dtype != "float32" and (network.family.rms or network.depth > 1):
        raise Unbounded(f"in {network.dtype} a GPT-2 with one layer can be bounded")
    if any(writes(block) for block in blocks[1:]):
        raise Unbounded("the attention of more than the first block writes to the stream")
    first, gap = attended(network, blocks[0], sequences)
    count = len(sequences)
    found, sure = np.empty(count), np.ones(count, bool)
    on: list[NDArray] = []
    step = max(1, ROWS // max(network.size("hidden"), network.size("vocabulary")))
    for begin in range(0, count, step):
        rows = slice(begin, begin + step)
        at = Stream(*(x[rows] for x in first))
        for layer, block in enumerate(blocks):
            at, fired, certain = through(network, block, at)
            if not (np.abs(at.x) + at.r + np.abs(at.c) < LARGEST).all():
                raise Unbounded("a stream is too large for float32")
            fired = np.column_stack([fired[:, 0] + begin, np.full(len(fired), layer), fired[:, 1]])
            on.append(fired)
            sure[rows] &= certain
        if isinstance(answers, Targets):
            found[rows] = _divergences(network, at, answers.subset(np.arange(count)[rows]))
        else:
            found[rows] = _last(network, at, answers[rows], lambda x: x.min(axis=1))
        if progress is not None:
            progress(len(at.x))
    return Margins(found, np.concatenate(on), sure, gap)


# --- attention


def attended(
    network: Checkpoint, block: Block, sequences: Sequence[NDArray]
) -> tuple[Stream, float]:
    """The streams at the last places after the first attention, and the smallest gap of scores."""
    texts = texts_of(list(sequences))
    D = network.width
    x, r = np.empty((len(sequences), D)), np.empty((len(sequences), D))
    rows_of, least, heads = texts.sequences, math.inf, network.size("heads")
    for part in batches(texts.tokens, lambda length: length * (4 * D + heads * length), ROWS):
        tokens = np.stack([texts.tokens[i] for i in part])
        rows = np.array([row for i in part for row in rows_of[i]])
        owner = np.repeat(np.arange(len(part)), [len(rows_of[i]) for i in part])
        x[rows], r[rows], gap = _attention(network, block, tokens, owner, texts.place[rows])
        least = min(least, gap)
    return Stream(x, r, np.zeros_like(x)), least


def _attention(
    network: Checkpoint, block: Block, tokens: NDArray, owner: NDArray, place: NDArray
) -> tuple[Floats, Floats, float]:
    """Texts of one length [B, n]: the streams at (owner, place), their radius, and the gap."""
    heads, size, D = network.size("heads"), network.head_size, network.width
    storage = STORAGE[network.dtype]
    count, length = tokens.shape
    x = embedded(network, tokens).reshape(-1, D)
    r = np.zeros_like(x)
    if network.places is not None:
        r = storage.of(x, rounded(x, r))
    if not writes(block):
        if storage.unit:  # what is multiplied by 0 may not be a number
            raise Unbounded("attention that writes nothing may overflow")
        at = owner * length + place
        return x[at], r[at], math.inf
    stream = Stream(x, r, np.zeros_like(x))
    normed = _normed(network, stream, block.norm1, block.norm1_bias)
    weights = np.concatenate([block.query, block.key, block.value], axis=1)
    y, s = normed.times(weights, block.attention_bias)
    shape = (count, length, 3, heads, size)
    q, k, v = np.moveaxis(y.reshape(shape), 2, 0)
    rq, rk, rv = np.moveaxis(s.reshape(shape), 2, 0)
    idle = np.logical_not(block.query.reshape(D, heads, size).any(axis=(0, 2)))
    if block.attention_bias is not None:
        idle &= ~block.attention_bias[: heads * size].reshape(heads, size).any(axis=1)
    if network.family.rms:
        angle = angles(network, length)
        (q, rq), (k, rk) = _rotated(q, rq, angle), _rotated(k, rk, angle)
    q, rq = q[owner, place], rq[owner, place]  # [rows, H, s]
    most, other = np.abs(q) + rq, np.abs(k) + rk
    root = math.sqrt(size)
    read, radius = np.empty((len(owner), heads, size)), np.empty((len(owner), heads, size))
    gap = math.inf
    seen = np.arange(length)[None, :] <= place[:, None]  # [rows, n]
    many = (gamma(3 * place + 128) + 2.01 * storage.unit)[:, None]  # weights, their sums
    little = 2 * storage.tiny * (place[:, None] + 1)
    for head in range(heads):
        values, error = v[owner, :, head], rv[owner, :, head]  # [rows, n, s]
        largest = np.where(seen[..., None], np.abs(values) + error, 0).max(axis=1)
        if idle[head]:  # all scores are exactly 0
            weight = seen / (place[:, None] + 1)
            read[:, head] = np.einsum("rn,rns->rs", weight, values)
            around = np.einsum("rn,rns->rs", weight, error)
            average = np.einsum("rn,rns->rs", weight, np.abs(values)) + around
            radius[:, head] = up(around + many * average + little * largest)
            continue
        keys = k[owner, :, head]
        score = np.einsum("rs,rns->rn", q[:, head], keys) / root
        bound = np.einsum("rs,rns->rn", most[:, head], other[owner, :, head]) / root
        exact = np.einsum("rs,rns->rn", np.abs(q[:, head]), np.abs(keys)) / root
        around = up((bound - exact) + gamma(size + 4) * bound + 1e-12 * bound)
        if storage.unit:  # the factor may be applied to both operands, or to the product
            small = most[:, None, head].sum(axis=2) + other[owner, :, head].sum(axis=2) + size
            around = up(around + 2.01 * storage.unit * bound + 2 * storage.tiny * small)
            around = storage.of(score, storage.of(score * root, up(around * root)) / root)
        score = np.where(seen, score, -np.inf)
        best = score.argmax(axis=1)
        here = np.arange(len(owner))
        above = np.where(seen, score + around, -np.inf)
        above[here, best] = -np.inf
        apart = (score - around)[here, best] - above.max(axis=1)
        apart = np.where(place > 0, apart, 700.0)
        gap = min(gap, float(apart.min()))
        if not (apart > 1).all():
            raise Unbounded("no place wins the attention of a head, and its scores are not equal")
        # the rest of a weight below 2^-126 is covered by TINY in the error of the winner's value
        tail = place * np.exp(-np.minimum(apart, 700.0)) * (1 + 1e-6)
        read[:, head] = values[here, best]
        others = 2 * tail[:, None] * largest
        weighted = np.abs(values[here, best]) + error[here, best] + others  # sum of w |v|, at most
        loose = many * weighted + little * largest + TINY
        radius[:, head] = up(error[here, best] + others + loose)
    flat, error = read.reshape(len(owner), -1), radius.reshape(len(owner), -1)
    out, around = times(flat, storage.of(flat, error), block.out, block.out_bias, storage)
    at = owner * length + place
    x, r = added(x[at], r[at], out, around)
    return x, storage.of(x, r), gap


def _normed(network: Checkpoint, at: Stream, gain: Floats, bias: Floats | None) -> Normed:
    storage = STORAGE[network.dtype]
    return Normed(at, gain, bias, network.epsilon, network.family.rms, storage)


def _rotated(y: Floats, r: Floats, angle: Floats) -> tuple[Floats, Floats]:
    """Rotary positions: y of heads [B, n, H, s]."""
    half = y.shape[-1] // 2
    cos, sin = (f(angle)[:, None, :] for f in (np.cos, np.sin))
    wrong = (18 * U * angle + FUNCTION + 2 * U)[:, None, :]  # of cos or sin, a product and a sum
    a, b, ra, rb = y[..., :half], y[..., half:], r[..., :half], r[..., half:]
    size = np.abs(a) + np.abs(b) + ra + rb
    turned = np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    first = ra * np.abs(cos) + rb * np.abs(sin) + size * wrong
    second = rb * np.abs(cos) + ra * np.abs(sin) + size * wrong
    return turned, up(np.concatenate([first, second], axis=-1))


# --- the memory


def through(
    network: Checkpoint, block: Block, at: Stream
) -> tuple[Stream, NDArray[np.int64], NDArray[np.bool_]]:
    """The streams after the MLP of a block; which neurons are on; whether the rest is off."""
    storage = STORAGE[network.dtype]
    normed = _normed(network, at, block.norm2, block.norm2_bias)
    read = block.up if block.gate is None else block.gate
    z, rz = normed.many(read, block.up_bias)
    if not (np.abs(z) + rz < LARGEST).all():
        raise Unbounded("the argument of a neuron is too large for float32")
    kind = activation_of(network)
    near = z + rz > (NEAR if kind == "silu" else OFF[kind])
    spill = np.zeros((len(z), 1))
    if kind == "silu":  # |silu(z)| <= |z| exp(z), which grows up to z = -1
        high = np.where(near, -np.inf, z + rz)
        with np.errstate(over="ignore", invalid="ignore"):
            leak = np.where(near, 0.0, -high * np.exp(high)).sum(axis=1, keepdims=True)
        spill = up(leak * (1 + 64 * U) + high.shape[1] * TINY)
    rows, columns = np.nonzero(near)
    if block.gate is None and len(rows) > len(z) * min(CROWD, max(FEW, z.shape[1] // 2)):
        if storage.unit:
            raise Unbounded(f"many neurons are on at once, in {network.dtype}")
        return _crowded(network, block, at, normed)
    if len(rows) > len(z) * CROWD:
        raise Unbounded("many gated neurons are on at once")
    z, rz = normed.pairs(read, block.up_bias, rows, columns)
    value, radius = _activated(kind, z, rz, storage)
    if block.gate is not None:
        factor, error = normed.pairs(block.up, None, rows, columns)
        value, radius = multiplied(value, radius, factor, error)
        ups, around = normed.many(block.up, None)
        spill = up(spill * (np.abs(ups) + around).max(axis=1, keepdims=True))
    live = (value != 0) | (radius > TINY)
    rows, columns, value, radius, z, rz = (x[live] for x in (rows, columns, value, radius, z, rz))
    sure = np.ones(len(at.x), bool)
    sure[rows[(z - rz <= 0) & (z + rz >= 0)]] = False
    fired = z - rz > 0
    written = block.down[columns]
    x, r, c = (part.copy() for part in at)
    # of the neurons that are on, the strength of the least certain one per stream is kept apart
    order = np.lexsort((-radius, rows))
    main = order[np.unique(rows[order], return_index=True)[1]]
    main = main[~c[rows[main]].any(axis=1)]
    others = np.setdiff1d(np.arange(len(rows)), main)
    total = np.zeros_like(x)
    np.add.at(total, rows, (np.abs(value) + radius)[:, None] * np.abs(written))
    np.add.at(x, rows, value[:, None] * written)
    c[rows[main]] = radius[main, None] * written[main]
    np.add.at(r, rows[others], radius[others, None] * np.abs(written[others]))
    leaked = spill * np.abs(block.down).max(axis=0)
    total += leaked
    terms = np.bincount(rows, minlength=len(x))[:, None]  # GELU gives exactly 0 for all others
    if block.gate is not None:
        terms = np.count_nonzero(block.down, axis=0)
    if block.down_bias is not None:
        x += block.down_bias
        total += np.abs(block.down_bias)
    loose = leaked + gamma(terms + 2) * total
    bias = None if block.down_bias is None else np.abs(block.down_bias)
    r = rounded(x, r + storage.product(total, loose, bias), c)
    return (Stream(x, storage.of(x, r, c), c), np.column_stack([rows[fired], columns[fired]]), sure)


def _crowded(
    network: Checkpoint, block: Block, at: Stream, normed: Normed
) -> tuple[Stream, NDArray[np.int64], NDArray[np.bool_]]:
    """The streams after an MLP in which many neurons are on: all of them are bounded.

    What is uncertain about a stream moves the arguments of all neurons together, and most of it
    cancels in what they write. So the errors of the norm are followed through the slopes of the
    neurons, f(z + d) = f(z) + f'(z) d + rest with |rest| <= d^2 (CURVED), and only the rest and the
    roundings of single neurons add up.
    """
    z, rz = normed.times(block.up, block.up_bias)
    kind, size = activation_of(network), np.abs(block.down)
    value, loose = _activated(kind, z, rz)
    slope = _slope(kind, z)

    def written(moved: Floats) -> Floats:
        """What the neurons write if their arguments move by this, at first order."""
        return np.abs((slope * moved) @ block.down)

    lanes = zip(normed.lane, slope, strict=True)
    radius = normed.factor * written(normed.y @ block.up)
    radius += (1 + normed.factor) * (
        normed.shift * written(np.broadcast_to(normed.gain @ block.up, z.shape))
        + written(normed.c @ block.up)
        + np.stack([e @ np.abs((block.up * s) @ block.down) for e, s in lanes])
    )
    bias = 0.0 if block.up_bias is None else np.abs(block.up_bias)
    rounding = sums(block.up, block.up_bias) * (normed.most @ np.abs(block.up) + bias)
    single = 1.13 * rounding + CURVED * rz * rz + 20 * U * (np.abs(z) + rz)
    single += 1e-9 * rz  # of the doubles in which the slopes and their products are computed
    out, around = times(
        value, np.zeros_like(value), block.down, block.down_bias, STORAGE["float32"]
    )
    around += up(radius + single @ size + gamma(len(size) + 2) * (loose @ size))
    x = at.x + out
    r = rounded(x, at.r + around, at.c)
    if len(size) > CROWD:  # too many to name
        return Stream(x, r, at.c), np.zeros((0, 2), np.int64), np.zeros(len(x), bool)
    on = np.argwhere(z - rz > 0).astype(np.int64)
    return Stream(x, r, at.c), on, np.all(np.abs(z) > rz, axis=1).astype(bool)


def _slope(kind: str, z: Floats) -> Floats:
    """The derivative of GELU, exact or by tanh."""
    if kind == "gelu":
        from scipy.special import ndtr  # slow to import

        return ndtr(z) + z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    inner = np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))
    by_z = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * z * z)
    return (1 + inner + z * (1 - inner * inner) * by_z) / 2


def _activated(
    kind: str, z: Floats, rz: Floats, storage: Storage = STORAGE["float32"]
) -> tuple[Floats, Floats]:
    """An activation and its radius. GELU's slope is at most 1.13 in absolute value, SiLU's 1.1.

    tanh(y) with y within 8 u |y| changes by at most 8 u |y| / cosh(y)^2 < 8 u; with the errors of
    tanh (8 u) or erf (16 u), of the sum (2 u) and of the products, (1 + tanh) / 2 is within 16 u,
    absolutely. If every operation and constant is stored, the argument of tanh is within 7 units,
    tanh itself within 0.45 * 7 + 1, 1 + tanh within 2 more, and the product with z / 2 within 4.1;
    subnormal results add less than 3 + 3 |z| times `tiny`.
    """
    if kind == "silu":
        value = silu(z)
        # z / (1 + exp(-z)): 8 u of exp, whose argument is exact, and three roundings
        return value, up(1.1 * rz + 16 * U * (np.abs(value) + 1.1 * rz))
    value = gelu_new(z) if kind == "gelu_new" else gelu(z)
    size = np.abs(z) + rz
    return value, up(1.13 * rz + (20 * U + 5 * storage.unit) * size + 8 * storage.tiny * (1 + size))


# --- the answer


def _last(
    network: Checkpoint, at: Stream, answers: NDArray, least: Callable[[Floats], Floats]
) -> Floats:
    """What `least` makes of the answers' logits minus all others: their minimum, or a smooth one.

    Where the strength of the neuron that is on is very uncertain, its range is cut into pieces, and
    the smallest margin of them counts: the norm is bounded around a middle of its own in each.
    """
    share = np.sqrt((at.c * at.c).sum(axis=1) / ((at.x * at.x).sum(axis=1) + network.epsilon))
    pieces = np.clip(np.ceil(share / PIECE), 1, PIECES).astype(np.int64)
    found = np.empty(len(share))
    for count in np.unique(pieces).tolist():
        rows = np.flatnonzero(pieces == count)
        x, r, c = (part[rows] for part in at)
        middles = (2 * np.arange(count) + 1 - count) / count
        margins = (
            least(differences(network, Stream(x + t * c, r, c / count), answers[rows]))
            for t in middles.tolist()
        )
        found[rows] = np.min(np.stack(list(margins)), axis=0)
    return found


def _divergences(network: Checkpoint, at: Stream, wanted: Targets) -> Floats:
    """At most sum_i p_i log p_i + log sum_j exp(l_j - sum_i p_i l_i) of shares p and logits l."""
    p, shares = wanted.probabilities, np.zeros((len(wanted), network.size("vocabulary")))
    shares[np.repeat(np.arange(len(wanted)), wanted.support), wanted.following] = p
    with np.errstate(over="ignore"):
        found = _last(network, at, shares, lambda x: -np.log(np.exp(-x).sum(axis=1)))
    found = np.add.reduceat(p * np.log(p), wanted.ends[:-1]) - found
    return found * (1 + 1e-9) + 1e-9  # of these doubles


def differences(network: Checkpoint, at: Stream, answers: NDArray) -> Floats:
    """The answer's logit minus that of each token, at least, [n, V]; infinite for itself.

    Instead of answers [n] there may be shares [n, V]: the mean logit minus that of each token.
    """
    gain, bias = network.final
    normed = _normed(network, at, gain, bias)
    if answers.ndim == 2:  # answers have room for what is not straightened
        at, stretched = straightened(at)
        more = network.epsilon * stretched
        normed = Normed(at, gain, bias, network.epsilon, network.family.rms, normed.storage, more)
    lanes = np.flatnonzero((gain != 0) | (normed.bias != 0))
    if not len(lanes):
        raise Unbounded("the last norm gives nothing")
    E = network.embedding[:, lanes].T  # [lanes, V]
    y, c, lane, most = (x[:, lanes] for x in (normed.y, normed.c, normed.lane, normed.most))
    g, b = gain[lanes], normed.bias[lanes]
    size = np.abs(E)
    here = np.arange(len(y))

    def own(values: Floats) -> Floats:
        if answers.ndim == 2:
            return (answers * values).sum(axis=1, keepdims=True)
        return values[answers][:, None] if values.ndim == 1 else values[here, answers][:, None]

    def against(values: Floats) -> Floats:
        """Of the answer, minus that of each token."""
        return own(values) - values

    each = up(lane @ size + sums(E, None) * (most @ size))
    logits, factor = y @ E, normed.factor
    if (storage := STORAGE[network.dtype]).unit:
        loose = factor * np.abs(logits) + each
        loose += (np.abs(c @ E) + normed.shift * np.abs(g @ E)) * (1 + factor)
        each = up(each + storage.of(logits + b @ E, up(loose)) - loose)
    moved = against(logits)
    found = moved + against(b @ E)
    found -= up(factor * np.abs(moved))
    found -= up((np.abs(against(c @ E)) + normed.shift * np.abs(against(g @ E))) * (1 + factor))
    found -= up(each + own(each))
    if answers.ndim == 1:
        found[here, answers] = np.inf
    return found - 1e-9
