"""The rows of madden2024."""

from ..item import Assumption, named
from ..question import ANALYTIC
from . import capacity
from .capacity import theorem_1

PAPER = "madden2024"
DISTRIBUTIONS = "parameters (distributions)"
ANY = "For any distributions over the labels of these contexts."
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

ITEMS = named(
    ("LEMMA_1", PAPER, "Lemma 1", "architecture", "theorem", "at_most", "contexts", "k / (ω - 1)",
     capacity.lemma_1, (), "Memory capacity: contexts that can have any distributions."),
    ("LEMMA_1_DATA", PAPER, "Lemma 1", "data", "theorem", "at_least", DISTRIBUTIONS, "n (ω - 1)",
     capacity.lemma_1_parameters, (), ANY, 1),
    ("LEMMA_2", PAPER, "Lemma 2", "data", "theorem", "at_least", "nats of loss", "H",
     lambda entropy: entropy, (), "Cross-entropy, summed over all predictions; no model has less."),
    ("THEOREM_1", PAPER, "Theorem 1", "architecture", "theorem", "at_most", "contexts",
     "(2 + 1 / (ω - 1)) k / (ω - 1) + 1",
     lambda parameters, outputs: theorem_1(parameters, outputs).limit, (DEFINABLE, LONG_ENOUGH),
     "Some data counted from documents, with no more contexts, is not memorised."),
    ("THEOREM_1_DATA", PAPER, "Theorem 1", "data", "theorem", "at_least", DISTRIBUTIONS,
     "n (ω - 1) / (2 + 1 / (ω - 1))", capacity.theorem_1_parameters, (DEFINABLE,),
     "Fewer fail on some data of no more contexts, counted from documents.", 1),
    ("THEOREM_5", PAPER, "Theorem 5", "architecture", "theorem", "at_least", "contexts",
     "Ω(k / (ω - 1))", lambda width: width, (ONE_LAYER, SOFTMAX, NO_POLYNOMIAL),
     "Memory capacity: as many as neurons."),
    ("THEOREM_5_DATA", PAPER, "Theorem 5", "data", "theorem", "at_most", DISTRIBUTIONS, "O(ω n)",
     capacity.theorem_5_parameters, (),
     "Enough for any distributions: one layer, softmax attention, d = 1.", 1),
    ("THEOREM_7_DATA", PAPER, "Theorem 7", "data", "theorem", "at_most", DISTRIBUTIONS, "O(ω n)",
     capacity.theorem_7_parameters, (),
     "Enough with a weighted sum of tokens in place of attention.", 1),
    ("EMPIRICAL", PAPER, "Lemma 2 applied to Theorem 5", "architecture", "theorem", "at_least",
     "contexts", "Ω(k / (ω - 1))", lambda width: width, (ONE_LAYER, SOFTMAX, NO_POLYNOMIAL),
     "The infimum of the loss is the entropy, for all data of this many contexts."),
    ("RATIO", PAPER, "eq. (3)", "architecture", "theorem", "at_most", "upper / lower bound",
     "1 + (d + 2) / (ω - 1) + ...", capacity.ratio, (ONE_LAYER, SOFTMAX, NO_POLYNOMIAL),
     "Lemma 1 over Theorem 5."),
)  # fmt: skip
