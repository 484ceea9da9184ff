"""Statements of dana2024 on data, on sizes and on numbers."""

import random
from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from ...data.contexts import contexts as contexts_of
from ...data.contexts import tally
from ...data.dataset import Dataset
from ...errors import ByheartError, OptionError, at_least
from ...theory.assumptions import check_heads
from ...theory.dana2024.features import reached_rank
from ...theory.dana2024.ranks import Tokens, rank_limit, tokens_limit
from ...theory.madden2024.balls import Real, ball, exact
from .base import Outcome, distinct_sequences

DRAWS = 3  # of weights, before a rank is left undecided
LARGEST = 20_000_000  # multiplications for features, about
SHARE = Fraction(3, 10)  # c of eq. (16)


def one_next_token(data: Dataset) -> Outcome:
    """Assumption 1: every context has one next token."""
    grouped = contexts_of(data, positions=True)
    facts = {"contexts": len(grouped), "next_tokens": len(data.label_names)}
    torn = grouped.conflicts(data).nonzero()[0]
    if not len(torn):
        return Outcome("proved", "every context has one next token", None, facts)
    owners = data.owner[grouped.first[torn]]
    place = int(data.lengths[owners].argmin())
    pairs = tally(data, grouped)
    labels = [data.label_names[i] for i in pairs.label[pairs.context == torn[place]].tolist()]
    example: dict[str, Any]
    example = {"context": data.sequence(int(owners[place])), "next_tokens": labels}
    if data.every:
        example["token"] = int(grouped.first[torn[place]] - data.starts[owners[place]]) + 1
    detail = f"{len(torn):,} of {len(grouped):,} contexts have several next tokens"
    return Outcome("refuted", detail, example, {**facts, "conflicts": len(torn)})


def full_support(data: Dataset) -> Outcome:
    """Assumption 2: every context is followed by every token, tokens of the labels included."""
    grouped = contexts_of(data, positions=True)
    names = dict.fromkeys(map(data.token, range(len(data.tokens)))) if data.kind != "vector" else {}
    words = list(dict.fromkeys([*names, *data.label_names]))
    facts = {"contexts": len(grouped), "vocabulary": len(words)}
    pairs = tally(data, grouped)
    following = defaultdict(set)
    for context, label in zip(pairs.context.tolist(), pairs.label.tolist(), strict=True):
        following[context].add(data.label_names[label])
    lacking = [i for i in range(len(grouped)) if len(following[i]) < len(words)]
    if not lacking:
        return Outcome("proved", "every token follows every context", None, facts)
    lengths = data.lengths[data.owner[grouped.first]]
    shortest = min(lacking, key=lambda i: lengths[i])
    example = {
        "context": data.sequence(int(data.owner[grouped.first[shortest]])),
        "never_follows": next(word for word in words if word not in following[shortest]),
    }
    detail = f"{len(lacking):,} of {len(grouped):,} contexts are not followed by every token"
    return Outcome("refuted", detail, example, {**facts, "lacking": len(lacking)})


def features_rank(
    skip: bool,
    dimension: int,
    heads: int,
    data: Dataset | None = None,
    contexts: int | None = None,
    vocabulary: int | None = None,
    length: int | None = None,
    head_dimension: int | None = None,
    seed: int = 0,
) -> Outcome:
    """The rank of the features of T contexts, for some weights.

    Lemma 2: that of A^h, for all heads together, is min(T, H d); the head dimension is the rank of
    W_QK there. The proof of Theorem 1 (skip): that of W_V A^h with x_S is min(T, H d_h + d).
    A limit below it refutes it; weights that reach it, exactly, prove it.
    """
    at_least(1, dimension=dimension, heads=heads, head_dimension=head_dimension)
    at_least(1, contexts=contexts, vocabulary=vocabulary, length=length)
    d, size = dimension, head_dimension or dimension
    check_heads(heads, size, d)
    width = size if skip else d  # features of a head

    def wanted(heads: int) -> int:
        return min(count, heads * width + skip * d)

    if data is not None:
        if contexts is not None or vocabulary is not None:
            raise ByheartError(
                "`contexts=...` and `vocabulary=...` must be left out: the data has them."
            )
        rows = distinct_sequences(data)
        count = len(rows)

        def limit(heads: int) -> int:
            return rank_limit(rows, heads, width, d, skip)
    else:
        if contexts is None or vocabulary is None or length is None:
            raise ByheartError(
                "give data, or all of `contexts=...`, `vocabulary=...` and `length=...`."
            )
        N, S, count = vocabulary, length, contexts
        if S * N.bit_length() < 64 and count > N**S:
            raise ByheartError(f"there are only {N**S:,} contexts of {S} tokens out of {N}.")
        best = Tokens(count, S, min(N, count * S), min(N, count))

        def limit(heads: int) -> int:
            return tokens_limit(best, heads, width, d, skip)

    facts = {"contexts": count, "wanted": wanted(heads), "limit": limit(heads), "rank": None}
    features = "the features with the skip connection" if skip else "the features"
    if limit(heads) < wanted(heads):
        # the limit is concave in the number of heads: once below what is wanted, it stays there
        fewest = 1 + bisect_left(range(1, heads), True, key=lambda h: limit(h) < wanted(h))
        counterexample = {"heads": fewest, "limit": limit(fewest), "wanted": wanted(fewest)}
        most = f"at most the rank {limit(heads):,} for all weights"
        detail = f"{features} have {most}, not {wanted(heads):,}"
        return Outcome("refuted", detail, counterexample, facts)
    S = len(rows[0]) if data is not None else S
    if count * S * heads * d * size > LARGEST:
        raise ByheartError("there are too many features to compute their rank exactly; give fewer.")
    if data is None:
        draw, chosen = random.Random(seed), set[tuple[int, ...]]()
        if S * N.bit_length() < 64 and 2 * count > N**S:
            codes = draw.sample(range(N**S), count)
            chosen = {tuple(code // N**s % N for s in range(S)) for code in codes}
        while len(chosen) < count:
            chosen.add(tuple(draw.randrange(N) for _ in range(S)))
        rows = sorted(chosen)
    rank = 0
    for i in range(DRAWS):
        rank = max(rank, reached_rank(rows, heads, size, d, skip, seed + i))
        if rank == wanted(heads):
            break
    facts["rank"] = rank
    if rank < wanted(heads):
        most = f"at most {limit(heads):,} for all weights"
        detail = f"the rank of {features} is at least {rank:,} for some, and {most}"
        return Outcome(None, detail, None, facts)
    sample = f" of {count:,} random contexts" if data is None else ""
    detail = f"{features}{sample} have the rank {rank:,} for some weights"
    return Outcome("sampled" if sample else "proved", detail, None, facts)


def bounded_range(delta: Real = Fraction(1, 10)) -> Outcome:
    """Lemma 4: eq. (16) bounds max f - min f by O(log(1 / delta)). A family of f shows it is false.

    pi = (1/2, 1/2, 0) and f = (delta / 2, -delta / 2, -exp(1 / delta)): the token of probability 0
    may be as unlikely as one likes, since (16) is about the others only. |log(pi / softmax f)| is
    proved to be between c delta and delta for c = 3/10, and the range of f is more than
    exp(1 / delta), which no multiple of log(1 / delta) bounds as delta goes to 0.
    """
    (step,) = exact([delta])
    if not 0 < step < 1:
        raise OptionError("delta", delta, "must be a number above 0 and below 1")
    with ctx.workprec(256 + 2 * step.denominator.bit_length()):
        x = ball(step)
        logits = [x / 2, -x / 2, -(1 / x).exp()]
        whole = sum((logit.exp() for logit in logits), arb(0)).log()
        ratios = [abs(arb("0.5").log() - logit + whole) / x for logit in logits[:2]]
        held = all(ball(SHARE) <= ratio <= 1 for ratio in ratios)
        span = logits[0] - logits[2]
        facts = {
            "delta": step,
            "ratios": [float(ratio.mid()) for ratio in ratios],
            "range": span.mid().str(6, radius=False),
            "range_over_log": (span / -x.log()).mid().str(6, radius=False),
        }
    if not held:
        return Outcome(None, "the balls do not decide eq. (16) for this delta", None, facts)
    half = Fraction(1, 2)
    counterexample = {
        "distribution": [half, half, Fraction(0)],
        "logits": ["delta / 2", "-delta / 2", "-exp(1 / delta)"],
        "c": SHARE,
        "alpha": 1,
    }
    detail = (
        f"eq. (16) holds at delta = {step} with c = {SHARE} and alpha = 1, and the logits span "
        f"{facts['range']}, which is {facts['range_over_log']} log(1 / delta), without bound"
    )
    return Outcome("refuted", detail, counterexample, facts)
