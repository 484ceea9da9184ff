"""A1 and A2 of most items: sizes that no architecture has, refused before anything divides."""

from ..errors import AssumptionError


def check(**sizes: tuple[float, int]) -> None:
    """A1: each size is given with its least value."""
    for name, (size, least) in sizes.items():
        if size < least:
            words = name.replace("_", " ")
            raise AssumptionError(f"A1 fails: the {words} must be at least {least}, not {size}.")


def check_heads(heads: int, head_dimension: int, dimension: int) -> None:
    """A1, and A2: d_h <= d."""
    check(heads=(heads, 0), head_dimension=(head_dimension, 1), dimension=(dimension, 1))
    if head_dimension > dimension:
        raise AssumptionError(
            f"A2 fails: heads have dimension {head_dimension}, above {dimension}, with a rank of "
            f"at most {dimension}; take a head dimension of at most {dimension}."
        )
