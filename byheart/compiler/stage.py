"""A stage of a network: its part, its layers, its cost."""

from collections.abc import Callable
from dataclasses import dataclass

Sentence = Callable[[str, str], str]  # of a layer kind and the name of a stage
FIRST, TOKENS, MEETING, AFTER, LAST = PARTS = ("input", "tokens", "meeting", "after", "output")


@dataclass(frozen=True)
class Stage:
    """Layers of one name in one part.

    runs     its layers, first and last of each piece
    depth    blocks: E_in and E_out are none
    bits     of all its parameters, coded; `largest` of the longest one, in plain notation
    """

    part: str
    kind: str
    name: str
    sentence: str
    runs: tuple[tuple[int, int], ...]
    depth: int
    nonzero: int
    dense: int
    bits: int
    largest: int
    connections: int | None

    def json(self, total: int) -> dict:
        return {
            "part": self.part,
            "stage": self.name,
            "kind": self.kind,
            "does": self.sentence,
            "layers": [list(run) for run in self.runs],
            "depth": self.depth,
            "nonzero": self.nonzero,
            "dense": self.dense,
            "bits": self.bits,
            "largest": self.largest,
            "share": self.nonzero / total if total else 0.0,
            "connections": self.connections,
        }
