"""The statements of the papers that can be checked for given numbers, data or a model."""

from . import dana2024, kajitsuka2025, madden2024
from .base import Check

CHECKS: dict[str, Check] = {
    x.name: x for x in (*madden2024.CHECKS, *dana2024.CHECKS, *kajitsuka2025.CHECKS)
}
