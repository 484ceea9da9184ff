"""What models promise: one file per claim, and the list of them.

labels         the output for every sequence is its label, in exact arithmetic
distributions  every next-token distribution is within a gap of the data's, over the real numbers
"""

from ..claim import Answer, Claim, Judging, Words
from .distributions import Distributions
from .labels import Labels

__all__ = ["CLAIMS", "Answer", "Claim", "Distributions", "Judging", "Labels", "Words"]

CLAIMS: dict[str, type[Claim]] = {claim.name: claim for claim in (Labels, Distributions)}
