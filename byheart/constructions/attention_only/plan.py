"""The sizes of an attention-only transformer, and the data as it reads them."""

from bisect import bisect_left
from dataclasses import replace
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from ...data.targets import Targets, Word
from ...encoders import certain
from ...encoders.encoder import merged
from ...encoders.exact import lossless
from ...errors import AssumptionError
from ...gadgets.heads import rows
from ...machine.memory import SMALLER, require
from ...softmax.decoder import ATTENTION, Shape
from ...theory.dana2024.ranks import Tokens, rank_limit, tokens
from ..families import AttentionDecoder

DIMENSION, LARGEST_DIMENSION = 10, 64  # of associations, and of distributions if none is named


class Plan(NamedTuple):
    targets: Targets  # contexts of one length, at least 2; padded if they were not
    shape: Shape  # of the decoder
    needed: int  # heads that are needed for `contexts` independent ones


def make_plan(
    name: str,
    targets: Targets,
    options: AttentionDecoder,
    contexts: int | None = None,
    skip: bool = False,
) -> Plan:
    """Sizes for some contexts (default: all); `skip` counts the skip connection as d features."""
    given, targets = targets, one_length(targets)
    padding = None if targets is given else len(given.vocabulary)
    found = tokens(rows(targets).tolist())
    d = options.dimension or dimension(targets, found, options.tight)
    rank = found.distinct + found.length - found.components - 1 - (found.last == 1)
    size = options.head_dimension or max(1, min(d, rank))  # of a head (theory/dana2024/ranks.py)
    if size > d:
        raise AssumptionError(
            f"A2 fails: heads of dimension {size} have no more rank than the dimension, which is "
            f"{d}; use `head_dimension={d}` or a larger `dimension=...`."
        )
    needed = heads_needed(targets, size, d, skip, contexts)
    read, heads = (len(targets.vocabulary), targets.length), options.heads or needed
    shape = Shape(*read, d, ATTENTION, heads, size, size, True, 0, "none", padding)
    check_memory(name, shape, len(targets))
    return Plan(targets, shape, needed)


def one_length(targets: Targets) -> Targets:
    """Contexts of one length, at least 2, filled up at the front with a reserved token."""
    lengths = np.diff(targets.starts)
    if not (lengths != lengths[0]).any() and lengths[0] != 1:
        return targets
    padded = targets.padded(len(targets.vocabulary), max(2, targets.length))
    return replace(padded, vocabulary=(*targets.vocabulary, reserved(targets.vocabulary)))


def reserved(vocabulary: tuple[Word, ...]) -> str:
    """A word that is not in the vocabulary: "<pad>", or "<pad-1>" if it is."""
    known, names = set(vocabulary), chain(["<pad>"], (f"<pad-{i}>" for i in count(1)))
    return next(name for name in names if name not in known)


def dimension(targets: Targets, found: Tokens, tight: bool) -> int:
    """The dimension that is enough for the gap where LARGEST_DIMENSION allows it, at least 2.

    Associations need 2 and are well conditioned from 8 on; more than N + S - 2 would be idle. Other
    distributions need N - 1, or as many as there are distinct ones. The skip connection (tight) can
    give no more than there are last tokens.
    """
    if certain(targets):
        d = min(DIMENSION, found.distinct + found.length - 2)
    else:
        d = min(LARGEST_DIMENSION, lossless(merged(targets)))
    return max(2, min(d, found.last) if tight else d)


def heads_needed(
    targets: Targets, size: int, d: int, skip: bool, contexts: int | None = None
) -> int:
    """The fewest heads, at least 1, whose features can have the rank of the contexts."""
    wanted = contexts or len(targets)
    fewest = max(1, -(-(wanted - (d if skip else 0)) // size))
    found = rows(targets).tolist()

    def enough(heads: int) -> bool:
        return rank_limit(found, heads, size, d, skip=skip) >= wanted

    # fewer contexts than all are some of them, whose own limits are not known
    if contexts or enough(fewest):
        return fewest
    tried = range(fewest + 1, max(fewest, wanted))  # the end is taken to be enough
    return fewest + 1 + bisect_left(tried, True, key=enough)


def check_heads(name: str, found: Plan, tight: bool) -> None:
    """A3."""
    shape, count = found.shape, len(found.targets)
    if shape.heads < found.needed:
        instead = "" if tight else " (`tight=True` may need fewer)"
        raise AssumptionError(
            f"A3 fails: {shape.heads} heads of dimension {shape.value_dimension} are too few for "
            f"{count:,} contexts; {name} needs {found.needed:,}{instead}. With fewer, use "
            "`method='attention-only-approximate'`, or `method='attention-only-argmax'` for labels."
        )


def check_memory(name: str, shape: Shape, contexts: int) -> None:
    """Refuse before starting what does not fit: features and factors, logits, and the tensors."""
    wide = shape.heads * shape.value_dimension + shape.dimension
    needed = 8 * (4 * contexts * wide + 3 * contexts * shape.vocabulary + 4 * shape.parameters)
    require(needed, name, f"solving for {contexts:,} contexts and {wide:,} features", SMALLER)
