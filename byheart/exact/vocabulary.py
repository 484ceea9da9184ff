"""Tokens and labels in few bytes, both ways (checker/FORMAT.md, section 11).

Names are the tokens and the labels, each of them once. A name that is cut into several words is
built from two shorter ones by a *rule*. Words are coded by their *forms*, in lower case and without
white space in front: how many letters a form shares with the one before it, its other letters, and
one number for the set of its *variants* (white space, case). Case is that of the letters in CASES
alone: no table that grows from one version of Unicode to the next says what a word is.

Every name has a number, 2 r + 1 if it is a token and 2 r if it is none; r = 0 if it is no label.
The labels are ranked by r and then sorted, so that r counts the sorted runs of the labels in the
order of their ranks. Labels ranked by the lengths of their code words have few of these runs.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from ..machine.streams import Source, number, numbers, stream

Name = str | int
Pair = tuple[str, int]  # a variant: white space in front, and 0: as it is, 1: Capital, 2: CAPITALS
Cut = Callable[[str], Sequence[str]]

LETTERS = 1 << 27  # of all names
SHARED = 255  # letters that a form takes from the one before it
# Capital letters: first, last, step, and the distance of their small letters.
CASES = (
    (0x41, 0x5A, 1, 32), (0xC0, 0xD6, 1, 32), (0xD8, 0xDE, 1, 32), (0x100, 0x12E, 2, 1),
    (0x132, 0x136, 2, 1), (0x139, 0x147, 2, 1), (0x14A, 0x176, 2, 1), (0x179, 0x17D, 2, 1),
    (0x391, 0x3A1, 1, 32), (0x3A3, 0x3A9, 1, 32), (0x400, 0x40F, 1, 80), (0x410, 0x42F, 1, 32),
    (0x531, 0x556, 1, 48), (0x1EA0, 0x1EFE, 2, 1),
)  # fmt: skip
SMALL = {x: x + far for first, last, step, far in CASES for x in range(first, last + 1, step)}
CAPITAL = {small: capital for capital, small in SMALL.items()}


def encode(
    tokens: Sequence[str], labels: Sequence[Name], ranks: Sequence[int], cut: Cut | None = None
) -> bytes:
    """The vocabulary, with labels in the order of `ranks`; `cut` splits names into words."""
    run, runs = 0, {}
    ranked = [labels[place] for place in ranks]
    for before, label in pairwise([ranked[0], *ranked]):
        run += label < before  # type: ignore[operator]
        runs[label] = run + 1
    known = set(tokens)
    of = {name: 2 * runs.get(name, 0) + (name in known) for name in (*tokens, *labels)}
    parts = {x: tuple(cut(x)) if cut and x else (x,) for x in of if isinstance(x, str)}
    parts = {name: words if "".join(words) == name else (name,) for name, words in parts.items()}
    words = sorted({word for each in parts.values() for word in each})
    integers = sorted(x for x in of if isinstance(x, int))
    steps = [after - before for before, after in pairwise([0, *integers])]
    rules, built = _rules({name: x for name, x in parts.items() if len(x) > 1}, words, of)
    return b"".join(
        (_words(words), stream(json.dumps(steps, separators=(",", ":")).encode()), rules)
        + tuple(numbers([of.get(name, 0) for name in each]) for each in (words, built, integers))
    )


def decode(source: Source) -> tuple[list[str], list[Name]]:
    """The tokens, sorted, and the labels in the order of their ranks."""
    words = sorted(_read_words(source))
    integers = _read_integers(source)
    levels = [source.size() for _ in range(source.size())]
    lefts, rights = (source.numbers(sum(levels)) for _ in range(2))
    of_words = source.numbers(len(words))
    built = _built(words, of_words, levels, lefts, rights, source)
    of_built, of_integers = source.numbers(len(built)), source.numbers(len(integers))
    names: list[Name] = [*words, *built, *integers]
    of = dict(zip(names, of_words + of_built + of_integers, strict=True))
    if len(of) != len(names):
        source.refuse("a name stands twice")
    tokens = sorted(name for name in (*words, *built) if of[name] & 1)
    if any(x & 1 for x in of_integers):
        source.refuse("an integer is a token")
    labels = [name for name, x in of.items() if x > 1]
    if len({type(label) for label in labels}) != 1:
        source.refuse("the labels are not all strings or all integers")
    return tokens, sorted(labels, key=lambda name: (of[name] >> 1, name))


def form_of(word: str) -> tuple[str, Pair]:
    """The form of a word, and which of its variants the word is."""
    letters = word.lstrip()
    white, form = word[: len(word) - len(letters)], letters.translate(SMALL)
    for case in range(3):
        if variant(form, ("", case)) == letters:
            return form, (white, case)
    return letters, (white, 0)


def variant(form: str, pair: Pair) -> str:
    white, case = pair
    size = (0, 1, len(form))[case]
    return white + form[:size].translate(CAPITAL) + form[size:]


def _words(words: Sequence[str]) -> bytes:
    variants = defaultdict(list)
    for word in words:
        form, pair = form_of(word)
        variants[form].append(pair)
    forms = sorted(variants)
    sets = [tuple(sorted(variants[form])) for form in forms]
    known = {pairs: i for i, (pairs, _) in enumerate(Counter(sets).most_common())}
    shared, rests = [], []
    for before, form in pairwise(["", *forms]):
        same = (x == y for x, y in zip(before[:SHARED], form, strict=False))
        size = next((i for i, x in enumerate(same) if not x), min(len(before), len(form), SHARED))
        shared.append(size)
        rests.append(form[size:])
    letters = {*"".join(rests)}
    mark = next(x for x in range(1 << 20) if chr(x) not in letters and not 55296 <= x < 57344)
    listed = json.dumps([*known], separators=(",", ":")).encode()
    joined = stream(chr(mark).join(rests).encode())
    given = [known[pairs] for pairs in sets]
    return b"".join(
        (number(len(forms)), numbers(shared), number(mark), joined, stream(listed), numbers(given))
    )


def _read_words(source: Source) -> list[str]:
    count = source.size()
    shared, mark = source.numbers(count), source.size()
    try:
        rests = source.stream().decode().split(chr(mark)) if count else [source.stream().decode()]
        sets = [[(x, y) for x, y in pairs] for pairs in json.loads(source.stream())]
        "".join(white for pairs in sets for white, _ in pairs).encode()
    except (ValueError, TypeError, OverflowError, RecursionError):
        source.refuse("its words are not written as they should be")
    given = source.numbers(count)
    cases = [case for pairs in sets for _, case in pairs]
    if len(rests) != max(1, count) or any(type(x) is not int or not 0 <= x <= 2 for x in cases):
        source.refuse("its words are not written as they should be")
    if max(given, default=-1) >= len(sets):
        source.refuse("a form has variants that are not listed")
    found: list[str] = []
    form, letters = "", 0
    for size, rest, pairs in zip(shared, rests, given, strict=False):
        if size > min(SHARED, len(form)):
            source.refuse("a form shares more letters than there are")
        form = form[:size] + rest
        letters += sum(len(white) + len(form) for white, _ in sets[pairs])
        if letters > LETTERS:
            source.refuse("its names have more than 2^27 letters")
        found += (variant(form, pair) for pair in sets[pairs])
    return found


def _read_integers(source: Source) -> list[int]:
    try:
        steps = json.loads(source.stream())
    except (ValueError, RecursionError):
        steps = None
    if not isinstance(steps, list) or any(type(step) is not int for step in steps):
        source.refuse("its integers are not written as they should be")
    return np.cumsum(np.array(steps, object)).tolist() if steps else []


def _rules(
    phrases: dict[str, tuple[str, ...]], words: Iterable[str], of: dict[Name, int]
) -> tuple[bytes, list[str]]:
    """What builds the names of several words, and these in the order of their numbers."""
    parts = dict(phrases)
    known = {*words, *phrases}
    halves: dict[str, tuple[str, str]] = {}

    def price(pair: tuple[str, str]) -> float:
        return sum(of.get(name, 0) >> 1 or 1 << 20 for name in pair)

    open_ = sorted(phrases, key=lambda name: len(parts[name]))
    while open_:
        own = parts[name := open_.pop()]
        pairs = [("".join(own[:i]), "".join(own[i:])) for i in range(1, len(own))]
        found = [pair for pair in pairs if known.issuperset(pair)]
        if not found:  # of three words or more: the first ones become a name that is no token
            found = [pairs[-1]]
            known.add(pairs[-1][0])
            parts[pairs[-1][0]] = own[:-1]
            open_.append(pairs[-1][0])
        halves[name] = min(found, key=price)
    level: dict[str, int] = {}
    for name in sorted(halves, key=len):
        level[name] = 1 + max(level.get(half, 0) for half in halves[name])
    place = {word: i for i, word in enumerate(sorted(words, key=lambda word: _rank(of, word)))}
    lefts, rights, sizes = [], [], []
    built: list[str] = []
    for height in range(1, max(level.values(), default=0) + 1):
        own_level = (name for name in halves if level[name] == height)
        rows = sorted((place[halves[x][0]], place[halves[x][1]], x) for x in own_level)
        last = last_right = 0
        for left, right, name in rows:
            lefts.append(left - last)
            rights.append(right - (last_right if left == last else 0))
            last, last_right = left, right
            place[name] = len(place)
            built.append(name)
        sizes.append(len(rows))
    counts = b"".join(map(number, [len(sizes), *sizes]))
    return counts + numbers(lefts) + numbers(rights), built


def _rank(of: dict[Name, int], word: str) -> tuple[float, str]:
    """By which words are numbered for rules: labels first, frequent ones before others."""
    return of.get(word, 0) >> 1 or 1 << 40, word


def _built(
    words: list[str],
    of_words: list[int],
    levels: list[int],
    lefts: list[int],
    rights: list[int],
    source: Source,
) -> list[str]:
    of = dict(zip(words, of_words, strict=True))
    names = sorted(words, key=lambda word: _rank(of, word))  # type: ignore[arg-type]
    letters, start = 0, len(names)
    steps = zip(lefts, rights, strict=True)
    for size in levels:
        below, left, right = len(names), 0, 0
        for _ in range(size):
            step, other = next(steps)
            left, right = left + step, other if step else right + other
            if max(left, right) >= below:
                source.refuse("a rule names a part that there is not")
            letters += len(names[left]) + len(names[right])
            if letters > LETTERS:
                source.refuse("its names have more than 2^27 letters")
            names.append(names[left] + names[right])
    return names[start:]
