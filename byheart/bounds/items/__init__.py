"""The numbered statements as rows, one file a paper."""

from . import dana2024, kajitsuka2025, madden2024, related, rules_of_thumb

__all__ = ["dana2024", "kajitsuka2025", "madden2024", "related", "rules_of_thumb"]
