"""The set-ups that were tried for Figure 3 of kajitsuka2025, whose text leaves several things open.

Tokens may be words or pieces of words, as the tokenizer is not named. They may have an embedding
that is learnt or frozen, or be fixed vectors under a learnt E_in. "Outputs at the 0-th token" may
be those at the first word, or at a special token before it, as BERT has one; eq. (165) reads the
last token.
"""

from dataclasses import dataclass
from typing import Any

SIZES = tuple(range(600, 1701, 100))
SEVERAL = (600, 1100, 1700)
DEPTHS = (1, 2, 3, 4, 6, 8, 10, 15, 20)
MORE = (1, 2, 3, 4, 6, 8, 12)
FEW = (1, 2, 4, 8)
SHORT, LONG = 1000, 4000  # steps of a single attempt; the authors have the shorter one
SEEDS = 3


@dataclass(frozen=True)
class Setup:
    """A set-up, and what is searched in it."""

    kind: str  # "trained", "frozen" or "paper": see byheart.figures.kajitsuka.sweeps
    sizes: tuple[int, ...]  # numbers of sequences N
    depths: tuple[int, ...] = FEW  # numbers of blocks
    # whether these are bisected; deeper is not always easier to train, so that a grid of all depths
    # is safer
    find: bool = False
    read: str = "first"  # which token is read out: "first", "special" or "last"
    letters: int = 0  # in a piece of a word at most; 0: tokens are whole words
    coordinates: int = 0  # of the fixed vectors of tokens; 0: tokens have an embedding
    steps: int | None = None  # of a single attempt, None: those of the protocol
    seeds: int = SEEDS  # of each point

    def __str__(self) -> str:
        tokens = f"pieces of up to {self.letters} letters" if self.letters else "words"
        state = "frozen" if self.kind == "frozen" else "learnt"
        numbers = f"their embedding {state}"
        if self.coordinates:
            numbers = f"as fixed vectors of {self.coordinates} coordinates under a learnt E_in"
        place = {"special": "a special token before them"}.get(self.read, f"the {self.read} one")
        steps = f", {self.steps:,} steps" if self.steps else ""
        how = ", by the authors' protocol" if self.kind == "paper" else ""
        return f"{tokens}, {numbers}, read at {place}{steps}{how}"


def vectors(coordinates: int, sizes: tuple[int, ...] = SEVERAL[:1], **more: Any) -> Setup:
    return Setup("trained", sizes, coordinates=coordinates, **{"steps": LONG, **more})


SETUPS = {
    "trained": Setup("trained", SIZES, DEPTHS, find=True),
    "paper": Setup("paper", (600, 1700), find=True),
    "trained-special": Setup("trained", SEVERAL, DEPTHS, find=True, read="special"),
    "trained-last": Setup("trained", SEVERAL, DEPTHS, find=True, read="last"),
    "frozen": Setup("frozen", (50, 75, 100, 125, 150, 200), MORE),
    **{f"vectors-{d}": vectors(d, depths=(1, 8)) for d in (8, 16, 32, 64)},
    "vectors-64-special": vectors(64, read="special", depths=(1, 8)),
    "vectors-64-last": vectors(64, read="last", depths=(1, 8)),
    "vectors-256": vectors(256, SIZES[:5], depths=MORE),
    "vectors-512": vectors(512, (600, 900, 1100, 1400)),
    "vectors-768-short": vectors(768, (600, 800, 1000, 1200, 1400, 1700), depths=MORE, steps=SHORT),
    "pieces-3": Setup("trained", (*SIZES[:6], 1700), MORE, read="special", letters=3, steps=LONG),
}
QUICK = {
    "trained": Setup("trained", (100, 200, 300), (1, 2, 3, 4, 6, 8), find=True, seeds=1),
    "frozen": Setup("frozen", (25, 50, 100), (1, 2, 4, 8), seeds=1),
}
