"""The statements of the papers that can be checked for given numbers, data or a model.

checks.csv has their words: the statement, what a user gives, and an example.
"""

import csv
from collections.abc import Callable
from functools import partial
from importlib.resources import files

from ...theory.madden2024 import checks
from . import dana2024, kajitsuka2025, madden2024
from .base import Check, Outcome

RUNS: dict[str, Callable[..., Outcome]] = {
    "madden-theorem-2": madden2024.polynomial_rank,
    "madden-theorem-3": madden2024.activation_rank,
    "madden-theorem-4": partial(madden2024.injective, checks.theorem_4),
    "madden-theorem-6": partial(madden2024.injective, checks.theorem_6),
    "dana-assumption-1": dana2024.one_next_token,
    "dana-assumption-2": dana2024.full_support,
    "dana-theorem-1": partial(dana2024.features_rank, True),
    "dana-lemma-2": partial(dana2024.features_rank, False),
    "dana-lemma-4": dana2024.bounded_range,
    "separation": kajitsuka2025.token_separation,
    "contextual-mapping": kajitsuka2025.contextual_mapping,
}
_ROWS = csv.DictReader(files(__package__).joinpath("checks.csv").read_text("utf-8").splitlines())
CHECKS = {row["name"]: Check(**row, run=RUNS[row["name"]]) for row in _ROWS}
