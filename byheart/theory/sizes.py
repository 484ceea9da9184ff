"""Refuse sizes that no architecture has, before anything divides by them."""

from ..errors import AssumptionError


def check(**sizes: tuple[int, int]) -> None:
    """A1: each size and the least that it may be."""
    for name, (size, least) in sizes.items():
        if size < least:
            said = name.replace("_", " ")
            raise AssumptionError(f"A1 fails: the {said} must be at least {least}, not {size}.")


def check_heads(heads: int, head_dimension: int, dimension: int) -> None:
    check(heads=(heads, 0), head_dimension=(head_dimension, 1), dimension=(dimension, 1))
    if head_dimension > dimension:
        raise AssumptionError(
            f"A2 fails: heads have dimension {head_dimension}, above {dimension}, and no more rank "
            f"than {dimension}; take a head dimension of at most {dimension}."
        )
