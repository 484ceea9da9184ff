"""Editors of language models, written here from their papers: each takes an `Edit` and a strength.

`METHODS` names them, with the strengths that a search tries. They change a copy of the model; what
they were given and what they cost is measured by the benchmark that calls them.
"""

from .editing import Edit
from .finetuning import finetuned, finetuned_matrix
from .memit import memit
from .rome import rome

METHODS = {
    "MEMIT-like": (memit, (0.1, 1.0, 10.0, 100.0, 1000.0)),
    "fine-tuning, all weights": (finetuned, (1e-3, 3e-3)),
    "ROME-like": (rome, (0.3, 1.0)),
    "fine-tuning, one matrix": (finetuned_matrix, (1e-3, 3e-3)),
}

__all__ = ["METHODS", "Edit"]
