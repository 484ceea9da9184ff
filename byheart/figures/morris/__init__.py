"""Capacity in bits per parameter, as Morris et al. (2025) measure it, at small sizes.

Small stock GPT-2 models are trained on uniform random tokens, of which nothing but memory can
predict any. Each size is trained on two numbers of sequences, whose information is more than it
can hold: if it memorises as many bits of both, and twice the steps change them by no more than
2 %, that is its capacity. Beside them stand compiled models, per parameter and per stored bit.
"""

from .drawing import MORRIS_CAPACITY

__all__ = ["MORRIS_CAPACITY"]
