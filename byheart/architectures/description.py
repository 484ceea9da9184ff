"""Architecture: a description, tensor by tensor, with its exact parameter count."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ByheartError

Tensors = dict[str, tuple[int, ...]]
Sizes = dict[str, int | str]


@dataclass(frozen=True)
class Architecture:
    """An architecture with its sizes."""

    name: str  # by which it is known here
    reference: str  # paper and item
    formula: str  # of its output
    tensors: Tensors  # the learnt tensors, with their shapes
    sizes: Mapping[str, int | str]  # facts for bounds, by the names of byheart.theory
    fixed: Tensors = field(default_factory=dict)  # tensors that are neither learnt nor counted

    def __post_init__(self) -> None:
        for name, shape in (self.tensors | self.fixed).items():
            if min(shape) < 1:
                raise ByheartError(f"{self.name}: {name} would be {shape}; sizes are 1 or more.")

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for shape in self.tensors.values())


def sizes_of(
    family: str, vocabulary: int, length: int, dimension: int, width: int, **others: int | str
) -> Sizes:
    """The facts for bounds: one layer and head, GELU, positions, no bias of logits, or `others`."""
    return {
        "family": family, "vocabulary": vocabulary, "length": length, "dimension": dimension,
        "heads": 1, "head_dimension": dimension, "layers": 1, "width": width,
        "attention": "softmax", "activation": "gelu", "biased": False, "positions": True, **others,
    }  # fmt: skip
