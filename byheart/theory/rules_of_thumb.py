"""The rows of rules of thumb: measured on trained models, not theorems."""

from .information import ALLENZHU_2024, bits_held, morris_2025, parameters_of_bits
from .item import items

ITEMS = items(
    "rules of thumb",
    ALLENZHU=(lambda parameters: bits_held(parameters, ALLENZHU_2024),),
    ALLENZHU_DATA=(lambda contexts, labels: parameters_of_bits(contexts, labels, ALLENZHU_2024),),
    MORRIS=(lambda parameters, bits=None: bits_held(parameters, morris_2025(bits)),),
    MORRIS_DATA=(
        lambda contexts, labels, bits=None: parameters_of_bits(contexts, labels, morris_2025(bits)),
    ),
)
