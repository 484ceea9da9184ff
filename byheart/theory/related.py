"""The rows of related work, as the three papers cite it.

Of these papers only what is cited was read: an explicit number is a row of kind theorem, all else
is a rate. The row of mahdavi2024 differs from what dana2024 cites, and says so.
"""

import math

from .dana2024.associations import mahdavi_memory
from .item import Assumption, named
from .kajitsuka2025.items import EVERY_TOKEN, LABELS, RELU
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

ITEMS = named(
    ("NILSSON", "nilsson1965", "as cited by kajitsuka2025", "data", "theorem", "at_most", "neurons",
     "N - 1", lambda contexts: max(1, contexts - 1), (TWO_LABELS,), "One hidden layer, any labels.",
     1),
    ("BAUM", "baum1988", "as cited by kajitsuka2025", "data", "theorem", "at_most", "neurons",
     "⌈N / d⌉", lambda contexts, length, dimension: -(-contexts // (length * dimension)),
     (TWO_LABELS,), "One hidden layer of threshold units, inputs in general position.", 1),
    ("BAUM_CAPACITY", "baum1988", "as cited by madden2024", "architecture", "rate", "at_least",
     "points", "≈ k", None, (), "Two layers of threshold units, labels ±1."),
    ("HUANG_BABRI", "huang1998", "as cited by madden2024", "data", "theorem", "at_most", "neurons",
     "N", lambda contexts: contexts, (),
     "One hidden layer; a bounded activation with a limit at one end.", 1),
    ("GOLDBERG_JERRUM", "goldberg1995", "by Lemma B.4 of kajitsuka2025", "data", "theorem",
     "at_least", LABELS, "Ω(sqrt(N))", lambda contexts: goldberg_jerrum(contexts), (RELU,),
     "Any two labels, a feed-forward ReLU network without attention.", 0.5),
    ("SONTAG", "sontag1997", "Theorem 1", "data", "theorem", "at_least", LABELS, "(N - 1) / 2",
     lambda contexts: contexts // 2, (NOT_SEPARATED,),
     "For all sets of N points, however near; analytic definable activations.", 1),
    ("SIEGEL", "siegel2024", "as cited by kajitsuka2025", "data", "rate", "at_least", LABELS,
     "Ω(N)", lambda contexts: contexts, (VERY_NEAR,), "Where points are exponentially near.", 1),
    ("YUN_MEMORY", "yun2019", "as cited by madden2024", "architecture", "rate", "at_least",
     "points", "≈ k", None, (), "ReLU networks, labels ±1."),
    ("YUN_UNIVERSAL", "yun2019", "as cited by kajitsuka2025", "data", "rate", "at_most", LABELS,
     "universal approximation", None, (), "Transformers; no count of parameters."),
    ("BUBECK", "bubeck2020", "as cited by madden2024", "data", "rate", "at_most", LABELS, "≈ N",
     lambda contexts: contexts, (), "ReLU networks of two layers, real outputs.", 1),
    ("BUBECK_UNITS", "bubeck2020", "its explicit count", "data", "theorem", "at_most", "neurons",
     "4 ⌈N / d⌉", lambda contexts, length, dimension: 4 * -(-contexts // (length * dimension)), (),
     "One hidden layer of ReLU units, real labels, inputs in general position. Known from memory, "
     "not from the text; the method bubeck2020 builds it.", 1),
    ("BARTLETT", "bartlett2019", "as cited by kajitsuka2025", "data", "rate", "at_least", LABELS,
     "W with W L log W = Ω(N)", None, (RELU,),
     "Feed-forward ReLU networks of W weights and L layers; kajitsuka2025 calls W the width."),
    ("CHEN_ZOU", "chen2024", "as cited by kajitsuka2025", "data", "rate", "at_most", "layers",
     "1, with enough zero padding", None, (), "Transformers; no count of parameters is cited."),
    ("ZHANG", "zhang2021", "as cited by kajitsuka2025", "data", "rate", "at_most", LABELS, "O(N)",
     lambda contexts: contexts, (), "One hidden layer, more general activations than thresholds. "
     "Its own count, 2 N + d, has the weight vector that all units share once (docs/errata.md).",
     1),
    ("TAMURA", "tamura1991", "as cited by madden2024", "data", "rate", "at_most", "neurons", "N",
     lambda contexts: contexts, (), "One hidden layer of logistic units: Theorem 3 for them.", 1),
    ("MADDEN_THRAMPOULIDIS", "maddenthrampoulidis2024", "as cited by madden2024", "architecture",
     "rate", "at_least", "points", "≈ k", None, (), "Two layers, any activation that is analytic "
     "at a point and no polynomial of low degree; real outputs."),
    ("PARK", "park2021", "as cited by kajitsuka2025", "data", "rate", "at_most", LABELS,
     "O(N^(2/3) + log(1 / δ))",
     lambda contexts, distance, radius: contexts ** (2 / 3) + math.log(max(1, radius / distance)),
     (SEPARATED,), "Feed-forward networks, points δ apart; kajitsuka2025 has log δ.", 2 / 3),
    ("VARDI", "vardi2022", "as cited by kajitsuka2025", "data", "rate", "at_most", LABELS,
     "O(sqrt(N log N))", lambda contexts: math.sqrt(contexts * math.log(contexts)), (SEPARATED,),
     "Feed-forward ReLU networks, points δ apart.", 0.5),
    ("KIM", "kim2023", "as cited by kajitsuka2025", "data", "rate", "at_most", LABELS,
     "Õ(n + sqrt(nN))", lambda sequences, length: length + math.sqrt(length * sequences),
     (EVERY_TOKEN, SEPARATED), "Transformers of as many layers.", 0.5),
    ("KIM_ADAPTED", "kim2023", "Theorem 4.1, adapted by dana2024", "data", "rate", "at_most",
     LABELS, "O(S + N + sqrt(T_0 log T_0))",
     lambda contexts, length: length + math.sqrt(contexts * math.log(contexts)), (SEPARATED,),
     "N is the vocabulary: its embedding.", 0.5),
    ("HUBEN", "huben2023", "as cited by dana2024", "data", "rate", "at_most", LABELS,
     "O((d + S) (S + N + T_0))",
     lambda contexts, length, union: 2 * (length + 1) * (length + union + contexts), (),
     "A head for each neuron; d_h >= 1 + S, d >= 2 + S.", 1),
    ("HUBEN_APPROXIMATE", "huben2023", "section 6 of dana2024, with bubeck2020", "data", "rate",
     "at_most", "parameters (distributions)",
     "O(log(1 / ε) T_ε log(T_ε) / log(d / log(T_ε)) (1 + S / d) + (d + S) (S + N))", None, (),
     "Within ε, by heads that simulate the neurons of bubeck2020; competitive with Theorem 1 of "
     "dana2024 where S log(N) log(1 / ε) = O(d log(d))."),
    ("CABANNES", "cabannes2024", "as cited by dana2024", "data", "theorem", "at_most", LABELS,
     "T_0^2", lambda contexts: contexts**2, (SINGLE,), "A linear associative memory, d = T_0. Far "
     "from the best: 100 associations fit into d = 24 (docs/errata.md).", 2),
    ("KAJITSUKA_2024", "kajitsuka2024", "Table 1 of kajitsuka2025", "data", "rate", "at_most",
     LABELS, "O(dnN + d^2)",
     lambda sequences, length, dimension: dimension * length * sequences + dimension**2,
     (EVERY_TOKEN, SEPARATED), "One layer of softmax attention with one head.", 1),
    ("MAHDAVI", "mahdavi2024", "Table 1 of kajitsuka2025", "data", "rate", "at_most", LABELS,
     "O(d^2 N / n)", lambda contexts, length: length * contexts, (),
     "One layer, linearly independent inputs, d > n.", 1),
    ("MAHDAVI_MODEL", "mahdavi2024", "Theorem 1", "architecture", "theorem", "at_least", "contexts",
     "H (min(n, d_h) - 1) + 1", mahdavi_memory, (ATTENTION_ONLY, PATTERNS), "One label per "
     "context, any n queries independent, n the length. The constants are from memory: only the "
     "abstract, Ω(H n), and public reviews were at hand, not the full text."),
)  # fmt: skip
