"""The rows of related work, as the three papers cite it.

Of these papers only what is cited was read: an explicit number is a row of kind theorem, all else
is a rate. The row of mahdavi2024 differs from what dana2024 cites, and says so.
"""

import math

from .dana2024.associations import mahdavi_memory
from .item import Assumption, items
from .kajitsuka2025.items import EVERY_TOKEN, RELU
from .kajitsuka2025.sign_patterns import goldberg_jerrum

TWO_LABELS = Assumption(lambda labels: labels == 2, "the number of labels is {labels}, not two.")
SEPARATED = Assumption(lambda distance: distance > 0, "two tokens coincide: the distance is 0.")
NOT_SEPARATED = Assumption(
    lambda distance: not distance > 0,
    "the tokens are {distance:g} apart; for separated data fewer, sub-linear in N, are possible.",
)
VERY_NEAR = Assumption(
    lambda distance, radius, contexts: not distance > radius * 0.5 ** min(contexts, 1000),
    "the tokens are {distance:g} apart: not exponentially near in the number of contexts.",
)
SINGLE = Assumption(lambda length: length == 1, "it reads single tokens, not {length}.")
PATTERNS = Assumption(
    lambda length, dimension: length <= dimension,
    "it needs S <= d, and the length is {length}, the dimension {dimension}.",
)
ATTENTION_ONLY = Assumption(
    lambda family: family == "dana2024", "the model is not one layer of attention alone."
)

ITEMS = items(
    "related",
    NILSSON=(lambda contexts: max(1, contexts - 1), TWO_LABELS),
    BAUM=(lambda contexts, length, dimension: -(-contexts // (length * dimension)), TWO_LABELS),
    HUANG_BABRI=(lambda contexts: contexts,),
    GOLDBERG_JERRUM=(
        lambda contexts, length, dimension: goldberg_jerrum(contexts, length * dimension),
        RELU,
    ),
    SONTAG=(lambda contexts: contexts // 2, NOT_SEPARATED),
    SIEGEL=(lambda contexts: contexts, VERY_NEAR),
    BUBECK=(lambda contexts: contexts,),
    BUBECK_UNITS=(lambda contexts, length, dimension: 4 * -(-contexts // (length * dimension)),),
    BARTLETT=(None, RELU),
    ZHANG=(lambda contexts: contexts,),
    TAMURA=(lambda contexts: contexts,),
    PARK=(
        lambda contexts, distance, radius: (
            contexts ** (2 / 3) + math.log(max(1, radius / distance))
        ),
        SEPARATED,
    ),
    VARDI=(lambda contexts: math.sqrt(contexts * math.log(contexts)), SEPARATED),
    KIM=(lambda sequences, length: length + math.sqrt(length * sequences), EVERY_TOKEN, SEPARATED),
    KIM_ADAPTED=(
        lambda contexts, length: length + math.sqrt(contexts * math.log(contexts)),
        SEPARATED,
    ),
    HUBEN=(lambda contexts, length, union: 2 * (length + 1) * (length + union + contexts),),
    CABANNES=(lambda contexts: contexts**2, SINGLE),
    KAJITSUKA_2024=(
        lambda sequences, length, dimension: dimension * length * sequences + dimension**2,
        EVERY_TOKEN,
        SEPARATED,
    ),
    MAHDAVI=(lambda contexts, length: length * contexts,),
    MAHDAVI_MODEL=(mahdavi_memory, ATTENTION_ONLY, PATTERNS),
)
