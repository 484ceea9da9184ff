"""Editors of language models, written here from their papers: each takes an `Edit` and a strength.

`METHODS` names them, with the strengths that a search tries, and whether it also tries every block.
They change a copy of the model; what they were given and what they cost is measured by the
benchmark that calls them.
"""

from .editing import Edit
from .finetuning import finetuned, finetuned_matrix
from .memit import memit, memit_all
from .rome import rome

METHODS = {
    "MEMIT-like, one block": (memit, (0.1, 1.0, 10.0, 100.0, 1000.0), True),
    "MEMIT-like, all blocks": (memit_all, (1.0, 10.0, 30.0, 100.0, 300.0), False),
    "fine-tuning, all weights": (finetuned, (1e-3, 3e-3), False),
    "ROME-like": (rome, (0.3, 1.0), True),
    "fine-tuning, one matrix": (finetuned_matrix, (1e-3, 3e-3), True),
}

__all__ = ["METHODS", "Edit"]
