"""The experiments of kajitsuka2025 (Appendix H): deep and narrow, one uniform attention layer."""

from .curves import KAJITSUKA_1, KAJITSUKA_2
from .growth import KAJITSUKA_3
from .length import KAJITSUKA_LENGTH

KAJITSUKA = (KAJITSUKA_1, KAJITSUKA_2, KAJITSUKA_3, KAJITSUKA_LENGTH)
