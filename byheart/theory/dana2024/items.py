"""The rows of dana2024."""

from ...errors import AssumptionError
from ..assumptions import check
from ..item import Assumption, items
from ..kajitsuka2025.items import CONSISTENT, NEXT_TOKEN
from .capacity import corollary_2, heads_needed, parameters, proposition_2, theorem_1, theorem_2
from .near_tables import NearLookUp, theorem_2_constant
from .ranks import Tokens, tokens_limit

PAPER = "dana2024"


def _rank_allows(
    vocabulary: int, length: int, dimension: int, heads: int, head_dimension: int
) -> bool:
    """Whether some contexts of these sizes can have features of full rank."""
    wanted = theorem_1(heads, head_dimension, dimension)
    best = Tokens(wanted, length, vocabulary, vocabulary)
    return tokens_limit(best, heads, head_dimension, dimension) == wanted


ATTENTION_ONLY = Assumption(
    lambda family: family == PAPER, "the model is not one layer of attention alone, eq. (2)."
)
RANK = Assumption(
    _rank_allows, "A3 fails: no features of {vocabulary} tokens at {length} places have this rank."
)
NEAR = Assumption(
    lambda vocabulary, dimension: theorem_2_constant(vocabulary, dimension) < 0.5,
    "A4 fails: it says nothing unless the dimension is above 128 log(N + 1).",
)
SMALL = Assumption(
    lambda vocabulary, dimension: dimension < vocabulary - 1,
    "it says nothing: the dimension allows any distributions (Proposition 2).",
)
LONG = Assumption(
    lambda length: length >= 2, "A3 fails: attention to one token has the rank of the tokens."
)


def corollary_1_size(contexts: int, union: int, length: int, padded: bool | None = None) -> int:
    """Two dimensions and heads of two; contexts of different lengths take one more token."""
    return parameters(union + bool(padded), length, 2, 2, heads_needed(contexts, 2, 2))


def distributions_size(contexts: int, union: int, length: int, padded: bool | None = None) -> int:
    """In the dimension of Proposition 2, which loses nothing."""
    N = union + bool(padded)
    d = proposition_2(N)
    return parameters(N, length, d, d, heads_needed(contexts, d, d))


def circle_dimension(union: int) -> int:
    check(vocabulary=(union, 2))
    return 2


def look_up_divergence(
    vocabulary: int, dimension: int, conflicts: int, near: tuple[NearLookUp, ...] | None = None
) -> float:
    """Theorem 2; for contexts of one label it is 0, in the limit."""
    if conflicts and near is None:
        raise AssumptionError("not known: the distribution of each context.")
    return theorem_2(vocabulary, dimension, near or ()) if conflicts else 0.0


ITEMS = items(
    PAPER,
    PROPOSITION_2=(lambda union: proposition_2(union),),
    PROPOSITION_3=(circle_dimension, CONSISTENT),
    THEOREM_1=(theorem_1, ATTENTION_ONLY, RANK),
    THEOREM_1_DATA=(distributions_size, NEXT_TOKEN, LONG),
    COROLLARY_1=(corollary_1_size, NEXT_TOKEN, CONSISTENT, LONG),
    HEADS=(heads_needed, ATTENTION_ONLY),
    COROLLARY_2=(
        lambda heads, head_dimension, dimension, contexts, vocabulary: (
            corollary_2(heads, head_dimension, dimension, contexts, vocabulary).proved
        ),
        ATTENTION_ONLY,
        CONSISTENT,
        RANK,
    ),
    THEOREM_2=(look_up_divergence, NEAR, SMALL),
)
