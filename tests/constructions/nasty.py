"""Datasets that are hard to hash, and a strategy for small ones: tests of retrieval share them."""

import random
from itertools import product

from hypothesis import strategies as st


def context(tokens, positions=False):
    """Definition 4.1 without positions: the multiset and the last token."""
    frozen = [tuple(x) if isinstance(x, list) else x for x in tokens]
    return tuple(frozen) if positions else (tuple(sorted(frozen)), frozen[-1])


def labelled(sequences, labels, seed=0, positions=False):
    """Rows with a random label for each context."""
    pick, table = random.Random(seed), {}
    return [
        (list(tokens), table.setdefault(context(tokens, positions), pick.randrange(labels)))
        for tokens in sequences
    ]


@st.composite
def datasets(draw, size=14, more=(), repeat=False):
    """Rows with one label per context: ragged, with copies, permutations and moved last tokens.

    more    numbers that a token may be
    repeat  whether the last token of some sequences is repeated
    """
    positions = draw(st.booleans())
    number = st.one_of(
        st.integers(-3, 3),
        st.integers(-1000, 1000).map(lambda x: x / 8),
        *([st.sampled_from(more)] if more else []),
    )
    dimension = draw(st.integers(1, 3))
    vectors = st.lists(number, min_size=dimension, max_size=dimension)
    token = draw(st.sampled_from([st.sampled_from("abcde"), number, vectors]))
    vocabulary = draw(st.lists(token, min_size=1, max_size=6))
    sequence = st.lists(st.sampled_from(vocabulary), min_size=1, max_size=5)
    found = draw(st.lists(sequence, min_size=1, max_size=size))
    for tokens in found[: draw(st.integers(0, 4))]:
        found.append(draw(st.permutations(tokens[:-1])) + tokens[-1:])
        found.append(tokens[1:] + tokens[:1])  # often the same multiset with another last token
        if repeat:
            found.append(tokens + tokens[-1:])
    labels = draw(st.sampled_from([1, 2, 2, 3, 7, 1000]))
    return labelled(found, labels, draw(st.integers(0, 99)), positions), positions


def substitutions():
    base = [random.Random(4).randrange(20) for _ in range(16)]
    return [[*base[:i], v, *base[i + 1 :]] for i in range(16) for v in range(20)]


def long_sequences(letters):
    pick = random.Random(5)
    return [[pick.choice(letters) for _ in range(40)] for _ in range(300)]


def skewed():
    pick, pairs = random.Random(6), [[i, j] for i in range(25) for j in range(i, 25)]
    return [(pair, 0 if pick.random() < 0.9 else pick.randrange(30)) for pair in pairs]


def vectors_with_signs():
    pick = random.Random(7)
    sizes = [pick.randrange(1, 5) for _ in range(500)]
    return [[[pick.randrange(-9, 9) / 4, pick.randrange(9)] for _ in range(n)] for n in sizes]


NASTY = {
    "all words": labelled(product("abc", repeat=5), 2),
    "all words, many labels": labelled(product("abc", repeat=5), 300),
    "equal sums": labelled(([k, 100 - k] for k in range(101)), 3),
    "equal sums of three": labelled(
        ([i, j, 12 - i - j] for i in range(13) for j in range(13 - i)), 2
    ),
    "one substitution": labelled(substitutions(), 2),
    "three letters, long": labelled(long_sequences("abc"), 2),
    "four letters, long": labelled(long_sequences("abcd"), 2),
    "length 1": labelled(([i] for i in range(60)), 4),
    "one sequence": [(["a", "b"], "x")],
    "one label": [([i, i + 1], 7) for i in range(30)],
    "one label, length 3": [([i, i + 1, 0], 7) for i in range(30)],
    "two sequences": [(["a"], 0), (["b"], 1)],
    "large": labelled(([10**9 + i, -(10**9) - j] for i in range(6) for j in range(6)), 3),
    "huge": labelled(([10**15 + i, -(10**15) - j] for i in range(6) for j in range(6)), 3),
    "huge vectors": labelled(
        ([[10**15 + i, 1], [3, -(10**15) - j]] for i in range(5) for j in range(5)), 2
    ),
    "floats": labelled(([1e-3 * i, 2.5e7 + j / 10] for i in range(5) for j in range(5)), 3),
    "fractions": labelled(([i / 8, 1000 + j / 16] for i in range(5) for j in range(5)), 3),
    "skewed": skewed(),
    "one token repeated": labelled((["a"] * k for k in range(1, 40)), 3),
    "zero is a token, ragged": labelled(([0] * k + [1] for k in range(20)), 2),
}
SIZES = {
    "words": labelled(product("abc", repeat=5), 2),
    "three letters, long": labelled(long_sequences("abc"), 5),
    "four letters, long": labelled(long_sequences("abcd"), 5),
    "signs": labelled(vectors_with_signs(), 3),
    "skewed": skewed(),
}
