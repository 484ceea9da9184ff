"""The experiments of kajitsuka2025 (Appendix H): deep and narrow, one uniform attention layer.

parts     what is trained, on which data
curves    Figures 1 and 2: loss and accuracy during training
smallest  the fewest blocks, as a bisection found them
growth    Figure 3: they grow with the number of sequences
findings  what came out of these, in sentences
length    the last experiment: the length of sequences grows
"""

from .curves import KAJITSUKA_1, KAJITSUKA_2
from .findings import findings
from .growth import KAJITSUKA_3
from .length import KAJITSUKA_LENGTH

__all__ = ["KAJITSUKA", "findings"]

KAJITSUKA = (KAJITSUKA_1, KAJITSUKA_2, KAJITSUKA_3, KAJITSUKA_LENGTH)
