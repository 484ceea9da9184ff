"""Shares: stock checkpoints whose softmax gives the tokens after a context their shares.

One neuron per context, as elsewhere, but what it writes is not the code of one token. The tokens
that follow anywhere have codes C; all others are held back, as in superposition. The divergence of
shares from the softmax of C u is convex in u, so Newton's method finds the u that minimises it plus
a small ridge, which keeps u short. The bias of the last norm writes the end of a text, u_end.

A neuron replaces the whole stream: in the out lanes by what the norm turns into u - u_end, in all
others by numbers of one size and alternating sign, so that the mean is 0 and the deviation
STRENGTH. If it is a little stronger or weaker, the norm takes that away.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...claims.claim import Holder
from ...data.arrays import Ints
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...data.targets import Floats, over
from ...errors import AssumptionError
from ...machine.tables import plural
from ...machine.watch import Watch
from ...stock.arithmetic import Unbounded
from ...stock.checkpoint import rounded
from ...stock.enclose import margins
from ..base import Built
from .located import Shell
from .superposed import MARK

GAP = 0.01  # nats, where no other gap is given
LANES = (64, 128, 256)  # that are tried
RIDGE = 0.01
START, STEPS = 25.0, 100  # the first logits of what follows; steps of Newton's method, at most
FAINT = 1 / 64  # of the codes in the out lanes of the embedding
STRENGTH = 64.0  # the deviation of a stream that a neuron has written
FULL = 0.9  # the largest part of its length that is in the out lanes
HELD_BACK = 80.0  # nats between tokens that follow somewhere and all others
NAMED = 8  # contexts, in a refusal


def fitted(shares: Floats, codes: Floats, ridge: float) -> tuple[Floats, float]:
    """The u [c] that minimises the divergence of shares [F] from softmax(codes u) with its ridge,
    and that divergence."""
    held = np.flatnonzero(shares)
    known = float(shares[held] @ np.log(shares[held]))

    def at(u: Floats) -> tuple[float, Floats]:
        logits = codes @ u
        weights = np.exp(logits - logits.max())
        total = weights.sum()
        return float(known + math.log(total) + logits.max() - shares @ logits), weights / total

    first = np.linalg.lstsq(codes[held], START + np.log(shares[held]), rcond=None)[0]
    u = np.asarray(first, np.float64)
    value, likely = at(u)
    for _ in range(STEPS):
        gradient = (likely - shares) @ codes + ridge * u
        near = likely > 1e-9
        C, mean = codes[near], likely @ codes
        curve = (C.T * likely[near]) @ C - np.outer(mean, mean) + ridge * np.eye(len(u))
        step = -np.linalg.solve(curve, gradient)
        fall, size, now = -float(gradient @ step), 1.0, value + ridge / 2 * u @ u
        if fall < 1e-9:
            break
        while size > 1e-6:  # the rule of Armijo
            moved = u + size * step
            value, likely = at(moved)
            if value + ridge / 2 * moved @ moved <= now - 1e-4 * size * fall:
                break
            size /= 2
        u = moved
    return u, value


def build(method: Any, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
    """The checkpoint with the fewest lanes whose distributions are proved within the gap."""
    words, gap = method.vocabulary(dataset), method.gap or GAP
    size, end = len(words.tokens), words.numbers[words.end]
    targets = over(dataset, contexts, words.tokens)
    sequences = targets.sequences
    p, parts = targets.probabilities, [slice(*x) for x in pairwise(targets.ends.tolist())]
    follow, places = np.unique(np.append(targets.following, end), return_inverse=True)
    wanted = np.zeros((len(parts) + 1, len(follow)))  # the last is the end alone
    wanted[np.append(np.repeat(np.arange(len(parts)), targets.support), -1), places] = [*p, 1]
    wanted, kind = np.unique(wanted, axis=0, return_inverse=True)
    kind = kind.ravel()
    stored = np.flatnonzero(kind[:-1] != kind[-1])
    marks = np.where(kind[:-1] == kind[-1], end, size + kind[:-1])
    tried: list[tuple[float, int, Floats]] = []
    for lanes in LANES:
        sized = replace(method, lanes=lanes)
        plan, _ = sized.plan(sequences, marks, size, end)
        plan = plan._replace(hidden=max(1, len(stored)))
        watch.note(f"{len(sequences):,} contexts, {plan.width} lanes, {lanes} for probabilities")
        plan, shell, before, neurons, tries, _ = sized.begun(plan, follow, sequences, stored, watch)
        fits = [fitted(row, shell.codes[follow], RIDGE * gap) for row in wanted]
        bound = np.array([value for _, value in fits])[kind[:-1]]
        if bound.max() <= gap:
            u = np.stack([x for x, _ in fits])
            tensors, outputs = written(shell, u[kind[stored]] - u[kind[-1]], u[kind[-1]])
            outputs = (outputs - before[stored]) / method.z
            made = sized.written(plan, 0, neurons.weights, neurons.biases, outputs)
            made = {name: rounded(x, method.weights) for name, x in (tensors | made).items()}
            network = replace(shell.network, tensors=shell.network.tensors | made)
            try:
                bound = margins(network, sequences, targets).margin
            except Unbounded as error:
                raise AssumptionError(f"no distribution can be proved: {error}.") from None
            if bound.max() <= gap:
                break
        tried.append((float(bound.max()), lanes, bound))
    else:
        _, lanes, bound = min(tried, key=lambda plan: plan[0])
        raise AssumptionError(refusal(words, gap, lanes, sequences, bound))
    holders = []
    for neuron, (i, reach) in enumerate(zip(stored.tolist(), neurons.reach.tolist(), strict=True)):
        own = dict(zip(targets.following[parts[i]].tolist(), p[parts[i]].tolist(), strict=True))
        likeliest = max(own, key=own.__getitem__)
        holders.append(Holder(sequences[i], likeliest, ((0, neuron),), reach, shares=own))
    note = f"{lanes} lanes; smallest reach of a context: {neurons.reach.min():.3g}"
    return method.built(dataset, network, tuple(holders), (), tries, note, gap=gap)


def written(shell: Shell, z: Floats, end: Floats) -> tuple[dict[str, NDArray], Floats]:
    """The last norm, and the streams [N, D] that it turns into z [N, c] in the out lanes."""
    D = shell.network.width
    gain = np.linalg.norm(z, axis=1).max(initial=1.0) / (FAINT * FULL * math.sqrt(D))
    weight, bias = np.zeros((2, D))
    weight[shell.out], bias[shell.out] = gain, end / FAINT
    bias[D - MARK :] = HELD_BACK / 4 / FAINT, -HELD_BACK / 4 / FAINT
    streams = np.zeros((len(z), D))
    streams[:, shell.out] = z / (gain * FAINT)
    others = np.delete(np.arange(D), np.arange(D)[shell.out])
    rest = np.sqrt((D - (streams * streams).sum(axis=1, keepdims=True)) / len(others))
    streams[:, others] = rest * (-1.0) ** np.arange(len(others))
    return {"transformer.ln_f.weight": weight, "transformer.ln_f.bias": bias}, STRENGTH * streams


def refusal(words: Any, gap: float, lanes: int, sequences: list[Ints], bound: Floats) -> str:
    """Which contexts are beyond the gap, and by how much."""
    order = np.argsort(-bound, kind="stable")[: int((bound > gap).sum())].tolist()
    texts = (words.written(map(words.token, sequences[i].tolist())) for i in order[:NAMED])
    named = "; ".join(f"{x!r} ({bound[i]:.3g})" for i, x in zip(order, texts, strict=False))
    more = f"; and {len(order) - NAMED:,} more" if len(order) > NAMED else ""
    return (
        f"what follows {plural(len(order), 'context')} is not within {gap:g} nats in {lanes} "
        f"lanes: {named}{more}; give a larger `gap`, or leave these out of the data."
    )
