"""What differs between two exact networks of one shape: parameters and bits, stage by stage."""

from ..claims.location import Difference, Place, StageDifference
from .network import Dyadic, Network, SparseAttention
from .stages import stages as stages_of

ZERO = Dyadic(0, 0)


def difference(one: Network, two: Network) -> Difference | None:
    if _shape(one) != _shape(two):
        return None
    first, second = (
        {Place(*parameter[:4]): parameter.value for parameter in network.parameters()}
        for network in (one, two)
    )
    keys = sorted(first.keys() | second.keys())
    flips = {
        key: flipped(first.get(key, ZERO), second.get(key, ZERO))
        for key in keys
        if first.get(key, ZERO) != second.get(key, ZERO)
    }
    stages = []
    for stage in stages_of(one):
        own = {i for a, b in stage.runs for i in range(a, b + 1)}
        bits = [flips[place] for place in flips if place.layer in own]
        count = sum(place.layer in own for place in keys)
        stages.append(StageDifference(stage.name, count, len(bits), sum(bits)))
    return Difference(tuple(flips), tuple(stages))


def flipped(one: Dyadic, two: Dyadic) -> int:
    """Bits that differ in plain notation: sign, and binary digits over a common denominator."""
    low = min(one.exponent, two.exponent)
    whole = [abs(x.mantissa) << (x.exponent - low) for x in (one, two)]
    return (whole[0] ^ whole[1]).bit_count() + ((one.mantissa < 0) != (two.mantissa < 0))


def _shape(network: Network) -> list:
    return [
        (
            layer.kind,
            layer.stage,
            layer.connections if isinstance(layer, SparseAttention) else (),
            {name: (x.rows, x.columns) for name, x in layer.tensors.items()},
        )
        for layer in network.layers
    ]
