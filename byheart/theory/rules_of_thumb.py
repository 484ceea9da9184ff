"""The rows of rules of thumb: measured on trained models, not theorems."""

from .information import ALLENZHU_2024, MORRIS_2025, bits_held, parameters_of_bits
from .item import named
from .kajitsuka2025.items import LABELS

RULE = "rule_of_thumb"
MEASURED = "Measured on trained models; proves nothing."


def _rule(name: str, paper: str, rate: float) -> tuple[tuple, tuple]:
    """The bits that parameters hold, and the parameters that labels need, at `rate` bits each."""
    item = f"{rate:g} bits per parameter"
    return (
        (name, paper, item, "architecture", RULE, "at_most", "bits", f"{rate:g} k",
         lambda parameters: bits_held(parameters, rate), (), MEASURED),
        (f"{name}_DATA", paper, item, "data", RULE, "at_least", LABELS, f"n log2 C / {rate:g}",
         lambda contexts, labels: parameters_of_bits(contexts, labels, rate), (), MEASURED, 1),
    )  # fmt: skip


ITEMS = named(
    *_rule("ALLENZHU", "allenzhu2024", ALLENZHU_2024), *_rule("MORRIS", "morris2025", MORRIS_2025)
)
