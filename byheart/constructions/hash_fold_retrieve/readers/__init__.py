"""The form with readers: folds that read kept bits store the numbers, without tables.

layout    which fold does what, and which numbers a context adds up
plan      the counts of a network, and the plans to try
survey    many hashes, and how many numbers each of them needs
solve     the stored numbers, by backtracking
store     stored numbers with short sums, and the scale of the hash
assemble  weights
search    all of it

A number costs one parameter more than the fold that adds it, where a table needs rows, lanes and
gates. Folds are bits of the hash, which limits them: many numbers are better kept in tables.
"""

from .assemble import blocks
from .plan import expected_cost
from .search import Effort, Found, effort_for, first_plan, search
from .store import Solution

__all__ = [
    "Effort", "Found", "Solution", "blocks", "effort_for", "expected_cost", "first_plan", "search",
]  # fmt: skip
