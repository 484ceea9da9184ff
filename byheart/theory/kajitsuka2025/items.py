"""The rows of kajitsuka2025, for data and models of which only facts are known.

Upper bounds are sizes of the paper's own construction, counted layer by layer, without E_in and
E_out (Remark 4.3). Theorem 4.1 wants r >= 1 and delta <= 1; larger distances are as good. Where
multisets do not determine the labels, each token also has its position as a coordinate. The size of
hash-fold-retrieve depends on the search for a plan; it is not a row here.
"""

import math

from ...errors import AssumptionError
from ..information import bits_held, bits_needed, contexts_held, parameters_of_bits
from ..item import Assumption, items
from . import sign_patterns, sizes

PAPER = "kajitsuka2025"
LABELS = "parameters (labels)"

CONSISTENT = Assumption(
    lambda conflicts: conflicts == 0,
    "the labels are not consistent; contexts with two or more: {conflicts}.",
)
SAME_SETS = Assumption(
    lambda mixed: mixed == 0, "order matters; multisets with two labels or more: {mixed}."
)
NEXT_TOKEN = Assumption(lambda every: not every, "every token has a label: see Corollary 4.1.")
EVERY_TOKEN = Assumption(lambda every: every, "a sequence has one label: see Theorem 4.1.")
RELU = Assumption(
    lambda activation: activation == "relu", "A2 fails: the activation is {activation}, not ReLU."
)
HARD = Assumption(
    lambda attention: attention in ("hard", "uniform"),
    "A2 fails: attention is {attention}, not hard; for softmax this is the open problem.",
)
AVERAGING = Assumption(
    lambda attention: attention == "uniform", "attention is {attention}, not uniform."
)
BLOCKS = Assumption(
    lambda family: family in (PAPER, "decoder"), "the model is not made of the blocks of eq. (4)."
)


def _separated(radius: float, distance: float) -> tuple[float, float]:
    """r and delta of the theorems, which take no tokens that coincide."""
    if not distance > 0:
        raise AssumptionError("A1 fails: two tokens are a distance of 0 apart; merge them.")
    return max(1.0, radius), min(1.0, distance)


def _points(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
) -> tuple[int, int, int, float, float]:
    """N, n, d, r and delta; with positions as a coordinate if multisets are not enough."""
    r, delta = _separated(radius, distance)
    if not mixed:
        return multisets, length, dimension, r, delta
    return contexts, length, dimension + 1, math.hypot(r, length), delta


def theorem_4_1_size(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
    labels: int,
) -> int:
    """With a coordinate for the position where order matters."""
    N, n, d, r, delta = _points(contexts, multisets, mixed, length, dimension, radius, distance)
    return sizes.bit_extraction_size(N, n, d, labels, r, delta).parameters


def theorem_d_1_size(
    multisets: int, length: int, dimension: int, radius: float, distance: float, labels: int
) -> int:
    r, delta = _separated(radius, distance)
    return sizes.deep_sets_size(multisets, length, dimension, labels, r, delta).parameters


def theorem_e_1_size(multisets: int, length: int, vocabulary: int, labels: int) -> int:
    return sizes.embedding_size(multisets, length, vocabulary, labels).parameters


def theorem_f_1_size(
    contexts: int,
    multisets: int,
    mixed: int,
    length: int,
    dimension: int,
    radius: float,
    distance: float,
    labels: int,
    bits: int,
) -> int:
    """With the keys of Theorem 4.1; those that a search finds are shorter."""
    N, n, d, r, delta = _points(contexts, multisets, mixed, length, dimension, radius, distance)
    tokens = N, sizes.token_key_bits(n * N, d, r, delta), sizes.largest_value(N, N).bit_length()
    ids = N, sizes.context_key_bits(N, n, d, r, delta), labels.bit_length()
    least = max(*tokens[1:], *ids[1:]) + 3
    if bits < least:
        raise AssumptionError(f"the keys of the proof take {least} bits per parameter, not {bits}.")
    return sizes.limited_bits_size(bits, tokens, ids).parameters


def theorem_4_2_sequences(
    parameters: int, layers: int | None = None, width: int | None = None
) -> int:
    """A model of known sizes has layers x width units."""
    units = None if layers is None or width is None else layers * width
    return sign_patterns.theorem_4_2_points(parameters, units)


def theorem_4_3_labels(
    dimension: int,
    heads: int,
    head_dimension: int,
    width: int,
    layers: int,
    vocabulary: int,
    length: int,
) -> int:
    """The embedding of tokens and positions is E_in of one-hot vectors."""
    blocks = sign_patterns.Blocks(
        dimension, heads, head_dimension, width, layers, inputs=vocabulary + length
    )
    return sign_patterns.theorem_4_3_tokens(blocks, length)


def uniform_attention(
    contexts: int,
    vocabulary: int,
    length: int,
    positions: bool | None = None,
    dimension: int | None = None,
    failures: int | None = None,
) -> int:
    """Where order counts, tokens at different positions are different tokens for E_in."""
    tokens = vocabulary * (1 if positions is False else length)
    coordinates = max(tokens, (dimension or 1) + (positions is not False))
    return sign_patterns.uniform_attention(contexts, tokens, coordinates, failures or 0)


def frequencies(
    sequences: int,
    contexts: int,
    labels: int,
    code_length: float,
    vocabulary: int,
    length: int,
    positions: bool | None = None,
    dimension: int | None = None,
) -> int:
    """The same for two labels as frequent as those of the data, if it repeats no context.

    N contexts have at least 2^(code length) / (N + 1) such labellings.
    """
    if labels != 2 or sequences != contexts:
        raise AssumptionError("it is about two labels, each context once.")
    failure = contexts - math.floor(code_length - math.log2(contexts + 1))
    if failure >= contexts:
        raise AssumptionError("these labels hold no information.")
    more = positions, dimension, max(0, failure)
    return uniform_attention(contexts, vocabulary, length, *more)


ITEMS = items(
    PAPER,
    THEOREM_4_1=(theorem_4_1_size, NEXT_TOKEN, CONSISTENT),
    COROLLARY_4_1=(theorem_4_1_size, EVERY_TOKEN, CONSISTENT),
    THEOREM_D_1=(theorem_d_1_size, NEXT_TOKEN, CONSISTENT, SAME_SETS),
    THEOREM_E_1=(theorem_e_1_size, NEXT_TOKEN, CONSISTENT, SAME_SETS),
    THEOREM_F_1=(theorem_f_1_size, NEXT_TOKEN, CONSISTENT),
    THEOREM_4_2=(
        lambda contexts, vocabulary, dimension=None: sign_patterns.theorem_4_2(
            points := min(contexts, vocabulary), max(points, dimension or 1)
        ),
        RELU,
    ),
    UNIFORM=(uniform_attention, RELU, AVERAGING),
    FREQUENCIES=(frequencies, RELU, AVERAGING),
    THEOREM_4_2_MODEL=(theorem_4_2_sequences, RELU, BLOCKS),
    THEOREM_4_3=(
        lambda sequences, contexts, length, every: sign_patterns.theorem_4_3(
            sequences if every else contexts, length, contexts
        ),
        RELU,
        HARD,
    ),
    THEOREM_4_3_MODEL=(theorem_4_3_labels, RELU, HARD, BLOCKS),
    REMARK_4_4=(bits_needed,),
    REMARK_4_4_PARAMETERS=(parameters_of_bits,),
    REMARK_4_4_MODEL=(bits_held,),
    REMARK_4_4_CONTEXTS=(contexts_held,),
    FOOTNOTE_2=(
        lambda contexts, length: math.sqrt(contexts * math.log(length * contexts)),
        NEXT_TOKEN,
    ),
)
