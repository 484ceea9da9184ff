"""The rows of rules of thumb: measured on trained models, not theorems."""

from .information import ALLENZHU_2024, MORRIS_2025, bits_held, parameters_of_bits
from .item import Item, listed
from .kajitsuka2025.items import LABELS

RULE = "rule_of_thumb"
MEASURED = "Measured on trained models; proves nothing."


def _rule(paper: str, rate: float) -> tuple[Item, Item]:
    """The bits that parameters hold, and the parameters that labels need, at `rate` bits each."""
    item = f"{rate:g} bits per parameter"
    return Item(
        paper, item, "architecture", RULE, "at_most", "bits", f"{rate:g} k",
        lambda parameters: bits_held(parameters, rate), (), MEASURED,
    ), Item(
        paper, item, "data", RULE, "at_least", LABELS, f"n log2 C / {rate:g}",
        lambda contexts, labels: parameters_of_bits(contexts, labels, rate), (), MEASURED, 1,
    )  # fmt: skip


ALLENZHU, ALLENZHU_DATA = _rule("allenzhu2024", ALLENZHU_2024)
MORRIS, MORRIS_DATA = _rule("morris2025", MORRIS_2025)

ITEMS = listed(globals())
