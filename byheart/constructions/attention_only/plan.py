"""The sizes of an attention-only transformer, and the data as it reads them."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...data.targets import Targets, Word
from ...encoders import certain
from ...encoders.encoder import merged
from ...errors import AssumptionError
from ...gadgets.heads import rows
from ...machine.memory import SMALLER, require
from ...softmax.decoder import ATTENTION, Shape
from ...theory.dana2024.ranks import Tokens, rank_limit, tokens
from ..families import AttentionDecoder

DIMENSION, LARGEST_DIMENSION = 10, 64  # of associations, and of distributions if none is named


class Plan(NamedTuple):
    """What is to be built.

    targets  contexts of one length, at least 2; padded if they were not
    shape    of the decoder
    needed   heads that are needed for `contexts` independent ones
    """

    targets: Targets
    shape: Shape
    needed: int


def plan(
    name: str,
    targets: Targets,
    options: AttentionDecoder,
    contexts: int | None = None,
    skip: bool = False,
) -> Plan:
    """Sizes for so many contexts (default: all), as the options have them or as few as suffice.

    skip  whether the skip connection counts as d features
    """
    padding = len(targets.vocabulary) if _uneven(targets) else None
    targets = one_length(targets)
    found = tokens(rows(targets).tolist())
    d = options.dimension or dimension(targets, found, options.tight)
    size = _head_dimension(found, d, options)
    needed = heads_needed(targets, size, d, skip, contexts)
    shape = Shape(
        len(targets.vocabulary), targets.length, d, ATTENTION, options.heads or needed, size, size,
        True, 0, "none", padding,
    )  # fmt: skip
    check_memory(name, shape, len(targets))
    return Plan(targets, shape, needed)


def _uneven(targets: Targets) -> bool:
    """Whether contexts must be padded: lengths differ, or are 1, where attention has no choice."""
    lengths = np.diff(targets.starts)
    return bool((lengths != lengths[0]).any() or lengths[0] == 1)


def one_length(targets: Targets) -> Targets:
    """The contexts filled up at the front with a reserved token, if they must be."""
    if not _uneven(targets):
        return targets
    token = len(targets.vocabulary)
    padded = targets.padded(token, max(2, targets.length))
    return replace(padded, vocabulary=(*targets.vocabulary, reserved(targets.vocabulary)))


def reserved(vocabulary: tuple[Word, ...]) -> str:
    """A word that is not in the vocabulary: "<pad>", or "<pad-1>" if it is."""
    known, word, number = set(vocabulary), "<pad>", 0
    while word in known:
        number += 1
        word = f"<pad-{number}>"
    return word


def dimension(targets: Targets, found: Tokens, tight: bool) -> int:
    """What is enough for the gap where LARGEST_DIMENSION allows it, at least 2.

    Associations need 2 and are well conditioned from 8 on; more than N + S - 2 would be idle. Other
    distributions need N - 1, or as many as there are distinct ones. The skip connection (tight) can
    give no more than there are last tokens.
    """
    distinct = len(merged(targets).targets)
    lossless = min(len(targets.vocabulary) - 1, distinct)
    if certain(targets):
        d = min(DIMENSION, found.distinct + found.length - 2)
    else:
        d = min(LARGEST_DIMENSION, lossless)
    return max(2, min(d, found.last) if tight else d)


def _head_dimension(found: Tokens, d: int, options: AttentionDecoder) -> int:
    """d_h = d, or the rank that a head can have if that is less (bounds/ranks.py)."""
    if options.head_dimension is None:
        rank = found.distinct + found.length - found.components - 1 - (found.last == 1)
        return max(1, min(d, rank))
    if options.head_dimension > d:
        raise AssumptionError(
            f"A2 fails: heads of dimension {options.head_dimension} have no more rank than the "
            f"dimension, which is {d}; use --head-dimension {d} or a larger --dimension"
        )
    return options.head_dimension


def heads_needed(
    targets: Targets, size: int, d: int, skip: bool, contexts: int | None = None
) -> int:
    """The fewest heads whose features can have the rank of so many contexts, at least 1.

    H d_h (and d more, with the skip connection) is the usual limit; the data may have others.
    """
    wanted = contexts or len(targets)
    fewest = max(1, -(-(wanted - (d if skip else 0)) // size))
    found = rows(targets).tolist()

    def enough(heads: int) -> bool:
        return rank_limit(found, heads, size, d, skip=skip) >= wanted

    # fewer contexts than all are some of them, whose own limits are not known
    return fewest if contexts or enough(fewest) else _least(enough, fewest, max(fewest, wanted))


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The least number above `low` that is enough, up to `high`, which is taken to be."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def check_heads(name: str, found: Plan, tight: bool) -> None:
    """A3."""
    shape, count = found.shape, len(found.targets)
    if shape.heads < found.needed:
        instead = "" if tight else " (--tight may need fewer)"
        raise AssumptionError(
            f"A3 fails: {shape.heads} heads of dimension {shape.value_dimension} are too few for "
            f"{count:,} contexts; {name} needs {found.needed:,}{instead}. With fewer, use "
            "--method attention-only-approximate, or attention-only-argmax for labels"
        )


def check_memory(name: str, shape: Shape, contexts: int) -> None:
    """Refuse before starting what does not fit: features and factors, logits, and the tensors."""
    wide = shape.heads * shape.value_dimension + shape.dimension
    needed = 8 * (4 * contexts * wide + 3 * contexts * shape.vocabulary + 4 * shape.parameters)
    require(needed, name, f"solving for {contexts:,} contexts and {wide:,} features", SMALLER)
