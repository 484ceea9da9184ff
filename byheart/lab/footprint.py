"""What a trial needs in memory, estimated before it starts."""

import math

from ..architectures import Architecture
from .problem import Problem, size_of
from .protocol import Protocol
from .trial import Trial

PROCESS = 300_000_000  # bytes of a worker that trains next to nothing; libraries are shared
SINGLE, DOUBLE = 4, 8


def bytes_of(trial: Trial, problem: Problem) -> int:
    """An estimate, rather too large, of the most that a worker holds at one time.

    Of a parameter: its weight, gradient and two moments, three numbers for a step; SOAP turns them
    and keeps more (19 were seen).
    """
    architecture = trial.architecture_for(problem)
    turned = [x.turned for x in trial.protocol.attempts if x.optimiser == "soap"]
    return (
        PROCESS
        + size_of(problem)
        + SINGLE * (20 if turned else 7) * architecture.parameters
        + (SINGLE * _preconditioners(architecture, max(turned)) if turned else 0)
        + len(problem) * _each(architecture, problem)
        + _drawn(trial.protocol, problem)
    )


def _preconditioners(architecture: Architecture, longest: int) -> int:
    """Numbers of SOAP: a matrix and its basis for each side, and four to turn the largest."""
    shapes = [shape for shape in architecture.tensors.values() if len(shape) > 1]
    sides = [side for shape in shapes for side in shape if side <= longest]
    return 2 * sum(side * side for side in sides) + 4 * max(sides, default=0) ** 2


def _drawn(protocol: Protocol, problem: Problem) -> int:
    """Bytes of the batches that are drawn before training, and of the indices kept for each."""
    if protocol.batch is None or protocol.batches is None:
        return 0
    rows = protocol.batches * min(protocol.batch, len(problem.count))
    return rows * DOUBLE * (3 * problem.length + 12)


def _each(architecture: Architecture, problem: Problem) -> int:
    """Bytes of one context: activations with their gradients, and the loss in doubles."""
    sizes = {name: size for name, size in architecture.sizes.items() if isinstance(size, int)}
    lanes = sizes["heads"] * sizes["head_dimension"]
    inputs = math.prod(problem.tokens.shape[1:])  # numbers that are read
    numbers = (
        sizes["length"] * (4 * sizes["dimension"] + 2 * sizes["heads"])
        + 4 * lanes
        + sizes["layers"] * (4 * sizes["width"] + 4 * sizes["dimension"])
        + inputs
    )
    return SINGLE * numbers + (2 * SINGLE + 3 * DOUBLE) * problem.outputs
