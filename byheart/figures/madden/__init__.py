"""The figures of madden2024: how large a decoder of one layer must be to memorise stories."""

from .feed_forward import MADDEN_2
from .whole import MADDEN_1

MADDEN = (MADDEN_1, MADDEN_2)
