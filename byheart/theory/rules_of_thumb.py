"""The rows of rules of thumb: measured on trained models, not theorems."""

from .information import ALLENZHU_2024, MORRIS_2025, bits_held, parameters_of_bits
from .item import items

ITEMS = items(
    "rules of thumb",
    ALLENZHU=(lambda parameters: bits_held(parameters, ALLENZHU_2024),),
    ALLENZHU_DATA=(lambda contexts, labels: parameters_of_bits(contexts, labels, ALLENZHU_2024),),
    MORRIS=(lambda parameters: bits_held(parameters, MORRIS_2025),),
    MORRIS_DATA=(lambda contexts, labels: parameters_of_bits(contexts, labels, MORRIS_2025),),
)
