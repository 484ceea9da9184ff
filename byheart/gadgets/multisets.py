"""Numbers for tokens whose sums distinguish multisets: kajitsuka2025, Lemmas B.1 and B.2.

Multisets are the rows of an array of token numbers, each row sorted; NOTHING fills a row up.
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import number_rows
from ..errors import ByheartError

NOTHING = -1
TRIES = 64


def distinct(rows: NDArray) -> tuple[NDArray, NDArray]:
    """The distinct multisets of the rows, and the place of each row among them."""
    return number_rows(np.sort(rows, axis=1))


def marked(multisets: NDArray) -> list[int]:
    """Lemma B.1: tokens A, fewer than the multisets (one if there is one), that distinguish them.

    One multiset after another is compared with those before by the tokens of A in it. If it equals
    one of them, the most common token outside A that the two hold unequally often is put into A:
    then it does not, and those before stay different. The tokens of A in a multiset are kept as a
    sum of random 128-bit numbers. A token that enters A changes only the sums of those that hold
    it, so there are no more updates in all than there are tokens.
    """
    held = multisets != NOTHING
    rows, _ = np.nonzero(held)
    pairs = multisets[held].astype(np.int64) * len(multisets) + rows
    pairs, counts = np.unique(pairs, return_counts=True)
    owners, holders = np.divmod(pairs, len(multisets))  # a token, and a multiset that holds it
    starts = np.searchsorted(owners, np.arange(int(multisets.max(initial=0)) + 2))
    random, chosen = Random(0), set[int]()
    sums, known = [0] * len(multisets), {0: 0}
    for i in range(1, len(multisets)):
        if sums[i] in known:
            both = np.concatenate([multisets[i], multisets[known[sums[i]]]])
            tokens, places = np.unique(both, return_inverse=True)
            excess = np.bincount(places, np.repeat([1, -1], len(multisets[i])))
            unequal = {int(token) for token in tokens[excess != 0]} - chosen - {NOTHING}
            token = min(unequal, key=lambda token: (starts[token] - starts[token + 1], token))
            chosen.add(token)
            part, code = slice(starts[token], starts[token + 1]), random.getrandbits(128)
            changed = holders[part].tolist()
            for j in changed:
                if j < i:
                    del known[sums[j]]
            for j, count in zip(changed, counts[part].tolist(), strict=True):
                sums[j] += count * code
            known.update((sums[j], j) for j in changed if j < i)
        known[sums[i]] = i
    return sorted(chosen) or [max(0, int(multisets.max(initial=0)))]


def values(multisets: NDArray, tokens: list[int], largest: int, random: Random) -> NDArray | None:
    """Lemma B.2, repaired: f: A -> {1, ..., largest} with different sums over the multisets.

    The result is an array with f at the tokens of A and 0 elsewhere, NOTHING included; None if
    the random numbers failed. Two multisets that differ on A have equal sums for at most a share
    1 / largest of all choices: with all values but one fixed, where they differ, at most one value
    of that one makes the sums equal. So N multisets fail with probability below N^2 / (2 largest),
    which is 1 / (14 N) for the paper's 4 N^3 sqrt(pi). (The paper takes a direction v of Lemma G.1
    and shifts it to be positive; the shift enters a sum as often as its multiset has elements, so
    sums of multisets of different sizes may be equal.)
    """
    result = np.zeros(max(int(multisets.max(initial=0)), *tokens) + 2, dtype=object)
    result[tokens] = [random.randint(1, largest) for _ in tokens]
    if largest * multisets.shape[1] < 1 << 62:
        result = result.astype(np.int64)
    sums = np.sort(result[multisets].sum(axis=1))
    return None if (sums[1:] == sums[:-1]).any() else result


def identified(rows: NDArray, largest: int, random: Random) -> tuple[list[int], NDArray]:
    """Lemma B.3 without its network: tokens A, and values that distinguish multisets (eq. (32))."""
    multisets, _ = distinct(rows)
    tokens = marked(multisets)
    for _ in range(TRIES):
        result = values(multisets, tokens, largest, random)
        if result is not None:
            return tokens, result
    raise ByheartError(
        f"No numbers with different sums were found in {TRIES} tries. Try another `seed`."
    )
