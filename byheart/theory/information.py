"""Bits that labels need and that parameters hold, and two rules of thumb, which are not theorems.

Paper        kajitsuka2025, Remarks 4.4 and 4.6. The rules are from allenzhu2024 (about 2 bits
             per parameter of a trained language model) and morris2025 (3.51 of bfloat16 and 3.83 of
             float32). The text of the latter was not at hand: the numbers are from summaries of it.
Statement    n contexts have C^n labellings: some of them take n log2 C bits. A model of k
             parameters of b bits has 2^(k b) states.
Assumptions  A1  Sizes are at least 1.
Guarantee    G1  The limits hold for every way of storing and for every architecture, for the worst
                 labels: data that has a pattern may take less.
             G2  Rules of thumb were measured on trained models. They prove nothing.
             G3  A code length is about given labels. It is an upper bound of what a code for them
                 takes, not of what a network takes; labels with a pattern have shorter codes.
Departures   D1  The remarks have two labels and N or nN of them; here there are C, for n contexts.
Notation     n contexts, C labels, k parameters, b bits per parameter.
"""

import math
from collections.abc import Iterable

from .assumptions import check

ALLENZHU_2024 = 2.0


def morris_2025(bits: int | None = None) -> float:
    """Bits per parameter by the bits that it is stored in; 32 if that is not known.

    >>> morris_2025(16), morris_2025(32), morris_2025()
    (3.51, 3.83, 3.83)
    """
    return 3.51 if bits and bits <= 16 else 3.83


def bits_needed(contexts: int, labels: int) -> float:
    """log2 of the number of labellings.

    >>> bits_needed(contexts=1000, labels=4)
    2000.0
    """
    check(contexts=(contexts, 1), labels=(labels, 1))
    return contexts * math.log2(labels)


def code_length(known: float, unknown: float, contexts: int, labels: int, conflicts: int) -> float:
    """Bits of the labels that some data has, where the worst ones take `bits_needed`.

    A code that knows only how often each label occurs spends `unknown` nats on all predictions.
    Even one that knows the distribution after each context spends `known` nats, the entropy: the
    difference is what the contexts tell. If each has one label, a list of all of them is a code.

    >>> round(code_length(0, 3 * math.log(3) + 3 * math.log(1.5), 4, 2, conflicts=0), 3)
    4.0
    """
    bits = (unknown - known) / math.log(2)
    return bits if conflicts else min(bits, bits_needed(contexts, labels))


def label_entropy(counts: Iterable[int]) -> float:
    """Bits of labels that occur so often: what a code that knows the frequencies spends on them.

    It is at most `bits_needed`, and as much if all labels are equally frequent.

    >>> label_entropy([2, 1, 1]), label_entropy([1, 1, 1, 1]), label_entropy([5])
    (6.0, 8.0, 0.0)
    """
    seen = [count for count in counts if count]
    return math.fsum(count * math.log2(sum(seen) / count) for count in seen)


def bits_held(parameters: int, bits: float) -> float:
    """log2 of the number of states; the bits themselves, if `bits` is a rate that was measured."""
    check(parameters=(parameters, 0), bits=(bits, 1))
    return parameters * bits


def contexts_held(parameters: int, bits: int, outputs: int) -> int:
    """The most contexts all labellings of which are among the states."""
    check(outputs=(outputs, 2))
    return math.floor(bits_held(parameters, bits) / math.log2(outputs))


def parameters_of_bits(contexts: int, labels: int, bits: float) -> int:
    """The fewest parameters of `bits` bits that have as many states as there are labellings."""
    check(bits=(bits, 1))
    return math.ceil(bits_needed(contexts, labels) / bits)
