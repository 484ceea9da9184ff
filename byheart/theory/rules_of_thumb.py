"""The rows of rules of thumb: measured on trained models, not theorems."""

from .information import ALLENZHU_2024, MORRIS_2025, bits_of, parameters_for
from .item import Item, listed
from .kajitsuka2025.items import LABELS

RULE = "rule_of_thumb"
MEASURED = "Measured on trained models; proves nothing."

ALLENZHU = Item(
    "allenzhu2024", "2 bits per parameter", "architecture", RULE, "at_most", "bits", "2 k",
    lambda parameters: bits_of(parameters, ALLENZHU_2024), (), MEASURED,
)  # fmt: skip
ALLENZHU_DATA = Item(
    "allenzhu2024", "2 bits per parameter", "data", RULE, "at_least", LABELS,
    "n log2 C / 2", lambda contexts, labels: parameters_for(contexts, labels, ALLENZHU_2024), (),
    MEASURED, 1,
)  # fmt: skip
MORRIS = Item(
    "morris2025", "3.6 bits per parameter", "architecture", RULE, "at_most", "bits", "3.6 k",
    lambda parameters: bits_of(parameters, MORRIS_2025), (), MEASURED,
)  # fmt: skip
MORRIS_DATA = Item(
    "morris2025", "3.6 bits per parameter", "data", RULE, "at_least", LABELS,
    "n log2 C / 3.6", lambda contexts, labels: parameters_for(contexts, labels, MORRIS_2025), (),
    MEASURED, 1,
)  # fmt: skip

ITEMS = listed(globals())
