"""The experiments of kajitsuka2025 (Appendix H): deep and narrow, one uniform attention layer."""

from .curves import KAJITSUKA_1, KAJITSUKA_2
from .findings import findings
from .growth import KAJITSUKA_3
from .length import KAJITSUKA_LENGTH

__all__ = ["KAJITSUKA", "findings"]

KAJITSUKA = (KAJITSUKA_1, KAJITSUKA_2, KAJITSUKA_3, KAJITSUKA_LENGTH)
