"""The smallest window: how many tokens of context determine the next one.

Let class_k(p) number the last k tokens before place p, padded at a document's beginning. Then
class_{a+b}(p) is the pair (class_a(p), class_b(p - a)), so a window of any size takes only
doublings and additions, each one sort. Equal contexts of k + 1 tokens are equal contexts of k, so
once conflicts are gone they stay gone, and the smallest window is found by bisection.
"""

from dataclasses import dataclass

import numpy as np

from ..arrays import Ints, number


@dataclass(frozen=True)
class Corpus:
    """Documents one after another. back[p] is the number of tokens before p in its document."""

    ids: Ints
    back: Ints

    def nearest(self) -> Ints:
        """class_1; 0 is the class of padding alone."""
        return np.where(self.back > 0, np.roll(self.ids, 1) + 1, 0)

    def longer(self, classes: Ints, size: int, more: Ints) -> Ints:
        """class_{size + b} from class_size and more = class_b.

        A document's first place is all padding: the smallest pair (0, 0), so its number stays 0.
        """
        earlier = np.where(self.back > size, more[np.arange(len(more)) - size], 0)
        return number(classes * (int(more.max()) + 1) + earlier)[1]

    def conflict(self, classes: Ints) -> tuple[int, int] | None:
        """Two places with equal contexts and different tokens, if there are any."""
        places = np.flatnonzero(self.back > 0)
        other = np.zeros(int(classes.max()) + 1, np.int64)
        other[classes[places]] = places
        seconds = other[classes[places]]
        unlike = np.flatnonzero(self.ids[places] != self.ids[seconds])
        return (int(places[unlike[0]]), int(seconds[unlike[0]])) if len(unlike) else None


def smallest_window(corpus: Corpus) -> int | tuple[int, int]:
    """The smallest window without conflicts, or two places with equal prefixes."""
    powers, size = [corpus.nearest()], 1
    while conflict := corpus.conflict(powers[-1]):
        if size >= corpus.back.max():
            return conflict
        powers.append(corpus.longer(powers[-1], size, powers[-1]))
        size *= 2
    if size == 1:
        return 1
    # One more than the largest window with conflicts, which is summed from powers of two, the
    # greatest first, as a binary number is; powers[i] is class_(2^i), and the last has none.
    size, classes = 1 << (len(powers) - 2), powers[-2]
    for i in range(len(powers) - 3, -1, -1):
        longer = corpus.longer(classes, size, powers[i])
        if corpus.conflict(longer):
            size, classes = size + (1 << i), longer
    return size + 1
