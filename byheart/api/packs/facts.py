"""Made-up facts with names in several scripts, for each of the packs."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

SYLLABLES = tuple(
    line.split()
    for line in (
        "ba do fe gi ka lu mo ne pi ra so tu",
        "βα δο φε γι κα λυ μη",
        "ба до фе ги ка лу мя",
        "בא דו פי גל קר מנ תש",
        "با دو في قر لم سن تش",
        "ბა დო ფე გი კა ლუ მო",
        "바 도 페 기 카 루 모 네 피 라",
        "ば ど へ ぎ か る も ね ぴ ら",
    )
)  # Latin, Greek, Cyrillic, Hebrew, Arabic, Georgian, Hangul, Hiragana
RELATIONS = (
    "capital", "river", "anthem", "founder", "port", "bird", "dish", "currency", "mountain",
    "festival", "language", "poet", "flower", "colour", "harbour", "patron",
)  # fmt: skip
PLAIN = ("The {} of {} is",)
CONTEXTS = (*PLAIN, "In the old atlas, the {} of {} is", "Travellers say that the {} of {} is")
FACTS = 64  # of a pack, unless its sizes are given


class Row(NamedTuple):
    prompt: str
    answer: str


@dataclass(frozen=True)
class Kind:
    """A pack: how hard it is, what it is for, and how its model is built.

    options   of the construction
    contexts  prompts of every fact
    objects   what answers are drawn from
    near      whether prompts differ in one token
    repeated  prompts that two rows answer in one way, and a third row in another
    """

    level: int
    title: str
    options: dict[str, Any]
    contexts: tuple[str, ...] = PLAIN
    objects: int = 16
    near: bool = False
    repeated: int = 0


KINDS = {
    "single": Kind(1, "one neuron per fact", {}),
    "unlearning": Kind(1, "facts to keep and to forget, and non-members", {"layers": 2}),
    "copies": Kind(2, "four neurons per fact, each with its share", {"copies": 4, "layers": 2}),
    "layers": Kind(2, "one neuron per fact, spread over six layers", {"layers": 6}),
    "decoys": Kind(
        3, "neurons that are on at a fact and change no answer", {"decoys": 2, "layers": 2}
    ),
    "contexts": Kind(3, "three prompts of every fact", {"layers": 2}, CONTEXTS),
    "superposed": Kind(3, "facts that share their neurons", {"superposed": 2.5}),
    "near-duplicates": Kind(4, "prompts that differ in one token", {"layers": 2}, near=True),
    "shared-answers": Kind(
        4, "few answers, and prompts with several rows", {"layers": 2}, objects=4, repeated=6
    ),
    "superposed-dense": Kind(5, "as few neurons as hold the facts", {"superposed": 1.25}),
    "taught": Kind(5, "facts taught to a model that was trained", {}),
}


def names(count: int, rng: random.Random, taken: set[str]) -> list[str]:
    """Names that differ, in one script after another."""
    found: list[str] = []
    while len(found) < count:
        name = "".join(rng.choices(SYLLABLES[len(found) % len(SYLLABLES)], k=3)).capitalize()
        if name not in taken:
            taken.add(name)
            found.append(name)
    return found


def made(
    kind: Kind, seed: int, subjects: int, relations: int, objects: int
) -> tuple[list[Row], list[Row]]:
    """Rows that the model holds, and half as many of the same form that it does not."""
    rng, taken = random.Random(f"{seed}/facts"), set[str]()
    things = names(objects, rng, taken)
    count = subjects * relations
    if kind.near:  # cells of a grid: two names, of which any two neighbours share one
        side = next(n for n in range(2, count + 2) if n * n * relations >= 2 * count)
        pairs = product(names(side, rng, taken), names(side, rng, taken))
        cells = [(x, " ".join(pair)) for pair in pairs for x in RELATIONS[:relations]]
        rng.shuffle(cells)
    else:
        people = names(subjects + -(-subjects // 2), rng, taken)
        cells = [(x, person) for person in people for x in RELATIONS[:relations]]
    rows = [
        [Row(form.format(*cell), answer) for form in kind.contexts]
        for cell in cells
        for answer in (rng.choice(things),)
    ]
    held, others = rows[:count], rows[count : count + -(-count // 2)]
    flat = [row for group in held for row in group]
    return [*flat, *repeats(kind, flat, rng, things)], [row for group in others for row in group]


def repeats(kind: Kind, rows: list[Row], rng: random.Random, things: list[str]) -> Iterator[Row]:
    """A second row like some of the rows, and a third with an answer that sorts before theirs.

    Of two answers that are equally frequent the first in sorted order is stored, so that each of
    the two equal rows decides the answer, and the third one alone changes nothing.
    """
    order = sorted(things, key=lambda x: x.encode())
    chosen = [row for row in rows if row.answer != order[0]]
    for row in rng.sample(chosen, kind.repeated):
        yield row
        yield Row(row.prompt, rng.choice(order[: order.index(row.answer)]))
