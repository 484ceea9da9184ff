"""Limits of the rank of the features of attention, whatever the weights are.

Paper        dana2024, Lemma 2 and the proof of Theorem 1.
Statement    The features [A^1; ...; A^H] of T contexts have the rank min(T, H d), and d more with
             the skip connection, for some embeddings and heads.
Assumptions  A1  Sizes are at least 1; contexts are distinct and have the same length S.
             A2  d_h <= d.
Guarantee    G1  The limits are proved for all weights, and for any attention pattern, softmax or
                 not, except where stated. They are not always reached: measure the rank.
Departures   D1  Lemma 2 is false beyond these limits: for S = 1, and for d > N + S - 1 - c if there
                 are enough heads and contexts. Within them it has no proof: that of appendix A.1
                 wants N X(t), of rank S - 1 at most, to have a nonzero determinant, which fails for
                 S <= d, and takes "in no hyperplane" for d more rows instead of one.
             D2  Theorem 1 needs d distinct last tokens: the skip connection has no more rank.
Notation     N distinct tokens of the contexts, S length, d dimension, d_h head dimension, H heads,
             c components, N_last distinct last tokens.

Proof. A^h = [e, pos] B^h, where B^h has a row for each token, the weight that the context's
positions with this token have, and a row for each position, its weight. Join a token and a position
if some context has the one at the other. In each connected component the rows of the tokens add up
to the same as those of the positions, so B^h has the rank N + S - c at most; and all its token rows
add up to the vector of ones, which is therefore common to the spans of all heads. So

    rank [A^1; ...; A^H] <= H (N + S - c - 1) + 1,

and of course H d_h. The vectors x_S of the skip connection are among N_last: with ones among what
they span, they add at most N_last - 1 to that limit, and min(d, N_last) to the rank in any case.

S = 1: a softmax of one score is 1, and all heads see e + pos: the rank is min(d, N) at most.

One last token, and S >= 2: the query q^h is the same for all contexts, so that token i at position
s has the weight alpha_i beta_s over the softmax's denominator Z. The token rows of B^h, each
divided by alpha_i, add up to the sum of the beta_s over Z, of which the row of position S is a
multiple. The relations of components do not imply this one: it has no other position than S, and
all tokens; but each component has a position, and one without other positions than S lacks the
tokens of those. So B^h has one rank less, N + S - c - 1, and ones are still in its span. Contexts
of several last tokens fall into such groups, and the rank of all is at most the sum of the groups'
ranks.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...errors import AssumptionError
from ..assumptions import check, check_heads

Context = Sequence[int]


class Tokens(NamedTuple):
    """The numbers of contexts of one length that limit ranks."""

    contexts: int  # T
    length: int  # S
    distinct: int  # N, tokens that occur
    last: int  # N_last, tokens that occur last
    components: int = 1  # c of the graph of tokens and positions


def rank_limit(
    contexts: Iterable[Context], heads: int, head_dimension: int, dimension: int, skip: bool = True
) -> int:
    """The least of all limits of the rank of the features of these contexts.

    >>> rank_limit([(0, 2), (1, 2)], heads=0, head_dimension=1, dimension=2)  # both end in 2
    1
    """
    distinct = sorted(set(map(tuple, contexts)))
    groups = defaultdict(list)
    for context in distinct:
        groups[context[-1:]].append(context)
    sizes = heads, head_dimension, dimension
    apart = sum(tokens_limit(tokens(group), *sizes, skip) for group in groups.values())
    return min(apart, tokens_limit(tokens(distinct), *sizes, skip))


def tokens_limit(
    tokens: Tokens, heads: int, head_dimension: int, dimension: int, skip: bool = True
) -> int:
    """The limit for contexts of which only the numbers are known.

    >>> tokens_limit(Tokens(1000, 3, 10, 10), 10, 12, 12, skip=False)
    111
    >>> tokens_limit(Tokens(1000, 3, 10, 10), 10, 12, 12)
    120
    """
    S, d, N, N_last = tokens.length, dimension, tokens.distinct, tokens.last
    check(contexts=(tokens.contexts, 1), length=(S, 1), distinct_tokens=(N, 1))
    check(last_tokens=(N_last, 1), components=(tokens.components, 1))
    if N_last > N or tokens.components > min(N, S):
        raise AssumptionError("A1 fails: there are more last tokens or components than tokens.")
    check_heads(heads, head_dimension, dimension)
    if not heads:
        return min(tokens.contexts, d, N_last) if skip else 0
    if S == 1:
        return min(tokens.contexts, heads * head_dimension + skip * d, d, N)
    structure = heads * (N + S - tokens.components - 1 - (N_last == 1)) + 1
    added = (min(d, N_last), min(d, N_last - 1)) if skip else (0, 0)
    return min(tokens.contexts, heads * head_dimension + added[0], structure + added[1])


def tokens(contexts: Iterable[Context]) -> Tokens:
    """The numbers of distinct contexts, which must have the same length."""
    different = set(map(tuple, contexts))
    lengths = {len(context) for context in different}
    if len(lengths) != 1 or lengths == {0}:
        raise AssumptionError("A1 fails: contexts must have one length, of at least 1.")
    S = lengths.pop()
    met: list[set[int]] = [{context[s] for context in different} for s in range(S)]
    components: list[set[int]] = []  # tokens of each; positions with a common token are joined
    for new in met:
        apart = [old for old in components if not old & new]
        components = [*apart, new.union(*(old for old in components if old & new))]
    distinct, last = set().union(*met), {context[-1] for context in different}
    return Tokens(len(different), S, len(distinct), len(last), len(components))
