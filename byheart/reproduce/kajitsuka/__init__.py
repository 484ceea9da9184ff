"""The experiments of kajitsuka2025 (Appendix H): deep and narrow, one uniform attention layer.

sweeps    what is trained, on which data
curves    Figures 1 and 2: loss and accuracy during training
blocks    the fewest blocks that memorise, as a bisection found them
growth    Figure 3: they grow with the number of sequences
length    the last experiment: the length of sequences grows
findings  the results, in sentences
"""

from .curves import KAJITSUKA_1, KAJITSUKA_2
from .findings import findings
from .growth import KAJITSUKA_3
from .length import KAJITSUKA_LENGTH

__all__ = ["KAJITSUKA", "findings"]

KAJITSUKA = (KAJITSUKA_1, KAJITSUKA_2, KAJITSUKA_3, KAJITSUKA_LENGTH)
