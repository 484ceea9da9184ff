"""Decoder: a transformer of one layer that gives a distribution over the next token.

Its weights are real numbers: doubles, or dyadic numbers of any length. The tensors have the names
and the layout that PyTorch gives the same model (a linear layer is [outputs, inputs]), so a file of
them is an ordinary state dict. checker/FORMAT.md, section 9, defines what it computes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exact.network import Dyadic

Tensor = NDArray  # float64, or objects: Dyadic numbers
ATTENTION, TOKEN_SUM = "attention", "token_sum"
ACTIVATIONS = ("logistic", "tanh", "erf", "arctan", "gelu")
FORMULAS = {  # (mixing, whether there are neurons): the number of parameters
    (ATTENTION, True): "omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d",
    (ATTENTION, False): "2 m_0 (d_0 + d_1) d + (2 omega + T) d",
    (TOKEN_SUM, True): "omega m + m (d + 1) + omega d + T",
    (TOKEN_SUM, False): "2 omega d + T",
}
BLOCK = 1 << 20  # doubles whose sizes are computed at once


class Shape(NamedTuple):
    """The sizes of a decoder (madden2024, section 4)."""

    vocabulary: int  # omega: distinct tokens
    length: int  # T: the longest context
    dimension: int  # d: coordinates of an embedded token
    mixing: str  # "attention", or "token_sum": a weighted sum of the tokens
    heads: int  # m_0
    key_dimension: int  # d_1: of the queries and keys of a head
    value_dimension: int  # d_0: of the values of a head
    skip: bool  # whether the last token's vector is added to the attention
    neurons: int  # m; 0: none, the output matrix reads the attention itself (dana2024, eq. (2))
    activation: str  # one of ACTIVATIONS (gelu: x times the normal distribution function), or none
    # the number of a reserved token that fills up shorter contexts, at the front; None: contexts of
    # all lengths are read as they are
    padding: int | None = None

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor by its name, in the order of the file format."""
        d = self.dimension
        keys, values = self.heads * self.key_dimension, self.heads * self.value_dimension
        attention: dict[str, tuple[int, ...]] = {
            "positions.weight": (self.length, d),
            "attention.query.weight": (keys, d),
            "attention.key.weight": (keys, d),
            "attention.value.weight": (values, d),
            "attention.out.weight": (d, values),
        }
        hidden: dict[str, tuple[int, ...]] = {
            "hidden.weight": (self.neurons, d),
            "hidden.bias": (self.neurons,),
        }
        return {
            "embedding.weight": (self.vocabulary, d),
            **(attention if self.mixing == ATTENTION else {"token_sum.weight": (self.length,)}),
            **(hidden if self.neurons else {}),
            "output.weight": (self.vocabulary, self.neurons or d),
        }

    @property
    def parameters(self) -> int:
        """The number that `formula` gives."""
        return sum(int(np.prod(shape, dtype=object)) for shape in self.tensors.values())

    @property
    def formula(self) -> str:
        """The number of parameters in the letters above (madden2024, before eq. (3))."""
        return FORMULAS[self.mixing, self.neurons > 0]


@dataclass(frozen=True, eq=False)
class Decoder:
    """softmax(V^T psi(W^T h_2 + b)) with the tensors of Shape.tensors (madden2024, eq. (2))."""

    shape: Shape
    tensors: Mapping[str, Tensor]
    every: ClassVar[bool] = False  # one answer per sequence
    depth: ClassVar[int] = 1  # transformer layers

    @property
    def length(self) -> int:
        return self.shape.length

    @property
    def units(self) -> int:
        return self.shape.neurons + self.shape.heads

    def __post_init__(self) -> None:
        # row after row in memory, as other programs expect an array that they are given
        rows = {name: np.ascontiguousarray(tensor) for name, tensor in self.tensors.items()}
        object.__setattr__(self, "tensors", rows)
        shapes = {name: tensor.shape for name, tensor in self.tensors.items()}
        if shapes != self.shape.tensors:  # compiled loops rely on it
            raise AssertionError(f"{shapes} is not {self.shape.tensors}")
        types = {tensor.dtype for tensor in self.tensors.values()}
        if types not in ({np.dtype(np.float64)}, {np.dtype(object)}):
            raise AssertionError(f"tensors of {types}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decoder):
            return False
        same = (self.shape, self.number) == (other.shape, other.number)
        return same and all(np.array_equal(x, other.tensors[n]) for n, x in self.tensors.items())

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of that name; ".weight" may be left out."""
        return self.tensors[name if name in self.tensors else f"{name}.weight"]

    @property
    def number(self) -> str:
        """How its weights are stored: "float64" or "dyadic"."""
        return "float64" if self["output"].dtype == np.float64 else "dyadic"

    @property
    def width(self) -> int:
        """Coordinates of an embedded token."""
        return self.shape.dimension

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """The `parameters` and `bits` of checker/FORMAT.md, section 9, except those of the data."""
        return self._counts

    @cached_property
    def _counts(self) -> tuple[dict[str, int], dict[str, int]]:
        size = together(sizes(tensor.ravel()) for tensor in self.tensors.values())
        dense = self.shape.parameters
        parameters = {"nonzero": size.nonzero, "dense": dense, "counted": dense, "outside": 0}
        return parameters, {"total": size.total, "fixed": size.fixed, "largest": size.largest}


class Sizes(NamedTuple):
    """How much a tensor holds: bits coded, in plain notation, and those of its longest number."""

    nonzero: int
    total: int
    fixed: int
    largest: int


def together(parts: Iterable[Sizes]) -> Sizes:
    """The sizes of several tensors."""
    nonzero, total, fixed, largest = zip(*parts, strict=True)
    return Sizes(sum(nonzero), sum(total), sum(fixed), max(largest))


def sizes(values: Tensor) -> Sizes:
    """The sizes of a flat tensor of dyadic numbers or doubles (checker/FORMAT.md, section 4)."""
    if values.dtype == object:
        numbers: list[Dyadic] = [value for value in values.tolist() if value.mantissa]
        plain = [number.fixed_bits for number in numbers]
        total = sum(number.coded_bits for number in numbers)
        return Sizes(len(numbers), total, sum(plain), max(plain, default=0))
    parts = [Sizes(0, 0, 0, 0)]
    for i in range(0, len(values), BLOCK):
        block = values[i : i + BLOCK]
        block = block[block != 0]
        if not len(block):
            continue
        fraction, exponent = np.frexp(block)
        mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
        zeros = _digits(mantissa & -mantissa) - 1
        digits, exponent = 53 - zeros, exponent.astype(np.int64) - 53 + zeros
        coded = 1 + digits + np.where(exponent == 0, 0, 1 + _digits(abs(exponent)))
        fixed = np.where(exponent < 0, np.maximum(digits, -exponent), digits + exponent)
        parts.append(Sizes(len(block), int(coded.sum()), int(fixed.sum()), int(fixed.max())))
    return together(parts)


def _digits(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Binary digits of integers that are powers of two, or below 2^53."""
    return np.frexp(integers.astype(np.float64))[1].astype(np.int64)
