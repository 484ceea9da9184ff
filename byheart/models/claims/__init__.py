"""What models promise: one file per claim, and the list of them."""

from ..claim import Answer, Claim, Words
from .distributions import Distributions
from .labels import Labels
from .recites import Recites

__all__ = ["CLAIMS", "Answer", "Claim", "Distributions", "Labels", "Recites", "Words"]

CLAIMS: dict[str, type[Claim]] = {claim.name: claim for claim in (Labels, Distributions, Recites)}
