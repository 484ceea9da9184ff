"""The set-ups that were tried for Figure 3 of kajitsuka2025, whose text leaves several things open.

Tokens may be words or pieces of words, as the tokenizer is not named. They may have an embedding
that is learnt or frozen, or be fixed vectors under a learnt E_in. "Outputs at the 0-th token" may
be those at the first word, or at a special token before it, as BERT has one; eq. (165) reads the
last token.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FEW = (1, 2, 4, 8)
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


TABLE = tomllib.loads(Path(__file__).with_name("setups.toml").read_text("ascii"))
SETUPS, QUICK = (
    {
        name: Setup(**row | {x: tuple(row[x]) for x in ("sizes", "depths") if x in row})
        for name, row in TABLE[kind].items()
    }
    for kind in ("setups", "quick")
)
