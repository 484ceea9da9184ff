"""The rows of madden2024."""

from ..item import Assumption, items
from ..question import ANALYTIC
from . import capacity
from .capacity import theorem_1

PAPER = "madden2024"
DISTRIBUTIONS = "parameters (distributions)"
DEFINABLE = Assumption(
    lambda activation: activation != "sine",
    "A3 fails: a sine is not definable in an o-minimal structure.",
)
LONG_ENOUGH = Assumption(
    lambda parameters, outputs, length: theorem_1(parameters, outputs).length <= length,
    "A3 fails: the data of the proof has contexts longer than {length}, which the model reads.",
)
ONE_LAYER = Assumption(
    lambda family: family == PAPER,
    "A4 fails: the model is not that of eq. (2), whose one layer of neurons is read by the output.",
)
SOFTMAX = Assumption(
    lambda attention: attention == "softmax", "A4 fails: attention is {attention}, not softmax."
)
NO_POLYNOMIAL = Assumption(
    lambda activation: activation in ANALYTIC,
    "A4 fails: {activation} is a polynomial wherever it is analytic.",
)
NEURONS = (ONE_LAYER, SOFTMAX, NO_POLYNOMIAL)

ITEMS = items(
    PAPER,
    LEMMA_1=(capacity.lemma_1,),
    LEMMA_1_DATA=(capacity.lemma_1_parameters,),
    LEMMA_2=(lambda entropy: entropy,),
    THEOREM_1=(
        lambda parameters, outputs: theorem_1(parameters, outputs).limit,
        DEFINABLE,
        LONG_ENOUGH,
    ),
    THEOREM_1_DATA=(capacity.theorem_1_parameters, DEFINABLE),
    THEOREM_5=(lambda width: width, *NEURONS),
    THEOREM_5_DATA=(capacity.theorem_5_parameters,),
    THEOREM_7_DATA=(capacity.theorem_7_parameters,),
    EMPIRICAL=(lambda width: width, *NEURONS),
    RATIO=(capacity.ratio, *NEURONS),
)
