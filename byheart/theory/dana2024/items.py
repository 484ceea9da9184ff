"""The rows of dana2024."""

from ...errors import AssumptionError
from ..assumptions import check
from ..item import Assumption, named
from ..kajitsuka2025.items import CONSISTENT, LABELS, NEXT_TOKEN
from ..madden2024.items import DISTRIBUTIONS
from .capacity import corollary_2, heads_needed, parameters, proposition_2, theorem_1, theorem_2
from .near_tables import NearLookUp, theorem_2_constant
from .ranks import Tokens, tokens_limit

PAPER = "dana2024"
IF_RANK = "If the features have full rank (A3; the rank is measured when a network is built)."


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


ITEMS = named(
    # Logits are W E(t), W the unembedding and E what stands before it, whatever computes E.
    ("PROPOSITION_1", PAPER, "Proposition 1", "data", "theorem", "at_least", "nats of divergence",
     "d_KL(π, L(N, S, d))", None, (), "No model with this dimension is nearer to the data than the "
     "best encoder; byheart encoder finds it."),
    ("PROPOSITION_2", PAPER, "Proposition 2", "data", "theorem", "at_least", "dimensions", "N - 1",
     lambda union: proposition_2(union), (),
     "For any distributions; with this many, every model's encoder can have them."),
    ("PROPOSITION_3", PAPER, "Proposition 3", "data", "theorem", "at_most", "dimensions", "2",
     circle_dimension, (CONSISTENT,), "Enough for one label per context: the circle."),
    ("THEOREM_1", PAPER, "Theorem 1", "architecture", "theorem", "at_least", "contexts",
     "H d_h + d", theorem_1, (ATTENTION_ONLY, RANK), IF_RANK),
    ("THEOREM_1_DATA", PAPER, "Theorem 1", "data", "theorem", "at_most", DISTRIBUTIONS,
     "d (S + 2 N + 4 d_h H)", distributions_size, (NEXT_TOKEN, LONG),
     f"Any distributions, d = d_h = N - 1. {IF_RANK}", 1),
    ("COROLLARY_1", PAPER, "Corollary 1", "data", "theorem", "at_most", LABELS,
     "2 (S + 2 N + 4 (T_0 - 2))", corollary_1_size, (NEXT_TOKEN, CONSISTENT, LONG),
     f"One label per context, d = d_h = 2. {IF_RANK}", 1),
    ("HEADS", PAPER, "Theorem 1", "both", "theorem", "at_most", "heads", "(T_0 - d) / d_h",
     heads_needed, (ATTENTION_ONLY,), f"For these contexts. {IF_RANK}"),
    ("COROLLARY_2", PAPER, "Corollary 2", "both", "theorem", "at_least",
     "share of contexts correct", "φ(H d_h + d)",
     lambda heads, head_dimension, dimension, contexts, vocabulary:
     corollary_2(heads, head_dimension, dimension, contexts, vocabulary).proved,
     (ATTENTION_ONLY, CONSISTENT, RANK), IF_RANK),
    ("THEOREM_2", PAPER, "Theorem 2", "both", "theorem", "at_most", "nats of divergence",
     "E[q log((N - 1) / (e^h - 1)) (1 + 2 C + C d_TV) / (1 - 2 C)]", look_up_divergence,
     (NEAR, SMALL), "Of the best encoder, not of a transformer."),
    ("THEOREM_3", PAPER, "Theorem 3", "data", "rate", "at_most", "nats of divergence",
     "d_KL(π, M(N, S, d)) + O(ε log(1 / ε))", None, (), "Its proof rests on Lemma 4, which is "
     "false; it holds if Definition 2 limits the range of the encoders as well (docs/errata.md)."),
    ("REMARKS_1", PAPER, "Remarks 1", "data", "open", "at_most", "nats of divergence", "C?", None,
     (), "Nobody knows a bound of the constant C of Theorem 1 by the properties of attention."),
    ("APPENDIX_A_4", PAPER, "Appendix A.4", "data", "open", "at_most", "nats of divergence",
     "d_KL(π, M(N, S, d)) = d_KL(π, L(N, S, d))?", None, (),
     "Nobody knows whether the limit of any encoders is a limit of those of Definition 2."),
)  # fmt: skip
